import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from lopsided import cli

pytestmark = pytest.mark.real_time

LINE = ["--no-meter", "--down", "20M", "--up", "2M", "--rtt", "20ms"]


def emulate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lopsided.cli import main; main()", "emulate", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tried = emulate(tmp_path, *LINE, "--quiet", "--", "true")
    if tried.returncode:
        pytest.skip(f"this machine cannot emulate lines: {tried.stderr}")
    return tmp_path


@pytest.mark.slow
def test_a_command_runs_behind_a_line(folder: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as service:
        service.bind(("127.0.0.1", 0))
        threading.Thread(target=answer, args=(service,), daemon=True).start()
        port = service.getsockname()[1]
        _judge_a_command(folder, port)


def answer(service: socket.socket) -> None:
    """Runs a server that responds to each datagram. A response proves that the datagram crossed the emulated line."""
    with contextlib.suppress(OSError):
        while True:
            _, sender = service.recvfrom(2048)
            service.sendto(b"here\n", sender)


def _judge_a_command(folder: Path, port: int) -> None:
    ask = f"exec 3<>/dev/udp/100.64.0.1/{port}; head -c 1000 /dev/zero >&3; head -n 1 <&3"
    script = f"{ask}; sleep 0.25; echo out; exit 9"
    files = ["--plot", "line.png", "--data", "queues.csv", "--pcap", "line.pcapng"]
    done = emulate(folder, *LINE, *files, "--queue-up", "fq_codel", "--", "bash", "-c", script)
    assert (done.returncode, done.stdout) == (9, "here\nout\n")
    assert "mean rate" in done.stderr and "line.png" in done.stderr
    assert (folder / "line.png").stat().st_size > 10_000
    assert (folder / "line.pcapng").stat().st_size > 1000
    queues = pl.read_csv(folder / "queues.csv")
    up = queues.filter(pl.col("direction") == "up")
    assert up["sent_bytes"].max() == 1028
    assert queues["time_s"].max() >= 0.2  # The script sleeps for 0.25 s. On a busy machine, it takes longer.


@pytest.mark.slow
def test_existing_files_are_not_replaced(folder: Path) -> None:
    (folder / "line.pcapng").write_text("mine")
    done = emulate(folder, *LINE, "--pcap", "line.pcapng", "--", "true")
    assert done.returncode == 2
    assert (folder / "line.pcapng").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--down, --up and --rtt"),
        ([*LINE, "--mtu", "9"], "1280"),
        ([*LINE, "--set", "link.up.jitter"], "key=value"),
        (["--preset", "isdn"], "adsl2plus-16-1"),
        (["--scenario", "none.toml"], "cannot read none.toml"),
        ([*LINE, "--plot", "line.gif"], ".png"),
        ([*LINE, "--overwrite"], "--pcap, --plot or --data"),
        ([*LINE, "--json", "--column", "single"], "--plot FILE"),
    ],
)
def test_wrong_options_are_rejected(tmp_path: Path, arguments: list[str], told: str) -> None:
    done = emulate(tmp_path, *arguments, "--", "true")
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_picture_is_drawn_next_to_json_and_a_missing_picture_is_noted(folder: Path) -> None:
    """`emulate` takes a sample of the queues after 0.1 s."""
    done = emulate(folder, *LINE, "--json", "--plot", "line.png", "--", "sleep", "0.5")
    assert (done.returncode, (folder / "line.png").exists()) == (0, True), done.stderr
    assert json.loads(done.stdout)["exit_code"] == 0
    done = emulate(folder, *LINE, "--plot", "short.png", "--", "true")
    assert (folder / "short.png").exists() or "short.png was not drawn" in done.stderr


HELP = Path(__file__).parents[2] / "crates" / "live" / "src" / "command"


@pytest.mark.parametrize(
    ("command", "only_python"),
    [
        ("emulate", {"--plot", "--data", "--column", "--json", "--meter"}),
        ("shape", set[str]()),
        ("reflect", set[str]()),
    ],
)
def test_the_commands_have_the_options_of_lopsided_live(command: str, only_python: set[str]) -> None:
    """`crates/live/tests/options.rs` shows the effect of each option of `lopsided-live`."""
    listed = re.findall(r"^  (--[a-z].*?)(?:  |$)", (HELP / f"{command}.rs").read_text(), re.MULTILINE)
    there = {name for line in listed for name in re.findall(r"--[a-z-]+", line)}
    arguments = cli.build()[command].assemble_argument_collection()
    long = {name for each in arguments for name in each.names if name.startswith("--")}
    assert long - only_python == there
    assert only_python <= long


@pytest.mark.parametrize("command", [["shape", "eth0", "--up", "3M"], ["reflect"]])
def test_a_unit_starts_the_program_that_wrote_it(tmp_path: Path, command: list[str]) -> None:
    program = Path(sys.executable).parent / "lopsided"
    if not program.exists():
        pytest.skip("the command lopsided is not installed next to this Python")
    words = [os.path.relpath(program, tmp_path), *command, "--systemd"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    start = next(line for line in done.stdout.splitlines() if line.startswith("ExecStart="))
    assert f" {program} {command[0]}" in start and ".." not in start, start


@pytest.mark.parametrize("command", [["shape", "nowhere0", "--up", "1x"], ["emulate", "--down", "1x", "--", "true"]])
def test_an_error_ends_its_line(command: list[str]):
    """The error message must end with a line break, so that the next prompt of the shell is on a new line."""
    program = [sys.executable, "-c", "from lopsided.cli import main; main()"]
    done = subprocess.run([*program, *command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith("\n")


def test_shape_recommends_the_kernel_only_if_its_settings_are_valid():
    program = [sys.executable, "-m", "lopsided", "shape"]
    done = subprocess.run([*program, "nowhere0", "--up", "3M"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == 'error: there is no interface "nowhere0"; `ip link` lists the interfaces\n'
    done = subprocess.run([*program, "lo", "--up", "3M", "--dry-run"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr.startswith("note: Linux's own fq_codel needs less CPU time")
