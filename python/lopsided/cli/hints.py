"""Returns hints for invalid command lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

import cyclopts

from lopsided import papers

_KEYS = {
    "--cc": "stack.cc=cubic",
    "--profile": "stack.profile=linux-6.1",
    "--ecn": "stack.ecn=on",
    "--duration": "scenario.duration=60s",
    "--rtt": "link.rtt=20ms",
    "--preset": "link.preset=docsis31-1000-35",
    "--down": "link.down.rate=50Mbit/s",
    "--up": "link.up.rate=10Mbit/s",
    "--loss": "link.down.loss=1%",
    "--queue": "link.up.queue.kind=fq_codel",
    "--buffer": 'link.up.queue.limit="50 packets"',
}
"""Options that exist in other programs or commands, and lopsided's equivalent settings."""
RENAMED = {
    ("plot", "--out"): "--plot",
    ("plot", "--window"): "--average",
    ("explain", "--figure"): "--plot",
    ("compare", "--figure"): "--plot",
    ("compare", "--window"): "--from 60s --to 150s",
    ("emulate", "--table"): "--data",
    ("fetch", "--window"): "--rule",
    ("proxy", "--window"): "--rule",
    ("fetch", "--connections"): "--streams",
    ("probe", "--down"): "--downloads",
    ("probe", "--up"): "--uploads",
    ("reflect", "--from"): "--sender",
}
"""The name of an option here, by command and a name that users try: a former name, or the name in other commands."""
_GLOBAL = ("--help", "--version", "--install-completion")
"""Options of the program itself."""
_ONLY_OPTIONS = {"fairness": "--cc cubic,bbr --rtt 20ms", "size": "--down 50M --up 10M"}
"""Commands without arguments, and their most important options."""
_MISSING = re.compile(r'Command "(.+)" parameter "?([^"\s]+)"? requires an argument\.')
_SUGGESTION = re.compile(r' Did you mean "?(?:--)?([\w-]+)"?\?')
_LEAST_LIKENESS = 0.65
"""Minimum similarity (`difflib` ratio) at which a word counts as a misspelled key."""
_OF_SCENARIOS = ("run", "sweep", "check", "aqm", "ackpath", "search", "compare")


def hint(error: cyclopts.CycloptsError, arguments: Sequence[str]) -> str:
    """Returns a sentence that helps the user to correct the command line, or an empty string."""
    command = arguments[0] if arguments else ""
    if isinstance(error, cyclopts.MissingArgumentError):
        of_option = (_MISSING.fullmatch(_line(error)) or [""] * 3)[2].startswith("-")
        return (not of_option and _choices(command)) or f"`lopsided {command} --help` shows examples"
    if isinstance(error, cyclopts.UnusedCliTokensError):
        several = "; `compare` compares two run folders, and `sweep` runs a scenario with several settings"
        if command in _ONLY_OPTIONS:
            return f"`lopsided {command}` takes options, for example {_ONLY_OPTIONS[command]}"
        return f"`lopsided {command} --help` lists its arguments{several if command in _OF_SCENARIOS else ''}"
    if isinstance(error, cyclopts.UnknownOptionError):
        # Without a value, the token has no keyword.
        keyword = (error.token.keyword or error.token.value).partition("=")[0]
        if (now := RENAMED.get((command, keyword))) is not None:
            return f"{keyword} is called {now} here"
        if difflib.get_close_matches(keyword, ("--help",)):
            return f"`lopsided {command} --help` lists the options"
        is_suggested = _SUGGESTION.search(message(error)) is not None
        if command in _OF_SCENARIOS and keyword in _KEYS and not is_suggested:
            return f"this is a setting of the scenario: for example --set {_KEYS[keyword]}"
    return ""


def message(error: cyclopts.CycloptsError) -> str:
    """Returns the error message in one line."""
    missing = _MISSING.fullmatch(_line(error))
    if missing is None:
        return _global(error) or without_far_suggestion(_line(error))
    command, name = missing.groups()
    return f"{name} needs a value" if name.startswith("-") else f"`lopsided {command}` needs {name}"


def _global(error: cyclopts.CycloptsError) -> str:
    """Returns the message about an unknown option before the command, or an empty string. cyclopts takes such an option
    for the name of a command."""
    unknown = re.search(r'Unknown command "(-[^"]*)"', _line(error))
    if unknown is None:
        return ""
    word = unknown[1].partition("=")[0]
    close = ["--version"] if word in ("-v", "-V") else difflib.get_close_matches(word, _GLOBAL, 1, _LEAST_LIKENESS)
    return f"Unknown option: {word}. {f'Did you mean {close[0]}?' if close else '`lopsided --help` lists the options'}"


def _line(error: cyclopts.CycloptsError) -> str:
    return " ".join(str(error).split())


def without_far_suggestion(message: str) -> str:
    """Removes "Did you mean" if the suggestion is not similar to the wrong word.

    cyclopts also suggests names that share almost no letters with the wrong word, such as `--json` for `--down`.
    """
    suggestion = _SUGGESTION.search(message)
    wrong = re.search(r'Unknown (?:option: "?(?:--)?|command ")([\w-]+)', message)
    if suggestion is None or wrong is None:
        return message
    likeness = difflib.SequenceMatcher(None, wrong[1], suggestion[1]).ratio()
    return message if likeness >= _LEAST_LIKENESS else message.replace(suggestion[0], "")


def _choices(command: str) -> str:
    """Returns a sentence that lists the possible first arguments of a command. Returns an empty string if the command
    has no fixed list of first arguments."""
    if command == "reproduce":
        return f"choose one of {', '.join(papers.available())}, or all; `lopsided list papers` describes them"
    if command == "plot":
        from lopsided.views.plot import KINDS

        return f"choose one of {', '.join(KINDS)}"
    words = {"kernel": "build or path", "probe": "sink (on one machine) or send (on the other)"}
    return f"choose {words[command]}" if command in words else ""
