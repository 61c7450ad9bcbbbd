"""`lopsided suite`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lopsided.cli import sharding
from lopsided.cli.options import (
    ANSWER,
    NOTHING,
    PRINTING,
    Answer,
    Flag,
    Kernel,
    OwnCode,
    Printing,
    Seed,
    Workers,
    World,
)
from lopsided.cli.study import carry_out
from lopsided.cli.terminal import out, print_json, progress
from lopsided.errors import UsageError
from lopsided.studies.suite import cases

if TYPE_CHECKING:
    from lopsided.studies.jobs import Progress
    from lopsided.studies.suite.result import SuiteResult

FAILED = 1
"""The exit code if at least one case fails."""


def suite(
    name: str | None = None,
    /,
    *,
    cc: str | None = None,
    queue: str | None = None,
    transport: Literal["tcp", "quic"] = "tcp",
    case: tuple[str, ...] = (),
    reverse: Flag = False,
    line: str | None = None,
    list_suites: Annotated[Flag, Parameter(name="--list")] = False,
    repeat: int = 1,
    seed: Seed = None,
    own: OwnCode = NOTHING,
    answer: Answer = ANSWER,
    world: World = "sim",
    kernel: Kernel = None,
    workers: Workers = None,
    shard: sharding.Shard = None,
    printing: Printing = PRINTING,
) -> int:
    """Run a standard suite by name, such as the cases of RFC 9743, and judge each case.

    The table has one row per measured number: the expected value and its source, the measured value, and the verdict.
    The exit code is 1 if a case fails. The result folder contains the table (CSV, Parquet) and report.html; by default
    it is created under `runs/`.

    For example:

        lopsided suite --list
        lopsided suite rfc9743 --cc bbr3
        lopsided suite rfc9743 --cc cubic --case 5.2.1
        lopsided suite rfc9743 --cc bbr3 --reverse --line "25:1 loaded"
        lopsided suite rfc7928 --queue cake
        lopsided suite my-folder --cc mine --controller mine.py:Mine
        lopsided suite rfc9743 --reverse --shard 3/64 --out shards

    Parameters
    ----------
    name
        The suite, or a folder with a `suite.toml`.
    cc
        Congestion control of the flows under test; default: the suite's own.
    queue
        Queue discipline at the bottleneck, a name or a table; default: the queue of the suite or of its scenarios.
    transport
        Transport protocol of the flows under test.
    case
        Run only this case, or the cases of this section, such as `8.2`; may be given several times.
    reverse
        Run the cases on lines with a slow reverse path: 10:1, 25:1 and 50:1, idle and loaded, with all or fewer ACKs.
    line
        With --reverse, only the lines whose names contain these words, such as "25:1", "loaded" or "plain" (all ACKs).
    list_suites
        List the available suites.
    repeat
        Number of seeds for each case; the verdict is based on the median.
    """
    from lopsided.studies.suite import study

    if list_suites:
        _list(printing.as_json)
        return 0
    if name is None:
        raise UsageError(f"name a suite: {', '.join(cases.names())}, or a folder with a suite.toml")
    if line is not None and not reverse:
        raise UsageError("--line chooses among the lines of --reverse: add --reverse")
    spec = cases.load(name)
    controllers = own.load()

    def run(report: Progress | None) -> SuiteResult:
        return study.suite(
            name,
            cc=cc,
            queue=queue,
            transport=transport,
            cases=case,
            line=(line or "") if reverse else None,
            controllers=controllers,
            world=world,
            kernel=kernel,
            repeat=repeat,
            seed=seed,
            workers=workers,
            progress=report,
        )

    if shard is not None:
        with progress(f"suite {spec.name}", quiet=printing.silent) as report:
            return sharding.carry_out(shard, answer.out, lambda: run(report), printing)
    found = carry_out(
        run,
        f"suite-{spec.name}",
        f"suite {spec.name}",
        answer,
        printing,
    )
    return FAILED if found.failed else 0


def _list(as_json: bool) -> None:
    from lopsided.studies.suite.result import listed

    specs = [cases.load(each) for each in cases.names()]
    if as_json:
        keys = ("name", "title", "source", "subject")
        print_json(
            [{**{key: getattr(spec, key) for key in keys}, "cases": [case.key for case in spec.case]} for spec in specs]
        )
        return
    out().print(listed(specs))
