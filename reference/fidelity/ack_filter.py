"""Compares the simulator's implementation of CAKE's ACK filter with Linux's in two ways: by replaying packets, and in
whole runs.

*By replay.* Packets are captured before and after Linux's `cake` with the ACK filter. The packets are replayed into the
simulator's filter (`lopsided.studies.replay`), which dequeues at the times at which Linux dequeued. Each packet must be
forwarded by both filters or removed by both.

*In whole runs.* Linux and the simulator run a download and an upload over three lines, with the same seeds.

`python -m reference.fidelity.ack_filter` measures missing runs and writes `docs/fidelity/ack-filter.md`. With
`--recorded`, the command does not run Linux.
"""

from __future__ import annotations

import lzma
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from statistics import median

import lopsided as lop
from lopsided.data import units
from lopsided.settings import Tables
from lopsided.studies.replay import Arrival, Fate
from lopsided.studies.replay import replay as play
from lopsided.worlds.kernel import backend, captures, cleanup
from reference.fidelity import kept, promises, queues, stamps
from reference.fidelity.cells import OfTables
from reference.fidelity.chance import Both
from reference.fidelity.kept import Effort
from reference.fidelity.records import DOCS, Records, Values
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import percent, row
from reference.fidelity.texts import page_text

RUNS, CAPTURES, PAGE = DOCS / "ack-filter.csv", DOCS / "ack-filter.xz", DOCS / "ack-filter.md"
RULES = ("conservative", "aggressive")
SEEDS = (1, 2, 3, 4)
BOUNDS = {"down_bps": 0.03, "up_bps": 0.03, "ack_ratio": 0.05}
"""Largest accepted relative deviation of the simulator's median from Linux's median."""


def _tables(down: float, up: float, seconds: float, rule: str, cake: Tables, stack: Tables) -> Tables:
    """Returns the TOML tables of a scenario: a download and an upload over a line of `down` and `up` Mbit/s, with a
    downlink buffer of 100 ms."""
    room = round(down * 1e6 * 0.1 / 8)
    return {
        "scenario": {"title": f"A download and an upload at {down}/{up} Mbit/s", "duration": f"{seconds} s"},
        "link": {
            "rtt": "30 ms",
            "down": {"rate": f"{down} Mbit/s", "queue": f"{room} B"},
            "up": {"rate": f"{up} Mbit/s", "queue": {"kind": "ack_filter", "rule": rule, "queue": cake}},
        },
        "stack": {"profile": "linux-6.1", **stack},
        "flow": [
            {"name": "download", "direction": "down", "start_jitter": "100 ms"},
            {"name": "upload", "direction": "up", "start_jitter": "100 ms"},
        ],
    }


# --- Whole runs


@dataclass(frozen=True)
class Cell(OfTables):
    """A scenario with a line (rates in Mbit/s) and a rule of the ACK filter. `cake` shapes the uplink to the line's
    rate."""

    down: float
    up: float
    seconds: float
    rule: str

    @property
    def line(self) -> str:
        return f"{self.down:g}/{self.up:g}"

    @property
    def name(self) -> str:
        return f"{self.line} {self.rule}"

    @property
    def tables(self) -> Tables:
        cake = {"kind": "cake", "bandwidth": f"{self.up} Mbit/s"}
        return _tables(self.down, self.up, self.seconds, self.rule, cake, {})

    def values_of(self, run: lop.Run) -> Values:
        """Returns the goodputs in bit/s, the number of delivered ACKs per data segment of the download, and the number
        of ACKs that the filter removed."""
        flows = {row["name"]: row for row in run.flows.rows()}
        up = next(row for row in run.links.rows() if row["direction"] == "up")
        acks = up["arrived_packets"] - flows["upload"]["data_segments_out"] - up["filtered_packets"]
        found = {
            "down_bps": round(flows["download"]["goodput_bps"]),
            "up_bps": round(flows["upload"]["goodput_bps"]),
            "ack_ratio": round(acks / flows["download"]["data_segments_out"], 5),
            "filtered": up["filtered_packets"],
        }
        return {("run", quantity): value for quantity, value in found.items()}


CELLS = tuple(
    Cell(down, up, seconds, rule) for down, up, seconds in ((10, 0.8, 12), (50, 1, 8), (1000, 35, 2)) for rule in RULES
)


def records() -> Records:
    """Returns the stored runs on Linux."""
    return Records(RUNS, (cell.name for cell in CELLS))


def probes() -> list[Probe]:
    """Returns simulated runs. If the digest of a run changes, the page is out of date."""
    return [Probe(cell.name, cell.scenario()) for cell in CELLS[:2]]


# --- By replay


@dataclass(frozen=True)
class Case:
    """A replayed scenario: a download and an upload over a slow line. The uplink's `cake` does not shape."""

    name: str
    rule: str
    stack: Tables
    down: float = 10
    up: float = 0.3
    seconds: float = 4

    @cached_property
    def scenario(self) -> lop.Scenario:
        cake = {"kind": "cake", "isolation": "flows", "tins": "besteffort"}
        tables = _tables(self.down, self.up, self.seconds, self.rule, cake, self.stack)
        return lop.Scenario.build(tables, f"{self.name}.toml")


CASES = tuple(
    Case(f"{rule}{name}", rule, stack)
    for rule in RULES
    for name, stack in (
        ("", {}),
        (", no timestamps", {"timestamps": False}),
        (", no SACK", {"sack": False}),
        (", ECN", {"ecn": True}),
    )
)


@dataclass(frozen=True)
class Seen:
    """A captured packet: arrival time, headers, and departure time (`None` if the filter removed the packet)."""

    at_ns: int
    octets: bytes
    left_ns: int | None

    @property
    def is_ack(self) -> bool:
        """True if the packet has no payload."""
        return len(self.octets) == struct.unpack_from("!H", self.octets, 2)[0]


def capture(case: Case) -> list[Seen]:
    """Captures the packets that enter and leave Linux's uplink queue, in virtual time. Times are relative to the first
    packet."""
    job = queues.job_of(case.scenario)
    with cleanup.folder() as folder:
        backend.choose("timetravel").run(job, folder, queues.TIMEOUT_S)
        crossings = queues.crossings(job, folder, "up")
        came = [each for each in crossings if each[1][12:14] == captures.ETHERNET_IPV4]
    origin = came[0][0]
    return [Seen(at - origin, _headers(packet), left and left[0] - origin) for at, packet, left in came]


def _headers(packet: bytes) -> bytes:
    """Returns the IP and TCP headers. The checksums are set to 0, so that the recording compresses better."""
    ip = packet[captures.ETHERNET_HEADER :]
    end = 20 + (ip[32] >> 4) * 4
    return ip[:10] + bytes(2) + ip[12:36] + bytes(2) + ip[38:end]


def simulate(case: Case, seen: Sequence[Seen]) -> list[Fate]:
    """Returns the simulator's result for each captured packet. The simulated queue dequeues when Linux's queue
    dequeued."""
    arrivals = [Arrival(packet.at_ns, packet.octets) for packet in seen]
    instants = sorted(packet.left_ns for packet in seen if packet.left_ns is not None)
    return play(case.scenario, "link", "up", arrivals, instants=instants)


@dataclass(frozen=True)
class Agreement:
    """Counts of packets in one capture. An outcome is the same if both filters removed the packet, or if both forwarded
    it."""

    packets: int
    acks: int
    gone: int
    """Number of ACKs that Linux's filter removed."""
    ours: int
    same: int
    """Number of ACKs with the same outcome in both queues."""
    data: int
    """Number of other packets that departed at the same time from both queues."""


def agreement(seen: Sequence[Seen], fates: Sequence[Fate]) -> Agreement:
    """Compares the outcomes in Linux's queue and in the simulator, for packets that arrived before Linux's last
    departure."""
    last = max(packet.left_ns for packet in seen if packet.left_ns is not None)
    pairs = [(packet, fate) for packet, fate in zip(seen, fates, strict=True) if packet.at_ns < last]
    acks = [(packet.left_ns is None, fate.left_ns is None) for packet, fate in pairs if packet.is_ack]
    data = [(packet.left_ns, fate.left_ns) for packet, fate in pairs if not packet.is_ack]
    return Agreement(
        len(pairs),
        len(acks),
        sum(theirs for theirs, _ in acks),
        sum(ours for _, ours in acks),
        sum(theirs == ours for theirs, ours in acks),
        sum(theirs == ours for theirs, ours in data),
    )


def save(path: Path, recorded: Mapping[str, Sequence[Seen]]) -> None:
    """Writes all captures into one compressed file. For better compression, times are stored as differences, and the
    headers of a capture are stored column by column."""
    parts: list[bytes] = []
    for name, seen in recorded.items():
        before = [0, *(packet.at_ns for packet in seen)]
        steps = [packet.at_ns - since for packet, since in zip(seen, before, strict=False)]
        waits = [-1 if packet.left_ns is None else packet.left_ns - packet.at_ns for packet in seen]
        lengths = [len(packet.octets) for packet in seen]
        octets = b"".join(
            bytes(column) for column in zip(*(packet.octets.ljust(80, b"\0") for packet in seen), strict=True)
        )
        label = name.encode()
        parts += [struct.pack("<II", len(label), len(seen)), label]
        parts += [struct.pack(f"<{len(seen)}q", *column) for column in (steps, waits)]
        parts += [bytes(lengths), octets]
    path.write_bytes(lzma.compress(b"".join(parts), preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> dict[str, list[Seen]]:
    data, at = lzma.decompress(path.read_bytes()), 0

    def take(octets: int) -> bytes:
        nonlocal at
        at += octets
        return data[at - octets : at]

    found: dict[str, list[Seen]] = {}
    while at < len(data):
        label, count = struct.unpack("<II", take(8))
        name = take(label).decode()
        steps, waits = (struct.unpack(f"<{count}q", take(8 * count)) for _ in range(2))
        lengths, columns = take(count), take(80 * count)
        came, seen = 0, []
        for number in range(count):
            came += steps[number]
            octets = columns[number::count][: lengths[number]]
            seen.append(Seen(came, octets, None if waits[number] < 0 else came + waits[number]))
        found[name] = seen
    return found


# --- The page

HEAD = page_text("ack_filter-head")

WHOLE = page_text("ack_filter-whole")
_LABELS = {
    "down_bps": "download, Mbit/s",
    "up_bps": "upload, kbit/s",
    "ack_ratio": "ACKs per segment",
    "filtered": "ACKs filtered",
}


def _said(name: str, values: Sequence[float]) -> str:
    def one(value: float) -> str:
        match name:
            case "down_bps":
                return f"{value / 1e6:.2f}"
            case "up_bps":
                return units.count(round(value / 1e3))
            case "ack_ratio":
                return f"{value:.4f}"
            case _:
                return units.count(round(value))

    return f"{one(median(values))} ({one(min(values))} to {one(max(values))})"


def page(both: Both, recorded: Mapping[str, Sequence[Seen]]) -> str:
    """Returns the page docs/fidelity/ack-filter.md as Markdown."""
    text, apart = "", 0
    for case in CASES:
        if case.name in recorded:
            found = agreement(recorded[case.name], simulate(case, recorded[case.name]))
            others = found.packets - found.acks
            apart += found.same < found.acks
            cells: list[object] = [case.name, *map(units.count, (found.packets, found.acks, found.gone, found.ours))]
            cells += [_of(found.same, found.acks), _of(found.data, others)]
            text += row(cells) + "\n"
    rows, within = list[str](), 0
    known = both.cells
    for cell in (cell for cell in CELLS if cell.name in known):
        off: dict[str, float] = {}
        for name, label in _LABELS.items():
            value = both.value(cell.name, ("run", name))
            off[name] = value.median_error
            beyond = abs(off[name]) > BOUNDS.get(name, 1.0)
            place = [cell.line, cell.rule] if name == "down_bps" else ["", ""]
            sides = [_said(name, side) for side in (value.linux, value.sim)]
            rows.append(row([*place, label, *sides, percent(off[name], signed=True, bold=beyond)]))
        within += all(abs(off[name]) <= bound for name, bound in BOUNDS.items())
    promised = [
        promises.none(
            "Both filters remove the same ACKs as on Linux.", "captures in which the removed ACKs differ", apart
        ),
        promises.all_of(
            len(known), "All values of whole runs are within the bounds.", "cells within the bounds", within
        ),
    ]
    text = HEAD.format(promised="\n".join(promises.rows(promised))) + text
    return text + WHOLE.format(seeds=len(SEEDS), within=within, cells=len(known)) + "\n".join(rows) + "\n"


def _of(some: int, whole: int) -> str:
    return "all" if some == whole else f"{units.count(some)} of {units.count(whole)}"


def main() -> int:
    arguments = kept.parser("reference.fidelity.ack_filter", __doc__, 60).parse_args()
    runs, recorded = records(), load(CAPTURES) if CAPTURES.exists() else {}
    # Run the lowest seeds first, and the fast line last, because the fast line takes longest.
    wanted = [(cell, seed) for cells in (CELLS[:-2], CELLS[-2:]) for seed, cell in product(SEEDS, cells)]
    if not arguments.recorded:
        with kept.on_linux("capturing"):
            for case in (case for case in CASES if case.name not in recorded):
                recorded[case.name] = capture(case)
                save(CAPTURES, recorded)
        kept.measure(runs, wanted, Effort.of(arguments.minutes, arguments.workers), None)
    linux = runs.current(product(CELLS, SEEDS))
    cells = {cell.name: cell for cell in CELLS}
    here = kept.simulate([(cells[one.cell], one.seed) for one in linux])
    stamps.publish(PAGE, page(Both(linux, here), recorded), probes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
