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
"""For each command whose name is a Python built-in: the name of the command's module, which is also the name of the
command's function."""
_SUMMARIES = {
    "run": "Run a scenario and report on it.",
    "sweep": "Run a scenario for every combination of settings.",
    "merge": "Join the shards of a study.",
    "search": "Search for the settings that maximise or minimise metrics, under constraints.",
    "fairness": "Measure how fairly pairs of flows with different congestion controls and RTTs share a bottleneck.",
    "aqm": "Compare queue disciplines: run one scenario with each discipline.",
    "ackpath": "Compare remedies for a slow ACK path: run one scenario with each remedy and with combinations.",
    "suite": "Run a standard suite by name, such as the cases of RFC 9743, and judge each case.",
    "size": "Find the uplink buffer or the queue discipline for a line, and print the commands that set it.",
    "reproduce": "Re-run a published study.",
    "emulate": "Run a command, or your shell, behind an emulated line, in real time.",
    "shape": "Put a queue discipline on the outgoing traffic of a network interface.",
    "reflect": "Return the sensing packets of asqm and bdp, at the far end of a line whose near end runs `shape`.",
    "cite": "Print BibTeX for lopsided, and for the studies that it re-runs.",
    "compare": "Compare two worlds, two runs, or your congestion control with a built-in one.",
    "page": "Write the laboratory as one HTML file, with sliders for the settings of a line.",
    "ui": "Open the laboratory in a browser, with your runs and sweeps.",
    "metrics": "Compute averages, largest windows, buffer and performance from a sender's log, as merritt2010 does.",
    "plot": "Draw a figure from a run folder.",
    "explain": "Explain what limited a connection over time, as text and as a figure.",
    "analyze": "Explain why the connections of a capture were slow: limits of the sender, ACK path, and bottlenecks.",
    "fit": "Estimate the line of a capture as a scenario, and show what would improve the line.",
    "list": "List the available congestion controls, queues, stages, media, presets and papers.",
    "new": "Write a scenario to start from: a line, a download and an upload, with explanations.",
    "check": "Check scenario files, or compare two builds of a program on emulated lines.",
    "schema": "Print the JSON Schema of scenario files, for editors.",
    "kernel": "Build the kernel that runs real Linux TCP in virtual time.",
    "probe": "Measure a real line with a sink on one machine, and a sender that logs TCP's state on another.",
    "fetch": "Download a file over several connections that share the rate of one connection (RDRA).",
    "proxy": "Run an HTTP proxy on this machine that downloads as `lopsided fetch` does.",
    "doctor": "Report what this machine can run, what is missing, and the command that installs it.",
}
COMMANDS = tuple(Command(name, summary) for name, summary in _SUMMARIES.items())

SIMULATING = tuple(
    ["run", "sweep", "search", "fairness", "aqm", "ackpath", "suite", "size", "reproduce", "compare", "explain"]
)
"""Commands that only compute and write files."""

TERMINABLE = (*SIMULATING, "fit", "probe", "check")
"""Commands for which SIGTERM acts like Ctrl-C, so that they remove their temporary files and processes. The other
commands install their own signal handlers."""
