"""Defines the search space: scenario keys and their values.

Values have the syntax of a sweep's axis, or one of these forms:

    link.up.queue.kind=fifo|codel|fq_codel    one of these values; commas are also allowed
    link.up.queue.limit=5..100 packets        any value in between; integers if the key takes only integers
    link.up.queue.limit=5..100:5 packets      a value of the grid
    link.up.rate=100..10000:log kbit/s        any value in between, with equal weight for each decade

If a chosen kind does not have a key, such as the target of a `fifo`, the key is omitted. Other dependencies between
keys are not handled: settings that the scenario rejects are reported and not run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lopsided.errors import ScenarioError, UsageError
from lopsided.studies import sweep as sweeps

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*\.\.\s*({_NUMBER})\s*(?::\s*(log|{_NUMBER}))?\s*([^0-9\s].*?)?\s*")
_DIGITS = 4
"""Values from a continuous range are rounded to this number of significant digits."""
_MOST_CHOICES = 1000
_NOT_HERE = re.compile(r"`[^`]+` belongs to ")
"""Matches the error message for a key that the chosen kind does not have."""


@dataclass(frozen=True)
class Choice:
    """A key with a list of values. Each value consists of one or more settings."""

    key: str
    arms: tuple[sweeps.Arm, ...]

    @property
    def labels(self) -> list[str]:
        return [arm.label for arm in self.arms]

    @property
    def size(self) -> int | None:
        return len(self.arms)

    @property
    def ends(self) -> tuple[str, ...]:
        """Empty, because a list of values is not a range that could be extended."""
        return ()

    @property
    def told(self) -> str:
        return " | ".join(self.labels)

    def suggest(self, trial: Any) -> str:
        """Returns the value that Optuna's trial chooses."""
        return trial.suggest_categorical(self.key, self.labels)

    def settings(self, label: str) -> Mapping[str, str]:
        return next(arm.settings for arm in self.arms if arm.label == label)

    def of_finite(self) -> list[str]:
        """Returns all values of the list."""
        return self.labels

    def parameter(self, label: str) -> Any:
        """Returns the value that Optuna stores for a label: the label itself."""
        return label


@dataclass(frozen=True)
class Range:
    """A key with numbers from `first` to `last`: integers, the values of a grid, or any numbers."""

    key: str
    first: float
    last: float
    unit: str
    step: float | None = None
    log: bool = False
    whole: bool = False

    @property
    def size(self) -> int | None:
        """The number of values; `None` for a continuous range."""
        if self.step is not None:
            return math.floor((self.last - self.first) / self.step + 1e-9) + 1
        return round(self.last - self.first) + 1 if self.whole else None

    @property
    def ends(self) -> tuple[str, ...]:
        """The first and the last value of the range. If the search finds its best trial at one of these values, better
        values may exist outside the range."""
        return self.of(self.first), self.of(self.last)

    @property
    def told(self) -> str:
        by = f", in steps of {self.of(self.step)}" if self.step else ", equally in each decade" if self.log else ""
        return f"{self.of(self.first)} to {self.of(self.last)}{by}"

    def suggest(self, trial: Any) -> str:
        if self.step is not None:
            return self.of(self.first + trial.suggest_int(self.key, 0, (self.size or 1) - 1) * self.step)
        if self.whole:
            return self.of(trial.suggest_int(self.key, round(self.first), round(self.last), log=self.log))
        return self.of(trial.suggest_float(self.key, self.first, self.last, log=self.log))

    def settings(self, label: str) -> Mapping[str, str]:
        return {self.key: label}

    def of_finite(self) -> list[str]:
        """Returns every value of a finite range."""
        step = self.step or 1.0
        return [self.of(self.first + number * step) for number in range(self.size or 0)]

    def parameter(self, label: str) -> Any:
        value = float(label.removesuffix(self.unit).strip())
        if self.step is not None:
            return round((value - self.first) / self.step)
        return round(value) if self.whole else value

    def of(self, value: float) -> str:
        """Formats a value with its unit."""
        if not (self.whole or self.step is not None) and value:
            value = round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))
            value = min(max(value, self.first), self.last)
        text = f"{value:.12f}".rstrip("0").rstrip(".")
        return f"{text} {self.unit}".strip()


@dataclass(frozen=True)
class Space:
    """The keys to search. Keys with lists come first, because other keys may depend on them."""

    keys: tuple[Choice | Range, ...]

    @classmethod
    def of(cls, over: Mapping[str, str | Iterable[Any]], scenario: Scenario) -> Space:
        """Parses a search space. Raises an error if a value is invalid in every combination."""
        if not over:
            raise UsageError(
                "nothing to search over: name a key and its values, such as link.up.queue.limit=5..100 packets"
            )
        read = [_read(key, values) for key, values in over.items()]
        choices = [each for each in read if isinstance(each, Choice)]
        choices.sort(key=lambda each: not each.key.endswith("kind"))
        met = _combinations(scenario, choices)
        ranges = [_fitted(each, scenario, met) for each in read if isinstance(each, Range)]
        return cls((*choices, *ranges))

    @property
    def size(self) -> int | None:
        """Maximum number of combinations; `None` if a range is continuous."""
        sizes = [key.size for key in self.keys]
        return math.prod(size for size in sizes if size is not None) if None not in sizes else None

    def chosen(self, trial: Any, scenario: Scenario) -> tuple[dict[str, str], dict[str, str]]:
        """Returns the labels and settings that an Optuna trial chooses, without keys that the chosen kinds do not have.

        Raises ScenarioError if the scenario rejects the settings.
        """
        labels: dict[str, str] = {}
        settings: dict[str, str] = {}
        for key in self.keys:
            label = key.suggest(trial)
            added = {**settings, **key.settings(label)}
            if _applies(scenario, added):
                labels[key.key], settings = label, added
        scenario.with_(**settings)
        return labels, settings


def _applies(scenario: Scenario, settings: Mapping[str, str]) -> bool:
    """Returns true if the key of the last setting exists when the settings before it are applied."""
    try:
        scenario.with_(**settings)
    except ScenarioError as error:
        return not all(_NOT_HERE.match(problem.message) for problem in error.problems)
    return True


def _read(key: str, values: str | Iterable[Any]) -> Choice | Range:
    if not key:
        raise UsageError("--over needs the name of a key")
    if isinstance(values, str) and (found := _RANGE.fullmatch(values)):
        return _range(key, values, found)
    if isinstance(values, str) and len(parts := _split(values, "|")) > 1:
        arms = [sweeps.Arm(part.strip(), {key: part.strip()}) for part in parts]
    else:
        arms = sweeps.arms_of(key, values)
    labels = [arm.label for arm in arms]
    if len(set(labels)) != len(labels) or "" in labels:
        raise UsageError(f"the values of {key} must differ: {', '.join(labels)}")
    if len(arms) < 2:
        raise UsageError(
            f"{key} has one value, {labels[0]}: no choice is left; write {key}=a|b|c or {key}=5..100 with its unit, "
            "or change the scenario with --set"
        )
    if len(arms) > _MOST_CHOICES:
        raise UsageError(f"{key} has {len(arms):,} values; at most {_MOST_CHOICES:,} can be chosen from")
    return Choice(key, tuple(arms))


def _range(key: str, text: str, found: re.Match[str]) -> Range:
    first, last, step, unit = float(found[1]), float(found[2]), found[3], found[4] or ""
    if not first < last < math.inf:
        raise UsageError(f"the range `{text}` of {key} ends before it begins; write first..last and a unit")
    if step == "log":
        if first <= 0:
            raise UsageError(f"the range `{text}` of {key} starts at or below 0, which has no logarithm: start above 0")
        return Range(key, first, last, unit, log=True)
    grid = float(step) if step else None
    if grid is not None and not 0 < grid <= last - first:
        raise UsageError(f"the range `{text}` of {key} contains no step; write first..last:step and a unit")
    return Range(key, first, last, unit, step=grid)


def _split(text: str, mark: str) -> list[str]:
    """Splits a text at each `mark` outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            depth += (sign in "[{") - (sign in "]}")
        if sign == mark and depth == 0 and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def _combinations(scenario: Scenario, choices: Sequence[Choice]) -> list[dict[str, str]]:
    """Returns combinations of the listed values that the scenario accepts. Each value occurs in at least one
    combination.

    Raises the scenario's error if a value is invalid in every combination.
    """
    met: list[dict[str, str]] = [{}]
    for choice in choices:
        grown: list[dict[str, str]] = []
        for arm in choice.arms:
            fitting = [both for each in met if _stands(scenario, both := {**each, **arm.settings})]
            if not fitting:
                scenario.with_(**{**met[0], **arm.settings})
            grown += fitting
        # Keep a combination without this key if the combination is invalid with every value of the key.
        met = [*grown, *(each for each in met if not any(each.items() <= both.items() for both in grown))]
        met = met[:_MOST_CHOICES]
    return met


def _stands(scenario: Scenario, settings: Mapping[str, str]) -> bool:
    try:
        scenario.with_(**settings)
    except ScenarioError:
        return False
    return True


def _fitted(key: Range, scenario: Scenario, met: Sequence[dict[str, str]]) -> Range:
    """Returns the range, restricted to integers if the key accepts only integers. Raises ScenarioError if an end of the
    range is invalid in every combination."""
    places = [each for each in met if _applies(scenario, {**each, key.key: key.of(key.first)})] or list(met[:1])
    for value in (key.first, key.last):
        if not any(_stands(scenario, {**each, key.key: key.of(value)}) for each in places):
            scenario.with_(**places[0], **{key.key: key.of(value)})
    if key.step is not None or key.first != round(key.first) or key.last != round(key.last):
        return key
    between = (key.first + key.last) / 2
    broken = f"{math.floor(between) + 0.5:g} {key.unit}".strip()
    if any(_stands(scenario, {**each, key.key: broken}) for each in places):
        return key
    return Range(key.key, key.first, key.last, key.unit, log=key.log, whole=True)
