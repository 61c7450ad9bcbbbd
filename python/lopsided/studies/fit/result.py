"""The result of a fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lopsided.data import units
from lopsided.data.table import Row, Table
from lopsided.data.units import counted
from lopsided.data.view import Heading, View, numbers, view, words
from lopsided.studies.fit.remedies import ALIKE
from lopsided.studies.study import Block, Drawing, Headline, Source, Study

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

SCENARIO = "fit.toml"
CLEAR = 1.0
"""Largest distance at which the simulated packets count as close to the captured packets."""
_NAMES = {
    "rate.down": "rate down",
    "rate.up": "rate up",
    "rtt_floor": "shortest RTT",
    "buffer.down": "buffer down",
    "buffer.up": "buffer up",
    "threshold.down": "RED threshold down",
    "threshold.up": "RED threshold up",
    "framing.down": "framing of each packet down",
    "framing.up": "framing of each packet up",
    "loss.down": "random loss down",
    "loss.up": "random loss up",
    "thinning.down": "ACK thinning down",
    "thinning.up": "ACK thinning up",
    "queue.down": "queue down",
    "queue.up": "queue up",
    "cc.down": "congestion control of downloads",
    "cc.up": "congestion control of uploads",
}


@dataclass(frozen=True)
class Fit(Study):
    """The result of fitting a line to a capture or a log: the scenario, and the uncertainty of its parameters."""

    kind: ClassVar[str] = "fit"
    figures: ClassVar[Mapping[str, str]] = {"measured": "Measured and fitted"}
    footer: ClassVar[str] = (
        "`fit.toml` next to this page is the scenario. `parameters.csv`, `choices.csv`, `timeline.csv`, `trials.csv` "
        "and `remedies.csv` contain all numbers. Column names end with the unit."
    )

    source: str
    """Path of the capture."""
    scenario: Scenario
    """The fitted scenario."""
    distance: float
    """Distance between simulated and captured packets: the mean difference, in units of the tolerances."""
    parameters: Table
    """Value and 95 % interval of each parameter."""
    choices: Table
    """The disciplines and congestion controls that were tried, each with its smallest distance."""
    timeline: Table
    """Measured and fitted goodput, RTT and bytes in flight over time."""
    trials: Table
    """One row per scenario that was simulated."""
    remedies: Table
    """The effect of each remedy, if remedies were tried."""
    seed: int
    notes: Sequence[str] = ()
    """Sentences about the fit's assumptions, and about parts of the capture that the fit omits."""
    complete: bool = True
    """False if the fit was interrupted."""
    from_log: bool = False
    """True if a log provides all values, without a capture."""

    @property
    def title(self) -> str:
        return f"Line of {Path(self.source).name}"

    @property
    def details(self) -> str:
        return f"{counted(len(self.trials), 'trial')} · distance {self.distance:.2f} · seed {self.seed}"

    @property
    def toml(self) -> str:
        """The scenario as TOML without defaults."""
        return self.scenario.source[0]

    def value(self, parameter: str) -> Row:
        """Returns the row of a parameter such as `rate.down`. Raises KeyError if there is no such parameter."""
        for row in self.parameters.rows():
            if row["parameter"] == parameter:
                return row
        raise KeyError(parameter)

    def possible(self, choice: str) -> list[str]:
        """Returns the possible names of a choice such as `queue.down` or `cc.down`, best first.

        The list is empty if the packets do not show the choice.
        """
        return [row["name"] for row in self.choices.rows() if row["choice"] == choice and row["status"] != "rejected"]

    def conclusions(self) -> list[str]:
        said: list[str] = []
        if not self.complete:
            said.append("The fit was interrupted: better values may exist.")
        shown = "log" if self.from_log else "packets"
        if self.from_log:
            close = "close to" if self.distance <= CLEAR else f"{self.distance:.1f} tolerances from"
            said.append(f"Goodput and delay of the simulated scenario are {close} those of the log.")
        elif self.distance <= CLEAR:
            said.append("The simulated packets are close to the measured ones.")
        else:
            said.append(
                f"The simulated packets differ from the measured ones by {self.distance:.1f} tolerances on average: "
                "values that are not measured directly are uncertain and have no intervals."
            )
        unknown = [_NAMES[row["parameter"]] for row in self.parameters.rows() if row["status"] == "unknown"]
        unknown += [_NAMES[choice] for choice in ("queue.down", "queue.up") if not self.possible(choice)]
        if unknown:
            said.append(
                f"Unknown, because the {shown} {'does' if self.from_log else 'do'} not show it: {', '.join(unknown)}."
            )
        said += ["", *self._advice()]
        return said

    def _advice(self) -> list[str]:
        rows = list(self.remedies.rows())
        if len(rows) < 2:
            return []
        best = rows[1]
        if best["power_change"] <= ALIKE:
            return ["No remedy would make this line clearly better."]
        parts = [
            f"{name} {units.change(best[column])}"
            for name, column in (
                ("download", "down_goodput_change"),
                ("upload", "up_goodput_change"),
                ("95th percentile of the round trip", "rtt_p95_change"),
            )
            if best[column] is not None
        ]
        return [f"**{best['remedy']}** would improve this line most: {', '.join(parts)}."]

    def conditions(self) -> list[tuple[str, str]]:
        return [
            ("capture", Path(self.source).name),
            ("simulated", units.seconds(self.scenario.duration_s)),
            ("trials", f"{len(self.trials):,}"),
            ("distance", f"{self.distance:.3f}"),
            ("seed", str(self.seed)),
        ]

    def identity(self) -> dict[str, Any]:
        return {
            "capture": Path(self.source).name,
            "seed": self.seed,
            "trials": len(self.trials),
            "distance": self.distance,
            "complete": self.complete,
        }

    def results(self) -> dict[str, Any]:
        return {
            "parameters": list(self.parameters.rows()),
            "choices": list(self.choices.rows()),
            "remedies": list(self.remedies.rows()),
            "notes": list(self.notes),
            "scenario": self.scenario.to_tables(),
        }

    def files(self) -> Mapping[str, Table | str]:
        tables = {
            "parameters": self.parameters,
            "choices": self.choices,
            "timeline": self.timeline,
            "trials": self.trials,
        }
        if len(self.remedies):
            tables["remedies"] = self.remedies
        return {SCENARIO: self.toml, **{f"{name}.csv": table for name, table in tables.items()}}

    def shown(self) -> Iterable[Block]:
        yield _parameters(self.parameters.rows())
        yield self._choices()
        if len(self.remedies):
            yield _remedies(self.remedies.rows())
        yield from self.notes

    def page(self) -> Iterable[Block]:
        yield from self.notes
        yield Headline("The line")
        yield _parameters(self.parameters.rows())
        yield self._choices()
        yield Headline("Measured and fitted")
        yield Drawing("measured", "Goodput, round trips and outstanding data over time")
        if len(self.remedies):
            yield Headline("Remedies on this line")
            yield _remedies(self.remedies.rows())
            yield "power: goodput divided by the RTT's 95th percentile, relative to the unchanged line."
        yield Headline("All trials")
        yield view(self.choices, keys=2, where=" in choices.csv")
        yield Source(SCENARIO, self.toml)

    def _choices(self) -> View:
        names = dict.fromkeys(row["choice"] for row in self.choices.rows())
        rows: list[list[str]] = []
        for choice in ("queue.down", "queue.up", *(name for name in names if name.startswith("cc."))):
            possible = self.possible(choice)
            doubt = "" if self.distance <= CLEAR else ", uncertain"
            rows.append([_NAMES[choice], " or ".join(possible) + doubt if possible else "unknown"])
        return View(words("choice", "fitted"), rows)


def amount(value: float | None, unit: str) -> str:
    """Returns a value with its unit as text."""
    if value is None:
        return "–"
    return {"bit/s": units.rate, "ms": units.millis, "B": units.size, "share": units.percent, "ACKs": _one_of}[unit](
        value
    )


def _one_of(value: float) -> str:
    return f"1 of {max(round(value), 2)} ACKs"


def _parameters(rows: Iterable[Row]) -> View:
    cells: list[list[str]] = []
    for row in rows:
        unit = row["unit"]
        known = row["status"] != "unknown"
        value = amount(row["value"], unit)
        cells.append(
            [
                _NAMES[row["parameter"]],
                value if known else "unknown",
                amount(row["low"], unit),
                amount(row["high"], unit),
                {"uncertain": "uncertain", "log": "from the log", "fitted": "", "measured": "measured"}.get(
                    row["status"], f"{value} in the scenario"
                ),
            ]
        )
    headings = [*words("parameter"), *numbers("value", "low", "high")]
    return View([*headings, Heading("", numeric=False)], cells, caption="low, high: 95 % interval")


def _remedies(rows: Iterable[Row]) -> View:
    def change(value: float | None) -> str:
        return "–" if value is None else units.change(value)

    return View(
        [*words("remedy"), *numbers("down", "up", "RTT 95 %", "down, change", "up, change", "RTT, change")],
        [
            [
                row["remedy"],
                units.rate(row["down_goodput_bps"]),
                units.rate(row["up_goodput_bps"]),
                units.millis(row["rtt_p95_ms"]),
                change(row["down_goodput_change"]),
                change(row["up_goodput_change"]),
                change(row["rtt_p95_change"]),
            ]
            for row in rows
        ],
    )
