"""`python -m reference.fidelity.mechanisms`: compares the simulator with Linux, for each mechanism of Linux's TCP.

Each mechanism has packet scripts, and a small scenario that triggers the mechanism. The scenario runs on Linux and in
the simulator, and all packets are aligned (`lopsided compare --packets`). The command writes
`docs/fidelity/mechanisms.md`.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lopsided.cli.terminal import print_line
from lopsided.scenario import Scenario
from lopsided.studies import packets
from lopsided.worlds.kernel import KernelUnavailable
from reference.fidelity import promises, stamps
from reference.fidelity.promises import Promise
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import section, table
from reference.fidelity.texts import page_text

Settings = Mapping[str, object]

SCRIPTS = Path("crates/tcp/src/tests/scripts")
PAGE = "fidelity/mechanisms.md"

_DIRECTION = {"rate": "8 Mbit/s", "queue": "200 packets", "shaper": "1600 B"}
_LINE = {
    "scenario": {"duration": "6 s"},
    "link": {"rtt": "40 ms", "down": _DIRECTION, "up": _DIRECTION},
    "flow": [{"name": "download", "direction": "down", "cc": "reno"}],
}


@dataclass(frozen=True)
class Mechanism:
    """A mechanism of Linux's TCP, the packet scripts that test it, and a scenario that triggers it."""

    name: str
    scripts: tuple[str, ...]
    """Packet scripts, as `file::test` below `crates/tcp/src/tests/scripts`."""
    settings: Settings
    acts: str = ""
    """Name of a column of `flows` that is positive if the mechanism was triggered; empty if there is no such column."""

    def scenario(self) -> Scenario:
        """Returns the scenario that all mechanisms share, changed by this mechanism's settings."""
        return Scenario.build(_LINE, "mechanism.toml").with_(**self.settings)


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
MECHANISMS = tuple(Mechanism(**{**each, "scripts": tuple(each["scripts"])}) for each in _TABLES["mechanism"])
ALONE: Mapping[str, Sequence[str]] = _TABLES["alone"]
"""Mechanisms that no scenario in the kernel world can trigger, with their packet scripts."""
WITHOUT: Mapping[str, str] = _TABLES["without"]
"""For each rule of TCP, a packet script that fails if the simulator does not implement the rule."""


@dataclass(frozen=True)
class Held:
    """The result of comparing a mechanism's scenario on Linux and in the simulator."""

    mechanism: Mechanism
    packets: int
    same: int
    """Number of packets before the first packet whose content differs; the number of all packets if the contents are
    equal."""
    first: packets.Divergence | None
    acted: bool


def hold(mechanism: Mechanism, kernel: str | None = None) -> Held:
    """Runs the mechanism's scenario on Linux and in the simulator, and aligns the packets."""
    found = packets.compare(mechanism.scenario(), kernel=kernel)
    counts = max((one.packets for one in found.found), default=(0, 0))
    acted = not mechanism.acts or all(float(side.run.flows[mechanism.acts][0]) > 0 for side in found.sides)
    parted = found.parted and found.parted.parted
    first = found.first and found.first.first
    return Held(mechanism, counts[0], parted.packets if parted else counts[0], first, acted)


def missing(root: Path) -> list[str]:
    """Returns the packet scripts that mechanisms.toml names but that do not exist."""
    named = [script for mechanism in MECHANISMS for script in mechanism.scripts]
    named += [*itertools.chain(*ALONE.values()), *WITHOUT.values()]
    return [script for script in named if not exists(root, script)]


def exists(root: Path, script: str) -> bool:
    """Returns true if the packet script `file::test` exists."""
    file, test = script.split("::")
    path = root / SCRIPTS / f"{file}.rs"
    return path.is_file() and re.search(rf"fn {test}\(", path.read_text()) is not None


_HEAD = page_text("mechanisms-head")


def render(held: Iterable[Held]) -> str:
    """Returns the page docs/fidelity/mechanisms.md as Markdown."""
    held = list(held)
    whole = [one for one in held if one.same == one.packets]
    lines = [
        _HEAD + f"Scenarios in which all packets are equal until the end of the run: **{len(whole)} of {len(held)}**.\n"
    ]
    lines += promises.rows(promised(len(held), len(whole), sum(one.acted for one in held)))
    lines += table("mechanism | packets | equal packets | first difference | script", map(_cells, held))
    lines += section(
        "Mechanisms with scripts only",
        "The kernel world cannot produce these cases, because its applications write in only one direction, and its\n"
        "lines do not reorder packets.",
        table("mechanism | script", ((name, listed(scripts)) for name, scripts in ALONE.items())),
    )
    lines += section(
        "Scripts that fail without their rule",
        "Each rule was disabled by hand in the source code, one at a time. Each listed script then failed.",
        table(
            "rule | a script that fails if the rule is disabled",
            ((name, f"`{script}`") for name, script in WITHOUT.items()),
        ),
    )
    return "\n".join(lines)


def _cells(one: Held) -> tuple[str, ...]:
    first = "none" if one.first is None else f"{', '.join(one.first.fields)} (after {one.first.packets:,} packets)"
    same = "all" if one.same == one.packets else f"{one.same:,}"
    name = one.mechanism.name + ("" if one.acted else " (no effect)")
    return name, f"{one.packets:,}", same, first, listed(one.mechanism.scripts)


def promised(scenarios: int, whole: int, acted: int) -> list[Promise]:
    """Returns two accuracy targets: each scenario triggers its mechanism, and all packets are equal on Linux and in the
    simulator."""
    return [
        promises.all_of(
            scenarios, "Each scenario triggers its mechanism.", "scenarios that trigger their mechanism", acted
        ),
        promises.all_of(scenarios, "All packets are equal.", "scenarios with equal packets", whole),
    ]


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    return [Probe(mechanism.name, mechanism.scenario()) for mechanism in MECHANISMS[:4]]


def listed(scripts: Iterable[str]) -> str:
    """Returns the names of packet scripts as the content of a table cell, one name per line."""
    return "<br>".join(f"`{script}`" for script in scripts)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.mechanisms", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the documentation")
    parser.add_argument("--only", default="", help="run only mechanisms with this in their names, and write no page")
    given = parser.parse_args()
    held: list[Held] = []
    try:
        for mechanism in MECHANISMS:
            if given.only in mechanism.name:
                held.append(hold(mechanism))
                print_line(f"{mechanism.name}: {held[-1].same:,} of {held[-1].packets:,}")
    except KernelUnavailable as reason:
        print_line(str(reason))
        return 1
    if not given.only:
        stamps.publish(given.docs / PAGE, render(held), probes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
