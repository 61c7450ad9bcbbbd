"""Encodes the options of Linux's queue disciplines (linux/pkt_sched.h): TCA_OPTIONS and TCA_STAB.

pyroute2 sends the messages. Its own encoding does not support some disciplines, and rounds delays and bursts to
microseconds.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

LINK_LAYER_ETHERNET = 1
LINK_LAYER_ATM = 2

TBF_PARMS, TBF_BURST = 1, 6
HTB_PARMS, HTB_INIT = 1, 2
NETEM_LOSS, NETEM_RATE, NETEM_LATENCY = 5, 6, 10
NETEM_LOSS_GILBERT_ELLIOTT = 2
STAB_BASE = 1
RED_PARMS, RED_STAB, RED_MAX_P, RED_FLAGS = 1, 2, 3, 4
RED_ECN, RED_HARDDROP, RED_NODROP = 1, 2, 8
CAKE_BASE_RATE64, CAKE_ATM, CAKE_OVERHEAD, CAKE_TARGET, CAKE_MPU, CAKE_ACK_FILTER = 2, 4, 6, 8, 14, 16
CAKE_FILTERS = ("none", "conservative", "aggressive")
CAKE_TINS = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
CAKE_CELLS = ("none", "atm", "ptm")
CAKE_FLOWS = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
TBF_PBURST = 7
CHOKE_PARMS, CHOKE_STAB, CHOKE_MAX_P = 1, 2, 3
RED_ADAPTATIVE = 4
DRR_QUANTUM = 1
FQ_RATE_ENABLE, FQ_TIMER_SLACK = 5, 13


def _microseconds(seconds: float) -> int:
    return round(seconds * 1e6)


def _octets(bits: int) -> int:
    return bits // 8


def _sixteenths(value: float) -> int:
    return round(value * 16)


def _in_packets(limit: Mapping[str, int]) -> int:
    return limit["packets"]


_CODEL = {"target_s": (1, _microseconds), "interval_s": (3, _microseconds), "ecn": (4, int)}
WORDS: dict[str, dict[str, tuple[int, Callable[[Any], int]]]] = {
    "fq": {
        "limit_packets": (1, int),
        "flow_limit_packets": (2, int),
        "quantum_bytes": (3, int),
        "initial_quantum_bytes": (4, int),
        "maxrate_bps": (7, _octets),
        "refill_delay_s": (9, _microseconds),
        "orphan_mask": (10, int),
        "low_rate_threshold_bps": (11, _octets),
        "ce_threshold_s": (12, _microseconds),
    },
    "codel": {**_CODEL, "limit": (2, _in_packets), "ce_threshold_s": (5, _microseconds)},
    "fq_codel": {
        **_CODEL,
        "limit_packets": (2, int),
        "flows": (5, int),
        "quantum_bytes": (6, int),
        "ce_threshold_s": (7, _microseconds),
        "drop_batch": (8, int),
    },
    "pie": {
        "target_s": (1, _microseconds),
        "limit": (2, _in_packets),
        "tupdate_s": (3, _microseconds),
        "alpha": (4, _sixteenths),
        "beta": (5, _sixteenths),
        "ecn": (6, int),
        "bytemode": (7, int),
        "dq_rate_estimator": (8, int),
    },
    "fq_pie": {
        "limit_packets": (1, int),
        "flows": (2, int),
        "target_s": (3, _microseconds),
        "tupdate_s": (4, _microseconds),
        "alpha": (5, _sixteenths),
        "beta": (6, _sixteenths),
        "quantum_bytes": (7, int),
        "mark_threshold": (9, lambda share: round(share * 100)),
        "ecn": (10, int),
        "bytemode": (11, int),
        "dq_rate_estimator": (12, int),
    },
    "cake": {"tins": (3, CAKE_TINS.index), "isolation": (5, CAKE_FLOWS.index), "rtt_s": (7, _microseconds)},
}
"""Disciplines whose options are 32-bit numbers. Maps each key of the scenario to the number of Linux's option and to
the function that converts the value."""

SCHEDULER_TICK_NS = 64
"""Time unit of tbf and htb in ns: PSCHED_SHIFT in linux/pkt_sched.h."""

NETEM_ROOM = 100_000
"""Number of packets that a delay line can hold. No run has more packets in flight."""


def token_bucket(bits_per_second: int, burst: int, overhead: int = 0, minimum: int = 0, atm: bool = False) -> str:
    """Encodes tbf. `burst` is in bytes. Each packet is charged `overhead` extra bytes and, with `atm`, is rounded up to
    whole ATM cells.

    A child discipline replaces tbf's default queue immediately, so the limit of that queue has no effect.
    """
    rate = _rate(bits_per_second, overhead, minimum, atm)
    limit = 1 << 20
    if atm:
        # The kernel would round a burst in bytes up to whole ATM cells, but does not round a burst in units of time.
        ticks = burst * 8_000_000_000 // bits_per_second // SCHEDULER_TICK_NS
        return _attribute(TBF_PARMS, rate + bytes(12) + struct.pack("=III", limit, ticks, 0)).hex()
    # The kernel adds the overhead to the burst.
    parameters = rate + bytes(12) + struct.pack("=III", limit, 0, 0)
    return (_attribute(TBF_PARMS, parameters) + _attribute(TBF_BURST, struct.pack("=I", burst - overhead))).hex()


def serializer_class(
    bits_per_second: int, credit_ns: int, overhead: int = 0, minimum: int = 0, atm: bool = False
) -> str:
    """Encodes an htb class that releases a packet when the transmission of the previous packet is over.

    Unlike tbf, htb subtracts tokens after it has sent the packet. The credit (`credit_ns`) is almost zero, so even
    small packets do not leave early.
    """
    rate = _rate(bits_per_second, overhead, minimum, atm)
    credit = -(-credit_ns // SCHEDULER_TICK_NS)
    quantum = 2000
    return _attribute(HTB_PARMS, rate + rate + struct.pack("=IIIII", credit, credit, quantum, 0, 0)).hex()


def bucket_filter(bits_per_second: int, burst: int, peak_bits_per_second: int | None, mtu: int, overhead: int) -> str:
    """Encodes tbf as a queue discipline of the scenario, with a second bucket of `mtu` bytes for a peak rate."""
    peak = _rate(peak_bits_per_second, overhead) if peak_bits_per_second else bytes(12)
    parameters = _rate(bits_per_second, overhead) + peak + struct.pack("=III", 1 << 20, 0, 0)
    options = _attribute(TBF_PARMS, parameters) + _attribute(TBF_BURST, struct.pack("=I", burst - overhead))
    if peak_bits_per_second:
        options += _attribute(TBF_PBURST, struct.pack("=I", mtu - overhead))
    return options.hex()


def htb(r2q: int = 10, default_class: int = 0) -> str:
    """Encodes htb. Without a default class, a classifier must select the class of every packet."""
    version = 3
    return _attribute(HTB_INIT, struct.pack("=IIIII", version, r2q, default_class, 0, 0)).hex()


def htb_class(rate: int, ceil: int, burst: int, cburst: int, quantum: int, prio: int, overhead: int) -> str:
    """Encodes a class of htb: rates in bit/s, sizes in bytes."""

    def ticks(octets: int, bits: int) -> int:
        return octets * 8_000_000_000 // bits // SCHEDULER_TICK_NS

    depths = struct.pack("=IIIII", ticks(burst, rate), ticks(cburst, ceil), quantum, 0, prio)
    return _attribute(HTB_PARMS, _rate(rate, overhead) + _rate(ceil, overhead) + depths).hex()


def prio(bands: int) -> str:
    """Encodes prio. A classifier is used instead of its priority map."""
    return struct.pack("=i16B", bands, *[bands - 1] * 16).hex()


def drr_class(quantum: int) -> str:
    return _words({DRR_QUANTUM: quantum})


def sfq(queue: Mapping[str, Any]) -> str:
    """Encodes sfq without RED: struct tc_sfq_qopt_v1."""
    perturb_s = round(queue["perturb_s"] or 0)
    sizes = (queue["limit_packets"], queue["divisor"], queue["flows"], queue["depth_packets"], int(queue["headdrop"]))
    return (struct.pack("=IiIIIII", queue["quantum_bytes"], perturb_s, *sizes) + bytes(44)).hex()


def words(kind: str, queue: Mapping[str, Any]) -> str:
    """Encodes a discipline of `WORDS`. A null value keeps Linux's default."""
    values = {number: word(queue[key]) for key, (number, word) in WORDS[kind].items() if queue[key] is not None}
    # fq's timer is up to 10 us late by default, to send several packets at once.
    always = {FQ_RATE_ENABLE: 1, FQ_TIMER_SLACK: 0} if kind == "fq" else {}
    return _words(values | always)


def choke(limit: int, low: int, high: int, weight_shift: int, probability: float, idle_ns: float, ecn: bool) -> str:
    """Encodes choke. `limit`, `low` and `high` are in packets. The other arguments mean the same as in `red`."""
    scell, table = _idle_table(weight_shift, idle_ns)
    parameters = struct.pack("=IIIBBBB", limit, low, high, weight_shift, 0, scell, RED_ECN * ecn)
    options = _attribute(CHOKE_PARMS, parameters) + _attribute(CHOKE_STAB, table)
    return (options + _attribute(CHOKE_MAX_P, struct.pack("=I", _probability(probability)))).hex()


def fifo(limit: int) -> str:
    """Encodes the limit of pfifo, bfifo and pfifo_head_drop: in bytes for bfifo, otherwise in packets."""
    return struct.pack("=I", limit).hex()


def red(limit: int, low: int, high: int, weight_shift: int, probability: float, idle_ns: float, flags: int) -> str:
    """Encodes red. Limit and thresholds are in bytes, the averaging weight is 2^-weight_shift, and `idle_ns` is the
    transmission time of an average packet.

    After an idle time, the kernel shifts the average queue length to the right. A table contains the number of bits of
    this shift for each multiple of 2^scell microseconds.
    """
    scell, table = _idle_table(weight_shift, idle_ns)
    # The 32-bit probability RED_MAX_P replaces the field Plog, which is 0. Linux starts the timer of adaptive RED only
    # if the old field `flags` contains RED_ADAPTATIVE.
    old = flags if flags & RED_ADAPTATIVE else 0
    parameters = struct.pack("=IIIBBBB", limit, low, high, weight_shift, 0, scell, old)
    options = _attribute(RED_PARMS, parameters) + _attribute(RED_STAB, table)
    options += _attribute(RED_MAX_P, struct.pack("=I", _probability(probability)))
    if old:
        return options.hex()
    return (options + _attribute(RED_FLAGS, struct.pack("=II", flags, flags))).hex()


def _idle_table(weight_shift: int, idle_ns: float) -> tuple[int, bytes]:
    """Returns scell and a table. For an idle time of 0 to 255 cells of 2^scell microseconds, the table contains the
    number of bits by which the kernel shifts the average queue length. A shift by 31 bits sets the average to 0."""
    if weight_shift == 0 or idle_ns <= 0:
        return 0, bytes([0, *[31] * 255])
    packets_a_bit = -1 / math.log2(1 - 2.0**-weight_shift)
    scell = min(31, max(0, math.ceil(math.log2(31 * packets_a_bit * idle_ns / 1000 / 255))))
    bits_a_cell = (1 << scell) * 1000 / idle_ns / packets_a_bit
    return scell, bytes([*(min(31, round(cell * bits_a_cell)) for cell in range(255)), 31])


def codel_step(limit: int, threshold_s: float) -> str:
    """Encodes a codel that only marks packets above the threshold. Its target is so high that its control law never
    applies."""
    never_s = (1 << 30) / 1e6
    law = {"target_s": never_s, "interval_s": never_s, "ecn": None}
    return words("codel", {**law, "limit": {"packets": limit}, "ce_threshold_s": threshold_s})


def cake(queue: Mapping[str, Any], bits_per_second: int, link_header: int, ack_filter: str) -> str:
    """Encodes cake with `link_header` extra bytes per packet. A rate of 0 disables the shaper."""
    framing = queue["framing"]
    rate = _attribute(CAKE_BASE_RATE64, struct.pack("=Q", bits_per_second // 8))
    # The overhead is the only value that may be negative.
    added = _attribute(CAKE_OVERHEAD, struct.pack("=i", framing["overhead_bytes"] + link_header))
    rest = {
        CAKE_ATM: CAKE_CELLS.index(framing["cell_format"]),
        CAKE_TARGET: round(queue["rtt_s"] * 1e6 / 20),
        CAKE_MPU: framing["minimum_bytes"],
        CAKE_ACK_FILTER: CAKE_FILTERS.index(ack_filter),
    }
    return rate.hex() + added.hex() + words("cake", queue) + _words(rest)


def _rate(bits_per_second: int, overhead: int, minimum: int = 0, atm: bool = False) -> bytes:
    layer = LINK_LAYER_ATM if atm else LINK_LAYER_ETHERNET
    return struct.pack("=BBHhHI", 0, layer, overhead, 0, minimum, bits_per_second // 8)


def _words(values: dict[int, int]) -> str:
    return b"".join(_attribute(kind, struct.pack("=I", value)) for kind, value in values.items()).hex()


def delay_line(
    delay_ns: int,
    bits_per_second: int = 0,
    overhead: int = 0,
    atm: bool = False,
    loss: float = 0.0,
    gilbert: tuple[float, float, float, float] | None = None,
    room: int = NETEM_ROOM,
) -> str:
    """Encodes netem: a serializer (if a rate is given), then a constant delay; random or bursty loss; a limit in
    packets.

    `gilbert` has four probabilities: good to bad, bad to good, no loss in the bad state, loss in the good state.
    """
    options = struct.pack("=IIIIII", 0, room, _probability(loss), 0, 0, 0)
    options += _attribute(NETEM_LATENCY, struct.pack("=q", delay_ns))
    if bits_per_second:
        cell, cell_overhead = (48, 5) if atm else (0, 0)
        options += _attribute(NETEM_RATE, struct.pack("=IiIi", bits_per_second // 8, overhead, cell, cell_overhead))
    if gilbert is not None:
        model = struct.pack("=IIII", *map(_probability, gilbert))
        options += _attribute(NETEM_LOSS | 0x8000, _attribute(NETEM_LOSS_GILBERT_ELLIOTT, model))
    return options.hex()


def size_table(overhead: int) -> str:
    """Encodes TCA_STAB, which adds `overhead` bytes to packets for this discipline and all disciplines below."""
    specification = struct.pack("=BBHiIIII", 0, 0, 0, overhead, LINK_LAYER_ETHERNET, 0, 0, 0)
    return _attribute(STAB_BASE, specification).hex()


def _probability(value: float) -> int:
    return round(value * 0xFFFFFFFF)


def _attribute(kind: int, payload: bytes) -> bytes:
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)
