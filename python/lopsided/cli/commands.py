"""The commands of `lopsided`, in the order `--help` lists them: name, where its function is, one line of help.

Adding one takes a module in this folder and a line here. A module is imported only when its command is used.
"""

from __future__ import annotations

COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("run", "lopsided.cli.run:run", "Run a scenario and report on it."),
    ("sweep", "lopsided.cli.sweep:sweep", "Run a scenario for every combination of settings."),
    ("size", "lopsided.cli.size:size", "Find the uplink buffer for a line, and how to set it."),
    ("reproduce", "lopsided.cli.reproduce:reproduce", "Re-run a published study."),
    ("plot", "lopsided.cli.plot:plot", "Draw a figure from a run folder."),
    ("check", "lopsided.cli.check:check", "Check a scenario file without running it."),
    ("schema", "lopsided.cli.schema:schema", "Print the JSON Schema of scenario files, for editors."),
)
