"""Finds the uplink buffer for a line with Merritt's model and with a sweep of simulated buffer sizes.

The model is inequality 6.6 of merritt2010. The field procedure of the thesis (section 6.4) measures the inputs of the
inequality: the RTT of a download that runs alone for 30 s, and the largest congestion windows of the download and of an
upload that joins for another 30 s. For each configured buffer size, the inequality estimates a size. The model
recommends the size that equals its own estimate (figure 6.2). The sweep measures the min-normalised goodput (equation
1.2) with the same buffer sizes. Model and sweep consider only two flows with bulk transfers.

`disciplines` finds the best queue discipline.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from lopsided.data import units
from lopsided.data.suggestions import names_in
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.studies import device_configs
from lopsided.studies.jobs import check_count, part_of
from lopsided.studies.options import SIZE_QUEUES, SizeOptions, from_arguments
from lopsided.studies.sizing import disciplines
from lopsided.studies.sizing.curve import Curve, curve_of, measured, model
from lopsided.studies.sizing.line import PACKET_BYTES, Line, default_sizes, line_of
from lopsided.studies.sizing.plan import Plan, plan_for
from lopsided.studies.sizing.result import Sizing
from lopsided.studies.study import digest_of

_ADVICE_SEEDS = 3
_CURVE_SHARE = 0.8
"""The runs that size the buffer account for this fraction of the reported progress, and the comparison of disciplines
for the rest."""


def size(
    down: str | int | None = None,
    up: str | int | None = None,
    rtt: str | float | None = None,
    *,
    sizes: Sequence[int] | None = None,
    queues: str | Sequence[str] = SIZE_QUEUES,
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
    estimate: Callable[[Plan], object] | None = None,
    preset: str | None = SizeOptions.preset,
    queue_down: str | None = SizeOptions.queue_down,
    target_delay: str | float | None = SizeOptions.target_delay,
    framing: str | None = SizeOptions.framing,
    cc: str = SizeOptions.cc,
    stack: str = SizeOptions.stack,
    repeat: int = SizeOptions.repeat,
    seed: int = SizeOptions.seed,
    interface: str = SizeOptions.interface,
) -> Sizing:
    """Finds the uplink buffer and the queue discipline for a line: `size("2.4M", "196k", "200ms")`.

    On fast lines, runs are shorter and fewer buffers are tried (`lopsided.studies.sizing.plan`).

    Parameters
    ----------
    down, up
        Rates in bit/s, as numbers or text; default: the preset's rates.
    rtt
        Round-trip time without queueing in seconds, as a number or text; default: the preset's RTT.
    sizes
        Buffers to try, in packets; default: chosen for the line.
    queues
        Disciplines to compare under a household's traffic.
    workers
        Number of threads; default: the number of cores.
    progress
        Called with the completed fraction of the work, 0 to 1.
    estimate
        Called with the plan before the first run.
    preset, queue_down, target_delay, framing, cc, stack, repeat, seed, interface
        See `SizeOptions` and `lopsided size --help`.

    Raises
    ------
    UsageError
        If the line, the delay or a size is invalid.
    """
    asked = from_arguments(SizeOptions, locals())
    device_configs.checked_interface(asked.interface)
    if isinstance(queues, str):
        queues = names_in(queues)
    line = line_of(down, up, rtt, asked)
    target_s = None if asked.target_delay is None else units.parse_time(asked.target_delay)
    if target_s is not None and not 0 < target_s < math.inf:
        raise UsageError(f"no buffer keeps a target delay of {target_s:g} s: write --target-delay 100ms")
    given, sizes = sizes, default_sizes(line) if sizes is None else sorted(set(sizes))
    if target_s is not None and given is None:
        # Also simulate the largest size within the target delay, so that its performance is not interpolated.
        sizes = sorted({*sizes, min(line.packets_within(target_s), sizes[-1])})
    if not sizes or sizes[0] < 1:
        raise UsageError("buffer sizes are whole numbers of packets, at least 1")
    check_count(len(sizes) * repeat)
    disciplines.check(queues, (line.down_bps, line.up_bps), line.rtt_s)
    plan = _plan(line, len(sizes), repeat, len(queues))
    if estimate is not None:
        estimate(plan)
    share = _CURVE_SHARE if queues else 1.0
    runner = Curve(line, plan, seed, workers, part_of(progress, 0.0, share))
    rows = runner.whole(sizes) if plan.whole else runner.estimate(sizes, chosen=given is not None)
    found = replace(_summarize(line, rows, plan.both_s), plan=plan, target_delay_s=target_s, interface=asked.interface)
    if not queues:
        return found
    advice = disciplines.advise(
        line.scenario(0.0, plan.advice_s),
        (line.down_bps, line.up_bps),
        line.rtt_s,
        (line.queue_down, units.QueueLimit(found.packets, "packets")),
        queues,
        repeat=plan.advice_repeat,
        seed=seed,
        workers=workers,
        progress=part_of(progress, share, 1 - share),
    )
    return replace(found, advice=advice)


def _plan(line: Line, sizes: int, repeat: int, candidates: int) -> Plan:
    packets_per_second = (line.down_bps + line.up_bps) / 8 / PACKET_BYTES
    return plan_for(packets_per_second, line.rtt_s, sizes, repeat, candidates, min(repeat, _ADVICE_SEEDS))


def _summarize(line: Line, rows: list[Row], both_s: float) -> Sizing:
    curve = curve_of(rows)
    digest = digest_of(row["digest"] for row in rows)
    models = (
        model(curve, "estimate_packets", "window_down_bytes"),
        model(curve, "estimate_both_packets", "window_down_both_bytes"),
    )
    repeat = max(row["repetition"] for row in rows) + 1
    return Sizing(line, *models, measured(curve), Table.of(curve), Table.of(rows), repeat, both_s, digest)
