"""`lopsided fetch`: downloads over several connections that share the rate of one connection."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from lopsided.cli.options import PRINTING, Flag, Overwrite, Printing
from lopsided.cli.terminal import errors, link, print_json, print_line
from lopsided.data.units import parse_rate, parse_time
from lopsided.errors import UsageError

if TYPE_CHECKING:
    from lopsided.fetching import Fetched, Progress


def fetch(
    url: str,
    /,
    *,
    out: Path | None = None,
    streams: int = 8,
    fair: Flag = False,
    greedy: Flag = False,
    single: Flag = False,
    window: Annotated[str, Parameter(name="--rule")] = "cubic",
    detection: Literal["queued", "every"] = "queued",
    checksum: str | None = None,
    stall: str = "5s",
    least_rate: str = "0",
    retries: int = 8,
    record: Path | None = None,
    overwrite: Overwrite = False,
    printing: Printing = PRINTING,
) -> None:
    """Download a file over several connections that share the rate of one connection (RDRA).

    RDRA is faster than one connection if packets are lost, and takes no more bandwidth than one connection if no
    packets are lost. An interrupted download stays in FILE.part; the same command resumes the download.

    For example:

        lopsided fetch https://example.org/image.iso
        lopsided fetch https://example.org/image.iso --greedy --streams 4 \\
          --out image.iso
        lopsided fetch https://example.org/image.iso --checksum sha256:HASH

    Parameters
    ----------
    url
        The http or https address to download.
    out
        The file to write, or its folder; default: a file in the current folder, named after the last part of the URL.
    streams
        Number of parallel connections.
    fair
        Request at most the bytes that one TCP sender would have in flight (the default).
    greedy
        Request as many bytes as the servers send: plain parallel TCP, which takes more than its share.
    single
        Use one connection.
    window
        The congestion control of the shared window: `cubic`, `reno`, `htcp` and others; `havey2015` for the paper's
        equations.
    detection
        Losses that count as congestion: losses while response times show a queue, and losses on several streams at
        once (`queued`); or every loss (`every`).
    checksum
        The expected hash of the file, as `sha256:HASH` or `sha512:HASH`.
    stall
        Time without data after which a connection is replaced.
    least_rate
        Lowest accepted rate over 30 s, such as 100k; 0 for no limit.
    retries
        `fetch` gives up after this number of consecutive failures of a connection without any data.
    record
        Write each input and decision of the controller to this file, for replay (`lopsided.fetching.Recording`).
    """
    from lopsided.fetching import Options
    from lopsided.fetching import fetch as download

    if sum((fair, greedy, single)) > 1:
        raise UsageError("give only one of --fair, --greedy and --single")
    options = Options(
        mode="greedy" if greedy else "single" if single else "fair",
        streams=streams,
        window=window,
        detection=detection,
        checksum=checksum,
        overwrite=overwrite,
        stall_s=parse_time(stall),
        least_rate_bps=0.0 if least_rate == "0" else parse_rate(least_rate),
        retries=retries,
        record=record,
    )
    if printing.silent:
        fetched = download(url, out, options)
    elif not errors().is_terminal:
        fetched = download(url, out, options, _troubles)
    else:
        fetched = _with_bar(url, out, options)
    if printing.as_json:
        print_json({**asdict(fetched), "path": str(fetched.path)})
    elif not printing.quiet:
        _show(fetched, options.checksum, record)


def _troubles(now: Progress) -> None:
    """Prints the reason for a pause in the download. Used if there is no progress bar."""
    if now.trouble:
        errors().print(now.trouble, markup=False, highlight=False, soft_wrap=True)


def _with_bar(url: str, out: Path | None, options: object) -> Fetched:
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    from lopsided.fetching import Options
    from lopsided.fetching import fetch as download

    assert isinstance(options, Options)
    columns = (
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[said]}"),
    )
    with Bar(*columns, console=errors(), transient=True, expand=True) as bar:
        task = bar.add_task("", total=None, said="")

        def tell(now: Progress) -> None:
            share = "" if now.window is None else f", window {now.window / 1e3:.0f} kB"
            said = now.trouble or f"{now.connections} open{share}"
            bar.update(task, completed=now.received, total=now.size or bar.tasks[0].total, said=escape(said))

        return download(url, out, options, tell)


def _show(fetched: Fetched, checksum: str | None, record: Path | None) -> None:
    new = fetched.size - fetched.resumed
    rate = 8 * new / max(fetched.seconds, 1e-9)
    parts = [f"{_size(fetched.size)} in {fetched.seconds:.1f} s, {rate / 1e6:.2f} Mbit/s"]
    if fetched.resumed:
        parts.append(f"{_size(fetched.resumed)} were already present")
    if not fetched.ranges:
        parts.append("over one connection: the server does not support ranges")
    if fetched.reopened:
        parts.append(f"{fetched.reopened} connections reopened")
    if not fetched.checked:
        parts.append(
            "the server states no version of the file (ETag, Last-Modified): only --checksum verifies its parts"
        )
    if record is not None and not fetched.ranges:
        parts.append("nothing was recorded: a single connection has no controller")
    if checksum:
        parts.append(f"{checksum.partition(':')[0].strip()} matches")
    print_line("; ".join(parts))
    print_line(link(fetched.path))


def _size(octets: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if octets >= size:
            return f"{octets / size:.4g} {unit}"
    return f"{octets} B"
