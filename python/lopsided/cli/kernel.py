"""`lopsided kernel`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lopsided.cli.options import PRINTING, Flag, Printing
from lopsided.cli.terminal import errors, print_json, print_line, print_note

if TYPE_CHECKING:
    from lopsided.worlds.kernel.build import TimeTravelKernel


def kernel(
    action: Literal["build", "path"],
    /,
    *,
    linux: str | None = None,
    source: Path | None = None,
    jobs: int | None = None,
    again: Flag = False,
    printing: Printing = PRINTING,
) -> int:
    """Build the kernel that runs real Linux TCP in virtual time.

    The build takes a few minutes and is needed only once. It uses the distribution's kernel source package and stores
    the kernel in the cache directory.

    For example:

        lopsided kernel build
        lopsided kernel build --linux 6.12
        lopsided kernel build --source linux-source-6.1.tar.xz --jobs 2

    Parameters
    ----------
    action
        `build`: build the kernel if it does not exist yet. `path`: print its path.
    linux
        The Linux release series: 6.1 or 6.12; default: 6.1. You can build kernels of several series.
    source
        The kernel source as a .tar.xz file; default: the archive of the series in /usr/src.
    jobs
        Number of files to compile in parallel; default: the number of cores.
    again
        Build even if the kernel exists.
    """
    from lopsided.worlds.kernel import build as building

    found = None if again and action == "build" else building.find_built(linux)
    if found is None:
        for damaged in building.find_damaged():
            again_or_not = "building it again" if action == "build" else "run `lopsided kernel build`"
            print_note(f"{damaged} is damaged (it differs from the kernel that was built): {again_or_not}")
    if found is None and action == "path":
        print_line("not built: run `lopsided kernel build`")
        return 1
    if found is None:
        found = _build(source, jobs, linux, printing.silent)
    if printing.as_json:
        print_json({"version": found.version, "source": str(found.source), "path": found.path})
        return 0
    print_line(str(found.path) if action == "path" else f"Linux {found.version} ({found.source}): {found.path}")
    return 0


def _build(source: Path | None, jobs: int | None, linux: str | None, quiet: bool) -> TimeTravelKernel:
    from lopsided.worlds.kernel import build as building

    console = errors()
    if quiet or not console.is_terminal:
        last = ""

        def note(stage: str, _share: float) -> None:
            nonlocal last
            if stage != last and not quiet:
                console.print(stage)
            last = stage

        return building.build(note, source, jobs, linux)
    from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=32), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(stage: str, share: float) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=1.0)
            bar.update(tasks[stage], completed=share)

        return building.build(show, source, jobs, linux)
