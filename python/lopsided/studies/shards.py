"""Runs a study on many machines without a scheduler: each machine executes a shard, and `merge` joins the shards.

Shard i of n executes the runs i, i + n, i + 2n, ... and writes each measurement as a line of JSON to a shared folder.
The merge repeats the study, but reads these lines instead of executing runs. Tables and digests are therefore the same
as on one machine. An interrupted shard continues after the last complete line of its file.

A study must use `run_jobs(..., divided=Divided(...))` with plain JSON measurements. If later runs depend on earlier
results, as in a search, shards wait for each other after each stage.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from lopsided import _native
from lopsided.data import locks, output
from lopsided.errors import FolderError, UsageError
from lopsided.studies import jobs as many
from lopsided.studies.jobs import Divided
from lopsided.worlds.base import Job

MOST_SHARDS = 100_000
_KIND = "lopsided shard 2"
WAIT_S = 600.0
"""Number of seconds without progress after which a shard stops waiting for other shards."""
_LOOKS_EVERY_S = 0.5
_SHARD = re.compile(r"(?:(\d+|auto)/)?(\d+)")

INDICES = {"SLURM_ARRAY_TASK_ID": 0, "JOB_COMPLETION_INDEX": 1}
"""Environment variables in which SLURM and Kubernetes store a task's number, and the offset that converts this number
to a shard's number, counted from 1."""


@dataclass(frozen=True)
class Shard:
    """Shard `number` of `count`, counted from 1."""

    number: int
    count: int

    def numbers(self, runs: int) -> range:
        """Returns the numbers of the runs that this shard executes, counted from 0."""
        return range(self.number - 1, runs, self.count)

    def file(self, folder: Path) -> Path:
        return folder / f"shard-{self.number:05}-of-{self.count:05}.jsonl"


def parse(text: str, environment: Mapping[str, str] = os.environ) -> Shard | int:
    """Parses `--shard`. Returns the shard for `3/64` or `auto/64`, and the number of shards for `64`. With `auto`, the
    shard's number comes from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX.

    Raises UsageError if the text has none of these forms.
    """
    match = _SHARD.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--shard {text}: write i/n such as 3/64, auto/64 within a job of SLURM or Kubernetes, or 64")
    count = int(match[2])
    if not 1 <= count <= MOST_SHARDS:
        raise UsageError(f"--shard {text}: from 1 to {MOST_SHARDS:,} shards are possible")
    if match[1] is None:
        return count
    number = _from_environment(environment) if match[1] == "auto" else int(match[1])
    if not 1 <= number <= count:
        raise UsageError(f"--shard {text}: shard {number} is not one of 1 to {count}")
    return Shard(number, count)


def _from_environment(environment: Mapping[str, str]) -> int:
    for name, first in INDICES.items():
        if text := environment.get(name):
            if not text.isdigit():
                raise UsageError(f"--shard auto: {name} is {text!r}, not a number")
            return int(text) + first
    raise UsageError(f"--shard auto: neither {' nor '.join(INDICES)} is set; write i/n such as 3/64")


class Finished(Exception):
    """Raised after the last run of a shard. Other shards execute the remaining runs."""

    def __init__(self, made: int, found: int, runs: int) -> None:
        super().__init__(f"{made} of {runs} runs")
        self.made = made
        """Number of runs that this call executed."""
        self.found = found
        """Number of runs that the shard's file already contained."""
        self.runs = runs
        """Number of runs of the whole study."""


class Behind(Exception):
    """Raised if the shard needs runs that other shards have not finished."""

    def __init__(self, missing: Sequence[int], runs: int) -> None:
        super().__init__(f"shards {array_of(missing)} are behind")
        self.missing = missing
        """Numbers of the shards whose runs are missing."""
        self.runs = runs
        """Number of runs that this shard executed in this call."""


@contextmanager
def one(folder: Path, shard: Shard, command: Sequence[str], wait_s: float = WAIT_S) -> Generator[None]:
    """Restricts the study in the `with` block to the runs of this shard. The study raises `Finished` after these runs.

    `command` is the command line that `merge` repeats. Raises `Behind` if other shards make no progress for `wait_s`
    seconds, and FolderError if the folder contains shards of another study.
    """
    path = shard.file(folder)
    header = {"kind": _KIND, "lopsided": _native.__version__, "command": list(command), "shards": shard.count}
    stages: list[_Stage] = []
    made_now = found = 0
    file: BinaryIO | None = None
    opened = ExitStack()

    def keep(
        jobs: Sequence[Job], made: Callable[[Sequence[int]], Iterator[tuple[int, Any]]], divided: Divided
    ) -> list[Any]:
        nonlocal file, made_now, found
        if not jobs:
            return []
        number = len(stages)
        stage = _Stage(_fingerprint(jobs, divided.what), len(jobs), {})
        stages.append(stage)
        with output.told(path):
            file = file or opened.enter_context(_opened(path, header))
            file.seek(0)
            there, end = _read(path, file.read())
            # Remove an incomplete last line, which an interrupted shard may leave.
            file.truncate(end)
            if there is not None and len(there.stages) > number:
                _check_same(path, stage, there.stages[number])
                stage.measured.update(there.stages[number].measured)
            else:
                file.write(_line({"study": stage.study, "runs": stage.runs}))
            found += len(stage.measured)
            for run, measured in made([run for run in shard.numbers(len(jobs)) if run not in stage.measured]):
                file.write(_line([number, run, measured]))
                file.flush()
                made_now += 1
            file.flush()
        if not divided.goes_on:
            raise Finished(made_now, found, sum(each.runs for each in stages))
        return _of_all(folder, number, stage, shard.count, wait_s, made_now)

    with opened, many.kept_by(keep):
        yield
    raise Finished(made_now, found, sum(each.runs for each in stages))


@contextmanager
def _opened(path: Path, header: Mapping[str, Any]) -> Generator[BinaryIO]:
    """Opens and locks a shard's file, and yields the file. Writes its header, or checks an existing header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        try:
            locks.lock(file.fileno())
        except BlockingIOError:
            raise FolderError(f"{path} is being written by another process") from None
        file.seek(0)
        there, _ = _read(path, file.read())
        if there is None:
            file.truncate(0)
            file.write(_line(header))
            file.flush()
        else:
            _check_header(path, header, there.header)
        yield file


def _of_all(folder: Path, number: int, stage: _Stage, count: int, wait_s: float, made: int) -> list[Any]:
    """Waits until all runs of a stage are finished. Returns the measurements of the runs in order.

    Raises Behind if the shards' files do not grow for `wait_s` seconds.
    """
    size, until = -1, math.inf
    while True:
        whole = read(folder)
        if len(whole.stages) > number:
            _check_same(folder, stage, whole.stages[number])
            measured = whole.stages[number].measured
            if len(measured) == stage.runs:
                return [measured[run] for run in range(stage.runs)]
        now = time.monotonic()
        if whole.size != size:
            size, until = whole.size, now + wait_s
        if now >= until:
            raise Behind(_lacking(whole.stages[: number + 1], count), made)
        time.sleep(_LOOKS_EVERY_S)


@dataclass(frozen=True)
class _Stage:
    """A set of runs that do not depend on each other."""

    study: str
    """Fingerprint of the scenarios, the seeds, the measured quantities and the version of lopsided."""
    runs: int
    measured: dict[int, Any]


@dataclass(frozen=True)
class Part:
    """The content of one shard's file."""

    header: dict[str, Any]
    stages: list[_Stage]


@dataclass(frozen=True)
class Whole:
    """The combined content of all shard files of a study."""

    command: tuple[str, ...]
    shards: int
    stages: list[_Stage]
    missing: tuple[int, ...]
    """Numbers of the shards whose runs are missing."""
    size: int
    """Total size of the shard files in bytes."""


def read(folder: Path) -> Whole:
    """Reads the shards in a folder. Raises FolderError if the folder has no shards, or shards of different studies."""
    with output.told(folder, "read"):
        paths = sorted(folder.glob("shard-*-of-*.jsonl"))
        texts = [(path, path.read_bytes()) for path in paths]
    begun = [(path, part) for path, text in texts if (part := _read(path, text)[0]) is not None]
    if not begun:
        raise FolderError(f"{folder} has no shards: `--shard i/n --out {folder}` writes them")
    header = begun[0][1].header
    stages: list[_Stage] = []
    for path, part in begun:
        _check_header(path, header, part.header)
        for number, stage in enumerate(part.stages):
            if number == len(stages):
                stages.append(_Stage(stage.study, stage.runs, {}))
            _check_same(path, stages[number], stage)
            stages[number].measured.update(stage.measured)
    count = int(header["shards"])
    missing = _lacking(stages, count) if stages else range(1, count + 1)
    return Whole(tuple(header["command"]), count, stages, tuple(missing), sum(len(text) for _, text in texts))


def _lacking(stages: Sequence[_Stage], count: int) -> list[int]:
    return [
        number
        for number in range(1, count + 1)
        if any(run not in stage.measured for stage in stages for run in Shard(number, count).numbers(stage.runs))
    ]


@contextmanager
def merged(whole: Whole) -> Generator[None]:
    """Lets the study in the `with` block use the measurements of the shards instead of executing runs.

    Raises FolderError if the scenario or the version differs, and `Behind` if runs are missing.
    """
    stages = iter(whole.stages)

    def keep(
        jobs: Sequence[Job], made: Callable[[Sequence[int]], Iterator[tuple[int, Any]]], divided: Divided
    ) -> list[Any]:
        if not jobs:
            return []
        stage = next(stages, None)
        if stage is None:
            raise Behind(range(1, whole.shards + 1), 0)
        if len(jobs) != stage.runs or _fingerprint(jobs, divided.what) != stage.study:
            raise FolderError("the scenario, the settings or lopsided changed since the shards were made")
        return [stage.measured[number] for number in range(len(jobs))]

    with many.kept_by(keep):
        yield


def array_of(numbers: Sequence[int]) -> str:
    """Formats numbers in the syntax of SLURM's `--array`: `1-3,7`."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and number == stretches[-1][1] + 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in stretches)


def _fingerprint(jobs: Sequence[Job], what: str) -> str:
    found = hashlib.blake2b(f"{_native.__version__}\0{what}\0".encode(), digest_size=16)
    scenario, text = None, b""
    for job in jobs:
        if job.scenario is not scenario:
            scenario, text = job.scenario, job.scenario.to_toml().encode()
        found.update(text + b"\0%d\0" % job.seed)
    return found.hexdigest()


def _check_header(path: Path, header: Mapping[str, Any], there: Mapping[str, Any]) -> None:
    for key, what in (("lopsided", "of another version"), ("shards", "of another number of shards")):
        if header[key] != there.get(key):
            raise FolderError(f"{path} is {what} ({there.get(key)}, not {header[key]}); choose another folder")


def _check_same(path: Path, stage: _Stage, there: _Stage) -> None:
    if (stage.study, stage.runs) != (there.study, there.runs):
        raise FolderError(f"{path} belongs to another study; choose another folder")


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _read(path: Path, octets: bytes) -> tuple[Part | None, int]:
    """Reads the complete lines of a file. Returns the header with the stages, and the offset at which the complete
    lines end.

    Returns `None` instead of the header and the stages if the file has no complete line.
    """
    end = octets.rfind(b"\n") + 1
    if end == 0:
        return None, 0
    try:
        header, *lines = [json.loads(line) for line in octets[:end].splitlines()]
        if header["kind"] != _KIND:
            raise ValueError("another kind")
        stages: list[_Stage] = []
        for line in lines:
            if isinstance(line, dict):
                opened = cast("dict[str, Any]", line)
                stages.append(_Stage(str(opened["study"]), int(opened["runs"]), {}))
            else:
                number, run, measured = cast("tuple[int, int, Any]", line)
                stages[number].measured[int(run)] = measured
    except (ValueError, KeyError, TypeError, IndexError):
        raise FolderError(f"{path} is not a shard of lopsided") from None
    return Part(header, stages), end
