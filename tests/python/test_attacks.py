"""Tests malicious and damaged input: truncated responses, servers that only imitate a sink, folders of other
programs."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

import lopsided as lop
from faulty_server import FaultyServer
from lines import DOWNLOAD, line_of
from lopsided import cli
from lopsided.cli import terminal
from lopsided.cli.terminal import clean
from lopsided.errors import FolderError, LopsidedError, RunError
from lopsided.fetching import FetchError, Options, fetch
from lopsided.fetching.connection import Head
from lopsided.fetching.representation import Representation
from lopsided.studies import cluster, probe
from lopsided.studies import sweep as sweeps
from lopsided.views import inks
from lopsided.views.plot import style
from lopsided.worlds.kernel import backend, build, cleanup
from lopsided.worlds.kernel.errors import KernelUnavailable

SHORT = line_of("1 s", "1 Mbit/s", "200 kbit/s") + DOWNLOAD


@pytest.mark.parametrize("ranges", [True, False])
def test_a_download_ends_if_the_server_truncates_every_response(ranges, tmp_path):
    server = FaultyServer(os.urandom(100_000), ranges=ranges)
    part = b"Content-Range: bytes 0-14479/100000\r\n" if ranges else b""
    length = b"14480" if ranges else b"100000"
    status = b"206 Part" if ranges else b"200 OK"
    server.answer = b"HTTP/1.1 " + status + b"\r\n" + part + b"Content-Length: " + length + b"\r\n\r\n" + b"x" * 5000
    with server.running(), pytest.raises(FetchError, match="given up after"):
        fetch(server.url(), tmp_path / "it", Options(retries=3, stall_s=0.5))
    assert len(server.requests) <= 6


def test_an_etag_of_any_bytes_is_sent_back_unchanged(tmp_path):
    content = os.urandom(60_000)
    # These are the UTF-8 bytes of the entity tag, decoded as latin-1.
    server = FaultyServer(content, etag='"\u00c3\u00a9"')
    with server.running():
        assert fetch(server.url(), tmp_path / "it").size == len(content)
    assert any("if-range" in fields for _, fields in server.requests)


def test_a_response_without_the_first_etag_ends_the_transfer():
    what = Representation(100, '"a"', None)
    fields = {"content-range": "bytes 0-9/100"}
    with pytest.raises(FetchError, match="without the ETag"):
        what.check(Head(206, fields, ()), 100)
    what.check(Head(206, {**fields, "etag": '"a"'}, ()), 100)


REPORTS = (
    b"",
    b"hello\n",
    b"[]\n",
    b"null\n",
    b"{}\n",
    b'{"up1": null}\n',
    b'{"up1": {"received": "much", "seconds": 1}}\n',
    b'{"up1": {"received": 1e999, "seconds": 1}}\n',
    b'{"up1": {"seconds": 1}}\n',
    b"[" * 100_000 + b"\n",
    b'{"down1": {"samples": [{"x": 1}]}, "up1": {"received": -1, "seconds": 1}}\n',
    None,
)


@pytest.mark.parametrize("report", REPORTS)
def test_replies_to_a_probe_are_checked(report: bytes | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe.messages, "_REPORT_BYTES", 200_000)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            try:
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        wish = connection.makefile("rb").readline()
                        if b"report" in wish:
                            with contextlib.suppress(OSError):
                                while report is None:
                                    connection.sendall(b"x" * 65_536)
                                connection.sendall(report)
                        else:
                            with contextlib.suppress(OSError):
                                while connection.recv(65_536):
                                    pass
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        flows = probe.plan(down=0, up=1, duration_s=0.2, cc=None)
        with pytest.raises(RunError, match="not a `lopsided probe sink`"):
            probe.run("127.0.0.1", flows, port=listener.getsockname()[1])


@pytest.mark.parametrize(
    "command",
    [
        ["run", "FILE", "--repeat", "1000000001"],
        ["sweep", "FILE", "--set", "stack.cc=reno,cubic", "--repeat", "1000000000"],
        ["aqm", "FILE", "--repeat", "1000000000"],
        ["aqm", "FILE", "--queues", ",".join(["fifo"] * 5000)],
        ["ackpath", "FILE", "--repeat", "1000000000"],
        ["fairness", "--repeat", "1000000000"],
        ["fairness", "--rtt", ",".join(f"{rtt}ms" for rtt in range(1, 2001))],
        ["search", "FILE", "--over", "stack.cc=reno|cubic", "--maximise", "goodput", "--repeat", "1000000000"],
        ["compare", "FILE", "--worlds", "sim,sim", "--repeat", "1000000000"],
        ["size", "--down", "2M", "--up", "1M", "--rtt", "20ms", "--repeat", "1000000000"],
    ],
)
def test_absurd_numbers_of_runs_are_rejected_at_once(command: list[str], tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["s.toml" if word == "FILE" else word for word in command]) == 2
    assert not (tmp_path / "runs").exists()


def test_out_through_a_symbolic_link_writes_to_the_target(tmp_path):
    scenario = lop.Scenario.from_text(SHORT)
    (tmp_path / "big").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "big")
    scenario.run().save(tmp_path / "link", report=False)
    scenario.run(seed=2).save(tmp_path / "link", report=False, overwrite=True)
    assert (tmp_path / "link").is_symlink() and lop.Run.load(tmp_path / "big").seed == 2
    (tmp_path / "t.csv").symlink_to(tmp_path / "there.csv")
    scenario.run().flows.write(tmp_path / "t.csv")
    assert {path.name for path in tmp_path.iterdir()} >= {"big", "link", "t.csv", "there.csv"}
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def tampered(folder: Path) -> list[tuple[str, object]]:
    manifest = json.loads((folder / "manifest.json").read_text())
    return [
        *(("manifest.json", {**manifest, **change}) for change in ({"world": [1]}, {"facts": 3}, {"seed": "x"})),
        ("manifest.json", {key: value for key, value in manifest.items() if key != "facts"}),
        ("manifest.json", "[" * 100_000),
        ("manifest.json", (folder / "manifest.json").read_text().replace('"format": ', '"format": 1e999, "f": ')),
        ("scenario.toml", SHORT.replace("download", "other")),
        ("scenario.toml", "x"),
        ("flows.parquet", "x"),
    ]


def test_a_foreign_run_folder_causes_one_error_message(tmp_path, capsys):
    folder = lop.Scenario.from_text(SHORT).run().save(tmp_path / "run", report=False)
    for name, content in tampered(folder):
        before = (folder / name).read_bytes()
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(LopsidedError):
            lop.Run.load(folder)
        assert cli.invoke(["explain", str(folder)]) in (1, 2)
        assert "Traceback" not in capsys.readouterr().err
        (folder / name).write_bytes(before)
    (folder / "links.parquet").unlink()
    os.mkfifo(folder / "links.parquet")
    with pytest.raises(FolderError, match="is not a file"):
        lop.Run.load(folder)


def test_no_control_character_reaches_a_terminal(tmp_path, capsys):
    assert clean("a\x1b[2J\x9b2J\u202eb\tc\n") == "a\ufffd[2J\ufffd2J\ufffdb\tc\n"
    file = tmp_path / "a\x1b]0;x\x07\x9b2J.toml"
    file.write_text("nonsense")
    cli.invoke(["check", str(file)])
    cli.invoke(["run", str(tmp_path / "\x9b2J.toml")])
    told = capsys.readouterr()
    assert not set("\x1b\x9b\x07") & set(told.out + told.err)


def test_an_argument_that_is_not_text_is_rejected(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(SHORT)
    assert cli.invoke(["run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "\udcffo")]) == 2
    assert "not UTF-8 text" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list presets", "list queues", "--help", "size --help", "schema"])
def test_a_closed_pipe_is_not_a_failure(command: str):
    program = f"{sys.executable} -m lopsided {command} | head -1; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", program], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.mark.parametrize(
    ("command", "out"),
    [("sweep --set stack.cc=reno,cubic", "t.csv"), ("aqm --queues fifo --repeat 1", "aqm")],
)
def test_a_closed_pipe_loses_no_files(command: str, out: str, tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(SHORT)
    name, *more = command.split()
    reader, writer = os.pipe()
    os.close(reader)
    terminal.out.cache_clear()
    with monkeypatch.context() as context:
        context.setattr(sys, "stdout", os.fdopen(writer, "w"))
        assert cli.invoke([name, str(tmp_path / "s.toml"), *more, "--out", str(tmp_path / out)]) == 0
    terminal.out.cache_clear()
    assert (tmp_path / out).exists()


def test_a_download_from_a_slow_server_ends_after_the_given_time(tmp_path, monkeypatch):
    monkeypatch.setattr("lopsided.fetching.client._SLOW_S", 0.4)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            with contextlib.suppress(OSError):
                while not over.is_set():
                    connection, _ = listener.accept()
                    with connection, contextlib.suppress(OSError):
                        connection.recv(65_536)
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                        while not over.wait(0.05):
                            connection.sendall(b"x")

        threading.Thread(target=trickle, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/it"
        with pytest.raises(FetchError, match=r"less than the --least-rate of 1\.00 Mbit/s"):
            fetch(url, tmp_path / "it", Options(least_rate_bps=1e6))
        over.set()
    assert not (tmp_path / "it").exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("part-x-y.parquet", b"PAR1....PAR1", "not part of a sweep"),
        ("part-0000000-0000004.parquet", b"PAR1" + bytes(96), "is damaged"),
        ("part-0000000-0000004.parquet", b"", "is damaged"),
    ],
)
def test_a_foreign_or_damaged_partial_file_is_rejected(name, content, said, tmp_path):
    plan = cluster._Plan(lop.Scenario.from_text(SHORT), {"link.rtt": [sweeps.Arm("20 ms", {"link.rtt": "20 ms"})]}, 8)
    assert cluster._begin(tmp_path, plan) == []
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FolderError, match=said):
        cluster._begin(tmp_path, plan)


@pytest.mark.parametrize(
    ("limit", "most", "said"),
    [
        (resource.RLIMIT_NOFILE, 12, "may open only 12 files"),
        (resource.RLIMIT_AS, 600 << 20, "600 MiB of address space"),
    ],
)
def test_limits_that_kill_the_process_cause_a_warning(limit: int, most: int, said: str):
    done = subprocess.run(
        [sys.executable, "-m", "lopsided", "--version"],
        preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and said in done.stderr


@pytest.mark.slow
def test_recorded_events_are_bounded(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(line_of("100 s", "10 Gbit/s", "10 Gbit/s") + DOWNLOAD + "[record]\nevents = true\n")
    # Limit the memory to 3 GiB. All events of the run would need more memory, and Rust would abort the process.
    most = 3 << 30
    done = subprocess.run(
        [sys.executable, "-m", "lopsided", "run", file, "--out", tmp_path / "run"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "more than 10 million events" in done.stderr and "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def test_a_very_long_title_is_truncated_in_figures():
    found = inks.cut("x" * 100_000, inks.TITLE_CHARACTERS)
    assert len(found) == inks.TITLE_CHARACTERS and found.endswith("…")
    figure = style.sheet("x" * 100_000, "y" * 100_000, (1.0,), "s").figure
    assert max(len(text.get_text()) for text in figure.texts) <= inks.SUBTITLE_CHARACTERS


@contextlib.contextmanager
def proxy(most_files: int | None = None) -> Generator[tuple[subprocess.Popen[str], int]]:
    """Runs `lopsided proxy` as a process, and yields the proxy's port."""
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))) if most_files else None
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", "lopsided", "proxy", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=limit,
    )
    try:
        assert running.stdout is not None
        yield running, int(running.stdout.readline().split()[-1])
    finally:
        running.kill()
        running.communicate()


@contextlib.contextmanager
def recorder(answer: bytes) -> Generator[tuple[int, list[bytes]]]:
    """Runs a server that records the first data of each connection and sends the response `answer`. Yields the port and
    the recorded data."""
    asked: list[bytes] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(0.5)
                    got = b""
                    with contextlib.suppress(TimeoutError):
                        while piece := connection.recv(65_536):
                            got += piece
                    asked.append(got)
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1], asked


def test_the_proxy_sends_one_framing_and_keeps_fields_of_one_connection():
    answer = b"HTTP/1.1 200 OK\r\nConnection: x-secret\r\nX-Secret: 1\r\nX-Kept: 2\r\nContent-Length: 2\r\n\r\nok"
    with recorder(answer) as (server, asked), proxy() as (_, port):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(
                f"POST http://127.0.0.1:{server}/x? HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n".encode()
                + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
            )
            got = client.recv(65_536).lower()
        head = asked[0].lower()
        # RFC 9112, section 6.3: a proxy that forwards `Transfer-Encoding` removes `Content-Length`.
        assert b"transfer-encoding: chunked" in head and b"content-length" not in head
        assert head.startswith(b"post /x? http/1.1\r\n")
        assert b"x-kept: 2" in got and b"x-secret" not in got


def test_the_proxy_ends_without_a_traceback_while_clients_are_served():
    with recorder(b"") as (server, asked), proxy() as (running, port):
        clients = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(4)]
        for client in clients:
            client.sendall(f"GET http://127.0.0.1:{server}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        until = time.monotonic() + 30
        while not asked and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
        for client in clients:
            client.close()
    assert running.returncode == 130 and "Traceback" not in said, said


def test_the_proxy_survives_more_clients_than_file_descriptors():
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with recorder(answer) as (server, _), proxy(most_files=32) as (running, port):
        idle = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(60)]
        time.sleep(1.5)
        for client in idle:
            client.close()
        time.sleep(0.5)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            client.sendall(f"GET http://127.0.0.1:{server}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert b" 200 " in client.recv(65_536)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert "Traceback" not in said and len(said) < 5_000, said


def test_a_damaged_kernel_is_an_error_and_not_another_kernel(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "cache_directory", lambda: tmp_path)
    folder = tmp_path / "6.1.0"
    folder.mkdir()
    (folder / "linux").write_bytes(b"not what was built")
    known = {"config_sha256": build.configuration(), "sha256": "0" * 64, "version": "6.1.0"}
    (folder / "kernel.json").write_text(json.dumps(known))
    assert build.find_damaged() == [folder / "linux"] and build.find_built() is None
    for kind in ("auto", "timetravel"):
        with pytest.raises(KernelUnavailable, match="is damaged"):
            backend.choose(kind)


def test_a_named_pipe_in_the_temporary_folder_does_not_block(tmp_path, monkeypatch):
    monkeypatch.setattr(cleanup.tempfile, "gettempdir", lambda: str(tmp_path))
    guest, lock = tmp_path / f"{cleanup.PREFIX}guest", tmp_path / f"{cleanup.PREFIX}lock"
    for folder in (guest, lock):
        folder.mkdir()
    os.mkfifo(guest / cleanup.GUEST)
    (guest / cleanup.LOCK).touch()
    (lock / cleanup.GUEST).write_text("1")
    os.mkfifo(lock / cleanup.LOCK)
    ended = threading.Thread(target=cleanup.remove_abandoned, daemon=True)
    ended.start()
    ended.join(10)
    assert not ended.is_alive()
    assert (guest.exists(), lock.exists()) == (False, True)


def test_a_run_from_a_removed_folder_is_written_and_printed(tmp_path):
    (tmp_path / "s.toml").write_text(SHORT)
    here = tmp_path / "here"
    here.mkdir()
    program = 'cd "$1" && rmdir "$1" && exec "$2" -m lopsided run "$3" --out "$4"'
    command = ["bash", "-c", program, "bash", here, sys.executable, tmp_path / "s.toml", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and (tmp_path / "out" / "report.html").exists(), done.stderr
    assert "Traceback" not in done.stderr and str(tmp_path / "out") in done.stdout
