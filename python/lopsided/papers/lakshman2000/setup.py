"""Defines lines and experiments. Every number is an assumption, because no public text states numbers.

Data packets have 1,000 bytes and ACKs have 40 bytes, so the reverse rate is 400 kbit/s divided by k. The pipe is
50 packets.
"""

from __future__ import annotations

from lopsided.papers.framework.model import Case, Experiment, Overrides
from lopsided.papers.lakshman2000.measure import fairness, single
from lopsided.papers.lakshman2000.model import PACKET_BYTES, reverse_rate_bps

FORWARD_BPS = 10e6
RTT_S = 0.04
PIPE = FORWARD_BPS * RTT_S / (8 * PACKET_BYTES)
REVERSE_BUFFER = 10
"""Size of the reverse buffer, in packets."""

ASYMMETRIES = (0.5, 1, 2, 4, 8, 16, 32, 64, 128)
FORWARD_BUFFERS = (4, 12, 40)

LOSSES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
LOSSY_ASYMMETRIES = (0.5, 4, 16)
LOSSY_REVERSE_BUFFER = 4
LOSSY_RTTS = (0.04, 0.16)
"""Base round trips in seconds, for two values of the pipe."""

FRONT_ASYMMETRIES = (2, 4, 8, 16)
FRONT_BUFFERS = (10, 50)
DROPS = ("tail", "front")

SHARED_ASYMMETRIES = (0.5, 2, 8, 16)
SHARED_QUEUES = ("fifo", "sfq")


def _reverse(k: float) -> Overrides:
    return {"link.up.rate": f"{reverse_rate_bps(FORWARD_BPS, k):.0f} bit/s"}


def _limits(forward: int, reverse: int) -> Overrides:
    return {"link.down.queue.limit": f"{forward} packets", "link.up.queue.limit": f"{reverse} packets"}


REGIMES = Experiment(
    key="regimes",
    summary="a download with nine asymmetries and three forward buffers",
    cases=tuple(
        Case("line.toml", {**_reverse(k), **_limits(forward, REVERSE_BUFFER)}, {"k": float(k), "forward": forward})
        for forward in FORWARD_BUFFERS
        for k in ASYMMETRIES
    ),
    measure=single,
    usual=1,
)

FRONT = Experiment(
    key="front",
    summary="ACKs dropped from the tail or from the front, with two reverse buffers",
    cases=tuple(
        Case(
            "line.toml",
            {**_reverse(k), **_limits(40, reverse), "link.up.queue.drop": drop},
            {"k": float(k), "reverse": reverse, "drop": drop},
        )
        for k in FRONT_ASYMMETRIES
        for reverse in FRONT_BUFFERS
        for drop in DROPS
    ),
    measure=single,
    usual=1,
    full_repetitions=2,
)

LOSS = Experiment(
    key="loss",
    summary="random loss of data with three asymmetries and two round trips; the forward buffer never overflows",
    cases=tuple(
        Case(
            "line.toml",
            {
                **_reverse(k),
                **_limits(2000, LOSSY_REVERSE_BUFFER),
                "link.down.loss": f"{probability}",
                "link.rtt": f"{rtt * 1e3:g} ms",
            },
            {"k": float(k), "loss": probability, "rtt_s": rtt},
        )
        for rtt in LOSSY_RTTS
        for k in LOSSY_ASYMMETRIES
        for probability in LOSSES
    ),
    measure=single,
    usual=4,
)

SHARED = Experiment(
    key="shared",
    summary="four downloads with equal round trips, one reverse queue or one for each connection",
    cases=tuple(
        Case(
            "shared.toml",
            {**_reverse(k), "link.up.queue": f'{{ kind = "{queue}", limit = "{REVERSE_BUFFER} packets" }}'},
            {"k": float(k), "queue": queue},
        )
        for k in SHARED_ASYMMETRIES
        for queue in SHARED_QUEUES
    ),
    measure=fairness,
    usual=4,
)

TWO_WAY = Experiment(
    key="two-way",
    summary="a download alone, and next to an upload, with k = 0.4",
    cases=tuple(
        Case("two-way.toml", {"flow.upload.start": start}, {"upload": name})
        for name, start in (("none", "119 s"), ("one", "0 s"))
    ),
    measure=single,
    usual=1,
)
