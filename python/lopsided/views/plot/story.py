"""Draws the figure of `lopsided explain`: a flow's time-sequence diagram, window, queues, and events."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from lopsided.data import series, units
from lopsided.data.series import Floats, Series
from lopsided.views import notable_links
from lopsided.views.plot import over_time, style

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from lopsided.studies.explain import Story
    from lopsided.views.plot.style import LabFigure

_MOST_QUEUES = 2
_MOST_BARS = 6000
"""Maximum number of data segments that are drawn as separate bars. More segments are drawn as one line."""
_SHADES = {"disorder": style.GRID, "cwr": style.UP[3], "recovery": style.DOWN[3], "loss": style.RED}
_CHANGES = (("cwnd_reduced", "window reduced", "v", style.RED), ("undone", "reduction undone", "^", style.OTHER[0]))
"""Changes of the window: the event, its name in the legend, its mark and the mark's colour."""
_DOTTED = (0, (1, 2))


def figure(story: Story) -> LabFigure:
    """Draws the sequence numbers, the window, and the queues with the largest backlog.

    Sequence numbers are drawn only if the flow has a single connection whose packets were recorded or captured.
    """
    queues = _queues(story)
    packets = _packets(story)
    heights = ((3.2,) if packets else ()) + (2.2,) + (1.5,) * len(queues)
    span = f"{units.seconds(story.begin_s)} to {units.seconds(story.end_s)}"
    subtitle = f"{story.title}: {story.flow}, {span}"
    sheet = style.sheet("States, losses and windows of a flow", subtitle, heights, "time since the run began (s)")
    panels = list(sheet.panels)
    if packets:
        _sequence(panels.pop(0), story, packets)
    _window(panels.pop(0), story)
    peaks = [_queue(panel, story, *queue) for panel, queue in zip(panels, queues, strict=True)]
    for panel in sheet.panels:
        panel.set_xlim(story.begin_s, story.end_s)
        _shade(panel, story)
    _legend(sheet.panels[0], story, packets)
    how = over_time.ENVELOPE if any(peaks) else ""
    style.small_print(
        sheet.figure, "bars: data segments, steps: acknowledgements" if packets else "", how, *story.facts
    )
    return sheet.figure


def _sequence(panel: Axes, story: Story, packets: dict[str, tuple[Floats, Floats, Floats]]) -> None:
    sent_at, start, end = packets["sent"]
    ink = style.DOWN[0]
    if len(sent_at) > _MOST_BARS:
        time, value = style.thin_out(sent_at, np.maximum.accumulate(end))
        panel.plot(time, value, color=ink, linewidth=1.2)
    elif len(sent_at):
        style.bars(panel, sent_at, start, end, color=ink, linewidth=1.2)
    acked_at, _, acked = packets["acked"]
    if len(acked_at):
        panel.step(*style.thin_out(acked_at, acked), where="post", color=style.MUTED, linewidth=0.9)
    again = [event for event in story.events if event["event"] == "retransmitted"]
    at = [event["time_s"] for event in again]
    below = [event["offset_bytes"] / 1e6 for event in again]
    above = [(event["offset_bytes"] + event["length_bytes"]) / 1e6 for event in again]
    style.bars(panel, at, below, above, color=style.RED, linewidth=1.8)
    dropped_at, dropped, _ = packets["dropped"]
    panel.plot(dropped_at, dropped, linestyle="none", marker="x", markersize=4, color=style.RED, markeredgewidth=0.9)
    panel.set_ylabel("stream (MB)")
    labels = [(float(end[-1]), "sent", ink)] if len(end) else []
    labels += [(float(acked[-1]), "acknowledged", style.MUTED)] if len(acked) else []
    style.end_labels(panel, labels)


def _packets(story: Story) -> dict[str, tuple[Floats, Floats, Floats]] | None:
    """Returns three curves: packets sent, ACKs received and packets dropped. Each curve contains times in s and stream
    positions in MB."""
    import polars as pl

    run = story.run
    if len(story.connections) != 1:
        return None
    if story.captured is not None:
        return _captured(story, story.captured.passed) if story.captured.passed.height else None
    if run is None or len(run.events) == 0:
        return None
    row = next(row for row in run.flows.rows() if row["name"] == story.flow)
    mine = run.events.to_polars().filter((pl.col("flow") == row["flow"]) & (pl.col("protocol") == "tcp"))
    host = mine.filter(pl.col("node") == row["from"])
    sent = host.filter(pl.col("event") == "sent")
    if sent.height == 0:
        return None
    first = int(sent["seq"][0]) + 1
    lost = mine.filter((pl.col("event") == "dropped") & (pl.col("payload_bytes") > 0))
    acked = host.filter((pl.col("event") == "received") & (pl.col("flags") & 0x10 > 0))
    spans = {
        "sent": _placed(sent.filter(pl.col("payload_bytes") > 0), "seq", first),
        "acked": _placed(acked, "ack", first),
        "dropped": _placed(lost, "seq", first),
    }
    return {name: _between(found, story.begin_s, story.end_s) for name, found in spans.items()}


def _captured(story: Story, passed: pl.DataFrame) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Returns the curves of `_packets` from a capture at the sender. Such a capture does not show drops."""
    spans = {"dropped": (np.empty(0), np.empty(0), np.empty(0))}
    for name in ("sent", "acked"):
        rows = passed.filter(passed["event"] == name)
        columns = (rows["time_s"], rows["start_bytes"] / 1e6, rows["end_bytes"] / 1e6)
        time, start, end = (column.to_numpy() for column in columns)
        spans[name] = _between((time, start, end), story.begin_s, story.end_s)
    return spans


def _placed(rows: Any, column: str, first: int) -> tuple[Floats, Floats, Floats]:
    """Returns each packet's time and stream positions. Positions keep increasing when sequence numbers wrap."""
    number = (rows[column].to_numpy().astype(np.int64) - first) & 0xFFFFFFFF
    steps = np.diff(number, prepend=0)
    steps = (steps + (1 << 31)) % (1 << 32) - (1 << 31)
    start = np.cumsum(steps).astype(np.float64)
    size = rows["payload_bytes"].to_numpy() if column == "seq" else 0
    return rows["time_s"].to_numpy(), start / 1e6, (start + size) / 1e6


def _between(found: tuple[Floats, Floats, Floats], begin: float, end: float) -> tuple[Floats, Floats, Floats]:
    inside = (found[0] >= begin) & (found[0] <= end)
    return found[0][inside], found[1][inside], found[2][inside]


def _window(panel: Axes, story: Story) -> None:
    time, cwnd = (np.asarray(values, dtype=np.float64) for values in story.samples("cwnd_bytes"))
    _, threshold = (np.asarray(values, dtype=np.float64) for values in story.samples("ssthresh_bytes"))
    _, flight = (np.asarray(values, dtype=np.float64) for values in story.samples("in_flight_bytes"))
    ink = style.UP[0]
    highest = float(np.nanmax(cwnd, initial=1.0)) / 1e3
    # The flight is drawn as an area, because a second line would be hidden by the line of the window.
    panel.fill_between(*style.thin_out(time, flight / 1e3), color=style.MUTED, alpha=0.25, linewidth=0)
    panel.plot(*style.thin_out(time, cwnd / 1e3), color=ink)
    shown = np.where(threshold / 1e3 <= 1.5 * highest, threshold / 1e3, np.nan)
    panel.plot(*style.thin_out(time, shown), color=ink, linewidth=1, linestyle=_DOTTED)
    for name, _, marker, colour in _CHANGES:
        times = [each["time_s"] for each in story.events if each["event"] == name and each["end"] == "sender"]
        panel.plot(
            times,
            np.full(len(times), 0.04),
            transform=panel.get_xaxis_transform(),
            linestyle="none",
            marker=marker,
            markersize=4,
            color=colour,
        )
    panel.set_ylim(0, 1.1 * max(highest, float(np.nanmax(flight, initial=0.0)) / 1e3))
    panel.set_ylabel("window (kB)")
    lines = (("cwnd", cwnd / 1e3, ink), ("ssthresh", shown, ink), ("in flight", flight / 1e3, style.MUTED))
    ends = [(name, values[~np.isnan(values)], colour) for name, values, colour in lines]
    style.end_labels(panel, [(float(values[-1]), name, colour) for name, values, colour in ends if len(values)])


def _queues(story: Story) -> list[tuple[str, str]]:
    """Returns the queues on the data path in which packets waited, the largest mean backlog first. At most
    `_MOST_QUEUES` are returned."""
    if story.run is None:
        return []
    path = story.run.scenario.paths[story.flow]
    rows = {(row["link"], row["direction"]): row for row in notable_links.links(story.run)}
    crossed = [place for place in path if place in rows and np.any(_backlog(story, *place).value > 1)]
    return sorted(crossed, key=lambda place: -rows[place]["mean_backlog_bytes"])[:_MOST_QUEUES]


def _queue(panel: Axes, story: Story, link: str, direction: str) -> bool:
    """Draws a queue. Returns true if its samples are drawn as mean and peaks."""
    ink = style.colour(direction, 0)
    curves = over_time.backlog_curves(_backlog(story, link, direction), ink, link)
    for curve in curves:
        panel.plot(curve.x, curve.y, color=ink, linewidth=curve.width, alpha=curve.alpha)
        if curve.filled:
            panel.fill_between(curve.x, curve.y, color=ink, alpha=0.12, linewidth=0)
    drops = _dropped_here(story, link, direction)
    top = max(float(np.nanmax(curves[0].y, initial=1)), 1.0)
    panel.plot(drops, np.full(len(drops), 1.04 * top), linestyle="none", marker="x", markersize=4, color=style.RED)
    panel.set_ylim(0, 1.12 * top)
    style.y_label(panel, f"{link} {direction}\n(packets)")
    return len(curves) > 1


def _backlog(story: Story, link: str, direction: str) -> Series:
    """Returns the number of packets in a queue, within the story's period."""
    assert story.run is not None, "a probe has no queues"
    backlog = series.queue_column(story.run, link, direction, "backlog_packets")
    inside = (backlog.time_s >= story.begin_s) & (backlog.time_s <= story.end_s)
    return Series(backlog.name, backlog.direction, backlog.time_s[inside], backlog.value[inside])


def _dropped_here(story: Story, link: str, direction: str) -> Floats:
    """Returns the times in s of a queue's drops, if events were recorded."""
    import polars as pl

    assert story.run is not None, "a probe does not measure queues"
    events = story.run.events.to_polars()
    here = (pl.col("event") == "dropped") & (pl.col("node") == link) & (pl.col("direction") == direction)
    times = events.filter(here)["time_s"].to_numpy() if events.height else np.empty(0)
    return times[(times >= story.begin_s) & (times <= story.end_s)]


def _worst(states: Collection[str]) -> str:
    return next((state for state in reversed(_SHADES) if state in states), "disorder")


def _legend(panel: Axes, story: Story, packets: dict[str, tuple[Floats, Floats, Floats]] | None) -> None:
    """Names the shades and marks that the figure contains."""
    shown = {_worst(episode.states) for episode in story.episodes}
    handles: list[Any] = [
        Patch(color=ink, alpha=0.25, label=f"state: {state}") for state, ink in _SHADES.items() if state in shown
    ]
    happened = {event["event"] for event in story.events if event["end"] == "sender"}
    marks = [
        ("retransmitted", "|", style.RED, packets and "retransmitted" in happened),
        ("dropped", "x", style.RED, packets and len(packets["dropped"][0])),
    ]
    marks += [(label, marker, ink, name in happened) for name, label, marker, ink in _CHANGES]
    handles += [
        Line2D([], [], linestyle="none", marker=marker, color=ink, markersize=5, label=label)
        for label, marker, ink, drawn in marks
        if drawn
    ]
    if handles:
        panel.legend(handles=handles, loc="upper left", fontsize=style.legend_size())


def _shade(panel: Axes, story: Story) -> None:
    low, high = panel.get_ylim()
    for episode in story.episodes:
        worst = _worst(episode.states)
        panel.axvspan(
            max(episode.begin_s, story.begin_s),
            min(episode.end_s, story.end_s),
            color=_SHADES[worst],
            alpha=0.25,
            linewidth=0,
            zorder=0,
        )
    panel.set_ylim(low, high)
