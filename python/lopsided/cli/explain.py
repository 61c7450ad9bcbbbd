"""`lopsided explain`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from lopsided.cli.commands import COMMANDS
from lopsided.cli.options import NOTHING, PRINTING, Column, Flag, Overwrite, OwnCode, Printing, picture_at, picture_in
from lopsided.cli.terminal import answering, heading, link, out, print_json, print_line, print_prose, progress
from lopsided.data.units import parse_time
from lopsided.errors import RunError, UsageError
from lopsided.scenario import Run
from lopsided.studies import explain as stories

if TYPE_CHECKING:
    from lopsided.studies.explain import Story


def explain(
    source: Path,
    /,
    *,
    flow: str | None = None,
    from_: Annotated[str | None, Parameter(name="--from")] = None,
    to: str | None = None,
    everything: Annotated[Flag, Parameter(name="--all")] = False,
    capture: Path | None = None,
    figure: Annotated[Path | None, Parameter(name="--plot")] = None,
    column: Column = None,
    overwrite: Overwrite = False,
    own: OwnCode = NOTHING,
    printing: Printing = PRINTING,
) -> None:
    """Explain what limited a connection over time, as text and as a figure.

    Lists congestion states, losses, window reductions, timers, the reasons for ACKs, and the time for which each factor
    limited the sender. If a simulated run lacks these events, `explain` repeats the run, with the same digest. If the
    run used your own code, pass its options again, because a run folder contains no code. For a run on Linux, `explain`
    reads the captures of the run (`run --world kernel --pcap`).

    For example:

        lopsided explain runs/adsl
        lopsided explain runs/adsl --flow download --from 12s --to 14s \\
          --plot story.svg
        lopsided explain probe.parquet --flow up1 --capture eth0.pcap

    Parameters
    ----------
    source
        A run folder, or the log of `lopsided probe send --out`: .csv or .parquet.
    flow
        The flow to explain; default: the first TCP flow.
    from_
        Start of the period to explain, such as 12s.
    to
        End of the period to explain.
    everything
        Also list reordering without loss, and print the whole list.
    capture
        A capture (.pcap or .pcapng) taken at the sender of a probe's upload, for example with tcpdump.
    figure
        The figure to write: .png, .svg or .pdf; default: explain-FLOW.png in the run folder or next to the log.
    """
    from lopsided.views.plot import story as pictures
    from lopsided.views.plot import style

    if figure is not None:
        picture_at(figure, overwrite=overwrite)
    begin, end = (parse_time(text) if text else None for text in (from_, to))
    if source.suffix in CAPTURES and source.is_file():
        raise UsageError(_of_capture(source))
    if source.is_file():
        found = _of_probe(source, flow, capture, begin, end)
    elif capture is not None:
        raise UsageError("--capture needs the log of a probe; a run's captures are in its folder (`run --pcap`)")
    else:
        found = _of_run(source, flow, begin, end, own, printing)
    if not printing.silent:
        with answering():
            _show(found, everything=everything)
    beside = source.parent if source.is_file() else source
    target = figure or picture_in(beside, f"explain-{found.flow}.png", overwrite=overwrite)
    with style.for_column(column):
        style.save(pictures.figure(found), target)
    if printing.as_json:
        print_json(_as_json(found, target))
    elif not printing.quiet:
        print_line(link(target))


CAPTURES = (".pcap", ".pcapng", ".cap")


def _of_capture(file: Path) -> str:
    """Returns the error message for a source that is a capture. A capture does not contain the sender's decisions."""
    reads = "analyze" if any(command.name == "analyze" for command in COMMANDS) else None
    how = f"`lopsided {reads} {file}`" if reads else f"`lopsided.trace({str(file)!r})` in Python"
    return (
        f"{file} is a capture. {how} gives goodput, round trips and retransmissions of its connections. For the "
        "states of a sender, log it with `lopsided probe send --out LOG`, then `lopsided explain LOG --capture FILE`"
    )


def _as_json(found: Story, picture: Path) -> dict[str, Any]:
    from lopsided.views import story as views

    return {
        "flow": found.flow,
        "from_s": found.begin_s,
        "to_s": found.end_s,
        "summary": views.summary(found),
        "limited_s": found.limited_s,
        "episodes": [
            {"from_s": each.begin_s, "to_s": each.end_s, "said": views.in_words(each)} for each in found.episodes
        ],
        "plot": picture,
    }


def _show(found: Story, *, everything: bool) -> None:
    from lopsided.views import story as views

    heading(f"{found.flow} in {found.title if found.run is None else found.run.scenario.name}", ", ".join(found.facts))
    print_prose(views.summary(found))
    for table in (views.limits(found), views.acknowledgements(found)):
        if table is not None:
            out().print(table)
    out().print(views.timeline(found, everything=everything))


def _of_run(
    folder: Path, flow: str | None, begin: float | None, end: float | None, own: OwnCode, printing: Printing
) -> Story:
    controllers = own.load()
    run = Run.load(folder)
    run.scenario = run.scenario.with_controllers(controllers) if controllers else run.scenario
    try:
        with progress("running it again", quiet=printing.silent) as report:
            return stories.of_run(run, flow, from_s=begin, to_s=end, progress=report)
    except RunError as error:
        used: dict[str, str] = run.facts.get("controllers") or {}
        missing = [f"--controller {shlex.quote(f'{name}={used[name]}')}" for name in used if name not in controllers]
        if missing:
            raise UsageError(f"{error}; add {' '.join(missing)}") from error
        raise


def _of_probe(log: Path, flow: str | None, capture: Path | None, begin: float | None, end: float | None) -> Story:
    from lopsided.studies import explain_probe

    return explain_probe.of_log(log, flow, capture=capture, from_s=begin, to_s=end)
