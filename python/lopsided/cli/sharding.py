"""Implements the option `--shard` for studies that call `run_jobs(..., divided=Divided(...))`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import Printing
from lopsided.cli.terminal import given, print_error, print_json, print_line
from lopsided.errors import UsageError
from lopsided.studies import shards

Shard = Annotated[
    str | None,
    Parameter(
        help="Execute only this shard of the runs, such as 3/64, into the folder `--out`. `lopsided merge` joins the "
        "shards. auto/64 takes the shard's number from SLURM or Kubernetes. 64 prints the job that runs all shards.",
    ),
]


ShardWait = Annotated[
    float,
    Parameter(
        help="With `--shard`: seconds to wait between two batches while the other shards make no progress; 0 does not "
        "wait. To continue a shard that gave up, repeat its command.",
    ),
]


def carry_out(
    text: str, folder: Path | None, study: Callable[[], object], printing: Printing, wait_s: float = shards.WAIT_S
) -> int:
    """Executes one shard, or prints the job that executes all shards. Returns the exit code."""
    if folder is None:
        raise UsageError("--shard needs --out FOLDER, which all shards share")
    if folder.suffix in (".parquet", ".csv", ".tex"):
        raise UsageError(f"{folder.name}: with --shard, --out is a folder; `lopsided merge` writes the table")
    command = _without(given, ("--shard", "--shard-wait", "--out"), ("--json", "--quiet"))
    shard = shards.parse(text)
    if isinstance(shard, int):
        print_line(array_line(command, folder, range(1, shard + 1), shard))
        print_line(f"lopsided merge {shlex.quote(str(folder))}")
        return 0
    try:
        with shards.one(folder, shard, command, wait_s):
            study()
    except shards.Behind as behind:
        job = array_line(command, folder, behind.missing, shard.count)
        late = f"{len(behind.missing)} of {shard.count} shards are behind ({shards.array_of(behind.missing)})"
        print_error(f"{behind.runs:,} runs made; {late}. Repeat this command when these shards are done:\n{job}")
        return 1
    except shards.Finished as done:
        path = shard.file(folder)
        if printing.as_json:
            print_json({"file": path, "made": done.made, "were_there": done.found, "runs": done.runs})
        elif not printing.quiet:
            before = f" now, {done.found:,} earlier," if done.found else ""
            print_line(f"shard {shard.number} of {shard.count}: {done.made:,} of {done.runs:,} runs{before} in {path}")
            print_line(f"When all shards are done: lopsided merge {shlex.quote(str(folder))}")
        return 0
    raise AssertionError("`shards.one` ends with an exception")


def array_line(command: Sequence[str], folder: Path, numbers: Sequence[int], count: int) -> str:
    """Returns the command line that submits the shards `numbers` to SLURM as an array job."""
    one = shlex.join(["lopsided", *command, "--shard", f"auto/{count}", "--out", str(folder)])
    return f"sbatch --array={shards.array_of(numbers)} --wrap={shlex.quote(one)}"


def _without(arguments: Sequence[str], options: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Returns the command line without the given flags, and without the given options and their values."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in options:
            skip = True
        elif argument not in flags and not argument.startswith(tuple(f"{option}=" for option in options)):
            kept.append(argument)
    return kept
