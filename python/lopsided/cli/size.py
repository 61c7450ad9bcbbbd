"""`lopsided size`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import PRINTING, Column, Dask, Overwrite, Printing, Workers, ask, on, picture_at
from lopsided.cli.probe import measure_size
from lopsided.cli.study import show
from lopsided.cli.terminal import answering, print_json, print_line, print_note, print_path, progress
from lopsided.data.free_names import dated
from lopsided.data.units import parse_rate, parse_time
from lopsided.errors import UsageError
from lopsided.studies.device_configs import checked_interface
from lopsided.studies.doubts import direction_doubt, rate_doubt, rtt_doubt
from lopsided.studies.options import SIZE_QUEUES, SizeOptions

if TYPE_CHECKING:
    from lopsided.studies.sizing.plan import Plan

USUAL = SizeOptions()
USUAL_RTT = "30ms"
"""Typical RTT to servers in the same region."""


def size(
    *,
    down: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    measure: str | None = None,
    options: Annotated[SizeOptions, Parameter(name="*")] = USUAL,
    sizes: str | None = None,
    queues: str = SIZE_QUEUES,
    plot: Path | None = None,
    column: Column = None,
    overwrite: Overwrite = False,
    workers: Workers = None,
    dask: Dask = None,
    printing: Printing = PRINTING,
) -> None:
    """Find the uplink buffer or the queue discipline for a line, and print the commands that set it.

    Recommends a buffer by two methods: Merritt's model (2010, inequality 6.6), and a sweep that measures the share of
    the line that a download and an upload use together. Then compares queue disciplines with a household's traffic:
    goodput, latency under load and page load time.

    For example:

        lopsided size --down 2.4M --up 196k --rtt 20ms
        lopsided size --down 50M --up 10M --rtt 30ms --queue-down 256kB \\
          --plot curve.svg
        lopsided size --preset docsis30-100-10
        lopsided size --down 16M --up 1M --rtt 30ms --target-delay 100ms \\
          --framing pppoe-llcsnap
        lopsided size --measure server.example --up 196k

    Parameters
    ----------
    down
        Downlink rate, such as 2.4M (bit/s).
    up
        Uplink rate, such as 196k.
    rtt
        Round-trip time of the path without queueing, such as 20ms: the minimum that `ping` shows on the idle line.
        Default: 30ms, or the preset's.
    measure
        Measure the real line to this host with merritt2010's field procedure, for 1 minute. The host runs
        `lopsided probe sink`.
    sizes
        Uplink buffers to try, in packets: `5..50:5` or `5,10,20`; default: chosen for the line.
    queues
        Disciplines to compare: unmanaged (1000 packets), fifo (with the recommended buffer), codel, fq_codel, pie,
        fq_pie, cake; "" for no comparison.
    plot
        Draw the curve to this file (.png, .svg or .pdf); default: a new file under `runs/`.
    """
    from lopsided.studies import sizing as sizings

    checked_interface(options.interface)
    if measure is not None:
        measure_size(measure, up)
        return
    if options.preset is None and (down is None or up is None):
        raise UsageError(
            "describe the line by --down and --up or by --preset NAME, or measure a real line with --measure HOST"
        )
    if options.preset is None and rtt is None:
        rtt = USUAL_RTT
        print_note(
            f"assuming a round trip of {USUAL_RTT}; to measure yours, run `ping -c 20 SERVER` on the idle line to a "
            "server that you use, and pass the minimum as --rtt"
        )
    for key, rate in (("--down", down), ("--up", up)):
        if rate is not None:
            ask(rate_doubt(key, parse_rate(rate)))
    if down is not None and up is not None:
        ask(direction_doubt(parse_rate(down), parse_rate(up)))
    if rtt is not None:
        ask(rtt_doubt("--rtt", parse_time(rtt)))
    target = picture_at(plot or dated("size", ".png"), overwrite=overwrite)
    what = options.preset or f"{down} down, {up} up"
    with on(dask, workers), progress(what, quiet=printing.silent) as report:
        found = sizings.size(
            down,
            up,
            rtt,
            sizes=_sizes(sizes) if sizes else None,
            queues=queues,
            workers=workers,
            progress=report,
            estimate=None if printing.silent else _say_plan,
            **vars(options),
        )
    if not printing.silent:
        with answering():
            show(found)
    if plot or not printing.silent:
        from lopsided.views.plot import style

        with style.for_column(column):
            style.save(found.plot(), target)
    if printing.as_json:
        print_json(found.to_dict())
    elif printing.quiet:
        print_line(str(found.packets))
    else:
        print_path("curve", target)


def _say_plan(plan: Plan) -> None:
    """Prints the plan and its estimated duration if the plan is shortened or takes more than 2 s."""
    cores = os.cpu_count() or 1
    if not plan.whole or plan.seconds(cores) > 2:
        print_note(f"{plan.said}; about {plan.seconds(cores):.0f} s on {cores} cores")


def _sizes(text: str) -> list[int]:
    """Returns the sizes that `5..50:5`, `5..9` or `5,10,20` describes."""
    try:
        if ".." not in text:
            return [int(part) for part in text.split(",")]
        span, _, step = text.partition(":")
        first, last = (int(part) for part in span.split(".."))
        return list(range(first, last + 1, int(step or 1)))
    except ValueError:
        raise UsageError(f"--sizes {text!r}: write 5..50:5 or 5,10,20") from None
