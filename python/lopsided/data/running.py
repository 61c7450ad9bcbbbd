"""A run that advances step by step."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from lopsided import _native
from lopsided.data.catalogue import run_tables
from lopsided.data.columns import Columns
from lopsided.data.table import Table
from lopsided.errors import UsageError

RunT = TypeVar("RunT")
"""The type of the finished run: `Run`. A higher layer defines `Run`, so this module cannot import the class."""


class Running(Generic[RunT]):
    """A simulated run in progress. `Scenario.start` returns it.

    The steps do not change the results: `finish` returns the same run and digest as `Scenario.run`. After an error the
    run cannot continue. All methods must be called in the thread that started the run.

    Examples
    --------
    >>> running = Scenario.load("adsl.toml").start()
    >>> while not running.advance(running.now_s + 10):
    ...     print(running.now_s, running.queues["backlog_bytes"].max())
    >>> running.finish().flows
    """

    def __init__(self, scenario: _native.Scenario, seed: int, finished: Callable[[dict[str, Any]], RunT]) -> None:
        self._steps = _native.Steps(scenario, seed)
        self._thread = threading.get_ident()
        self._finished = finished
        self.seed = seed
        self.name = scenario.name
        self.duration_s = scenario.duration_s
        self.now_s = 0.0
        """Virtual time of the run in seconds."""

    def __repr__(self) -> str:
        return f"<run of {self.name} at {self.now_s:g} of {self.duration_s:g} s>"

    def advance(self, until_s: float) -> bool:
        """Advances the run to the given virtual time.

        Parameters
        ----------
        until_s
            The virtual time at which to stop, in seconds from the start of the run.

        Returns
        -------
        bool
            True if the run has reached its end.

        Raises
        ------
        UsageError
            If the time is not a number or is in the past, if the run is over, or if another thread calls the method.
        RunError
            If the run fails.
        """
        try:
            until_s = float(until_s)
        except (TypeError, ValueError):
            raise UsageError(f"advance takes a virtual time in seconds, such as 5, not {until_s!r}") from None
        if math.isnan(until_s) or until_s < self.now_s:
            raise UsageError(f"the run has reached {self.now_s:g} s and cannot go back to {until_s:g} s")
        steps = self._own_steps()
        ended = steps.advance(until_s)
        self.now_s = steps.now_s
        return ended

    @property
    def samples(self) -> Table:
        """The state of each sender at each sampling time so far; see `Run.samples`."""
        return self._table("samples")

    @property
    def queues(self) -> Table:
        """The state of each queue at each sampling time so far; see `Run.queues`."""
        return self._table("queues")

    def finish(self) -> RunT:
        """Runs to the end and returns the run with all its tables.

        Raises
        ------
        RunError
            If the run fails.
        """
        raw = self._own_steps().finish()
        self.now_s = self.duration_s
        return self._finished(raw)

    def _table(self, name: str) -> Table:
        return Table(Columns(self._own_steps().recorded()[name]), run_tables()[name])

    def _own_steps(self) -> _native.Steps:
        """Returns the native run. Raises UsageError in all threads except the one that started the run."""
        if threading.get_ident() != self._thread:
            raise UsageError("only the thread that started a run can advance it: start another run in this thread")
        return self._steps
