"""The command line. A command's module is loaded when the command is used, so `lopsided --help` is fast.

Exit codes:

- 0: success;
- 1: failure, or a claim that fails unexpectedly (`reproduce --claims`);
- 2: wrong usage or an invalid scenario;
- 130: interrupted;
- 143: terminated.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast, get_args

from lopsided.cli import listing, terminal
from lopsided.cli.commands import COMMANDS, TERMINABLE
from lopsided.cli.listing import COMPLETE, COMPLETION
from lopsided.cli.terminal import given as under_way
from lopsided.cli.terminal import print_error, print_line, print_note, stop_printing
from lopsided.errors import CaptureWarning, LeftoverWarning
from lopsided.interrupts import Interruptible

try:
    import resource
except ImportError:  # Windows
    resource = None

if TYPE_CHECKING:
    import cyclopts


_INTEGER = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")


def _version() -> str:
    from lopsided._native import __version__

    return f"lopsided {__version__}"


def build() -> cyclopts.App:
    """Returns the application. A command's module is imported when the command is used."""
    import cyclopts

    usual = cyclopts.Parameter(converter=_convert, negative_iterable=(), show_default=_shown)
    app = cyclopts.App(name="lopsided", help_format="markdown", version_flags=(), suppress_keyboard_interrupt=False)
    for command in COMMANDS:
        app.command(command.home, name=command.name, default_parameter=usual)
    return app


def _shown(default: object) -> str | None:
    """Returns the text that the help shows for an option's default; `None` if the default is empty."""
    return None if default in (None, "", ()) else str(default)


def _convert(type_: Any, tokens: Sequence[cyclopts.Token]) -> Any:
    """Converts an option's value. Rejects a fraction if the option takes an integer, because cyclopts would round
    `1.5`."""
    import cyclopts

    # An option that also accepts text or fractions needs no check.
    if int in (type_, *get_args(type_)) and not {str, float} & set(get_args(type_)):
        for token in tokens:
            if not _INTEGER.fullmatch(token.value):
                raise ValueError(f"{token.value!r} is not an integer")
    return cast("Any", cyclopts.convert(type_, tokens))


def main(arguments: Sequence[str] | None = None) -> None:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # The process was started without this stream. Discard all text that is written to the stream.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # If the terminal or file cannot represent a character, a question mark replaces it.
            stream.reconfigure(errors="replace")
    given = sys.argv[1:] if arguments is None else arguments
    _print_warnings_as_notes()
    _note_low_limits()
    code = invoke(given)
    if (own_code := sys.modules.get("lopsided.own_code")) and own_code.is_stuck():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _print_warnings_as_notes() -> None:
    """Makes Python print warnings about captures and leftover files as notes. Other warnings are printed as usual."""
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if isinstance(message, LeftoverWarning | CaptureWarning):
            print_note(str(message))
        else:
            usual(message, category, filename, lineno, file, line)

    warnings.showwarning = show


_LEAST_FILES, _LEAST_MEMORY = 16, 2 << 30
"""Minimum number of open files, and minimum address space in bytes.

Below these limits, some libraries abort the process without a message.
"""


def _note_low_limits() -> None:
    """Prints a note if a process limit is so low that lopsided may abort."""
    if resource is None:
        return
    files, memory = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS))
    if 0 <= files < _LEAST_FILES:
        print_note(f"this process may open only {files} files; lopsided needs more (`ulimit -n 64`)")
    if 0 <= memory < _LEAST_MEMORY:
        print_note(
            f"this process may use only {memory >> 20} MiB of address space; lopsided aborts when they are used up "
            "(`ulimit -v unlimited`)"
        )


def invoke(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit code. Prints expected failures without a traceback."""
    from lopsided.errors import ControllerError, LopsidedError, QueueError, ScenarioError, UsageError

    # `kill` (SIGTERM) needs the same cleanup as Ctrl-C.
    terminable = bool(arguments) and arguments[0] in TERMINABLE
    under_way[:] = arguments
    try:
        # Reject arguments that are not UTF-8 at once. A library would also reject them, but only after the run.
        for argument in arguments:
            argument.encode("utf-8")
        with Interruptible(terminable=terminable):
            result = _answer(arguments)
            sys.stdout.flush()
    except ScenarioError as error:
        # The rendered problems of a scenario already start with "error:".
        print_error(error.rendered, prefix=not error.problems)
        return 2
    except UsageError as error:
        print_error(str(error))
        return 2
    except (ControllerError, QueueError) as error:
        # The user's own code raised the error, so print the traceback.
        print_error(_own_traceback(error.__cause__), prefix=False)
        print_error(str(error))
        return 1
    except LopsidedError as error:
        print_error(str(error))
        return 1
    except KeyboardInterrupt:
        print_error("interrupted", prefix=False)
        return 130
    except BrokenPipeError:
        stop_printing()
        return 0
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            raise
        print_error(_not_text(error))
        return 2
    except OSError as error:
        # Commands handle the errors of their own files, so this error usually concerns standard output. Standard
        # error may be closed too.
        with contextlib.suppress(OSError):
            # An error of standard output has no file name.
            what = "cannot print" if error.filename is None else str(error.filename)
            print_error(f"{what}: {error.strerror or error}")
        return 1
    return result if isinstance(result, int) else 0


def _answer(arguments: Sequence[str]) -> object:
    """Prints the list of commands or the version; otherwise runs a command and returns its result."""
    if arguments and arguments[0] == "help":
        # `lopsided help COMMAND` means `lopsided COMMAND --help`, as in git and cargo.
        return _answer([*arguments[1:], "--help"])
    if listing.asked_for(list(arguments)):
        listing.show()
    elif list(arguments) == ["--version"]:
        print(_version())
    elif arguments[0] == COMPLETION:
        _install_completion(arguments[1:])
    elif arguments[0] == COMPLETE:
        _complete(arguments[1:])
    else:
        return _command(arguments)
    return 0


def _install_completion(arguments: Sequence[str]) -> None:
    from lopsided.cli import shells
    from lopsided.errors import UsageError

    if len(arguments) > 1:
        raise UsageError(f"{COMPLETION} takes the name of one shell: {', '.join(shells.SHELLS)}")
    for line in shells.install(*arguments):
        print_line(line)


def _complete(arguments: Sequence[str]) -> None:
    from lopsided.cli import shells

    # An incomplete command line may raise an error. Print neither candidates nor a message: the shell would hide the
    # message.
    with contextlib.suppress(Exception):
        shells.answer(build(), arguments)


def _command(arguments: Sequence[str]) -> object:
    """Runs the command. Returns its result, or 2 if the arguments are invalid."""
    import cyclopts

    app = build()
    if not {"--help", "-h"}.isdisjoint(arguments):
        # The default console of cyclopts would report a closed pipe as a failure.
        app.console = terminal.helping()
        if arguments[0] in {command.name for command in COMMANDS}:
            _name_arguments(app[arguments[0]])
    try:
        return app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except cyclopts.CycloptsError as error:
        from lopsided.cli.hints import hint, message

        if isinstance(error, cyclopts.UnusedCliTokensError):
            print_error(f"unexpected argument: {' '.join(error.unused_tokens or [])}")
        else:
            print_error(message(error))
        if said := hint(error, arguments):
            print_note(said)
        return 2


def _name_arguments(command: cyclopts.App) -> None:
    """Replaces `[ARGS]` in cyclopts' usage line with the names of the command's arguments."""
    arguments = command.assemble_argument_collection()
    words = [each.name for each in arguments if each.required and each.index is None]
    if any(not each.required and each.index is None for each in arguments):
        words.append("[OPTIONS]")
    for each in arguments:
        if each.index is not None:
            several = "..." if each.field_info.kind is each.field_info.VAR_POSITIONAL else ""
            word = f"{each.name.lstrip('-').upper()}{several}"
            words.append(word if each.required else f"[{word}]")
    command.usage = " ".join(["Usage:", "lopsided", *command.name, *words])


def _not_text(error: UnicodeError) -> str:
    """Returns the error for an argument that is not UTF-8, or a host name that DNS cannot encode."""
    if not isinstance(error, UnicodeEncodeError):
        return f"invalid host name: {error}"
    octets = error.object[error.start : error.end].encode("utf-8", "surrogateescape" if _escaped(error) else "replace")
    return f"an argument is not UTF-8 text: it contains {octets!r}"


def _escaped(error: UnicodeEncodeError) -> bool:
    return all("\udc80" <= letter <= "\udcff" for letter in error.object[error.start : error.end])


def _own_traceback(cause: BaseException | None) -> str:
    """Returns the traceback without the frames of lopsided and of Python's import system."""
    if cause is None:
        return ""
    here = str(Path(__file__).parent.parent)
    told = traceback.TracebackException.from_exception(cause)
    frames = [frame for frame in told.stack if not frame.filename.startswith((here, "<frozen"))]
    if not frames:
        return "".join(told.format_exception_only()).rstrip()
    told.stack = traceback.StackSummary.from_list(frames)
    return "".join(told.format()).rstrip()
