"""Kills commands and fills disks. No file of the user may be lost, and the next run must work.

    .venv/bin/python tests/python/robustness.py             200 kills, 50 kills during writes, 20 full disks
    .venv/bin/python tests/python/robustness.py --kills 20 --writing 5 --disks 5 --seed 3

Each trial starts with an earlier result and a file of the user. The command that replaces the result is killed, or the
disk becomes full. Afterwards, the folder must contain a complete result (old or new) and the user's file. The next run
must work and leave no hidden files.

A full disk is a small file system in memory, which needs user namespaces (`unshare`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lines import DOWNLOAD, UPLOAD, line_of

LATER = 'start = "1 s"\nstart_jitter = "1 s"\n'
SCENARIO = line_of("6 s", "2400 kbit/s", "196 kbit/s", "20 packets", "15 packets") + DOWNLOAD + UPLOAD + LATER
MAIN = [str(Path(sys.executable).with_name("lopsided"))]
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
HIDDEN = ".lopsided"
MINE = b"a thesis"


@dataclass(frozen=True)
class Command:
    """A command of lopsided that writes a folder or a file."""

    name: str
    words: tuple[str, ...]
    out: str
    more: tuple[str, ...] = ()
    """Names of files that the command writes in addition to its main file."""

    def line(self, seed: int) -> list[str]:
        """Returns the command line for this seed. The command replaces existing files."""
        return [*MAIN, *self.words, "--seed", str(seed), "--out", self.out, "--overwrite", "--quiet"]


AXIS = ("--set", "link.up.queue.limit=5,15 packets")
SEARCH = ("--over", "link.up.queue.limit=5..12 packets", "--maximise", "goodput.download", "--trials", "9")
COMMANDS = (
    Command("run", ("run", "s.toml"), "place"),
    Command("run --pcap", ("run", "s.toml", "--no-report", "--pcap"), "place"),
    Command("sweep", ("sweep", "s.toml", *AXIS), "place/t.csv", ("place/t.png",)),
    Command("aqm", ("aqm", "s.toml", "--queues", "fifo,codel", "--repeat", "1", "--no-report"), "place"),
    Command("ackpath", ("ackpath", "s.toml", "--remedies", "none,filter"), "place"),
    Command("search", ("search", "s.toml", *SEARCH, "--no-report"), "place"),
)


class Broken(AssertionError):
    """Raised if a command lost a file, or left an incomplete result."""


def promise(holds: bool, what: str) -> None:
    """Raises Broken if the condition is false."""
    if not holds:
        raise Broken(what)


class Place:
    """A folder with a command to test, an earlier result, and a file of the user."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder = folder
        self.command = command
        (folder / "s.toml").write_text(SCENARIO)
        (folder / "place").mkdir()
        self.run(1)
        (folder / "place" / "thesis.tex").write_bytes(MINE)
        self.old = self.state()

    def run(self, seed: int) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(self.command.line(seed), cwd=self.folder, capture_output=True, text=True)
        promise(done.returncode == 0, f"the command fails: {done.stderr[-300:]}")
        return done

    def start(self) -> subprocess.Popen[str]:
        """Starts the command with a seed that differs from the earlier result's seed. The command replaces this
        result."""
        return subprocess.Popen(self.command.line(2), cwd=self.folder, stderr=subprocess.PIPE, text=True)

    def state(self) -> dict[str, str]:
        """Returns the digest of each visible file."""
        files = [path for path in self.folder.rglob("*") if path.is_file() and not self._hidden(path)]
        return {str(path.relative_to(self.folder)): _digest(path) for path in sorted(files)}

    def check(self) -> str:
        """Checks that the folder contains the user's file and a complete result. Returns whether the result is old,
        new, or an interrupted study."""
        now = self.state()
        mine = self.folder / "place" / "thesis.tex"
        promise(mine.is_file() and mine.read_bytes() == MINE, "the user's file is gone or changed")
        if self.command.more:
            return self._check_files(now)
        promise("place/manifest.json" in now, "there is no manifest")
        manifest = json.loads((self.folder / "place" / "manifest.json").read_text())
        listed = {f"place/{name}" for name in manifest["files"]}
        promise(listed <= set(now), f"files that the manifest lists are missing: {sorted(listed - set(now))[:3]}")
        ours = set(now) - {"s.toml", "place/thesis.tex", "place/manifest.json"}
        promise(ours <= listed, f"files of no run: {sorted(ours - listed)[:3]}")
        if all(now.get(name) == digest for name, digest in self.old.items()):
            return "old"
        if manifest.get("asked", 0) > manifest.get("trials", 0):
            return "interrupted, to go on"
        wanted = reference(self.command, int(manifest["seed"]))
        other = [name for name, digest in wanted.items() if now.get(name) != digest]
        promise(not other, f"a mixture: {other[:3]} are not of seed {manifest['seed']}")
        return "new"

    def _check_files(self, now: dict[str, str]) -> str:
        """Checks that each file is complete, and is either the old or the new version."""
        kinds: set[str] = set()
        for name in (self.command.out, *self.command.more):
            promise(name in now, f"{name} is gone")
            kinds.add("old" if now[name] == self.old[name] else "new")
        text = (self.folder / self.command.out).read_text()
        promise(text.endswith("\n") and len({line.count(",") for line in text.splitlines()}) == 1, "half a table")
        return "new" if "new" in kinds else "old"

    def afterwards(self) -> None:
        """Checks that the next run works and leaves no hidden file."""
        self.run(3)
        self.check()
        left = [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if self._hidden(path)]
        promise(not left, f"left behind: {left}")

    def writing(self) -> bool:
        """Returns true if the command is writing files."""
        for path in self.folder.rglob(".*"):
            try:
                if path.is_file() or any(path.iterdir()):
                    return True
            except OSError:
                continue
        return False

    def _hidden(self, path: Path) -> bool:
        return any(part.startswith(".") for part in path.relative_to(self.folder).parts)


@cache
def reference(command: Command, seed: int) -> dict[str, str]:
    """Returns the digests of the tables that an uninterrupted run writes."""
    with tempfile.TemporaryDirectory(prefix="lopsided-robustness-") as name:
        folder = Path(name)
        (folder / "s.toml").write_text(SCENARIO)
        subprocess.run(command.line(seed), cwd=folder, capture_output=True, check=True)
        files = [path for path in folder.rglob("*") if path.suffix in (".parquet", ".csv", ".pcapng")]
        return {str(path.relative_to(folder)): _digest(path) for path in files}


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=12).hexdigest()


# --- the trials ---------------------------------------------------------------------------------------------------


def a_kill(place: Place, when: float, sign: signal.Signals) -> str:
    """Kills the command `when` seconds after its start."""
    with place.start() as process:
        try:
            process.wait(timeout=when)
        except subprocess.TimeoutExpired:
            process.send_signal(sign)
        _, said = process.communicate()
    return _verdict(place, said)


def a_kill_while_writing(place: Place, late: float, sign: signal.Signals) -> str:
    """Kills the command `late` seconds after the command began to write files."""
    with place.start() as process:
        while process.poll() is None and not place.writing():
            time.sleep(0.0005)
        time.sleep(late)
        if process.poll() is None:
            process.send_signal(sign)
        _, said = process.communicate()
    return _verdict(place, said)


def _verdict(place: Place, said: str) -> str:
    early = while_starting(said)
    promise("Traceback" not in said or early, f"a traceback: {said[-300:]}")
    found = place.check()
    place.afterwards()
    return f"{found}, as Python started" if early else found


def while_starting(said: str) -> bool:
    """Returns true if Ctrl-C arrived before the command had installed its handler, so that Python printed a
    traceback."""
    return said.rstrip().endswith("KeyboardInterrupt") and ", in main\n" not in said


def a_full_disk(place: Place, room: int) -> str:
    """Runs the command on a file system with `room` free bytes."""
    script = Path(__file__).resolve()
    words = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, str(script), "--within", str(room)]
    done = subprocess.run(
        [*words, place.command.name], cwd=place.folder, capture_output=True, text=True, env={**os.environ}
    )
    promise(done.returncode == 0, (done.stderr or done.stdout)[-400:])
    return done.stdout.strip()


def within(room: int, name: str) -> None:
    """Runs a trial on a full file system. Must be called in a separate mount namespace."""
    command = next(each for each in COMMANDS if each.name == name)
    here = Path.cwd()
    used = sum(path.stat().st_size + 4096 for path in (here / "place").rglob("*"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={used + room + 65536}", "none", "/mnt"], check=True)
    folder = Path("/mnt")
    for path in here.iterdir():
        (shutil.copytree if path.is_dir() else shutil.copy)(path, folder / path.name)
    place = object.__new__(Place)
    place.folder, place.command = folder, command
    place.old = place.state()
    # Fill the file system until `room` bytes are free, independently of its size.
    stat = os.statvfs(folder)
    filler = max(0, stat.f_bavail * stat.f_frsize - room)
    (folder / ".filler").write_bytes(bytes(filler))
    done = subprocess.run(command.line(2), cwd=folder, capture_output=True, text=True)
    promise("Traceback" not in done.stderr, f"a traceback: {done.stderr[-300:]}")
    promise(done.returncode == 0 or "No space left" in done.stderr or "space" in done.stderr, done.stderr[-300:])
    found = place.check()
    if done.returncode:
        # An interrupted search keeps a hidden folder with its finished runs, so that it can continue later.
        left = [path.name for path in folder.iterdir() if HIDDEN in path.name and not path.name.endswith("-search")]
        promise(not left, f"left behind on the full disk: {left}")
    (folder / ".filler").unlink()
    subprocess.run(["mount", "-o", f"remount,size={used + 50_000_000}", "/mnt"], check=True)
    place.afterwards()
    print(found if done.returncode == 0 else f"refused, {found}")


def disks_possible() -> bool:
    """Returns true if this machine can create small file systems."""
    words = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(words, capture_output=True).returncode == 0


# --- all trials together ------------------------------------------------------------------------------------------


def trials(kills: int, writing: int, disks: int, seed: int) -> Iterable[tuple[str, Command, Callable[[Place], str]]]:
    """Yields the trials. Each consists of its kind, a command, and the function that runs the trial."""
    chance = random.Random(seed)
    for number in range(kills):
        command, sign = COMMANDS[number % len(COMMANDS)], SIGNALS[number // len(COMMANDS) % len(SIGNALS)]
        share = chance.random()
        yield "kill", command, lambda place, s=share, g=sign: a_kill(place, s * lasts(place), g)
    for number in range(writing):
        command, sign = COMMANDS[number % len(COMMANDS)], SIGNALS[number // len(COMMANDS) % len(SIGNALS)]
        late = chance.choice((0.0, chance.uniform(0, 0.02), chance.uniform(0, 0.3)))
        yield "kill while writing", command, lambda place, t=late, g=sign: a_kill_while_writing(place, t, g)
    for number in range(disks):
        command = COMMANDS[number % len(COMMANDS)]
        room = chance.choice((0, 4096, chance.randint(8192, 60_000), chance.randint(60_000, 400_000)))
        yield "full disk", command, lambda place, r=room: a_full_disk(place, r)


_lasts: dict[str, float] = {}


def lasts(place: Place) -> float:
    """Runs the command, and returns its duration in seconds at the present load of the machine."""
    if place.command.name not in _lasts:
        begun = time.monotonic()
        place.run(1)
        _lasts[place.command.name] = 1.05 * (time.monotonic() - begun)
    return _lasts[place.command.name]


def main() -> int:
    """Runs all trials. Prints one line per kind of trial and one line per failure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, count in (("kills", 200), ("writing", 50), ("disks", 20), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--within", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.within:
        within(int(asked.within[0]), asked.within[1])
        return 0
    disks = asked.disks if disks_possible() else 0
    if disks < asked.disks:
        print("full disks are not tested: this kernel does not let users create a file system")
    found: dict[str, Counter[str]] = {}
    broken: list[str] = []
    try:
        for number, (kind, command, trial) in enumerate(trials(asked.kills, asked.writing, disks, asked.seed)):
            with tempfile.TemporaryDirectory(prefix="lopsided-robustness-") as name:
                try:
                    outcome = trial(Place(Path(name), command))
                except Broken as error:
                    outcome = "BROKEN"
                    broken.append(f"{kind} {number} of {command.name}: {error}")
            found.setdefault(kind, Counter())[outcome] += 1
            if sys.stderr.isatty():
                print(f"\r{number + 1}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted; so far:")
    for kind, outcomes in found.items():
        print(f"{kind}: {sum(outcomes.values())}: " + ", ".join(f"{count} {what}" for what, count in outcomes.items()))
    print("\n".join(broken) or "no file was lost, no hidden file was left, and every next run worked")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
