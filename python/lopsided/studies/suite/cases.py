"""A suite is a folder with scenarios and `suite.toml`, which lists the cases:

    title, source       what the suite is, and the text that it follows
    subject             "control": the flows whose names begin with `test` are tested; "queue": the bottleneck's queue
    default             the congestion control or the discipline that is tested if none is named
    [[case]]            key, title, section, file; `set` (settings of the scenario), `link` and `direction` (the
                        bottleneck, default: the slowest link downwards), `beside` (links that get the same queue),
                        `baseline` (settings of a second run, which checks with `compared` divide by), `reverse = false`
    [[case.check]]      measure, `of`, `since_s`, `until_s`, `level`, `states`; `at_least` and `at_most`; `origin`:
                        "source" if the text defines the threshold, "ours" if not, "fitted" if the threshold was
                        chosen after a result was known (then it is shown and not judged); omitted without a threshold
    [[left_out]]        section, title and reason of a part that cannot be simulated

To use your own suite, pass the path of such a folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.scenario import Scenario

if TYPE_CHECKING:
    from lopsided.controllers import Controllers

HOME = Path(__file__).parent
DESCRIPTION = "suite.toml"

Settings = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Check:
    """A number to measure in a run, and the bounds that this number must satisfy."""

    measure: str
    of: tuple[str, ...] = ()
    """Name prefixes of the measured flows; default: the flows under test."""
    since_s: float = 0.0
    until_s: float | None = None
    """End of the time span in seconds; default: the end of the run."""
    level: float | None = None
    """The threshold of two measures: `reach_s` (goodput in bit/s) and `settle_s` (delay in ms)."""
    states: tuple[str, ...] = ()
    """Name prefixes of the congestion control states that a measure such as `entered` counts."""
    at_least: float | None = None
    at_most: float | None = None
    origin: Literal["source", "ours", "fitted", ""] = ""
    compared: bool = False
    """True if the measured number is divided by the number of the baseline run."""
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A test case: a scenario, and the numbers to measure in its runs."""

    key: str
    title: str
    section: str
    file: str
    check: tuple[Check, ...] = ()
    set: Settings = field(default_factory=dict[str, Any])
    baseline: Settings = field(default_factory=dict[str, Any])
    direction: Literal["both", "down", "up"] = "down"
    link: str | None = None
    beside: tuple[str, ...] = ()
    reverse: bool = True
    """True if the case can also be judged with a narrow reverse path."""
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A part of the suite's source, such as a section of an RFC, that cannot be simulated."""

    section: str
    title: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class SuiteSpec:
    """The description of a suite with all its cases, from `suite.toml`."""

    name: str
    folder: Path
    title: str
    source: str
    subject: Literal["control", "queue"]
    default: str
    case: tuple[Case, ...]
    left_out: tuple[LeftOut, ...] = ()

    def chosen(self, keys: tuple[str, ...]) -> tuple[Case, ...]:
        """Returns the cases with these keys, or all cases if there are no keys. `8.2` includes 8.2.1 and 8.2.6-1.
        Raises UsageError if a key is unknown."""
        found: list[Case] = []
        for key in keys:
            under = [each for each in self.case if f"{each.key}.".replace("-", ".").startswith(_below(key))]
            if not under:
                raise UsageError(
                    f"{self.name} has no case {key!r}: there are {', '.join(each.key for each in self.case)}"
                )
            found += [each for each in under if each not in found]
        return tuple(found) or self.case

    def scenario(self, case: Case, controllers: Controllers | None = None) -> Scenario:
        return Scenario.load(self.folder / case.file, controllers, **case.set)


def _below(key: str) -> str:
    return key.replace("-", ".") + "."


def names() -> tuple[str, ...]:
    """Returns the names of all suites."""
    return tuple(sorted(path.parent.name for path in HOME.glob(f"*/{DESCRIPTION}")))


def load(name: str | Path) -> SuiteSpec:
    """Loads a suite by its name, or from a folder. Raises UsageError if there is no such suite, or if its `suite.toml`
    has an error."""
    folder = HOME / str(name)
    if str(name) not in names():
        folder = Path(name)
        if not (folder / DESCRIPTION).is_file():
            said = choices(str(name), names(), f", or a folder with a {DESCRIPTION}")
            raise UsageError(f"no suite is called {str(name)!r}; {said}")
    path = folder / DESCRIPTION
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}") from None
    table.setdefault("name", folder.resolve().name)
    cases = tuple(_case(each, path) for each in _tables(table, "case", str(path)))
    left_out = tuple(_made(LeftOut, each, f"{path}, [[left_out]]") for each in _tables(table, "left_out", str(path)))
    spec = _made(SuiteSpec, {**table, "folder": folder, "case": cases, "left_out": left_out}, str(path))
    if twice := [case.key for number, case in enumerate(cases) if case.key in [each.key for each in cases[:number]]]:
        raise UsageError(f"{path}: two cases have the key {twice[0]!r}")
    if not cases:
        raise UsageError(f"{path} lists no [[case]]")
    return spec


def _tables(table: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    """Removes and returns the list of tables under a key."""
    found = table.pop(key, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in cast("list[Any]", found)):
        raise UsageError(f"{where}: `{key}` is a list of tables: [[{key}]]")
    return cast("list[dict[str, Any]]", found)


def _case(table: dict[str, Any], path: Path) -> Case:
    where = f"{path}, case {table.get('key', '')!r}"
    checks = tuple(_check(each, where) for each in _tables(table, "check", where))
    found = _made(Case, {**table, "check": checks}, where)
    compared = any(check.compared for check in found.check)
    if compared and not found.baseline:
        raise UsageError(f"{where}: a check is `compared`, and the case has no `baseline`")
    if found.baseline and not compared:
        raise UsageError(f"{where}: `baseline` has no effect: no check is `compared`")
    return found


def _check(table: dict[str, Any], where: str) -> Check:
    found = _made(Check, table, f"{where}, [[case.check]]")
    judged = found.at_least is not None or found.at_most is not None
    if judged != bool(found.origin):
        raise UsageError(
            f'{where}, {found.measure}: a check with a threshold needs an `origin` ("source", "ours" or '
            '"fitted"), and a check without a threshold must not have one'
        )
    return found


def _made(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """Builds a dataclass from a TOML table. Lists become tuples. Raises an error if a key is unknown or missing."""
    known = fields(cast("Any", kind))
    names = [each.name for each in known]
    if unknown := [key for key in table if key not in names]:
        raise UsageError(f"{where}: unknown key {unknown[0]!r}; {choices(unknown[0], names)}")
    needed = [each.name for each in known if each.default is MISSING and each.default_factory is MISSING]
    if missing := [name for name in needed if name not in table]:
        raise UsageError(f"{where}: `{missing[0]}` is missing")
    types = get_type_hints(kind)
    for key, value in table.items():
        if (wanted := _unlike(types[key], value)) is not None:
            raise UsageError(f"{where}: `{key}` is {wanted}, not {value!r}")
    listed = {key: tuple(cast("list[Any]", value)) for key, value in table.items() if isinstance(value, list)}
    return kind(**{**table, **listed})


def _unlike(wanted: Any, value: object) -> str | None:
    """Returns a description of the wanted type if the value has another type; `None` if the value has the wanted
    type."""
    if get_origin(wanted) is Literal:
        words = get_args(wanted)
        return None if value in words else " or ".join(f'"{word}"' for word in words if word)
    classes, described = {
        bool: (bool, "true or false"),
        str: (str, "text"),
        str | None: (str, "text"),
        float: (int | float, "a number"),
        float | None: (int | float, "a number"),
        Settings: (Mapping, "a table"),
        tuple[str, ...]: (list, "a list of names"),
    }.get(wanted, (object, ""))
    return (
        None if isinstance(value, classes) and (classes in (bool, object) or not isinstance(value, bool)) else described
    )
