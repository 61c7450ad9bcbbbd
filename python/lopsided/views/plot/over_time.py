"""Figures with time on the x axis: goodput, windows, round-trip time, queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import series, units
from lopsided.data.series import Floats, Series
from lopsided.errors import UsageError
from lopsided.views import notable_links
from lopsided.views.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lopsided.run import Run

_TIME = "time since the run began (s)"
_MOST_QUEUES = 8
_MANY = 8
_CLOUD = 40
"""Above _MANY flows of one direction, up to _CLOUD of them are drawn faint, and the mean of all on top."""


def goodput(run: Run, /, *, window_s: float | None = None, flows: Sequence[str] | None = None) -> Figure:
    """Goodput of every flow, one panel per direction; averaged over `window_s` (default: a 160th of the run)."""
    window = window_s or _default_window(run)
    curves = [series.goodput(run, flow, window) for flow in _flows(run, flows)]
    sheet, by_direction = _by_direction("Goodput", run, curves)
    for panel, direction, group in by_direction:
        top = _highest(group)
        rate = run.scenario.link_rate_bps(direction) or 0
        # A link far above what its flows reach would only flatten them.
        limit = rate if top > 0.4 * rate and len(group) <= _MANY else 0
        scale, unit = style.rate_unit(max(top, limit))
        scaled = [_scaled(curve, 1 / scale) for curve in group]
        _draw(panel, scaled)
        _set_range(panel, run, max(top, limit) / scale)
        if limit:
            _limit_line(panel, limit / scale)
        panel.set_ylabel(f"{_heading(direction)}({unit})")
        _name_curves(panel, scaled, (limit / scale, f"link {units.rate(limit)}") if limit else None)
    what = f"bytes delivered to the application, in order, in windows of {units.seconds(window)}, no smoothing"
    style.small_print(sheet.figure, what, *_provenance(run))
    return sheet.figure


def cwnd(run: Run, /, *, flows: Sequence[str] | None = None) -> Figure:
    """Congestion window (solid) and slow-start threshold (dotted) of every flow, one panel per direction."""
    chosen = _flows(run, flows)
    windows = [_connected(_scaled(series.flow_column(run, flow, "cwnd_bytes"), 1e-3)) for flow in chosen]
    thresholds = {flow: _scaled(series.flow_column(run, flow, "ssthresh_bytes"), 1e-3) for flow in chosen}
    sheet, by_direction = _by_direction("Congestion window", run, windows)
    for panel, direction, group in by_direction:
        _draw(panel, group)
        highest = _highest(group)
        if len(group) <= _MANY:
            for index, curve in enumerate(group):
                threshold = thresholds[curve.name]
                shown = np.where(threshold.value <= 1.5 * highest, threshold.value, np.nan)
                panel.plot(
                    threshold.time_s, shown, color=style.colour(direction, index), linewidth=1, linestyle=(0, (1, 2))
                )
        _set_range(panel, run, highest)
        panel.set_ylabel(f"{_heading(direction)}(kB)")
        _name_curves(panel, group)
    style.small_print(sheet.figure, f"solid: cwnd, dotted: ssthresh; {_sampling(run)}", *_provenance(run))
    return sheet.figure


def rtt(run: Run, /, *, flows: Sequence[str] | None = None) -> Figure:
    """Mean round-trip time per sampling interval, timed per packet at each flow's sender."""
    chosen = _flows(run, flows)
    curves = [series.rtt(run, flow) for flow in chosen]
    sheet = style.sheet("Round-trip time", _subtitle(run), (2.7,), _TIME)
    (panel,) = sheet.panels
    for group in _grouped(curves).values():
        _draw(panel, group)
    _set_range(panel, run, _highest(curves))
    panel.set_ylabel("RTT (ms)")
    _name_curves(panel, curves)
    style.small_print(
        sheet.figure, f"mean of the packets timed in each {_interval(run)}, no smoothing", *_provenance(run)
    )
    return sheet.figure


def queue(run: Run, /, *, links: Sequence[str] | None = None) -> Figure:
    """Backlog of the notable queues with their limits, and a mark for each interval with drops."""
    chosen = _queues(run, links)
    sheet = style.sheet(
        "Queue backlog and drops", _subtitle(run), (1.9 if len(chosen) > 1 else 2.7,) * len(chosen), _TIME
    )
    for panel, (link, direction) in zip(sheet.panels, chosen, strict=True):
        ink = style.colour(direction, 0)
        backlog = series.queue_column(run, link, direction, "backlog_packets")
        time, value = style.thin_out(backlog.time_s, backlog.value)
        panel.plot(time, value, color=ink, linewidth=1.1)
        panel.fill_between(time, value, color=ink, alpha=0.12, linewidth=0)
        limit = run.scenario.queue_limit_packets(link, direction)
        _set_range(panel, run, max(float(np.nanmax(value, initial=0)), limit or 0))
        if limit:
            _limit_line(panel, limit)
            style.end_labels(panel, [(limit, f"limit {limit}", style.MUTED)])
        _mark_drops(panel, run, link, direction)
        panel.set_ylabel(f"{link} {direction}\n(packets)")
    style.small_print(sheet.figure, f"red marks: drops; {_sampling(run)}", *_provenance(run))
    return sheet.figure


def drops(run: Run, /, *, links: Sequence[str] | None = None, window_s: float | None = None) -> Figure:
    """Packets dropped per window at every queue that dropped any."""
    window = window_s or _default_window(run)
    chosen = [
        key
        for key in _queues(run, links)
        if np.nanmax(series.queue_column(run, *key, "dropped_packets").value, initial=0) > 0
    ]
    if not chosen:
        raise UsageError("nothing to plot: no queue of this run dropped a packet")
    sheet = style.sheet("Packets dropped", _subtitle(run), (1.9 if len(chosen) > 1 else 2.7,) * len(chosen), _TIME)
    for panel, (link, direction) in zip(sheet.panels, chosen, strict=True):
        total = series.queue_column(run, link, direction, "dropped_packets")
        edges = np.arange(total.time_s[0], total.time_s[-1] + window / 2, window)
        lost = np.diff(np.interp(edges, total.time_s, total.value))
        _set_range(panel, run, float(np.max(lost, initial=1)))
        panel.bar(edges[:-1], lost, width=window, align="edge", color=style.colour(direction, 0), linewidth=0)
        panel.set_ylabel(f"{link} {direction}\n(packets)")
    style.small_print(sheet.figure, f"sums over windows of {units.seconds(window)}", *_provenance(run))
    return sheet.figure


def _draw(panel: Axes, group: Sequence[Series]) -> None:
    many = len(group) > _MANY
    shown = group[:: -(-len(group) // _CLOUD)] if many else group
    for index, curve in enumerate(shown):
        ink = style.colour(curve.direction, 0 if many else index)
        time, value = style.thin_out(curve.time_s, curve.value)
        panel.plot(time, value, color=ink, linewidth=0.6 if many else 1.4, alpha=0.25 if many else 1)
    if many:
        times = group[0].time_s
        mean = _mean([np.interp(times, curve.time_s, curve.value) for curve in group if len(curve.time_s)])
        panel.plot(times, mean, color=style.colour(group[0].direction, 2), linewidth=1.8)


def _mean(rows: Sequence[Floats]) -> Floats:
    """The mean at each time over the curves that have a value there."""
    values = np.array(rows)
    present = np.sum(~np.isnan(values), axis=0)
    return np.where(present > 0, np.nansum(values, axis=0) / np.maximum(present, 1), np.nan)


def _name_curves(panel: Axes, group: Sequence[Series], limit: tuple[float, str] | None = None) -> None:
    labels = [(*limit, style.MUTED)] if limit else []
    for members in _grouped(group).values():
        if len(members) > _MANY:
            middle = float(_mean([curve.value[-1:] for curve in members if len(curve.value)])[0])
            labels.append((middle, f"{len(members)} flows,\nmean of all", style.colour(members[0].direction, 2)))
            continue
        for index, curve in enumerate(members):
            present = curve.value[~np.isnan(curve.value)]
            if len(present):
                tail = float(np.mean(present[-max(1, len(present) // 20) :]))
                labels.append((tail, curve.name, style.colour(curve.direction, index)))
    style.end_labels(panel, labels)


def _mark_drops(panel: Axes, run: Run, link: str, direction: str) -> None:
    total = series.queue_column(run, link, direction, "dropped_packets")
    when = total.time_s[1:][np.diff(total.value) > 0]
    if len(when):
        panel.plot(
            when,
            np.full(len(when), 1.03),
            "|",
            transform=panel.get_xaxis_transform(),
            color=style.RED,
            markersize=5,
            clip_on=False,
        )


def _limit_line(panel: Axes, y: float) -> None:
    panel.axhline(y, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))


def _set_range(panel: Axes, run: Run, highest: float) -> None:
    panel.set_ylim(0, highest * 1.08 or 1)
    panel.set_xlim(0, run.scenario.duration_s)


def _highest(group: Sequence[Series]) -> float:
    return max((float(np.nanmax(curve.value, initial=0)) for curve in group), default=0.0)


def _by_direction(
    title: str, run: Run, curves: Sequence[Series]
) -> tuple[style.Sheet, list[tuple[Axes, str, list[Series]]]]:
    groups = _grouped(curves)
    sheet = style.sheet(title, _subtitle(run), (1.9 if len(groups) > 1 else 2.7,) * len(groups), _TIME)
    return sheet, [
        (panel, direction, group) for panel, (direction, group) in zip(sheet.panels, groups.items(), strict=True)
    ]


def _grouped(curves: Sequence[Series]) -> dict[str, list[Series]]:
    order = {"down": 0, "up": 1}
    groups: dict[str, list[Series]] = {}
    for curve in sorted(curves, key=lambda curve: order.get(curve.direction, 2)):
        groups.setdefault(curve.direction, []).append(curve)
    return groups


def _flows(run: Run, wanted: Sequence[str] | None) -> list[str]:
    names = run.flows["name"].to_list()
    if len(run.samples) == 0:
        raise UsageError("nothing to plot: this run has no samples; set [record] interval in the scenario")
    unknown = set(wanted or ()) - set(names)
    if unknown:
        raise UsageError(f"no flow called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    return [name for name in names if wanted is None or name in wanted]


def _queues(run: Run, wanted: Sequence[str] | None) -> list[tuple[str, str]]:
    if len(run.queues) == 0:
        raise UsageError("nothing to plot: this run has no samples; set [record] interval in the scenario")
    keys = list(dict.fromkeys(zip(run.queues["link"], run.queues["direction"], strict=True)))
    if wanted is not None:
        return [key for key in keys if key[0] in wanted]
    notable = {(row["link"], row["direction"]) for row in notable_links.links(run)}
    return [key for key in keys if key in notable][:_MOST_QUEUES]


def _connected(window: Series) -> Series:
    """Without the times when there is no connection, whose window is told as zero."""
    return Series(window.name, window.direction, window.time_s, np.where(window.value > 0, window.value, np.nan))


def _scaled(curve: Series, factor: float) -> Series:
    return Series(curve.name, curve.direction, curve.time_s, curve.value * factor)


def _heading(direction: str) -> str:
    return f"{direction or 'other'} "


def _default_window(run: Run) -> float:
    """About 160 windows over the run, of a round length, never finer than the samples."""
    wanted = max(run.scenario.duration_s / 160, run.scenario.interval_s or 0)
    size = 10.0 ** np.floor(np.log10(wanted))
    return float(next(size * step for step in (1, 2, 5, 10) if size * step >= wanted * 0.999))


def _interval(run: Run) -> str:
    return f"{units.seconds(run.scenario.interval_s)}" if run.scenario.interval_s else "sampling interval"


def _sampling(run: Run) -> str:
    return f"sampled every {_interval(run)}, no smoothing"


def _subtitle(run: Run) -> str:
    return run.scenario.title or run.scenario.name


def _provenance(run: Run) -> tuple[str, ...]:
    return (run.world, f"seed {run.seed}", f"digest {run.digest}")
