"""Shows measurements of an emulated line, which runs in real time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from lopsided.data import units
from lopsided.data.view import Heading, View, heading, view
from lopsided.studies.spread import ARROWS
from lopsided.views import inks
from lopsided.views.chart import Chart, Curve, Panel
from lopsided.views.sparkline import sparkline

if TYPE_CHECKING:
    from lopsided.data.series import Floats
    from lopsided.studies.emulate import Emulated

_SPARKS = 24
_COLUMNS = ("sent_packets", "sojourn_mean_ms", "sojourn_p95_ms", "dropped_packets", "lost_packets")

_FLOW_COLUMNS = ("name", "direction", "profile", "cc", "goodput_bps", "rtt_mean_ms", "retransmits")


def table(emulated: Emulated) -> View:
    """Returns a table with one row per link direction and a sparkline of its rate."""
    columns = [emulated.links.column(name) for name in _COLUMNS]
    curve = Heading(f"rate over {units.seconds(emulated.duration_s)}", numeric=False, spare=True)
    rows: list[list[str]] = []
    for row in emulated.links.rows():
        rate = 8 * row["sent_bytes"] / max(emulated.duration_s, 1e-9)
        times, rates, _ = _curves(emulated, row["link"], row["direction"])
        parts = np.array_split(rates, min(_SPARKS, len(rates))) if len(times) else []
        spark = sparkline([float(part.mean()) for part in parts])
        arrow = ARROWS[row["direction"]]
        values = [column.text(row[column.name]) for column in columns]
        rows.append([row["link"], arrow, units.rate(rate), *values, spark])
    return View(
        [
            heading(emulated.links.column("link")),
            Heading("", "down: to the command; up: from the command", numeric=False),
            Heading("mean rate"),
            *map(heading, columns),
            curve,
        ],
        rows,
        keys=2,
    )


def flows(emulated: Emulated) -> View:
    """Returns a table with one row per flow of the scenario."""
    return view(emulated.flows, _FLOW_COLUMNS)


def chart(emulated: Emulated, title: str) -> Chart:
    """Returns a chart with two panels per link direction: the rate and the waiting time. Red marks show drops."""
    frame = emulated.queues.to_polars()
    places = frame.select("link", "direction").unique(maintain_order=True).rows()
    moved = [place for place in places if _curves(emulated, *place)[1].any()] or places[:2]
    panels: list[Panel] = []
    for link, direction in moved[:4]:
        times, rates, waits = _curves(emulated, link, direction)
        ink = inks.colour(direction, 0)
        scale, unit = inks.rate_unit(float(np.max(rates, initial=0)))
        where = direction if len({link for link, _ in moved}) == 1 else f"{link} {direction}"
        rate = Curve(times, rates / scale, ink, where, width=1.1, filled=True)
        wait = Curve(times, waits, ink, where, width=1.1)
        lost = _drop_times(emulated, link, direction)
        panels.append(Panel(f"{where} ({unit})", _above(rates / scale), 1.6, (rate,)))
        panels.append(Panel(f"{where} wait (ms)", _above(waits), 1.3, (wait,), moments=lost))
    notes = ("rate of packets that left the queue, mean wait in each interval; red marks: drops", "live")
    return Chart(
        "Behind the line", title, "time since the command began (s)", emulated.duration_s, tuple(panels), notes
    )


def _of(emulated: Emulated, link: str, direction: str) -> pl.DataFrame:
    return emulated.queues.to_polars().filter((pl.col("link") == link) & (pl.col("direction") == direction))


def _curves(emulated: Emulated, link: str, direction: str) -> tuple[Floats, Floats, Floats]:
    """Returns one value per sample: the time in s, and since the previous sample the mean rate in bit/s and the mean
    waiting time in ms."""
    rows = _of(emulated, link, direction)
    times = rows["time_s"].to_numpy()
    spans = np.diff(times, prepend=0.0)
    rates = 8 * np.diff(rows["sent_bytes"].to_numpy(), prepend=0) / np.maximum(spans, 1e-9)
    return times, rates, rows["sojourn_mean_ms"].fill_null(0.0).to_numpy()


def _drop_times(emulated: Emulated, link: str, direction: str) -> Floats:
    rows = _of(emulated, link, direction)
    before = pl.col("dropped_packets").shift(1, fill_value=0)
    return rows.filter(pl.col("dropped_packets") > before)["time_s"].to_numpy()


def _above(values: Floats) -> float:
    return float(np.max(values, initial=0.0)) * 1.08 or 1.0
