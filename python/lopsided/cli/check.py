"""`lopsided check`."""

from __future__ import annotations

from pathlib import Path

from lopsided.cli.options import NOTHING, Json, OwnCode, Quiet, Settings, ask, load
from lopsided.cli.terminal import print_json, print_line
from lopsided.studies.doubts import unused_controllers


def check(
    file: Path, /, *, settings: Settings = (), own: OwnCode = NOTHING, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Check a scenario file without running it.

    Prints each mistake with its line and a suggestion. The exit code is 2 if there is a mistake.

    For example:

        lopsided check scenario.toml
        lopsided check scenario.toml --set "link.up.rate=1 Mbit/s"

    Parameters
    ----------
    file
        The scenario file.
    """
    scenario = load(file, settings, own)
    ask(unused_controllers(scenario))
    if as_json:
        print_json({"file": file, "good": True, "flows": scenario.flow_names, "duration_s": scenario.duration_s})
    elif not quiet:
        flows = len(scenario.flow_names)
        print_line(f"{file}: good; {flows} flow{'s' if flows != 1 else ''} over {scenario.duration_s:g} s")
