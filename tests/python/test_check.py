"""Tests `lopsided check`, which compares two builds of a program over emulated lines."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lopsided import cli
from lopsided.errors import UsageError
from lopsided.studies import check as study

PROGRAM = [sys.executable, "-m", "lopsided", "check"]

SERVER = """
import socketserver, sys

class Sender(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"x" * int(sys.argv[1]))

socketserver.TCPServer.allow_reuse_address = True
socketserver.TCPServer(("", 4433), Sender).serve_forever()
"""
CLIENT = """
import socket

connection = socket.create_connection(("100.64.0.1", 4433))
while connection.recv(65536):
    pass
"""


@pytest.fixture
def commands(tmp_path: Path) -> list[str]:
    """Returns the options `--server` and `--client`. A build's name is the number of bytes that its server sends."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    tried = subprocess.run(
        [
            *PROGRAM[:-1],
            "emulate",
            "--preset",
            "geo-100-5",
            "--no-meter",
            "--quiet",
            "--server",
            "exit 0",
            "--",
            "true",
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if "before it opened a port" not in tried.stderr:
        pytest.skip(f"this machine cannot emulate lines: {tried.stderr}")
    run = f"{sys.executable} {tmp_path}"
    return ["--server", f"{run}/server.py {{}}", "--client", f"{run}/client.py"]


@pytest.mark.real_time
def test_a_build_that_sends_more_is_worse_on_each_line(commands: list[str], tmp_path: Path) -> None:
    line = tmp_path / "line.toml"
    link = '[link]\nrtt = "10 ms"\ndown.rate = "40 Mbit/s"\nup.rate = "4 Mbit/s"\n'
    line.write_text(f'[scenario]\nduration = "1 s"\n{link}[[flow]]\nname = "any"\ndirection = "down"\n')
    matrix = ["--lines", f"{line},vdsl2-100-40", "--set", "link.rtt=10 ms,20 ms", "--repeat", "2"]
    builds = ["--baseline", "200000", "--candidate", "2000000", "--metric", "down_bytes"]
    done = subprocess.run(
        [*PROGRAM, *builds, *commands, *matrix, "--out", "found", "--no-report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "The candidate is worse on" in done.stdout
    rows = list(csv.DictReader((tmp_path / "found" / "lines.csv").open()))
    assert [row["verdict"] for row in rows] == ["worse"] * 4
    assert [row["line"].rpartition(", ")[2] for row in rows] == ["10 ms", "20 ms"] * 2
    runs = list(csv.DictReader((tmp_path / "found" / "runs.csv").open()))
    assert [run["build"] for run in runs[:4]] == ["baseline", "candidate", "candidate", "baseline"]
    for run in runs:
        least = 2_000_000 if run["build"] == "candidate" else 200_000
        assert least < float(run["down_bytes"]) < 1.2 * least, "each byte crosses the line once"


@pytest.mark.real_time
def test_a_failed_candidate_is_shown_and_a_failed_baseline_is_an_error(commands: list[str], tmp_path: Path) -> None:
    line = ["--lines", "vdsl2-100-40", "--repeat", "2", "--no-report", "--overwrite", "--out", "found"]

    def of(baseline: str, candidate: str) -> subprocess.CompletedProcess[str]:
        client = ["--client", f"{{}}; {commands[-1]}", "--server", f"{commands[1].format('1000')}"]
        builds = ["--baseline", baseline, "--candidate", candidate]
        return subprocess.run([*PROGRAM, *builds, *client, *line], cwd=tmp_path, capture_output=True, text=True)

    done = of("true", "echo because; exit 7")
    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert "The candidate fails on vdsl2-100-40." in said
    assert "exit code 7" in said and "because" in said
    done = of("exit 3", "true")
    assert done.returncode == 1 and "the baseline fails every time" in done.stderr


@pytest.mark.real_time
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_check_leaves_no_process(commands: list[str], tmp_path: Path, sent: signal.Signals) -> None:
    mark = f"{1_000_000_000 + os.getpid() * 10 + sent}"
    builds = ["--baseline", f"sleep {mark}", "--candidate", f"sleep  {mark}", "--client", "{}", "--server", commands[1]]
    running = subprocess.Popen(
        [*PROGRAM, *[each.replace("server.py {}", "server.py 1") for each in builds], "--lines", "vdsl2-100-40"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _until(lambda: _named(mark), "the client starts")
    running.send_signal(sent)
    running.wait(timeout=20)
    _until(lambda: not _named(mark), "the client ends")


def _named(mark: str) -> list[str]:
    """Returns the IDs of the processes that run `sleep MARK`."""
    found: list[str] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", mark.encode()]:
            found.append(path.parent.name)
    return found


def _until(is_met, what: str) -> None:
    end = time.monotonic() + 60
    while not is_met():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def test_the_verdict_depends_on_the_place_of_the_interval():
    of = study.verdict
    assert of(False, 0.10, 0.05, 0.02) == "worse"
    assert of(False, 0.10, 0.09, 0.02) == "unsure"
    assert of(False, -0.10, 0.05, 0.02) == "better"
    assert of(False, 0.00, 0.01, 0.02) == "same"
    assert of(False, 0.00, 0.03, 0.02) == "unsure"
    assert of(False, 0.00, float("nan"), 0.02) == "unsure"
    assert of(False, None, None, 0.02) == "unsure"
    assert of(True, -0.10, 0.01, 0.02) == "failed"


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [("down_bytes", 42_480.0, "42.5 kB"), ("up_delay", 1234.5, "1.23 s"), ("time", 0.25, "250 ms")],
)
def test_means_have_the_unit_of_the_metric(metric: str, value: float, text: str):
    table = study.line_table(metric)
    assert table["baseline"].text(value) == table["candidate"].text(value) == text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"client": "true"}, "both builds would run the same"),
        ({"lines": ["isdn"]}, "adsl2plus-16-1"),
        ({"lines": []}, "at least one"),
        ({"metric": "goodput"}, "down_bytes"),
        ({"repeat": 1}, "at least 2 pairs"),
        ({"margin": 2.0}, "share"),
    ],
)
def test_wrong_options_are_refused(options: dict, said: str):
    with pytest.raises(UsageError, match=said):
        study.check("a", "b", **{"client": "{}", **options})


def test_two_files_or_two_builds_are_required(adsl_file, capsys):
    assert cli.invoke(["check", str(adsl_file), str(adsl_file)]) == 0
    assert capsys.readouterr().out.count(": good;") == 2
    assert cli.invoke(["check"]) == 2
    assert cli.invoke(["check", str(adsl_file), "--baseline", "a"]) == 2
    assert cli.invoke(["check", "--baseline", "a", "--candidate", "b"]) == 2
    assert "--client" in capsys.readouterr().err


def test_linux_refuses_each_setting_that_it_lacks(adsl_file, capsys):
    assert cli.invoke(["check", str(adsl_file), "--world", "kernel"]) == 0
    lacking = ["--set", "link.up.access.kind=grants", "--set", "link.down.jitter=2 ms", "--set", "stack.prr=false"]
    capsys.readouterr()
    assert cli.invoke(["check", str(adsl_file), "--world", "kernel", *lacking]) == 1
    first, *reasons = capsys.readouterr().out.splitlines()
    assert "Linux refuses 6 settings" in first
    for part in (
        "link.up: access grants",
        "link.down: jitter",
        "flow download, sender_stack: Linux cannot turn prr off",
    ):
        assert any(part in reason for reason in reasons)
    assert cli.invoke(["check", str(adsl_file), *lacking]) == 0
