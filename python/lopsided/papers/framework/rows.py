"""Rows of tables. Each row contains a published number, and a function that measures the same quantity.

Figures show the rows as comparisons. `near_print` judges statements by rows:

    RATES = [Row(f"{hops} hops", partial(rate, hops=hops), "Table 5", "throughput", {"hops": hops}) for hops in HOPS]
    Artifact(data, comparisons=compared(RATES, m))
    of_paper.near_print("rates", "It gets 40.7, 19.0 and 12.1 kbit/s.", "table 5", measured(RATES))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from lopsided.papers.framework.claims import Numbers, number
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Comparison, Measured
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.framework.tables import compare


@dataclass(frozen=True)
class Row:
    """A measured number and the published number to compare it with.

    Attributes
    ----------
    name
        Name of the measured number in a statement.
    read
        Function that returns the measured value.
    where, metric, conditions
        Identify the row of `published.csv`.
    unit
        Unit of the measured number after scaling.
    scale
        Factor that converts the measured unit to the published unit.
    remark
        Text that is shown next to the comparison.
    """

    name: str
    read: Callable[[Measurements], Spread | float]
    where: str
    metric: str
    conditions: Mapping[str, object] = field(default_factory=dict[str, object])
    unit: str = ""
    scale: float = 1.0
    remark: str = ""

    def printed(self, m: Measurements) -> PublishedValue:
        return m.published.find(self.where, self.metric, **self.conditions)

    def measured(self, m: Measurements) -> Measured:
        return number(self.name, self.read(m), self.unit, scale=self.scale, published=self.printed(m))

    def compared(self, m: Measurements) -> Comparison:
        return compare(self.printed(m), self.read(m), self.remark, self.scale)


def measured(rows: Iterable[Row]) -> Numbers:
    """Returns a function that measures every row, for `Statements.near_print`."""
    rows = tuple(rows)
    return lambda m: [row.measured(m) for row in rows]


def compared(rows: Iterable[Row], m: Measurements) -> tuple[Comparison, ...]:
    return tuple(row.compared(m) for row in rows)
