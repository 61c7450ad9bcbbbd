"""Formats the numbers of a reproduction for the console, the page and the reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lopsided.papers.framework.coverage import number_of
from lopsided.papers.framework.published import UNWRITTEN_UNITS

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Comparison, Measured
    from lopsided.papers.framework.published import PublishedValue
    from lopsided.papers.framework.reproduction import KeyOutcome

_CAPITALS = {"rtt": "RTT", "rtts": "RTTs", "cwnd": "window"}
"""Words of metrics, as they are printed."""


def number(value: float, significant: int = 3) -> str:
    """Formats a number with `significant` digits. Digits before the decimal point are never rounded. NaN becomes an en
    dash."""
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = max(0, significant - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, significant + 1)}f}"


def signed(value: float) -> str:
    """Formats a correlation coefficient with a sign and two decimals."""
    return f"{value:+.2f}" if math.isfinite(value) else "–"


def plain(value: float) -> str:
    """Formats a bound without trailing zeros."""
    return f"{value:g}"


def share(value: float) -> str:
    """Formats a fraction as a percentage without trailing zeros."""
    return f"{100 * value:g} %"


def unit_of(unit: str) -> str:
    """Returns the unit as it is printed, with a space before it. Fractions, ratios and counts have no unit."""
    return "" if unit in UNWRITTEN_UNITS else f" {'%' if unit == 'percent' else unit}"


def with_unit(value: float, unit: str) -> str:
    """Formats a number and its unit.

    A whole number without a unit is a count and is shown without decimals.
    """
    if unit in ("", "count") and float(value).is_integer():
        return f"{value:,.0f}"
    return number(value) + (unit_of(unit) if math.isfinite(value) else "")


def value(measured: Measured) -> str:
    return with_unit(measured.value, measured.unit)


def named(measured: Measured) -> str:
    """Formats name, number and unit."""
    return f"{measured.name} {value(measured)}"


def listed(numbers: Iterable[Measured]) -> str:
    """Formats several numbers with names and units."""
    return ", ".join(named(each) for each in numbers)


def names(numbers: Sequence[Measured]) -> str:
    """Formats the names of several numbers: "a, b and c"."""
    found = [each.name for each in numbers]
    return " and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def measured(one: Measured) -> str:
    """Formats one measured value of a verdict, followed by the published value if there is one."""
    text = f"{one.name}: {value(one)}"
    return f"{text} (printed {one.published})" if one.published else text


def spread(low: float, high: float) -> str:
    """Formats the range over the repetitions. Returns an empty string if both ends are equal after rounding."""
    if not (math.isfinite(low) and math.isfinite(high)) or number(low) == number(high):
        return ""
    return f"{number(low)} to {number(high)}"


def condition(comparison: Comparison) -> str:
    return printed_as(comparison.published)


def printed_as(published: PublishedValue) -> str:
    """Names a published value by its metric and conditions."""
    conditions = ", ".join(_condition(name, value) for name, value in published.conditions.items())
    metric = " ".join(_CAPITALS.get(word, word) for word in published.metric.split("_"))
    return f"{metric} ({conditions})" if conditions else metric


def _condition(name: str, value: str) -> str:
    return value if name in ("link", "item", "test", "flow", "variant", "case") else f"{name.replace('_', ' ')} {value}"


def comparison_measured(comparison: Comparison) -> str:
    """Formats the measured value in the published unit, with at least the published decimals."""
    printed = comparison.published.value.partition(".")[2]
    value = comparison.measured
    if not math.isfinite(value) or len(number(value).partition(".")[2]) >= len(printed):
        return with_unit(value, comparison.published.unit)
    return f"{value:.{len(printed)}f}{unit_of(comparison.published.unit)}"


def ratio_to_print(published: PublishedValue, measured: float) -> str:
    """Formats the measured value divided by the published value. Returns `kept` or `not kept` for a published bound."""
    printed = number_of(published)
    if not math.isfinite(printed) or not math.isfinite(measured):
        return ""
    kept = {"lt": measured < printed, "le": measured <= printed, "gt": measured > printed, "ge": measured >= printed}
    if published.qualifier in kept:
        return "kept" if kept[published.qualifier] else "not kept"
    return number(measured / printed) if printed else ""


def leaves_spread(value: float, outcome: KeyOutcome) -> bool:
    """Returns true if `value` is above the maximum or below the minimum of a key result over all seeds. Differences of
    up to 1 % of the key result are ignored."""
    if math.isfinite(value) != math.isfinite(outcome.value):
        return True
    margin = abs(outcome.value) * 0.01
    return value < outcome.low - margin or value > outcome.high + margin
