"""What a run on Linux says of itself, in words: which kernel it was, whether the path was what the scenario says, and
whether the machine could carry it. The kernel's own counters stay in the manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def kernel(facts: Mapping[str, Any]) -> str:
    """`Linux 6.1.192, timetravel`."""
    return f"Linux {facts['kernel']}, {facts['kernel_kind']}"


def told(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Headings and texts."""
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
    """The rate that was farthest off: what counts most for all that follows."""
    off = [abs(check["measured"] / check["expected"] - 1) for check in checks if "rate" in check["what"]]
    return f"; rates to {100 * max(off):.2f} %" if off else ""
