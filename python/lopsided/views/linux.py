"""Describes a run on Linux or with real packets: the kernel, the measured deviation from the scenario, and timer
delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kernel(facts: Mapping[str, Any]) -> str:
    """Returns the kernel's name, such as `Linux 6.1.192, timetravel`."""
    return f"Linux {facts['kernel']}, {facts['kernel_kind']}"


def live(facts: Mapping[str, Any]) -> str:
    """Returns the world, the kernel, and the hosts with the simulator's TCP, such as `live, Linux 6.1.192, client
    ours`."""
    ours = f", {', '.join(facts['ours'])} ours" if facts["ours"] else ""
    return f"live, Linux {facts['kernel']}{ours}"


def told_live(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    path, load = facts["path"], facts["load"]
    late = [path[name] for name in ("late_p50_us", "late_p99_us", "late_max_us")]
    said = "none" if None in late else f"{late[0]:.0f} µs, 99 % within {late[1]:.0f} µs, at most {late[2]:.0f} µs"
    return [
        ("kernel", f"Linux {facts['kernel']}"),
        ("the simulator's TCP", ", ".join(facts["ours"]) or "nowhere"),
        ("packets left late by", f"{said} (median)" if None not in late else said),
        ("timers late", f"{load['timer_late_mean_ms']:.2g} ms, at most {load['timer_late_max_ms']:.2g} ms"),
        *(("note", note) for note in facts["notes"]),
    ]


def told(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    held = sum(check["holds"] for check in facts["checks"])
    return [
        ("kernel", kernel(facts)),
        ("path checked", f"{held} of {len(facts['checks'])} expectations hold{_farthest(facts['checks'])}"),
        (
            "timers late",
            f"{facts['load']['timer_late_mean_ms']:.2g} ms, at most {facts['load']['timer_late_max_ms']:.2g} ms",
        ),
        *(("note", note) for note in facts["notes"]),
    ]


def _farthest(checks: list[dict[str, Any]]) -> str:
    """Returns the largest relative difference between a measured rate and the scenario's rate, as text."""
    off = [abs(check["measured"] / check["expected"] - 1) for check in checks if "rate" in check["what"]]
    return f"; rates to {100 * max(off):.2f} %" if off else ""
