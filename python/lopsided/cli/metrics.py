"""`lopsided metrics`."""

from __future__ import annotations

from pathlib import Path

from lopsided.cli.options import Json
from lopsided.cli.terminal import out, print_json, print_line
from lopsided.data.units import parse_rate, parse_time
from lopsided.studies import sender_log


def metrics(
    log: Path,
    upload: Path | None = None,
    /,
    *,
    split: str | None = None,
    down: str | None = None,
    up: str | None = None,
    bdp: Path | None = None,
    as_json: Json = False,
) -> None:
    """Compute averages, largest windows, buffer and performance from a sender's log, as merritt2010 does.

    `lopsided probe send --out LOG.tsv` writes a log in this format; the thesis's program calls the log tcpstats.txt.
    The log has nine columns and a row per sample. The command replaces the scripts of the thesis's appendices D to J.

    For example:

        lopsided metrics tcpstats.txt
        lopsided metrics download.tsv upload.tsv --down 2.4M --up 196k
        lopsided metrics download.tsv --split 120s --down 2.4M --bdp bdp.csv

    Parameters
    ----------
    log
        The log of the download's sender.
    upload
        The log of the upload's sender.
    split
        Start of the upload, counted from the log's first row; default: the first row of the upload's log, if given.
    down
        The downlink's rate, such as 2.4M: adds the bandwidth-delay product, and with `--up` the performance.
    up
        The uplink's rate, such as 196k: adds the buffer of inequality 6.6 if both logs are given.
    bdp
        Write time, window and bandwidth-delay product of each row of the download to this file (appendix D).
    """
    download = sender_log.read(log)
    other = None if upload is None else sender_log.read(upload)
    rates = sender_log.Rates(None if down is None else parse_rate(down), None if up is None else parse_rate(up))
    found = sender_log.figures(download, other, None if split is None else parse_time(split), rates)
    if bdp is not None:
        sender_log.write_bdp(download, rates, bdp)
    if as_json:
        print_json([each.as_dict() for each in found])
        return
    from rich.table import Table

    grid = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("", "appendix"):
        grid.add_column(heading, no_wrap=True)
    grid.add_column("value", justify="right", no_wrap=True)
    for each in found:
        grid.add_row(each.name, each.appendix, each.shown)
    out().print(grid)
    if bdp is not None:
        print_line(str(bdp))
