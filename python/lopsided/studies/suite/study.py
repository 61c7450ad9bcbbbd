"""Runs every case of a suite and judges the results.

    found = suite("rfc9743", cc="bbr3")
    found.checks            # a row for each number: expected, measured, verdict
    found.failed            # the cases with a check that fails

A tested congestion control runs in the flows whose names begin with `test`. A tested discipline replaces the queue of
each bottleneck. Numbers are medians over the seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Literal

from lopsided.data.study_tables import SUITE_CHECKS
from lopsided.data.suggestions import choices
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.settings import dotted_key
from lopsided.studies.aqm.disciplines import Direction, Discipline, disciplines
from lopsided.studies.aqm.study import WAYS, bottleneck
from lopsided.studies.jobs import Divided, Progress, run_jobs, seeds
from lopsided.studies.study import digest_of
from lopsided.studies.suite import reverse
from lopsided.studies.suite.cases import DESCRIPTION, Case, Check, SuiteSpec, load
from lopsided.studies.suite.measures import MEASURES, UNDER_TEST, View
from lopsided.studies.suite.result import SuiteResult, Verdict
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from lopsided.controllers import Controllers
    from lopsided.scenario import Run, Scenario

_MOST_KEPT = 60
"""Maximum number of runs whose data is kept in memory for the report's figures."""


@dataclass(frozen=True)
class _Planned:
    """A case on one line, and its baseline run if it has one."""

    case: Case
    line: str
    link: str
    way: Direction
    scenario: Scenario
    baseline: Scenario | None


def suite(
    name: str | Path,
    *,
    cc: str | None = None,
    queue: str | None = None,
    transport: Literal["tcp", "quic"] = "tcp",
    cases: Sequence[str] = (),
    line: str | None = None,
    controllers: Controllers | None = None,
    world: str = "sim",
    kernel: str | None = None,
    repeat: int = 1,
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SuiteResult:
    """Runs the cases of a suite: `suite("rfc9743", cc="bbr3", line="25:1 loaded")`.

    Parameters
    ----------
    name
        The name of a suite, one of `names()`, or the path of a suite's folder.
    cc
        The congestion control of the tested flows, built-in or one of `controllers`; default: the suite's default.
    queue
        The queue discipline at the bottleneck; default: the suite's default.
    cases
        Keys of cases. A key also selects its sub-cases.
    line
        Selects lines with a narrow reverse path by words of their names, such as "25:1" or "loaded plain"; "" for all.

    Raises
    ------
    UsageError
        If a name, a key or a line does not exist.
    """
    spec = load(name)
    _check_measures(spec)
    if spec.subject == "control":
        cc = cc or spec.default or None
    else:
        queue = queue or spec.default
    chosen = spec.chosen(tuple(cases))
    discipline = None if queue is None else _one(queue)
    ways_back = () if line is None else reverse.lines(line)
    planned = [
        each
        for case in chosen
        for each in _plan(spec, case, cc, discipline, transport, ways_back, line is None, controllers)
    ]
    if not planned:
        raise UsageError(f"none of these cases of {spec.name} can be judged with a narrow reverse path")
    first = planned[0].scenario.seed if seed is None else seed
    wanted = [
        (number, which)
        for number, each in enumerate(planned)
        for which in ("run", "baseline")
        if which == "run" or each.baseline is not None
    ]
    jobs = [
        Job(scenario, one)
        for number, which in wanted
        if (scenario := planned[number].scenario if which == "run" else planned[number].baseline) is not None
        for one in seeds(first, repeat)
    ]

    kept: dict[tuple[str, str], Run] = {}
    # If a discipline is tested, the empty prefix selects all flows.
    tested = UNDER_TEST if spec.subject == "control" else ""

    def reduce(job: int, run: Run) -> tuple[str, list[float | None]]:
        number, which = wanted[job // repeat]
        each = planned[number]
        if which == "run" and job % repeat == 0 and number < _MOST_KEPT:
            kept[each.case.key, each.line] = run
        view = [View(run, check, each.link, each.way, tested) for check in each.case.check]
        return run.digest, [MEASURES[check.measure].of(seen) for check, seen in zip(each.case.check, view, strict=True)]

    measured = Divided(f"suite {spec.name} in {world}: {[each.case.check for each in planned]}")
    done = run_jobs(jobs, reduce, world=world, kernel=kernel, workers=workers, progress=progress, divided=measured)
    values: dict[tuple[int, str], list[list[float | None]]] = {}
    digests: dict[int, str] = {}
    for job, (digest, found) in enumerate(done):
        number, which = wanted[job // repeat]
        values.setdefault((number, which), []).append(found)
        if which == "run" and job % repeat == 0:
            digests[number] = digest
    rows = [
        row
        for number, each in enumerate(planned)
        for row in _rows(spec, each, values[number, "run"], values.get((number, "baseline"), []), digests[number])
    ]
    digest = digest_of(found for found, _ in done)
    table = Table.of(rows, SUITE_CHECKS)
    label = None if discipline is None else discipline.label
    return SuiteResult(spec, chosen, cc, label, transport, world, repeat, first, table, kept, digest)


def _check_measures(spec: SuiteSpec) -> None:
    """Raises UsageError if a measure is unknown, or if a check lacks a required key, or sets a key that the
    measure does not use."""
    for case in spec.case:
        for check in case.check:
            where = f"{spec.folder / DESCRIPTION}, case {case.key!r}"
            if (measure := MEASURES.get(check.measure)) is None:
                raise UsageError(f"{where}: no measure is called {check.measure!r}; {choices(check.measure, MEASURES)}")
            given = {
                "of": check.of != (),
                "since_s": check.since_s != 0,
                "until_s": check.until_s is not None,
                "level": check.level is not None,
                "states": check.states != (),
            }
            for key, is_given in given.items():
                if is_given and key not in measure.reads:
                    raise UsageError(f"{where}: `{key}` has no effect on {check.measure}: {measure.text}")
                if not is_given and key in ("level", "states") and key in measure.reads:
                    raise UsageError(f"{where}: {check.measure} needs `{key}`: {measure.text}")


def _one(queue: str) -> Discipline:
    found = disciplines(queue)
    if len(found) != 1:
        raise UsageError(f"a suite tests one discipline at a time, and {queue!r} names {len(found)}")
    return found[0]


def _plan(
    spec: SuiteSpec,
    case: Case,
    cc: str | None,
    discipline: Discipline | None,
    transport: str,
    ways_back: Iterable[reverse.Line],
    forward: bool,
    controllers: Controllers | None,
) -> list[_Planned]:
    way = WAYS[case.direction][0]
    plain = spec.scenario(case, controllers)
    link = case.link or bottleneck(plain, way)
    events = {"record.tcp_events": True} if any(check.states for check in case.check) else {}
    prefix = UNDER_TEST if spec.subject == "control" else ""
    tested = _tested(plain, prefix, cc, transport).with_(**events)
    for wanted in {name for check in case.check for name in check.of} | {prefix}:
        if not any(name.startswith(wanted) for name in plain.flow_names):
            raise UsageError(
                f"{spec.folder / DESCRIPTION}, case {case.key!r}: no flow's name begins with {wanted!r} in {case.file}"
            )
    compared = _tested(plain, prefix, cc, transport).with_(**case.baseline) if case.baseline else None
    places: list[tuple[str, Direction]] = [
        (name, each) for name in (link, *case.beside) for each in WAYS[case.direction]
    ]

    def prepared(scenario: Scenario, line: reverse.Line | None) -> Scenario:
        if discipline is not None:
            written = type(scenario).build(scenario.to_tables(), scenario.name, controllers=scenario.controllers)
            scenario = discipline.placed(written, places, ecn=False)
        return scenario if line is None else reverse.on_line(scenario, link, way, line)

    lines: list[reverse.Line | None] = [None] if forward else list(ways_back) if case.reverse else []
    return [
        _Planned(
            case,
            reverse.FORWARD if line is None else line.name,
            link,
            way,
            prepared(tested, line),
            None if compared is None else prepared(compared, line),
        )
        for line in lines
    ]


def _tested(scenario: Scenario, prefix: str, cc: str | None, transport: str) -> Scenario:
    """Returns the scenario with the tested congestion control and transport in the flows under test."""
    flows = scenario.resolved["flows"]
    groups = dict.fromkeys(flow["group"] for flow in flows if flow["name"].startswith(prefix))
    settings: dict[str, Any] = {}
    for group in groups:
        if cc is not None:
            settings[dotted_key("flow", group, "cc")] = cc
        if transport != "tcp":
            settings[dotted_key("flow", group, "transport")] = transport
    return scenario.with_(**settings)


def _rows(
    spec: SuiteSpec,
    planned: _Planned,
    found: Sequence[Sequence[float | None]],
    baseline: Sequence[Sequence[float | None]],
    digest: str,
) -> Iterable[Row]:
    for place, check in enumerate(planned.case.check):
        each = [values[place] for values in found]
        value = _median(each)
        if check.compared:
            before = [values[place] for values in baseline]
            each = [_ratio(one, other) for one, other in zip(each, before, strict=True)]
            value = _ratio(value, _median(before))
        verdict = judged(check, value)
        yield {
            "suite": spec.name,
            "case": planned.case.key,
            "section": planned.case.section,
            "title": planned.case.title,
            "line": planned.line,
            "measure": check.measure,
            "of": " ".join(check.of),
            "expected": expected(check),
            "measured": said(check, value),
            "value": value,
            "at_least": check.at_least,
            "at_most": check.at_most,
            "origin": check.origin,
            "verdict": verdict,
            "seeds_passed": None if verdict == "no threshold" else sum(judged(check, one) == "pass" for one in each),
            "digest": digest,
        }


def _ratio(value: float | None, baseline: float | None) -> float | None:
    return value / baseline if value is not None and baseline else None


def _median(values: Iterable[float | None]) -> float | None:
    known = list(values)
    # A median that omits the failed seeds would hide the failures.
    return None if None in known else float(median(value for value in known if value is not None))


def judged(check: Check, value: float | None) -> Verdict:
    """Returns `pass` if the value is within the bounds, otherwise `fail`. A missing value fails.

    Returns `no threshold` if the check has no threshold, or a fitted one. A fitted threshold is not judged, because it
    was chosen when the result was already known.
    """
    if check.origin in ("", "fitted"):
        return "no threshold"
    low = check.at_least is None or (value is not None and value >= check.at_least)
    high = check.at_most is None or (value is not None and value <= check.at_most)
    return "pass" if value is not None and low and high else "fail"


def said(check: Check, value: float | None) -> str:
    if value is None:
        return "never"
    return f"{value:.3g} × baseline" if check.compared else MEASURES[check.measure].said(value)


def expected(check: Check) -> str:
    """Formats the bounds, the states and the time span of a check."""
    low, high = check.at_least, check.at_most
    bounds = "no threshold"
    if low is not None and high is not None:
        bounds = f"{said(check, low)} to {said(check, high)}" if low != high else said(check, low)
    elif low is not None:
        bounds = f"at least {said(check, low)}"
    elif high is not None:
        bounds = f"at most {said(check, high)}"
    states = f" ({' > '.join(check.states)})" if check.states else ""
    span = ""
    if check.since_s or check.until_s is not None:
        end = "the end" if check.until_s is None else f"{check.until_s:g} s"
        span = f", {check.since_s:g} s to {end}"
    return bounds + states + span
