"""A suite under many disciplines: each of its cases compared as one scenario is.

The cases are those of `lopsided.studies.suite` whose subject is a queue. `rfc7928` is the Characterization Guidelines
for AQM (RFC 7928): a scenario for each section that recommends a test; the two experiments of 8.2.6 are `8.2.6-1` and
`8.2.6-2`. Section 4.5 asks for every test with ECN too: `ecn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lopsided.data.table import Row
from lopsided.errors import UsageError
from lopsided.studies.aqm.disciplines import Queues
from lopsided.studies.aqm.study import Aqm, aqm
from lopsided.studies.jobs import Progress, part_of
from lopsided.studies.options import AQM_QUEUES
from lopsided.studies.suite import cases

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITES = ("rfc7928",)
"""The suites that compare disciplines."""


@dataclass(frozen=True)
class Suite:
    """A comparison for each section."""

    name: str
    sections: Mapping[str, Aqm]

    def rows(self) -> Iterator[Row]:
        """The cells of all sections."""
        for number, found in self.sections.items():
            for row in found.cells.rows():
                yield {"section": number, **row}


def run_suite(
    name: str,
    queues: Queues = AQM_QUEUES,
    *,
    sections: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Suite:
    """Runs the suite, or those of its sections that are named or begin with a name (`8.2`).

    `options` are those of `AqmOptions` but for the place, which each section has. Raises UsageError for a suite or a
    section that there is not.
    """
    if name not in SUITES:
        raise UsageError(f"no suite is called {name!r}: there is {', '.join(SUITES)}")
    spec = cases.load(name)
    chosen = spec.chosen(tuple(sections))
    found: dict[str, Aqm] = {}
    for place, case in enumerate(chosen):
        found[case.key] = aqm(
            spec.scenario(case),
            queues,
            direction=case.direction,
            link=case.link,
            beside=case.beside,
            workers=workers,
            progress=part_of(progress, place / len(chosen), 1 / len(chosen)),
            **options,
        )
    return Suite(name, found)
