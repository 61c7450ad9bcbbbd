"""Prints results to stdout, and progress, errors and hints to stderr."""

from __future__ import annotations

import json
import math
import os
import stat
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lopsided.data.rows import Encoded

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

_PLAIN_WIDTH = 132
"""Width in characters of tables that are printed to a file. At this width, no row wraps."""
PROSE_WIDTH = 80
"""Width in characters of paragraphs that are not printed to a terminal."""


_DANGEROUS = {
    code: "\ufffd"
    for code in (*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Control characters, and characters that change the writing direction. `clean` replaces them."""


given: list[str] = []
"""The words of the current command line."""


def clean(text: str) -> str:
    """Replaces control characters in text from file names, servers and other programs."""
    return text.translate(_DANGEROUS)


@cache
def _console_class() -> type[Console]:
    """Returns a console class that replaces control characters, except in rich's styles."""
    from rich.console import Console
    from rich.segment import Segment

    class Clean(Console):
        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(clean(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            # A closed pipe (`| head`) is not a failure. `cli.invoke` ends the command.
            raise BrokenPipeError

    return Clean


@cache
def out() -> Console:
    """Returns the console for standard output."""
    # A process may be started without standard output.
    terminal = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    return _console_class()(highlight=False, markup=False, width=None if terminal else _width_of_pipe())


def _width_of_pipe() -> int:
    """Returns the width of tables that are not printed to a terminal.

    If the environment variable COLUMNS is set, its value is the width. Otherwise, if standard output is a pipe (such as
    `| head`) and stderr is a terminal, the width is the terminal's.
    """
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and len(columns) < 5 and int(columns) > 0:
        return int(columns)
    try:
        if stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode) and sys.stderr.isatty():
            return os.get_terminal_size(sys.stderr.fileno()).columns or _PLAIN_WIDTH
    except (OSError, ValueError, AttributeError):
        # Standard output is closed or has no file descriptor.
        pass
    return _PLAIN_WIDTH


@cache
def errors() -> Console:
    """Returns the console for standard error."""
    return _console_class()(stderr=True, highlight=False, markup=False)


def helping() -> Console:
    """Returns a console for help pages, as wide as the terminal or 80 columns."""
    return _console_class()()


def silent() -> Console:
    """Returns a console that prints only failures."""
    from rich.console import Console

    return Console(stderr=True, quiet=True)


def stop_printing() -> None:
    """Redirects standard output to the null device, after the reader has closed the pipe."""
    # Python flushes standard output at exit and would otherwise report the closed pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def answering() -> Generator[None]:
    """Flushes standard output after the block. Ignores a closed pipe, so that the command still writes its files."""
    try:
        yield
        out().file.flush()
    except BrokenPipeError:
        stop_printing()
    except OSError:
        # Other errors, such as a full disk, occur again when the command ends, and are reported there.
        pass


def print_line(text: str, style: str = "") -> None:
    """Prints a line without wrapping. Imports the library rich only if a style is given."""
    if style:
        out().print(text, style=style, soft_wrap=True)
    else:
        sys.stdout.write(f"{clean(text)}\n")


def print_prose(text: RenderableType) -> None:
    """Prints a paragraph, or a table of sentences, with wrapping."""
    console = out()
    console.print(text, width=None if console.is_terminal else min(PROSE_WIDTH, console.width))


def heading(title: str, details: str) -> None:
    """Prints a result's title and the conditions of its runs."""
    out().print(title, style="bold", soft_wrap=True)
    out().print(details, style="dim")


def print_path(what: str, path: Path) -> None:
    out().print(f"{what}  ", style="dim", end="")
    out().print(link(path), soft_wrap=True)


def print_report(folder: Path, report: bool) -> None:
    """Prints the path of the report if there is one, otherwise the path of the folder."""
    print_path(*(("report", folder / "report.html") if report else ("folder", folder)))


def print_error(text: str, *, prefix: bool = True) -> None:
    """Prints an error to stderr without wrapping."""
    if prefix:
        errors().print("error: ", style="bold red", end="")
    errors().print(text, soft_wrap=True)


def print_note(text: str) -> None:
    errors().print("note: ", style="bold yellow", end="")
    errors().print(text, soft_wrap=True)


def print_json(value: Any) -> None:
    """Prints the value as JSON. Infinities and NaN become null. An iterator becomes a list."""
    sys.stdout.writelines(_json(value, "\n"))
    sys.stdout.write("\n")


_PLAIN = frozenset({str, int, float, bool, type(None)})
"""Types that the standard library's encoder, which is written in C, encodes without a copy."""


def _json(value: Any, line: str) -> Iterator[str]:
    """Yields the parts of a JSON text. `line` is a line break and the indentation of the value."""
    # Do not use json.dump: it would need a copy of the whole value in which NaN is replaced, and it cannot write an
    # iterator element by element. With an indentation, it is also slow.
    inner = line + "  "
    if isinstance(value, dict):
        named = ((str(key), each) for key, each in cast("dict[object, Any]", value).items())
        begin, end = "{", "}"
    elif isinstance(value, list | tuple | Iterator):
        named = ((None, each) for each in cast("Iterable[Any]", value))
        begin, end = "[", "]"
    else:
        yield value.replace("\n", line) if isinstance(value, Encoded) else _scalar(value)
        return
    mark = begin
    for is_plain, items in groupby(named, _is_plain):
        if is_plain:
            yield f"{mark}{inner}{_plain(list(items), inner)}"
            mark = ","
            continue
        for name, each in items:
            yield f"{mark}{inner}" if name is None else f"{mark}{inner}{json.dumps(name)}: "
            yield from _json(each, inner)
            mark = ","
    yield begin + end if mark == begin else line + end


def _is_plain(item: tuple[str | None, Any]) -> bool:
    return type(item[1]) in _PLAIN


def _plain(items: list[tuple[str | None, Any]], line: str) -> str:
    """Returns the text of adjacent items with plain values, one item per line."""
    is_list = items[0][0] is None
    try:
        return _encoder(line).encode([each for _name, each in items] if is_list else dict(items))[1:-1]
    except ValueError:  # There is an infinity or NaN.
        texts = (_scalar(each) if name is None else f"{json.dumps(name)}: {_scalar(each)}" for name, each in items)
        return f",{line}".join(texts)


@cache
def _encoder(line: str) -> json.JSONEncoder:
    return json.JSONEncoder(allow_nan=False, separators=(f",{line}", ": "))


def _scalar(value: Any) -> str:
    if isinstance(value, float):
        return float.__repr__(value) if math.isfinite(value) else "null"
    return json.dumps(str(value) if isinstance(value, Path) else value)


@contextmanager
def progress(what: str, *, quiet: bool = False) -> Generator[Callable[[float], object] | None, None, None]:
    """Shows a progress bar on stderr. Yields a function to call with the completed fraction, or `None` if there is no
    bar."""
    if quiet or not errors().is_terminal:
        yield None
        return
    with staged_progress() as report:
        yield lambda share: report(what, share)


@contextmanager
def staged_progress(*, quiet: bool = False) -> Generator[Callable[[str, float], object], None, None]:
    """Shows a progress bar. Yields a function to call with the name of a stage and its completed fraction."""
    if quiet or not errors().is_terminal:
        yield lambda _what, _share: None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=32), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors(), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda what, share: bar.update(task, description=what, completed=share)


def link(path: Path) -> str:
    """Returns the path relative to the current folder, if the path is inside of it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except (ValueError, OSError):
        # The path is outside of the current folder, or the current folder no longer exists.
        return str(path)
