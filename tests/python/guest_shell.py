"""Runs shell commands as root on user-mode Linux. Tests use it to run the commands that lopsided prints, with traffic.

The guest mounts this machine's root file system read-only, so the tests change nothing on this machine.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from lopsided.worlds.kernel import backend

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def run(script: str, folder: Path, modules: list[str], timeout_s: float = 90) -> str:
    """Runs a shell script and returns its output. The guest first loads the kernel modules."""
    machine = backend.choose("uml")
    (folder / "script.sh").write_text(script)
    load = f"from guest import modules; modules.load({modules!r})"
    init = folder / "init"
    init.write_text(
        f"""#!/bin/sh
export PATH={PATH} HOME=/run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t hostfs -o {shlex.quote(str(folder))} hostfs {shlex.quote(str(folder))}
cd {shlex.quote(str(folder))}
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH={shlex.quote(str(backend.ALONE))}
{sys.executable} -s -c {shlex.quote(load)} >out.txt 2>&1
sh script.sh >>out.txt 2>&1
echo "exit $?" >>out.txt
sync
echo o >/proc/sysrq-trigger
sleep 60
"""
    )
    init.chmod(0o755)
    command = [
        str(machine.program),
        f"mem={backend.MEMORY}",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        f'init="{init}"',
        "con=null",
        "con0=null",
        "ssl=null",
        "panic=-1",
    ]
    environment = {"HOME": str(folder), "PATH": PATH, "TMPDIR": str(folder)}
    with backend.watched(command, environment, folder, virtual_time=False) as running:
        try:
            running.wait(timeout_s, None)
        except subprocess.TimeoutExpired:
            raise AssertionError(_told(folder)) from None
    return _told(folder)


def _told(folder: Path) -> str:
    out = folder / "out.txt"
    if out.exists():
        return out.read_text(errors="replace")
    return (folder / "console.txt").read_text(errors="replace")
