"""Pairs Linux's stored values of a draw with the simulator's values."""

from __future__ import annotations

from collections.abc import Sequence

from reference.fidelity.chance import Both, Value
from reference.fidelity.draw import Drawn
from reference.fidelity.records import Records, Values

JUDGED = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "completion_s", "utilisation")
"""Quantities whose errors must be within a bound."""

Key = tuple[str, str, str]
"""Identifies a value: the scenario, the flow or link direction, and the quantity."""


def values(
    records: Records,
    drawn: Sequence[Drawn],
    linux_seeds: range,
    simulated: dict[tuple[str, int], Values],
) -> dict[Key, Value]:
    """Returns Linux's and the simulator's values of the scenarios that were measured on Linux."""
    linux = records.current((one, seed) for one in drawn for seed in linux_seeds)
    both = Both(linux, simulated)
    found: dict[Key, Value] = {}
    for name in both.cells:
        # The first run determines the order of the quantities.
        runs = [told for (cell, _), told in simulated.items() if cell == name]
        runs += [one.values for one in linux if one.cell == name]
        for what, quantity in dict.fromkeys(key for told in runs for key in told):
            here = both.value(name, (what, quantity), all_seeds=True)
            if here.linux and here.sim:
                found[name, what, quantity] = here
    return found
