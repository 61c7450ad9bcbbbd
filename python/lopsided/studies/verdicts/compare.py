"""What a comparison of worlds or runs says: whether they agree within their tolerances, and where they are furthest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.studies.compare import TOLERANCES
from lopsided.studies.starts import varies

if TYPE_CHECKING:
    from lopsided.studies.compare import Comparison

_WORDS = {"goodput_bps": "goodput", "rtt_mean_ms": "mean round trip"}


def verdict(found: Comparison) -> list[str]:
    """The sentences."""
    said: list[str] = []
    for world in found.worlds[:-1]:
        said.extend(_of(found, world))
    return [*(said or ["Nothing was measured in both."]), *varies(found.start_jitter_s)]


def _of(found: Comparison, world: str) -> Iterator[str]:
    reference = found.reference
    held = [row for row in found.rows if row.tolerance is not None and not math.isnan(row.error(world, reference))]
    if not held:
        return
    beyond = [row for row in held if row.exceeds(world, reference)]
    worst = max(beyond or held, key=lambda row: abs(row.error(world, reference)) / (row.tolerance or 1.0))
    furthest = (
        f"the furthest off is the {_WORDS.get(worst.quantity, worst.column.heading)} of {worst.what}, by "
        f"{units.change(worst.error(world, reference))} (tolerance {100 * (worst.tolerance or 0.0):g} %)"
    )
    if beyond:
        verb = "is beyond its" if len(beyond) == 1 else "are beyond their"
        many = f"{len(beyond)} of {len(held)} quantities {verb} tolerance"
        yield f"{world} differs from {reference}: {many}; {furthest}."
    else:
        yield f"{world} agrees with {reference} in all {len(held)} quantities that have a tolerance; {furthest}."
    for quantity in TOLERANCES:
        errors = [row.error(world, reference) for row in held if row.quantity == quantity]
        if len(errors) > 1:
            least, most = min(errors), max(errors)
            off = dict.fromkeys(units.change(each) for each in (least, most))
            yield f"{_WORDS[quantity].capitalize()} is off by {' to '.join(off)}."
