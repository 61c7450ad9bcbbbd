"""`lopsided analyze`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import Json, Overwrite, Quiet
from lopsided.cli.study import show as show_study
from lopsided.cli.terminal import PROSE_WIDTH, errors, print_json, print_note, print_path
from lopsided.data import run_folder as folders
from lopsided.errors import CaptureWarning, UsageError

if TYPE_CHECKING:
    from lopsided.data.table import Row
    from lopsided.studies.analyze import Capture


def analyze(
    capture: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    other: Annotated[Path | None, Parameter(show_default=False)] = None,
    /,
    *,
    flow: Annotated[int | None, Parameter(show_default=False)] = None,
    show: int = 2,
    folder: Annotated[Path | None, Parameter(name="--out", show_default=False)] = None,
    overwrite: Overwrite = False,
    report: Annotated[bool, Parameter(negative="--no-report", help="Write report.html.")] = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say why the connections of a capture were slow: what limited them, the ACK path, the line that they were on.

    Reads pcap and pcapng, plain or compressed with gzip or zstd, of Ethernet, raw IP, Linux's cooked captures and
    loopback. Memory grows with the number of connections. Exit code 0 if anything could be read, with notes about what
    could not; 2 if the file is no capture.

    For example:

        lopsided analyze capture.pcapng
        lopsided analyze capture.pcap.gz --flow 3 --out analysis
        ssh router tcpdump -s 128 -w - tcp | lopsided analyze -
        lopsided analyze server.pcapng client.pcapng

    Parameters
    ----------
    capture
        The capture; `-`: standard input.
    other
        A second capture of the same flows at another point: also print what happens between the two points.
    flow
        Show this direction, by its number in the table; default: those with most data.
    show
        How many directions are shown in full.
    folder
        Also write the tables (CSV and Parquet) and report.html, with time-sequence diagrams, into this folder.
    """
    from lopsided.studies import analyze as study

    if folder is not None:
        folders.check(folder, overwrite)
    with _reading(quiet=quiet or as_json) as reading, warnings.catch_warnings():
        # The notes below say it, with all else that is wrong with the capture.
        warnings.simplefilter("ignore", CaptureWarning)
        found = study.analyze(capture, other, points=folder is not None, progress=reading)
    found = replace(found, chosen=_chosen(found, flow, show))
    if folder is not None:
        found.save(folder, overwrite=overwrite, report=report)
    if not quiet:
        for warning in found.warnings:
            print_note(warning)
    if as_json:
        print_json({**found.to_dict(), **({"folder": folder} if folder else {})})
    elif not quiet:
        show_study(found, width=PROSE_WIDTH)
        if folder is not None:
            print_path("report" if report else "folder", folder / "report.html" if report else folder)


def _chosen(found: Capture, flow: int | None, show: int) -> list[Row]:
    if flow is None:
        return found.largest[: max(show, 0)]
    chosen = [row for row in found.largest if row["direction"] == flow]
    if not chosen:
        raise UsageError(f"there is no direction {flow}; the capture has {len(found.largest)}")
    return chosen


@contextmanager
def _reading(*, quiet: bool) -> Generator[Callable[[int, int], object] | None]:
    """A line on stderr that counts packets and connections, if stderr is a terminal."""
    if quiet or not errors().is_terminal:
        yield None
        return
    with errors().status("reading") as status:
        yield lambda packets, connections: status.update(f"{packets:,} packets, {connections:,} connections")
