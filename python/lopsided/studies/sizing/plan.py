"""Plans the runs that size a buffer: the whole procedure if it is fast, else shorter runs with fewer buffers.

Work is measured in packets, because the CPU time per packet hardly depends on the line. If the whole procedure would be
slow, a coarse grid of buffer sizes and a finer grid around the knee replace it, and seeds are added until the runs
agree. On fast lines, a run is shorter than one cycle of the congestion window, so the result is an estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FIELD_ALONE_S = FIELD_BOTH_S = 30.0
ALONE_S, BOTH_S = 30.0, 120.0
"""Durations in seconds of the two parts of a run in the whole procedure: the download alone, then both flows."""

BUDGET_PACKETS = 12_000_000
"""Maximum number of packets to simulate. Simulating them takes about 5 s on 2 cores."""
_ADVICE_SHARE = 0.4
"""Fraction of the simulated packets that the comparison of disciplines uses."""
_COARSE, _FINE = 6, 4
_SHORTEST_S = 3.0
_ALONE_SHARE = 0.3
_PACKET_S = 0.8e-6
"""Approximate CPU time in seconds for simulating one packet."""


@dataclass(frozen=True)
class Plan:
    """The planned runs for a line."""

    whole: bool
    """True if every buffer is simulated with every seed."""
    alone_s: float
    both_s: float
    repeat: int
    coarse: int
    """Number of buffers in the coarse grid. `fine` is the number of buffers in the grid around the knee."""
    fine: int
    advice_s: float
    advice_repeat: int
    packets: float
    """Approximate number of packets that all runs with all seeds simulate."""

    def seconds(self, cores: int) -> float:
        """Returns the approximate wall-clock time of all runs in seconds."""
        return self.packets * _PACKET_S / max(1, cores)

    @property
    def said(self) -> str:
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

    The study should compare `sizes` buffers with `repeat` seeds, and `candidates` disciplines with `advice` seeds.
    """
    of_size = FIELD_ALONE_S + FIELD_BOTH_S + ALONE_S + BOTH_S
    of_curve = sizes * repeat * of_size * packets_per_second
    of_advice = candidates * advice * BOTH_S * packets_per_second
    if of_curve + of_advice <= BUDGET_PACKETS:
        return Plan(True, ALONE_S, BOTH_S, repeat, sizes, 0, BOTH_S, advice, of_curve + of_advice)
    coarse, fine = min(_COARSE, sizes), _FINE if sizes > _COARSE else 0
    budget = BUDGET_PACKETS * (1 - _ADVICE_SHARE if candidates else 1)
    # To show how the flows behave, a run should last at least 60 RTTs.
    shortest = _SHORTEST_S + 60 * rtt_s
    seeds, length = _split(budget, packets_per_second * (coarse + fine), min(repeat, 3), shortest, ALONE_S + BOTH_S)
    left = BUDGET_PACKETS * _ADVICE_SHARE
    advice_seeds, advice_s = _split(left, packets_per_second * max(1, candidates), advice, shortest, BOTH_S)
    packets = packets_per_second * ((coarse + fine) * seeds * length + candidates * advice_seeds * advice_s)
    alone = _ALONE_SHARE * length
    return Plan(False, alone, length - alone, seeds, coarse, fine, advice_s, advice_seeds, packets)


def _split(packets: float, per_second: float, most: int, shortest: float, longest: float) -> tuple[int, float]:
    """Returns the number of seeds and the duration of each run, so that all runs simulate about `packets` packets.
    If the runs would be too short, the number of seeds is reduced before the duration."""
    for seeds in range(most, 0, -1):
        length = packets / (per_second * seeds)
        if length >= 2 * shortest or (seeds == 1 and length >= shortest):
            return seeds, min(length, longest)
    return 1, max(shortest / 2, min(shortest, packets / per_second)) if per_second else longest


def about(knee: int, tried: list[int], count: int, rounded: list[int]) -> list[int]:
    """Returns at most `count` sizes near the knee: sizes of `rounded` between the next smaller and the next larger
    tried size."""
    place = tried.index(knee)
    low = tried[place - 1] if place else knee
    high = tried[place + 1] if place + 1 < len(tried) else knee
    between = [size for size in rounded if low < size < high and size not in tried]
    if len(between) <= count:
        return between
    step = len(between) / count
    return sorted({between[math.floor(index * step + step / 2)] for index in range(count)})
