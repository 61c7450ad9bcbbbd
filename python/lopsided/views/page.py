"""Builds the interactive page as one HTML file that contains a scenario, its plots, and the simulator.

`make page` builds the files of the bundle from `web/`, and wheels contain these files. This module runs the scenario
once and stores the plots in the page. The page shows the stored plots until its simulator has started.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.errors import ScenarioError, UsageError
from lopsided.queues import used_by

if TYPE_CHECKING:
    from lopsided.scenario import Run, Scenario

BUNDLE = Path(__file__).parent / "bundle"
"""The files that `make page` builds."""
_COLUMNS = 480
"""Width in pixels of the plots that the page shows until its simulator has started."""
_PACKETS = 3000
"""Approximate maximum number of packets that the page shows until its simulator has started."""
_FULL_PACKET_BITS = 12_000

EXAMPLE = Path(__file__).parent / "example.txt"
"""The scenario that the page shows by default."""


def page(scenario: Scenario | None = None, *, folders: Sequence[Mapping[str, str]] = ()) -> str:
    """Returns the page as HTML. `folders` are the runs that `lopsided ui` lists.

    Raises UsageError if the scenario runs Python code, or if the page is not built.
    """
    baked = bake(scenario)
    if folders:
        baked["folders"] = list(folders)
    return _page().replace(">BAKED<", f">{embedded(baked)}<", 1)


def bake(scenario: Scenario | None) -> dict[str, Any]:
    """Returns the data that a page or widget contains: the scenario's text and settings, and the plots of one run."""
    text, settings = (EXAMPLE.read_text(encoding="utf-8"), []) if scenario is None else _source(scenario)
    description = json.loads(_native.page_description(text, settings))
    line = description["line"]
    rates = [line[way]["rate_bps"] or 1e9 for way in ("down", "up")] if line else [1e9]
    span = min(20.0, _PACKETS / (sum(rates) / _FULL_PACKET_BITS * 1.5))
    at = description["duration_s"] / 2
    picture = _native.page_picture(text, settings, _COLUMNS, (max(0.0, at - 0.15 * span), at + 0.85 * span))
    return {
        "text": text,
        "settings": dict(settings),
        "version": _native.__version__,
        "description": description,
        "picture": base64.b64encode(gzip.compress(picture, 9, mtime=0)).decode(),
        "at": at,
    }


def can_run(run: Run) -> bool:
    """Returns true if the page can run the scenario, which must not use congestion controls or queues in Python."""
    try:
        text, settings = _source(run.scenario)
        _native.page_description(text, settings)
    except (UsageError, ScenarioError):
        return False
    return not used_by(run.scenario.resolved)


def of_run(run: Run) -> str:
    """Returns the page with the run's scenario and seed."""
    return page(run.scenario.with_(**{"scenario.seed": run.seed}))


def explore(run: Run) -> Any:
    """Returns the page as a notebook widget with the run's scenario.

    Raises UsageError if the package anywidget is not installed.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise UsageError("run.explore() needs the package anywidget: pip install anywidget") from None

    class Laboratory(anywidget.AnyWidget):
        _esm = bundled("widget.js")
        baked = traitlets.Dict().tag(sync=True)

    return Laboratory(baked=bake(run.scenario.with_(**{"scenario.seed": run.seed})))


def embedded(value: object) -> str:
    """Returns the value as JSON, escaped for a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def bundled(name: str) -> str:
    """Reads a file of the bundle. Raises UsageError if the bundle is not built."""
    try:
        return (BUNDLE / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(
            "this installation has no page: build it with `make page` in the source (Node 18 and rustup's target "
            "wasm32-wasip1), or install a wheel"
        ) from None


def is_built() -> bool:
    return (BUNDLE / "page.html").is_file()


@cache
def _page() -> str:
    return bundled("page.html")


def _source(scenario: Scenario) -> tuple[str, list[tuple[str, str]]]:
    if scenario.controllers:
        names = ", ".join(scenario.controllers)
        raise UsageError(f"the page runs no Python, so it cannot use your own congestion control {names}")
    return scenario.native.source()
