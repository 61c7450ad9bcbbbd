"""The commands of `lopsided`, in the order of `--help`.

A new command needs a module in this folder and an entry in this list. The entry's summary repeats the first line of the
function's docstring, so that `--help` imports no command. A test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command: its name, and its line in the list of commands."""

    name: str
    summary: str

    @property
    def home(self) -> str:
        """The import path of the command's function."""
        name = _HOMES.get(self.name, self.name)
        return f"lopsided.cli.{name}:{name}"


_HOMES = {"list": "list_parts"}
"""Modules and functions of commands whose name is already a name of Python."""
_SUMMARIES = {
    "run": "Run a scenario and report on it.",
    "sweep": "Run a scenario for every combination of settings.",
    "merge": "Put the shards of a study together.",
    "search": "Search for the settings that maximise or minimise metrics, under constraints.",
    "fairness": "Measure how fairly pairs of flows with different congestion controls and RTTs share a bottleneck.",
    "aqm": "Compare queue disciplines: one scenario under each of them, side by side.",
    "ackpath": "Compare remedies for a narrow ACK path: one scenario with each on and off, alone and combined.",
    "suite": "Run a standard suite by name, such as the cases of RFC 9743, and judge each case.",
    "size": "Find the uplink buffer or the queue discipline for a line, and how to set it.",
    "reproduce": "Re-run a published study.",
    "emulate": "Run a command, or your shell, behind an emulated line, in real time.",
    "shape": "Put a queue discipline on the outgoing traffic of a network interface.",
    "reflect": "Echo the probe packets of asqm and bdp: run this at the far end of a line whose near end runs `shape`.",
    "cite": "Print BibTeX for lopsided, and for the studies that are re-run with it.",
    "compare": "Compare two worlds, two runs, or your congestion control with a built-in one.",
    "page": "Write the laboratory as one HTML file: drag the buffer, watch the line.",
    "ui": "Open the laboratory in a browser, with your runs and sweeps to browse.",
    "metrics": "Read the log of a sender: averages, largest windows, buffer and performance as merritt2010 computes "
    "them.",
    "plot": "Draw a figure from a run folder.",
    "explain": "Explain the history of a connection, in words and as a picture.",
    "analyze": "Explain why the connections of a capture were slow: limits of the sender, ACK path, and bottlenecks.",
    "fit": "Find the line on which a capture was made, as a scenario, and what would make it better.",
    "list": "List the available congestion controls, queues, stages, media, presets and papers.",
    "new": "Write a scenario to start from: a line, a download and an upload, with explanations.",
    "check": "Check scenario files, or compare two builds of a program on emulated lines.",
    "schema": "Print the JSON Schema of scenario files, for editors.",
    "kernel": "Build the kernel that runs real Linux TCP in virtual time.",
    "probe": "Measure a real line: a sink on one machine, a sender that logs TCP's state on the other.",
    "fetch": "Download a file over several connections that together take the share of one (RDRA).",
    "proxy": "Run an HTTP proxy on this machine that downloads as `lopsided fetch` does.",
    "doctor": "Report what this machine can run, what is missing, and the command that installs it.",
}
COMMANDS = tuple(Command(name, summary) for name, summary in _SUMMARIES.items())

SIMULATING = tuple(
    ["run", "sweep", "search", "fairness", "aqm", "ackpath", "suite", "size", "reproduce", "compare", "explain"]
)
"""Commands that only compute and write files."""

TERMINABLE = (*SIMULATING, "fit", "probe", "check")
"""Commands that treat SIGTERM like Ctrl-C, and remove their files and processes. Other commands handle signals
themselves."""
