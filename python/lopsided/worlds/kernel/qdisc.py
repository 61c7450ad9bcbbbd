"""Linux's queue disciplines in the kernel's encoding (linux/pkt_sched.h): TCA_OPTIONS and TCA_STAB.

pyroute2 sends the messages, but lacks some disciplines and rounds delays and bursts to microseconds.
"""

from __future__ import annotations

import math
import struct

LINK_LAYER_ETHERNET = 1
LINK_LAYER_ATM = 2

TBF_PARMS, TBF_BURST = 1, 6
HTB_PARMS, HTB_INIT = 1, 2
NETEM_LOSS, NETEM_RATE, NETEM_LATENCY = 5, 6, 10
NETEM_LOSS_GILBERT_ELLIOTT = 2
STAB_BASE = 1
RED_PARMS, RED_STAB, RED_MAX_P, RED_FLAGS = 1, 2, 3, 4
RED_ECN, RED_HARDDROP, RED_NODROP = 1, 2, 8
CODEL_TARGET, CODEL_LIMIT, CODEL_INTERVAL, CODEL_ECN, CODEL_CE_THRESHOLD = 1, 2, 3, 4, 5
FQ_CODEL_FLOWS, FQ_CODEL_QUANTUM, FQ_CODEL_CE_THRESHOLD, FQ_CODEL_DROP_BATCH = 5, 6, 7, 8
CAKE_BASE_RATE64, CAKE_DIFFSERV_MODE, CAKE_ATM, CAKE_FLOW_MODE, CAKE_OVERHEAD, CAKE_RTT, CAKE_TARGET = range(2, 9)
CAKE_MPU, CAKE_ACK_FILTER = 14, 16
CAKE_FILTERS = ("none", "conservative", "aggressive")
CAKE_TINS = ("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence")
CAKE_CELLS = ("none", "atm", "ptm")
CAKE_FLOWS = ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")
PIE_TARGET, PIE_LIMIT, PIE_TUPDATE, PIE_ALPHA, PIE_BETA, PIE_ECN, PIE_BYTEMODE, PIE_DQ_RATE_ESTIMATOR = range(1, 9)
FQ_PIE_LIMIT, FQ_PIE_FLOWS, FQ_PIE_TARGET, FQ_PIE_TUPDATE, FQ_PIE_ALPHA, FQ_PIE_BETA, FQ_PIE_QUANTUM = range(1, 8)
FQ_PIE_ECN_PROB, FQ_PIE_ECN, FQ_PIE_BYTEMODE, FQ_PIE_DQ_RATE_ESTIMATOR = range(9, 13)

TBF_PBURST = 7
CHOKE_PARMS, CHOKE_STAB, CHOKE_MAX_P = 1, 2, 3
RED_ADAPTATIVE = 4
DRR_QUANTUM = 1
FQ_PLIMIT, FQ_FLOW_PLIMIT, FQ_QUANTUM, FQ_INITIAL_QUANTUM, FQ_RATE_ENABLE = 1, 2, 3, 4, 5
FQ_FLOW_MAX_RATE, FQ_FLOW_REFILL_DELAY, FQ_ORPHAN_MASK, FQ_LOW_RATE_THRESHOLD, FQ_CE_THRESHOLD, FQ_TIMER_SLACK = (
    7,
    9,
    10,
    11,
    12,
    13,
)

SCHEDULER_TICK_NS = 64
"""Time unit of tbf and htb in ns: PSCHED_SHIFT in linux/pkt_sched.h."""

NETEM_ROOM = 100_000
"""Packets in a delay line, more than any run has in flight."""


def token_bucket(bits_per_second: int, burst: int, overhead: int = 0, minimum: int = 0, atm: bool = False) -> str:
    """tbf: `rate` in bit/s, `burst` in bytes. Packets get `overhead` bytes, and with `atm` whole ATM cells.

    A child replaces its own queue immediately, so its limit has no effect.
    """
    layer = LINK_LAYER_ATM if atm else LINK_LAYER_ETHERNET
    rate = struct.pack("=BBHhHI", 0, layer, overhead, 0, minimum, bits_per_second // 8)
    limit = 1 << 20
    if atm:
        # The kernel would round a burst in bytes up to ATM cells, but not one in units of time.
        ticks = burst * 8_000_000_000 // bits_per_second // SCHEDULER_TICK_NS
        return _attribute(TBF_PARMS, rate + bytes(12) + struct.pack("=III", limit, ticks, 0)).hex()
    # The kernel adds the overhead to the burst.
    parameters = rate + bytes(12) + struct.pack("=III", limit, 0, 0)
    return (_attribute(TBF_PARMS, parameters) + _attribute(TBF_BURST, struct.pack("=I", burst - overhead))).hex()


def serializer() -> str:
    """htb with one class (`serializer_class`) for all packets."""
    version, rate_to_quantum, default_class = 3, 10, 1
    return _attribute(HTB_INIT, struct.pack("=IIIII", version, rate_to_quantum, default_class, 0, 0)).hex()


def serializer_class(
    bits_per_second: int, credit_ns: int, overhead: int = 0, minimum: int = 0, atm: bool = False
) -> str:
    """An htb class that releases a packet when its predecessor's transmission is over.

    Unlike tbf, htb subtracts tokens after the packet. With almost no credit (`credit_ns`), even small packets are not
    early.
    """
    layer = LINK_LAYER_ATM if atm else LINK_LAYER_ETHERNET
    rate = struct.pack("=BBHhHI", 0, layer, overhead, 0, minimum, bits_per_second // 8)
    credit = -(-credit_ns // SCHEDULER_TICK_NS)
    quantum = 2000
    return _attribute(HTB_PARMS, rate + rate + struct.pack("=IIIII", credit, credit, quantum, 0, 0)).hex()


def bucket_filter(bits_per_second: int, burst: int, peak_bits_per_second: int | None, mtu: int, overhead: int) -> str:
    """tbf as a discipline, with a second bucket of `mtu` bytes for a peak rate."""

    def rate(bits: int) -> bytes:
        return struct.pack("=BBHhHI", 0, LINK_LAYER_ETHERNET, overhead, 0, 0, bits // 8)

    peak = rate(peak_bits_per_second) if peak_bits_per_second else bytes(12)
    parameters = rate(bits_per_second) + peak + struct.pack("=III", 1 << 20, 0, 0)
    options = _attribute(TBF_PARMS, parameters) + _attribute(TBF_BURST, struct.pack("=I", burst - overhead))
    if peak_bits_per_second:
        options += _attribute(TBF_PBURST, struct.pack("=I", mtu - overhead))
    return options.hex()


def htb(r2q: int) -> str:
    """htb without a default class, so a classifier must choose."""
    return _attribute(HTB_INIT, struct.pack("=IIIII", 3, r2q, 0, 0, 0)).hex()


def htb_class(rate: int, ceil: int, burst: int, cburst: int, quantum: int, prio: int, overhead: int) -> str:
    """A class of htb: rates in bit/s, sizes in bytes."""

    def rate_of(bits: int) -> bytes:
        return struct.pack("=BBHhHI", 0, LINK_LAYER_ETHERNET, overhead, 0, 0, bits // 8)

    def ticks(octets: int, bits: int) -> int:
        return octets * 8_000_000_000 // bits // SCHEDULER_TICK_NS

    depths = struct.pack("=IIIII", ticks(burst, rate), ticks(cburst, ceil), quantum, 0, prio)
    return _attribute(HTB_PARMS, rate_of(rate) + rate_of(ceil) + depths).hex()


def prio(bands: int) -> str:
    """prio. A classifier replaces its priority map."""
    return struct.pack("=i16B", bands, *[bands - 1] * 16).hex()


def drr_class(quantum: int) -> str:
    return _words({DRR_QUANTUM: quantum})


def sfq(limit: int, depth: int, flows: int, divisor: int, quantum: int, perturb_s: int, headdrop: bool) -> str:
    """sfq without RED: struct tc_sfq_qopt_v1."""
    plain = struct.pack("=IiIII", quantum, perturb_s, limit, divisor, flows)
    return (plain + struct.pack("=II", depth, int(headdrop)) + bytes(44)).hex()


def fq(
    limit: int,
    flow_limit: int,
    quantum: int,
    initial_quantum: int,
    maxrate: int | None,
    low_rate_threshold: int,
    refill_delay_s: float,
    orphan_mask: int,
    ce_threshold_s: float | None,
) -> str:
    """fq: limits in packets, rates in bit/s."""
    values = {
        FQ_PLIMIT: limit,
        FQ_FLOW_PLIMIT: flow_limit,
        FQ_QUANTUM: quantum,
        FQ_INITIAL_QUANTUM: initial_quantum,
        FQ_RATE_ENABLE: 1,
        FQ_FLOW_REFILL_DELAY: round(refill_delay_s * 1e6),
        FQ_ORPHAN_MASK: orphan_mask,
        FQ_LOW_RATE_THRESHOLD: low_rate_threshold // 8,
        # fq's timer is up to 10 us late by default, to send several packets at once.
        FQ_TIMER_SLACK: 0,
    }
    if maxrate is not None:
        values[FQ_FLOW_MAX_RATE] = maxrate // 8
    return _words(values | _threshold(FQ_CE_THRESHOLD, ce_threshold_s))


def choke(limit: int, low: int, high: int, weight_shift: int, probability: float, idle_ns: float, ecn: bool) -> str:
    """choke: limits in packets, the rest as in `red`."""
    scell, table = _idle_table(weight_shift, idle_ns)
    parameters = struct.pack("=IIIBBBB", limit, low, high, weight_shift, 0, scell, RED_ECN * ecn)
    options = _attribute(CHOKE_PARMS, parameters) + _attribute(CHOKE_STAB, table)
    return (options + _attribute(CHOKE_MAX_P, struct.pack("=I", _probability(probability)))).hex()


def fifo(limit: int) -> str:
    """pfifo, bfifo and pfifo_head_drop: limit in packets, bfifo's in bytes."""
    return struct.pack("=I", limit).hex()


def red(limit: int, low: int, high: int, weight_shift: int, probability: float, idle_ns: float, flags: int) -> str:
    """red: thresholds in bytes, weight 2^-weight_shift, and `idle_ns` for an average packet's transmission.

    After an idle time, the average is shifted right by a table with cells of 2^scell microseconds.
    """
    scell, table = _idle_table(weight_shift, idle_ns)
    # A 32-bit probability replaces Plog. Only flags in the old field start the adaptation timer.
    old = flags if flags & RED_ADAPTATIVE else 0
    parameters = struct.pack("=IIIBBBB", limit, low, high, weight_shift, 0, scell, old)
    options = _attribute(RED_PARMS, parameters) + _attribute(RED_STAB, table)
    options += _attribute(RED_MAX_P, struct.pack("=I", _probability(probability)))
    if old:
        return options.hex()
    return (options + _attribute(RED_FLAGS, struct.pack("=II", flags, flags))).hex()


def _idle_table(weight_shift: int, idle_ns: float) -> tuple[int, bytes]:
    """Bits by which 0 to 255 cells of idle time shift the average; 31 clears it."""
    if weight_shift == 0 or idle_ns <= 0:
        return 0, bytes([0, *[31] * 255])
    packets_a_bit = -1 / math.log2(1 - 2.0**-weight_shift)
    scell = min(31, max(0, math.ceil(math.log2(31 * packets_a_bit * idle_ns / 1000 / 255))))
    bits_a_cell = (1 << scell) * 1000 / idle_ns / packets_a_bit
    return scell, bytes([*(min(31, round(cell * bits_a_cell)) for cell in range(255)), 31])


def codel_step(limit: int, threshold_ns: int) -> str:
    """codel that only marks packets above the threshold. Its target is too high for its control law."""
    never_us = 1 << 30
    values = {
        CODEL_TARGET: never_us,
        CODEL_LIMIT: limit,
        CODEL_INTERVAL: never_us,
        CODEL_CE_THRESHOLD: round(threshold_ns / 1000),
    }
    return _words(values)


def codel(limit: int, target_s: float, interval_s: float, ecn: bool, ce_threshold_s: float | None) -> str:
    """codel: limit in packets, times rounded to microseconds."""
    return _words(_codel_law(limit, target_s, interval_s, ecn) | _threshold(CODEL_CE_THRESHOLD, ce_threshold_s))


def fq_codel(
    limit: int,
    target_s: float,
    interval_s: float,
    ecn: bool,
    ce_threshold_s: float | None,
    flows: int,
    quantum: int,
    drop_batch: int,
) -> str:
    """fq_codel: `limit` in packets over all flows, `quantum` in bytes."""
    own = {FQ_CODEL_FLOWS: flows, FQ_CODEL_QUANTUM: quantum, FQ_CODEL_DROP_BATCH: drop_batch}
    threshold = _threshold(FQ_CODEL_CE_THRESHOLD, ce_threshold_s)
    return _words(_codel_law(limit, target_s, interval_s, ecn) | own | threshold)


def pie(
    limit: int,
    target_s: float,
    tupdate_s: float,
    alpha: float,
    beta: float,
    ecn: bool,
    bytemode: bool,
    dq_rate_estimator: bool,
) -> str:
    """pie: alpha and beta in 1/s, stored in units of 1/16."""
    return _words(
        {
            PIE_TARGET: round(target_s * 1e6),
            PIE_LIMIT: limit,
            PIE_TUPDATE: round(tupdate_s * 1e6),
            PIE_ALPHA: round(alpha * 16),
            PIE_BETA: round(beta * 16),
            PIE_ECN: int(ecn),
            PIE_BYTEMODE: int(bytemode),
            PIE_DQ_RATE_ESTIMATOR: int(dq_rate_estimator),
        }
    )


def fq_pie(
    limit: int,
    flows: int,
    quantum: int,
    target_s: float,
    tupdate_s: float,
    alpha: float,
    beta: float,
    ecn: bool,
    mark_percent: int,
    bytemode: bool,
    dq_rate_estimator: bool,
) -> str:
    """fq_pie: `limit` in packets over all flows, `quantum` in bytes, the rest as in `pie`."""
    return _words(
        {
            FQ_PIE_LIMIT: limit,
            FQ_PIE_FLOWS: flows,
            FQ_PIE_TARGET: round(target_s * 1e6),
            FQ_PIE_TUPDATE: round(tupdate_s * 1e6),
            FQ_PIE_ALPHA: round(alpha * 16),
            FQ_PIE_BETA: round(beta * 16),
            FQ_PIE_QUANTUM: quantum,
            FQ_PIE_ECN_PROB: mark_percent,
            FQ_PIE_ECN: int(ecn),
            FQ_PIE_BYTEMODE: int(bytemode),
            FQ_PIE_DQ_RATE_ESTIMATOR: int(dq_rate_estimator),
        }
    )


def cake(
    bits_per_second: int,
    tins: str,
    isolation: str,
    rtt_s: float,
    overhead: int,
    minimum: int,
    cell_format: str,
    ack_filter: str,
) -> str:
    """cake: modes by name, `overhead` bytes per packet. A rate of 0 means no shaper."""
    rate = _attribute(CAKE_BASE_RATE64, struct.pack("=Q", bits_per_second // 8))
    # Only this value may be negative.
    added = _attribute(CAKE_OVERHEAD, struct.pack("=i", overhead))
    words = {
        CAKE_DIFFSERV_MODE: CAKE_TINS.index(tins),
        CAKE_ATM: CAKE_CELLS.index(cell_format),
        CAKE_FLOW_MODE: CAKE_FLOWS.index(isolation),
        CAKE_RTT: round(rtt_s * 1e6),
        CAKE_TARGET: round(rtt_s * 1e6 / 20),
        CAKE_MPU: minimum,
        CAKE_ACK_FILTER: CAKE_FILTERS.index(ack_filter),
    }
    return rate.hex() + added.hex() + _words(words)


def _codel_law(limit: int, target_s: float, interval_s: float, ecn: bool) -> dict[int, int]:
    """Common options of codel and fq_codel, with the same attribute numbers."""
    return {
        CODEL_TARGET: round(target_s * 1e6),
        CODEL_LIMIT: limit,
        CODEL_INTERVAL: round(interval_s * 1e6),
        CODEL_ECN: int(ecn),
    }


def _threshold(kind: int, threshold_s: float | None) -> dict[int, int]:
    return {} if threshold_s is None else {kind: round(threshold_s * 1e6)}


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
    """netem: a serializer (with a rate), then a constant delay; random or bursty loss; a limit in packets.

    `gilbert` has four probabilities: good to bad, bad to good, passing in the bad state, loss in the good state.
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
    """TCA_STAB: adds `overhead` bytes to packets, for all disciplines below."""
    specification = struct.pack("=BBHiIIII", 0, 0, 0, overhead, LINK_LAYER_ETHERNET, 0, 0, 0)
    return _attribute(STAB_BASE, specification).hex()


def _probability(value: float) -> int:
    return round(value * 0xFFFFFFFF)


def _attribute(kind: int, payload: bytes) -> bytes:
    length = 4 + len(payload)
    return struct.pack("=HH", length, kind) + payload + bytes(-length % 4)
