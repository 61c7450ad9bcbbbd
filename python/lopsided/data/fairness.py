"""The fairness of a run: a table of groups of flows, and numbers for the whole run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lopsided.data import units
from lopsided.data.table import Table


@dataclass(frozen=True)
class Fairness:
    """The fairness of a run. `groups` has one row per group; `docs/fairness.md` explains the columns."""

    groups: Table
    jain: float | None
    """Jain's index of the goodputs of all flows; `None` if nothing was delivered."""
    jain_max_min: float | None
    """Jain's index of the ratios of goodput to max-min fair share; `None` if no link has a rate."""
    converged_s: float | None
    """Seconds from the last start of a flow until every flow stays near its max-min share; `None` if that never
    happens."""
    settled_s: float | None
    """Seconds from the last start of a flow until every flow stays near its mean share after the warm-up; `None` if
    that never happens."""
    start_s: float
    stop_s: float
    """Start and end of the averaged period, in seconds."""
    window_s: float
    """Length of the intervals over which each flow's share is averaged, in seconds."""
    within: float
    hold_s: float

    @property
    def text(self) -> str:
        """The fairness of the whole run as one line of text."""
        parts = ["nothing was delivered" if self.jain is None else f"Jain's index {self.jain:.3f}"]
        if self.jain_max_min is not None:
            parts.append(f"of max-min shares {self.jain_max_min:.3f}")
        for name, value in (("fair", self.converged_s), ("settled", self.settled_s)):
            parts.append(f"not {name}" if value is None else f"{name} after {value:.0f} s")
        near = f"within {units.percent(self.within)} for {units.seconds(self.hold_s)}"
        return f"{', '.join(parts)} ({near}); measured from {self.start_s:.0f} s to {self.stop_s:.0f} s"

    def summary(self) -> dict[str, Any]:
        """Returns everything except the table, as plain values for JSON."""
        return {name: value for name, value in vars(self).items() if name != "groups"}

    def _repr_html_(self) -> str:
        return f"<p>{self.text}</p>{self.groups.to_html()}"
