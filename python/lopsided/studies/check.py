"""Compares two builds of a program over emulated lines, in real time.

    found = check("target/main", "target/new", "{}/client 100.64.0.1:4433", server="{}/server 0.0.0.0:4433")
    found.lines        # one row for each line: both means, the paired difference with its 95 % interval, a verdict

For each line and seed, both builds run in turn over the same line with the same random numbers. The comparison is
paired: the 95 % interval is computed from the differences within the pairs. The order of the builds alternates, so that
a slow change of the machine's speed cancels out. Client and server run at the ends of the line (`emulate --server`). A
run ends when its client exits, at the time limit, or when this process ends.

Time, bytes and queueing delay are measured at the line. The output of the programs is not evaluated.
"""

from __future__ import annotations

import itertools
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from lopsided import metrics
from lopsided.data import units
from lopsided.data.catalogue import TableSpec
from lopsided.data.study_tables import CHECK_LINES, CHECK_RUNS
from lopsided.data.suggestions import choices
from lopsided.data.table import Row, Table
from lopsided.data.units import counted
from lopsided.data.view import view
from lopsided.errors import RunError, UsageError
from lopsided.scenario import Scenario
from lopsided.studies.ackpath.study import two_way
from lopsided.studies.emulate import Emulated, LineOptions, emulate
from lopsided.studies.jobs import Progress, seeds
from lopsided.studies.options import CHECK_LIMIT, CHECK_LINES_TRIED, CHECK_MARGIN, CHECK_METRIC, CHECK_REPEAT
from lopsided.studies.study import Block, Source, Study
from lopsided.studies.sweep.axes import arms_of

BASELINE, CANDIDATE = "baseline", "candidate"
METRICS = {
    "time": "time_s",
    "down_bytes": "down_bytes",
    "up_bytes": "up_bytes",
    "down_delay": "down_sojourn_p95_ms",
    "up_delay": "up_sojourn_p95_ms",
}
"""The table column of each metric. Smaller values are better."""

_ENDED_BY_SIGNAL = {128 + number for number in (1, 2, 3, 15)}
_TIMED_OUT = 124
_LAST_BYTES = 2000
"""If a program fails, its last output is reported, up to this number of bytes."""


@dataclass(frozen=True)
class _Line:
    name: str
    options: LineOptions
    settings: tuple[str, ...]


@dataclass(frozen=True)
class Check(Study):
    """The result of a comparison. `lines` has one row per line, and `runs` has one row per run of a build."""

    kind: ClassVar[str] = "check"
    footer: ClassVar[str] = "`lines.csv` and `runs.csv` next to this page contain all numbers."

    baseline: str
    candidate: str
    client: str
    server: str | None
    metric: str
    margin: float
    repeat: int
    seed: int
    lines: Table
    runs: Table
    failures: Mapping[str, str]
    """The last lines that each failed run printed. The key names the build, the line and the seed."""

    @property
    def worse(self) -> list[str]:
        """The lines on which the candidate build is worse or fails."""
        return [row["line"] for row in self.lines.rows() if row["verdict"] in ("worse", "failed")]

    @property
    def title(self) -> str:
        return f"{self.candidate} compared with {self.baseline}"

    @property
    def details(self) -> str:
        return f"{counted(len(self.lines), 'line')} · {counted(self.repeat, 'pair')} on each · real time"

    def conclusions(self) -> list[str]:
        said: list[str] = []
        by_verdict = {
            "failed": "The candidate fails on {}.",
            "worse": "The candidate is worse on {}.",
            "better": "The candidate is better on {}.",
            "unsure": "The difference on {} is too uncertain for a verdict; use a larger --repeat.",
            "same": f"No difference above {units.percent(self.margin)} on {{}}.",
        }
        for verdict, sentence in by_verdict.items():
            names = [row["line"] for row in self.lines.rows() if row["verdict"] == verdict]
            if names:
                said.append(sentence.format("; ".join(names)))
        return said

    def conditions(self) -> list[tuple[str, str]]:
        server = [("server", self.server)] if self.server else []
        return [
            (BASELINE, self.baseline),
            (CANDIDATE, self.candidate),
            *server,
            ("client", self.client),
            ("judged", f"{self.metric}, margin {units.percent(self.margin)}"),
            ("pairs", f"{self.repeat} on each line, seeds from {self.seed}"),
        ]

    def identity(self) -> dict[str, Any]:
        names = ("baseline", "candidate", "client", "server", "metric", "margin", "repeat", "seed")
        return {name: getattr(self, name) for name in names}

    def results(self) -> dict[str, Any]:
        return {"lines": list(self.lines.rows()), "worse": self.worse, "failures": dict(self.failures)}

    def files(self) -> Mapping[str, Table | str]:
        return {"lines.csv": self.lines, "runs.csv": self.runs}

    def shown(self) -> list[Block]:
        failed = [Source(name, text) for name, text in itertools.islice(self.failures.items(), 3)]
        return [view(self.lines, caption=CAPTION), *failed]

    def page(self) -> list[Block]:
        failed = [Source(name, text) for name, text in self.failures.items()]
        return [view(self.lines, caption=CAPTION), view(self.runs, keys=3, most=400), *failed]


CAPTION = (
    "change: mean difference of the pairs as a share of the baseline's mean; ±: half width of its 95 % interval "
    "(Student's t); worse or better: the whole interval is beyond the margin"
)


def check(
    baseline: str,
    candidate: str,
    client: str,
    *,
    server: str | None = None,
    lines: Sequence[str] = CHECK_LINES_TRIED,
    settings: Sequence[str] = (),
    metric: str = CHECK_METRIC,
    margin: float = CHECK_MARGIN,
    repeat: int = CHECK_REPEAT,
    seed: int = 1,
    limit: str = CHECK_LIMIT,
    progress: Progress | None = None,
) -> Check:
    """Runs both builds over each line.

    Parameters
    ----------
    baseline, candidate
        The two builds: a folder, a program, or any text. The text replaces `{}` in `client` and `server`.
    client
        Shell command that runs behind the line. The command reaches the server at 100.64.0.1.
    server
        Shell command that runs at the far end of the line. The client starts when the server has opened a port. By
        default, this machine's services are at the far end (see `emulate`).
    lines
        Names of access lines, or paths of scenario files.
    settings
        Settings of all lines, `key=value`. `key=a,b` tries each line with each value.
    metric
        The quantity to compare, a name from `METRICS`. Smaller values are better.
    margin
        Fraction of the baseline's mean by which the candidate may be worse.
    repeat
        Number of pairs of runs per line, at least 2. Each pair has its own seed.
    seed
        The first seed of the lines' random numbers.
    limit
        Time limit of a run, such as "60s".
    progress
        Called with the completed fraction of the work, 0 to 1.

    Raises
    ------
    ScenarioError
        If a line does not accept a setting.
    UsageError
        If a line or the metric is unknown, or if there are fewer than 2 pairs.
    RunError
        If the baseline fails in all runs on a line.
    KeyboardInterrupt
        If a signal ended a program.
    """
    if metric not in METRICS:
        raise UsageError(f"no metric is called {metric!r}; {choices(metric, METRICS)}")
    if repeat < 2:
        raise UsageError("an interval needs at least 2 pairs: --repeat 2 or more")
    if not 0 <= margin < 1:
        raise UsageError(f"the margin {margin:g} is not a share from 0 to 1")
    if "{}" not in client + (server or ""):
        raise UsageError("both builds would run the same commands: write {} for the build in --client or --server")
    tried = _matrix(lines, settings)
    rows: list[Row] = []
    failures: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="lopsided-check-") as scratch:
        outputs = [Path(scratch) / name for name in ("client", "server")]
        for line, (pair, seed_now) in itertools.product(tried, enumerate(seeds(seed, repeat))):
            builds = [(BASELINE, baseline), (CANDIDATE, candidate)]
            for name, build in builds if pair % 2 == 0 else reversed(builds):
                commands = [
                    None if command is None else _quiet(command.replace("{}", build), output)
                    for command, output in zip((client, server), outputs, strict=True)
                ]
                options = replace(line.options, server=commands[1], limit=limit)
                done = emulate(
                    options, ["/bin/sh", "-c", commands[0] or ""], settings=line.settings, seed=seed_now, meter=False
                )
                if done.exit_code in _ENDED_BY_SIGNAL:
                    raise KeyboardInterrupt
                if done.exit_code:
                    failures[f"{name} on {line.name}, seed {seed_now}"] = _ending(done.exit_code, limit, outputs)
                rows.append({"line": line.name, "build": name, "seed": seed_now, **_measured(done)})
                if progress is not None:
                    progress(len(rows) / (2 * repeat * len(tried)))
    judged = [_judged(line.name, [row for row in rows if row["line"] == line.name], metric, margin) for line in tried]
    for row in judged:
        if row["baseline_failures"] == repeat:
            ending = failures[f"{BASELINE} on {row['line']}, seed {seed}"]
            raise RunError(f"the baseline fails every time on {row['line']}: {ending}")
    tables = Table.of(judged, line_table(metric)), Table.of(rows, CHECK_RUNS)
    return Check(baseline, candidate, client, server, metric, margin, repeat, seed, *tables, failures)


def line_table(metric: str) -> TableSpec:
    """Returns the declaration of the table `lines`. The means of both builds have the unit of the metric."""
    unit = CHECK_RUNS[METRICS[metric]].unit
    columns = (replace(each, unit=unit) if each.name in (BASELINE, CANDIDATE) else each for each in CHECK_LINES.columns)
    return replace(CHECK_LINES, columns=tuple(columns))


def _matrix(lines: Sequence[str], settings: Sequence[str]) -> list[_Line]:
    """Returns one line for each combination of a line's name and the values of all settings."""
    if not lines or len(set(lines)) < len(lines):
        raise UsageError("name each line once, and at least one")
    axes = [arms_of(key.strip(), values.strip()) for key, _, values in (each.partition("=") for each in settings)]
    found: list[_Line] = []
    for name in lines:
        if name.endswith(".toml"):
            options, scenario = LineOptions(scenario=Path(name)), Scenario.load(Path(name))
        else:
            options, scenario = LineOptions(preset=name), two_way(name)
        for arms in itertools.product(*axes):
            varied = [arm.label for arm, axis in zip(arms, axes, strict=True) if len(axis) > 1]
            made = {key: value for arm in arms for key, value in arm.settings.items()}
            # An invalid setting raises ScenarioError here, before the first run.
            scenario.with_(**made)
            found.append(_Line(", ".join([name, *varied]), options, tuple("=".join(each) for each in made.items())))
    return found


def _quiet(command: str, output: Path) -> str:
    """Runs the command without a terminal, and writes its output to a file."""
    return f"exec </dev/null >{shlex.quote(str(output))} 2>&1\n{command}"


def _ending(exit_code: int, limit: str, outputs: Sequence[Path]) -> str:
    """Describes how a run failed, with the last lines of both programs' output."""
    said = [f"not done after {limit}" if exit_code == _TIMED_OUT else f"exit code {exit_code}"]
    for output in outputs:
        if output.exists() and (text := output.read_bytes()[-_LAST_BYTES:].decode(errors="replace").strip()):
            said.append(f"{output.name}: {text}")
    return "\n".join(said)


def _measured(done: Emulated) -> Row:
    found: Row = {"exit_code": done.exit_code, "time_s": done.duration_s, "late_p99_us": done.late_us["p99"]}
    for way in ("down", "up"):
        links = [row for row in done.links.rows() if row["direction"] == way]
        delays = [row["sojourn_p95_ms"] for row in links if row["sojourn_p95_ms"] is not None]
        found[f"{way}_bytes"] = max(row["sent_bytes"] for row in links)
        found[f"{way}_sojourn_p95_ms"] = max(delays, default=None)
        found[f"{way}_dropped_packets"] = sum(row["dropped_packets"] + row["lost_packets"] for row in links)
    return found


def _judged(line: str, rows: Sequence[Row], metric: str, margin: float) -> Row:
    of_build = {build: {row["seed"]: row for row in rows if row["build"] == build} for build in (BASELINE, CANDIDATE)}
    column = METRICS[metric]
    values = {
        build: {seed: float(row[column] or 0.0) for seed, row in found.items() if row["exit_code"] == 0}
        for build, found in of_build.items()
    }
    failed = {build: sum(row["exit_code"] != 0 for row in found.values()) for build, found in of_build.items()}
    pairs = [(values[BASELINE][seed], value) for seed, value in values[CANDIDATE].items() if seed in values[BASELINE]]
    difference = metrics.mean_interval([after - before for before, after in pairs])
    means = {build: metrics.mean_interval(found.values()).mean for build, found in values.items()}
    mean = metrics.mean_interval([before for before, _ in pairs]).mean
    change, half_width = (difference.mean / mean, difference.half_width / mean) if pairs and mean else (None, None)
    return {
        "line": line,
        "pairs": len(pairs),
        "baseline_failures": failed[BASELINE],
        "candidate_failures": failed[CANDIDATE],
        "baseline": means[BASELINE] if values[BASELINE] else None,
        "candidate": means[CANDIDATE] if values[CANDIDATE] else None,
        "change": change,
        "change_ci95": half_width,
        "verdict": verdict(failed[CANDIDATE] > failed[BASELINE], change, half_width, margin),
    }


def verdict(fails: bool, change: float | None, half_width: float | None, margin: float) -> str:
    """Returns the verdict on a line. The verdict is `worse` or `better` only if the whole interval is beyond the
    margin."""
    if fails:
        return "failed"
    if change is None or half_width is None or half_width != half_width:
        return "unsure"
    low, high = change - half_width, change + half_width
    if low > margin:
        return "worse"
    if high < -margin:
        return "better"
    return "same" if -margin <= low and high <= margin else "unsure"
