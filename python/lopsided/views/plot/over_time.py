"""Describes charts over time: goodput, windows, RTT, queues. Other modules draw the charts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from typing import TYPE_CHECKING

import numpy as np

from lopsided.data import series, units
from lopsided.data.series import Floats, Series
from lopsided.errors import UsageError
from lopsided.views import inks, notable_links
from lopsided.views.chart import Bars, Chart, Curve, Panel

if TYPE_CHECKING:
    from lopsided.scenario import Run

_TIME = "time since the run began (s)"
_ALONE_IN, _BESIDE_IN = 2.7, 1.9
_MOST_QUEUES = 8
_MANY = 8
_OVER = 1.1
"""If a goodput panel extends above this multiple of the link's rate, a note explains how goodput can exceed the
rate."""
_MOST_SAMPLES = 700
"""If a queue has more samples than this, its mean and peaks are drawn, because a line through all samples would fill
the panel."""
_CLOUD = 40
"""If there are more than `_MANY` flows, at most this number of faint curves is drawn behind the curve of the mean."""


def goodput(run: Run, /, *, window_s: float | None = None, flows: Sequence[str] | None = None) -> Chart:
    """Returns a chart of every flow's goodput, averaged over windows of `window_s` seconds (default: about 1/160 of the
    run). Each direction has a panel."""
    window = _window(run, window_s)
    panels: list[Panel] = []
    groups = _grouped([series.goodput(run, flow, window) for flow in _flows(run, flows)])
    for direction, group in groups.items():
        top = _highest(group)
        rate = run.scenario.link_rate_bps(direction) or 0
        # If the link is much faster than the flows, a line at its rate would compress the curves.
        limit = rate if top > 0.4 * rate and len(group) <= _MANY else 0
        scale, unit = inks.rate_unit(max(top, limit))
        scaled = [_scaled(curve, 1 / scale) for curve in group]
        named = (limit / scale, f"link {units.rate(limit)}") if limit else None
        panels.append(
            Panel(
                f"{_heading(direction, groups, 'goodput')} ({unit})",
                _above(max(top, limit) / scale),
                _height(groups),
                _curves(scaled),
                limit=limit / scale if limit else None,
                names=_names(scaled, named),
            )
        )
    what = f"bytes delivered to the application, in order, in windows of {units.seconds(window)}, no smoothing"
    if any(panel.limit is not None and panel.top > panel.limit * _OVER for panel in panels):
        over = "above the link's rate: data that waited behind a lost segment, delivered at once"
        return _chart("Goodput", run, panels, what, over)
    return _chart("Goodput", run, panels, what)


def cwnd(run: Run, /, *, flows: Sequence[str] | None = None) -> Chart:
    """Returns a chart of every flow's congestion window (solid) and slow-start threshold (dotted).

    Each direction has a panel.
    """
    chosen = _flows(run, flows)
    windows = [_connected(_scaled(series.flow_column(run, flow, "cwnd_bytes"), 1e-3)) for flow in chosen]
    thresholds = {flow: _scaled(series.flow_column(run, flow, "ssthresh_bytes"), 1e-3) for flow in chosen}
    panels: list[Panel] = []
    groups = _grouped(windows)
    for direction, group in groups.items():
        highest = _highest(group)
        curves = list(_curves(group))
        for index, curve in enumerate(group if len(group) <= _MANY else ()):
            threshold = thresholds[curve.name]
            shown = np.where(threshold.value <= 1.5 * highest, threshold.value, np.nan)
            ink, name = inks.colour(direction, index), f"{curve.name} ssthresh"
            curves.append(Curve(threshold.time_s, shown, ink, name, width=1, dash=(1, 2)))
        label = f"{_heading(direction, groups, 'cwnd')} (kB)"
        panels.append(Panel(label, _above(highest), _height(groups), tuple(curves), names=_names(group)))
    return _chart("Congestion window", run, panels, f"solid: cwnd, dotted: ssthresh; {_sampling(run)}")


def rtt(run: Run, /, *, flows: Sequence[str] | None = None) -> Chart:
    """Returns a chart of the mean RTT per sampling interval at each flow's sender."""
    curves = [series.rtt(run, flow) for flow in _flows(run, flows)]
    drawn = tuple(curve for group in _grouped(curves).values() for curve in _curves(group))
    panel = Panel("RTT (ms)", _above(_highest(curves)), _ALONE_IN, drawn, names=_names(curves))
    what = f"mean of the packets timed in each {_interval(run)}, no smoothing"
    return _chart("Round-trip time", run, [panel], what)


def queue(run: Run, /, *, links: Sequence[str] | None = None) -> Chart:
    """Returns a chart of the backlog in each notable queue, with the queue's limit and with marks at drops."""
    panels: list[Panel] = []
    chosen = _queues(run, links)
    for link, direction in chosen:
        backlog = series.queue_column(run, link, direction, "backlog_packets")
        limit = run.scenario.queue_limit_packets(link, direction)
        curves = backlog_curves(backlog, inks.colour(direction, 0), f"{link} {direction}")
        highest = float(np.nanmax(backlog.value, initial=0))
        panels.append(
            Panel(
                f"{link} {direction}\n(packets)",
                _above(max(highest, limit or 0)),
                _height(chosen),
                curves,
                moments=_drop_times(run, link, direction),
                limit=limit or None,
                names=((limit, f"limit {limit}", inks.MUTED),) if limit else (),
            )
        )
    how = ENVELOPE if any(len(each.curves) > 1 for each in panels) else ""
    return _chart("Queue backlog and drops", run, panels, f"red marks: drops; sampled every {_interval(run)}", how)


ENVELOPE = "tinted: highest value of each interval, line: mean"
"""Note about a queue that `backlog_curves` draws as mean and peaks."""


def backlog_curves(backlog: Series, ink: str, name: str) -> tuple[Curve, ...]:
    """Returns a queue's samples as a line, or as their mean and peaks if there are too many samples for a line."""
    if len(backlog.time_s) <= _MOST_SAMPLES:
        return (Curve(backlog.time_s, backlog.value, ink, name, width=1.1, filled=True),)
    buckets = np.array_split(np.arange(len(backlog.time_s)), _MOST_SAMPLES // 2)
    time = np.array([backlog.time_s[bucket[0]] for bucket in buckets])
    highest = np.array([np.nanmax(backlog.value[bucket], initial=0) for bucket in buckets])
    mean = np.array([float(np.nanmean(backlog.value[bucket])) for bucket in buckets])
    return (
        Curve(time, highest, ink, f"{name}, highest", width=0.3, alpha=0.5, filled=True),
        Curve(time, mean, ink, f"{name}, mean", width=1.2),
    )


def drops(run: Run, /, *, links: Sequence[str] | None = None, window_s: float | None = None) -> Chart:
    """Returns a chart of the number of packets that each queue dropped in each window of `window_s` seconds.

    Raises UsageError if there are no drops.
    """
    window = _window(run, window_s)
    chosen = [
        key
        for key in _queues(run, links)
        if np.nanmax(series.queue_column(run, *key, "dropped_packets").value, initial=0) > 0
    ]
    if not chosen:
        raise UsageError("nothing to plot: no queue of this run dropped a packet")
    panels: list[Panel] = []
    for link, direction in chosen:
        total = series.queue_column(run, link, direction, "dropped_packets")
        edges = np.arange(total.time_s[0], total.time_s[-1] + window / 2, window)
        lost = np.diff(np.interp(edges, total.time_s, total.value))
        bars = Bars(edges[:-1], lost, window, inks.colour(direction, 0), f"{link} {direction}")
        top = _above(float(np.max(lost, initial=1)))
        panels.append(Panel(f"{link} {direction}\n(packets)", top, _height(chosen), bars=(bars,)))
    return _chart("Packets dropped", run, panels, f"sums over windows of {units.seconds(window)}")


def _chart(title: str, run: Run, panels: Sequence[Panel], *what: str) -> Chart:
    subtitle = run.scenario.heading
    notes = (*what, run.world, f"seed {run.seed}", f"digest {run.digest}")
    return Chart(title, subtitle, _TIME, run.scenario.duration_s, tuple(panels), notes)


def _height(panels: Iterable[object]) -> float:
    return _BESIDE_IN if len(list(panels)) > 1 else _ALONE_IN


def _above(highest: float) -> float:
    return highest * 1.08 or 1.0


def _curves(group: Sequence[Series]) -> tuple[Curve, ...]:
    many = len(group) > _MANY
    shown = group[:: -(-len(group) // _CLOUD)] if many else group
    drawn: list[Curve] = []
    for index, curve in enumerate(shown):
        ink = inks.colour(curve.direction, 0 if many else index)
        time, value = inks.thin_out(curve.time_s, curve.value)
        width, alpha = (0.6, 0.25) if many else (1.4, 1.0)
        drawn.append(Curve(time, value, ink, curve.name, width, alpha))
    if many:
        times = group[0].time_s
        mean = _mean([np.interp(times, curve.time_s, curve.value) for curve in group if len(curve.time_s)])
        drawn.append(Curve(times, mean, inks.colour(group[0].direction, 2), f"mean of {len(group)}", width=1.8))
    return tuple(drawn)


def _mean(rows: Sequence[Floats]) -> Floats:
    """Returns, for each time, the mean of the curves that have a value at this time."""
    values = np.array(rows)
    present = np.sum(~np.isnan(values), axis=0)
    return np.where(present > 0, np.nansum(values, axis=0) / np.maximum(present, 1), np.nan)


def _names(group: Sequence[Series], limit: tuple[float, str] | None = None) -> tuple[inks.EndLabel, ...]:
    labels = [(*limit, inks.MUTED)] if limit else []
    for members in _grouped(group).values():
        if len(members) > _MANY:
            middle = float(_mean([curve.value[-1:] for curve in members if len(curve.value)])[0])
            labels.append((middle, f"{len(members)} flows,\nmean of all", inks.colour(members[0].direction, 2)))
            continue
        for index, curve in enumerate(members):
            present = curve.value[~np.isnan(curve.value)]
            if len(present):
                tail = float(np.mean(present[-max(1, len(present) // 20) :]))
                labels.append((tail, curve.name, inks.colour(curve.direction, index)))
    return tuple(labels)


def _drop_times(run: Run, link: str, direction: str) -> Floats:
    total = series.queue_column(run, link, direction, "dropped_packets")
    return total.time_s[1:][np.diff(total.value) > 0]


def _highest(group: Sequence[Series]) -> float:
    return max((float(np.nanmax(curve.value, initial=0)) for curve in group), default=0.0)


def _grouped(curves: Sequence[Series]) -> dict[str, list[Series]]:
    order = {"down": 0, "up": 1}
    groups: dict[str, list[Series]] = {}
    for curve in sorted(curves, key=lambda curve: order.get(curve.direction, 2)):
        groups.setdefault(curve.direction, []).append(curve)
    return groups


def _flows(run: Run, wanted: Sequence[str] | None) -> list[str]:
    names = run.flows.values("name")
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
    """Replaces a congestion window of 0 by NaN, because the flow then had no connection."""
    return Series(window.name, window.direction, window.time_s, np.where(window.value > 0, window.value, np.nan))


def _scaled(curve: Series, factor: float) -> Series:
    return Series(curve.name, curve.direction, curve.time_s, curve.value * factor)


def _heading(direction: str, groups: Sized, quantity: str) -> str:
    """Returns a panel's heading: the direction. Flows without a direction have the heading `other`, or the quantity if
    there is no other panel."""
    return direction or ("other" if len(groups) > 1 else quantity)


def _window(run: Run, asked_s: float | None) -> float:
    """Returns the averaging interval. Raises UsageError if fewer than two intervals fit into the run."""
    if asked_s is None:
        return _default_window(run)
    if not 0 < asked_s <= run.scenario.duration_s / 2:
        raise UsageError(
            f"a window of {units.seconds(asked_s)} is too long for a run of "
            f"{units.seconds(run.scenario.duration_s)}: at least two must fit"
        )
    return asked_s


def _default_window(run: Run) -> float:
    """Returns an averaging interval of about 1/160 of the run, but at least one sampling interval."""
    wanted = max(run.scenario.duration_s / 160, run.scenario.interval_s or 0)
    size = 10.0 ** np.floor(np.log10(wanted))
    return float(next(size * step for step in (1, 2, 5, 10) if size * step >= wanted * 0.999))


def _interval(run: Run) -> str:
    return f"{units.seconds(run.scenario.interval_s)}" if run.scenario.interval_s else "sampling interval"


def _sampling(run: Run) -> str:
    return f"sampled every {_interval(run)}, no smoothing"
