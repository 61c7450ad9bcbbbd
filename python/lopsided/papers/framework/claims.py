"""Judges claims. Each function returns a verdict whose criterion, numbers and reason are computed from the same values.

    rises("variation", m.curve("sweep", "variation", "buffer_packets"))
    all_of(at_least(90, rates), agree_within(0.05, rates))

"Near" has the same meaning in all papers. A percentage is near the published percentage if they differ by at most
`POINTS` percentage points and by at most a factor of 2. Other quantities are near if their relative difference is at
most `SHARE`. "More" and "leads" without a number mean at least 10 % more (`MORE`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from lopsided.papers.framework import text
from lopsided.papers.framework.measurements import Curve, Measurements, Spread
from lopsided.papers.framework.model import Claim, Measured, Origin, Verdict
from lopsided.papers.framework.published import PublishedValue

POINTS = 10.0
"""Largest difference, in percentage points, at which a measured percentage counts as near the published percentage."""

SHARE = 0.15
"""Largest relative difference at which a quantity other than a percentage counts as near the published quantity.
Reading a value from a noisy logarithmic plot has about this error."""

MORE = 1.1
"""The word "more" in a statement requires at least this ratio between the two quantities."""


Check: TypeAlias = Callable[[Measurements], Verdict]
Numbers: TypeAlias = Callable[[Measurements], Iterable[Measured]]


def key_of(check: Callable[..., Verdict]) -> str:
    """Returns the key of a claim: the name of the function that judges the claim, with hyphens."""
    return check.__name__.replace("_", "-")


@dataclass(frozen=True)
class Statements:
    """A decorator that turns a function into a claim: `@of_paper(statement, where)`.

    The function's name becomes the claim's key. For a paper with many statements, use `Listed`, which reads the
    statements from a file.

    Attributes
    ----------
    needs
        Keys of the experiments that the claims read.
    origin
        Origin of the claims.
    """

    needs: tuple[str, ...]
    origin: Origin = "paper"

    def __call__(
        self,
        statement: str,
        where: str,
        *,
        key: str = "",
        needs: tuple[str, ...] = (),
        fails: bool = False,
        origin: Origin | None = None,
    ) -> Callable[[Check], Claim]:
        """Returns a decorator that turns a function into a claim.

        `fails` is true for a statement that is known not to hold. `key`, `needs` and `origin` override the defaults.
        """

        def claim(check: Check) -> Claim:
            whose = origin or self.origin
            return Claim(key or key_of(check), statement, where, needs or self.needs, check, fails, whose)

        return claim


@dataclass(frozen=True)
class Listed:
    """A decorator that turns a function into a claim. `statements.toml` in the paper's folder contains the statement:

        [less-below-the-knee]
        statement = "With a shorter queue throughput is lower."
        where = "eq 4.2"
        needs = ["knee"]

    The function's name is the claim's key. The other keys of an entry are `origin`, `fails`, and the texts `why` and
    `notes` of `near_print`.

    Attributes
    ----------
    entries
        The contents of `statements.toml`.
    needs
        Keys of the experiments that the claims read, if an entry does not list any.
    """

    entries: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...] = ()

    @classmethod
    def beside(cls, module: str) -> Listed:
        """Reads the `statements.toml` next to a module. `module` is the path of the module."""
        path = next(path for each in Path(module).parents if (path := each / "statements.toml").exists())
        return cls(tomllib.loads(path.read_text(encoding="utf-8")))

    def __call__(self, check: Check) -> Claim:
        return self.claim(key_of(check), check)

    def claim(self, key: str, check: Check) -> Claim:
        """Returns the claim that `check` judges."""
        entry = self.entries[key]
        needs, fails, origin = entry.get("needs", self.needs), entry.get("fails", False), entry.get("origin", "paper")
        return Claim(key, entry["statement"], entry["where"], tuple(needs), check, fails, origin)

    def near_print(self, key: str, numbers: Numbers) -> Claim:
        """Returns the claim that every measured number is near its published value (see `near`).

        The entry's `why` is added to the reason for a failure. The entry's `notes` are always shown.
        """
        why, notes = self.entries[key].get("why", ""), tuple(self.entries[key].get("notes", ()))
        return self.claim(key, lambda m: near(numbers(m)).but(why=why, notes=notes))


def claims_of(module: Mapping[str, object]) -> tuple[Claim, ...]:
    """Returns the claims that a module defines, in the order of definition. `module` is the module's `globals()`."""
    found: list[object] = []
    for value in module.values():
        found += cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return tuple(each for each in found if isinstance(each, Claim))


def number(
    name: str, value: Spread | float, unit: str = "", *, scale: float = 1.0, published: PublishedValue | None = None
) -> Measured:
    """Returns a measured number for a verdict: `value` times `scale`, in `unit`. A `Spread` is reduced to its
    median."""
    return Measured(name, float(value.median if isinstance(value, Spread) else value) * scale, unit, published)


def percent(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """Returns a measured number in percent. `value` is a fraction from 0 to 1."""
    return number(name, value, "percent", scale=100, published=published)


def mbit(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """Returns a measured number in Mbit/s. `value` is a rate in bit/s."""
    return number(name, value, "Mbit/s", scale=1e-6, published=published)


def kbit(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """Returns a measured number in kbit/s. `value` is a rate in bit/s."""
    return number(name, value, "kbit/s", scale=1e-3, published=published)


def kilobytes(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """Returns a measured number in kB. `value` is a size in bytes."""
    return number(name, value, "kB", scale=1e-3, published=published)


def near(numbers: Iterable[Measured], printed: float = 1.0) -> Verdict:
    """Holds if each number is near its published value. Numbers without a published value are ignored.

    The module's docstring defines "near". `printed` is the factor that converts the published unit to the measured
    unit.
    """
    numbers = tuple(numbers)
    shares = next((each.unit == "percent" for each in numbers if each.published is not None), False)

    def fits(value: float, wanted: float) -> bool:
        if shares:
            return abs(value - wanted) <= POINTS and wanted / 2 <= value <= wanted * 2
        return abs(value - wanted) <= SHARE * abs(wanted)

    distance = f"{POINTS:g} points and a factor of two" if shares else text.share(SHARE)
    rule = f"within {distance} of the printed value"
    return _beside_print(numbers, printed, rule, fits)


def within(tolerance: float, numbers: Iterable[Measured]) -> Verdict:
    """Holds if each number differs from its published value by at most `tolerance`, which is in the unit of the
    number."""
    numbers = tuple(numbers)
    unit = next((each.unit for each in numbers if each.published is not None), "")
    rule = f"within {tolerance:g} {unit} of the printed value"
    return _beside_print(numbers, 1.0, rule, lambda value, wanted: abs(value - wanted) <= tolerance)


def _beside_print(
    numbers: Sequence[Measured], printed: float, rule: str, fits: Callable[[float, float], bool]
) -> Verdict:
    compared = [(each, each.published) for each in numbers if each.published is not None]
    far = [(each, print_) for each, print_ in compared if not fits(each.value, print_.number * printed)]
    reason = "; ".join(f"{text.named(each)}, printed {print_}" for each, print_ in far or compared)
    return Verdict(not far, rule, tuple(numbers), reason)


def at_least(bound: float, numbers: Iterable[Measured]) -> Verdict:
    """Holds if every number is `bound` or more."""
    return _bounded(numbers, f"at least {text.plain(bound)}", lambda value: value >= bound)


def at_most(bound: float, numbers: Iterable[Measured]) -> Verdict:
    """Holds if every number is `bound` or less."""
    return _bounded(numbers, f"at most {text.plain(bound)}", lambda value: value <= bound)


def largest_at_most(bound: float, numbers: Iterable[Measured], criterion: str = "") -> Verdict:
    """Holds if every number is `bound` or less. The reason names only the largest number."""
    numbers = tuple(numbers)
    largest = max(numbers, key=lambda each: each.value)
    return at_most(bound, [largest]).but(*numbers, criterion=criterion or f"each at most {text.plain(bound)}")


def between(low: float, high: float, numbers: Iterable[Measured]) -> Verdict:
    """Holds if every number is from `low` to `high`."""
    return _bounded(numbers, f"from {text.plain(low)} to {text.plain(high)}", lambda value: low <= value <= high)


def _bounded(numbers: Iterable[Measured], bound: str, fits: Callable[[float], bool]) -> Verdict:
    numbers = tuple(numbers)
    off = [each for each in numbers if not fits(each.value)]
    names = text.names(numbers) if len(numbers) <= 3 else "each"
    reason = "; ".join(text.named(each) for each in off or numbers)
    return Verdict(not off, f"{names} {bound}", numbers, reason)


def agree_within(share: float, numbers: Iterable[Measured], name: str = "greatest difference") -> Verdict:
    """Holds if the relative difference between the smallest and the largest number is less than `share`."""
    numbers = tuple(numbers)
    values = [each.value for each in numbers]
    difference = number(name, (max(values) - min(values)) / max(values), "percent", scale=100)
    reason = f"they differ by {text.value(difference)}"
    return Verdict(
        difference.value < share * 100, f"within {text.share(share)} of each other", (difference, *numbers), reason
    )


def ordered(numbers: Iterable[Measured], by: float = MORE) -> Verdict:
    """Holds if each number is more than `by` times as large as the next number in the list."""
    numbers = tuple(numbers)
    holds = all(one.value > by * other.value for one, other in pairwise(numbers))
    margin = f"at least {by:g} times" if by != 1 else "more than"
    order = " > ".join(each.name for each in numbers)
    return Verdict(holds, f"each {margin} the next: {order}", numbers, text.listed(numbers))


def ratio(name: str, one: Measured, other: Measured, *, above: float = -np.inf, below: float = np.inf) -> Verdict:
    """Holds if `one / other` is above `above` and below `below`. The verdict lists both numbers and the ratio."""
    found = number(name, one.value / other.value if other.value else np.copysign(np.inf, one.value))
    bounds = [f"{word} {bound:g}" for word, bound in (("above", above), ("below", below)) if np.isfinite(bound)]
    reason = f"{name} is {text.number(found.value)} ({text.named(one)}; {text.named(other)})"
    # If the denominator is 0, the ratio is infinite: it passes any lower bound and fails any upper bound.
    holds = bool(above < found.value and (found.value < below or not np.isfinite(below)))
    return Verdict(holds, f"{name} {' and '.join(bounds)}", (found, one, other), reason)


def rises(
    name: str, curve: Curve, unit: str = "", *, rank: float = 0.7, scale: float = 1.0, show: Iterable[float] = ()
) -> Verdict:
    """Holds if the curve rises.

    A curve rises if its last value is higher than its first value, and if the rank correlation of the values with the
    setting exceeds `rank`. The verdict lists the first and last value, the values at `show`, and the correlation.
    """
    return _trend(name, curve, unit, rank, scale, show, +1)


def falls(
    name: str, curve: Curve, unit: str = "", *, rank: float = 0.7, scale: float = 1.0, show: Iterable[float] = ()
) -> Verdict:
    """Holds if the curve falls: its last value is lower than its first value, and its rank correlation with the setting
    is below `-rank`."""
    return _trend(name, curve, unit, rank, scale, show, -1)


def _trend(name: str, curve: Curve, unit: str, rank: float, scale: float, show: Iterable[float], sign: int) -> Verdict:
    places = sorted({float(curve.x[0]), *map(float, show), float(curve.x[-1])})
    ends = tuple(number(f"{name} at {place:g}", curve.at(place), unit, scale=scale) for place in places)
    found = number(f"{name}: rank correlation", curve.rank_correlation)
    way = "above" if sign > 0 else "below"
    reason = (
        f"{name} goes from {text.value(ends[0])} to {text.value(ends[-1])}, with a rank correlation of "
        f"{text.signed(found.value)}"
    )
    criterion = f"rank correlation of {name} {way} {text.signed(sign * rank)}"
    holds = found.value * sign > rank and (curve.last - curve.first) * sign > 0
    return Verdict(bool(holds), criterion, (*ends, found), reason)


def inversely_proportional(
    name: str, curve: Curve, unit: str = "", *, scale: float = 1.0, setting_unit: str = ""
) -> Verdict:
    """Holds if the curve is inversely proportional to the setting.

    Every median must be within `SHARE` of constant / setting. The constant is the geometric mean. `unit` is the unit of
    the values, and `setting_unit` the unit of the setting.
    """
    scaled = curve.median * curve.x
    off = np.abs(scaled / np.exp(np.mean(np.log(scaled))) - 1)
    worst = number(f"{name}: largest distance from proportional", float(np.max(off)), "percent", scale=100)
    ends = tuple(
        number(f"{name} at {x:.0f} {setting_unit}".rstrip(), y, unit, scale=scale)
        for x, y in zip(curve.x, curve.median, strict=True)
    )
    reason = f"{name} is up to {text.value(worst)} from inversely proportional: {text.listed(ends)}"
    criterion = f"{name} inversely proportional within {text.share(SHARE)}"
    return Verdict(bool(worst.value <= 100 * SHARE), criterion, (worst, *ends), reason)


def all_of(*parts: Verdict | Iterable[Verdict]) -> Verdict:
    """Holds if all verdicts hold. The reason names the verdicts that fail."""
    verdicts = [each for part in parts for each in ([part] if isinstance(part, Verdict) else part)]
    failing = [each for each in verdicts if not each.holds]
    # Verdicts may share criteria, numbers and notes. List each of them only once.
    return Verdict(
        not failing,
        "; ".join(dict.fromkeys(each.criterion for each in verdicts if each.criterion)),
        tuple({(one.name, one.value): one for each in verdicts for one in each.measured}.values()),
        _joined(dict.fromkeys(each.reason for each in failing or verdicts if each.reason)),
        tuple(dict.fromkeys(note for each in verdicts for note in each.notes)),
    )


def _joined(reasons: Iterable[str]) -> str:
    """Joins reasons with semicolons, or as sentences if a reason consists of several sentences."""
    reasons = tuple(reasons)
    if not any(". " in each for each in reasons):
        return "; ".join(reasons)
    return ". ".join(each[:1].upper() + each[1:] for each in reasons)
