"""`lopsided size`."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from lopsided.cli.options import Column, Dask, Json, Overwrite, Quiet, Workers, ask, on, picture_at
from lopsided.cli.probe import measure_size
from lopsided.cli.terminal import heading, out, print_json, print_line, print_note, print_path, print_prose, progress
from lopsided.data import units
from lopsided.data.free_names import dated
from lopsided.data.units import parse_rate
from lopsided.errors import UsageError
from lopsided.studies.device_configs import checked_interface
from lopsided.studies.doubts import direction_doubt, rate_doubt
from lopsided.studies.options import SIZE_QUEUES, SizeOptions

if TYPE_CHECKING:
    from lopsided.data.view import View
    from lopsided.studies.size_disciplines import Advice
    from lopsided.studies.size_plan import Plan
    from lopsided.studies.sizing import Sizing

USUAL = SizeOptions()
USUAL_RTT = "30ms"
"""To servers in the region, over an access line."""


def size(
    *,
    down: Annotated[str | None, Parameter(show_default=False)] = None,
    up: Annotated[str | None, Parameter(show_default=False)] = None,
    rtt: Annotated[str | None, Parameter(show_default=False)] = None,
    measure: Annotated[str | None, Parameter(show_default=False)] = None,
    options: Annotated[SizeOptions, Parameter(name="*")] = USUAL,
    sizes: Annotated[str | None, Parameter(show_default=False)] = None,
    queues: str = SIZE_QUEUES,
    plot: Annotated[Path | None, Parameter(show_default=False)] = None,
    column: Column = None,
    overwrite: Overwrite = False,
    workers: Workers = None,
    dask: Dask = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the uplink buffer or the queue discipline for a line, and how to set it.

    For the buffer two answers side by side: Merritt's model (2010, inequality 6.6, its inputs obtained by the field
    procedure of his section 6.4 in the simulator), and a sweep that measures how much a download and an upload get out
    of the line together. Then queue disciplines, set for the line, under a household's traffic: what each buys in
    goodput, latency under load and page time.

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
        Round-trip time of the path without queueing, such as 20ms: the least that `ping` shows on the idle line.
        Default: 30ms, or the preset's.
    measure
        Carry the field procedure out on the real line to this host, where `lopsided probe sink` runs; takes a minute.
    sizes
        Uplink buffers to try, in packets: `5..50:5` or `5,10,20`; default: chosen for the line.
    queues
        Disciplines to compare: unmanaged (1000 packets), fifo (with the buffer found), codel, fq_codel, pie, fq_pie,
        cake; "" leaves that out.
    plot
        Write the curve to this picture (.png, .svg or .pdf); default: a new one under `runs/`.
    """
    from lopsided.studies import sizing as sizings

    checked_interface(options.interface)
    if measure is not None:
        measure_size(measure, up)
        return
    if options.preset is None and (down is None or up is None):
        raise UsageError(
            "write --down and --up of the line, --preset NAME, or --measure HOST to find them on a real one"
        )
    if options.preset is None and rtt is None:
        rtt = USUAL_RTT
        print_note(
            f"a round trip of {USUAL_RTT} is assumed; `ping -c 20 SERVER` on the idle line, to a server that you use, "
            "shows yours (min): give it as --rtt"
        )
    for key, rate in (("--down", down), ("--up", up)):
        if rate is not None:
            ask(rate_doubt(key, parse_rate(rate)))
    if down is not None and up is not None:
        ask(direction_doubt(parse_rate(down), parse_rate(up)))
    target = picture_at(plot or dated("size", ".png"), overwrite=overwrite)
    what = options.preset or f"{down} down, {up} up"
    with on(dask, workers), progress(what, quiet=quiet or as_json) as report:
        found = sizings.size(
            down,
            up,
            rtt,
            sizes=_sizes(sizes) if sizes else None,
            queues=queues,
            workers=workers,
            progress=report,
            estimate=None if quiet or as_json else _say_plan,
            **vars(options),
        )
    if plot or not (as_json or quiet):
        from lopsided.views.plot import style

        with style.for_column(column):
            style.save(found.plot(), target)
    if as_json:
        print_json(found.to_dict())
    elif quiet:
        print_line(str(found.packets))
    else:
        _show(found)
        print_path("curve", target)


def _say_plan(plan: Plan) -> None:
    """What will be done and about how long it takes, where that is worth a line."""
    cores = os.cpu_count() or 1
    if not plan.whole or plan.seconds(cores) > 2:
        print_note(f"{plan.said}; about {plan.seconds(cores):.0f} s on {cores} cores")


def _sizes(text: str) -> list[int]:
    """`5..50:5`, `5..9` or `5,10,20`."""
    try:
        if ".." not in text:
            return [int(part) for part in text.split(",")]
        span, _, step = text.partition(":")
        first, last = (int(part) for part in span.split(".."))
        return list(range(first, last + 1, int(step or 1)))
    except ValueError:
        raise UsageError(f"--sizes {text!r}: write 5..50:5 or 5,10,20") from None


def _show(found: Sizing) -> None:
    advice = found.advice
    best = "" if advice is None else f" {_advised(advice.recommended)}"
    felt = "" if advice is None else _felt(advice)
    print_prose(f"{felt}{_answer(found)}{best}")
    out().print(_answers(found))
    print_prose(f"{found.why} {found.assumed}\n")
    if advice is not None:
        from lopsided.data.view import view

        out().print(view(advice.candidates, caption=_CHOSEN))
    for config in found.configs:
        heading(config.device, config.note)
        print_line(config.lines + "\n")
        print_line("undo:", style="dim")
        print_line(indent(config.undo, "    ") + "\n")


def _felt(advice: Advice) -> str:
    """What a person notices: calls and pages as they are now, and with the queue that is advised."""
    rows = {row["queue"]: row for row in advice.candidates.rows()}
    now = rows.get("unmanaged") or rows.get("fifo")
    then = rows[advice.recommended]
    if now is None or now is then:
        return ""
    said: list[str] = []
    for what, column, to_ms in (("a call's packets wait", "call_p95_ms", 1.0), ("a page takes", "page_s", 1e3)):
        if now[column] is not None and then[column] is not None:
            before, after = (f"{units.millis(row[column] * to_ms)} with {row['queue']}" for row in (now, then))
            said.append(f"{what} {before}, {after}")
    return f"While the line is busy {'; '.join(said)}. " if said else ""


def _answer(found: Sizing) -> str:
    """How large the buffer shall be, and what it costs."""
    full = units.millis(found.drain_s(found.packets) * 1e3)
    said = f"Set the uplink buffer to {found.packets} packets: {full} when full."
    if found.target_delay_s is None or found.target_packets is None:
        return said
    target = units.millis(found.target_delay_s * 1e3)
    if found.drain_s(1) > found.target_delay_s:
        alone = units.millis(found.drain_s(1) * 1e3)
        return f"{said} No buffer stays below {target}: one full packet alone takes {alone} at this rate."
    if found.target_packets >= found.measured.knee_packets:
        return f"{said} That is within {target}, and more would not perform better."
    best, here = found.measured.best_performance, found.performance_at(found.packets)
    cost = "" if here is None else f" Performance is then {units.percent(here)}; at best it is {units.percent(best)}."
    return f"{said} More would take longer than {target}.{cost}"


_CHOSEN = "chosen: the soonest page of those that use at least four fifths of what the best uses of the line"


def _advised(queue: str) -> str:
    if queue in ("fifo", "unmanaged"):
        return "No queue discipline serves a household better here than that buffer."
    return f"Better than any buffer under a household's traffic is {queue} in both directions."


def _answers(found: Sizing) -> View:
    from lopsided.data.view import Heading, View
    from lopsided.studies.sizing import PACKET_BYTES

    measured, model = found.measured, found.model
    rows: list[list[str]] = []

    def row(name: str, packets: float | None, performance: float | None = None, otherwise: str = "none") -> None:
        if packets is None:
            rows.append([name, otherwise, "–", "–", "–"])
            return
        shown = f"{packets}" if isinstance(packets, int) else f"{packets:.1f}"
        wait = units.millis(found.drain_s(packets) * 1e3)
        rows.append([name, shown, units.size(packets * PACKET_BYTES), wait, units.percent(performance)])

    falls = "largest before performance falls" if measured.falls else "largest tried; performance never falls"
    row(f"measured: {falls}", measured.knee_packets, measured.knee_performance)
    row("measured: best performance", measured.best_packets, measured.best_performance)
    row(
        "model: Merritt's inequality 6.6",
        model.packets,
        found.performance_at(model.packets),
        _none(model.side),
    )
    if model.packets != found.model_both.packets:
        both = found.model_both
        row("  with windows while both are active", both.packets, found.performance_at(both.packets), _none(both.side))
    if found.target_delay_s is not None:
        target, most = units.millis(found.target_delay_s * 1e3), found.target_packets
        row(f"largest within {target} when full", most, found.performance_at(most))
    row("rule of thumb: RTT x C", found.rule_of_thumb_packets)
    row("for 2 flows: RTT x C / sqrt(2)", found.many_flows_packets(2))
    headings = map(Heading, ("packets", "bytes", "when full", "performance"))
    return View([Heading("", numeric=False), *headings], rows)


def _none(side: str) -> str:
    return {"above": "all tried", "below": "none tried"}.get(side, "none")
