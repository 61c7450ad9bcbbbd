"""Draws lines and traffic from a seed, and runs each case to record captures and tables.

A case consists of a line, a traffic pattern, a congestion control and a queue discipline. The parts `design` and `wide`
of the corpus are used to develop the rules of `lopsided analyze`; `wide` has seven families of lines. The part
`held-out` is used for scoring. Its families of lines and its random draws differ from those of the other parts. The
parts `random-1` to `random-8` contain any rate and RTT, and draw the queue of each direction on its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lopsided as lop
from lopsided.cli.terminal import print_note
from lopsided.errors import LopsidedError
from lopsided.settings import Tables

CONTROLS = (
    "reno", "cubic", "bic", "westwood", "htcp", "highspeed",
    "vegas", "hybla", "illinois", "bbr", "scalable", "yeah",
)  # fmt: skip
"""Congestion controls that both the kernel world and the simulator support."""

QUEUES = ("fifo", "codel", "fifo", "fq_codel", "fifo", "pie", "fifo", "cake")
"""Queue disciplines, assigned to the cases in this order. Half of the cases use drop-tail queues."""

PATTERNS = (
    "download", "two-way", "download", "on-off", "download", "transfers",
    "two-way", "small-window", "download", "outage", "upload", "loss",
)  # fmt: skip
"""Traffic patterns, assigned to the cases in this order."""

MIXED_QUEUES = ("fifo", "red", "fifo", "codel", "fifo in bytes", "fq_codel", "pie", "fifo", "fq_pie", "cake")
"""Queue disciplines from which the parts `random-1` and `random-2` draw the queue of each direction."""

MIXED_PATTERNS = ("download", "two-way", "upload", "two-way", "download")

PACKETS = 7_000
"""Approximate number of data packets that a run sends."""

FULL = 1500
HEADER = 40


@dataclass(frozen=True)
class Family:
    """A type of access line: ranges of its rates in kbit/s and of its base RTT in ms, and the burst of its shaper in
    bytes."""

    name: str
    down_kbps: tuple[int, int]
    up_kbps: tuple[int, int]
    rtt_ms: tuple[int, int]
    burst: int = 0


ANY = Family("any", (1_500, 16_000), (400, 10_000), (8, 240))
SHAPED = Family("shaped", (1_500, 16_000), (400, 10_000), (8, 240), burst=3_000)

FAMILIES = {
    "design": (
        Family("adsl", (2_000, 8_000), (250, 1_000), (20, 60)),
        Family("cable", (8_000, 12_000), (1_000, 2_000), (15, 40), burst=3_000),
        Family("mobile", (3_000, 8_000), (800, 3_000), (50, 110)),
    ),
    "wide": (
        Family("fibre", (10_000, 20_000), (5_000, 20_000), (4, 20)),
        Family("geostationary", (4_000, 10_000), (300, 1_500), (480, 640)),
        Family("cellular", (5_000, 15_000), (1_500, 6_000), (30, 80)),
        Family("wi-fi", (8_000, 16_000), (8_000, 16_000), (6, 60)),
        Family("thin uplink", (4_000, 12_000), (64, 250), (15, 70)),
        Family("docsis", (8_000, 16_000), (800, 3_000), (10, 35), burst=6_000),
        Family("distant", (3_000, 10_000), (600, 4_000), (120, 250)),
    ),
    "held-out": (
        Family("rural", (1_500, 3_000), (200, 600), (30, 90)),
        Family("satellite", (3_000, 6_000), (500, 1_000), (280, 560)),
        Family("vdsl", (8_000, 14_000), (2_000, 5_000), (8, 30), burst=3_000),
    ),
    "held-out-2": (
        Family("fixed wireless", (6_000, 15_000), (2_000, 5_000), (18, 55)),
        Family("power line", (5_000, 12_000), (3_000, 8_000), (8, 25)),
        Family("leased line", (2_000, 6_000), (2_000, 6_000), (40, 140)),
        Family("old dsl", (1_500, 3_500), (128, 400), (40, 110), burst=3_000),
        Family("island", (4_000, 9_000), (1_000, 3_000), (180, 320)),
    ),
    "held-out-3": (
        Family("low orbit", (8_000, 18_000), (1_500, 4_000), (25, 60)),
        Family("symmetric copper", (2_000, 4_500), (2_000, 4_500), (15, 45)),
        Family("rural cable", (5_000, 12_000), (300, 900), (20, 70), burst=4_500),
        Family("hilly mobile", (2_000, 7_000), (400, 2_000), (60, 160)),
        Family("ocean", (3_000, 10_000), (2_000, 10_000), (140, 300)),
    ),
    "held-out-4": (
        Family("vectored dsl", (9_000, 16_000), (2_000, 6_000), (10, 40), burst=3_000),
        Family("fixed mobile", (4_000, 12_000), (700, 3_000), (35, 100)),
        Family("medium orbit", (3_000, 8_000), (600, 2_000), (120, 190)),
        Family("narrow uplink", (3_000, 9_000), (120, 500), (20, 90)),
        Family("remote fibre", (6_000, 14_000), (3_000, 10_000), (60, 220)),
    ),
    "random-1": (ANY, SHAPED),
    "random-2": (ANY, SHAPED),
    "random-3": (ANY, SHAPED),
    "random-4": (ANY, SHAPED),
    "random-5": (ANY, SHAPED),
    "random-6": (ANY, SHAPED),
    "random-7": (ANY, SHAPED),
    "random-8": (ANY, SHAPED),
}


@dataclass(frozen=True)
class Case:
    """One run: its scenario, and the true values with which the results of `lopsided analyze` are compared."""

    name: str
    family: str
    pattern: str
    control: str
    queue: str
    tables: Tables
    down_bps: int
    up_bps: int
    rtt_ms: int
    limit_packets: int
    queues: dict[str, tuple[str, int]]
    """For each direction whose queue is scored: its discipline, and the size of its drop-tail buffer in bytes."""

    def scenario(self) -> lop.Scenario:
        return lop.Scenario.build(self.tables, f"{self.name}.toml")


def cases(part: str, count: int, seed: int = 33) -> list[Case]:
    """Returns the first `count` cases of a part of the corpus."""
    made = _cases(part, seed)
    return [next(made) for _ in range(count)]


def _cases(part: str, seed: int) -> Iterator[Case]:
    rng = random.Random(f"{part}/{seed}")
    if part.startswith("random"):
        yield from _mixed(part, rng)
        return
    families = FAMILIES[part]
    number = 0
    # Each group of 12 cases contains every congestion control once, in random order.
    controls: list[str] = []
    while True:
        controls = controls or rng.sample(CONTROLS, len(CONTROLS))
        family = families[number % len(families)]
        pattern = PATTERNS[number % len(PATTERNS)]
        queue = QUEUES[(number + number // len(QUEUES)) % len(QUEUES)]
        yield _case(f"{part}-{number:02d}", family, pattern, queue, controls.pop(), rng)
        number += 1


def _case(name: str, family: Family, pattern: str, queue: str, control: str, rng: random.Random) -> Case:
    down, up = (1000 * rng.randint(*bounds) for bounds in (family.down_kbps, family.up_kbps))
    rtt_ms = rng.randint(*family.rtt_ms)
    data_bps = up if pattern == "upload" else down
    seconds = min(60, max(12, PACKETS * FULL * 8 // data_bps))
    product = max(4, data_bps * rtt_ms // 1000 // 8 // FULL)
    limit = max(8, round(product * rng.uniform(0.6, 3.0)))
    back = max(16, rng.randint(20, 80))
    of_down, of_up = (back, limit) if pattern == "upload" else (limit, back)
    tables = {
        "scenario": {"duration": f"{seconds} s"},
        "link": {
            "rtt": f"{rtt_ms} ms",
            "down": {**_direction(down, queue, of_down, family), **_losses(pattern, seconds)},
            "up": _direction(up, queue, of_up, family),
        },
        **_traffic(pattern, control, down, seconds, product),
    }
    queues = {"up" if pattern == "upload" else "down": (queue, limit * FULL)}
    return Case(name, family.name, pattern, control, queue, tables, down, up, rtt_ms, limit, queues)


def _traffic(pattern: str, control: str, down: int, seconds: int, product: int) -> Tables:
    return {
        "stack": {
            "cc": control,
            **({"receive_buffer": f"{product * FULL} B"} if pattern == "small-window" else {}),
        },
        "flow": _flows(pattern, down, seconds),
        "record": {"interval": "20 ms"},
    }


def _mixed(part: str, rng: random.Random) -> Iterator[Case]:
    """Yields lines with any rates and RTT, and with a discipline for each direction."""
    decks: dict[str, list[str]] = {"control": [], "down": [], "up": []}
    number = 0
    while True:
        for name, deck in decks.items():
            if not deck:
                whole = CONTROLS if name == "control" else MIXED_QUEUES
                deck.extend(rng.sample(whole, len(whole)))
        family = FAMILIES[part][number % len(FAMILIES[part])]
        pattern = MIXED_PATTERNS[number % len(MIXED_PATTERNS)]
        kinds = {way: decks[way].pop() for way in ("down", "up")}
        yield _mixed_case(f"{part}-{number:02d}", family, pattern, kinds, decks["control"].pop(), rng)
        number += 1


def _mixed_case(
    name: str, family: Family, pattern: str, kinds: dict[str, str], control: str, rng: random.Random
) -> Case:
    bounds = {"down": family.down_kbps, "up": family.up_kbps}
    rates = {way: 1000 * _between(rng, *bounds[way]) for way in kinds}
    rtt_ms = _between(rng, *family.rtt_ms)
    main = "up" if pattern == "upload" else "down"
    seconds = min(60, max(12, PACKETS * FULL * 8 // rates[main]))
    limits: dict[str, int] = {}
    link: Tables = {"rtt": f"{rtt_ms} ms"}
    for way, kind in kinds.items():
        product = max(4, rates[way] * rtt_ms // 1000 // 8 // FULL)
        limits[way] = min(400, max(8, round(product * rng.uniform(0.6, 3.0))))
        burst = {"shaper": {"burst": f"{family.burst} B"}} if family.burst else {}
        link[way] = {"rate": f"{rates[way]} bit/s", "queue": _mixed_queue(kind, limits[way], product), **burst}
    product = max(4, rates[main] * rtt_ms // 1000 // 8 // FULL)
    tables: Tables = {
        "scenario": {"duration": f"{seconds} s"},
        "link": link,
        **_traffic(pattern, control, rates["down"], seconds, product),
    }
    scored = ("down", "up") if pattern == "two-way" else (main,)
    queues = {way: (kinds[way].removesuffix(" in bytes"), limits[way] * FULL) for way in scored}
    return Case(
        name, family.name, pattern, control, queues[main][0], tables, rates["down"], rates["up"], rtt_ms,
        limits[main], queues,
    )  # fmt: skip


def _between(rng: random.Random, low: int, high: int) -> int:
    """Returns a number whose logarithm is uniform."""
    return round(low * (high / low) ** rng.random())


def _mixed_queue(kind: str, limit: int, product: int) -> Tables:
    if kind.startswith("fifo"):
        return {"kind": "fifo", "limit": f"{limit * FULL} B" if kind == "fifo in bytes" else f"{limit} packets"}
    if kind == "red":
        low = FULL * max(5, product // 2)
        return {"kind": "red", "min": f"{low} B", "max": f"{3 * low} B", "limit": f"{12 * low} B"}
    return {"kind": kind}


def _direction(bps: int, queue: str, limit: int, family: Family) -> Tables:
    managed = {"kind": queue} if queue != "fifo" else {"kind": "fifo", "limit": f"{limit} packets"}
    shaper = {"shaper": {"burst": f"{family.burst} B"}} if family.burst else {}
    return {"rate": f"{bps} bit/s", "queue": managed, **shaper}


def _losses(pattern: str, seconds: int) -> Tables:
    if pattern == "loss":
        return {"loss": {"random": 0.01}}
    if pattern == "outage":
        outages = ((seconds // 3, 1.2), (2 * seconds // 3, 2.5))
        return {"loss": {"outages": [(f"{since} s", f"{since + length} s") for since, length in outages]}}
    return {}


def _flows(pattern: str, down: int, seconds: int) -> list[Tables]:
    download, upload = {"name": "data", "direction": "down"}, {"name": "up", "direction": "up"}
    if pattern == "two-way":
        return [download, {**upload, "start": f"{seconds // 3} s"}]
    if pattern == "upload":
        return [upload]
    if pattern == "on-off":
        return [{**download, "app": {"kind": "on_off", "on": "700 ms", "off": "900 ms"}}]
    if pattern == "transfers":
        size = f"{down // 8 * 2} B"
        return [{**download, "app": {"kind": "transfer", "size": size, "repeat": "forever", "pause": "500 ms"}}]
    return [download]


def make(folder: Path, chosen: list[Case], world: str = "kernel") -> Iterator[Case]:
    """Runs the cases whose results are not in `folder`. The folder `NAME/` contains the tables of the case `NAME`, and
    `NAME/pcap` contains its captures at the hosts and on the line."""
    for case in chosen:
        home = folder / world / case.name
        if not (home / "flows.parquet").exists():
            home.mkdir(parents=True, exist_ok=True)
            try:
                kernel = "timetravel" if world == "kernel" else None
                run = case.scenario().run(world=world, kernel=kernel, pcap=home / "pcap", pcap_at=["hosts", "links"])
            except LopsidedError as error:
                # The emulated path failed its check. Continue with the other cases.
                print_note(f"{case.name}: {error}")
                continue
            for table in ("samples", "queues", "links", "flows"):
                getattr(run, table).to_polars().write_parquet(home / f"{table}.parquet")
            yield case
