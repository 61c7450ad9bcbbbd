"""`python -m reference.fidelity.kernels`: the same scenarios on Linux 6.1 and 6.12, and in the simulator's profiles.

Each cell runs with the same seeds and the same measurement in four ways: on either kernel in virtual time, and in the
simulator with `linux-6.1` and `linux-6.12`. The page `docs/fidelity/kernels.md` shows the changes between the kernels,
and those between the profiles.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from lopsided.cli.terminal import print_line
from lopsided.papers.framework import claims
from lopsided.settings import Tables, scenario_text
from lopsided.studies.jobs import run_jobs
from lopsided.worlds.base import Job
from lopsided.worlds.kernel import KernelUnavailable
from reference.fidelity import promises, stamps
from reference.fidelity.draw.measure import values_of
from reference.fidelity.promises import Promise
from reference.fidelity.records import Measurement, Records, Values
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import percent, section, table

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

DOCS = Path(__file__).resolve().parents[2] / "docs" / "fidelity"
PAGE, RECORDS = DOCS / "kernels.md", DOCS / "kernels.csv"
SERIES = ("6.1", "6.12")
SEEDS = (1, 2)
BOUND = 0.05
"""The largest difference between the change on Linux and the change in the simulator, as a share."""


def _link(down: str, up: str, rtt: str, queue: Tables | None = None, limit: int = 50) -> Tables:
    queue = queue or {"limit": f"{limit} packets"}
    return {"rtt": rtt, "down": {"rate": down, "queue": queue}, "up": {"rate": up, "queue": queue}}


def _flows(*kinds: str) -> list[Tables]:
    """Flows by name: `down` and `up` are bulk, `pages` short downloads, `objects` longer ones."""
    apps = {"pages": ("20 kB", "200 ms"), "objects": ("300 kB", "500 ms")}
    found: list[Tables] = []
    for kind in kinds:
        flow: dict[str, object] = {"name": kind, "direction": "up" if kind == "up" else "down", "start_jitter": "1 s"}
        if kind in apps:
            size, pause = apps[kind]
            flow["app"] = {"size": size, "repeat": "forever", "pause": pause}
        found.append(flow)
    return found


@dataclass(frozen=True)
class Cell:
    """One scenario on one of the kernels, or with its profile."""

    what: str
    link: Tables
    flows: Sequence[Tables]
    stack: Mapping[str, object]
    series: str

    @property
    def name(self) -> str:
        """The name in the records."""
        return f"{self.what}, {self.series}"

    @property
    def tables(self) -> Tables:
        """The scenario as tables of TOML."""
        stack = {"profile": f"linux-{self.series}", **self.stack}
        return {"scenario": {"duration": "20 s"}, "link": self.link, "stack": stack, "flow": list(self.flows)}

    def scenario(self) -> Scenario:
        """The scenario, which runs on the kernel of its profile."""
        from lopsided.scenario import Scenario

        return Scenario.build(self.tables, self.what)

    def fingerprint(self) -> str:
        """Identifies the scenario that a measurement is valid for."""
        return hashlib.sha256(scenario_text(self.tables).encode()).hexdigest()[:16]


def _lossy(link: Tables) -> Tables:
    down = link["down"]
    assert isinstance(down, dict)
    return {**link, "down": {**down, "loss": "1 %"}}


_CABLE = ("20 Mbit/s", "2 Mbit/s", "40 ms")
_ADSL = ("2400 kbit/s", "200 kbit/s", "20 ms")
_SCENARIOS: Mapping[str, tuple[Tables, Sequence[Tables], Mapping[str, object]]] = {
    "download": (_link(*_CABLE), _flows("down"), {}),
    "two-way": (_link(*_CABLE), _flows("down", "up"), {}),
    "two-way, Reno, ADSL": (_link(*_ADSL, limit=20), _flows("down", "up"), {"cc": "reno"}),
    "small buffers": (_link(*_CABLE, limit=10), _flows("down", "up"), {}),
    "short transfers, 1 % loss": (_lossy(_link(*_CABLE)), _flows("pages"), {}),
    "short transfers beside an upload": (_link(*_CABLE), _flows("pages", "up"), {}),
    "objects, ADSL": (_link(*_ADSL), _flows("objects"), {}),
    "BBR download": (_link(*_CABLE), _flows("down"), {"cc": "bbr"}),
    "BBR, two-way, small buffers": (_link(*_CABLE, limit=10), _flows("down", "up"), {"cc": "bbr"}),
    "fq_codel, two-way": (_link(*_CABLE, {"kind": "fq_codel"}), _flows("down", "up"), {}),
    "fq_codel, short beside bulk": (_link(*_CABLE, {"kind": "fq_codel"}), _flows("pages", "down"), {}),
    "CAKE, two-way": (_link(*_CABLE, {"kind": "cake"}), _flows("down", "up"), {}),
    "CAKE, short beside bulk": (_link(*_CABLE, {"kind": "cake"}), _flows("pages", "down"), {}),
    "receive buffer of 64 KiB": (
        _link("20 Mbit/s", "2 Mbit/s", "100 ms", limit=200),
        _flows("down"),
        {"receive_buffer": "64 KiB"},
    ),
    "long path": (_link("50 Mbit/s", "5 Mbit/s", "600 ms", limit=2000), _flows("down"), {}),
}
CELLS = tuple(Cell(what, *parts, series) for what, parts in _SCENARIOS.items() for series in SERIES)

_QUANTITIES = {"goodput_bps": "goodput", "rtt_p95_ms": "p95 RTT", "completion_s": "completion"}
_SCALES = {"goodput_bps": 1e3, "rtt_p95_ms": 1.0, "completion_s": 1e-3}
"""Goodput is shown in kbit/s, times in ms."""


def records() -> Records:
    """The runs on Linux."""
    return Records(RECORDS, (cell.name for cell in CELLS))


def probes() -> list[Probe]:
    """A few runs, whose digests show whether the page is up to date with the simulator."""
    wanted = ("two-way, 6.1", "two-way, 6.12", "receive buffer of 64 KiB, 6.12")
    return [Probe(cell.name, cell.scenario()) for cell in CELLS if cell.name in wanted]


def main() -> int:
    """Measures the missing and old runs, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.kernels", description=__doc__)
    parser.add_argument("--recorded", action="store_true", help="measure nothing on Linux")
    parser.add_argument("--minutes", type=float, default=60, help="start no run on Linux later than this")
    arguments = parser.parse_args()
    known, until = records(), time.monotonic() + 60 * arguments.minutes
    try:
        for seed in () if arguments.recorded else SEEDS:
            for cell in CELLS:
                if time.monotonic() < until and known.needs(cell, seed, cell.scenario()):
                    run = cell.scenario().run(seed=seed, world="kernel")
                    known.add(Measurement.of(cell, seed, run, values_of(run)))
                    print_line(f"{cell.name}, seed {seed}")
    except KernelUnavailable as error:
        print(f"drawing from the records alone: {error}", file=sys.stderr)
    PAGE.write_text("\n".join(page(known)))
    stamps.write(DOCS, PAGE.name, probes())
    print_line(str(PAGE))
    return 0


def _simulated() -> dict[tuple[str, int], Values]:
    jobs = [(cell, seed) for cell in CELLS for seed in SEEDS]
    found = run_jobs([Job(cell.scenario(), seed) for cell, seed in jobs], lambda _, run: values_of(run))
    return {(cell.name, seed): values for (cell, seed), values in zip(jobs, found, strict=True)}


@dataclass(frozen=True)
class Change:
    """A quantity of a flow with both kernels: means over the seeds, the older kernel first."""

    what: str
    flow: str
    quantity: str
    linux: tuple[float, float]
    sim: tuple[float, float]

    @property
    def apart(self) -> float:
        """The change in the simulator without the change on Linux, as a share of the older value on Linux."""
        return _share(self.sim) - _share(self.linux)

    def row(self) -> list[str]:
        """The row of the table."""
        scale = _SCALES[self.quantity]
        numbers = [f"{value / scale:,.4g}" for value in (*self.linux, *self.sim)]
        changes = [
            percent(_share(pair), signed=True, bold=abs(_share(pair)) > BOUND) for pair in (self.linux, self.sim)
        ]
        return [self.what, self.flow, _QUANTITIES[self.quantity], *numbers[:2], changes[0], *numbers[2:], changes[1]]


def _share(pair: tuple[float, float]) -> float:
    return pair[1] / pair[0] - 1 if pair[0] else 0.0


def changes(known: Records, simulated: Mapping[tuple[str, int], Values]) -> Iterator[Change]:
    """Every quantity that both kernels have for the same seeds."""
    for what in _SCENARIOS:
        older, newer = (cell for cell in CELLS if cell.what == what)
        pairs = [
            (one.values, other.values, seed)
            for seed in SEEDS
            if (one := known.get(older, seed)) is not None and (other := known.get(newer, seed)) is not None
        ]
        for key in pairs[0][0] if pairs else ():
            flow, quantity = key
            if quantity not in _QUANTITIES or not all(key in one and key in other for one, other, _ in pairs):
                continue
            seeds = [seed for _, _, seed in pairs]
            linux = (fmean(one[key] for one, _, _ in pairs), fmean(other[key] for _, other, _ in pairs))
            sim = [fmean(simulated[cell.name, seed][key] for seed in seeds) for cell in (older, newer)]
            if linux[0] and sim[0]:
                yield Change(what, flow, quantity, linux, (sim[0], sim[1]))


def page(known: Records) -> list[str]:
    """The lines of the page."""
    found = list(changes(known, _simulated()))
    runs = [one for cell in CELLS for seed in SEEDS if (one := known.get(cell, seed)) is not None]
    sources = sorted({one.source for one in runs})
    apart = sum(abs(one.apart) > BOUND for one in found)
    promise = Promise(
        f"The profiles change a value as the kernels do, within {percent(BOUND)}.",
        claims.at_most(0, [claims.number("values that change otherwise", apart)]),
    )
    heads = "scenario | flow | quantity | Linux 6.1 | 6.12 | change | profile 6.1 | 6.12 | change"
    return [
        "# Fidelity: Linux 6.1 and 6.12",
        "",
        "Made by `python -m reference.fidelity.kernels`; do not edit. The same scenarios of 20 s with the same seeds",
        f"run on both kernels in virtual time ({', '.join(sources) or 'not measured'}) and in the simulator",
        f"with both profiles: {len(runs)} of {len(CELLS) * len(SEEDS)} runs on Linux. Values are means over the seeds,",
        f"goodput in kbit/s, times in ms. A change beyond {percent(BOUND)} is **bold**. The line has 20/2 Mbit/s,",
        "40 ms and 50 packets unless the name says otherwise. [Stacks](../stacks.md#linux-61-and-612) has all changes.",
        "",
        *promises.rows([promise]),
        *section("Values", table(heads, (one.row() for one in found))),
    ]


if __name__ == "__main__":
    sys.exit(main())
