"""A study on many machines without a scheduler: each machine makes one shard of the runs, and `merge` joins them.

Shard i of n makes the runs i, i + n, i + 2n, ... of a study. It writes what the study measured in each run, one line of
JSON, to its own file in a shared folder. The merge repeats the study with these lines instead of runs. Its table and
digests are therefore those of one machine. A shard that was lost or interrupted continues where its file ends.

A study takes part if it makes its runs by `run_jobs(..., divided=True)`, and what it measures in a run is plain JSON.
Left out: studies whose later runs depend on the results of earlier runs, such as a search.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lopsided import _native
from lopsided.data import locks, output
from lopsided.errors import FolderError, UsageError
from lopsided.studies import jobs as many
from lopsided.worlds.base import Job

MOST_SHARDS = 100_000
_KIND = "lopsided shard 1"
_SHARD = re.compile(r"(?:(\d+|auto)/)?(\d+)")

INDICES = {"SLURM_ARRAY_TASK_ID": 0, "JOB_COMPLETION_INDEX": 1}
"""Environment variables with the number of a task, and what to add so that the first number is 1."""


@dataclass(frozen=True)
class Shard:
    """Shard `number` of `count`, counted from 1."""

    number: int
    count: int

    def numbers(self, runs: int) -> range:
        """The numbers of the runs that it makes, counted from 0."""
        return range(self.number - 1, runs, self.count)

    def file(self, folder: Path) -> Path:
        """Its file in the shared folder."""
        return folder / f"shard-{self.number:05}-of-{self.count:05}.jsonl"


def parse(text: str, environment: Mapping[str, str] = os.environ) -> Shard | int:
    """Parses `3/64`; `auto/64`, which takes the number from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX; or only a
    number of shards.

    Raises UsageError for anything else.
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
    """A shard has made its runs; the study ends here, because the other shards have the rest."""

    def __init__(self, made: int, found: int, runs: int) -> None:
        super().__init__(f"{made} of {runs} runs")
        self.made = made
        """Runs made now."""
        self.found = found
        """Runs that the shard's file had before."""
        self.runs = runs
        """Runs of the whole study."""


@contextmanager
def one(folder: Path, shard: Shard, command: Sequence[str]) -> Generator[None]:
    """Within the block a study makes only this shard's runs and then raises `Finished`.

    `command` is what `merge` repeats. Raises FolderError if the folder holds shards of another study.
    """

    def keep(jobs: Sequence[Job], made: Callable[[Sequence[int]], Iterator[tuple[int, Any]]]) -> list[Any]:
        header = {
            "kind": _KIND,
            "lopsided": _native.__version__,
            "command": list(command),
            "shards": shard.count,
            "runs": len(jobs),
            "study": _fingerprint(jobs),
        }
        path = shard.file(folder)
        with output.told(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with output.told(path), path.open("a+b") as file:
            try:
                locks.lock(file.fileno())
            except BlockingIOError:
                raise FolderError(f"{path} is being written by another process") from None
            file.seek(0)
            there, end = _read(path, file.read())
            if there is None:
                file.truncate(0)
                file.write(_line(header))
                known: dict[int, Any] = {}
            else:
                _check_same(path, header, there.header)
                # The last line may have been cut off.
                file.truncate(end)
                known = there.measured
            missing = [number for number in shard.numbers(len(jobs)) if number not in known]
            for number, measured in made(missing):
                file.write(_line([number, measured]))
                file.flush()
        raise Finished(len(missing), len(known), len(jobs))

    with many.kept_by(keep):
        yield


@dataclass(frozen=True)
class Part:
    """The file of one shard."""

    header: dict[str, Any]
    measured: dict[int, Any]


@dataclass(frozen=True)
class Whole:
    """All shards of a study."""

    command: tuple[str, ...]
    shards: int
    runs: int
    study: str
    measured: dict[int, Any]
    missing: tuple[int, ...]
    """Shards that lack runs."""


def read(folder: Path) -> Whole:
    """Reads the shards in a folder. Raises FolderError if there are none, or if they are of different studies."""
    with output.told(folder, "read"):
        paths = sorted(folder.glob("shard-*-of-*.jsonl"))
        parts = [(path, _read(path, path.read_bytes())[0]) for path in paths]
    begun = [(path, part) for path, part in parts if part is not None]
    if not begun:
        raise FolderError(f"{folder} has no shards: `--shard i/n --out {folder}` writes them")
    header = begun[0][1].header
    measured: dict[int, Any] = {}
    for path, part in begun:
        _check_same(path, header, part.header)
        measured |= part.measured
    count, runs = int(header["shards"]), int(header["runs"])
    made = [Shard(number, count).numbers(runs) for number in range(1, count + 1)]
    missing = [number for number, numbers in enumerate(made, 1) if any(run not in measured for run in numbers)]
    return Whole(tuple(header["command"]), count, runs, header["study"], measured, tuple(missing))


@contextmanager
def merged(whole: Whole) -> Generator[None]:
    """Within the block the study of these shards takes what they measured instead of making runs.

    Raises FolderError if the study is another one, because its scenario or this version differs.
    """

    def keep(jobs: Sequence[Job], made: Callable[[Sequence[int]], Iterator[tuple[int, Any]]]) -> list[Any]:
        if len(jobs) != whole.runs or _fingerprint(jobs) != whole.study:
            raise FolderError("the scenario, the settings or lopsided changed since the shards were made")
        return [whole.measured[number] for number in range(len(jobs))]

    with many.kept_by(keep):
        yield


def array_of(numbers: Sequence[int]) -> str:
    """Numbers as SLURM's `--array` writes them: `1-3,7`."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and number == stretches[-1][1] + 1:
            stretches[-1][1] = number
        else:
            stretches.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in stretches)


def _fingerprint(jobs: Sequence[Job]) -> str:
    """Identifies scenarios, seeds and version."""
    found = hashlib.blake2b(_native.__version__.encode(), digest_size=16)
    scenario, text = None, b""
    for job in jobs:
        if job.scenario is not scenario:
            scenario, text = job.scenario, job.scenario.to_toml().encode()
        found.update(text + b"\0%d\0" % job.seed)
    return found.hexdigest()


def _check_same(path: Path, header: Mapping[str, Any], there: Mapping[str, Any]) -> None:
    for key, what in (("lopsided", "of another version"), ("shards", "of another number of shards")):
        if header[key] != there.get(key):
            raise FolderError(f"{path} is {what} ({there.get(key)}, not {header[key]}); choose another folder")
    if (header["study"], header["runs"]) != (there.get("study"), there.get("runs")):
        raise FolderError(f"{path} belongs to another study; choose another folder")


def _line(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _read(path: Path, octets: bytes) -> tuple[Part | None, int]:
    """Returns the complete lines of a file and the position of their end; None if the first line is incomplete."""
    end = octets.rfind(b"\n") + 1
    if end == 0:
        return None, 0
    try:
        header, *lines = [json.loads(line) for line in octets[:end].splitlines()]
        if header["kind"] != _KIND:
            raise ValueError("another kind")
        measured = {int(number): value for number, value in cast("list[tuple[int, Any]]", lines)}
    except (ValueError, KeyError, TypeError):
        raise FolderError(f"{path} is not a shard of lopsided") from None
    return Part(header, measured), end
