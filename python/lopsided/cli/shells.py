"""Installs completion in bash, zsh and fish: scripts that call `lopsided --complete`.

The scripts contain no command names, so they stay valid when commands change. They are installed in the user's data
folder, or in fish's completion folder. A line in `~/.bashrc` or `~/.zshrc` loads them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lopsided.cli.completion import candidates
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from cyclopts import App

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """Returns the completion script of a shell."""
    return (Path(__file__).parent / f"completion.{shell}").read_text(encoding="utf-8")


def answer(app: App, arguments: Sequence[str]) -> None:
    """Prints the candidates, one per line. For zsh and fish, a tab and a description follow each candidate.

    The first argument is the shell. For bash, the next arguments are readline's word breaks, and the line up to the
    cursor. For other shells, the next arguments are the words of the line, up to the word that contains the cursor.
    """
    shell, *line = arguments
    if shell == "bash":
        found = for_bash(app, *line)
    else:
        found = [f"{value}\t{_short(text)}" if text else value for value, text in candidates(app, line)]
    print("\n".join(found))


def _short(text: str) -> str:
    """Returns the first sentence of the text as one line."""
    return " ".join(text.split()).split(". ")[0].rstrip(".")


def for_bash(app: App, breaks: str, line: str) -> list[str]:
    """Returns replacements for the text after readline's last word break, or after an open quote.

    A shell word may contain several readline words, which `breaks` separate.
    """
    words, quote, start = _split(line, breaks)
    # The first word is the program's name.
    found = candidates(app, words[1:]) if len(words) > 1 else []
    return [_quoted(value[start:], quote) for value, _ in found]


def _split(line: str, breaks: str) -> tuple[list[str], str, int]:
    """Splits a command line into words, as readline does.

    Returns the words without quotes, the quote that is still open, and the number of characters at the start of the
    last word that a completion does not replace.
    """
    words = [""]
    quote, kept, within = "", 0, False
    letters = iter(line)
    for letter in letters:
        if quote:
            if letter == quote:
                quote = ""
                # Readline treats a closed quote as a word break.
                kept = len(words[-1])
            elif letter == "\\" and quote == '"':
                words[-1] += next(letters, "")
            else:
                words[-1] += letter
        elif letter == "\\":
            words[-1] += next(letters, "")
        elif letter in "'\"":
            quote, within, kept = letter, True, len(words[-1])
        elif letter.isspace():
            if words[-1] or within:
                words.append("")
            kept, within = 0, False
        else:
            words[-1] += letter
            if letter in breaks:
                kept = len(words[-1])
    return words, quote, kept


def _quoted(text: str, quote: str) -> str:
    """Escapes the text inside an open quote."""
    special = {"": " \t\\'\"$`&|;<>()*?[]#!{}", '"': '\\"$`', "'": ""}[quote]
    return "".join(f"\\{letter}" if letter in special else letter for letter in text)


# --- installation -------------------------------------------------------------------------------------------------


def install(shell: str | None = None) -> list[str]:
    """Writes the completion script of a shell (default: the parent process's shell), and makes new shells load it.

    Returns the lines to print.
    """
    shell = shell or _running()
    if shell not in SHELLS:
        raise UsageError(f"no completion for {shell!r}: choose one of {', '.join(SHELLS)}")
    place = _place(shell)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script(shell), encoding="utf-8")
    if shell == "fish":
        return [f"completion in fish: {place}, which new shells load"]
    start = Path.home() / f".{shell}rc"
    told = f"completion in {shell}: {place}, which new shells load because of a line at the end of {start}"
    _append(start, f'[ ! -f "{place}" ] || . "{place}"  # completion of lopsided\n')
    return [told, f"in this shell, run: . {place}"]


def _place(shell: str) -> Path:
    if shell == "fish":
        return _folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "lopsided.fish"
    return _folder("XDG_DATA_HOME", ".local/share") / "lopsided" / f"completion.{shell}"


def _folder(variable: str, usual: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named) if named.startswith("/") else Path.home() / usual


def _append(start: Path, line: str) -> None:
    """Appends the line to the file, unless the file already contains the line."""
    text = start.read_text(encoding="utf-8", errors="replace") if start.exists() else ""
    if line not in text:
        with start.open("a", encoding="utf-8") as file:
            file.write(line if not text or text.endswith("\n") else f"\n{line}")


def _running() -> str:
    """Returns the shell that started this process. If a different program started it, returns the login shell."""
    try:
        parent = Path(f"/proc/{os.getppid()}/comm").read_text(encoding="utf-8").strip().lstrip("-")
    except OSError:
        parent = ""
    if parent in SHELLS:
        return parent
    named = Path(os.environ.get("SHELL", "")).name
    if named in SHELLS:
        return named
    raise UsageError("unknown shell: name it, as in lopsided --install-completion bash (or zsh, fish)")
