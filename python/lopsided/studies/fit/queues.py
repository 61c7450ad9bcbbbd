"""Measures a line's rate, framing and buffer from the packets of a capture near one end.

A capture behind the line shows when packets leave the queue. If a packet waited, the gap before the packet is its
transmission time. The gaps before packets of several sizes determine the rate and the framing. A capture in front of
the line shows when packets enter the queue. Timestamps of ACKs (RFC 7323) show when the packets arrive at the receiver.
The result is the rate that agrees best with these arrivals.

The module uses data and ACKs of both directions, so two-way traffic causes no errors. It makes no assumption about TCP.
It cannot use captures in the middle of the path, captures without timestamps, and captures with merged packets.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from lopsided import _native
from lopsided.data.columns import Columns
from lopsided.studies.fit.line import RATE_ERROR, Framing, Observed, Way

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    Flags: TypeAlias = NDArray[np.bool_]

MOST_PACKETS = 300_000
"""Maximum number of TCP packets that are used, from the start of a capture."""
TICK_S = 1e-3
"""Resolution of TCP timestamps in Linux, BSD and Windows, in seconds."""
CLOCK = 2.0
"""A timestamp clock is used if it seems faster or slower than `TICK_S` by at most this factor. While a queue fills, the
clock seems slower.
"""
LARGEST = 1600
"""Size in bytes of the largest plausible IP packet. Larger packets were merged by a network card."""
LEAST_GAPS = 20
"""Minimum number of gaps per packet size. Packet sizes with fewer gaps are not used."""
LEAST_ACKS = 100
"""Minimum number of ACKs for inferring arrivals."""
WINDOW_S = 0.5
"""Length in seconds of the windows from which the rate is first estimated."""
CAP_S = 0.02
"""A larger difference between a measured and a computed arrival time counts as this number of seconds, so that a few
delayed ACKs have little effect.
"""
AGREE_S = 4e-3
"""Largest mean difference in seconds at which measured and computed arrival times agree."""
MOST_OVERHEAD = 60
"""Largest plausible overhead of the framing, in bytes per packet."""
SURE_BYTES = 0.25
"""Largest accepted standard error of the overhead per packet, in bytes. If the error is larger, the framing stays
unknown."""
CELL, CELL_PAYLOAD = 53, 48
"""Size in bytes of an ATM cell and of its payload (ITU-T I.361)."""
MOST_AHEAD = 1.2
"""A packet counts for `OFTEN_AHEAD` if it leaves earlier than the line's rate allows, by the transmission time of at
least this number of full packets."""
OFTEN_AHEAD = 5
"""The line has a token-bucket shaper only if at least this number of packets leave earlier than its rate allows."""
BUCKET_SPREAD = 0.2
"""A capture in front of the line shows the size of a bucket if the sizes from single packets differ by at most this
fraction (range between the quartiles)."""
LEAST_DROPS = 3
"""Minimum number of drops for inferring a discipline."""
ALIKE = 0.1
"""Largest relative difference at which queue lengths count as equal."""
OFTEN = 0.3
"""A queue is drop-tail only if it was full at this fraction of the drops, or more."""
WAITED = 0.9
"""A queue is an AQM only if packets waited at this fraction of the drops, or more."""
SAME_DROPS, OTHER_DROPS = 0.5, 1.0
"""Limits for the number of mismatches per drop. A mismatch is a packet that only one of two queues drops: the real
queue or a simulated drop-tail queue. Up to the first limit, the real queue is drop-tail. Above the second limit, it is
not.
"""


@dataclass(frozen=True)
class _Log:
    """The TCP packets that crossed the line, in order of time."""

    time_s: Floats
    size_bytes: Floats
    payload_bytes: Integers
    seq: Integers
    ack: Integers
    is_down: Flags
    connection: Integers
    stamp_s: Floats
    """Times of the sender's timestamp clock. Each connection has its own unknown offset."""

    def of(self, wanted: Flags) -> _Log:
        return _Log(**{name: values[wanted] for name, values in vars(self).items()})


def observed(
    path: str | Path, clients: Collection[str], servers: Collection[str], place: str, floor_s: float
) -> dict[Way, Observed]:
    """Returns the queue of each direction, if the capture shows this queue.

    `clients` and `servers` are the addresses on both sides. `place` says where the capture was taken: `server`,
    `client` or `link`. `floor_s` is the smallest RTT.
    """
    if place == "link":
        return {}
    log = _read(path, clients, servers)
    if log is None:
        return {}
    behind: Way = "up" if place == "server" else "down"
    found: dict[Way, Observed] = {}
    leaving = _behind(log.of(log.is_down == (behind == "down")))
    if leaving is not None:
        found[behind] = leaving
    before: Way = "down" if behind == "up" else "up"
    entering = _in_front(log, before == "down", leaving, floor_s)
    if entering is not None:
        found[before] = entering
    return found


def _read(path: str | Path, clients: Collection[str], servers: Collection[str]) -> _Log | None:
    ends, raw = _native.capture_packets(str(path), MOST_PACKETS)
    columns = Columns(raw)
    names = ("time_s", "from", "to", "size_bytes", "payload_bytes", "seq", "ack", "is_syn", "timestamp")
    column = {name: columns.numbers(name) for name in names}
    source, target = column["from"].astype(np.int64), column["to"].astype(np.int64)
    inside = np.array([address in clients for address, _ in ends], dtype=bool)
    outside = np.array([address in servers for address, _ in ends], dtype=bool)
    if not len(source):
        return None
    is_down = outside[source] & inside[target]
    used = (is_down | (inside[source] & outside[target])) & (column["is_syn"] == 0)
    if not used.any() or column["size_bytes"][used].max() > LARGEST:
        return None
    # Both directions of a connection get the same number.
    connection = np.minimum(source, target) * len(ends) + np.maximum(source, target)
    # TSval wraps at 32 bits, so values are relative to the first timestamp of each direction.
    stamp = np.full(len(source), np.nan)
    for one in np.unique(connection[used] * 2 + is_down[used]):
        mine = used & (connection * 2 + is_down == one) & ~np.isnan(column["timestamp"])
        if mine.any():
            ticks = column["timestamp"][mine].astype(np.int64)
            stamp[mine] = ((ticks - ticks[0] + 2**31) % 2**32 - 2**31) * TICK_S
            elapsed = np.ptp(column["time_s"][mine])
            if elapsed > 1.0 and not 1 / CLOCK < np.ptp(stamp[mine]) / elapsed < CLOCK:
                stamp[mine] = np.nan
    return _Log(
        column["time_s"],
        column["size_bytes"],
        column["payload_bytes"].astype(np.int64),
        column["seq"].astype(np.int64),
        column["ack"].astype(np.int64),
        is_down,
        connection,
        stamp,
    ).of(used)


# --- Queues measured behind the line ----------------------------------------------------------------------------------


def _behind(log: _Log) -> Observed | None:
    """Measures the queue of one direction from packets that were captured behind the line."""
    log = log.of(~np.isnan(log.stamp_s))
    if len(log.time_s) < LEAST_GAPS:
        return None
    entered, is_fifo = _entries(log)
    entered += float(np.min(log.time_s - entered))
    # A packet has waited if it entered the queue before the previous packet left.
    waited = entered[1:] < log.time_s[:-1] - 2 * TICK_S
    sizes, gaps, errors = _gaps(log.size_bytes[1:][waited], np.diff(log.time_s)[waited])
    if not len(sizes):
        return None
    framing = _framing(sizes, gaps, errors)
    largest = int(np.argmax(sizes))
    rate = float((framing or Framing()).on_wire(sizes[largest]) * 8 / gaps[largest])
    octets = (framing or Framing()).on_wire(log.size_bytes)
    burst = _burst(log.time_s, octets, rate)
    # The packet with the smallest delay has not waited.
    transmission = octets * 8 / rate if burst is None else 0.0
    entered += float(np.min(log.time_s - transmission - entered))
    places = np.arange(len(entered))
    # The length includes the packet itself and the packet in transmission.
    length = places + 1 - np.searchsorted(log.time_s, entered, side="right")
    lengths = _lengths_at_holes(log, length) if is_fifo else np.zeros(0)
    discipline, buffer = _left_discipline(lengths, length, transmitting=burst is None)
    return Observed(rate, framing, buffer, discipline, burst, sure=False)


def _left_discipline(at_drops: Floats, lengths: Integers, *, transmitting: bool) -> tuple[str, int | None]:
    """Returns `drop_tail`, `aqm` or `unknown`, and the buffer of a drop-tail queue in packets.

    A drop-tail queue has its maximum length at each drop. The buffer excludes the packet in transmission; a
    shaper with a bucket has no such packet. Measured lengths at drops can be too short: if a retransmission is
    lost, its neighbours in sequence space entered the queue at other times.
    """
    if len(at_drops) < LEAST_DROPS:
        return "unknown", None
    full = float(np.quantile(at_drops, 0.75))
    bound = max(ALIKE * full, 2.0)
    if np.quantile(lengths, 0.995) > full + bound:
        return "aqm", None
    is_often_full = np.mean(at_drops >= full - bound) >= OFTEN
    return ("drop_tail", max(round(full) - int(transmitting), 1)) if is_often_full else ("unknown", None)


def _entries(log: _Log) -> tuple[Floats, bool]:
    """Returns the times at which packets entered the queue, on a common clock, and true if the queue preserves their
    order.

    Each connection's timestamps have their own offset. Two successive packets of different connections entered the
    queue in this order, which bounds the difference of their offsets.
    """
    entered = log.stamp_s.copy()
    numbers, counts = np.unique(log.connection, return_counts=True)
    base = numbers[np.argmax(counts)]
    one, other = log.connection[:-1], log.connection[1:]
    apart = log.stamp_s[:-1] - log.stamp_s[1:]
    is_fifo = True
    for number in numbers[numbers != base]:
        least, most = apart[(one == base) & (other == number)], -apart[(one == number) & (other == base)]
        mine = log.connection == number
        if len(least) and len(most):
            low, high = float(np.quantile(least, 0.99)), float(np.quantile(most, 0.01))
            if low <= high + 3 * TICK_S:
                entered[mine] += (low + high) / 2
                continue
            is_fifo = False
        # If the order is not known, the function assumes that each connection found the queue empty once.
        entered[mine] += float(
            np.min((log.time_s - log.stamp_s)[mine]) - np.min((log.time_s - log.stamp_s)[log.connection == base])
        )
    return entered, is_fifo


def _burst(left: Floats, octets: Floats, rate: float) -> int | None:
    """Returns the size of a shaper's bucket: the largest number of bytes by which any period exceeds the rate.

    Returns `None` if there is no bucket. A line without a bucket exceeds its rate by at most one packet.
    """
    sums, passed = np.cumsum(octets), left * rate / 8
    least = sums - octets - passed
    # The minimum covers 256 packets. Over more packets, a small error of the rate would look like a bucket.
    for step in 2 ** np.arange(8):
        least[step:] = np.minimum(least[step:], least[:-step])
    ahead = sums - passed - least
    # If one packet is captured late, the packets after it seem early, so the largest values are ignored.
    most = float(np.sort(ahead)[-min(OFTEN_AHEAD, len(ahead))])
    return round(most) if most >= MOST_AHEAD * float(octets.max()) else None


def _gaps(sizes: Floats, gaps: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns the packet sizes with at least `LEAST_GAPS` gaps, and for each size the median gap and its standard
    error."""
    found: list[tuple[float, float, float]] = []
    for size in np.unique(sizes):
        of_size = gaps[sizes == size]
        if len(of_size) >= LEAST_GAPS:
            middle = float(np.median(of_size))
            # For a normal distribution, 1 sigma is 1.48 median deviations, and the error of the median is 1.25 times
            # the error of the mean.
            error = 1.25 * 1.48 * float(np.median(np.abs(of_size - middle))) / np.sqrt(len(of_size))
            found.append((float(size), middle, float(error)))
    return tuple(np.array(column) for column in zip(*found, strict=True)) if found else (np.zeros(0),) * 3  # pyright: ignore[reportReturnType]


def _framing(sizes: Floats, gaps: Floats, errors: Floats) -> Framing | None:
    """Returns the framing, computed from packets of several sizes; `None` if the sizes or gaps do not determine it."""
    if np.ptp(sizes) < LARGEST / 4:
        return None
    weights = 1 / np.maximum(errors, 1e-9)
    slope, offset = np.polyfit(sizes, gaps, 1, w=weights)
    overhead = float(offset / slope)
    if float(np.min(errors[sizes < np.median([sizes.min(), sizes.max()])]) / slope) > SURE_BYTES:
        return None
    whole = round(overhead)
    residuals = np.abs((sizes + whole) * slope - gaps) / slope
    linear = float(np.max(residuals))
    # Real framings add whole bytes, or fill up whole cells.
    if abs(overhead - whole) <= SURE_BYTES and 0 <= whole <= MOST_OVERHEAD and linear <= 1.0:
        return Framing(whole)
    found: tuple[float, int] | None = None
    for bytes_ in range(MOST_OVERHEAD):
        cells = Framing(bytes_, cells=True).on_wire(sizes)
        per_byte = float(np.median(gaps / cells))
        worst = float(np.max(np.abs(cells - gaps / per_byte)))
        if worst <= 1.0 and (found is None or worst < found[0] - 1e-6):
            found = (worst, bytes_)
    return None if found is None else Framing(found[1], cells=True)


def _lengths_at_holes(log: _Log, length: Integers) -> Floats:
    """Returns the queue length in packets at each dropped data packet.

    A hole in sequence space marks a drop. The time of the drop is between the times at which the packets around the
    hole entered.
    """
    found: list[float] = []
    for number in np.unique(log.connection):
        mine = np.flatnonzero((log.connection == number) & (log.payload_bytes > 0))
        if len(mine) < 2:
            continue
        start, end = _unwrapped(log.seq[mine]), _unwrapped(log.seq[mine]) + log.payload_bytes[mine]
        after = np.flatnonzero(start[1:] > np.maximum.accumulate(end)[:-1]) + 1
        found += list(np.maximum(length[mine[after - 1]], length[mine[after]]).astype(float))
    return np.array(found)


def _unwrapped(seq: Integers) -> Integers:
    steps = (np.diff(seq) + 2**31) % 2**32 - 2**31
    return np.concatenate([[0], np.cumsum(steps)])


# --- in front of the line ---------------------------------------------------------------------------------------------


def _in_front(log: _Log, is_down: bool, other: Observed | None, floor_s: float) -> Observed | None:
    """Measures the queue of one direction from packets that were captured in front of the line.

    Timestamps are too coarse to measure the framing, so the function also tries the framing of the other direction. It
    also tries the bucket of the other direction, if ACKs do not show the bucket of this direction.
    """
    data, back = log.of(log.is_down == is_down), log.of(log.is_down != is_down)
    if not (data.payload_bytes > 0).any():
        return None
    dropped, ends = _sent(data)
    places, acks = _arrivals(data, back, ends)
    if len(places) < LEAST_ACKS:
        return None
    stamps, numbers = back.stamp_s[acks], back.connection[acks]
    best: tuple[float, float, Framing, int | None] | None = None
    for framing in dict.fromkeys([Framing(), (other and other.framing) or Framing()]):
        octets = np.where(dropped, 0.0, framing.on_wire(data.size_bytes))
        found = _agreeing_rate(data.time_s, octets, 0, places, stamps, numbers)
        if found is None:
            continue
        rate, apart = found
        burst, shown = None, _bucket(data.time_s, octets * 8 / rate, back, places, acks, floor_s)
        size = (other and other.burst_bytes) or 0 if shown is None else round(shown * rate / 8)
        if size >= MOST_AHEAD * float(octets.max()):
            found = _agreeing_rate(data.time_s, octets, size, places, stamps, numbers)
            # The bucket of the other direction is accepted only if the arrivals agree better with it.
            if found is not None and (shown is not None or found[1] < apart):
                (rate, apart), burst = found, size
        if best is None or apart < best[0]:
            best = (apart, rate, framing, burst)
    if best is None:
        return None
    apart, rate, framing, burst = best
    octets, burst_s = framing.on_wire(data.size_bytes), (burst or 0) * 8 / rate
    # Data that was never acknowledged may have been dropped without being retransmitted.
    judged = (data.payload_bytes > 0) & (np.arange(len(dropped)) <= places.max())
    discipline, limit = _entered_discipline(data.time_s, octets * 8 / rate, burst_s, judged, dropped & judged)
    if limit is not None:
        # The capture does not show which ACKs were dropped, so the simulated queue decides.
        passed = np.where(dropped | _drops(data.time_s, octets * 8 / rate, burst_s, limit), 0.0, octets)
        rate, apart = _agreeing_rate(data.time_s, passed, burst or 0, places, stamps, numbers) or (rate, apart)
    # A shaper with a bucket has no packet in transmission.
    buffer = None if limit is None else limit - int(burst is None)
    error = RATE_ERROR * max(apart / TICK_S, 2.0)
    return Observed(
        rate, framing if other and other.framing else None, buffer, discipline, burst, sure=True, error=error
    )


def _sent(data: _Log) -> tuple[Flags, dict[tuple[int, int], list[int]]]:
    """Returns a flag per packet, and the packets' indices by connection and end sequence number.

    The flag is true if the packet's data was sent again. Such a packet counts as dropped.
    """
    dropped = np.zeros(len(data.time_s), dtype=bool)
    ends: dict[tuple[int, int], list[int]] = {}
    for place in np.flatnonzero(data.payload_bytes > 0):
        key = (int(data.connection[place]), int(data.seq[place] + data.payload_bytes[place]) % 2**32)
        places = ends.setdefault(key, [])
        if places:
            dropped[places[-1]] = True
        places.append(int(place))
    return dropped, ends


def _arrivals(data: _Log, back: _Log, ends: Mapping[tuple[int, int], list[int]]) -> tuple[Integers, Integers]:
    """Returns the packets whose arrival is shown by an ACK, and these ACKs, as indices into `data` and `back`.

    An ACK counts only if it acknowledges at most two packets and none of them was retransmitted. Receivers send such
    ACKs immediately (RFC 9293, section 3.8.6.3).
    """
    found: list[tuple[int, int]] = []
    before: dict[int, int] = {}
    columns = (back.connection.tolist(), back.ack.tolist(), back.stamp_s.tolist())
    for place, (connection, ack, stamp) in enumerate(zip(*columns, strict=True)):
        advance = (ack - before.get(connection, ack)) % 2**32
        if advance < 2**31:
            before[connection] = ack
        if 0 < advance <= 2 * LARGEST and not np.isnan(stamp):
            places = ends.get((connection, ack), ())
            if len(places) == 1:
                found.append((places[0], place))
    sent, acks = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return sent, acks


def _bucket(
    entered: Floats, transmission: Floats, back: _Log, places: Integers, acks: Integers, floor_s: float
) -> float | None:
    """Returns the time in seconds by which packets leave earlier than from a line without a bucket; `None` if the ACKs
    do not show it.

    A bucket shortens the RTT of every packet that waits in the queue. `floor_s` is the RTT of a small packet, so the
    result for a line without a bucket is the transmission time of this packet.
    """
    delay = back.time_s[acks] - back.stamp_s[acks]
    at_once = np.zeros(len(acks), dtype=bool)
    for number in np.unique(back.connection[acks]):
        mine = back.connection[acks] == number
        at_once |= mine & (delay <= delay[mine].min() + TICK_S)
    if at_once.sum() < LEAST_GAPS:
        return None
    sent, arrived = places[at_once], back.time_s[acks][at_once]
    left = _departures(entered, transmission)[sent]
    waits = left - entered[sent]
    low, middle, high = np.quantile((left + floor_s - arrived)[waits >= np.median(waits)], (0.25, 0.5, 0.75))
    return float(middle) if high - low <= max(BUCKET_SPREAD * middle, TICK_S) else None


def _departures(entered: Floats, transmission: Floats, burst_s: float = 0.0) -> Floats:
    """Returns the departure times from a first-in first-out queue (Lindley's recursion).

    The transmission of a packet begins when it has entered and the previous packet has left. With a bucket, departures
    can be up to `burst_s` earlier.
    """
    busy = np.cumsum(transmission)
    left = busy + np.maximum.accumulate(entered - (busy - transmission))
    return np.maximum(left - burst_s, entered) if burst_s else left


def _agreeing_rate(
    entered: Floats, octets: Floats, burst: int, places: Integers, stamps: Floats, numbers: Integers
) -> tuple[float, float] | None:
    """Returns the rate in bit/s that agrees best with the measured arrivals, and the mean difference in seconds.

    Returns `None` if no rate agrees.
    """
    rate = _first_rate(octets, places, stamps, numbers)
    if rate is None:
        return None

    def apart(rate: float) -> float:
        delay = stamps - _departures(entered, octets * 8 / rate, burst * 8 / rate)[places]
        total = 0.0
        for number in np.unique(numbers):
            of_one = delay[numbers == number]
            total += float(np.minimum(np.abs(of_one - np.median(of_one)), CAP_S).sum())
        return total / len(delay)

    def closest(rate: float, steps: Collection[tuple[float, int]]) -> tuple[float, float]:
        least = float("inf")
        for reach, points in steps:
            rates = rate * (1 + np.linspace(-reach, reach, points))
            found = [apart(float(each)) for each in rates]
            rate, least = float(rates[int(np.argmin(found))]), min(found)
        return least, rate

    # If the queue was busy for a long time, the first estimate is exact, and only rates near it agree. If busy times
    # are short, the estimate is up to 15 % too low.
    fine = ((0.002, 41), (0.0002, 21))
    least, rate = min(closest(rate, ((0.03, 61), *fine)), closest(rate, ((0.15, 41), (0.008, 17), *fine)))
    # If the queue was almost always empty, every rate agrees.
    if least > AGREE_S or min(apart(rate * 0.98), apart(rate * 1.02)) < 1.2 * least + TICK_S / 10:
        return None
    return rate, least


def _first_rate(octets: Floats, places: Integers, stamps: Floats, numbers: Integers) -> float | None:
    """Returns the highest rate in bit/s at which data arrived over half a second; `None` if there are too few ACKs."""
    sums = np.cumsum(octets)
    rates: list[Floats] = []
    for number in np.unique(numbers):
        mine = numbers == number
        at, of = stamps[mine], sums[places[mine]]
        later = np.searchsorted(at, at + WINDOW_S)
        whole = later < len(at)
        later = later[whole]
        rates.append((of[later] - of[whole]) * 8 / np.maximum(at[later] - at[whole], WINDOW_S / 2))
    every = np.concatenate(rates) if rates else np.zeros(0)
    return float(np.quantile(every, 0.9)) if len(every) >= LEAST_GAPS else None


def _entered_discipline(
    entered: Floats, transmission: Floats, burst_s: float, judged: Flags, dropped: Flags
) -> tuple[str, int | None]:
    """Returns `drop_tail`, `aqm` or `unknown`, and the size of a drop-tail queue, including the packet in transmission.

    The function simulates drop-tail queues with the captured arrivals. If the real queue is drop-tail, a simulated
    queue of the same size drops the same data. The real queue's length cannot be counted, because the capture does not
    show which ACKs were dropped.
    """
    if dropped.sum() < LEAST_DROPS:
        return "unknown", None
    departures = _departures(entered, np.where(dropped, 0.0, transmission), burst_s)[~dropped]
    before = np.concatenate([[0], np.cumsum(~dropped)])[:-1]
    lengths = (before - np.searchsorted(departures, entered, side="right"))[dropped]
    usual = int(np.argmax(np.bincount(np.maximum(lengths, 0))))
    wrong: dict[int, int] = {}
    for limit in range(max(usual - 3, 2), max(usual, 1) + 2):
        wrong[limit] = int(np.sum(judged & (_drops(entered, transmission, burst_s, limit) != dropped)))
    best = min(wrong, key=lambda limit: (wrong[limit], abs(limit - usual)))
    share = wrong[best] / dropped.sum()
    if share <= SAME_DROPS:
        return "drop_tail", best
    # An AQM drops packets while others wait. Random loss also drops packets when the queue is empty.
    waited = float(np.mean(lengths >= 2)) >= WAITED
    return ("aqm" if share > OTHER_DROPS and waited else "unknown"), None


def _drops(entered: Floats, transmission: Floats, burst_s: float, limit: int) -> Flags:
    """Returns a flag per packet: true if a drop-tail queue of `limit` packets drops it.

    `limit` includes the packet in transmission.
    """
    leaving: deque[float] = deque()
    found = np.zeros(len(entered), dtype=bool)
    last = 0.0
    for place, (at, takes) in enumerate(zip(entered.tolist(), transmission.tolist(), strict=True)):
        while leaving and leaving[0] <= at:
            leaving.popleft()
        if len(leaving) >= limit:
            found[place] = True
            continue
        last = max(last, at) + takes
        leaving.append(max(last - burst_s, at))
    return found
