"""The command `lopsided analyze`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import PRINTING, CaptureFile, Overwrite, Printing, Report, check_capture
from lopsided.cli.study import show as show_study
from lopsided.cli.terminal import PROSE_WIDTH, errors, print_json, print_note, print_report
from lopsided.data import run_folder as folders
from lopsided.errors import CaptureWarning, UsageError
from lopsided.studies import analyze as study
from lopsided.studies.analyze.views import latest

if TYPE_CHECKING:
    from lopsided.data.table import Row
    from lopsided.studies.analyze import Capture


_REFRESH_S = 0.5
"""Shortest time between two updates of the live view."""


def analyze(
    capture: CaptureFile,
    other: Path | None = None,
    /,
    *,
    flow: int | None = None,
    show: int = 2,
    folder: Annotated[Path | None, Parameter(name="--out")] = None,
    overwrite: Overwrite = False,
    report: Report = True,
    printing: Printing = PRINTING,
) -> None:
    """Explain why the connections of a capture were slow: limits of the sender, ACK path, and bottlenecks.

    Reads pcap and pcapng, plain or compressed with gzip or zstd. Memory grows with the number of connections. The exit
    code is 0 if a part of the capture could be read, and 2 if the file is not a capture.

    If the capture comes from standard input, a terminal shows the directions with data in the latest second. Ctrl-C
    ends the capture and prints the result.

    For example:

        lopsided analyze capture.pcapng
        lopsided analyze capture.pcap.gz --flow 3 --out analysis
        ssh router tcpdump -U -s 128 -w - tcp | lopsided analyze -
        lopsided analyze server.pcapng client.pcapng

    Parameters
    ----------
    capture
        The capture; `-` is standard input.
    other
        A second capture of the same flows at another point. The command then also prints the losses and delays between
        the two points.
    flow
        Show the direction with this number in the table. Default: the directions with the most data.
    show
        Number of directions to show in full.
    folder
        Also write tables (CSV and Parquet) and report.html into this folder.
    """
    check_capture(capture)
    if folder is not None:
        folders.check(folder, overwrite)
    piped = str(capture) == study.STANDARD_INPUT
    shows = not printing.silent and errors().is_terminal
    with (
        _reading(shown=shows and not piped) as reading,
        _live(shown=shows and piped) as live,
        warnings.catch_warnings(),
    ):
        # The notes that are printed below contain this warning too.
        warnings.simplefilter("ignore", CaptureWarning)
        found = study.analyze(capture, other, points=folder is not None, progress=reading, live=live)
    found = replace(found, chosen=_chosen(found, flow, show))
    if folder is not None:
        found.save(folder, overwrite=overwrite, report=report)
    if not printing.quiet:
        for warning in found.warnings:
            print_note(warning)
    if printing.as_json:
        print_json({**found.streamed(), **({"folder": folder} if folder else {})})
    elif not printing.quiet:
        show_study(found, width=PROSE_WIDTH)
        if folder is not None:
            print_report(folder, report)


def _chosen(found: Capture, flow: int | None, show: int) -> Sequence[Row]:
    if flow is None:
        return found.largest[: max(show, 0)]
    # Directions are numbered from 1 in the order of the table.
    chosen = found.directions.picked([flow - 1]) if 1 <= flow <= len(found.directions) else []
    if not chosen:
        raise UsageError(f"there is no direction {flow}; the capture has {len(found.largest)}")
    return chosen


@contextmanager
def _reading(*, shown: bool) -> Generator[Callable[[int, int], object] | None]:
    """Shows on stderr the number of packets and connections read so far."""
    if not shown:
        yield None
        return
    with errors().status("reading") as status:
        yield lambda packets, connections: status.update(f"{packets:,} packets, {connections:,} connections")


@contextmanager
def _live(*, shown: bool) -> Generator[Callable[[list[Row]], object] | None]:
    """Shows on stderr the directions that carried data in the latest second of the capture."""
    if not shown:
        yield None
        return
    from rich.live import Live

    from lopsided.views.grid import Grid

    with Live(console=errors(), transient=True, auto_refresh=False) as screen:
        shown_at = 0.0

        def show(rows: list[Row]) -> None:
            nonlocal shown_at
            # Limit the updates: a capture file on standard input is read faster than it was recorded.
            if rows and monotonic() - shown_at >= _REFRESH_S:
                shown_at = monotonic()
                screen.update(Grid(latest(rows)), refresh=True)

        yield show
