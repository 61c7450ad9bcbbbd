"""The commands of `lopsided`, in the order in which `--help` lists them: name, and where its function is.

Adding one takes a module in this folder and a line here; the first line of the function's docstring is its line of
help. `--help` imports all of these modules, so what only their work needs (polars, matplotlib) they import when they
work.
"""

from __future__ import annotations

COMMANDS: tuple[tuple[str, str], ...] = (
    ("run", "lopsided.cli.run:run"),
    ("sweep", "lopsided.cli.sweep:sweep"),
    ("fairness", "lopsided.cli.fairness:fairness"),
    ("aqm", "lopsided.cli.aqm:aqm"),
    ("ackpath", "lopsided.cli.ackpath:ackpath"),
    ("size", "lopsided.cli.size:size"),
    ("reproduce", "lopsided.cli.reproduce:reproduce"),
    ("compare", "lopsided.cli.compare:compare"),
    ("plot", "lopsided.cli.plot:plot"),
    ("explain", "lopsided.cli.explain:explain"),
    ("list", "lopsided.cli.list_parts:list_parts"),
    ("new", "lopsided.cli.new:new"),
    ("check", "lopsided.cli.check:check"),
    ("schema", "lopsided.cli.schema:schema"),
    ("kernel", "lopsided.cli.kernel:kernel"),
    ("probe", "lopsided.cli.probe:probe"),
    ("doctor", "lopsided.cli.doctor:doctor"),
)
