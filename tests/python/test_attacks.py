"""What strangers and damage do: servers that cut answers short, sinks that are none, folders of somebody else."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import lopsided as lop
from faulty_server import FaultyServer
from lopsided import cli
from lopsided.cli.terminal import clean
from lopsided.errors import FolderError, LopsidedError, RunError
from lopsided.fetching import FetchError, Options, fetch
from lopsided.fetching.connection import Head
from lopsided.fetching.representation import Representation
from lopsided.studies import probe

SHORT = """\
[scenario]
duration = "1 s"
[link]
rtt = "20 ms"
down = { rate = "1 Mbit/s", queue = "20 packets" }
up = { rate = "200 kbit/s", queue = "20 packets" }
[[flow]]
name = "download"
direction = "down"
"""


@pytest.mark.parametrize("ranges", [True, False])
def test_a_server_that_cuts_every_answer_short_is_given_up(ranges, tmp_path):
    server = FaultyServer(os.urandom(100_000), ranges=ranges)
    part = b"Content-Range: bytes 0-14479/100000\r\n" if ranges else b""
    length = b"14480" if ranges else b"100000"
    status = b"206 Part" if ranges else b"200 OK"
    server.answer = b"HTTP/1.1 " + status + b"\r\n" + part + b"Content-Length: " + length + b"\r\n\r\n" + b"x" * 5000
    with server.running(), pytest.raises(FetchError, match="given up after"):
        fetch(server.url(), tmp_path / "it", Options(retries=3, stall_s=0.5))
    assert len(server.requests) <= 6


def test_a_tag_of_any_octets_is_sent_back_as_it_came(tmp_path):
    content = os.urandom(60_000)
    # As its bytes in UTF-8 read as latin-1.
    server = FaultyServer(content, etag='"\u00c3\u00a9"')
    with server.running():
        assert fetch(server.url(), tmp_path / "it").size == len(content)
    assert any("if-range" in fields for _, fields in server.requests)


def test_a_part_without_the_tag_of_the_first_ends_the_transfer():
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
def test_what_answers_a_probe_is_checked(report: bytes | None, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(probe, "_REPORT_BYTES", 200_000)
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
        with pytest.raises(RunError, match="no `lopsided probe sink`"):
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
        ["fairness", "--rtt", ",".join(map(str, range(1, 2001)))],
        ["search", "FILE", "--over", "stack.cc=reno|cubic", "--maximise", "goodput", "--repeat", "1000000000"],
        ["compare", "FILE", "--worlds", "sim,sim", "--repeat", "1000000000"],
        ["size", "--down", "2M", "--up", "1M", "--rtt", "20ms", "--repeat", "1000000000"],
    ],
)
def test_more_runs_than_can_be_meant_are_refused_at_once(command: list[str], tmp_path, monkeypatch):
    (tmp_path / "s.toml").write_text(SHORT)
    monkeypatch.chdir(tmp_path)
    assert cli.invoke(["s.toml" if word == "FILE" else word for word in command]) == 2
    assert not (tmp_path / "runs").exists()


def test_out_through_a_symbolic_link_writes_where_it_points(tmp_path):
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


def test_a_run_folder_of_somebody_else_ends_in_a_sentence(tmp_path, capsys):
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


def test_an_argument_that_is_no_text_is_refused(tmp_path, capsys):
    (tmp_path / "s.toml").write_text(SHORT)
    assert cli.invoke(["run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "\udcffo")]) == 2
    assert "not text in UTF-8" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["list presets", "list queues", "--help", "schema"])
def test_a_reader_that_goes_away_is_no_failure(command: str):
    program = f"{sys.executable} -m lopsided {command} | head -1; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", program], stdout=subprocess.DEVNULL, check=False).returncode == 0
