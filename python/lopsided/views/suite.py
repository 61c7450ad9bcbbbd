"""The result of a suite as tables and sentences."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lopsided.data import units
from lopsided.data.view import Heading, Styled, View, view
from lopsided.studies.suite import reverse
from lopsided.studies.suite.cases import LeftOut, SuiteSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lopsided.studies.suite.study import SuiteResult

_STYLES = {"pass": "green", "fail": "bold red"}
_COLUMNS = ("case", "section", "line", "measure", "of", "expected", "measured", "origin", "verdict", "digest")
_MARKS = {"pass": "pass", "fail": "FAIL", "no threshold": "–", None: ""}


def title(found: SuiteResult) -> str:
    """The suite and the parts under test, in one line."""
    return f"{found.spec.title}: {found.tested or 'the controls of the files'}"


def details(found: SuiteResult) -> str:
    """How it came about."""
    seeds = f"{units.count(found.repeat)} seed{'s' if found.repeat > 1 else ''}"
    return f"{found.spec.source} · {found.world} · {seeds} · digest of all {found.digest}"


def verdict(found: SuiteResult) -> list[str]:
    """The sentences: how many cases pass, which fail, and where a narrow way back breaks them."""
    counts = Counter(found.verdict(case.key, line) for line in found.lines for case in found.cases)
    said = [f"{_cases(counts['pass'])} pass, {units.count(counts['fail'])} fail"]
    if counts["no threshold"]:
        said[0] += f", {units.count(counts['no threshold'])} have no threshold"
    said[0] += "."
    if len(found.lines) == 1 and found.failed:
        said.append(f"Failed: {', '.join(case for case, _ in found.failed)}.")
    elif found.failed:
        by_line = Counter(line for _, line in found.failed)
        worst, most = by_line.most_common(1)[0]
        said.append(f"Most cases fail on the line {worst}: {units.count(most)} of {len(found.cases)}.")
    if found.spec.left_out:
        said.append(
            f"{units.count(len(found.spec.left_out))} parts of the source cannot be simulated; the list says why."
        )
    return said


def _cases(count: int) -> str:
    return f"{units.count(count)} case{'' if count == 1 else 's'}"


def checks(found: SuiteResult, line: str, *, styled: bool = True) -> View:
    """Every number of the cases on a line."""
    rows = [row for row in found.checks.rows() if row["line"] == line]
    columns = [name for name in _COLUMNS if name != "line" and (name != "of" or any(row["of"] for row in rows))]
    plain = view(found.checks, columns, rows=rows, keys=1, most=len(rows))
    if not styled:
        return plain
    shown: list[Sequence[str]] = [
        [
            Styled(str(cell), _STYLES.get(str(cell), "")) if name == "verdict" else cell
            for name, cell in zip(columns, row, strict=True)
        ]
        for row in plain.rows
    ]
    return View(plain.headings, shown, keys=1)


def titles(found: SuiteResult) -> list[tuple[str, str]]:
    """Each case, and what it tests."""
    return [(case.key, case.title) for case in found.cases]


def grid(found: SuiteResult) -> View:
    """The verdict on each case on each line."""
    headings = [Heading("case", numeric=False), *(Heading(line, numeric=False) for line in found.lines)]
    rows = [[case.key, *(_MARKS[found.verdict(case.key, line)] for line in found.lines)] for case in found.cases]
    return View(headings, rows, keys=1)


def left_out(parts: Sequence[LeftOut]) -> View:
    """The parts of the source that cannot be simulated, and the reasons."""
    headings = [Heading(name, numeric=False) for name in ("section", "left out", "because")]
    return View(headings, [[part.section, part.title, part.reason] for part in parts], keys=1)


def listed(specs: Sequence[SuiteSpec]) -> View:
    """The suites that there are."""
    headings = [
        Heading("suite", numeric=False),
        Heading("cases"),
        Heading("tests", numeric=False),
        Heading("title", numeric=False),
        Heading("source", numeric=False),
    ]
    tests = {"control": "a congestion control (--cc)", "queue": "a queue discipline (--queue)"}
    return View(
        headings,
        [[spec.name, str(len(spec.case)), tests[spec.subject], spec.title, spec.source] for spec in specs],
        keys=1,
    )


def is_forward(found: SuiteResult) -> bool:
    """Whether the cases ran on the source's own lines."""
    return found.lines == (reverse.FORWARD,)
