"""Counterparts of the RFC's numbers and of each row of its tables 1 and 2, and the reasons for rows without one."""

from __future__ import annotations

from lopsided.papers.framework.coverage import judged, measured, nothing
from lopsided.papers.rfc3449.setup import EXAMPLE, MECHANISMS

MODEM_BPS = 28.8e3
KBYTE = 1024

LEFT_OUT = (
    (
        "4.2",
        "large MSS with IP fragments",
        "not recommended",
        "the simulator has no IP fragments; QUIC (RFC 9000 section 14) and IPv6 routers do without them",
    ),
    (
        "4.4",
        "window prediction (WPM)",
        "not recommended",
        "the RFC cites its algorithm and does not give it; the row `wpm` has a perfect predictor",
    ),
    (
        "5.3.2",
        "ACK compaction and companding",
        "experimental",
        "the RFC gives neither the format of the prefix on its ACKs nor a rule of pacing; ACK reconstruction (5.3.1) has "
        "the same purpose without a prefix",
    ),
)
"""Section, mechanism, the RFC's advice, and the reason why no run has it."""

ROWS = {
    "Modified Delayed ACKs": "delayed",
    "Large MSS & NO FRAG": "large-mss",
    "ACK Congestion Control": "acc",
    "Window Pred. Mech (WPM)": "wpm",
    "Window Cwnd. Est. (ACE)": "ace",
    "TCP Sender Pacing": "pacing",
    "Byte Counting": "bytes",
    "Backpressure": "backpressure",
    "Header Compr. (V-J)": "vj",
    "Header Compr. (ROHC)": "rohc",
    "ACK Filtering (AF)": "filter-paced",
    "ACK Decimation": "decimate",
    "ACK Reconstruction (AR)": "reconstruct",
    "Gen. Traff. Shap. (GTS)": "shaped",
    "Fair Queueing (FQ)": "per-flow",
    "ACKs-First Scheduling": "acks-first",
}
"""The row of table 1 or 2 of each mechanism."""

COVERAGE = (
    *(judged("use", by=f"advice-{key}", item=item) for item, key in ROWS.items()),
    nothing("use", LEFT_OUT[0][3], item="Large MSS & IP FRAG"),
    nothing("use", LEFT_OUT[2][3], item="ACK Compaction/Compand."),
    measured("raw_ratio", lambda _m, _row: EXAMPLE.down_kbps / EXAMPLE.up_kbps),
    measured("packet_ratio", lambda _m, _row: EXAMPLE.packet_bytes / 40),
    measured("packet_time", lambda _m, row: KBYTE * 8 / MODEM_BPS * (1e3 if row.unit == "ms" else 2)),
    judged("breaks_down_above_k", by="clock-without-delay", item="no delayed ACKs"),
    judged("breaks_down_above_k", by="clock-with-delay", item="delayed ACKs"),
    judged("recommended_below_k", by="compression-at-high-ratio"),
    nothing("timeout idle_share", "a measured network of 1996; balakrishnan1999 has its radio"),
)

assert set(ROWS.values()) <= {each.key for each in MECHANISMS}
