"""`lopsided merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided import cli
from lopsided.cli.options import PRINTING, Overwrite, Printing
from lopsided.cli.sharding import array_line
from lopsided.cli.terminal import print_error
from lopsided.studies import shards


def merge(
    folder: Path,
    /,
    *,
    out_file: Annotated[Path | None, Parameter(name="--out")] = None,
    overwrite: Overwrite = False,
    printing: Printing = PRINTING,
) -> int:
    """Join the shards of a study.

    `merge` repeats the command with the stored measurements, so table and text are the same as on a single machine. If
    shards are missing, `merge` lists the shards and prints the job that runs them.

    For example:

        lopsided sweep scenario.toml --set "link.up.queue.limit=5..50:5 packets" \\
          --shard 1/2 --out shards
        lopsided merge shards --out table.csv

    Parameters
    ----------
    folder
        The folder of the shards.
    out_file
        The table or folder to write; default: the table or folder of the shards' command.
    """
    whole = shards.read(folder)
    if whole.missing:
        which, job = shards.array_of(whole.missing), array_line(whole.command, folder, whole.missing, whole.shards)
        count = f"{len(whole.missing)} of {whole.shards} shards are missing or unfinished"
        print_error(f"{count} ({which}); run them:\n{job}")
        return 1
    command = [*whole.command, *(["--out", str(out_file)] if out_file else [])]
    flags = {"--overwrite": overwrite, "--json": printing.as_json, "--quiet": printing.quiet}
    command += [name for name, given in flags.items() if given]
    try:
        with shards.merged(whole):
            return cli.invoke(command)
    except shards.Behind as behind:
        job = array_line(whole.command, folder, behind.missing, whole.shards)
        print_error(f"the shards have not finished the study; continue them:\n{job}")
        return 1
