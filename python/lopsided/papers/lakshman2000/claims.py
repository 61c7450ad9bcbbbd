"""The statements of the abstracts and the functions that judge them.

The abstracts contain no numbers. All thresholds are our own and were fixed before the first run:

- a burst fits if k is at most half of the forward buffer, and does not fit if k is at least twice the buffer;
- the forward link counts as used at a utilisation of at least 80 %, and as not used at less than 50 %;
- the loss of throughput is small up to a `model.product` of 1, and large from 30;
- unfairness grows considerably if Jain's index falls by 0.1;
- the asymmetry is high if k is at least 2.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    MORE,
    Listed,
    all_of,
    at_least,
    at_most,
    claims_of,
    largest_at_most,
    number,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements, rank_correlation
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.lakshman2000 import model
from lopsided.papers.lakshman2000.setup import (
    ASYMMETRIES,
    DROPS,
    FORWARD_BPS,
    FORWARD_BUFFERS,
    FRONT_ASYMMETRIES,
    FRONT_BUFFERS,
    LOSSES,
    LOSSY_ASYMMETRIES,
    LOSSY_REVERSE_BUFFER,
    LOSSY_RTTS,
    PIPE,
    REVERSE_BUFFER,
)

USED, UNUSED = 80.0, 50.0
SMALL, LARGE = 1.0, 30.0
LITTLE_LOST, MUCH_LOST = 80.0, 50.0
CONSIDERABLY = 0.1
HIGH = 2.0
FAIR = 0.95
POINTS = 10.0

listed = Listed.beside(__file__)


def utilisation(m: Measurements, forward: int, k: float) -> float:
    """Returns the forward link's utilisation, 0 to 1, for a forward buffer in packets and an asymmetry k."""
    return m.value("regimes", "utilisation", forward=forward, k=float(k)).median


def pipe(rtt_s: float) -> float:
    """Returns the bandwidth-delay product of the forward link in packets."""
    return FORWARD_BPS * rtt_s / (8 * model.PACKET_BYTES)


def lossy(m: Measurements) -> Iterable[tuple[float, float, float, float, float]]:
    """Yields RTT, k, loss probability, the product that the abstract uses, and the utilisation, for each case."""
    for rtt in LOSSY_RTTS:
        for k in LOSSY_ASYMMETRIES:
            for loss in LOSSES:
                found = m.value("loss", "utilisation", rtt_s=rtt, k=float(k), loss=loss).median
                yield rtt, k, loss, model.product(loss, k, pipe(rtt)), found


@listed
def modes_depend_on_both(m: Measurements) -> Verdict:
    """The forward link counts as used if bursts of k packets fit into its buffer, and as not used otherwise.

    At the largest k that is at most half of the buffer (in packets), the utilisation is at least 80 %. At the smallest
    k that is at least twice the buffer, the utilisation is at most 50 %.
    """
    fits: list[Measured] = []
    bursts: list[Measured] = []
    for forward in FORWARD_BUFFERS:
        for found, k in (
            (fits, max(k for k in ASYMMETRIES if k <= forward / 2)),
            (bursts, min(k for k in ASYMMETRIES if k >= 2 * forward)),
        ):
            found.append(percent(f"k = {k:g} with {forward} packets", utilisation(m, forward, k)))
    forward, k = FORWARD_BUFFERS[-1], max(k for k in ASYMMETRIES if k <= FORWARD_BUFFERS[-1] / 2)
    covered = number(
        f"data packets for each ACK at k = {k:g} with {forward} packets",
        m.value("regimes", "packets_per_ack", forward=forward, k=float(k)),
    )
    return all_of(at_least(USED, fits), at_most(UNUSED, bursts)).but(
        covered,
        why=f"the window grows by a packet in k round trips, and is still growing: {text.named(covered)}",
    )


@listed
def modes_follow_the_expressions(m: Measurements) -> Verdict:
    """If bursts fit into the forward buffer, the utilisation is within 10 percentage points of the expression. If they
    do not fit, the utilisation exceeds the bound by at most 10 percentage points."""
    off: list[Measured] = []
    for forward in FORWARD_BUFFERS:
        for k in ASYMMETRIES:
            expected = model.without_loss(k, forward, REVERSE_BUFFER, PIPE)
            distance = utilisation(m, forward, k) - expected
            name = f"distance at k = {k:g} with {forward} packets"
            off.append(percent(name, max(distance, 0.0) if k > forward else abs(distance)))
    return largest_at_most(
        POINTS, off, "each utilisation within 10 points of the expression, or of the bound from above"
    )


@listed
def front_performs_better(m: Measurements) -> Verdict:
    """The mean goodput with drops from the front is at least 10 % higher than with tail drops. The mean is over 4
    asymmetries and 2 reverse buffers."""

    def mean(drop: str) -> float:
        return float(
            np.mean(
                [
                    m.value("front", "goodput_bps", k=float(k), reverse=reverse, drop=drop).median
                    for k in FRONT_ASYMMETRIES
                    for reverse in FRONT_BUFFERS
                ]
            )
        )

    tail, front = (number(f"mean goodput, drop from the {drop}", mean(drop), "Mbit/s", scale=1e-6) for drop in DROPS)
    return ratio("front over tail", front, tail, above=MORE)


@listed
def asymmetry_adds_to_loss(m: Measurements) -> Verdict:
    """For each loss rate and RTT, goodput at k = 0.5 is at least 10 % higher than at k = 16.

    A case is judged only if the reverse link limits the ACKs at k = 16. The download at k = 0.5 must therefore need at
    least twice the number of ACKs that the reverse link can transmit at k = 16.
    """
    verdicts: list[Verdict] = []
    for rtt in LOSSY_RTTS:
        for loss in LOSSES:
            plain, steep = (m.value("loss", "utilisation", rtt_s=rtt, k=float(k), loss=loss).median for k in (0.5, 16))
            if plain * 16 <= HIGH:
                continue
            where = f"{100 * loss:g} % loss, {1e3 * rtt:g} ms"
            one, other = percent(f"k = 0.5, {where}", plain), percent(f"k = 16, {where}", steep)
            verdicts.append(ratio(f"k = 0.5 over k = 16, {where}", one, other, above=MORE))
    return all_of(*verdicts).but(criterion=f"k = 0.5 gets at least {MORE} times as much as k = 16, in each")


@listed
def product_decides(m: Measurements) -> Verdict:
    """The utilisation falls as the product p k (bandwidth-delay product)^2 rises, where p is the loss probability.

    The utilisation is at least 80 % if the product is at most 1, and at most 50 % if the product is at least 30.
    """
    rows = list(lossy(m))
    found = [
        (product, percent(f"k = {k:g}, {100 * loss:g} % loss, {1e3 * rtt:g} ms", used))
        for rtt, k, loss, product, used in rows
    ]
    little = [each for product, each in found if product <= SMALL]
    much = [each for product, each in found if product >= LARGE]
    rank = number(
        "rank correlation of utilisation with the product",
        rank_correlation(np.array([row[3] for row in rows]), np.array([row[4] for row in rows])),
    )
    return all_of(at_least(LITTLE_LOST, little), at_most(MUCH_LOST, much), at_most(-0.9, [rank])).but(
        criterion="80 % or more for products up to 1, 50 % or less from 30 on, and a rank correlation of -0.9"
    )


@listed
def loss_follows_the_expression(m: Measurements) -> Verdict:
    """Each measured utilisation is within 10 percentage points of the expression."""
    off = [
        percent(
            f"distance at k = {k:g}, {100 * loss:g} % loss, {1e3 * rtt:g} ms",
            abs(found - model.with_loss(loss, k, LOSSY_REVERSE_BUFFER, pipe(rtt))),
        )
        for rtt, k, loss, _, found in lossy(m)
    ]
    return largest_at_most(POINTS, off, "each utilisation within 10 points of the expression")


def _jain(m: Measurements, k: float, queue: str = "fifo") -> Measured:
    name = f"Jain's index at k = {k:g} with {queue}"
    return number(name, m.value("shared", "jain", k=float(k), queue=queue))


@listed
def reverse_congestion_is_unfair(m: Measurements) -> Verdict:
    """Jain's index of four downloads is at least 0.1 lower at an asymmetry k of 8 and of 16 than at a k of 0.5."""
    plain = _jain(m, 0.5)
    return at_most(plain.value - CONSIDERABLY, [_jain(m, 8), _jain(m, 16)]).but(
        plain, criterion="at least 0.1 lower than at k = 0.5, at k = 8 and at k = 16"
    )


@listed
def connections_with_buffers_are_fair(m: Measurements) -> Verdict:
    """With one queue per connection, Jain's index of the downloads is at least 0.95 at each asymmetry k above 1."""
    return at_least(FAIR, [_jain(m, k, "sfq") for k in (2, 8, 16)]).but(*(_jain(m, k) for k in (2, 8, 16)))


@listed
def upload_makes_asymmetry(m: Measurements) -> Verdict:
    """At an asymmetry k of 0.4, an upload raises the number of data packets per ACK to at least 2. The
    upload reduces the utilisation by at least 10 %."""
    alone, beside = (
        number(f"data packets for each ACK, {name}", m.value("two-way", "packets_per_ack", upload=upload))
        for name, upload in (("alone", "none"), ("next to an upload", "one"))
    )
    used = [
        percent(f"utilisation, {name}", m.value("two-way", "utilisation", upload=upload))
        for name, upload in (("alone", "none"), ("next to an upload", "one"))
    ]
    return all_of(at_least(HIGH, [beside]), ratio("alone over next to an upload", *used, above=MORE)).but(
        alone, why=f"the download loses for another reason: {text.listed(used)}"
    )


CLAIMS = claims_of(globals())
