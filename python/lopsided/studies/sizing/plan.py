"""Plans the runs that size the buffer of a line: the whole procedure if it is quick, else shorter runs with fewer
buffers.

The work is counted in packets, because a packet needs about the same CPU time on every line. If the whole procedure
would take too long, a coarse grid of buffers runs first, then a finer grid around the knee. The field procedure uses
the same runs, and seeds are added until the runs near the knee agree. On a fast line such a run is shorter than one
cycle of the congestion window, so the answer is called an estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FIELD_ALONE_S = FIELD_BOTH_S = 30.0
ALONE_S, BOTH_S = 30.0, 120.0
"""Duration of the two parts of a run in the whole procedure, in seconds: the download alone, then both flows."""

BUDGET_PACKETS = 12_000_000
"""Largest number of packets to simulate: a few seconds on two cores."""
_ADVICE_SHARE = 0.4
"""Fraction of the packet budget for the comparison of disciplines."""
_COARSE, _FINE = 6, 4
_SHORTEST_S = 3.0
_ALONE_SHARE = 0.3
_PACKET_S = 0.8e-6
"""Approximate CPU time of one packet in seconds."""


@dataclass(frozen=True)
class Plan:
    """The planned runs for a line."""

    whole: bool
    """True if the plan is the whole procedure: every buffer with every seed."""
    alone_s: float
    both_s: float
    repeat: int
    coarse: int
    """Number of buffers in the coarse grid; as many again are simulated around the knee."""
    fine: int
    advice_s: float
    advice_repeat: int
    packets: float
    """Approximate number of simulated packets, if all seeds run."""

    def seconds(self, cores: int) -> float:
        """Approximate wall-clock duration of the runs in seconds."""
        return self.packets * _PACKET_S / max(1, cores)

    @property
    def said(self) -> str:
        """A sentence that describes the plan."""
        if self.whole:
            seeds = "one seed" if self.repeat == 1 else f"{self.repeat} seeds"
            return f"every buffer with {seeds}, {self.both_s:g} s with both flows active"
        seeds = f"up to {self.repeat} seeds" if self.repeat > 1 else "one seed"
        return (
            f"an estimate: {self.coarse} buffers and {self.fine} around the knee, {seeds}, {self.both_s:.3g} s with "
            "both flows active"
        )


def plan_for(packets_per_second: float, rtt_s: float, sizes: int, repeat: int, candidates: int, advice: int) -> Plan:
    """Returns the plan for a line that carries `packets_per_second`.

    The user wants `sizes` buffers with `repeat` seeds, and `candidates` disciplines with `advice` seeds.
    """
    of_size = FIELD_ALONE_S + FIELD_BOTH_S + ALONE_S + BOTH_S
    of_curve = sizes * repeat * of_size * packets_per_second
    of_advice = candidates * advice * BOTH_S * packets_per_second
    if of_curve + of_advice <= BUDGET_PACKETS:
        return Plan(True, ALONE_S, BOTH_S, repeat, sizes, 0, BOTH_S, advice, of_curve + of_advice)
    coarse, fine = min(_COARSE, sizes), _FINE if sizes > _COARSE else 0
    budget = BUDGET_PACKETS * (1 - _ADVICE_SHARE if candidates else 1)
    # Both flows need some dozens of round trips before a run shows their behaviour.
    shortest = _SHORTEST_S + 60 * rtt_s
    seeds, length = _split(budget, packets_per_second * (coarse + fine), min(repeat, 3), shortest, ALONE_S + BOTH_S)
    left = BUDGET_PACKETS * _ADVICE_SHARE
    advice_seeds, advice_s = _split(left, packets_per_second * max(1, candidates), advice, shortest, BOTH_S)
    packets = packets_per_second * ((coarse + fine) * seeds * length + candidates * advice_seeds * advice_s)
    alone = _ALONE_SHARE * length
    return Plan(False, alone, length - alone, seeds, coarse, fine, advice_s, advice_seeds, packets)


def _split(packets: float, per_second: float, most: int, shortest: float, longest: float) -> tuple[int, float]:
    """Returns the number of seeds and the duration of a run for a given number of packets. Seeds are reduced before
    runs become too short."""
    for seeds in range(most, 0, -1):
        length = packets / (per_second * seeds)
        if length >= 2 * shortest or (seeds == 1 and length >= shortest):
            return seeds, min(length, longest)
    return 1, max(shortest / 2, min(shortest, packets / per_second)) if per_second else longest


def about(knee: int, tried: list[int], count: int, rounded: list[int]) -> list[int]:
    """Returns at most `count` further buffers from `rounded`, spread evenly between the tried sizes on both sides of
    the knee."""
    place = tried.index(knee)
    low = tried[place - 1] if place else knee
    high = tried[place + 1] if place + 1 < len(tried) else knee
    between = [size for size in rounded if low < size < high and size not in tried]
    if len(between) <= count:
        return between
    step = len(between) / count
    return sorted({between[math.floor(index * step + step / 2)] for index in range(count)})
