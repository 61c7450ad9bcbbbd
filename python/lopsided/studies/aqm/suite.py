"""Runs a suite under several disciplines. Each case is compared like a single scenario.

The cases come from the suites of `lopsided.studies.suite` that test queues. The suite `rfc7928` follows the AQM
Characterization Guidelines (RFC 7928). The cases `8.2.6-1` and `8.2.6-2` are the two experiments of section 8.2.6.
Section 4.5 requires that each test is also run with `ecn`.
"""

from __future__ import annotations

from collections.abc import Sequence

from lopsided.errors import UsageError
from lopsided.studies.aqm.disciplines import Queues
from lopsided.studies.aqm.result import Aqm, Suite
from lopsided.studies.aqm.study import aqm
from lopsided.studies.jobs import Progress, part_of
from lopsided.studies.options import AQM_QUEUES, AqmOptions
from lopsided.studies.suite import cases

SUITES = ("rfc7928",)
"""The suites that compare disciplines."""


def run_suite(
    name: str,
    queues: Queues = AQM_QUEUES,
    *,
    sections: Sequence[str] = (),
    workers: int | None = None,
    progress: Progress | None = None,
    workload: str | None = AqmOptions.workload,
    probe: bool = AqmOptions.probe,
    ecn: bool = AqmOptions.ecn,
    repeat: int = AqmOptions.repeat,
    seed: int | None = AqmOptions.seed,
) -> Suite:
    """Runs a suite, or some of its sections, under each queue discipline.

    Parameters
    ----------
    name
        The suite, one of `SUITES`.
    queues
        The disciplines to compare, in the form that `aqm` accepts.
    sections
        Numbers of sections; `8.2` includes its subsections.
    workers
        Number of threads; default: the number of cores.
    progress
        Called with the completed fraction of the work, 0 to 1.
    workload, probe, ecn, repeat, seed
        See `AqmOptions`.

    Raises
    ------
    UsageError
        If a suite or a section does not exist.
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
            workload=workload,
            probe=probe,
            ecn=ecn,
            repeat=repeat,
            seed=seed,
        )
    return Suite(name, found)
