"""Tries invalid values for every option of every command. Each value must cause an error message without a traceback.

    .venv/bin/python tests/python/cli_values.py            all cases: several thousand, in a few minutes
    .venv/bin/python tests/python/cli_values.py run size   only the cases of these commands

Each case consists of the required arguments and one option with an invalid value. A command that accepts the value is
interrupted after a short time. The cases send nothing to other hosts.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import lopsided
from lines import DOWNLOAD, line_of
from lopsided import cli
from lopsided.cli import terminal
from lopsided.cli.commands import COMMANDS

SCENARIO = line_of("1 s", "1 Mbit/s", "200 kbit/s") + DOWNLOAD
VALUES = (
    *(
        "",
        " ",
        "-",
        "-1",
        "0",
        "0.5",
        "1e999",
        "nan",
        "inf",
        "-inf",
        "18446744073709551616",
        "9" * 400,
        "1..",
        "..",
        ",,",
    ),
    *(
        "=",
        "a=b",
        "x.y=1",
        "[red]",
        "{",
        "'",
        "\u00e9\u4e2d",
        "\x1b[2J",
        "nowhere",
        "nowhere/x.png",
        "folder",
        "octets",
    ),
    *("s.toml", "s.toml:X", "mine.py:Nothing", "-5 ms", "1 furlong", "5 packets", "1/0", "\ud800", "a\0b", "x" * 300),
)
NEEDED = {
    "run": ["s.toml", "--no-report"],
    "sweep": ["s.toml", "--set", "link.up.queue.limit=5,10 packets"],
    "search": [
        "s.toml",
        "--over",
        "link.up.queue.limit=5,10 packets",
        "--maximise",
        "goodput.download",
        "--trials",
        "2",
    ],
    "fairness": ["--cc", "reno", "--rtt", "20ms", "--duration", "3s", "--link", "1M", "--repeat", "1"],
    "aqm": ["s.toml", "--queues", "fifo", "--repeat", "1"],
    "ackpath": ["s.toml", "--remedies", "none"],
    "suite": ["rfc9743", "--case", "7.11"],
    "size": ["--down", "2.4M", "--up", "196k", "--rtt", "20ms", "--sizes", "5", "--queues", "", "--repeat", "1"],
    "reproduce": ["merritt2010", "--figure", "9.9"],
    "emulate": ["--down", "1M", "--up", "1M", "--rtt", "5ms", "--", "true"],
    "shape": ["nowhere0", "--up", "1M", "--dry-run"],
    "reflect": ["--interface", "nowhere0", "--dry-run"],
    "compare": ["s.toml", "--worlds", "sim,sim"],
    "plot": ["done", "goodput"],
    "explain": ["done"],
    "check": ["s.toml"],
    "new": ["new.toml"],
    "kernel": ["path"],
    "probe": ["send", "127.0.0.1", "--port", "1"],
    "fetch": ["http://127.0.0.1:1/x"],
    "proxy": ["--port", "1"],
    "ui": ["folder", "--no-open-browser"],
}
"""For each command, the arguments that the command needs to run."""
PATIENCE_S = 2.0


class Long(BaseException):
    """Raised if the command accepts the value and starts a long task."""


def cases(chosen: list[str] | None = None) -> Iterator[list[str]]:
    """Yields each command with one option and an invalid value, or with an invalid argument."""
    for command in COMMANDS:
        if chosen and command.name not in chosen:
            continue
        needed = NEEDED.get(command.name, [])
        dashes = needed.index("--") if "--" in needed else len(needed)
        places = [place for place in range(dashes) if not needed[place].startswith("-")]
        for value in VALUES:
            for option in options(command.name):
                yield [command.name, *needed[:dashes], f"{option}={value}", *needed[dashes:]]
            for place in places if command.name not in ("shape", "reflect", "emulate", "probe", "fetch") else ():
                if needed[place - 1 : place] and needed[place - 1].startswith("--"):
                    continue
                yield [command.name, *needed[:place], value, *needed[place + 1 :]]
            if command.name not in ("probe", "fetch"):
                yield [command.name, *needed[:dashes], value, *needed[dashes:]]


def options(command: str) -> list[str]:
    """Returns a command's long options that take a value."""
    arguments = cli.build()[command].assemble_argument_collection()
    found: list[str] = []
    for argument in arguments:
        long = [name for name in argument.names if name.startswith("--")]
        # Skip options that would look up host names or start thousands of processes.
        if long and long[0] not in ("--measure", "--dask", "--jobs"):
            found.append(long[0])
    return found


def place(folder: Path) -> None:
    """Creates the files that the cases use. Also imports all modules, because an interrupted import cannot be
    repeated."""
    for module in pkgutil.walk_packages(lopsided.__path__, "lopsided."):
        if "guest" not in module.name and not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    (folder / "s.toml").write_text(SCENARIO)
    (folder / "folder").mkdir()
    (folder / "octets").write_bytes(bytes(range(256)))
    (folder / "mine.py").write_text("NotOne = 5\n")
    cli.invoke(["run", "s.toml", "--no-report", "--quiet", "--out", "done", "--set", "record.tcp_events=true"])


def outcome(words: list[str]) -> str:
    """Returns the outcome of a command: `refused`, `taken` (accepted), `long`, or a fault that starts with an
    exclamation mark."""
    said, printed = io.StringIO(), io.StringIO()
    terminal.out.cache_clear()
    terminal.errors.cache_clear()
    usual = signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            code = cli.invoke(words)
    except Long:
        return "long"
    except BaseException as error:
        return f"!{''.join(traceback.format_exception(error)[-3:])}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    # Like a shell, `emulate` returns 126 if it cannot execute its command, and 127 if it cannot find the command.
    if code not in (0, 1, 2, 130, *((126, 127) if words[0] == "emulate" else ())):
        return f"!exit code {code}"
    if "raise Long" in said.getvalue():
        # The alarm interrupted a callback. Python then only prints the exception, and the command continues.
        return "long"
    if "Traceback" in said.getvalue() and "mine.py" not in said.getvalue():
        return f"!{said.getvalue()[-300:]}"
    # These commands write to standard error in the native module, which bypasses Python's `sys.stderr`.
    native = words[0] in ("emulate", "shape", "reflect")
    if code and not native and not said.getvalue().strip() and not printed.getvalue().strip():
        return "!not a word"
    return "taken" if code == 0 else "refused"


def _ring(_number: int, _frame: object) -> None:
    raise Long


def sample(count: int, seed: int) -> list[list[str]]:
    """Returns `count` random cases for each command. The same `seed` selects the same cases."""
    chance = random.Random(seed)
    found: list[list[str]] = []
    for command in COMMANDS:
        found += chance.sample(list(cases([command.name])), count)
    return found


def main() -> int:
    """Tries all cases. Prints one line per fault, and the number of cases with each outcome."""
    counts: Counter[str] = Counter()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="lopsided-values-") as name:
        os.chdir(name)
        place(Path(name))
        for number, words in enumerate(cases(sys.argv[1:])):
            found = outcome(words)
            counts[found if not found.startswith("!") else "wrong"] += 1
            if found.startswith("!"):
                wrong += 1
                print(f"{words!r}: {found[1:]}", flush=True)
            if sys.stderr.isatty():
                print(f"\r{number + 1}", end="", file=sys.stderr)
        os.chdir("/")
    print(f"{sum(counts.values())} wrong values: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
