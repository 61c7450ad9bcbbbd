"""The result of a suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from lopsided.data import units
from lopsided.data.table import Row, Table
from lopsided.data.units import counted
from lopsided.data.view import Styled, View, numbers, view, words
from lopsided.studies.study import Block, Drawing, Headline, Note, Study, Terms
from lopsided.studies.suite import reverse
from lopsided.studies.suite.cases import Case, LeftOut, SuiteSpec

if TYPE_CHECKING:
    from lopsided.scenario import Run

_STYLES = {"pass": "green", "fail": "bold red"}
_COLUMNS = ("case", "section", "line", "measure", "of", "expected", "measured", "origin", "verdict", "digest")
_MARKS = {"pass": "pass", "fail": "FAIL", "no threshold": "–", None: ""}

Verdict = Literal["pass", "fail", "no threshold"]


@dataclass(frozen=True)
class SuiteResult(Study):
    """The result of a suite. The table `checks` has one row per check, case and line."""

    kind: ClassVar[str] = "suite"
    footer: ClassVar[str] = (
        "The column `origin` states whether a threshold is from the source, our own, or fitted to a known result. "
        "Fitted thresholds are not judged. `checks.csv` and `checks.parquet` next to this page contain all numbers."
    )

    spec: SuiteSpec
    cases: tuple[Case, ...]
    cc: str | None
    queue: str | None
    transport: str
    world: str
    repeat: int
    seed: int
    checks: Table
    runs: Mapping[tuple[str, str], Run]
    """Runs with the first seed, by case and line. Only the first runs of the suite are stored."""
    digest: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The names of the lines on which the cases ran, in order."""
        return tuple(dict.fromkeys(self.checks.values("line")))

    @cached_property
    def _verdicts(self) -> Mapping[tuple[str, str], Verdict]:
        """The verdict for each case and line. A case fails on a line if one of its checks fails."""
        found: dict[tuple[str, str], set[str]] = {}
        for row in self.checks.rows():
            found.setdefault((row["case"], row["line"]), set()).add(row["verdict"])
        return {
            key: "fail" if "fail" in verdicts else "pass" if "pass" in verdicts else "no threshold"
            for key, verdicts in found.items()
        }

    def verdict(self, case: str, line: str) -> Verdict | None:
        """Returns the verdict on a case; `None` if the case was not run on the line."""
        return self._verdicts.get((case, line))

    @property
    def failed(self) -> list[tuple[str, str]]:
        """The keys of the failed cases, each with the name of the line."""
        return [key for key, verdict in self._verdicts.items() if verdict == "fail"]

    @property
    def tested(self) -> str:
        """The congestion control and the discipline that were tested, such as `bbr3` or `cubic, fq_codel`."""
        return ", ".join(name for name in (self.cc, self.queue) if name) + (
            " over QUIC" if self.transport == "quic" else ""
        )

    @property
    def title(self) -> str:
        return f"{self.spec.title}: {self.tested or 'the controls of the scenario files'}"

    @property
    def details(self) -> str:
        return f"{self.spec.source} · {self.world} · {counted(self.repeat, 'seed')} · digest of all {self.digest}"

    @property
    def is_forward(self) -> bool:
        """True if the cases ran on the lines that the suite specifies, and false with `--reverse`."""
        return self.lines == (reverse.FORWARD,)

    def conclusions(self) -> list[str]:
        """Returns sentences about passed and failed cases, and about the line with the most failures."""
        counts = Counter(self.verdict(case.key, line) for line in self.lines for case in self.cases)
        said = [f"{_cases(counts['pass'])} pass, {units.count(counts['fail'])} fail"]
        if counts["no threshold"]:
            said[0] += f", {units.count(counts['no threshold'])} have no threshold"
        said[0] += "."
        fitted = sum(check.origin == "fitted" for case in self.cases for check in case.check)
        if fitted:
            said.append(f"{counted(fitted, 'threshold')} {'is' if fitted == 1 else 'are'} fitted and not judged.")
        divided = {row["case"] for row in self.checks.rows() if _seeds(self, row)}
        if divided:
            said.append(f"The verdict depends on the seed in {_cases(len(divided))}: {', '.join(sorted(divided))}.")
        if len(self.lines) == 1 and self.failed:
            said.append(f"Failed: {', '.join(case for case, _ in self.failed)}.")
        elif self.failed:
            by_line = Counter(line for _, line in self.failed)
            worst, most = by_line.most_common(1)[0]
            said.append(f"Most cases fail on the line {worst}: {units.count(most)} of {len(self.cases)}.")
        if self.spec.left_out:
            parts = counted(len(self.spec.left_out), "part")
            said.append(f"{parts} of the source cannot be simulated; the list states the reasons.")
        return said

    def conditions(self) -> list[tuple[str, str]]:
        return [
            ("source", self.spec.source),
            ("tested", self.tested or "the controls of the scenario files"),
            ("world", self.world),
            ("seeds", f"{self.repeat} from {self.seed}"),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        return {
            "suite": self.spec.name,
            "source": self.spec.source,
            "cc": self.cc,
            "queue": self.queue,
            "transport": self.transport,
            "world": self.world,
            "repeat": self.repeat,
            "seed": self.seed,
            "failed": [f"{case} ({line})" for case, line in self.failed],
            "digest": self.digest,
        }

    def results(self) -> dict[str, Any]:
        return {"checks": list(self.checks.rows()), "left_out": [vars(each) for each in self.spec.left_out]}

    def files(self) -> Mapping[str, Table | str]:
        return {"checks.csv": self.checks, "checks.parquet": self.checks}

    def shown(self) -> Iterable[Block]:
        if not self.is_forward:
            yield grid(self)
            yield "Every number is in checks.csv and in the report.\n"
            return
        yield checks(self, self.lines[0])
        if self.spec.left_out:
            yield left_out(self.spec.left_out)

    def page(self) -> Iterable[Block]:
        if not self.is_forward:
            yield Headline("Verdicts by line")
            yield grid(self)
        yield Headline("Cases")
        yield Terms([(case.key, case.title) for case in self.cases])
        for line in self.lines:
            yield Headline(f"Numbers: {line}")
            yield checks(self, line)
        if self.spec.left_out:
            yield Headline("Left out")
            yield left_out(self.spec.left_out)
        yield Headline("Goodput of each run")
        drawn = [(key, run) for key, run in sorted(self.runs.items()) if len(run.samples)]
        for (case, line), run in drawn:
            yield Note(f"{case}, {line}: {self.verdict(case, line)}")
            yield Drawing("goodput", "Goodput over time", run)
        if hidden := len(self.cases) * len(self.lines) - len(drawn):
            yield f"The figures of {hidden} more runs are not shown."


def _cases(count: int) -> str:
    return f"{units.count(count)} case{'' if count == 1 else 's'}"


def checks(found: SuiteResult, line: str) -> View:
    """Returns a table of all checks on one line."""
    rows = _one_digest_per_run([row for row in found.checks.rows() if row["line"] == line])
    columns = [name for name in _COLUMNS if name != "line" and (name != "of" or any(row["of"] for row in rows))]
    plain = view(found.checks, columns, rows=rows, keys=1, most=len(rows))
    shown: list[Sequence[str]] = [
        [
            Styled(f"{cell}{_seeds(found, check)}", _STYLES.get(str(cell), "")) if name == "verdict" else cell
            for name, cell in zip(columns, row, strict=True)
        ]
        for check, row in zip(rows, plain.rows, strict=True)
    ]
    return View(plain.headings, shown, keys=1)


def _seeds(found: SuiteResult, check: Row) -> str:
    """Returns a remark with the number of seeds that pass, if the verdict depends on the seed; otherwise an empty
    text."""
    passed = check["seeds_passed"]
    return "" if passed in (None, 0, found.repeat) else f" ({passed} of {found.repeat} seeds pass)"


def _one_digest_per_run(rows: list[Row]) -> list[Row]:
    """Returns the rows with an empty digest if the row before has the same digest."""
    before = ["", *(row["digest"] for row in rows)]
    return [row | {"digest": ""} if row["digest"] == last else row for row, last in zip(rows, before, strict=False)]


def grid(found: SuiteResult) -> View:
    """Returns a table of verdicts, with cases as rows and lines as columns."""
    headings = words("case", *found.lines)
    rows = [[case.key, *(_MARKS[found.verdict(case.key, line)] for line in found.lines)] for case in found.cases]
    return View(headings, rows, keys=1)


def left_out(parts: Sequence[LeftOut]) -> View:
    """Returns a table of the parts of the suite's source that cannot be simulated, with reasons."""
    headings = words("section", "left out", "because")
    return View(headings, [[part.section, part.title, part.reason] for part in parts], keys=1)


def listed(specs: Sequence[SuiteSpec]) -> View:
    headings = [*words("suite"), *numbers("cases"), *words("tests", "title", "source")]
    tests = {"control": "a congestion control (--cc)", "queue": "a queue discipline (--queue)"}
    return View(
        headings,
        [[spec.name, str(len(spec.case)), tests[spec.subject], spec.title, spec.source] for spec in specs],
        keys=1,
    )
