"""Parses the axes of a sweep: settings with their values, and column names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

from lopsided import _native
from lopsided.errors import UsageError
from lopsided.settings import setting_text
from lopsided.studies.jobs import check_count, seeds

if TYPE_CHECKING:
    from lopsided.data.table import Row, Table
    from lopsided.scenario import Scenario


@dataclass(frozen=True)
class Arm:
    """A value of an axis: its label and its settings."""

    label: str
    settings: Mapping[str, str]


Axes = Mapping[str, str | Iterable[Any]]


def axes_of(scenario: Scenario) -> tuple[dict[str, list[Arm]], int]:
    """Returns the axes of the scenario's `[sweep]`, and the number of repetitions."""
    axes, repeat = scenario.native.axes()
    return {name: [Arm(label, dict(settings)) for label, settings in arms] for name, arms in axes}, repeat


@dataclass(frozen=True)
class Grid:
    """The numbered runs of a sweep: every combination of values, with every repetition."""

    scenario: Scenario
    axes: Mapping[str, Sequence[Arm]]
    repeat: int

    @classmethod
    def of(cls, scenario: Scenario, axes: Axes | None, repeat: int | None) -> Self:
        """Returns the grid of `axes`, or of the scenario's `[sweep]` if `axes` is `None`.

        Raises UsageError if there are no axes or no repetitions, or if there are too many runs or seeds.
        """
        found, file_repeat = axes_of(scenario)
        if axes is not None:
            found = {name: arms_of(name, values) for name, values in axes.items()}
        if not found:
            raise UsageError("nothing to sweep: give axes, or a [sweep] section in the scenario")
        grid = cls(scenario, found, file_repeat if repeat is None else repeat)
        if grid.repeat < 1:
            raise UsageError(f"cannot repeat a sweep {grid.repeat} times")
        check_count(grid.runs)
        seeds(scenario.seed, grid.repeat)
        return grid

    @property
    def runs(self) -> int:
        """The number of runs."""
        return math.prod(len(arms) for arms in self.axes.values()) * self.repeat

    @cached_property
    def columns(self) -> dict[str, tuple[str, dict[str, float | int | str]]]:
        """The name of each axis's column, and the column's entry for each value's label."""
        return {name: axis_column(name, [arm.label for arm in arms]) for name, arms in self.axes.items()}

    def run(self, number: int) -> tuple[Row, dict[str, str], int]:
        """Returns a run's entries for the columns of the axes, its settings, and the number of its repetition."""
        rest, repetition = divmod(number, self.repeat)
        chosen: list[Arm] = []
        for arms in reversed(list(self.axes.values())):
            rest, place = divmod(rest, len(arms))
            chosen.insert(0, arms[place])
        columns = zip(self.columns.values(), chosen, strict=True)
        labels = {column: values[arm.label] for (column, values), arm in columns}
        return labels, {key: value for arm in chosen for key, value in arm.settings.items()}, repetition


def arms_of(name: str, values: str | Iterable[Any]) -> list[Arm]:
    """Parses the values of an axis: `5..50:5 packets`, `a,b,c`, or a list of values or dictionaries. Returns one arm
    per value.

    Raises UsageError if there are no values.
    """
    if isinstance(values, str):
        _, arms = _native.axis(f"{name}={values}")
        return [Arm(label, dict(settings)) for label, settings in arms]
    arms = [_arm(name, value) for value in values]
    if not arms:
        raise UsageError(f"the axis {name!r} has no values")
    return arms


def _arm(name: str, value: Any) -> Arm:
    if not isinstance(value, Mapping):
        text = setting_text(value)
        return Arm(text, {name: text})
    named = cast("Mapping[str, Any]", value)
    settings = {key: setting_text(inner) for key, inner in named.items() if key != "label"}
    return Arm(str(named.get("label", ", ".join(settings.values()))), settings)


_QUANTITY = re.compile(r"\s*([+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([^0-9\s].*?)?\s*")


def axis_column(setting: str, values: Sequence[str]) -> tuple[str, dict[str, float | int | str]]:
    """Returns the name of an axis's column, and the entry for each value: a number if all units are equal, else
    text."""
    matches = [_QUANTITY.fullmatch(value) for value in values]
    units = {match[2] or "" for match in matches if match}
    if not all(matches) or len(units) != 1:
        return setting, {value: value for value in values}
    numbers = [float(match[1]) for match in matches if match]
    whole = all(number == int(number) for number in numbers)
    unit = units.pop()
    name = f"{setting}_{re.sub(r'[^A-Za-z0-9]+', '_', unit)}" if unit else setting
    return name, {value: int(number) if whole else number for value, number in zip(values, numbers, strict=True)}


_WITH_UNIT = re.compile(
    r"(.+\..+?)_((?:[kKMGT]i?)?(?:bits?_s|bps|bits?|b|B)|bytes?|packets?|p|segments?|[num]?s|min|h|_)"
)


def axis_setting(column: str) -> tuple[str, str]:
    """Returns the setting and the unit of an axis's column; the unit is `""` if the column has none.

    In a column's name, an underscore replaces each character of the unit that is not a letter.
    """
    found = _WITH_UNIT.fullmatch(column)
    if not found:
        return column, ""
    return found[1], "%" if found[2] == "_" else found[2].replace("_", "/")


def axis_label(column: str) -> str:
    """Returns the heading of an axis, such as `link.up.queue.limit (packets)`."""
    setting, unit = axis_setting(column)
    return f"{setting} ({unit})" if unit else setting


_WORDS = {
    "stack.cc": "congestion control",
    "stack.profile": "TCP stack",
    "link.preset": "access line",
    "link.rtt": "round-trip time",
    "queue.limit": "buffer",
    "queue.kind": "queue discipline",
    "queue": "queue",
    "rate": "rate",
    "loss.random": "random loss",
    "loss": "loss",
    "delay": "delay",
}
"""Names of settings in figures, by the last part of the setting's key."""
_WAYS = {"up": "uplink ", "down": "downlink "}


def axis_words(column: str) -> str:
    """Returns the label of an axis in a figure, such as `uplink buffer (packets)`."""
    setting, unit = axis_setting(column)
    where = next((_WAYS[part] for part in setting.split(".") if part in _WAYS), "")
    end = next((end for end in sorted(_WORDS, key=len, reverse=True) if f".{setting}".endswith(f".{end}")), None)
    words = f"{where}{_WORDS[end]}" if end else f"{where}{setting.rpartition('.')[2].replace('_', ' ')}"
    return f"{words} ({unit})" if unit else words


def axis_columns(table: Table) -> list[str]:
    return table.columns[: table.columns.index("repetition")]
