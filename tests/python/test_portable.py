"""Checks that the simulator runs without Python's Linux-only modules and without Linux's system calls."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HIDE = """
import ctypes, importlib.abc, os, shutil, signal, sys, types
import polars  # looks at the processor by the system's name as it loads

HIDDEN = {"fcntl", "grp", "pty", "pwd", "pyroute2", "resource", "termios", "tty"}

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
for name in HIDDEN:
    sys.modules.pop(name, None)
sys.platform = "other"
shutil._use_fd_functions = False
for module, names in (
    (os, "O_DIRECTORY O_NOFOLLOW O_CLOEXEC fork geteuid getuid killpg sched_setscheduler uname memfd_create"),
    (signal, "SIGHUP SIGKILL SIGQUIT SIGTSTP SIGWINCH"),
):
    for name in names.split():
        module.__dict__.pop(name, None)

# As on Windows, a folder cannot be opened.
plain_open = os.open
def no_folders(path, flags, *rest, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return plain_open(path, flags, *rest, **more)
os.open = no_folders
plain_library = ctypes.CDLL
def no_process(name, *rest, **more):
    if name is None:
        raise TypeError("bad argument type for built-in operation")
    return plain_library(name, *rest, **more)
ctypes.CDLL = no_process
def locking(descriptor, mode, octets):
    os.fstat(descriptor)
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)

from lopsided import _native
for name in ("LivePath", "TcpAcceptor", "TcpHost", "TcpSocket"):
    delattr(_native, name)
"""


def _lopsided(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = f"{HIDE}\nfrom lopsided.__main__ import main\nsys.argv[1:] = {list(arguments)!r}\nmain()\n"
    environment = {**os.environ, "MPLBACKEND": "agg"}
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("portable")
    text = (ROOT / "scenarios" / "adsl.toml").read_text().replace("180 s", "20 s").replace("60 s", "10 s")
    (folder / "adsl.toml").write_text(text)
    return folder


def test_a_run_can_be_saved_twice(folder):
    for more in ([], ["--overwrite"]):
        done = _lopsided(folder, "run", "adsl.toml", "--out", "run", *more)
        assert done.returncode == 0, done.stderr
        assert (folder / "run" / "report.html").exists()
    # After the run, no lock file and no unfinished folder remains.
    assert sorted(path.name for path in folder.iterdir()) == ["adsl.toml", "run"]
    done = _lopsided(folder, "explain", "run")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "adsl.toml"],
        ["sweep", "adsl.toml", "--set", "link.up.queue.limit=10,50 packets", "--out", "sweep.csv"],
        ["list", "queues"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_of_the_simulator_run(folder, arguments):
    done = _lopsided(folder, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "adsl.toml", "--world", "kernel"],
        ["run", "adsl.toml", "--world", "live"],
    ],
    ids=lambda arguments: " ".join(arguments[-1:]),
)
def test_linux_worlds_are_rejected_with_an_error_message(folder, arguments):
    done = _lopsided(folder, *arguments)
    assert done.returncode == 2
    assert "needs Linux" in done.stderr
    assert "Traceback" not in done.stderr
