"""`lopsided aqm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import (
    ANSWER,
    NOTHING,
    PRINTING,
    Answer,
    Kernel,
    OwnCode,
    Printing,
    Settings,
    Workers,
    World,
    load,
)
from lopsided.cli.study import carry_out
from lopsided.data.suggestions import names_in
from lopsided.errors import UsageError
from lopsided.studies.options import AQM_QUEUES, AqmOptions

USUAL = AqmOptions()


def aqm(
    file: Path | None = None,
    /,
    *,
    queues: str = AQM_QUEUES,
    options: Annotated[AqmOptions, Parameter(name="*")] = USUAL,
    suite: str | None = None,
    sections: str = "",
    settings: Settings = (),
    own: OwnCode = NOTHING,
    answer: Answer = ANSWER,
    world: World = "sim",
    kernel: Kernel = None,
    workers: Workers = None,
    printing: Printing = PRINTING,
) -> None:
    """Compare queue disciplines: run one scenario with each discipline.

    Prints goodput, fairness, RTTs and queueing delay, and quantities that users notice: loading times of web pages,
    times of short transfers, and round trips per minute. The result folder contains the tables as CSV, figures and
    report.html; by default it is created under `runs/`.

    For example:

        lopsided aqm scenarios/web.toml --queues fifo,codel,fq_codel,pie,cake
        lopsided aqm adsl.toml --workload rrul --direction up --repeat 5
        lopsided aqm adsl.toml --ecn \\
          --queues 'file,codel,{ kind = "codel", target = "15 ms", label = "slow" }'
        lopsided aqm adsl.toml --queues fifo,fq_codel --world sim,kernel
        lopsided aqm --suite rfc7928 --queues fifo,pie,fq_codel --sections 5,8.2

    Parameters
    ----------
    file
        The scenario file.
    queues
        The disciplines, separated by commas: names, tables with settings, or `file` for the scenario's own queue.
    suite
        Instead of a file: `rfc7928` runs the scenarios of RFC 7928, the guidelines for characterizing AQM.
    sections
        Sections of the suite to run, with their subsections, such as `5,8.2`; default: all.
    """
    from lopsided.studies import aqm as study

    if suite is not None:
        if file is not None:
            raise UsageError(f"a suite has its own scenarios: omit {file} or --suite")
        of_suite = {key: value for key, value in vars(options).items() if key in ("ecn", "repeat", "seed")}
        carry_out(
            lambda report: study.run_suite(
                suite, queues, sections=names_in(sections), workers=workers, progress=report, **of_suite
            ),
            f"aqm-{suite}",
            suite,
            answer,
            printing,
        )
        return
    if file is None:
        raise UsageError("name a scenario file, or a suite: --suite rfc7928")
    scenario = load(file, settings, own)
    carry_out(
        lambda report: study.aqm(
            scenario,
            queues,
            world=[name.strip() for name in world.split(",")],
            kernel=kernel,
            workers=workers,
            progress=report,
            **vars(options),
        ),
        f"aqm-{scenario.name}",
        f"queue disciplines at {scenario.name}",
        answer,
        printing,
    )
