"""What is said of a run's fairness: a table of its groups of flows, and the figures of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lopsided.data import units
from lopsided.data.table import Table


@dataclass(frozen=True)
class Fairness:
    """The answer. `groups` has one row for each group of flows; `docs/fairness.md` says what its columns mean."""

    groups: Table
    jain: float | None
    """Jain's index of all flows' goodputs; None where nothing was delivered."""
    jain_max_min: float | None
    """The same of each goodput over what max-min fairness gives; None where no link has a rate."""
    converged_s: float | None
    """After the last start, until every flow stays near its max-min share; None where that was not seen."""
    settled_s: float | None
    """After the last start, until every flow stays near the share that it has on average after the warm-up."""
    start_s: float
    stop_s: float
    """The means are of the time between these."""
    window_s: float
    """Shares were averaged over this for both times of convergence."""
    within: float
    hold_s: float

    @property
    def text(self) -> str:
        """The figures of the whole in a sentence."""
        parts = ["nothing was delivered" if self.jain is None else f"Jain's index {self.jain:.3f}"]
        if self.jain_max_min is not None:
            parts.append(f"of max-min shares {self.jain_max_min:.3f}")
        for name, value in (("fair", self.converged_s), ("settled", self.settled_s)):
            parts.append(f"not {name}" if value is None else f"{name} after {value:.0f} s")
        near = f"within {units.percent(self.within)} for {units.seconds(self.hold_s)}"
        return f"{', '.join(parts)} ({near}); measured from {self.start_s:.0f} s to {self.stop_s:.0f} s"

    def summary(self) -> dict[str, Any]:
        """All but the table, as plain values."""
        return {name: value for name, value in vars(self).items() if name != "groups"}

    def _repr_html_(self) -> str:
        return f"<p>{self.text}</p>{self.groups.to_html()}"
