"""Draws two runs around the first packet whose content differs, as a time-sequence graph in the style of tcptrace."""

# The stubs of matplotlib omit the types of keyword arguments.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.views.plot import style

if TYPE_CHECKING:
    from lopsided.studies.packets import Packets
    from lopsided.views.plot.style import LabFigure

_INKS = (style.DOWN[0], style.UP[0])


def figure(found: Packets) -> LabFigure | None:
    """Draws a bar per data segment and a step per ACK, in one colour per run. Sequence numbers are in kB."""
    scenes = found.scenes()
    if not scenes:
        return None
    scene = scenes[-1]
    place = scene.divergence
    names = [side.name for side in found.sides]
    packets = f"{place.packets:,} of {found.totals[place.host][0]:,} packets are before it"
    subtitle = f"{found.sides[0].run.scenario.name}: {place.flow} at {place.host}, {' and '.join(names)}; {packets}"
    sheet = style.sheet("Where the packets diverge", subtitle, (4.2,), "time since the connection's SYN (s)")
    panel = sheet.panels[0]
    labels: list[style.EndLabel] = []
    for name, ink, segments in zip(names, _INKS, scene.around, strict=True):
        data = [one for one in segments if one["from"] == "opener" and one["len"]]
        acks = [one for one in segments if one["from"] == "answerer" and one["ack"] is not None]
        begin, end = ([one["seq"] / 1e3 for one in data], [(one["seq"] + one["len"]) / 1e3 for one in data])
        panel.vlines(_times(data), begin, end, color=ink)
        panel.step(_times(acks), [one["ack"] / 1e3 for one in acks], where="post", color=ink, linewidth=0.8)
        if data:
            labels.append((end[-1], name, ink))
    panel.axvline(place.since_syn_s, color=style.RED, linewidth=0.8, linestyle=(0, (2, 2)))
    panel.set_ylabel("sequence number (kB)")
    style.end_labels(panel, labels)
    style.small_print(
        sheet.figure,
        "bars: data segments; steps: acknowledgements; both at this host",
        f"dashed: {', '.join(place.fields)} differ; times within {units.millis(found.tolerance_s * 1e3)} are the same",
    )
    return sheet.figure


def _times(segments: list[dict[str, Any]]) -> list[float]:
    return [one["at_ns"] / 1e9 for one in segments]
