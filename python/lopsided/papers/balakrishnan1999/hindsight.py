"""Choices that were made after the results were known, and the sensitivity of the results to assumptions."""

from __future__ import annotations

from lopsided.papers.balakrishnan1999.setup import LINES, RENO
from lopsided.papers.balakrishnan1999.shared import lossy
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult

HINDSIGHT = (
    "ACC's RED dropped packets above the upper threshold (harddrop) at first. This was removed, and restored when the "
    "authors' code was available. Now RED marks until the queue is full (section 7.1.1) and hosts negotiate ECN "
    "(section 6.1); with this change remedies-make-downloads-share no longer holds.",
    "The tick of 10 ms that bursts wait for (section 9.1.1), section 8's forms of ACC and SA, and the emulated line of "
    "section 9.1 were added after an audit had tried them. With them throughput-rises-with-maxburst, "
    "little-is-gained-beyond-eight, fewer-acks-leave-the-download-less and acks-first-and-filtering-starve-the-upload "
    "hold, and bursts-of-four-are-enough no longer holds.",
    "The handshake of ns2-reno gives no RTT sample, because ns-2 has no handshake. With this change "
    "reno-over-packet-radio, which was just within its bound, no longer held over three hops. It holds again since "
    "ns2-reno halves a window without rounding, counts the ticks of a clock, and ignores duplicate ACKs outside a "
    "recovery, as ns-2 does. These changes were made for packets beside an upload, compared with ns-2.",
    "Before AR paced ACKs as the authors' code does, and before the upload connected in advance, AF/AR got 4.4 Mbit/s "
    "in case B and the upload was locked out in 76 % of the runs.",
    "Case A: the queue of the source's LAN had 100 packets at first, and 19 after results had been seen: 20 in print, "
    "and the authors' drop-tail queues hold one packet less.",
    "Figures 2 to 4: the modem's buffer had 10 packets and the two-way hosts' buffers 16 kB at first. They have 32 "
    "packets (as in section 9.1) and 64 kB since first results had been seen. No statement holds because of this: "
    "measured-limits and a-download-waits-for-the-upload-to-lose fail.",
)

KEY_RESULTS = (
    *(
        KeyResult(
            f"reno-{line.key}",
            f"Reno, {line.title}",
            "Mbit/s",
            lambda m, key=line.key: m.value("one-way", "throughput_bps", line=key, scheme=RENO.key).median / 1e6,
        )
        for line in LINES
    ),
    KeyResult("reno-lossy", "Reno, case B", "Mbit/s", lambda m: _lossy(m)),
)


def _lossy(m: Measurements) -> float:
    return lossy(m, RENO, "throughput_bps").median / 1e6
