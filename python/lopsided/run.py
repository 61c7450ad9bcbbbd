"""`Run`: what a world gives back, whichever world it was."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lopsided import _native, queues
from lopsided.accessors import filled_in
from lopsided.data import run_folder as folders
from lopsided.data.catalogue import run_tables
from lopsided.data.table import Table
from lopsided.errors import FolderError
from lopsided.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from lopsided.data.fairness import Fairness


class Run:
    """The result of one run of a scenario: its tables, its digest and what is needed to repeat it.

    `digest` is a hash of everything that happened: the same scenario and seed give the same digest on every machine.
    `facts` holds what a world wants to say beside its tables (events processed, kernel release, ...).
    """

    def __init__(
        self,
        *,
        scenario: Scenario,
        seed: int,
        tables: Mapping[str, pl.DataFrame],
        digest: str,
        world: str = "sim",
        facts: Mapping[str, Any] | None = None,
        made: str | None = None,
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.digest = digest
        self.world = world
        self.facts = dict(facts or {})
        self.made = made or datetime.now(UTC).isoformat(timespec="seconds")
        self.folder: Path | None = None
        self._fairness: Fairness | None = None
        self._frames = tables
        self._tables: dict[str, Table] = {}

    @property
    def flows(self) -> Table:
        """One row per flow: goodput, retransmissions, RTT, windows over its life."""
        return self._table("flows")

    @property
    def samples(self) -> Table:
        """The state of every flow on the scenario's recording interval."""
        return self._table("samples")

    @property
    def queues(self) -> Table:
        """The queue of every link direction on the recording interval."""
        return self._table("queues")

    @property
    def links(self) -> Table:
        """One row per link direction: utilization, backlog, losses, marks, sojourn times."""
        return self._table("links")

    @property
    def drops(self) -> Table:
        """What was lost where and why: one row for each place and reason that occurred."""
        return self._table("drops")

    @property
    def marks(self) -> Table:
        """What was marked (ECN) where and why: one row for each place and reason that occurred."""
        return self._table("marks")

    @property
    def transfers(self) -> Table:
        """One row per completed transfer of the flows that make them."""
        return self._table("transfers")

    @property
    def fetches(self) -> Table:
        """Each step of the controllers of fetches over several connections, where the scenario asks for it."""
        return self._table("fetches")

    @property
    def parts(self) -> Table:
        """What stages, media, and classes and inner quantities of queues counted and measured."""
        return self._table("parts")

    @property
    def events(self) -> Table:
        """Every packet at every node, where the scenario asks for it (`[record] events = true`); otherwise empty."""
        return self._table("events")

    @property
    def tcp_events(self) -> Table:
        """What happened inside TCP, where the scenario asks for it (`[record] tcp_events = true`); otherwise empty."""
        return self._table("tcp_events")

    @property
    def traces(self) -> Table:
        """What a capture at each sending host would say, where the scenario asks for it (`[record] traces = true`)."""
        return self._table("traces")

    @property
    def samples_of(self) -> Mapping[str, pl.DataFrame]:
        """The samples of each flow, by its name."""
        return self._samples_by_name

    @cached_property
    def _samples_by_name(self) -> dict[str, pl.DataFrame]:
        names = dict(zip(self.flows["flow"], self.flows["name"], strict=True))
        parts = self.samples.to_polars().partition_by("flow", as_dict=True) if len(self.samples) else {}
        return {names[flow]: rows for (flow,), rows in parts.items()}

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            spec = run_tables()[name]
            self._tables[name] = Table(self._frames[name] if name in self._frames else spec.frame(), spec)
        return self._tables[name]

    def plot(self, kind: str = "goodput", **options: Any) -> Figure:
        """A matplotlib figure of `kind`: see `lopsided.views.plot.KINDS` for the kinds and their options."""
        return filled_in("Run.plot")(self, kind, **options)

    def fairness(
        self,
        *,
        warmup_s: float | None = None,
        within: float | None = None,
        hold_s: float | None = None,
        harm: bool | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> Fairness:
        """Who took what from whom: see `lopsided.studies.fairness.of_run`. Harm runs each group of flows alone.

        What is not given is as the scenario's `[fairness]` says, or its default.
        """
        of_run = filled_in("Run.fairness")
        changes = {"warmup_s": warmup_s, "within": within, "hold_s": hold_s, "harm": harm}
        if any(value is not None for value in changes.values()):
            return of_run(self, warmup_s=warmup_s, within=within, hold_s=hold_s, harm=harm, progress=progress)
        if self._fairness is None:
            found: Fairness = of_run(self, progress=progress)
            self._fairness = found
        return self._fairness

    def report(self) -> str:
        """The report as one self-contained HTML page."""

        return filled_in("Run.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes the run folder (`lopsided.data.run_folder` says what is in it) and returns its path."""
        self.folder = Path(folder)
        with folders.writing(self.folder, overwrite=overwrite) as staged:
            self.write(staged, report=report)
        return self.folder

    def write(self, folder: Path, *, report: bool = True) -> None:
        """Writes into a folder that `lopsided.data.run_folder.writing` gave."""
        (folder / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        for name in run_tables():
            self._table(name).to_polars().write_parquet(folder / f"{name}.parquet")
        if self.scenario.asks_for_fairness:
            self.fairness().groups.write(folder / "fairness.parquet")
        if report:
            (folder / "report.html").write_text(self.report(), encoding="utf-8")
        folders.write_manifest(folder, self.manifest())

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Reads a run folder back."""
        import polars as pl

        folder = Path(folder)
        manifest = folders.read_manifest(folder)
        try:
            tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in run_tables()}
        except (OSError, pl.exceptions.PolarsError) as error:
            raise FolderError(f"{folder} is damaged: {error}") from error
        # A folder holds no code: controllers of one's own are known by their names.
        controllers = dict.fromkeys(manifest["facts"].get("controllers", ()))
        queues.remember(manifest["facts"].get("disciplines", {}))
        run = cls(
            scenario=Scenario.load(folder / "scenario.toml", controllers),
            seed=manifest["seed"],
            tables=tables,
            digest=manifest["digest"],
            world=manifest["world"],
            facts=manifest["facts"],
            made=manifest["made"],
        )
        run.folder = folder
        return run

    def manifest(self) -> dict[str, Any]:
        """What identifies this run."""
        return {
            "lopsided": _native.__version__,
            "name": self.scenario.name,
            "world": self.world,
            "seed": self.seed,
            "digest": self.digest,
            "made": self.made,
            "platform": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
            "facts": self.facts,
            **({"fairness": self.fairness().summary()} if self.scenario.asks_for_fairness else {}),
        }

    def __repr__(self) -> str:
        return f"Run({self.scenario.name!r}, {self.world}, seed {self.seed}, digest {self.digest})"

    def _repr_html_(self) -> str:

        return filled_in("Run.notebook")(self)
