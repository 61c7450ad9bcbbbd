"""Decodes TCP_INFO (linux/tcp.h, `struct tcp_info`), whose length depends on the kernel.

New kernels add fields only at the end of the structure. Fields that the kernel does not report are absent from the
result. Unknown fields are ignored.
"""

from __future__ import annotations

import socket
import struct

LONGEST = 512
"""A size larger than the structure of any kernel. getsockopt returns the real size."""

_BYTES = ("state", "ca_state", "retransmits", "probes", "backoff", "options", "wscale", "flags")
_WORDS = (
    *("rto", "ato", "snd_mss", "rcv_mss", "unacked", "sacked", "lost", "retrans", "fackets"),
    *("last_data_sent", "last_ack_sent", "last_data_recv", "last_ack_recv"),
    *("pmtu", "rcv_ssthresh", "rtt", "rttvar", "snd_ssthresh", "snd_cwnd", "advmss", "reordering"),
    *("rcv_rtt", "rcv_space", "total_retrans"),
)
_LAYOUT = (
    *((name, "B") for name in _BYTES),
    *((name, "I") for name in _WORDS),
    *((name, "Q") for name in ("pacing_rate", "max_pacing_rate", "bytes_acked", "bytes_received")),
    *((name, "I") for name in ("segs_out", "segs_in", "notsent_bytes", "min_rtt", "data_segs_in", "data_segs_out")),
    *((name, "Q") for name in ("delivery_rate", "busy_time", "rwnd_limited", "sndbuf_limited")),
    *((name, "I") for name in ("delivered", "delivered_ce")),
    *((name, "Q") for name in ("bytes_sent", "bytes_retrans")),
    *((name, "I") for name in ("dsack_dups", "reord_seen", "rcv_ooopack", "snd_wnd", "rcv_wnd", "rehash")),
    *(("total_rto", "H"), ("total_rto_recoveries", "H"), ("total_rto_time", "I")),
)

FIELDS = tuple(name for name, _ in _LAYOUT)

STATES = (
    *("none", "established", "syn_sent", "syn_received", "fin_wait_1", "fin_wait_2", "time_wait", "closed"),
    *("close_wait", "last_ack", "listen", "closing", "new_syn_received"),
)
CONGESTION_STATES = ("open", "disorder", "cwr", "recovery", "loss")

INFINITE_SSTHRESH = 0x7FFFFFFF


def read(sock: socket.socket) -> dict[str, int]:
    """Returns a socket's TCP_INFO. Times are in microseconds (`last_*` in milliseconds). Windows are in segments or
    bytes, as in the kernel."""
    return decode(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LONGEST))


def decode(raw: bytes) -> dict[str, int]:
    """Decodes all fields that `raw` contains completely."""
    return dict(zip(FIELDS, _plan(len(raw)).unpack_from(raw), strict=False))


_plans: dict[int, struct.Struct] = {}


def _plan(length: int) -> struct.Struct:
    if length not in _plans:
        formats = "="
        for _, kind in _LAYOUT:
            if struct.calcsize(formats + kind) > length:
                break
            formats += kind
        _plans[length] = struct.Struct(formats)
    return _plans[length]
