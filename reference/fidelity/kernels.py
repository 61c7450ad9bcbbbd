"""`python -m reference.fidelity.kernels`: runs the same scenarios on Linux 6.1 and 6.12, and in the simulator with the
profiles of both.

`docs/fidelity/kernels.md` shows how values change from one kernel to the other, and from the profile `linux-6.1` to
`linux-6.12`. `docs/stacks.md` shows these changes for the access lines of the presets.

No queue discipline of Linux models `access`, so the lines run without `access`. Linux 6.12 has neither `docsis-pie` nor
`dualpi2`, so `pie` with the same target replaces these disciplines.
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from lopsided import _native
from lopsided.data import units
from lopsided.settings import Tables
from reference.fidelity import kept, promises, stamps
from reference.fidelity.cells import OfTables
from reference.fidelity.kept import Effort
from reference.fidelity.records import DOCS, Records, Values
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import paragraph, percent, section, table

PAGE, RECORDS = DOCS / "kernels.md", DOCS / "kernels.csv"
STACKS = DOCS.parent / "stacks.md"
MADE = re.compile(r"(<!-- made by reference.fidelity.kernels -->\n).*(\n<!-- end -->)", re.DOTALL)
SERIES = ("6.1", "6.12")
SEEDS = (1, 2)
SIM_SEEDS = tuple(range(1, 7))
"""Seeds of the simulated runs. The spread between these runs shows which changes are due to chance."""
BOUND = 0.05
"""Largest accepted difference between two relative changes from 6.1 to 6.12: the change on Linux, and the change in the
simulator."""
STANDARD_ERRORS = 3.0


def _link(down: str, up: str, rtt: str, queue: Tables | None = None, limit: int = 50) -> Tables:
    queue = queue or {"limit": f"{limit} packets"}
    return {"rtt": rtt, "down": {"rate": down, "queue": queue}, "up": {"rate": up, "queue": queue}}


def _flows(*kinds: str) -> list[Tables]:
    """Returns the TOML tables of flows: `down` and `up` are bulk flows, `pages` are downloads of 20 kB, and `objects`
    are downloads of 300 kB."""
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
class Cell(OfTables):
    """A scenario for one Linux series. It runs on the kernel of this series, or in the simulator with the profile of
    this series."""

    what: str
    link: Tables
    flows: Sequence[Tables]
    stack: Mapping[str, object]
    series: str
    seconds: int = 20

    @property
    def name(self) -> str:
        """The name that identifies the cell in the records."""
        return f"{self.what}, {self.series}"

    @property
    def tables(self) -> Tables:
        """The scenario as TOML tables."""
        stack = {"profile": f"linux-{self.series}", **self.stack}
        return {
            "scenario": {"duration": f"{self.seconds} s"},
            "link": self.link,
            "stack": stack,
            "flow": list(self.flows),
        }


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

# --- Access lines

LINES = tuple(name for name, *_ in _native.presets())
"""Names of the presets whose lines are compared."""
MOST_BITS, LEAST_RTTS = 400_000_000, 25
"""Limits of the duration on an access line: a run sends at most `MOST_BITS` bits in the loaded direction, but lasts at
least `LEAST_RTTS` RTTs."""
_REPLACED: Mapping[str, Tables] = {
    "docsis-pie": {"kind": "pie", "target": "10 ms"},
    "dualpi2": {"kind": "pie", "target": "15 ms"},
}
_MEAN_RATES = {"starlink-200-20": {"down": "200 Mbit/s", "up": "20 Mbit/s"}}
"""Mean rates of presets whose rates are random. In this comparison, the lines of these presets have constant rates."""
TRAFFIC = {"download": ("down", ("down",)), "objects beside an upload": ("up", ("objects", "up"))}
"""For each traffic pattern, the loaded direction and the kinds of flows."""


def access_line(name: str) -> Tables:
    """Returns a preset's link, simplified for Linux: without `access`, and with queue disciplines that Linux
    supports."""
    text = next(link for known, _, _, link in _native.presets() if known == name)
    said: Tables = tomllib.loads(text)
    shared = {key: said.pop(key) for key in ("rate", "queue", "access") if key in said}
    for direction in ("down", "up"):
        own = said.get(direction, {})
        assert isinstance(own, dict)
        line = {**shared, **own}
        line.pop("access", None)
        if name in _MEAN_RATES:
            line["rate"] = _MEAN_RATES[name][direction]
        if isinstance(queue := line["queue"], dict):
            line["queue"] = _REPLACED[str(queue["kind"])]
        said[direction] = line
    return said


def seconds(line: Tables, loaded: str) -> int:
    """Returns the duration of a run in seconds: 1 to 10 s depending on the rate, and at least `LEAST_RTTS` RTTs."""
    direction = line[loaded]
    assert isinstance(direction, dict)
    rate_bps, rtt_s = units.parse_rate(str(direction["rate"])), units.parse_time(str(line["rtt"]))
    return max(1, round(min(10, MOST_BITS / rate_bps)), round(LEAST_RTTS * rtt_s))


def _access_cells() -> Iterator[Cell]:
    for traffic, (loaded, kinds) in TRAFFIC.items():
        flows = [{**flow, "start_jitter": "100 ms"} for flow in _flows(*kinds)]
        for name in LINES:
            line = access_line(name)
            for series in SERIES:
                yield Cell(f"{name}, {traffic}", line, flows, {}, series, seconds(line, loaded))


ACCESS = tuple(_access_cells())
CELLS = (*ACCESS, *(Cell(what, *parts, series) for what, parts in _SCENARIOS.items() for series in SERIES))

_QUANTITIES = {"goodput_bps": "goodput", "rtt_p95_ms": "p95 RTT", "completion_s": "completion"}
_SCALES = {"goodput_bps": 1e6, "rtt_p95_ms": 1.0, "completion_s": 1e-3}
"""Divisors that convert values to the units of the page: goodput in Mbit/s, times in ms."""


def records() -> Records:
    """Returns the stored runs on Linux."""
    return Records(RECORDS, (cell.name for cell in CELLS))


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    wanted = ("two-way, 6.1", "two-way, 6.12", "receive buffer of 64 KiB, 6.12")
    return [Probe(cell.name, cell.scenario()) for cell in CELLS if cell.name in wanted]


def main() -> int:
    """Executes missing and outdated runs on Linux, and writes the page."""
    arguments = kept.parser("reference.fidelity.kernels", __doc__, 60).parse_args()
    known = records()
    if not arguments.recorded:
        effort = Effort.of(arguments.minutes, arguments.workers)
        kept.measure(known, [(cell, seed) for seed in SEEDS for cell in CELLS], effort, None)
    found = list(changes(known, simulated(known)))
    stamps.publish(PAGE, "\n".join(page(known, found)), probes())
    write_stacks(found)
    return 0


def simulated(known: Records) -> dict[tuple[str, int], Values]:
    """Returns the simulator's values for the cells that were measured on Linux."""
    return kept.simulate([(cell, seed) for cell in CELLS for seed in SIM_SEEDS if known.of(cell.name)])


@dataclass(frozen=True)
class Change:
    """The change of one quantity from the older to the newer Linux series, on Linux and in the simulator. Values are
    means over Linux's seeds."""

    what: str
    flow: str
    quantity: str
    linux: tuple[float, float]
    sim: tuple[float, float]
    chance: float
    """Standard error of `apart`, computed from the spread of the simulator's seeds."""

    @property
    def apart(self) -> float:
        """The relative change in the simulator minus the relative change on Linux."""
        return _share(self.sim) - _share(self.linux)

    @property
    def is_off(self) -> bool:
        """True if `apart` exceeds both the bound and 3 standard errors."""
        return abs(self.apart) > max(BOUND, STANDARD_ERRORS * self.chance)

    def cells(self) -> list[str]:
        """Returns table cells: the values on both kernels and their change, then the values with both profiles and
        their change."""
        scale = _SCALES[self.quantity]
        numbers = [f"{value / scale:,.4g}" for value in (*self.linux, *self.sim)]
        changes = [
            percent(_share(pair), signed=True, bold=abs(_share(pair)) > BOUND) for pair in (self.linux, self.sim)
        ]
        return [*numbers[:2], changes[0], *numbers[2:], changes[1]]

    def row(self) -> list[str]:
        """Returns the table row for this change."""
        off = f"{100 * self.apart:+.1f} ± {100 * self.chance:.1f}"
        return [self.what, self.flow, _QUANTITIES[self.quantity], *self.cells(), f"**{off}**" if self.is_off else off]


def _share(pair: tuple[float, float]) -> float:
    return pair[1] / pair[0] - 1 if pair[0] else 0.0


def changes(known: Records, simulated: Mapping[tuple[str, int], Values]) -> Iterator[Change]:
    """Yields the changes of the quantities that were measured with the same seeds on both kernels."""
    for what in dict.fromkeys(cell.what for cell in CELLS):
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
            of_seeds = [
                {seed: simulated[cell.name, seed].get(key, math.nan) for seed in SIM_SEEDS} for cell in (older, newer)
            ]
            sim = [fmean(values[seed] for seed in seeds) for values in of_seeds]
            if linux[0] and sim[0] and not math.isnan(sum(sim)):
                spread = math.hypot(*(_spread(values.values()) for values in of_seeds)) * math.sqrt(2 / len(seeds))
                yield Change(what, flow, quantity, linux, (sim[0], sim[1]), spread / sim[0])


def _spread(values: Iterable[float]) -> float:
    return stdev(value for value in values if not math.isnan(value))


_HEADS = "Linux 6.1 | 6.12 | change | profile 6.1 | 6.12 | change"


def page(known: Records, found: Sequence[Change]) -> list[str]:
    """Returns the lines of the page docs/fidelity/kernels.md."""
    runs = known.current((cell, seed) for cell in CELLS for seed in SEEDS)
    sources = sorted({one.source for one in runs})
    off = sum(one.is_off for one in found)
    bounds = f"{percent(BOUND)} or {STANDARD_ERRORS:g} standard errors"
    promise = promises.none(
        f"From 6.1 to 6.12, each value changes in the simulator as on Linux, within {bounds}.",
        "values beyond both bounds",
        off,
    )
    heads = f"scenario | flow | quantity | {_HEADS} | profiles without kernels"
    names = {cell.what for cell in ACCESS}
    return [
        "# Fidelity: Linux 6.1 and 6.12",
        "",
        paragraph(
            "Generated by `python -m reference.fidelity.kernels`; do not edit. The same scenarios run with the",
            "same seeds on both kernels in virtual time, and in the simulator with both profiles. The kernels are",
            f"{' and '.join(sources) or 'not measured'}. Linux ran {len(runs)} times, for {len(CELLS)} cells.",
            "Values are means over Linux's seeds; goodput is in Mbit/s, times are in ms. A change of more than",
            f"{percent(BOUND)} is **bold**. The last column shows the change between the profiles minus the change",
            "between the kernels, in per cent. The standard error of this difference is computed from the spread of",
            f"the simulator's {len(SIM_SEEDS)} seeds. [TCP stacks](../stacks.md#linux-61-and-612) lists all changes",
            "between the two kernels.",
        ),
        "",
        *promises.rows([promise]),
        *section(
            "Access lines",
            "The lines are the [presets](../access-networks.md#presets), simplified for Linux: a constant rate\n"
            "replaces `access`, and `pie` replaces `docsis-pie` and `dualpi2`. Runs last 1 to 14 s.",
            table(heads, (one.row() for one in found if one.what in names)),
        ),
        *section(
            "Other scenarios",
            "Each run lasts 20 s. Unless the name says otherwise, the line runs at 20/2 Mbit/s, with an RTT of 40\n"
            "ms and a buffer of 50 packets.",
            table(heads, (one.row() for one in found if one.what not in names)),
        ),
    ]


_SHOWN = {
    "download": (("down", "goodput_bps"), ("down", "rtt_p95_ms")),
    "objects beside an upload": (("objects", "completion_s"), ("up", "goodput_bps")),
}
"""For each traffic pattern, the flows and quantities that the table of access lines shows."""


def lines_table(found: Sequence[Change]) -> list[str]:
    """Returns a table that compares both kernels on each access line: a download alone, and downloads of objects next
    to an upload."""
    by_key = {(one.what, one.flow, one.quantity): one for one in found}
    keys = [(traffic, flow, quantity) for traffic, shown in _SHOWN.items() for flow, quantity in shown]
    rows: list[list[str]] = []
    for name in LINES:
        here = [by_key.get((f"{name}, {traffic}", flow, quantity)) for traffic, flow, quantity in keys]
        rows.append([name, *(" | ".join(one.cells()[:3]) if one else "– | – | –" for one in here)])
    heads = "line | download, Mbit/s: 6.1 | 6.12 | change | p95 RTT, ms: 6.1 | 6.12 | change"
    heads += " | object of 300 kB, ms: 6.1 | 6.12 | change | upload, Mbit/s: 6.1 | 6.12 | change"
    return table(heads, rows)


def write_stacks(found: Sequence[Change], path: Path = STACKS) -> None:
    """Replaces the table of access lines in `docs/stacks.md`."""
    made = "\n".join(lines_table(found)).rstrip()
    text, replaced = MADE.subn(lambda match: f"{match[1]}{made}{match[2]}", path.read_text())
    assert replaced == 1, f"{path} has one place for the table"
    path.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
