"""The tests that claims are made of: each builds criterion, numbers, verdict and reason from the same values.

    rises("variation", m.curve("sweep", "variation", "buffer_packets"))
    all_of(at_least(90, rates), agree_within(0.05, rates))

What counts as "near" a printed number is the same in all papers, and stands here: for a share of something `POINTS`,
and not less than half nor more than twice of it; `SHARE` for every other quantity. A statement "much more" or "leads"
without a number is a tenth more (`MORE`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from lopsided.papers.framework import text
from lopsided.papers.framework.measurements import Curve, Measurements, Spread
from lopsided.papers.framework.model import Claim, Measured, Origin, Verdict
from lopsided.papers.framework.published import PublishedValue

POINTS = 10.0
"""Percentage points: a share of something is near a printed one within a tenth of the scale."""

SHARE = 0.15
"""Any other quantity is near a printed one within 15 %: what reading a mean off a noisy log allows."""

MORE = 1.1


Check: TypeAlias = Callable[[Measurements], Verdict]


def wider_than_said(claim: Claim, verdict: Verdict) -> list[str]:
    """The ranges of a verdict's criterion that are wider than the range that the statement itself gives.

    A statement "14 to 15.5 Mbit/s" is judged by no bounds beyond 14 and 15.5. Ranges that share no end with the
    statement's are about something else.
    """
    said = [(float(low), float(high)) for low, high in _SAID_RANGE.findall(claim.statement.replace(",", ""))]
    judged = [(float(low), float(high)) for low, high in _JUDGED_RANGE.findall(verdict.criterion.replace(",", ""))]
    return [
        f"from {low:g} to {high:g} for {least:g} to {most:g}"
        for low, high in judged
        for least, most in said
        if (low == least or high == most) and (low < least or high > most)
    ]


_SAID_RANGE = re.compile(r"(\d+(?:\.\d+)?) to (\d+(?:\.\d+)?)")
_JUDGED_RANGE = re.compile(r"from (-?\d+(?:\.\d+)?) to (-?\d+(?:\.\d+)?)")


def key_of(check: Callable[..., Verdict]) -> str:
    """A claim's key by the name of the function that judges it."""
    return check.__name__.replace("_", "-")


@dataclass(frozen=True)
class Statements:
    """Makes claims of functions: `@of_paper(statement, where)`, the key being the function's name.

    Nothing is registered: a paper lists its claims.
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
        """`fails` for a statement that is known not to hold; `needs`, `key` and `origin` if they are others."""

        def claim(check: Check) -> Claim:
            whose = origin or self.origin
            return Claim(key or key_of(check), statement, where, needs or self.needs, check, fails, whose)

        return claim


def number(
    name: str,
    value: Spread | float,
    unit: str = "",
    *,
    scale: float = 1.0,
    published: PublishedValue | None = None,
) -> Measured:
    """One number that a claim rests on: a value, or the median of a spread, times `scale`, in a unit."""
    return Measured(name, float(value.median if isinstance(value, Spread) else value) * scale, unit, published)


def percent(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """A share of something, in per cent."""
    return number(name, value, "percent", scale=100, published=published)


def mbit(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """A rate in bit/s as Mbit/s."""
    return number(name, value, "Mbit/s", scale=1e-6, published=published)


def kbit(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """A rate in bit/s as kbit/s."""
    return number(name, value, "kbit/s", scale=1e-3, published=published)


def kilobytes(name: str, value: Spread | float, published: PublishedValue | None = None) -> Measured:
    """A number of octets as kB."""
    return number(name, value, "kB", scale=1e-3, published=published)


def near(numbers: Iterable[Measured], printed: float = 1.0) -> Verdict:
    """Each number that has a printed one is near it: shares in per cent within `POINTS` and a factor of two, any other
    quantity within `SHARE`. `printed` scales the printed number to the unit of the measured."""
    numbers = tuple(numbers)
    shares = next((each.unit == "percent" for each in numbers if each.published is not None), False)

    def fits(value: float, wanted: float) -> bool:
        if shares:
            return abs(value - wanted) <= POINTS and wanted / 2 <= value <= wanted * 2
        return abs(value - wanted) <= SHARE * abs(wanted)

    rule = f"within {POINTS:g} points and a factor of two of print" if shares else f"within {SHARE:.0%} of print"
    return _beside_print(numbers, printed, rule, fits)


def within(tolerance: float, numbers: Iterable[Measured]) -> Verdict:
    """Each number that has a printed one is within so many of its units of it."""
    numbers = tuple(numbers)
    unit = next((each.unit for each in numbers if each.published is not None), "")
    rule = f"within {tolerance:g} {unit} of print"
    return _beside_print(numbers, 1.0, rule, lambda value, wanted: abs(value - wanted) <= tolerance)


def _beside_print(
    numbers: Sequence[Measured], printed: float, rule: str, fits: Callable[[float, float], bool]
) -> Verdict:
    compared = [(each, each.published) for each in numbers if each.published is not None]
    far = [(each, print_) for each, print_ in compared if not fits(each.value, print_.number * printed)]
    reason = "; ".join(f"{text.named(each)}, printed {print_}" for each, print_ in far or compared)
    return Verdict(not far, rule, tuple(numbers), reason)


def at_least(bound: float, numbers: Iterable[Measured]) -> Verdict:
    """Every number is `bound` or more."""
    return _bounded(numbers, f"at least {text.plain(bound)}", lambda value: value >= bound)


def at_most(bound: float, numbers: Iterable[Measured]) -> Verdict:
    """Every number is `bound` or less."""
    return _bounded(numbers, f"at most {text.plain(bound)}", lambda value: value <= bound)


def between(low: float, high: float, numbers: Iterable[Measured]) -> Verdict:
    """Every number lies between the two."""
    return _bounded(numbers, f"from {text.plain(low)} to {text.plain(high)}", lambda value: low <= value <= high)


def _bounded(numbers: Iterable[Measured], bound: str, fits: Callable[[float], bool]) -> Verdict:
    numbers = tuple(numbers)
    off = [each for each in numbers if not fits(each.value)]
    names = ", ".join(each.name for each in numbers) if len(numbers) <= 3 else "each"
    reason = "; ".join(text.named(each) for each in off or numbers)
    return Verdict(not off, f"{names} {bound}", numbers, reason)


def agree_within(share: float, numbers: Iterable[Measured], name: str = "greatest difference") -> Verdict:
    """The numbers lie within a share of the greatest of them."""
    numbers = tuple(numbers)
    values = [each.value for each in numbers]
    difference = number(name, (max(values) - min(values)) / max(values), "percent", scale=100)
    reason = f"they differ by {text.value(difference)}"
    return Verdict(difference.value < share * 100, f"within {share:.0%} of each other", (difference, *numbers), reason)


def ordered(numbers: Iterable[Measured], by: float = MORE) -> Verdict:
    """Each number is at least `by` times the next one."""
    numbers = tuple(numbers)
    holds = all(one.value > by * other.value for one, other in pairwise(numbers))
    margin = f"at least {by:g} times" if by != 1 else "more than"
    reason = "in this order they are " + ", ".join(text.value(each) for each in numbers)
    return Verdict(holds, f"each {margin} the next: {', '.join(each.name for each in numbers)}", numbers, reason)


def ratio(name: str, one: Measured, other: Measured, *, above: float = -np.inf, below: float = np.inf) -> Verdict:
    """`one` over `other` lies above and below these bounds; all three numbers are measured."""
    found = number(name, one.value / other.value if other.value else np.copysign(np.inf, one.value))
    bounds = [f"{word} {bound:g}" for word, bound in (("above", above), ("below", below)) if np.isfinite(bound)]
    reason = f"{name} is {text.number(found.value)} ({text.named(one)}; {text.named(other)})"
    holds = bool(above < found.value and (found.value < below or not np.isfinite(below)))
    return Verdict(holds, f"{name} {' and '.join(bounds)}", (found, one, other), reason)


def rises(
    name: str, curve: Curve, unit: str = "", *, rank: float = 0.7, scale: float = 1.0, show: Iterable[float] = ()
) -> Verdict:
    """The curve rises: Spearman's rank correlation of its medians with the label that is varied is above `rank`, and it
    ends higher than it begins.

    Measured are the curve's ends, its values at `show`, and the correlation.
    """
    return _trend(name, curve, unit, rank, scale, show, +1)


def falls(
    name: str, curve: Curve, unit: str = "", *, rank: float = 0.7, scale: float = 1.0, show: Iterable[float] = ()
) -> Verdict:
    """The curve falls: its rank correlation is below `-rank`, and it ends lower than it begins."""
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


def proportional(
    name: str, curve: Curve, unit: str = "", *, power: float = -1.0, share: float = SHARE, scale: float = 1.0
) -> Verdict:
    """The curve goes with the label that is varied to this power: -1 is "inversely proportional".

    Every median is within `share` of one constant times the label to the power; a trend in the right direction is not
    enough. The constant is the geometric mean.
    """
    scaled = curve.median * curve.x ** (-power)
    off = np.abs(scaled / np.exp(np.mean(np.log(scaled))) - 1)
    worst = number(f"{name}: largest distance from proportional", float(np.max(off)), "percent", scale=100)
    ends = tuple(number(f"{name} at {x:.0f}", y, unit, scale=scale) for x, y in zip(curve.x, curve.median, strict=True))
    kind = "inversely proportional" if power == -1 else f"proportional to the power {power:g}"
    reason = f"{name} is up to {text.value(worst)} from {kind}: {text.listed(ends)}"
    return Verdict(bool(worst.value <= 100 * share), f"{name} {kind} within {share:.0%}", (worst, *ends), reason)


def all_of(*verdicts: Verdict) -> Verdict:
    """Holds where all do; says what keeps the others from holding."""
    failing = [each for each in verdicts if not each.holds]
    return Verdict(
        not failing,
        "; ".join(dict.fromkeys(each.criterion for each in verdicts if each.criterion)),
        tuple({(one.name, one.value): one for each in verdicts for one in each.measured}.values()),
        "; ".join(dict.fromkeys(each.reason for each in failing or verdicts if each.reason)),
        tuple(dict.fromkeys(note for each in verdicts for note in each.notes)),
    )
