"""Suites: scenarios that someone asks every discipline to be shown in, each compared as one scenario is.

`rfc7928` is the Characterization Guidelines for AQM (RFC 7928): a scenario for each section that recommends a test;
the two experiments of 8.2.6 are `8.2.6-1` and `8.2.6-2`. Left out is what is no scenario (implementation cost, operator
control). Section 4.5 asks for every test with ECN too: `ecn`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lopsided.data.table import Row
from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.studies.aqm.disciplines import Queues
from lopsided.studies.aqm.study import Aqm, aqm
from lopsided.studies.jobs import Progress, part_of
from lopsided.studies.options import AQM_QUEUES

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Section:
    """A scenario of a suite: where it is asked for, its file, and where the disciplines stand."""

    number: str
    file: str
    direction: Literal["both", "down", "up"] = "down"
    link: str | None = None
    beside: tuple[str, ...] = ()

    def scenario(self, suite: str) -> Scenario:
        """The scenario as the file has it."""
        return Scenario.load(Path(__file__).parent / suite / self.file)


SUITES: Mapping[str, tuple[Section, ...]] = {
    "rfc7928": (
        *(Section(number, f"{number}.toml") for number in ("5.1.1", "5.1.2", "5.2", "5.3", "5.4")),
        Section("6", "6.toml", link="bottleneck"),
        *(Section(number, f"{number}.toml") for number in ("7.2", "8.2.2", "8.2.3", "8.2.4", "8.2.5")),
        *(Section(number, f"{number}.toml") for number in ("8.2.6-1", "8.2.6-2", "9.1")),
        Section("9.2", "9.2.toml", "both"),
        Section("10", "10.toml", link="second", beside=("first",)),
    )
}


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

    `options` are those of `AqmOptions` but for the place, which each section has.
    """
    chosen = _chosen(name, sections)
    found: dict[str, Aqm] = {}
    for place, section in enumerate(chosen):
        found[section.number] = aqm(
            section.scenario(name),
            queues,
            direction=section.direction,
            link=section.link,
            beside=section.beside,
            workers=workers,
            progress=part_of(progress, place / len(chosen), 1 / len(chosen)),
            **options,
        )
    return Suite(name, found)


def _begins(wanted: str) -> str:
    return wanted.replace("-", ".") + "."


def _chosen(name: str, sections: Sequence[str]) -> list[Section]:
    if name not in SUITES:
        raise UsageError(f"no suite is called {name!r}: there is {', '.join(SUITES)}")
    chosen: list[Section] = []
    for wanted in sections:
        begun = [each for each in SUITES[name] if f"{each.number}.".replace("-", ".").startswith(_begins(wanted))]
        if not begun:
            raise UsageError(f"{name} has no section {wanted!r}: {', '.join(each.number for each in SUITES[name])}")
        chosen += [each for each in begun if each not in chosen]
    return chosen or list(SUITES[name])
