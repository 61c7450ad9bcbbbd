"""Defines `Scenario`, an experiment with all defaults filled in, and `Run`, its result. The classes use each other."""

from __future__ import annotations

import json
import platform
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from lopsided import _native, queues
from lopsided.accessors import filled_in
from lopsided.controllers import checked
from lopsided.data import captures, examples
from lopsided.data import run_folder as folders
from lopsided.data.catalogue import run_tables
from lopsided.data.run_tables import RunTables
from lopsided.data.running import Running
from lopsided.data.suggestions import meant
from lopsided.errors import FolderError, ScenarioError, UsageError
from lopsided.run_options import MOST_THREADS, PcapPoint, RunOptions
from lopsided.settings import Tables, overrides, scenario_text

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from lopsided.controllers import ControllerFactory, Controllers
    from lopsided.data.fairness import Fairness
    from lopsided.data.scenario_types import Resolved

Source: TypeAlias = tuple[str, str, list[tuple[str, str]]]
"""The text of a scenario, its file name, and the settings to change in it."""

_LARGEST_FILE = 4 * 1024 * 1024


class Scenario:
    """One experiment: network, flows, duration, and recording. Scenarios are immutable."""

    def __init__(self, native: _native.Scenario, source: Source | None = None) -> None:
        self.native = native
        self._source = source

    @classmethod
    def load(cls, path: str | Path, controllers: Controllers | None = None, /, **settings: Any) -> Scenario:
        """Reads a scenario file.

        Parameters
        ----------
        path
            The file.
        controllers
            User-defined congestion controls: the names that `cc` may use, and classes derived from `Controller` or
            `WindowAlgorithm`.
        **settings
            Settings to change, as in `with_`.

        Raises
        ------
        ScenarioError
            If the file cannot be read or has faults; the error lists all of them.
        """
        path = Path(path)
        source = (_read(path), str(path), overrides(settings))
        return cls(_native.Scenario.parse(*source, checked(controllers)), source)

    @classmethod
    def from_text(cls, text: str, name: str = "scenario", *, controllers: Controllers | None = None) -> Scenario:
        """Reads a scenario from TOML text. `name` replaces the file name, for example in errors."""
        return cls(_native.Scenario.parse(text, name, [], checked(controllers)), (text, name, []))

    @classmethod
    def build(cls, tables: Tables, name: str = "scenario", *, controllers: Controllers | None = None) -> Scenario:
        """Builds a scenario from dictionaries with the keys of a scenario file.

        Parameters
        ----------
        tables
            One dictionary per table, and one list per repeatable table. Values are written as in a file, for example as
            text with a unit. A key with the value `None` is omitted.
        name
            The name of the scenario, for example in errors.
        controllers
            User-defined congestion controls. The keys are the names that `cc` may use.

        Raises
        ------
        ScenarioError
            If the scenario has faults; the error lists all of them.
        UsageError
            If a value cannot be written as TOML.

        Examples
        --------
        >>> line = {"rtt": "20 ms", "down": {"rate": "16 Mbit/s"}, "up": {"rate": "1 Mbit/s"}}
        >>> flows = [{"name": "download", "direction": "down"}, {"name": "upload", "direction": "up"}]
        >>> Scenario.build({"scenario": {"duration": "10 s"}, "link": line, "flow": flows})
        Scenario('scenario', 10 s, 2 flows)
        """
        return cls.from_text(scenario_text(tables), name, controllers=controllers)

    @classmethod
    def from_source(cls, source: Source, controllers: Mapping[str, Any]) -> Scenario:
        """Rebuilds a scenario in another process from its `source`."""
        return cls(_native.Scenario.parse(*source, list(controllers.items())), source)

    @property
    def source(self) -> Source:
        """The text and settings from which another process can rebuild the scenario."""
        return self._source or (self.native.to_toml(), self.name, [])

    def with_(self, **settings: Any) -> Scenario:
        """Returns the scenario with changed settings: `with_(**{"link.up.queue.limit": "15 packets"})`.

        Raises ScenarioError if the result has faults, and UsageError if a value cannot be written as TOML.
        """
        if not settings:
            return self
        changes = overrides(settings)
        return Scenario(self.native.with_changes(changes), self._changed(changes))

    def _changed(self, changes: list[tuple[str, str]]) -> Source | None:
        if self._source is None:
            return None
        text, name, before = self._source
        return text, name, [*before, *changes]

    def with_controllers(self, controllers: Controllers) -> Scenario:
        """Returns the scenario with additional congestion controls. A new congestion control replaces an existing one
        of the same name."""
        return Scenario(self.native.with_changes([], checked(controllers)), self._source)

    def only(self, flows: Iterable[str]) -> Scenario:
        """Returns the scenario with only these flows. Their start times and data do not change.

        Raises UsageError if a flow is unknown, or if no flow is given.
        """
        wanted = list(flows)
        if unknown := [name for name in wanted if name not in self.flow_names]:
            raise UsageError(f"no flow called {unknown[0]!r}")
        if not wanted:
            raise UsageError("name at least one flow")
        return Scenario(self.native.only(wanted))

    def run(
        self,
        *,
        seed: int | None = None,
        world: str = "sim",
        kernel: str | None = None,
        ours: Iterable[str] = (),
        progress: Callable[[float], object] | None = None,
        pcap: str | Path | None = None,
        pcap_at: Iterable[PcapPoint] = ("hosts", "links"),
        cores: int = 1,
    ) -> Run:
        """Runs the scenario once.

        Parameters
        ----------
        seed
            The seed; default: the scenario's seed.
        world
            `sim`, `kernel` or `live`.
        kernel
            The kernel for the kernel world: `timetravel`, `uml` or `host`; default: the best one on this machine.
        ours
            Hosts that use the simulator's TCP in the live world. Other hosts use this machine's kernel.
        progress
            Called during the run with the completed fraction, 0 to 1.
        pcap
            The folder for captures; default: none are written.
        pcap_at
            `hosts` writes a capture for each host, and `links` a capture for each link. `merged` adds one file with the
            packets of all hosts.
        cores
            Maximum number of cores for a simulated run. It does not change the result. `Run.facts["cores"]` is the
            number of cores that were used.

        Raises
        ------
        UsageError
            If the number of cores is invalid, or if an option belongs to another world.
        RunError
            If the run fails.
        """
        if not 1 <= cores <= MOST_THREADS:
            raise UsageError(f"a run takes at least one core and at most {MOST_THREADS:,}, not {cores}")
        folder = None if pcap is None else Path(pcap)
        points: set[PcapPoint] = set(pcap_at)
        if "merged" in points:
            points.add("hosts")
        options = RunOptions(
            progress=progress,
            pcap=folder,
            pcap_at=frozenset(points),
            kernel=kernel,
            ours=frozenset(ours),
            cores=cores,
        )
        run = filled_in("Scenario.run")(self, self.seed if seed is None else checked_seed(seed), world, options)
        if folder is not None and "merged" in points:
            captures.merge(folder)
        return run

    def start(self, *, seed: int | None = None) -> Running[Run]:
        """Starts a simulated run that advances step by step.

        Parameters
        ----------
        seed
            The seed; default: the scenario's seed.

        Examples
        --------
        >>> running = scenario.start()
        >>> running.advance(5)  # seconds of virtual time
        False
        >>> running.samples.to_polars()
        >>> run = running.finish()
        """
        seed = self.seed if seed is None else checked_seed(seed)
        return Running(self.native, seed, partial(filled_in("Scenario.finished"), self))

    @property
    def name(self) -> str:
        """The scenario's name; by default, the name of its file without the extension."""
        return self.native.name

    @property
    def title(self) -> str | None:
        """The scenario's title; `None` if it has no title."""
        return self.native.title

    @property
    def heading(self) -> str:
        """The scenario's title, or its name if it has no title."""
        return self.title or self.name

    @property
    def duration_s(self) -> float:
        """The duration of a run in seconds."""
        return self.native.duration_s

    @property
    def seed(self) -> int:
        """The seed of the first repetition."""
        return self.native.seed

    @cached_property
    def resolved(self) -> Resolved:
        """The scenario as dictionaries and lists, with all defaults. If a number has a unit, its key ends in the unit
        (`rate_bps`, `delay_s`)."""
        return json.loads(self.native.to_json())

    @property
    def controllers(self) -> dict[str, ControllerFactory | None]:
        """User-defined congestion controls by name. In a scenario from a run folder, each value is `None`, because the
        folder does not contain their code."""
        return dict(self.native.controllers())

    @property
    def flow_names(self) -> list[str]:
        """The names of the flows, in the order of the scenario."""
        return [flow["name"] for flow in self.resolved["flows"]]

    @property
    def interval_s(self) -> float | None:
        """The sampling interval in seconds; `None` if nothing is sampled."""
        return self.resolved["record"]["interval_s"]

    @property
    def asks_for_fairness(self) -> bool:
        """True if the scenario has a `[fairness]` table, so that runs measure fairness."""
        return self.resolved["fairness"] is not None

    def link_rate_bps(self, direction: Literal["down", "up"] | str) -> float | None:
        """Returns the rate in bit/s of the slowest link in a direction; `None` if no link has a rate."""
        if direction != "down" and direction != "up":
            return None
        rates = [link[direction]["rate_bps"] for link in self.resolved["links"]]
        return min((rate for rate in rates if rate), default=None)

    @cached_property
    def paths(self) -> dict[str, list[tuple[str, str]]]:
        """Maps each flow's name to the path of its data: the name and direction of each link, in order."""
        return dict(zip(self.flow_names, self.native.paths(), strict=True))

    def queue_limit_packets(self, link: str, direction: Literal["down", "up"] | str) -> int | None:
        """Returns a queue's limit in packets; `None` if the limit has another unit."""
        found = next((entry for entry in self.resolved["links"] if entry["name"] == link), None)
        if found is None or (direction != "down" and direction != "up"):
            return None
        queue = found[direction]["queue"]
        # The limit of a user-defined discipline may be a plain number.
        limit = cast("Mapping[str, Any]", queue).get("limit")
        packets = cast("Mapping[str, Any]", limit).get("packets") if isinstance(limit, dict) else None
        return packets if isinstance(packets, int) else None

    def to_toml(self) -> str:
        """Returns the scenario as TOML with all defaults. Reading this text returns the same scenario."""
        return self.native.to_toml()

    def to_tables(self) -> dict[str, Any]:
        """Returns dictionaries from which `build` creates this scenario, with all defaults and all names."""
        return tomllib.loads(self.to_toml())

    def __repr__(self) -> str:
        flows = len(self.flow_names)
        return f"Scenario({self.name!r}, {self.duration_s:g} s, {flows} flow{'s' if flows != 1 else ''})"


class Run(RunTables):
    """The result of one run: tables, digest, and everything needed to repeat it.

    `digest` is a hash of all events in a simulated run: runs of the same scenario with the same seed have the same
    digest on every machine. `facts` contains further results, such as the number of events. Its entries depend on the
    world.
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
        super().__init__(tables)
        self.scenario = scenario
        self.seed = seed
        self.digest = digest
        self.world = world
        self.facts = dict(facts or {})
        self.made = made or datetime.now(UTC).isoformat(timespec="seconds")
        self.folder: Path | None = None
        self._fairness: Fairness | None = None

    def explore(self) -> Any:
        """Opens this run in the interactive page, as a widget in Jupyter, VS Code or marimo.

        Needs `pip install 'lopsided[page]'`.
        """
        return filled_in("Run.explore")(self)

    def plot(
        self,
        kind: str = "goodput",
        *,
        flows: Iterable[str] | None = None,
        links: Iterable[tuple[str, str]] | None = None,
        window_s: float | None = None,
        column: Literal["single", "double"] | None = None,
    ) -> Figure:
        """Draws a figure over time with matplotlib. Save it with `savefig("figure.pdf")`.

        Parameters
        ----------
        kind
            `goodput`, `cwnd`, `rtt`, `queue` or `drops`.
        flows
            The names of the flows to draw; default: all.
        links
            Link directions to draw, such as `[("link", "up")]`; default: the directions in which packets waited, were
            dropped, marked or lost, or in which the utilisation is at least 10 %.
        window_s
            Averaging interval of goodput and drops, in seconds.
        column
            `single` or `double` draws the figure for one or two columns of a journal: with a smaller font, and without
            title and footnote.

        Raises
        ------
        UsageError
            If the kind is unknown, or if an option does not belong to this kind.
        """
        named = {"flows": flows, "links": links}
        given: dict[str, Any] = {name: None if of is None else list(of) for name, of in named.items()}
        given["window_s"] = window_s
        options = {name: value for name, value in given.items() if value is not None}
        return filled_in("Run.plot")(self, kind, column=column, **options)

    def fairness(
        self,
        *,
        warmup_s: float | None = None,
        within: float | None = None,
        hold_s: float | None = None,
        harm: bool | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> Fairness:
        """Measures the fairness between the flows (see `lopsided.studies.fairness.of_run`).

        To measure harm, this method also runs each group alone. Defaults come from the scenario's table `[fairness]`.
        """
        of_run = filled_in("Run.fairness")
        changes = {"warmup_s": warmup_s, "within": within, "hold_s": hold_s, "harm": harm}
        if any(value is not None for value in changes.values()):
            return of_run(self, warmup_s=warmup_s, within=within, hold_s=hold_s, harm=harm, progress=progress)
        if self._fairness is None:
            found: Fairness = of_run(self, progress=progress)
            self._fairness = found
        return self._fairness

    def report(self, *, play: bool = False) -> str:
        """Returns the report as one HTML page.

        `play` adds the simulator (1.7 MB) and a button that opens this run in the interactive page.
        """
        return filled_in("Run.report")(self, play=play)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes the run folder (see `lopsided.data.run_folder`) and returns its path."""
        self.folder = Path(folder)
        with folders.writing(self.folder, overwrite=overwrite) as staged:
            self.write(staged, report=report)
        return self.folder

    def write(self, folder: Path, *, report: bool = True, play: bool = False) -> None:
        """Writes the run into a folder that `lopsided.data.run_folder.writing` created. For `play`, see `report()`."""
        (folder / "scenario.toml").write_text(self.scenario.to_toml(), encoding="utf-8")
        for name in run_tables():
            self.table(name).to_polars().write_parquet(folder / f"{name}.parquet")
        if self.scenario.asks_for_fairness:
            self.fairness().groups.write(folder / "fairness.parquet")
        if report:
            (folder / "report.html").write_text(self.report(play=play), encoding="utf-8")
        folders.write_manifest(folder, self.manifest())

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Reads a run folder. Raises FolderError if it is damaged."""
        import polars as pl

        folder = Path(folder)
        manifest = folders.read_manifest(folder)
        folders.check_run(folder, manifest)
        try:
            tables = {name: pl.read_parquet(folder / f"{name}.parquet") for name in run_tables()}
        except (OSError, pl.exceptions.PolarsError) as error:
            raise FolderError(f"{folder} is damaged: {error}") from error
        # A run folder stores only the names of user-defined controllers.
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
        run.check_tables()
        return run

    def check_tables(self) -> None:
        """Raises FolderError if a table lacks too many columns, or if the tables contain other flows than the
        scenario."""
        for name, spec in run_tables().items():
            found = self.table(name).columns
            missing = [column.name for column in spec.columns if column.name not in found]
            # Up to 25 % of the columns may be missing, because a run that an older version saved lacks a few.
            if spec.columns[0].name in missing or len(missing) > len(spec.columns) / 4:
                raise FolderError(f"{self.folder} is damaged: its table {name} has no column {missing[0]}")
        if list(self.flows["name"]) != self.scenario.flow_names:
            raise FolderError(f"{self.folder} is damaged: its tables contain other flows than its scenario.toml")

    def manifest(self) -> dict[str, Any]:
        """Returns the content of the run folder's manifest."""
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


def checked_seed(seed: int) -> int:
    """Returns the seed. Raises UsageError if the seed does not fit into 64 bits."""
    if not 0 <= seed < 2**64:
        raise UsageError(f"{seed} is not a seed: it must be between 0 and 2^64 - 1")
    return seed


def _other_format(path: Path, text: str) -> str | None:
    """Returns `JSON` or `YAML` if the file seems to be in this format. A TOML error would then be misleading."""
    begin = text.lstrip()
    if begin.startswith("{") or path.suffix == ".json":
        return "JSON"
    # No line of TOML begins with a name and a colon.
    if path.suffix in (".yaml", ".yml") or re.match(r"---|(#.*\n\s*)*[\w-]+:(\s|$)", begin):
        return "YAML"
    return None


def _missing(path: Path) -> str:
    if re.match(r"[a-z]+:/", str(path)):
        return f"{path} is a web address; a scenario is a file on this machine"
    if (example := examples.of_path(path)) is not None:
        written = path.with_suffix(".toml")
        if written.exists():
            return f"{path} does not exist; did you mean {written}?"
        return f"{path} does not exist; `lopsided new {written} --example {example}` writes the example of that name"
    folder = path.parent
    there = [each.name for each in folder.glob("*.toml")] if folder.is_dir() else []
    near = meant(path.name, there, likeness=0.85)
    return f"{path} does not exist" + (f"; did you mean {folder / near}?" if near else "")


def _read(path: Path) -> str:
    """Returns the text of the file. Raises ScenarioError if it cannot be read."""
    try:
        if path.is_dir():
            raise ScenarioError(f"{path} is a folder, not a scenario file", str(path))
        with path.open("rb") as file:
            # The size of the read is limited, because devices and pipes report no size.
            content = file.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise ScenarioError(
                f"{path} is too large to be a scenario file (over {_LARGEST_FILE // 2**20} MiB)", str(path)
            )
        text = content.decode("utf-8")
        if other := _other_format(path, text):
            raise ScenarioError(f"{path} looks like {other}; a scenario is TOML (`lopsided new` writes one)", str(path))
        return text
    except FileNotFoundError:
        raise ScenarioError(_missing(path), str(path)) from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path} is not text in UTF-8 (byte {error.start})", str(path)) from None
    except OSError as error:
        raise ScenarioError(f"cannot read {str(path)[:100]}: {error.strerror}", str(path)) from None
    except ValueError:
        raise ScenarioError("a file name cannot contain the character NUL") from None
