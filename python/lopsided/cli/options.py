"""Defines options that several commands share."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lopsided.cli.terminal import print_note
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from lopsided.controllers import ControllerFactory
    from lopsided.scenario import Scenario

CaptureFile = Annotated[Path, Parameter(allow_leading_hyphen=True)]
"""The path of a capture; `-` means standard input. Commands must pass the path to `check_capture`."""

Settings = Annotated[
    tuple[str, ...], Parameter(name="--set", help="Change a setting, as `key=value`; may be given several times.")
]


@Parameter(name="*")
@dataclass(frozen=True)
class OwnCode:
    """Congestion controls and queue disciplines written in Python, for use in scenarios."""

    controllers: Annotated[tuple[str, ...], Parameter(name="--controller")] = ()
    """Your own congestion control in Python, for use as `cc`: `FILE.py:CLASS` or `NAME=FILE.py:CLASS`; may be given
    several times."""
    disciplines: Annotated[tuple[str, ...], Parameter(name="--discipline")] = ()
    """Your own queue discipline in Python, for use as `queue.kind`: `FILE.py:CLASS` or `NAME=FILE.py:CLASS`; may be
    given several times."""

    def load(self) -> dict[str, ControllerFactory]:
        """Registers the disciplines, and returns the congestion controls."""
        from lopsided import controllers, queues

        queues.load(self.disciplines)
        return controllers.load(self.controllers)


Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""A flag without a negative form (`--no-FLAG`)."""
Report = Annotated[bool, Parameter(negative="--no-report", help="Write report.html.")]


@Parameter(name="*")
@dataclass(frozen=True)
class Answer:
    """Options for a study's result: folder, style, and printing."""

    out: Path | None = None
    """The folder to write; default: a new folder under `runs/`."""
    overwrite: Flag = False
    """Replace an earlier study of this kind in --out."""
    report: Report = True
    column: Literal["single", "double"] | None = None
    """Draw the files in figures/ for a journal's column (3.5 or 7.16 inches)."""

    @contextmanager
    def drawing(self) -> Generator[None]:
        """Draws all figures inside the `with` block in the style that `column` selects."""
        if self.column is None:
            yield
            return
        from lopsided.views.plot import style

        with style.files_for_column(self.column):
            yield

    def folder(self, name: str) -> Path:
        """Returns the folder `--out`. Without this option, returns a new path under `runs/` that contains `name` and
        the current time."""
        from lopsided.data.free_names import dated

        return self.out or dated(name)


@Parameter(name="*")
@dataclass(frozen=True)
class Printing:
    as_json: Annotated[Flag, Parameter(name="--json")] = False
    """Print only the result, as JSON."""
    quiet: Annotated[Flag, Parameter(name=["--quiet", "-q"])] = False
    """Print no progress and no tables."""

    @property
    def silent(self) -> bool:
        return self.as_json or self.quiet


NOTHING = OwnCode()
ANSWER = Answer()
PRINTING = Printing()
Seed = Annotated[int | None, Parameter(help="Seed of the run's random numbers; default: the scenario's seed.")]
Kernel = Annotated[
    str | None,
    Parameter(help="Kernel for `--world kernel`: timetravel (6.1, 6.12), uml or host; default: the best."),
]
Ours = Annotated[
    tuple[str, ...],
    Parameter(
        name="--ours",
        help="In the live world: a host that uses the simulator's TCP or QUIC. All other hosts use the kernel's TCP. "
        "May be given several times.",
    ),
]
World = Annotated[
    str,
    Parameter(
        help="Where to run the scenario: `sim` (virtual time), `kernel` (Linux itself) or `live` (this kernel's TCP "
        "over the simulator's path, in real time)."
    ),
]
Quiet = Annotated[Flag, Parameter(name=["--quiet", "-q"], help="Print no progress and no tables.")]
Json = Annotated[Flag, Parameter(name="--json", help="Print only the result, as JSON.")]
Overwrite = Annotated[Flag, Parameter(help="Replace existing files.")]
Column = Annotated[
    Literal["single", "double"] | None,
    Parameter(help="Draw for a journal's column (3.5 or 7.16 inches): smaller text, no title, no footer."),
]
Data = Annotated[Path | None, Parameter(help="Also write the numbers behind the figure, as .csv.")]
Dask = Annotated[
    str | None,
    Parameter(
        help="Run on a Dask cluster: the address of its scheduler, `tcp://HOST:PORT`, or `local` for processes on "
        "this machine. Needs `lopsided[dask]`.",
    ),
]
StartJitter = Annotated[
    str | None,
    Parameter(
        help="With --repeat: largest random delay of each flow's start; 0s for none. Default: 1s if nothing else in "
        "the scenario is random.",
    ),
]
Workers = Annotated[int | None, Parameter(help="Number of threads; default: the number of cores.")]


def load(file: Path, settings: Sequence[str] = (), own: OwnCode = NOTHING) -> Scenario:
    """Loads a scenario, applies the settings, and prints warnings as notes."""
    from lopsided.scenario import Scenario
    from lopsided.studies.doubts import doubts, idle_settings

    pairs = [split(setting) for setting in settings]
    if twice := [key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number])]:
        raise UsageError(f"--set {twice[0]} is given twice: remove one")
    scenario = Scenario.load(file, own.load(), **dict(pairs))
    ask(doubts(scenario))
    ask(idle_settings(scenario))
    return scenario


@contextmanager
def on(dask: str | None, workers: int | None = None) -> Generator[None]:
    """Executes all runs inside the `with` block on the Dask cluster `dask`; `None` means this machine."""
    if dask is None:
        yield
        return
    from lopsided.studies import cluster

    with cluster.connect(dask, workers) as client, cluster.using(client):
        yield


def ask(questions: Iterable[str]) -> None:
    """Prints warnings about questionable input as notes."""
    for question in questions:
        print_note(question)


def picture_at(path: Path, *, overwrite: bool = False) -> Path:
    """Returns the path of a figure. Checks its format. Unless `overwrite` is true, also checks that the file does not
    exist."""
    from lopsided.data.output import check_free

    if path.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"{path.name}: a figure must end in .png, .svg or .pdf")
    check_free(path, overwrite=overwrite)
    return path


def picture_in(folder: Path, name: str, *, overwrite: bool = False) -> Path:
    """Returns the default path of a figure in the run folder. A figure that lopsided wrote earlier may be replaced."""
    from lopsided.data.output import is_our_picture

    path = folder / name
    return picture_at(path, overwrite=overwrite or (path.is_file() and is_our_picture(path)))


def data_at(path: Path | None, *, overwrite: bool = False) -> Path | None:
    """Returns the path of a figure's data. Checks that the path ends in .csv. Unless `overwrite` is true, also checks
    that the file does not exist."""
    from lopsided.data.output import check_free

    if path is not None:
        if path.suffix != ".csv":
            raise UsageError(f"{path.name}: the numbers of a figure must end in .csv")
        check_free(path, overwrite=overwrite)
    return path


def split(setting: str) -> tuple[str, str]:
    """Splits `key=value`. Raises UsageError if there is no key or no equals sign."""
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {setting!r}: write --set key=value, such as --set 'link.up.queue.limit=15 packets'")
    return key.strip(), value.strip()


def check_capture(capture: Path) -> None:
    """Raises UsageError if the capture looks like an option.

    `-` is a valid capture (standard input), so the parser accepts every word with a leading hyphen.
    """
    name = str(capture)
    if name.startswith("-") and name != "-":
        raise UsageError(f"unknown option {name}; a file of this name is ./{name}")
