"""Tests which features of Linux lopsided can use on this machine. The tests run in temporary namespaces."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lopsided import _native
from lopsided.errors import LopsidedError, RunError
from lopsided.run_options import RunOptions
from lopsided.scenario import Scenario
from lopsided.worlds import live

from . import build, host
from .backend import choose
from .errors import KernelUnavailable

CONTROLS = ("reno", "cubic", "bbr", "vegas", "bic", "westwood", "highspeed", "htcp", "illinois", "hybla", "dctcp")


@dataclass(frozen=True)
class Finding:
    """A capability: whether it is present, the result of the test, and how to get it.

    `partial` is true if only some of the variants are present.
    """

    name: str
    good: bool
    seen: str
    remedy: str = ""
    partial: bool = False


def findings() -> list[Finding]:
    """Returns all findings, most important first."""
    return [
        *_virtual_time(),
        _user_mode_linux(),
        _namespaces(),
        _controls(),
        _disciplines(),
        _device("TUN", Path("/dev/net/tun"), "`modprobe tun`"),
        _emulated_lines(),
        _live_world(),
        _netfilter_queue(),
        _timer_slip(),
        _pyroute2(),
    ]


def _virtual_time() -> list[Finding]:
    if kernels := build.all_built():
        return [Finding("time-travel kernel", True, f"Linux {each.version}, {each.path}") for each in kernels]
    damaged = build.find_damaged()
    if damaged:
        told = f"{damaged[0]} is damaged: it differs from what was built"
        return [Finding("time-travel kernel", False, told, "`lopsided kernel build` builds it again")]
    missing = build.missing_packages()
    try:
        source = str(build.find_source())
    except KernelUnavailable:
        source, missing = "none here", [build.packages()[0], *missing]
    remedy = (
        f"`apt-get install {' '.join(missing)}`, then `lopsided kernel build`" if missing else "`lopsided kernel build`"
    )
    return [Finding("time-travel kernel", False, f"not built yet; source: {source}", remedy)]


def _user_mode_linux() -> Finding:
    try:
        return Finding("user-mode Linux", True, str(choose("uml").program))
    except KernelUnavailable as error:
        return Finding("user-mode Linux", False, "does not run on this machine", str(error))


def _namespaces() -> Finding:
    if os.geteuid() != 0:
        return Finding("network namespaces", False, "needs root", "`sudo lopsided ...`; user-mode Linux needs none")
    try:
        host.in_namespace(lambda: None)
    except OSError as error:
        return Finding("network namespaces", False, error.strerror or str(error), "a kernel with CONFIG_NET_NS")
    return Finding("network namespaces", True, "can be created")


def _controls() -> Finding:
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    missing = [name for name in CONTROLS if name not in available]
    return _variants("congestion controls", missing, available)


def _disciplines() -> Finding:
    if os.geteuid() != 0:
        return Finding("queue disciplines", False, "testing them requires root", "`sudo lopsided doctor`")
    try:
        found = host.disciplines()
    except (OSError, ImportError) as error:
        return Finding("queue disciplines", False, str(error))
    missing = [name for name in host.PROBED if name not in found]
    return _variants("queue disciplines", missing, found)


def _variants(name: str, missing: Sequence[str], found: Iterable[str]) -> Finding:
    """Returns the finding about a capability: the host's kernel supports the variants `found` and lacks the variants
    `missing`."""
    remedy = f"the time-travel kernel also has {', '.join(missing)}" if missing else ""
    return Finding(name, not missing, ", ".join(found), remedy, partial=bool(missing))


def _emulated_lines() -> Finding:
    """Tests `lopsided emulate`: runs a command behind an emulated line."""
    try:
        _native.emulate(["--down=1M", "--up=1M", "--rtt=1ms", "--no-meter", "--", "true"])
    except LopsidedError as error:
        remedy = "`modprobe tun`; user namespaces, or `sudo lopsided emulate`"
        return Finding("emulated lines", False, str(error), remedy)
    return Finding("emulated lines", True, "`lopsided emulate` runs here")


def _live_world() -> Finding:
    """Tests whether a short run in the live world succeeds."""
    name = "live world"
    try:
        live.run(Scenario.build(_LIVE_TRIAL, "trial"), 1, RunOptions())
    except RunError as error:
        return Finding(name, False, str(error), "`modprobe tun`; user namespaces, or root")
    return Finding(name, True, "`--world live` runs here")


_LIVE_TRIAL = {
    "scenario": {"duration": "100 ms"},
    "link": {"rtt": "1 ms", "down": {"rate": "10 Mbit/s"}, "up": {"rate": "10 Mbit/s"}},
    "flow": [{"name": "trial", "direction": "down", "cc": "reno"}],
}


_IPTABLES = ("-w", "-t", "mangle", "-A", "OUTPUT", "-j", "NFQUEUE", "--queue-num", "1", "--queue-bypass")
_QUEUE_TRIALS = {
    "nft": ("nft", "add table inet t; add chain inet t c; add rule inet t c queue flags bypass to 1"),
    "iptables": ("iptables", *_IPTABLES),
    "iptables-legacy": ("iptables-legacy", *_IPTABLES),
}
"""Maps each tool that `lopsided shape` can use to a command that creates a rule for a netfilter queue."""


def _netfilter_queue() -> Finding:
    """Tests whether rules can send packets to a netfilter queue: whether the kernel supports the queue, whether a tool
    is installed, and, as root, whether the tool can create a rule."""
    name = "NFQUEUE"
    if not Path("/proc/net/netfilter/nfnetlink_queue").exists():
        return Finding(name, False, "not in the kernel", "`modprobe nfnetlink_queue`")
    tools = [tool for tool in _QUEUE_TRIALS if shutil.which(tool)]
    if not tools:
        return Finding(name, False, "neither nft nor iptables is installed", "`apt-get install nftables`")
    if os.geteuid() != 0:
        return Finding(name, True, f"in the kernel, with {tools[0]}; setting a rule needs root")
    refusals: list[str] = []
    for tool in tools:
        try:
            done = host.in_namespace(
                lambda tool=tool: subprocess.run(_QUEUE_TRIALS[tool], capture_output=True, text=True, check=False)
            )
        except OSError as error:
            return Finding(name, False, f"not tried: {error.strerror or error}", "a kernel with CONFIG_NET_NS")
        if done.returncode == 0:
            return Finding(name, True, f"{tool} sets a rule")
        refusals.append(f"{tool}: {(done.stderr.strip().splitlines() or ['failed'])[0]}")
    return Finding(name, False, "; ".join(refusals), "`modprobe nft_queue xt_NFQUEUE`")


def _device(name: str, path: Path, remedy: str) -> Finding:
    usable = os.access(path, os.R_OK | os.W_OK)
    return Finding(name, usable, str(path) if usable else f"no access to {path}", "" if usable else remedy)


def _timer_slip() -> Finding:
    """Measures in ms how late a sleeping process wakes. This lateness limits the accuracy of runs in real time."""
    late: list[float] = []
    for _ in range(200):
        began = time.perf_counter()
        time.sleep(0.001)
        late.append((time.perf_counter() - began - 0.001) * 1e3)
    worst, middle = max(late), sorted(late)[len(late) // 2]
    good = worst < 2.0
    remedy = "" if good else "measure on a quiet machine, or in virtual time"
    return Finding("timer slip", good, f"median {middle:.2f} ms, worst of 200 {worst:.2f} ms", remedy)


def _pyroute2() -> Finding:
    try:
        import pyroute2  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        return Finding("pyroute2", False, "not installed", f"`{sys.executable} -m pip install pyroute2`")
    return Finding("pyroute2", True, str(Path(pyroute2.__file__).parent))


def tools() -> list[Finding]:
    """Returns one finding for each external program that some commands need."""
    return [
        Finding(name, (path := shutil.which(name)) is not None, path or "not installed", "" if path else remedy)
        for name, remedy in (("tshark", "`apt-get install tshark`"), ("tcpdump", "`apt-get install tcpdump`"))
    ]
