"""Measures a drawn scenario: stored once for Linux, and computed at each run of the command for the simulator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from reference.fidelity.chance import Both, Value
from reference.fidelity.draw import Drawn
from reference.fidelity.records import Records, Values

if TYPE_CHECKING:
    from lopsided.scenario import Run

JUDGED = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "completion_s", "utilisation")
"""Quantities that have an error bound."""
COUNTED = ("retransmits", "timeouts")
"""Quantities in a separate table: small counts, whose relative error means little."""
FLOW = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", *COUNTED)

Key = tuple[str, str, str]
"""Names a value: the scenario, the flow or link direction, and the quantity."""


def values_of(run: Run) -> Values:
    """Returns the compared values of every flow and link direction over the whole run; NaN for a missing value."""
    found = {(flow["name"], quantity): _number(flow[quantity]) for flow in run.flows.rows() for quantity in FLOW}
    times: dict[int, list[float]] = {}
    for transfer in run.transfers.rows():
        times.setdefault(transfer["flow"], []).append(transfer["completion_s"])
    names = dict(zip(run.flows["flow"], run.flows["name"], strict=True))
    found |= {(names[flow], "completion_s"): fmean(took) for flow, took in times.items()}
    for link in run.links.rows():
        found[link["direction"], "utilisation"] = _number(link["utilisation"])
    return found


def values(
    records: Records,
    drawn: Sequence[Drawn],
    linux_seeds: range,
    simulated: dict[tuple[str, int], Values],
) -> dict[Key, Value]:
    """Returns the values of Linux and the simulator for the scenarios that Linux has run."""
    linux = [told for one in drawn for seed in linux_seeds if (told := records.get(one, seed)) is not None]
    both = Both(linux, simulated)
    found: dict[Key, Value] = {}
    for name in both.cells:
        # The simulator's runs come first, because the order of quantities in their values becomes the order of the
        # rows.
        runs = [told for (cell, _), told in simulated.items() if cell == name]
        runs += [one.values for one in linux if one.cell == name]
        for what, quantity in dict.fromkeys(key for told in runs for key in told):
            here = both.value(name, (what, quantity), all_seeds=True)
            if here.linux and here.sim:
                found[name, what, quantity] = here
    return found


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
