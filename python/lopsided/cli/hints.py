"""What helps whoever asked a command wrongly, where the library of commands knows no more than the mistake."""

from __future__ import annotations

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
"""Options that other commands have, and the setting of a scenario that says the same."""
RENAMED = {
    ("plot", "--out"): "--plot",
    ("plot", "--window"): "--average",
    ("explain", "--figure"): "--plot",
    ("compare", "--figure"): "--plot",
    ("compare", "--window"): "--from 60s --to 150s",
    ("emulate", "--table"): "--data",
    ("fetch", "--window"): "--rule",
    ("proxy", "--window"): "--rule",
    ("probe", "--down"): "--downloads",
    ("probe", "--up"): "--uploads",
    ("reflect", "--from"): "--sender",
}
"""Options that had another name before each name got one meaning, by command."""
_OF_SCENARIOS = ("run", "sweep", "check", "aqm", "ackpath", "search", "compare")


def hint(error: cyclopts.CycloptsError, arguments: Sequence[str]) -> str:
    """A sentence, or nothing."""
    command = arguments[0] if arguments else ""
    if isinstance(error, cyclopts.MissingArgumentError):
        return _choices(command)
    if isinstance(error, cyclopts.UnusedCliTokensError):
        several = "; `compare` compares two run folders, `sweep` runs a scenario with several settings"
        return f"`lopsided {command} --help` says what it takes{several if command in _OF_SCENARIOS else ''}"
    if isinstance(error, cyclopts.UnknownOptionError):
        keyword = (error.token.keyword or "").partition("=")[0]
        if (now := RENAMED.get((command, keyword))) is not None:
            return f"{keyword} is called {now} here"
    if isinstance(error, cyclopts.UnknownOptionError) and command in _OF_SCENARIOS:
        setting = _KEYS.get((error.token.keyword or "").partition("=")[0])
        return f"it is a setting of the scenario: --set {setting}, for example" if setting else ""
    return ""


def _choices(command: str) -> str:
    """What may be given to a command that was given nothing, where that is one of few words."""
    if command == "reproduce":
        return f"there are {', '.join(papers.available())}, and all; `lopsided list papers` says what each is"
    if command == "plot":
        from lopsided.views.plot import KINDS

        return f"there are {', '.join(KINDS)}"
    words = {"kernel": "build and path", "probe": "sink, on one machine, and send, on the other"}
    return f"there are {words[command]}" if command in words else ""
