"""`lopsided doctor`."""

from __future__ import annotations

from lopsided.cli.options import Json
from lopsided.cli.terminal import out, print_json, print_line, print_prose


def doctor(*, as_json: Json = False) -> int:
    """Report what this machine can run, what is missing, and the command that installs it.

    For example:

        lopsided doctor
        lopsided doctor --json
    """
    from lopsided.worlds.kernel import backend, capabilities
    from lopsided.worlds.kernel.errors import KernelUnavailable

    findings = [*capabilities.findings(), *capabilities.tools()]
    try:
        kind = backend.choose("auto").kind
    except KernelUnavailable:
        kind = None
    if as_json:
        print_json({"kernel": kind, "findings": [vars(finding) for finding in findings]})
        return 0
    from rich.table import Table as Grid
    from rich.text import Text

    print_prose(
        "Simulations run on this machine. Only --world kernel, --world live, emulate, shape and reflect need more:\n"
    )
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column()
    grid.add_column()
    grid.add_column(overflow="fold")
    for finding in findings:
        mark = Text("yes", "green") if finding.good else Text("some" if finding.partial else "no", "yellow")
        seen = Text(finding.seen)
        if finding.remedy:
            seen.append(f"\n{finding.remedy}", "dim")
        grid.add_row(mark, finding.name, seen)
    out().print(grid)
    print_line(f"\n`--world kernel` runs in: {kind or 'nothing yet'}")
    return 0
