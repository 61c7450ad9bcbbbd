"""Claims about performance and throughput with different uplink buffers (sections 1, 5.1 and 6.5).

Performance has two definitions. One uses goodput. The other uses the mean window divided by the mean RTT, as in the
thesis's scripts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from lopsided import metrics
from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    POINTS,
    SHARE,
    Listed,
    all_of,
    at_least,
    claims_of,
    falls,
    kbit,
    key_of,
    near,
    number,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Claim, Measured, Verdict
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.merritt2010.setup import BUFFERS, LINES, MAIN, AccessLine
from lopsided.papers.merritt2010.shared import BOTH_READINGS, GOODPUT, Reading, at, curve, main, printed_size

listed = Listed.beside(__file__)


def by_both(check: Callable[[Measurements, Reading], Verdict], key: str = "") -> tuple[Claim, ...]:
    """Returns one claim per definition of performance.

    The statement's `fails` lists the definitions under which the claim is recorded as failing.
    """
    name = key or key_of(check)
    failing = listed.entries[name].get("fails", ())
    return tuple(
        replace(
            listed.claim(name, lambda m, each=each: check(m, each)),
            key=name + each.suffix,
            known_not_to_hold=each.name in failing,
            reading=each.name,
        )
        for each in BOTH_READINGS
    )


def performance(
    m: Measurements,
    reading: Reading,
    line: AccessLine,
    packets: float,
    name: str = "",
    printed: PublishedValue | None = None,
) -> Measured:
    """Returns a link's performance, in percent, with the given uplink buffer, in packets."""
    return percent(name or f"{line.name} at {packets:g} packets", at(m, line, packets, reading.performance), printed)


def _with_limits(m: Measurements, reading: Reading, verdict: Verdict, line: AccessLine, packets: float) -> Verdict:
    """Returns the verdict with a longer reason, which names the direction that limits the performance."""
    where = f"{line.name} at {packets:g} packets"
    down, up = (
        percent(f"{line.name}: {name} at {packets:g} packets", at(m, line, packets, column))
        for name, column in (("download", reading.down), ("upload", reading.up))
    )
    setting = "download" if down.value < up.value else "upload"
    shares = f"download {text.value(down)}, upload {text.value(up)} of its link"
    return verdict.but(down, up, why=f"on {where} the {setting} limits it ({shares})")


@by_both
def degradation_grows(m: Measurements, reading: Reading) -> Verdict:
    """On every link, performance falls as the uplink buffer grows."""
    verdicts: list[Verdict] = []
    for line in LINES:
        found = curve(m, line, reading.performance)
        best = float(found.x[int(np.nanargmax(found.median))])
        verdict = falls(f"{line.name}: performance", found, "percent", scale=100, show=(best,))
        verdict = verdict.but(why=f"on {line.name} it is best at {best:g} packets")
        for packets in (BUFFERS[0], BUFFERS[-1]):
            verdict = _with_limits(m, reading, verdict, line, packets)
        verdicts.append(verdict)
    return all_of(*verdicts)


def _split(m: Measurements, reading: Reading, line: AccessLine) -> tuple[Verdict, float]:
    """Judges whether a buffer size splits the performance curve into a plateau and a fall.

    Returns the verdict, and the buffer size with the lowest performance.
    """
    values = curve(m, line, reading.performance).median * 100
    high = values >= np.nanmax(values) - POINTS
    last = int(np.flatnonzero(high)[-1])
    lowest, best = int(np.nanargmin(values[: last + 1])), int(np.nanargmax(values))
    fall = float(np.nanmean(values[: last + 1]) - values[-1])
    measured = (
        number(f"{line.name}: within ten points of the best up to", BUFFERS[last], "packets"),
        number(f"{line.name}: fall from there to {BUFFERS[-1]} packets", fall, "points"),
        performance(
            m, reading, line, BUFFERS[lowest], f"{line.name}: lowest of the plateau, at {BUFFERS[lowest]} packets"
        ),
        performance(m, reading, line, BUFFERS[best], f"{line.name}: best, at {BUFFERS[best]} packets"),
    )
    flat = bool(high[: last + 1].all())
    reason = (
        f"on {line.name} it falls by {text.number(fall)} points at the end"
        if flat
        else f"on {line.name} it is not flat before it falls: {text.value(measured[2])} at {BUFFERS[lowest]} packets, "
        f"{text.value(measured[3])} at {BUFFERS[best]}"
    )
    criterion = (
        "a size splits the curve of each link: performance is within 10 points of the best up to this size and never "
        "beyond, and the end of the curve is at least 20 points below the mean of the plateau"
    )
    return Verdict(flat and fall >= 20, criterion, measured, reason), BUFFERS[lowest]


@by_both
def flat_then_fast_drop(m: Measurements, reading: Reading) -> Verdict:
    """On each link, a buffer size splits the performance curve into a plateau and a fall."""
    verdicts: list[Verdict] = []
    for line in LINES:
        verdict, lowest = _split(m, reading, line)
        verdicts.append(_with_limits(m, reading, verdict, line, lowest))
    return all_of(*verdicts)


def ack_bounds() -> tuple[str, tuple[Measured, ...]]:
    """Returns the largest goodput that leaves a direction enough capacity for the ACKs of the other direction, as text
    and as numbers.

    The goodput is computed with timestamps and Ethernet headers, as assumed, and without them.
    """
    measured: list[Measured] = []
    for line in LINES:
        rates = line.down_bps, line.up_bps
        bare = metrics.two_way_performance_bound(*rates, payload_bytes=1460, packet_bytes=1500, ack_bytes=40)
        for name, bound in (("as assumed", metrics.two_way_performance_bound(*rates)), ("without both", bare)):
            measured.append(percent(f"{line.name}: fits next to all ACKs, {name}", bound))
    with_, without = (", ".join(text.value(each) for each in measured[start::2]) for start in (0, 1))
    sentence = (
        f"With all ACKs of the other direction, the goodput on the three links is at most {with_} with timestamps and "
        f"the assumed framing, and {without} without both"
    )
    return sentence, tuple(measured)


@by_both
def high_at_small_buffers(m: Measurements, reading: Reading) -> Verdict:
    """The best performance with buffers up to the published estimate is near the published 93 %."""
    printed = m.published.find("Section 6.3", "performance", item="buffers below the estimate, best case")
    line, packets = max(
        ((line, packets) for line in LINES for packets in BUFFERS if packets <= printed_size(m, line).number),
        key=lambda place: at(m, *place, reading.performance).median,
    )
    best = performance(m, reading, line, packets, f"best: {line.name} at {packets} packets", printed)
    note, bounds = ack_bounds()
    return near([best]).but(*bounds, notes=(note,) if reading is GOODPUT else ())


@by_both
def performance_at_estimate(m: Measurements, reading: Reading) -> Verdict:
    """The interpolated performance at the published buffer sizes is near the published performance."""
    verdicts: list[Verdict] = []
    for line in LINES:
        printed = m.published.find("Table 6.2", "performance_at_estimate", link=line.name)
        size = printed_size(m, line).number
        verdict = near([performance(m, reading, line, size, line.name, printed)], printed=100)
        verdicts.append(_with_limits(m, reading, verdict, line, size))
    return all_of(*verdicts)


@by_both
def model_size_gives_68_percent(m: Measurements, reading: Reading) -> Verdict:
    """At the published buffer sizes, each link's performance is at least the published 68 %."""
    printed = m.published.find("Section 1", "performance", item="model-sized buffer, all three links")
    verdicts: list[Verdict] = []
    for line in LINES:
        size = printed_size(m, line).number
        verdict = at_least(printed.number, [performance(m, reading, line, size, line.name, printed)])
        verdicts.append(_with_limits(m, reading, verdict, line, size))
    return all_of(*verdicts).but(criterion=f"at least {printed.value} % on every link")


@by_both
def worse_above_estimate(m: Measurements, reading: Reading) -> Verdict:
    """If the buffer exceeds the published estimate, the performance is at least 10 percentage points lower than at the
    estimate."""
    least = m.published.find("Section 1", "further_performance_drop_minimum")
    most = m.published.find("Section 1", "further_performance_drop_maximum")
    verdicts: list[Verdict] = []
    for line in LINES:
        size, found = printed_size(m, line).number, curve(m, line, reading.performance)
        there = found.at(size).median * 100
        costs = {packets: there - found.at(packets).median * 100 for packets in BUFFERS if packets > size}
        first, cheapest = min(costs), min(costs, key=lambda packets: costs[packets])
        measured = (
            number(f"{line.name}: smallest drop above {size:g} packets, at {cheapest}", costs[cheapest], "points"),
            number(f"{line.name}: drop at {first} packets", costs[first], "points", published=least),
            number(f"{line.name}: drop at {BUFFERS[-1]} packets", costs[BUFFERS[-1]], "points", published=most),
        )
        way = "loses" if costs[cheapest] > 0 else "gains"
        reason = (
            f"on {line.name} {cheapest} packets {way} {text.number(abs(costs[cheapest]))} points against the estimate "
            f"of {size:g}"
        )
        verdicts.append(Verdict(costs[cheapest] >= least.number, "", measured, reason))
    criterion = f"each measured size above the estimate costs at least {least.value} points, on every link"
    return all_of(*verdicts).but(criterion=criterion)


def printed_performance(
    m: Measurements, reading: Reading, line: AccessLine = MAIN, where: str = "", item: str = ""
) -> Verdict:
    """Judges whether the performance with the largest buffer is near the published value."""
    printed = m.published.find(where, "performance", item=item)
    verdict = near([performance(m, reading, line, BUFFERS[-1], printed=printed)])
    return _with_limits(m, reading, verdict, line, BUFFERS[-1])


@listed
def download_halves(m: Measurements) -> Verdict:
    """With a buffer of 50 packets, the upload reduces the download's throughput by about the published percentage."""
    printed = m.published.find("Section 1", "download_throughput_drop_when_upload_starts")
    loss = percent(f"loss at {BUFFERS[-1]} packets", 1 - main(m, "down_ratio").last, printed)
    halves = [
        percent(f"performance in the {half} minute", main(m, f"performance_{half}_half").last)
        for half in ("first", "second")
    ]
    rtt = number("mean RTT of the download", main(m, "rtt_ms").last, "s", scale=1e-3)
    return near([loss]).but(
        *halves,
        rtt,
        why=f"The first and second minute differ: performance is {text.value(halves[0])} in the first and "
        f"{text.value(halves[1])} in the second, because a window takes minutes to grow at a mean RTT of "
        f"{text.value(rtt)}",
    )


@listed
def small_buffer_spares_download(m: Measurements) -> Verdict:
    """With an uplink buffer of 15 packets, the download keeps at least 85 % of its rate.

    The download's rate varies less than with an uplink buffer of 50 packets.
    """
    kept = percent("kept at 15 packets", main(m, "down_ratio").at(15))
    small, large = (
        number(f"variation (std/mean) at {packets} packets", main(m, "goodput_variation").at(packets))
        for packets in (15, 50)
    )
    return all_of(at_least((1 - SHARE) * 100, [kept]), ratio("variation at 15 over that at 50", small, large, below=1))


@listed
def upload_gains_little(m: Measurements) -> Verdict:
    """On 2400/196, when the buffer grows from 5 to 50 packets, the download loses more than 10 times the goodput that
    the upload gains."""
    down, up = main(m, "goodput_down_bps"), main(m, "goodput_up_bps")
    loss = kbit("download's loss, 5 to 50 packets", down.first - down.last)
    gain = kbit("upload's gain", up.last - up.first)
    relative = percent("upload's gain, relative", up.last / up.first - 1)
    return Verdict(
        loss.value > 0 and loss.value > 10 * gain.value,
        "the download loses more than 10 times the upload's gain",
        (loss, gain, relative),
        f"the download loses {text.value(loss)}, the upload gains {text.value(gain)}",
    )


FIFTY_FIVE_PERCENT = by_both(
    partial(printed_performance, where="Section 6.3", item="2400/196 at the largest measured buffer (50 packets)"),
    "55-percent-at-50",
)

SEVEN_PERCENT = by_both(
    partial(printed_performance, line=LINES[2], where="Section 6.5", item="worst link at 50 packets"), "7-percent-worst"
)

CLAIMS = claims_of(globals())
