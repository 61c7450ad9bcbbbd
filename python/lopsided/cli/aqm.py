"""`lopsided aqm`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import ANSWER, NOTHING, Answer, Json, Kernel, OwnCode, Quiet, Settings, Workers, World, load
from lopsided.cli.terminal import heading, out, print_json, print_path, print_prose, progress
from lopsided.data import run_folder as folders
from lopsided.errors import UsageError
from lopsided.studies.options import AQM_QUEUES, AqmOptions
from lopsided.studies.verdicts.aqm import suite_verdict, verdict
from lopsided.views import disciplines

if TYPE_CHECKING:
    from lopsided.studies.aqm import Aqm

USUAL = AqmOptions()


def aqm(
    file: Annotated[Path | None, Parameter(show_default=False)] = None,
    /,
    *,
    queues: str = AQM_QUEUES,
    options: Annotated[AqmOptions, Parameter(name="*")] = USUAL,
    suite: Annotated[str | None, Parameter(show_default=False)] = None,
    sections: Annotated[str, Parameter(show_default=False)] = "",
    settings: Settings = (),
    own: OwnCode = NOTHING,
    answer: Answer = ANSWER,
    world: World = "sim",
    kernel: Kernel = None,
    workers: Workers = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare queue disciplines: one scenario under each of them, side by side.

    What each does to goodput, fairness, round trips and waits in the queue, and what users feel: web pages, short
    transfers, and round trips per minute under load. The folder holds the tables as CSV, the figures and report.html;
    by default it is made under `runs/`.

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
        The disciplines, with commas between them: names, tables with settings, or `file` for the scenario's own.
    suite
        In place of a file: `rfc7928`, the scenarios of the guidelines for characterising AQM.
    sections
        Of the suite, those with these numbers or below them; default: all.
    """
    from lopsided.studies import aqm as study
    from lopsided.views.html import aqm as page

    if suite is not None:
        _suite(suite, file, queues, sections, options, answer, workers, as_json, quiet)
        return
    if file is None:
        raise UsageError("name a scenario file, or a suite: --suite rfc7928")
    scenario = load(file, settings, own)
    folder = answer.folder(f"aqm-{scenario.name}")
    with folders.writing(folder, overwrite=answer.overwrite) as staged:
        with progress(f"queue disciplines at {scenario.name}", quiet=quiet or as_json) as show:
            found = study.aqm(
                scenario,
                queues,
                world=[name.strip() for name in world.split(",")],
                kernel=kernel,
                workers=workers,
                progress=show,
                **vars(options),
            )
        with answer.drawing():
            page.write(found, staged, report=answer.report)
    if as_json:
        print_json({**found.to_dict(), "folder": folder})
    elif not quiet:
        _show(found)
        print_path(*answer.page(folder))


def _suite(
    name: str,
    file: Path | None,
    queues: str,
    sections: str,
    options: AqmOptions,
    answer: Answer,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    from lopsided.studies import aqm as study
    from lopsided.views.html import aqm as page

    if file is not None:
        raise UsageError(f"a suite has scenarios of its own: leave out {file}, or --suite")
    folder = answer.folder(f"aqm-{name}")
    with folders.writing(folder, overwrite=answer.overwrite) as staged:
        with progress(name, quiet=quiet or as_json) as show:
            wanted = [part.strip() for part in sections.split(",") if part.strip()]
            found = study.run_suite(
                name,
                queues,
                sections=wanted,
                workers=workers,
                progress=show,
                ecn=options.ecn,
                repeat=options.repeat,
                seed=options.seed,
            )
        page.write_suite(found, staged)
    if as_json:
        print_json({"suite": name, "cells": list(found.rows()), "folder": folder})
        return
    if quiet:
        return
    print_prose(" ".join(suite_verdict(list(found.sections.values()))) + "\n")
    for number, section in found.sections.items():
        heading(f"{number} {section.scenario.title}", disciplines.details(section))
        print_prose(" ".join(verdict(section)))
        for way in section.links:
            if len(section.links) > 1:
                print_prose(way)
            out().print(disciplines.cells(section, way))
    print_prose(disciplines.CAPTION + "\n")
    print_path("report", folder / "report.html")


def _show(found: Aqm) -> None:
    heading(disciplines.title(found), disciplines.details(found))
    print_prose(" ".join(verdict(found)) + "\n")
    for way, link in found.links.items():
        heading(way, f"queue before {link}")
        out().print(disciplines.cells(found, way))
    if disciplines.feels_anything(found):
        heading("users", "what they feel")
        out().print(disciplines.users(found))
    print_prose(disciplines.CAPTION + "\n")
