"""Checks that on a terminal of 80 columns, no text is truncated and no line is too long."""

import importlib
import io
import os
import pty
import re
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest
from rich.console import Console

from lopsided import Scenario, cli
from lopsided.cli import commands
from lopsided.data.view import Heading, View, words

pytestmark = pytest.mark.slow

WIDTH = 80
ELSEWHERE = {
    "schema": "JSON",
    "cite": "BibTeX, for copying",
    "doctor": "commands, for copying",
    "reflect": "real time",
    "reproduce": "the papers' tests: minutes of work",
    "plot": "a path",
    "compare": "test_compare: it needs a second world",
    "kernel": "a path",
    "emulate": "test_emulate: real time",
    "shape": "test_emulate: real time",
    "probe": "test_probe: real time",
    "fetch": "test_fetching: real time",
    "proxy": "test_fetching: real time",
    "metrics": "test_sender_log: it needs a log",
    "analyze": "test_analyze: it needs a capture",
    "fit": "test_fit: it needs a capture",
    "merge": "test_shards: it needs shards",
    "page": "a path",
    "ui": "test_page: real time",
}
"""For each command that this test does not run, the reason or the test that runs it."""
MAIN = [sys.executable, "-c", "from lopsided.cli import main; main()"]
COLOUR = re.compile(r"\x1b\[(3|4|9|10)\d")
LINE = ["--down", "2.4M", "--up", "196k", "--rtt", "20ms"]
COMMANDS = {
    "run": ["run", "adsl.toml", "--no-report", "--out", "run"],
    "repeats": ["run", "adsl.toml", "--no-report", "--repeat", "2", "--fairness", "--out", "runs"],
    "sweep": ["sweep", "adsl.toml", "--set", "link.up.queue.limit=10,40 packets", "--set", "stack.cc=reno,cubic"],
    "fairness": [
        *("fairness", "--cc", "reno,cubic", "--rtt", "20ms", "--link", "2M", "--repeat", "1", "--no-report"),
        *("--duration", "20s", "--lead", "5s", "--out", "study"),
    ],
    "aqm": ["aqm", "adsl.toml", "--workload", "home", "--queues", "fifo,fq_codel", "--repeat", "1", "--out", "queues"],
    "ackpath": ["ackpath", "adsl.toml", "--remedies", "none,filter", "--no-report", "--out", "acks"],
    "suite": ["suite", "rfc9743", "--case", "5.1.3", "--no-report", "--out", "suite"],
    "search": [
        *("search", "adsl.toml", "--over", "link.up.queue.limit=8..11 packets", "--maximise", "goodput.download"),
        *("--minimise", "rtt.upload", "--repeat", "2", "--no-report", "--out", "found"),
    ],
    "new": ["new", "begin.toml"],
    "list": ["list"],
    "check": ["check", "adsl.toml"],
    "explain": ["explain", "events", "--flow", "download"],
    "size": ["size", *LINE, "--sizes", "5..45:20", "--repeat", "1"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_output_fits_80_columns(command: str, adsl_file: Path, tmp_path: Path):
    if command == "search":
        pytest.importorskip("optuna")
    if command == "explain":
        scenario = Scenario.load(adsl_file, **{"record.tcp_events": True, "scenario.duration": "12 s"})
        scenario.run().save(tmp_path / "events", report=False)
    lines = on_a_terminal(COMMANDS[command], tmp_path)
    # Users copy configurations and paths, so lines with these beginnings must never wrap.
    for_copying = ("    ", "tc ", "ip ", "report", "folder", "table", "plot", "curve", "front")
    shown = [line for line in lines if not line.startswith(for_copying)]
    assert shown
    assert not [line for line in shown if "…" in line or len(line) > WIDTH]


def test_every_command_is_tested_for_width():
    here = {words[0] for words in COMMANDS.values()}
    assert here | set(ELSEWHERE) == {command.name for command in commands.COMMANDS}
    assert not here & set(ELSEWHERE)


@pytest.mark.parametrize("command", [command.name for command in commands.COMMANDS])
def test_help_fits_eighty_columns_and_needs_no_unicode(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert cli.invoke([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert not [line for line in said.splitlines() if len(line) > WIDTH]
    assert "Usage" in said
    given = [line.strip() for line in examples(command)]
    shown = [line.strip() for line in said.splitlines()]
    assert given and not [line for line in given if line not in shown], "an example is broken where it is long"


def examples(command: str) -> list[str]:
    """Returns the example lines of a command's docstring."""
    home = next(each.home for each in commands.COMMANDS if each.name == command)
    module, _, function = home.partition(":")
    text = getattr(importlib.import_module(module), function).__doc__
    _, _, after = text.partition("For example:\n\n")
    return after.partition("\n\n")[0].splitlines()


def test_output_is_complete_without_colour_unicode_and_terminal(adsl_file: Path, tmp_path: Path):
    command = ["run", "adsl.toml", "--no-report", "--set", "scenario.duration=12 s", "--out"]
    plain = on_a_terminal([*command, "a"], tmp_path, TERM="xterm-256color", NO_COLOR="1")
    assert not [line for line in plain if COLOUR.search(line)]
    ascii_only = piped([*command, "b"], tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ascii_only.isascii() and b"\x1b" not in ascii_only
    said = piped([*command, "c"], tmp_path).decode()
    assert "\x1b" not in said and "…" not in said
    numbers = [re.findall(r"\d+\.\d+|[0-9a-f]{16}", text) for text in ("\n".join(plain), ascii_only.decode(), said)]
    assert set(numbers[0]) == set(numbers[1]) == set(numbers[2])


def test_a_table_in_a_pipe_has_the_width_of_columns(adsl_file: Path, tmp_path: Path):
    command = ["sweep", "adsl.toml", "--set", "link.up.queue.limit=10,40 packets", "--set", "stack.cc=reno,cubic"]
    wide = piped([*command, "--out", "a.csv"], tmp_path, COLUMNS="").decode().splitlines()
    narrow = piped([*command, "--out", "b.csv"], tmp_path, COLUMNS=str(WIDTH)).decode().splitlines()
    assert max(map(len, wide)) > WIDTH >= max(map(len, narrow))


def piped(arguments: list[str], folder: Path, **variables: str) -> bytes:
    """Returns the bytes that the command prints to a pipe."""
    done = subprocess.run([*MAIN, *arguments], cwd=folder, env={**os.environ, **variables}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def on_a_terminal(arguments: list[str], folder: Path, **variables: str) -> list[str]:
    """Returns the lines that the command prints on a terminal. The progress bar is removed."""
    controller, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [*MAIN, *arguments],
        cwd=folder,
        env={**environment, "TERM": "dumb", **variables},
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(terminal)
        said = b""
        try:
            while part := os.read(controller, 65536):
                said += part
        except OSError:
            pass  # The command has closed its end of the terminal.
        errors = process.stderr.read() if process.stderr else b""
    os.close(controller)
    assert process.returncode == 0, errors.decode()
    return said.decode().splitlines()


def test_a_part_of_a_split_table_has_no_rows_without_content():
    digests = ["0123456789abcdef", "", "fedcba9876543210"]
    rows = [[f"case {number}", f"{number}" * 20, digest] for number, digest in enumerate(digests)]
    console = Console(width=40, file=io.StringIO())
    console.print(View(words("case", "measured", "digest"), rows))
    lines = console.file.getvalue().splitlines()
    assert [line.split()[1] for line in lines if "case  " not in line and "case " in line] == [
        "0",
        "1",
        "2",
        "0",
        "2",
    ], lines


def test_a_heading_in_several_lines_keeps_a_number_and_its_percent_sign_together():
    headings = [Heading("flow", numeric=False), Heading("RTT 95 %"), Heading("time from the start")]
    console = Console(width=22, file=io.StringIO())
    console.print(View(headings, [["download", "1.07 s", "28.0 s"]]))
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert any("95 %" in " ".join(line) for line in lines), lines
