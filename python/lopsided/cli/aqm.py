"""`lopsided aqm`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lopsided.cli.options import NOTHING, Json, Kernel, OwnCode, Quiet, Seed, Settings, Workers, World, load
from lopsided.cli.terminal import heading, out, progress, say_json, say_path, say_prose
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from lopsided.studies.aqm import Aqm


def aqm(
    file: Annotated[Path | None, Parameter(show_default=False)] = None,
    /,
    *,
    queues: str = "fifo,codel,fq_codel,pie,cake",
    direction: Literal["both", "down", "up"] = "both",
    link: Annotated[str | None, Parameter(show_default=False)] = None,
    workload: Annotated[str | None, Parameter(show_default=False)] = None,
    suite: Annotated[str | None, Parameter(show_default=False)] = None,
    sections: Annotated[str, Parameter(show_default=False)] = "",
    probe: Annotated[bool, Parameter(negative="--no-probe")] = True,
    ecn: Annotated[bool, Parameter(negative=())] = False,
    seeds: int = 3,
    seed: Seed = None,
    settings: Settings = (),
    own: OwnCode = NOTHING,
    out_folder: Annotated[Path | None, Parameter(name="--out", show_default=False)] = None,
    overwrite: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    report: Annotated[bool, Parameter(negative="--no-report")] = True,
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
        lopsided aqm adsl.toml --workload rrul --direction up --seeds 5
        lopsided aqm adsl.toml --queues 'file,codel,{ kind = "codel", target = "15 ms", label = "gentle" }' --ecn
        lopsided aqm adsl.toml --queues fifo,fq_codel --world sim,kernel
        lopsided aqm --suite rfc7928 --queues fifo,pie,fq_codel --sections 5,8.2

    Parameters
    ----------
    file
        The scenario file.
    queues
        The disciplines, with commas between them: names, tables with settings, or `file` for the scenario's own.
    direction
        Where they stand: before the slowest link of both directions, or of one.
    link
        Where they stand instead: before this link.
    workload
        In place of the scenario's flows: `rrul` (4 downloads, 4 uploads, pings, in four classes), `rrul_be` (all best
        effort) or `home` (a download, an upload, pages, short transfers, a call).
    suite
        In place of a file: `rfc7928`, the scenarios of the guidelines for characterising AQM.
    sections
        Of the suite, those with these numbers or below them; default: all.
    probe
        Send a small request each half second, which tells the responsiveness.
    ecn
        Both ends use ECN, and queues mark wherever they can.
    seeds
        Runs of each discipline.
    out_folder
        The folder to write.
    overwrite
        Replace an earlier comparison in --out.
    report
        Write report.html.
    """
    from lopsided.data import run_folder as folders
    from lopsided.studies import aqm as study
    from lopsided.views.html import aqm as page

    if suite is not None:
        _suite(suite, file, queues, sections, ecn, seeds, seed, workers, out_folder, overwrite, as_json, quiet)
        return
    if file is None:
        raise UsageError("name a scenario file, or a suite: --suite rfc7928")
    scenario = load(file, settings, own)
    default = folders.free_name(Path("runs"), f"aqm-{scenario.name}-{datetime.now():%Y%m%d-%H%M%S}")
    folder = out_folder or default
    with folders.writing(folder, overwrite=overwrite) as staged:
        with progress(f"queue disciplines at {scenario.name}", quiet=quiet or as_json) as show:
            found = study.aqm(
                scenario,
                queues,
                direction=direction,
                link=link,
                workload=workload,
                probe=probe,
                ecn=ecn,
                repeat=seeds,
                seed=seed,
                world=[name.strip() for name in world.split(",")],
                kernel=kernel,
                workers=workers,
                progress=show,
            )
        page.write(found, staged, report=report)
    if as_json:
        say_json({**found.to_dict(), "folder": folder})
    elif not quiet:
        _show(found)
        say_path("report" if report else "folder", folder / "report.html" if report else folder)


def _suite(
    name: str,
    file: Path | None,
    queues: str,
    sections: str,
    ecn: bool,
    seeds: int,
    seed: int | None,
    workers: int | None,
    out_folder: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    from lopsided.data import run_folder as folders
    from lopsided.studies import aqm as study
    from lopsided.views import disciplines
    from lopsided.views.html import aqm as page

    if file is not None:
        raise UsageError(f"a suite has scenarios of its own: leave out {file}, or --suite")
    default = folders.free_name(Path("runs"), f"aqm-{name}-{datetime.now():%Y%m%d-%H%M%S}")
    folder = out_folder or default
    with folders.writing(folder, overwrite=overwrite) as staged:
        with progress(name, quiet=quiet or as_json) as show:
            wanted = [part.strip() for part in sections.split(",") if part.strip()]
            found = study.run_suite(
                name, queues, sections=wanted, ecn=ecn, repeat=seeds, seed=seed, workers=workers, progress=show
            )
        page.write_suite(found, staged)
    if as_json:
        say_json({"suite": name, "cells": list(found.rows()), "folder": folder})
        return
    if quiet:
        return
    for number, section in found.sections.items():
        for way in section.links:
            heading(f"{number} {section.scenario.title}", f"{way} · {disciplines.details(section)}")
            out().print(disciplines.cells(section, way))
    say_prose(disciplines.CAPTION + "\n")
    say_path("report", folder / "report.html")


def _show(found: Aqm) -> None:
    from lopsided.views import disciplines

    heading(disciplines.title(found), disciplines.details(found))
    for way, link in found.links.items():
        heading(way, f"queue before {link}")
        out().print(disciplines.cells(found, way))
    if disciplines.feels_anything(found):
        heading("users", "what they feel")
        out().print(disciplines.users(found))
    say_prose(disciplines.CAPTION + "\n")
