"""`lopsided --help`: one line per command.

This module does not import the command-line library, because the import would take longer than printing the list.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap

from lopsided.cli.commands import COMMANDS

EXAMPLES = """\
    lopsided run scenario.toml
    lopsided run scenario.toml --set "link.up.queue.limit=15 packets" --repeat 5
    lopsided sweep scenario.toml --set "link.up.queue.limit=5..50:5 packets"
    lopsided size --down 2.4M --up 196k --rtt 20ms
    lopsided reproduce merritt2010"""
COMPLETION = "--install-completion"
COMPLETE = "--complete"
"""Internal option that the shells' completion scripts use."""
OPTIONS = (
    (
        COMPLETION,
        "Install completion of commands, options and values: bash, zsh or fish; default: the shell that runs this.",
    ),
    ("--help, -h", "Show this list, or the help of a command: `lopsided run --help`."),
    ("--version", "Show the version."),
)

_INDENT = 2
_NARROWEST, _WIDEST = 60, 100


def asked_for(arguments: list[str]) -> bool:
    """Returns true if the arguments request the list of commands."""
    return arguments in ([], ["--help"], ["-h"])


def text(width: int, *, bold: bool = False) -> str:
    """Returns the commands and options in lines of at most `width` characters."""
    parts = ["Usage: lopsided COMMAND [ARGUMENTS]", "A laboratory for TCP over asymmetric links."]
    commands = [(command.name, command.summary) for command in COMMANDS]
    for title, rows in (("Commands", commands), ("Options", OPTIONS)):
        column = _INDENT + max(len(name) for name, _ in rows) + 2
        lines = [_row(name, line, column, width) for name, line in rows]
        parts.append("\n".join([_bold(title) if bold else title, *lines]))
    parts.append(f"{_bold('Examples') if bold else 'Examples'}\n{EXAMPLES}")
    return "\n\n".join(parts)


def show() -> None:
    """Prints the list in the terminal's width, at most 100 characters."""
    # A process may be started without standard output.
    terminal = sys.stdout is not None and sys.stdout.isatty()  # pyright: ignore[reportUnnecessaryComparison]
    width = max(_NARROWEST, min(shutil.get_terminal_size().columns, _WIDEST))
    print(text(width, bold=terminal and not os.environ.get("NO_COLOR")))


def _row(name: str, line: str, column: int, width: int) -> str:
    first = f"{' ' * _INDENT}{name}".ljust(column)
    return textwrap.fill(line, width, initial_indent=first, subsequent_indent=" " * column)


def _bold(title: str) -> str:
    return f"\033[1m{title}\033[0m"
