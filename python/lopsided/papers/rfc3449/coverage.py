"""Assigns measured values to the RFC's numbers and to the rows of tables 1 and 2."""

from __future__ import annotations

from lopsided.papers.framework.coverage import judged, measured, nothing
from lopsided.papers.rfc3449.setup import ACK_BYTES, EXAMPLE, IN_TABLES, LEFT_OUT

PACKET_S = 1024 * 8 / 28.8e3
"""Transmission time of 1 KB at 28.8 kbit/s, in seconds."""

COVERAGE = (
    *(judged("use", by=f"advice-{each.key}", item=each.row) for each in IN_TABLES if each.row),
    *(nothing("use", each["reason"], item=each["row"]) for each in LEFT_OUT if each["row"]),
    measured("raw_ratio", lambda _m, _row: EXAMPLE.down_kbps / EXAMPLE.up_kbps),
    measured("packet_ratio", lambda _m, _row: EXAMPLE.packet_bytes / ACK_BYTES),
    measured("packet_time", lambda _m, row: PACKET_S * (1e3 if row.unit == "ms" else 2)),
    judged("breaks_down_above_k", by="clock-without-delay", item="no delayed ACKs"),
    judged("breaks_down_above_k", by="clock-with-delay", item="delayed ACKs"),
    judged("recommended_below_k", by="compression-at-high-ratio"),
    nothing("timeout idle_share", "a network of 1996, measured; balakrishnan1999 has its radio"),
)
