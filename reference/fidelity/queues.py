"""Compares the simulator's queue disciplines with Linux's by replay: the same packets arrive at both queues at the same
times.

The kernel world captures datagrams before and after the queue. Datagrams are used because their senders do not react to
the queue. The captures show drops, times, order and marks. The packets are then replayed in the simulator
(`lopsided.studies.replay`), in two ways:

- *the discipline*: the simulated queue dequeues at the times at which Linux dequeued, so the shaper has no effect.
  Both queues must drop and mark the same packets and deliver the others in the same order. (Disciplines that delay
  packets are compared by the departure times instead.)
- *with the line*: the departure times are compared too.

Disciplines that use random numbers are compared by the number of drops and marks, over several seeds.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import mean, stdev

from lopsided.cli.terminal import print_line
from lopsided.scenario import Scenario
from lopsided.settings import Tables
from lopsided.studies.replay import Arrival, Fate, datagram
from lopsided.studies.replay import replay as play
from lopsided.worlds.kernel import backend, captures, cleanup, flow_results, plan, translate
from lopsided.worlds.kernel.guest.job import Job, Watched
from reference.fidelity import promises
from reference.fidelity.promises import Promise
from reference.fidelity.records import DOCS
from reference.fidelity.tables import row, write_page
from reference.fidelity.texts import page_text

LINK, DIRECTION = "link", "down"
LINE = "5 Mbit/s"
TIMEOUT_S = 300
SEEDS = range(1, 11)
"""Seeds with which disciplines that use random numbers are simulated."""
LINUX_SEEDS = range(1, 4)
ECN_MASK, CE = 3, 3
TOLERANCE_NS = 2_000
"""Largest difference in ns at which departure times count as equal. Linux's timers have a resolution of 64 ns, and each
read of the clock adds 256 ns."""
LOOK_NS = 256
"""Time in ns by which each read of the kernel world's clock advances this clock. The capture reads the clock before the
discipline does."""
CREDIT_NS = 2_048 - 1
"""The serializer's credit in ns (`plan.CREDIT_NS`), rounded up to Linux's unit of 64 ns, minus 1 ns. If a packet
arrives at the time of a departure, Linux enqueues the packet first. With the full credit, the simulator dequeues
first."""
PHASE_NS = 2_000_000
"""Time in ns by which the arrivals of each further seed are later. Linux's timers for `pie` and `fq_pie` started at an
unknown time before the first packet. In the simulator they start at time 0, so each seed has another phase."""
RECORDS, PAGE = DOCS / "queues.xz", DOCS / "queues.md"


@dataclass(frozen=True)
class Stream:
    """A flow of datagrams: rate in kbit/s, size in bytes, start and stop in µs, DSCP, and ECN codepoint (0 for
    none)."""

    name: str
    kbit: int
    size: int
    start: int
    stop: int
    dscp: int
    ect: int = 0

    def flow(self) -> Tables:
        """Returns the TOML table of the flow."""
        times = {"start": f"{self.start} us", "stop": f"{self.stop} us"}
        app = {"kind": "udp", "rate": f"{self.kbit} kbit/s", "size": f"{self.size} B"}
        return {"name": self.name, "direction": "down", **times, "app": app, "stack": {"dscp": self.dscp}}


STREAMS = (
    Stream("large", 1997, 1500, 317, 4000_000, 0, 2),
    Stream("medium", 1511, 1000, 503_139, 3500_000, 10),
    Stream("urgent", 1213, 700, 1001_733, 4500_000, 46, 2),
    Stream("small", 307, 200, 7_471, 5000_000, 0),
    Stream("burst", 2999, 1400, 2003_911, 2600_000, 10, 2),
    Stream("voice", 67, 160, 11_251, 5000_000, 46),
)
"""The streams that all cases send. The load exceeds the line's rate from 1 s to 4 s. The line is idle at the start and
at the end.

The packet sizes of the streams differ, so that queue lengths differ: between queues of equal length, Linux chooses by a
secret key. Rates are primes, so that no arrival coincides with a departure.
"""


@dataclass(frozen=True)
class Case:
    """A discipline to compare. `queue` contains its settings, in the format of a scenario's `queue`."""

    name: str
    queue: str | Tables
    line: bool = True
    """False if the discipline delays packets itself, so that it needs no line."""
    draws: bool = False
    """True if the discipline uses random numbers. Only drops and marks are then compared."""
    held: bool = False
    """True if the discipline delays packets and is followed by a line."""
    on_linux: str | Tables | None = None
    """The settings for Linux, if they differ from those for the simulator."""

    @property
    def asked(self) -> bool:
        """True if every dequeue from a non-empty queue returns a packet. Only then can Linux's departures be
        replayed."""
        return self.line and not self.held and not self.draws

    @cached_property
    def scenario(self) -> Scenario:
        return self._scenario(self.queue)

    @cached_property
    def linux_scenario(self) -> Scenario:
        return self._scenario(self.on_linux or self.queue)

    def _scenario(self, queue: str | Tables) -> Scenario:
        down = {"rate": LINE if self.line else "unlimited", "queue": queue}
        tables = {
            "scenario": {"duration": "7 s"},
            "link": {"rtt": "20 ms", "down": down, "up": {"rate": "10 Mbit/s"}},
            "flow": [stream.flow() for stream in STREAMS],
        }
        return Scenario.build(tables, f"{self.name}.toml")


CASES = tuple(
    Case(**each) for each in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["case"]
)


@dataclass(frozen=True)
class Seen:
    """A captured packet: its arrival, its stream, and what Linux's queue did with it. `left_ns` is `None` if it was
    dropped."""

    at_ns: int
    stream: int
    left_ns: int | None
    marked: bool

    def arrival(self) -> Arrival:
        stream = STREAMS[self.stream]
        octets = datagram(stream.size, translate.FIRST_PORT + self.stream, stream.dscp << 2 | stream.ect)
        return Arrival(self.at_ns, octets, self.stream)


def measure(case: Case, seed: int = 1) -> list[Seen]:
    """Runs a case on Linux in virtual time, and returns the captured packets."""
    job, machine = _job(case, seed), backend.choose("timetravel")
    with cleanup.folder() as folder:
        machine.run(job, folder, TIMEOUT_S)
        facts = flow_results.load(folder)
        # Convert capture times to the monotonic clock, which the disciplines use. Some disciplines discard the
        # low-order bits of this clock.
        shift = facts["origin_monotonic_ns"] - facts["origin_realtime_ns"] + LOOK_NS
        return list(_seen(job, folder, shift))


def _job(case: Case, seed: int) -> Job:
    job = job_of(case.linux_scenario, seed, [stream.ect for stream in STREAMS])
    queue = _watched(job, DIRECTION)
    taps = [tap for tap in job.taps if tap.file in (queue.file("in"), queue.file("out"))]
    # Disable the self-checks, because their packets would change the state of the queue.
    return replace(job, checks=[], taps=taps)


def job_of(scenario: Scenario, seed: int = 1, ects: Sequence[int] = ()) -> Job:
    """Returns the job that runs a scenario on Linux. `ects` contains the ECN codepoint of each flow's packets."""
    resolved = scenario.resolved
    recording = plan.Recording(
        translate.nanoseconds(resolved["duration_s"]), modules=translate.modules(resolved), seed=seed
    )
    flows = translate.flows(resolved, seed)
    marked = [replace(flow, sender_tos=flow.sender_tos | ect) for flow, ect in zip(flows, ects, strict=False)]
    return plan.make_job(translate.layout(resolved), marked or flows, recording)


def _watched(job: Job, direction: str) -> Watched:
    return next(queue for queue in job.watched if (queue.link, queue.direction) == (LINK, direction))


def crossings(job: Job, folder: Path, direction: str) -> Iterator[tuple[int, bytes, tuple[int, bytes] | None]]:
    """Yields the packets that arrived at the queue in one direction. For each packet: the time in ns and the bytes at
    its arrival, and the time and the bytes at its departure (`None` if dropped)."""
    queue = _watched(job, direction)
    macs = {(end.node, end.name): bytes.fromhex(end.mac.replace(":", "")) for veth in job.veths for end in veth.ends}
    into, out_of = macs[queue.node, queue.way_in], macs[queue.node, queue.interface]
    left = {
        captures.identity(packet): (time, packet)
        for time, _, packet in captures.read(folder / f"{queue.file('out')}.pcap")
        if packet[6:12] == out_of
    }
    for time, _, packet in captures.read(folder / f"{queue.file('in')}.pcap"):
        if packet[:6] == into:
            yield time, packet, left.get(captures.identity(packet))


def _seen(job: Job, folder: Path, shift: int) -> Iterator[Seen]:
    for time, packet, left in crossings(job, folder, DIRECTION):
        port = int.from_bytes(packet[36:38], "big")
        gone, marked = (left[0] + shift, left[1][15] & ECN_MASK == CE) if left else (None, False)
        yield Seen(time + shift, port - translate.FIRST_PORT, gone, marked)


def simulate(case: Case, seen: Sequence[Seen], *, line: bool, seed: int = 1) -> list[Fate]:
    """Replays the packets in the simulator, and returns the result for each packet.

    With `line`, packets depart at the line's rate. Otherwise they depart at the same times as on Linux.
    """
    instants = None if line else sorted(packet.left_ns for packet in seen if packet.left_ns is not None)
    arrivals = [packet.arrival() for packet in seen]
    credit_ns = CREDIT_NS if case.line else 0
    return play(case.scenario, LINK, DIRECTION, arrivals, instants=instants, credit_ns=credit_ns, seed=seed)


@dataclass(frozen=True)
class Agreement:
    """The comparison of Linux's queue with the simulator's queue after the arrival of the same packets."""

    packets: int
    linux_dropped: int
    dropped: int
    linux_marked: int
    marked: int
    same: int
    """Number of packets with the same result in both queues: dropped, or delivered at the same position with the same
    mark."""
    first_difference: int | None
    late_ns: list[int] = field(default_factory=list)
    """For each packet that left both queues, the departure time in the simulator minus the departure time on Linux, in
    ns."""


def agreement(seen: Sequence[Seen], fates: Sequence[Fate]) -> Agreement:
    order = sorted((packet.left_ns, number) for number, packet in enumerate(seen) if packet.left_ns is not None)
    place = {number: place for place, (_, number) in enumerate(order)}
    same = [
        fate.place == place.get(number) and fate.marked == packet.marked
        for number, (packet, fate) in enumerate(zip(seen, fates, strict=True))
    ]
    return Agreement(
        len(seen),
        sum(packet.left_ns is None for packet in seen),
        sum(fate.left_ns is None for fate in fates),
        sum(packet.marked for packet in seen),
        sum(fate.marked and fate.left_ns is not None for fate in fates),
        sum(same),
        same.index(False) if False in same else None,
        [
            fate.left_ns - packet.left_ns
            for packet, fate in zip(seen, fates, strict=True)
            if packet.left_ns is not None and fate.left_ns is not None
        ],
    )


def save(path: Path, cases: dict[str, Sequence[Seen]]) -> None:
    """Writes all cases into one compressed file, with one line per column. Times are stored as differences.

    The arrivals of all cases are almost equal, so the file compresses well.
    """
    lines = []
    for name, seen in cases.items():
        before = [0, *(packet.at_ns for packet in seen)]
        waits = ["" if packet.left_ns is None else packet.left_ns - packet.at_ns for packet in seen]
        columns: tuple[Sequence[object], ...] = (
            [packet.stream for packet in seen],
            [packet.at_ns - since for packet, since in zip(seen, before, strict=False)],
            waits,
            [int(packet.marked) for packet in seen],
        )
        lines += [name, *(",".join(map(str, column)) for column in columns)]
    path.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME))


def load(path: Path) -> dict[str, list[Seen]]:
    lines = lzma.decompress(path.read_bytes()).decode().split("\n")
    cases: dict[str, list[Seen]] = {}
    for at in range(0, len(lines), 5):
        name, *columns = lines[at : at + 5]
        came, seen = 0, []
        for stream, after, waited, marked in zip(*(column.split(",") for column in columns), strict=True):
            came += int(after)
            seen.append(Seen(came, int(stream), came + int(waited) if waited else None, marked == "1"))
        cases[name] = seen
    return cases


def recorded_name(case: Case, seed: int) -> str:
    """Returns the name of a recorded run. A discipline without random numbers has only one run."""
    return case.name if seed == 1 else f"{case.name}#{seed}"


def _names() -> list[str]:
    return [recorded_name(case, seed) for case in CASES for seed in (LINUX_SEEDS if case.draws else (1,))]


@dataclass(frozen=True)
class Number:
    """A count of drops or marks on Linux, and the mean and the standard deviation of the simulator's counts."""

    what: str
    linux: int
    ours: float
    deviation: float

    @property
    def holds(self) -> bool:
        """True if Linux's count differs from the simulator's mean by at most one packet more than three standard
        deviations."""
        return abs(self.linux - self.ours) <= 3 * self.deviation * (1 + 1 / len(SEEDS)) ** 0.5 + 1


def spread(case: Case, seen: Sequence[Seen]) -> list[Number]:
    """Returns the numbers of drops and marks on Linux and in the simulator, for the same arriving packets. Each seed of
    the simulator has another phase of periodic timers."""
    shifted = [[replace(packet, at_ns=packet.at_ns + PHASE_NS * turn) for packet in seen] for turn in range(len(SEEDS))]
    found = [
        agreement(seen, simulate(case, packets, line=True, seed=seed))
        for seed, packets in zip(SEEDS, shifted, strict=True)
    ]
    dropped, marked = [one.dropped for one in found], [one.marked for one in found]
    first = found[0]
    return [
        Number("dropped", first.linux_dropped, mean(dropped), stdev(dropped)),
        Number("marked", first.linux_marked, mean(marked), stdev(marked)),
    ]


HEAD = page_text("queues-head")
DRAWN = page_text("queues-drawn")
TAIL = page_text("queues-tail")


def render(recorded: dict[str, list[Seen]]) -> str:
    """Simulates the recorded cases, and returns the page docs/fidelity/queues.md as Markdown."""
    text, apart, far = "", 0, 0
    for case in (case for case in CASES if not case.draws):
        line, found = _row(case, recorded[case.name])
        text += line
        apart += found.same < found.packets
    text += DRAWN.format(linux=len(LINUX_SEEDS), seeds=len(SEEDS))
    for case in (case for case in CASES if case.draws):
        runs = [spread(case, recorded[recorded_name(case, seed)]) for seed in LINUX_SEEDS]
        for of_what in zip(*runs, strict=True):
            if any(number.linux or number.ours for number in of_what):
                first = of_what[0]
                linux = ", ".join(str(number.linux) for number in of_what)
                holds = all(number.holds for number in of_what)
                far += not holds
                verdict = "holds" if holds else "**does not hold**"
                text += (
                    f"| {case.name} | {first.what} | {linux} | {first.ours:.1f} | {first.deviation:.1f} | {verdict} |\n"
                )
    told = "\n".join(promises.rows(promised(apart, far)))
    return HEAD.format(line=LINE, kernel=KERNEL, promised=told) + text + TAIL


def promised(apart: int, far: int) -> list[Promise]:
    """Returns the accuracy targets of the page: equal results for each packet, and for disciplines that use random
    numbers, similar counts of drops and marks."""
    return [
        promises.none(
            "If packets arrive at the same times as on Linux, each packet has the same fate as on Linux.",
            "disciplines with a difference",
            apart,
        ),
        promises.none(
            "The numbers of random drops and marks agree with Linux's numbers.",
            "numbers beyond three standard deviations",
            far,
        ),
    ]


KERNEL = "Linux 6.1"


def _row(case: Case, seen: Sequence[Seen]) -> tuple[str, Agreement]:
    with_line = agreement(seen, simulate(case, seen, line=True))
    alone = agreement(seen, simulate(case, seen, line=False)) if case.asked else None
    same = "" if alone is None else f"{alone.same:,}"
    late_us = max(map(abs, with_line.late_ns)) / 1000
    cells = (
        case.name,
        f"{with_line.packets:,}",
        with_line.linux_dropped,
        with_line.dropped,
        with_line.linux_marked,
        with_line.marked,
        same,
        f"{with_line.same:,}",
        f"{late_us:,.1f} us",
    )
    return row(cells) + "\n", with_line


def main() -> int:
    """Writes the page. With `--measure`, measures on Linux first."""
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.queues", description=__doc__)
    parser.add_argument(
        "--measure", metavar="PART", nargs="?", const="", help="measure the cases with this in their names on Linux"
    )
    wanted = parser.parse_args().measure
    recorded = load(RECORDS) if RECORDS.exists() else {}
    if wanted is not None:
        for case in (case for case in CASES if wanted in case.name):
            for seed in LINUX_SEEDS if case.draws else (1,):
                print_line(f"{case.name}, seed {seed}")
                recorded[recorded_name(case, seed)] = measure(case, seed)
                # Save the results after each case, so that an interruption loses no result.
                save(RECORDS, {name: recorded[name] for name in _names() if name in recorded})
    write_page(PAGE, render(recorded))
    return 0


if __name__ == "__main__":
    sys.exit(main())
