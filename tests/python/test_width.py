"""On a terminal of 80 columns nothing is cut: no ellipsis, no line that is too long, every number whole."""

import os
import pty
import struct
import subprocess
import sys
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

pytestmark = pytest.mark.slow

WIDTH = 80
LINE = ["--down", "2.4M", "--up", "196k", "--rtt", "20ms"]
COMMANDS = {
    "run": ["run", "adsl.toml", "--no-report", "--out", "run"],
    "repeats": ["run", "adsl.toml", "--no-report", "--repeat", "2", "--fairness", "--out", "runs"],
    "sweep": ["sweep", "adsl.toml", "--set", "link.up.queue.limit=10,40 packets", "--set", "stack.cc=reno,cubic"],
    "fairness": [
        *("fairness", "--cc", "reno,cubic", "--rtt", "20", "--link", "2M", "--repeat", "1", "--no-report"),
        *("--duration", "20s", "--lead", "5s", "--out", "study"),
    ],
    "aqm": ["aqm", "adsl.toml", "--workload", "home", "--queues", "fifo,fq_codel", "--repeat", "1", "--out", "queues"],
    "size": ["size", *LINE, "--sizes", "5..45:20", "--repeat", "1"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_eighty_columns_suffice(command: str, adsl_file: Path, tmp_path: Path):
    lines = on_a_terminal(COMMANDS[command], tmp_path)
    # The lines of a device's configuration and the address of a report are for copying: they are never broken.
    shown = [line for line in lines if not line.startswith(("    ", "report", "folder", "table", "plot", "curve"))]
    assert shown
    assert not [line for line in shown if "…" in line or len(line) > WIDTH]


def on_a_terminal(arguments: list[str], folder: Path) -> list[str]:
    """What the command prints on a terminal, progress left out."""
    controller, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-c", "from lopsided.cli import main; main()", *arguments]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "TERM": "dumb"},
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
            pass  # The other end was closed.
        errors = process.stderr.read() if process.stderr else b""
    os.close(controller)
    assert process.returncode == 0, errors.decode()
    return said.decode().splitlines()
