"""Options that several commands share."""

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

Settings = Annotated[
    tuple[str, ...],
    Parameter(
        name="--set",
        negative=(),
        show_default=False,
        help="Change a setting, as `key=value`; may be given several times.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class OwnCode:
    """What a scenario may name beside what is built in."""

    controllers: Annotated[
        tuple[str, ...],
        Parameter(
            name="--controller",
            negative=(),
            show_default=False,
            help="A congestion control of your own in Python, for `cc` to name: `FILE.py:CLASS` or "
            "`NAME=FILE.py:CLASS`; may be given several times.",
        ),
    ] = ()
    disciplines: Annotated[
        tuple[str, ...],
        Parameter(
            name="--discipline",
            negative=(),
            show_default=False,
            help="A queue discipline of your own in Python, for `queue.kind` to name, in the same way.",
        ),
    ] = ()

    def load(self) -> dict[str, ControllerFactory]:
        """Makes the disciplines known to scenarios, and gives the controllers."""
        from lopsided import controllers, queues

        queues.load(self.disciplines)
        return controllers.load(self.controllers)


@Parameter(name="*")
@dataclass(frozen=True)
class Answer:
    """Where a study with a page of its own is written."""

    out: Annotated[
        Path | None, Parameter(show_default=False, help="The folder to write; default: a new one under `runs/`.")
    ] = None
    overwrite: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Replace an earlier study of the kind in --out.")
    ] = False
    report: Annotated[bool, Parameter(negative="--no-report", help="Write report.html.")] = True
    column: Annotated[
        Literal["single", "double"] | None,
        Parameter(show_default=False, help="Draw the files in figures/ for a journal's column (3.5 or 7.16 inches)."),
    ] = None

    @contextmanager
    def drawing(self) -> Generator[None]:
        """Within the block the files in `figures/` are drawn for the column asked for."""
        if self.column is None:
            yield
            return
        from lopsided.views.plot import style

        with style.files_for_column(self.column):
            yield

    def folder(self, name: str) -> Path:
        """The folder asked for, or a new one that bears this name and the time."""
        from lopsided.data.free_names import dated

        return self.out or dated(name)

    def page(self, folder: Path) -> tuple[str, Path]:
        """What to show of it, and where that is."""
        return ("report", folder / "report.html") if self.report else ("folder", folder)


NOTHING = OwnCode()
ANSWER = Answer()
Seed = Annotated[
    int | None, Parameter(show_default=False, help="Seed of the run's random numbers; default: the scenario's.")
]
Kernel = Annotated[
    str | None,
    Parameter(show_default=False, help="Which kernel `--world kernel` takes: timetravel, uml, host; default: the best"),
]
World = Annotated[
    str,
    Parameter(
        help="Where to run it: `sim` (virtual time), `kernel` (Linux itself) or `live` (this kernel's TCP over the "
        "simulator's path, in real time)."
    ),
]
Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
"""One that is given or not; the docstring tells of it."""
Quiet = Annotated[
    bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False, help="Print no progress and no tables.")
]
Json = Annotated[
    bool, Parameter(name="--json", negative=(), show_default=False, help="Print the result as JSON, and nothing else.")
]
Overwrite = Annotated[bool, Parameter(negative=(), show_default=False, help="Replace the files that are there.")]
Column = Annotated[
    Literal["single", "double"] | None,
    Parameter(
        show_default=False,
        help="Draw for a journal's column (3.5 or 7.16 inches): smaller letters, no title, no small print.",
    ),
]
Data = Annotated[Path | None, Parameter(show_default=False, help="Also write the numbers behind the figure, as .csv.")]
Dask = Annotated[
    str | None,
    Parameter(
        show_default=False,
        help="Make the runs on a Dask cluster: its scheduler, `tcp://HOST:PORT`, or `local` for processes of this "
        "machine. Needs `lopsided[dask]`.",
    ),
]
StartJitter = Annotated[
    str | None,
    Parameter(
        show_default=False,
        help="With --repeat, let each flow start up to this much later, drawn from the seed; 0s: never. Default: 1s if "
        "nothing else in the scenario is random, since all seeds then give one and the same run.",
    ),
]
Workers = Annotated[int | None, Parameter(show_default=False, help="Threads to run on; default: every core.")]


def load(file: Path, settings: Sequence[str] = (), own: OwnCode = NOTHING) -> Scenario:
    """The scenario in `file` with settings changed."""
    from lopsided.scenario import Scenario
    from lopsided.studies.doubts import doubts, idle_settings

    pairs = [split(setting) for setting in settings]
    if twice := [key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number])]:
        raise UsageError(f"--set {twice[0]} is given twice: which of the two is meant?")
    scenario = Scenario.load(file, own.load(), **dict(pairs))
    ask(doubts(scenario))
    ask(idle_settings(scenario))
    return scenario


@contextmanager
def on(dask: str | None, workers: int | None = None) -> Generator[None]:
    """Within the block runs are made on the cluster asked for, if one was."""
    if dask is None:
        yield
        return
    from lopsided.studies import cluster

    with cluster.connect(dask, workers) as client, cluster.using(client):
        yield


def ask(questions: Iterable[str]) -> None:
    """Says on stderr what looks as if it was not meant."""
    for question in questions:
        print_note(question)


def picture_at(path: Path, *, overwrite: bool = False) -> Path:
    """The path of a picture to draw: its kind is one that we write, and nobody else's file is there."""
    from lopsided.data.output import check_free

    if path.suffix not in (".png", ".svg", ".pdf"):
        raise UsageError(f"{path.name}: a picture is written as .png, .svg or .pdf")
    check_free(path, overwrite=overwrite)
    return path


def picture_in(folder: Path, name: str, *, overwrite: bool = False) -> Path:
    """The usual place of a picture of a run, in its folder: an earlier picture of the run is drawn again there."""
    from lopsided.data.output import is_our_picture

    path = folder / name
    return picture_at(path, overwrite=overwrite or (path.is_file() and is_our_picture(path)))


def data_at(path: Path | None, *, overwrite: bool = False) -> Path | None:
    """Where to write a figure's numbers: as CSV, and in nobody else's place."""
    from lopsided.data.output import check_free

    if path is not None:
        if path.suffix != ".csv":
            raise UsageError(f"{path.name}: the numbers of a figure are written as .csv")
        check_free(path, overwrite=overwrite)
    return path


def split(setting: str) -> tuple[str, str]:
    """The key and value of `key=value`."""
    key, equals, value = setting.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--set {setting!r}: write --set key=value, such as --set 'link.up.queue.limit=15 packets'")
    return key.strip(), value.strip()
