"""The commands of `lopsided`, in the order in which `--help` lists them.

To add a command, add a module to this folder and an entry to this list. The entry's summary repeats the first line of
the function's docstring, so that `--help` lists all commands without importing them; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple


class Command(NamedTuple):
    """A command: its name, the import path of its function, and its line in the list of commands."""

    name: str
    home: str
    summary: str


COMMANDS: tuple[Command, ...] = (
    Command("run", "lopsided.cli.run:run", "Run a scenario and report on it."),
    Command("sweep", "lopsided.cli.sweep:sweep", "Run a scenario for every combination of settings."),
    Command(
        "merge",
        "lopsided.cli.merge:merge",
        "Put the shards of a study together.",
    ),
    Command(
        "search",
        "lopsided.cli.search:search",
        "Search for the settings that maximise or minimise metrics, under constraints.",
    ),
    Command(
        "fairness",
        "lopsided.cli.fairness:fairness",
        "Measure how fairly pairs of flows with different congestion controls and RTTs share a bottleneck.",
    ),
    Command("aqm", "lopsided.cli.aqm:aqm", "Compare queue disciplines: one scenario under each of them, side by side."),
    Command(
        "ackpath",
        "lopsided.cli.ackpath:ackpath",
        "Compare remedies for a narrow ACK path: one scenario with each on and off, alone and combined.",
    ),
    Command(
        "suite",
        "lopsided.cli.suite:suite",
        "Run a standard suite by name, such as the cases of RFC 9743, and judge each case.",
    ),
    Command(
        "size",
        "lopsided.cli.size:size",
        "Find the uplink buffer or the queue discipline for a line, and how to set it.",
    ),
    Command("reproduce", "lopsided.cli.reproduce:reproduce", "Re-run a published study."),
    Command(
        "emulate",
        "lopsided.cli.emulate:emulate",
        "Run a command, or your shell, behind an emulated line, in real time.",
    ),
    Command(
        "shape", "lopsided.cli.shape:shape", "Put a queue discipline on the outgoing traffic of a network interface."
    ),
    Command(
        "reflect",
        "lopsided.cli.reflect:reflect",
        "Echo the probe packets of asqm and bdp: run this at the far end of a line whose near end runs `shape`.",
    ),
    Command(
        "cite", "lopsided.cli.cite:cite", "Print BibTeX for lopsided, and for the studies that are re-run with it."
    ),
    Command(
        "compare",
        "lopsided.cli.compare:compare",
        "Compare two worlds, two runs, or your congestion control with a built-in one.",
    ),
    Command(
        "page", "lopsided.cli.page:page", "Write the laboratory as one HTML file: drag the buffer, watch the line."
    ),
    Command("ui", "lopsided.cli.ui:ui", "Open the laboratory in a browser, with your runs and sweeps to browse."),
    Command(
        "metrics",
        "lopsided.cli.metrics:metrics",
        "Read the log of a sender: averages, largest windows, buffer and performance as merritt2010 computes them.",
    ),
    Command("plot", "lopsided.cli.plot:plot", "Draw a figure from a run folder."),
    Command(
        "explain",
        "lopsided.cli.explain:explain",
        "Explain the history of a connection, in words and as a picture.",
    ),
    Command(
        "analyze",
        "lopsided.cli.analyze:analyze",
        "Explain why the connections of a capture were slow: limits of the sender, ACK path, and bottlenecks.",
    ),
    Command(
        "fit",
        "lopsided.cli.fit:fit",
        "Find the line on which a capture was made, as a scenario, and what would make it better.",
    ),
    Command(
        "list",
        "lopsided.cli.list_parts:list_parts",
        "List the available congestion controls, queues, stages, media, presets and papers.",
    ),
    Command(
        "new",
        "lopsided.cli.new:new",
        "Write a scenario to start from: a line, a download and an upload, with explanations.",
    ),
    Command(
        "check",
        "lopsided.cli.check:check",
        "Check scenario files, or compare two builds of a program on emulated lines.",
    ),
    Command("schema", "lopsided.cli.schema:schema", "Print the JSON Schema of scenario files, for editors."),
    Command("kernel", "lopsided.cli.kernel:kernel", "Build the kernel that runs real Linux TCP in virtual time."),
    Command(
        "probe",
        "lopsided.cli.probe:probe",
        "Measure a real line: a sink on one machine, a sender that logs TCP's state on the other.",
    ),
    Command(
        "fetch",
        "lopsided.cli.fetch:fetch",
        "Download a file over several connections that together take the share of one (RDRA).",
    ),
    Command(
        "proxy",
        "lopsided.cli.proxy:proxy",
        "Run an HTTP proxy on this machine that downloads as `lopsided fetch` does.",
    ),
    Command(
        "doctor",
        "lopsided.cli.doctor:doctor",
        "Report what this machine can run, what is missing, and the command that installs it.",
    ),
)

SIMULATING = (
    "run",
    "sweep",
    "search",
    "fairness",
    "aqm",
    "ackpath",
    "suite",
    "size",
    "reproduce",
    "compare",
    "explain",
)
"""Commands that only compute and write files."""

TERMINABLE = (*SIMULATING, "fit", "probe", "check")
"""Commands that treat SIGTERM like Ctrl-C: they remove the files and processes that they created. The other commands
handle signals themselves."""
