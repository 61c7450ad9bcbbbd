"""`lopsided explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import NOTHING, Overwrite, OwnCode, Quiet, picture_at
from lopsided.cli.terminal import heading, link, out, progress, say, say_prose


def explain(
    folder: Path,
    /,
    *,
    flow: Annotated[str | None, Parameter(show_default=False)] = None,
    from_: Annotated[str | None, Parameter(name="--from", show_default=False)] = None,
    to: Annotated[str | None, Parameter(show_default=False)] = None,
    everything: Annotated[bool, Parameter(name="--all", negative=(), show_default=False)] = False,
    figure: Annotated[Path | None, Parameter(show_default=False)] = None,
    overwrite: Overwrite = False,
    own: OwnCode = NOTHING,
    quiet: Quiet = False,
) -> None:
    """Tell what a connection went through and why, in words and as a picture.

    States, losses and the rule that found them, reductions and their signal, undo, timers, why ACKs were sent, and what
    held the sender back for how long. A simulated run that did not record this is run once more, to the same digest;
    a folder holds no code, so that code of your own is named again. Of a run on Linux the captures at its hosts tell
    what they show (`run --world kernel --pcap`).

    For example:

        lopsided explain runs/adsl
        lopsided explain runs/adsl --flow download --from 12s --to 14s --figure story.svg

    Parameters
    ----------
    folder
        A run folder.
    flow
        The flow to explain; default: the first one of TCP.
    from_
        Tell what happened from this time on, such as 12s.
    to
        Tell what happened until then.
    everything
        Tell also of reordering that came to nothing, and do not shorten the list.
    figure
        The picture to write: .png, .svg or .pdf; default: explain-FLOW.png in the run folder.
    """
    from lopsided.data.units import parse_time
    from lopsided.run import Run
    from lopsided.studies import explain as stories
    from lopsided.views import story as views
    from lopsided.views.plot import story as pictures
    from lopsided.views.plot import style

    if figure is not None:
        picture_at(figure, overwrite=overwrite)
    span = [parse_time(text) if text else None for text in (from_, to)]
    controllers = own.load()
    run = Run.load(folder)
    run.scenario = run.scenario.with_controllers(controllers) if controllers else run.scenario
    with progress("running it again", quiet=quiet) as report:
        found = stories.of_run(run, flow, from_s=span[0], to_s=span[1], progress=report)
    heading(f"{found.flow} in {run.scenario.name}", f"{run.world}, seed {run.seed}, digest {run.digest}")
    say_prose(views.summary(found))
    for table in (views.limits(found), views.acknowledgements(found)):
        if table is not None:
            out().print(table)
    out().print(views.timeline(found, everything=everything))
    target = figure or picture_at(folder / f"explain-{found.flow}.png", overwrite=overwrite)
    style.save(pictures.figure(found), target)
    say(link(target))
