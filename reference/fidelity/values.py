"""Every value of the fixed cells beside what chance alone gives and its standard error: `docs/fidelity/values.md`.

The tables of `docs/fidelity.md` hold medians of paired seeds; here are means over all seeds of either world.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from lopsided.studies.compare import Key
from reference.fidelity import CELLS, promises
from reference.fidelity.chance import Value
from reference.fidelity.draw import page
from reference.fidelity.records import Measurement
from reference.fidelity.tables import section

SIM_SEEDS = 24
QUANTITIES = ("goodput_bps", "rtt_mean_ms", "rtt_std_ms", "retransmits")


def side_by_side(
    linux: Iterable[Measurement], simulated: Mapping[tuple[str, int], Mapping[Key, float]]
) -> dict[tuple[str, str, str], Value]:
    """By cell, flow and quantity, what both worlds have."""
    of_linux: dict[tuple[str, str, str], list[float]] = {}
    of_sim: dict[tuple[str, str, str], list[float]] = {}
    for one in linux:
        _add(of_linux, one.cell, one.values)
    for (cell, _), values in simulated.items():
        _add(of_sim, cell, values)
    names = [cell.name for cell in CELLS]
    keys = sorted(
        of_linux.keys() & of_sim.keys(), key=lambda key: (names.index(key[0]), key[1], QUANTITIES.index(key[2]))
    )
    return {key: Value(tuple(of_linux[key]), tuple(of_sim[key])) for key in keys}


def _add(found: dict[tuple[str, str, str], list[float]], cell: str, values: Mapping[Key, float]) -> None:
    for (what, quantity), value in values.items():
        if quantity in QUANTITIES and not math.isnan(value):
            found.setdefault((cell, what, quantity), []).append(value)


def render(values: Mapping[tuple[str, str, str], Value]) -> str:
    """The page."""
    judged = {key: value for key, value in values.items() if value.known and key[2] in page.JUDGED}
    rows = [
        "# Fidelity: every value beside chance",
        "",
        "Made by `make fidelity`; do not edit. The cells of [fidelity.md](../fidelity.md), means over the seeds of "
        "either",
        f"world ({SIM_SEEDS} of the simulator). Beside an error stand the error that chance alone gives (the 95th",
        "percentile of as many of the simulator's seeds as Linux has against its others) and the error in standard",
        "errors.",
        "",
        *promises.rows(page.promised(judged)),
        *section("In short", page.summary_rows(judged)),
        *page.off_rows(judged),
        *page.count_rows(values, ("retransmits",)),
        *section("Every value", page.value_rows(values.items())),
    ]
    return "\n".join(rows)
