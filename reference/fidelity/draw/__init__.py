"""Draws random scenarios in which the simulator is compared with Linux.

    python -m reference.fidelity.draw --draw 7

A simulator can be tuned until it agrees with Linux on a fixed set of scenarios. A new draw tests scenarios that were
never used for tuning. A seed determines the same scenarios on every machine. Each scenario is an access line with one
to seven flows.

The draw chooses:

- downlink rates of 1 to 50 Mbit/s, uplink rates of 1/50 to 1/3 of the downlink rate, and RTTs of 5 to 300 ms;
- buffers of 5 to 200 packets in each direction, RED with marks or drops, a shaper, random loss;
- ATM cells, Ethernet or no framing;
- bulk and short repeated transfers with mixed congestion controls;
- CoDel, FQ-CoDel or CAKE in half of the directions;
- Linux 6.1 or 6.12, and no SACK, no timestamps, a small MSS, other initial windows and receive buffers.

A draw contains no UDP flows, no scenarios with several hosts, and no features that Linux does not have.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from lopsided.settings import Tables, scenario_text
from reference.fidelity.cells import OfTables
from reference.fidelity.stamps import Probe

COUNT = 40
"""Number of scenarios in a draw."""

CONTROLS = (
    "reno",
    "cubic",
    "bic",
    "highspeed",
    "htcp",
    "westwood",
    "vegas",
    "bbr",
    "scalable",
    "illinois",
    "hybla",
    "veno",
    "yeah",
)
"""Congestion controls that both Linux and the simulator support. The first two are chosen as often as all others
together."""

MANAGED = ("codel", "fq_codel", "cake")
"""Managed queues that a draw can choose. PIE and FQ-PIE are excluded, because the kernel's timer delays their updates
by up to two ticks of 4 ms."""

PROFILES = ("linux-6.1", "linux-6.12")
"""Profiles that a draw can choose. Linux of the same series measures the scenario."""

PACKETS = 30_000
"""A run lasts as long as the downlink needs to send this number of packets, but at least `SHORTEST_S` and `ROUND_TRIPS`
RTTs, and at most `LONGEST_S`."""
SHORTEST_S, LONGEST_S, ROUND_TRIPS = 10, 60, 60


@dataclass(frozen=True)
class Drawn(OfTables):
    """One scenario of a draw."""

    draw: int
    number: int
    tables: Tables

    @property
    def name(self) -> str:
        """The name that identifies the scenario in tables and records."""
        return f"draw {self.draw}, {self.number:02d}"

    @property
    def text(self) -> str:
        """The scenario as TOML."""
        return scenario_text(self.tables)


def probes(seed: int) -> list[Probe]:
    """Returns three simulated runs. If the digest of one of them changes, this draw's fidelity page is out of date."""
    return [Probe(one.name, one.scenario()) for one in draw(seed, 3)]


def draw(seed: int, count: int = COUNT) -> list[Drawn]:
    """Returns the first `count` scenarios that the seed determines. A larger `count` appends scenarios."""
    drawn = [Drawn(seed, number, _tables(random.Random(f"draw {seed} {number}"))) for number in range(1, count + 1)]
    for one in drawn:
        # A second generator, because `_tables` draws a different number of values for each scenario.
        chance = random.Random(f"draw {seed} {one.number} queues")
        _manage(chance, one.tables["link"])
        one.tables["stack"]["profile"] = chance.choice(PROFILES)
    return drawn


@dataclass(frozen=True)
class _Line:
    down_bps: int
    up_bps: int
    rtt_ms: float
    cells: bool

    @property
    def duration_s(self) -> int:
        packets_s = self.down_bps / 8 / 1500
        wanted = max(PACKETS / packets_s, SHORTEST_S, ROUND_TRIPS * self.rtt_ms / 1e3)
        return round(min(wanted, LONGEST_S))


def _tables(chance: random.Random) -> Tables:
    line = _line(chance)
    framing = "pppoe-llcsnap" if line.cells else chance.choice(("none", "ethernet", "ethernet"))
    # Do not change the order of these random choices: another order would produce other scenarios.
    down = _direction(chance, "down", line.down_bps, line.cells)
    up = _direction(chance, "up", line.up_bps, line.cells)
    stack = _stack(chance, line)
    flows = chance.choices(range(1, 8), weights=(4, 5, 4, 3, 2, 1, 1))[0]
    return {
        "scenario": {"duration": f"{line.duration_s} s"},
        "link": {"rtt": f"{line.rtt_ms:g} ms", "framing": framing, "down": down, "up": up},
        "stack": stack,
        "flow": [_flow(chance, number, flows, line) for number in range(flows)],
    }


def _line(chance: random.Random) -> _Line:
    down_bps = _whole(_between(chance, 1e6, 50e6))
    up_bps = max(_whole(down_bps / _between(chance, 3, 50)), 64_000)
    return _Line(down_bps, up_bps, round(_between(chance, 5, 300), 1), chance.random() < 0.25)


def _direction(chance: random.Random, name: str, rate_bps: int, cells: bool) -> Tables:
    packets = round(_between(chance, 5, 200))
    marks = name == "down" and chance.random() < 0.2
    queue = _red(chance, packets) if marks else {"limit": f"{packets} packets"}
    found: dict[str, object] = {"rate": f"{rate_bps} bit/s", "queue": queue}
    # Every RED queue is drawn together with a shaper. When this rule was written, the simulator and htb differed in the
    # decay of RED's average while the queue is idle. Another rule would produce other scenarios.
    if chance.random() < 0.5 or marks:
        # A tbf's burst must be at least one full packet. 1,500 bytes need 33 ATM cells with PPPoE over ATM.
        found["shaper"] = {"burst": f"{2000 if cells else 1600} B"}
    if chance.random() < 0.15:
        found["loss"] = f"{_between(chance, 0.05, 1.5):.3f} %"
    return found


def _red(chance: random.Random, packets: int) -> Tables:
    limit = max(packets, 30) * 1500
    bounds = {"limit": f"{limit} B", "min": f"{limit // 10} B", "max": f"{limit // 3} B"}
    average = {"probability": 0.1, "weight": 0.001953125, "avpkt": "1500 B"}
    return {"kind": "red", **bounds, **average, "ecn": chance.random() < 0.6}


def _manage(chance: random.Random, link: Tables) -> None:
    """Replaces each queue with a managed queue with a probability of 50 %. CoDel and FQ-CoDel use ECN with a
    probability of 50 %."""
    for name in ("down", "up"):
        if chance.random() < 0.5:
            kind = chance.choice(MANAGED)
            marks = {} if kind == "cake" else {"ecn": chance.random() < 0.5}
            link[name]["queue"] = {"kind": kind, **marks}


def _stack(chance: random.Random, line: _Line) -> Tables:
    """Returns random settings of TCP. They apply to all flows, because Linux sets them with sysctls for the whole
    host."""
    found: dict[str, object] = {}
    if chance.random() < 0.15:
        found["sack"] = False
    if chance.random() < 0.15:
        found["timestamps"] = False
    if chance.random() < 0.3:
        found["ecn"] = True
    if chance.random() < 0.15:
        found["mss"] = f"{chance.choice((536, 800, 1000, 1200))} B"
    if chance.random() < 0.2:
        found["initial_window"] = f"{chance.choice((2, 3, 4, 20))} segments"
    if chance.random() < 0.2:
        product = line.down_bps * line.rtt_ms / 8e3
        found["receive_buffer"] = f"{round(max(product * _between(chance, 0.3, 3), 16_384))} B"
    return found


def _flow(chance: random.Random, number: int, flows: int, line: _Line) -> Tables:
    direction = "down" if number == 0 or chance.random() < 0.6 else "up"
    common = chance.random() < 0.5
    control = chance.choice(CONTROLS[:2] if common else CONTROLS[2:])
    # Start all flows in the first third of the run, so that all flows are active for most of the run.
    start_s = 0.0 if number == 0 else round(chance.uniform(0, line.duration_s / 3), 2)
    found: dict[str, object] = {"name": "ABCDEFG"[number], "direction": direction, "cc": control}
    found |= {"start": f"{start_s} s", "start_jitter": "1 s"}
    if chance.random() < 0.2 and flows > 1:
        rate_bps = line.down_bps if direction == "down" else line.up_bps
        size = round(min(max(rate_bps / 8 * _between(chance, 0.05, 1), 3_000), 2e6))
        found["app"] = {"size": f"{size} B", "repeat": "forever", "pause": f"{chance.choice((200, 500, 1000))} ms"}
    return found


def _between(chance: random.Random, low: float, high: float) -> float:
    """Returns a log-uniform random number."""
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def _whole(rate_bps: float) -> int:
    """Rounds a rate to multiples of 8 kbit/s, because Linux's shapers require a whole number of bytes per second."""
    return round(rate_bps / 8_000) * 8_000
