"""Finds candidates for the next word of a command line: commands, options and values.

Options and fixed choices come from a command's signature. `VALUES` contains the functions that complete text options,
such as the names of studies, or the keys of the scenario file on the command line. `shells` calls this module from
bash, zsh and fish. Numbers, rates, times and tables are not completed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument


Candidate = tuple[str, str]
"""A word that completes the command line, and its description. The user can continue a word that ends in `.`, `=` or
`/`."""


@dataclass(frozen=True)
class _Line:
    """A command line up to the word with the cursor."""

    command: str
    positional: tuple[str, ...]
    options: Mapping[str, str]

    @cached_property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario of the file or run folder on the command line, if there is one."""
        import tomllib

        named = self.options.get("--scenario", self.positional[0] if self.positional else "")
        path = Path(named).expanduser()
        try:
            return tomllib.loads((path / "scenario.toml" if path.is_dir() else path).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}


def candidates(app: App, words: Sequence[str]) -> list[Candidate]:
    """Returns the completions of the last word, which may be empty."""
    *before, word = words
    if not before:
        return _beginning(_commands(word), word)
    if before[0] not in app:
        return []
    arguments = [each for each in app[before[0]].assemble_argument_collection() if each.names != ("*",)]
    return _beginning(_of_command(arguments, before, word), word)


def _commands(word: str) -> Iterable[Candidate]:
    from lopsided.cli.commands import COMMANDS
    from lopsided.cli.listing import OPTIONS

    if word.startswith("-"):
        return ((name, text) for names, text in OPTIONS for name in names.split(", "))
    return ((command.name, command.summary) for command in COMMANDS)


def _of_command(arguments: Sequence[Argument], before: Sequence[str], word: str) -> Iterable[Candidate]:
    options = {name: each for each in arguments for name in each.names if name.startswith("-")}
    positional: list[str] = []
    given: dict[str, str] = {}
    waiting = None
    for at, earlier in enumerate(before[1:], 1):
        if earlier == "--":
            # Words after `--` are positional, or belong to another program's command line.
            return _files(word)
        name, equals, value = earlier.partition("=")
        if waiting is not None:
            given[waiting] = earlier
            waiting = None
        elif name in options:
            if equals:
                given[name] = value
            elif options[name].hint is not bool and at < len(before):
                waiting = name
        else:
            positional.append(earlier)
    line = _Line(before[0], tuple(positional), given)
    if waiting is not None:
        return _values(options[waiting], waiting, line, word)
    name, equals, value = word.partition("=")
    if equals and name in options:
        return ((f"{name}={found}", text) for found, text in _values(options[name], name, line, value))
    if word.startswith("-"):
        return _options(arguments, given)
    places = sorted((each for each in arguments if each.index is not None), key=lambda each: each.index or 0)
    if not places:
        return _options(arguments, given)
    last = places[-1]
    if len(positional) >= len(places) and not str(last.hint).startswith("tuple"):
        return _options(arguments, given)
    place = places[min(len(positional), len(places) - 1)]
    return _values(place, place.names[0], line, word)


def _options(arguments: Iterable[Argument], given: Mapping[str, str]) -> Iterator[Candidate]:
    for each in arguments:
        again = str(each.hint).startswith("tuple")
        for name in each.names:
            if name.startswith("--") and (again or name not in given):
                yield name, each.parameter.help or ""
    yield "--help", "show the help of the command"


def _values(argument: Argument, name: str, line: _Line, word: str) -> Iterable[Candidate]:
    """Returns an argument's possible values, from `VALUES` or from its type."""
    known = VALUES.get((line.command, name)) or VALUES.get(name)
    if known is not None:
        return known(line, word)
    choices = argument.get_choices()
    if choices:
        return ((each, "") for each in choices)
    if "Path" in str(argument.hint):
        return _files(word)
    return ()


def _beginning(found: Iterable[Candidate], word: str) -> list[Candidate]:
    return [(value, text) for value, text in found if value.startswith(word)]


def _files(word: str) -> Iterator[Candidate]:
    """Yields the files and folders in the folder that `word` names. Hidden files are included only if the file name in
    `word` begins with a dot."""
    folder, _, start = word.rpartition("/")
    where = Path(f"{folder}/" if "/" in word else ".").expanduser()
    try:
        found = sorted(where.iterdir())
    except OSError:
        return
    for path in found:
        if not path.name.startswith(".") or start.startswith("."):
            yield word[: len(word) - len(start)] + path.name + ("/" if path.is_dir() else ""), ""


# --- values by name -----------------------------------------------------------------------------------------------

Tree = Mapping[str, Any]
"""A part of the JSON Schema of scenario files."""
_Known = Callable[[_Line, str], Iterable[Candidate]]


def _several(values: _Known, separators: str = ",") -> _Known:

    def found(line: _Line, word: str) -> Iterator[Candidate]:
        start = max((word.rfind(each) for each in separators), default=-1) + 1
        for value, text in values(line, word[start:]):
            yield word[:start] + value, text

    return found


def _group(name: str, *more: Candidate) -> _Known:
    """Returns a function that completes the words in `more` and the names that `lopsided list NAME` prints."""

    def found(_line: _Line, _word: str) -> Iterator[Candidate]:
        from lopsided.studies import inventory

        (group,) = (each for each in inventory.groups() if each.name == name)
        yield from more
        yield from ((entry.name, entry.text) for entry in group.entries)

    return found


def _words(*words: str) -> _Known:
    return _named(lambda _line: words)


def _named(names: Callable[[_Line], Iterable[str]]) -> _Known:
    """Returns a function that completes names that have no description."""
    return lambda line, _word: ((name, "") for name in names(line))


def _plots(_line: _Line) -> Iterable[str]:
    from lopsided.views.plot import KINDS

    return KINDS


def _metrics(_line: _Line) -> Iterable[str]:
    from lopsided.studies.options import METRICS

    return METRICS


def _quantities(_line: _Line) -> Iterable[str]:
    from lopsided.studies.compare import QUANTITIES

    return (f"{quantity}=" for quantity in QUANTITIES)


def _kinds(_line: _Line, _word: str) -> Iterator[Candidate]:
    from lopsided.studies import inventory

    yield from ((group.name, group.text) for group in inventory.groups())
    yield "papers", "studies that are re-run"


def _papers(_line: _Line, _word: str) -> Iterator[Candidate]:
    from lopsided import papers

    for key in papers.available():
        yield key, papers.load(key).title


def _papers_and_all(line: _Line, word: str) -> Iterator[Candidate]:
    yield from _papers(line, word)
    yield "all", "all studies, with an overview page"


def _figures(line: _Line, _word: str) -> Iterator[Candidate]:
    from lopsided import papers

    if line.positional and line.positional[0] in papers.available():
        for figure in papers.load(line.positional[0]).figures:
            yield figure.slug, figure.title


def _chapters(line: _Line, _word: str) -> Iterator[Candidate]:
    from lopsided import papers

    if line.positional and line.positional[0] in papers.available():
        yield from ((chapter, "") for chapter in papers.load(line.positional[0]).chapters)


def _goals(line: _Line, _word: str) -> Iterator[Candidate]:
    """Yields the names of the metrics: `METRIC` for all flows together, and `METRIC.FLOW` for each flow."""
    from lopsided.studies.options import METRICS

    for metric in METRICS:
        yield metric, "of all flows"
        for flow in _flow_names(line.scenario):
            yield f"{metric}.{flow}", f"of {flow}"


def _remedies(_line: _Line, _word: str) -> Iterator[Candidate]:
    from lopsided.studies.ackpath import REMEDIES

    yield "none", "the scenario as it is"
    yield from ((name, text) for name, (text, _) in REMEDIES.items())


def _suites(_line: _Line, word: str) -> Iterator[Candidate]:
    from lopsided.studies.suite import cases

    yield from ((name, cases.load(name).title) for name in cases.names())
    yield from _files(word)


def _cases(line: _Line, _word: str) -> Iterator[Candidate]:
    from lopsided.studies.suite import cases

    for name in line.positional[:1]:
        yield from ((case.key, case.title) for case in cases.load(name).case)


def _links(line: _Line, _word: str) -> Iterator[Candidate]:
    yield from ((name, "") for name in _names(line.scenario, ["topology", "link"]))
    if "link" in line.scenario:
        yield "link", "the access line"


# --- keys of a scenario -------------------------------------------------------------------------------------------


def _settings(line: _Line, word: str) -> Iterable[Candidate]:
    """Completes `key=value` of `--set`: first the parts of the key, then the value."""
    key, equals, value = word.partition("=")
    if not equals:
        return _keys(line, key)
    shape = _shape(key.split("."))
    found = _several(lambda _line, _word: _choices(shape), ",|") if line.command in ("sweep", "search") else None
    choices = found(line, value) if found else _choices(shape)
    return ((f"{key}={choice}", text) for choice, text in choices)


def _keys(line: _Line, key: str) -> Iterator[Candidate]:
    *path, _ = key.split(".")
    before = "".join(f"{part}." for part in path)
    if _is_named(path):
        for name in (*_names(line.scenario, path), "*"):
            yield f"{before}{name}.", ""
        return
    for name, below in _shape(path).get("properties", {}).items():
        text = str(below.get("description", ""))
        if _table(below) is not None:
            yield f"{before}{name}.", text
        # A key accepts a value if the key is not a table, or if its schema also allows a plain value.
        if _table(below) is None or "anyOf" in below:
            yield f"{before}{name}=", text


def _names(scenario: Mapping[str, Any], path: Sequence[str]) -> list[str]:
    """Returns the names of the scenario's entries (flows, links or hosts) that a key can continue with."""
    if list(path) == ["flow"]:
        return _flow_names(scenario)
    if list(path) == ["topology", "link"]:
        links = scenario.get("topology", {}).get("link", [])
        return [str(each.get("name") or "-".join(each.get("between", []))) for each in links]
    if list(path) == ["host"]:
        hosts = scenario.get("topology", {}).get("hosts", ["server", "client"])
        return [str(each) for each in hosts]
    return []


def _flow_names(scenario: Mapping[str, Any]) -> list[str]:
    return [str(each.get("name", f"flow{number}")) for number, each in enumerate(scenario.get("flow", []), 1)]


def _schema() -> Tree:
    import json

    from lopsided import _native

    return cast("Tree", json.loads(_native.schema()))


def _shape(path: Sequence[str]) -> Tree:
    """Returns the schema of a dotted key; empty if there is no such key."""
    whole = _schema()
    shape: Tree = whole
    named = False
    for part in path:
        if named:
            named = False
            continue
        shape = shape.get("properties", {}).get(part, {})
        named = _entries(shape) is not None
        table = _table(shape)
        if table is not None:
            shape = {**shape, **whole["$defs"][table]}
    return shape


def _is_named(path: Sequence[str]) -> bool:
    """Returns true if the next part of the key is the name of a table entry, such as a flow's name."""
    named = False
    for end in range(1, len(path) + 1):
        named = not named and _entries(_shape(path[: end - 1]).get("properties", {}).get(path[end - 1], {})) is not None
    return named


def _entries(shape: Tree) -> Tree | None:
    """Returns the schema of the entries in a list or in a table of named entries."""
    found = shape.get("items") or shape.get("additionalProperties")
    return cast("Tree", found) if isinstance(found, dict) and "$ref" in found else None


def _table(shape: Tree) -> str | None:
    """Returns the name of the schema that describes a key's table or the table's entries; `None` for other keys."""
    for each in (shape, _entries(shape) or {}, *shape.get("anyOf", [])):
        if "$ref" in each:
            return str(each["$ref"]).rpartition("/")[2]
    return None


def _choices(shape: Tree) -> Iterator[Candidate]:
    """Yields a key's allowed values with descriptions."""
    words = shape.get("enum", [])
    texts = shape.get("enumDescriptions", [""] * len(words))
    for word, text in zip(words, texts, strict=True):
        yield (str(word).lower() if isinstance(word, bool) else str(word)), text
    if "const" in shape:
        yield str(shape["const"]), ""
    if shape.get("type") == "boolean":
        yield from (("true", ""), ("false", ""))
    for each in shape.get("anyOf", []):
        yield from _choices(each)


_WORLDS = _words("sim", "kernel", "live")
_QUEUE = _group("queues")
_CONTROL = _group("controls")
_INTERFACES = _named(lambda _line: sorted(path.name for path in Path("/sys/class/net").glob("*")))
VALUES: Mapping[str | tuple[str, str], _Known] = {
    "--set": _settings,
    "--over": _settings,
    "--cc": _several(_CONTROL),
    "--against": _CONTROL,
    "--stack": _group("stacks"),
    "--profile": _group("stacks"),
    "--preset": _group("presets"),
    "--workload": _group("workloads"),
    "--framing": lambda _line, _word: _choices(_schema()["$defs"]["direction"]["properties"]["framing"]),
    "--queue": _QUEUE,
    "--queue-up": _QUEUE,
    "--queue-down": _QUEUE,
    ("aqm", "--queues"): _several(_group("queues", ("file", "the scenario's own"))),
    ("size", "--queues"): _several(_words("unmanaged", "fifo", "codel", "fq_codel", "pie", "fq_pie", "cake")),
    "--suite": _words("rfc7928"),
    ("suite", "NAME"): _suites,
    ("suite", "--case"): _cases,
    ("suite", "--cc"): _CONTROL,
    ("suite", "--line"): _words("10:1", "25:1", "50:1", "idle", "loaded", "plain", "thinned", "filter"),
    ("suite", "--transport"): _words("tcp", "quic"),
    "--remedies": _several(_remedies, ",+"),
    "--world": _WORLDS,
    "--worlds": _several(_WORLDS),
    ("aqm", "--world"): _several(_WORLDS),
    ("reproduce", "--world"): _words("sim", "live"),
    "--kernel": _words("timetravel", "6.1", "6.12", "uml", "host"),
    "--metric": _named(_metrics),
    "--maximise": _goals,
    "--maximize": _goals,
    "--minimise": _goals,
    "--minimize": _goals,
    "--subject-to": _goals,
    "--tolerance": _named(_quantities),
    ("compare", "--ignore"): _several(_words("psh", "window", "sack", "timestamps", "ecn", "syn_options", "time")),
    "--flow": _named(lambda line: _flow_names(line.scenario)),
    ("aqm", "--link"): _links,
    ("ackpath", "--link"): _links,
    "--ours": _named(lambda line: _names(line.scenario, ["host"])),
    "--dask": _words("local"),
    ("list", "KIND"): _kinds,
    ("plot", "KIND"): _named(_plots),
    ("cite", "PAPERS"): _papers,
    ("reproduce", "PAPER"): _papers_and_all,
    ("reproduce", "--figure"): _figures,
    ("reproduce", "--chapter"): _chapters,
    ("shape", "INTERFACE"): _INTERFACES,
    ("reflect", "--interface"): _INTERFACES,
}
"""Functions that complete values. A key is an argument, or a command and an argument."""
