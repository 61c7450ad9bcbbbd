"""lopsided: a laboratory for TCP over asymmetric links.

    import lopsided as lop

    run = lop.Scenario.load("adsl.toml").with_(**{"link.up.queue.limit": "15 packets"}).run()
    run.flows                # one row per flow; readable by any dataframe library
    run.plot("goodput")      # a matplotlib figure
    lop.sweep(run.scenario, {"link.up.queue.limit": "5..50:5 packets"})

Each name is imported when it is first used, so `import lopsided` is fast.
"""

from __future__ import annotations

import importlib

from lopsided.accessors import fill_in

TYPE_CHECKING = False  # The same as `typing.TYPE_CHECKING`. Importing `typing` takes longer than this module.
if TYPE_CHECKING:
    from typing import Any

    from lopsided._native import (
        Acked,
        Controller,
        Idle,
        Lost,
        PacketView,
        PathState,
        QueueDiscipline,
        QueueSetup,
        Setup,
        Signal,
        Window,
        WindowAlgorithm,
        __version__,
    )
    from lopsided.data.table import Table
    from lopsided.data.traces import trace
    from lopsided.errors import (
        ControllerError,
        FolderError,
        LopsidedError,
        QueueError,
        RunError,
        ScenarioError,
        UsageError,
    )
    from lopsided.queues import queue_discipline
    from lopsided.scenario import Run, Scenario
    from lopsided.studies.ackpath import ackpath
    from lopsided.studies.analyze import Capture, analyze
    from lopsided.studies.aqm import aqm
    from lopsided.studies.fairness import matrix as fairness_matrix
    from lopsided.studies.fit import Fit, fit
    from lopsided.studies.search import search
    from lopsided.studies.sizing import size
    from lopsided.studies.suite.study import suite
    from lopsided.studies.sweep import sweep

__all__ = [
    "Acked",
    "Capture",
    "Controller",
    "ControllerError",
    "Fit",
    "FolderError",
    "Idle",
    "LopsidedError",
    "Lost",
    "PacketView",
    "PathState",
    "QueueDiscipline",
    "QueueError",
    "QueueSetup",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Setup",
    "Signal",
    "Table",
    "UsageError",
    "Window",
    "WindowAlgorithm",
    "__version__",
    "ackpath",
    "analyze",
    "aqm",
    "fairness_matrix",
    "fit",
    "queue_discipline",
    "search",
    "size",
    "suite",
    "sweep",
    "trace",
]

_HOMES = {
    **dict.fromkeys(("__version__", "Controller", "Acked", "Lost", "PacketView", "PathState"), "lopsided._native"),
    **dict.fromkeys(("Idle", "QueueSetup", "Setup", "Signal", "Window", "QueueDiscipline"), "lopsided._native"),
    "WindowAlgorithm": "lopsided._native",
    **dict.fromkeys(("ControllerError", "FolderError", "LopsidedError", "QueueError"), "lopsided.errors"),
    **dict.fromkeys(("RunError", "ScenarioError", "UsageError"), "lopsided.errors"),
    "Run": "lopsided.scenario",
    "Scenario": "lopsided.scenario",
    "Table": "lopsided.data.table",
    "Capture": "lopsided.studies.analyze",
    "analyze": "lopsided.studies.analyze",
    "Fit": "lopsided.studies.fit",
    "fit": "lopsided.studies.fit",
    "ackpath": "lopsided.studies.ackpath",
    "aqm": "lopsided.studies.aqm",
    "fairness_matrix": "lopsided.studies.fairness:matrix",
    "queue_discipline": "lopsided.queues",
    "search": "lopsided.studies.search",
    "size": "lopsided.studies.sizing",
    "suite": "lopsided.studies.suite.study:suite",
    "sweep": "lopsided.studies.sweep",
    "trace": "lopsided.data.traces",
}


fill_in(
    {
        "Scenario.run": "lopsided.worlds:run_scenario",
        "Scenario.finished": "lopsided.worlds.sim:to_run",
        "Table.view": "lopsided.data.view:view",
        "View.grid": "lopsided.views.grid:Grid",
        "Run.plot": "lopsided.views.plot:plot",
        "Run.report": "lopsided.views.html:render",
        "Run.notebook": "lopsided.views.html:notebook",
        "Run.explore": "lopsided.views.page:explore",
        "Run.fairness": "lopsided.studies.fairness:of_run",
        "Comparison.plot": "lopsided.views.plot.compared:figure",
        "Packets.figure": "lopsided.views.plot.packets:figure",
        "Study.report": "lopsided.views.study:render",
        "Study.notebook": "lopsided.views.study:notebook",
        "Study.save": "lopsided.views.study:save",
        "Search.plot": "lopsided.views.plot.search:draw",
        "Sweep.plot": "lopsided.views.plot.sweep_curves:draw",
        "Sizing.plot": "lopsided.views.plot.buffer_sizes:draw",
        "Aqm.plot": "lopsided.views.plot.disciplines:draw",
        "Capture.plot": "lopsided.views.plot.time_sequence:figure",
        "Fit.plot": "lopsided.views.plot.measured_fitted:draw",
        "AckPath.plot": "lopsided.views.plot.remedies:draw",
        "Matrix.plot": "lopsided.views.plot.heat_maps:draw",
    }
)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, other_name = home.partition(":")
    value = getattr(importlib.import_module(module), other_name or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
