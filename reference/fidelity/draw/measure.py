"""What is measured of a drawn scenario, on Linux once and kept, and in the simulator whenever asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from reference.fidelity.chance import Value
from reference.fidelity.draw import Drawn
from reference.fidelity.records import Records, Values

if TYPE_CHECKING:
    from lopsided.scenario import Run

JUDGED = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", "completion_s", "utilisation")
"""What has a bound."""
COUNTED = ("retransmits", "timeouts")
"""What has a column of its own: small counts, whose share of error says little."""
FLOW = ("goodput_bps", "rtt_mean_ms", "rtt_p95_ms", *COUNTED)

Key = tuple[str, str, str]
"""The scenario, the flow or link direction, and the quantity."""


def values_of(run: Run) -> Values:
    """What is compared: of every flow, and of every link direction, over the whole run. NaN where there is nothing."""
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
    """Both worlds' values side by side, of the scenarios that Linux has run."""
    found: dict[Key, Value] = {}
    for one in drawn:
        linux = [told.values for seed in linux_seeds if (told := records.get(one, seed)) is not None]
        sim = [told for (name, _), told in simulated.items() if name == one.name]
        for what, quantity in dict.fromkeys(key for told in (*linux, *sim) for key in told):
            here = Value(_present(linux, (what, quantity)), _present(sim, (what, quantity)))
            if here.linux and here.sim:
                found[one.name, what, quantity] = here
    return found


def _present(runs: Sequence[Values], key: tuple[str, str]) -> tuple[float, ...]:
    return tuple(told[key] for told in runs if not math.isnan(told.get(key, math.nan)))


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
