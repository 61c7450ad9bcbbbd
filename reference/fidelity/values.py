"""Writes `docs/fidelity/values.md`: every value of the fixed cells with its sampling error and its standard error.

This page shows means over all seeds, but `docs/fidelity.md` shows medians over the seeds that both sides have run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reference.fidelity import CELLS, promises
from reference.fidelity.chance import Both, Value
from reference.fidelity.draw import page
from reference.fidelity.records import Measurement, Values
from reference.fidelity.tables import section

SIM_SEEDS = 24
QUANTITIES = ("goodput_bps", "rtt_mean_ms", "rtt_std_ms", "retransmits")


def side_by_side(
    linux: Iterable[Measurement], simulated: Mapping[tuple[str, int], Values]
) -> dict[tuple[str, str, str], Value]:
    """Returns the values of Linux and of the simulator, by cell, flow and quantity."""
    both = Both(linux, simulated)
    found = {
        (cell.name, what, quantity): both.value(cell.name, (what, quantity), all_seeds=True)
        for cell in CELLS
        if cell.name in both.cells
        for what in sorted({key[0] for (name, _), values in simulated.items() if name == cell.name for key in values})
        for quantity in QUANTITIES
    }
    return {key: value for key, value in found.items() if value.linux and value.sim}


def render(values: Mapping[tuple[str, str, str], Value]) -> str:
    """Returns the page as Markdown."""
    judged = {key: value for key, value in values.items() if value.known and key[2] in page.JUDGED}
    rows = [
        "# Fidelity: every value and its sampling error",
        "",
        "Made by `make fidelity`; do not edit. This page lists the values behind [fidelity.md](../fidelity.md). Each",
        f"value is the mean over the seeds of one world ({SIM_SEEDS} seeds in the simulator). The sampling error is",
        "the error that would occur if both worlds behaved identically. To estimate the sampling error, the page",
        "splits the simulator's runs at random into two groups; one group has as many runs as Linux. The column",
        "contains the 95th percentile of the differences between the means of the two groups. The last column shows",
        "the error in standard errors.",
        "",
        *promises.rows(page.promised(judged)),
        *section("Summary", page.summary_rows(judged)),
        *page.off_rows(judged),
        *page.count_rows(values, ("retransmits",)),
        *section("Every value", page.value_rows(values.items())),
    ]
    return "\n".join(rows)
