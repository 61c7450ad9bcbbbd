"""What was chosen or put on record after results had been seen, and the numbers by which assumptions are judged."""

from __future__ import annotations

from lopsided.papers.balakrishnan1999.setup import LINES, RENO
from lopsided.papers.balakrishnan1999.shared import lossy
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import KeyResult

HINDSIGHT = (
    "ACC's RED: dropping above the upper threshold (harddrop) was tried first, then left out, and taken again with the "
    "authors' code at hand. Now it marks until the queue is full, as section 7.1.1 has it, and hosts negotiate ECN, as "
    "section 6.1 has it: by this remedies-make-downloads-share ceased to hold.",
    "The tick of 10 ms that bursts wait for (section 9.1.1), the forms of ACC and SA of section 8 and the emulated "
    "line of section 9.1 were added after an audit had tried them. throughput-rises-with-maxburst, "
    "little-is-gained-beyond-eight, fewer-acks-leave-the-download-less and acks-first-and-filtering-starve-the-upload "
    "hold by them, and bursts-of-four-are-enough ceased to.",
    "ns2-reno's handshake gives no round trip, as ns-2 has no handshake: by this reno-over-packet-radio, which was "
    "just within its bound, ceased to hold over three hops.",
    "Until AR paced as the authors' code does, and the upload was connected before it sends, AF/AR got 4.4 Mbit/s in "
    "case B and the upload was locked out in 76 % of the runs.",
    "Case A: the queue of the source's LAN had 100 packets at first, and 19 after results.",
    "Figures 2 to 4: the modem's buffer had 10 packets and the two-way hosts' buffers 16 kB at first; 32 packets and "
    "64 kB came after a first look.",
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
