"""Runs a case on lines with a narrow reverse path, idle or loaded, with all or fewer ACKs.

The sources of the suites define no such lines, so this project defines them. The bottleneck's rate is 10, 25 or 50
times the reverse rate. The reverse direction has a FIFO of 200 ms (at least 10 full packets) and, if loaded, one CUBIC
upload. `thinned` keeps 25 % of the ACKs (`ack_thinning`). `filter` filters ACKs as CAKE does (`ack_filter`, rule
`conservative`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.settings import dotted_key
from lopsided.studies.aqm.disciplines import Direction

Remedy = Literal["", "thinned", "filter"]

RATIOS = (10, 25, 50)
REMEDIES: tuple[Remedy, ...] = ("", "thinned", "filter")
LOAD = "reverse-load"
"""Name of the flow that loads the reverse path."""
_WAIT_S = 0.2
_LEAST_BYTES = 15_000

FORWARD = "as in the source"


@dataclass(frozen=True)
class Line:
    """A reverse path: the ratio of the forward rate to the reverse rate, whether the reverse link also carries data,
    and the remedy for ACKs."""

    ratio: int
    loaded: bool
    remedy: Remedy = ""

    @property
    def name(self) -> str:
        """The line's name, such as `25:1 loaded, filter`."""
        said = f"{self.ratio}:1 {'loaded' if self.loaded else 'idle'}"
        return f"{said}, {self.remedy}" if self.remedy else said


LINES = tuple(Line(ratio, loaded, remedy) for ratio in RATIOS for loaded in (False, True) for remedy in REMEDIES)


def lines(chosen: str | None) -> tuple[Line, ...]:
    """Returns the reverse paths whose names contain every word, such as `"25:1 loaded"`.

    An empty text selects all reverse paths. The word `plain` selects the reverse paths that keep all ACKs. Raises
    UsageError if no reverse path matches.
    """
    words = (chosen or "").replace(",", " ").split()
    found = tuple(line for line in LINES if all(_fits(line, word) for word in words))
    if not found:
        raise UsageError(f"no reverse path is called {chosen!r}: there are {'; '.join(line.name for line in LINES)}")
    return found


def _fits(line: Line, word: str) -> bool:
    return not line.remedy if word == "plain" else word in line.name.replace(",", " ").split()


def on_line(scenario: Scenario, link: str, way: Direction, line: Line) -> Scenario:
    """Returns the scenario with the narrow reverse path `line` at the bottleneck `link`, for data in direction `way`.

    Raises UsageError if the link has no rate, or if no flow crosses the link.
    """
    back: Direction = "up" if way == "down" else "down"
    rates = next(each for each in scenario.resolved["links"] if each["name"] == link)
    direction = cast("Mapping[str, Any]", rates[way])
    access: Mapping[str, Any] = direction["access"] or {}
    # If the rate varies, use its highest value.
    rate = max(float(each["rate_bps"] or 0) for each in [direction, *access.get("steps", [])])
    if not rate:
        raise UsageError(f"link {link!r} of {scenario.name} has no rate {way}, so its reverse path cannot be narrower")
    narrow = rate / line.ratio
    queue: Mapping[str, Any] = {"kind": "fifo", "limit": f"{max(_LEAST_BYTES, round(narrow * _WAIT_S / 8))} B"}
    key = dotted_key("topology", "link", link, back)
    settings: dict[str, Any] = {f"{key}.rate": f"{narrow:.0f} bit/s", f"{key}.queue": queue}
    if line.remedy == "filter":
        settings[f"{key}.queue"] = {"kind": "ack_filter", "rule": "conservative", "queue": queue}
    elif line.remedy == "thinned":
        settings[f"{key}.stages"] = [{"kind": "ack_thinning", "keep": 4}]
    tables = scenario.to_tables()
    if line.loaded:
        tables["flow"].append(_load(scenario, link, way))
    return Scenario.build(tables, scenario.name, controllers=scenario.controllers).with_(**settings)


def _load(scenario: Scenario, link: str, way: str) -> dict[str, Any]:
    """Returns a flow that loads the reverse path: it sends data from the receiver to the sender of the first flow
    through the bottleneck."""
    for flow in scenario.resolved["flows"]:
        if (link, way) in scenario.paths[flow["name"]]:
            return {"name": LOAD, "from": flow["to"], "to": flow["from"], "stack": {"cc": "cubic"}}
    raise UsageError(f"no flow of {scenario.name} crosses {link} {way}: there is no reverse path")
