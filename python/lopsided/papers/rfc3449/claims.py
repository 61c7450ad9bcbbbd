"""The statements and the advice of the RFC, and the functions that judge them.

Section 3 concerns the TCP of 1999. The advice of sections 4 and 5 is judged three times by the same rule (`shared.py`):
with the TCP of 1999 on the RFC's paths, with Linux on today's lines, and with QUIC on today's lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import geometric_mean

from lopsided.papers.framework.claims import (
    Listed,
    Statements,
    all_of,
    at_least,
    at_most,
    claims_of,
    number,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Claim, Measured, Verdict
from lopsided.papers.rfc3449 import setup
from lopsided.papers.rfc3449.setup import DEEP, DS, IN_TABLES, KS, OF_RFC, SMALL, Path, mechanism
from lopsided.papers.rfc3449.shared import HARMS_UP, HELPS, goodput_bps, is_good, judged, mean, ratios, worst

FILLS = 95
"""The download counts as filling its line if its goodput is at least this percentage of its goodput at the smallest
k."""
CLEAR = 0.9
"""A quantity counts as clearly lower than another if their ratio is below this value."""

listed = Listed.beside(__file__)
of_paper = Statements(("ratio",))
ours = Statements(("today",), "ours")


def filled(m: Measurements, k: float, d: int, compression: str = "none") -> Measured:
    """Returns the download's goodput at k, in percent of the goodput at the smallest k."""
    here, free = (
        m.value("ratio", "down_bps", k=at, d=of, compression=scheme, uplink_buffer_packets=DEEP).median
        for at, of, scheme in ((k, d, compression), (KS[0], 2, "none"))
    )
    compressed = "" if compression == "none" else ", compressed"
    return percent(f"goodput at k = {k:g}, an ACK for {d}{compressed}", here / free)


# --- Section 3: the problem


@listed
def clock_without_delay(m: Measurements) -> Verdict:
    """With one ACK per segment, the download fills its line at each normalised bandwidth ratio k up to 1, and at no k
    from 1.4 on."""
    below, above = ([filled(m, k, 1) for k in KS if (k > 1) == is_above] for is_above in (False, True))
    return all_of(at_least(FILLS, below), at_most(FILLS, above))


@listed
def clock_with_delay(m: Measurements) -> Verdict:
    """With one ACK per 2 segments, the download cannot fill its line if the bandwidth ratio k exceeds 0.5."""
    found = {k: filled(m, k, 2) for k in KS if k > 0.5}
    full = max((k for k, each in found.items() if each.value >= FILLS), default=0.0)
    return at_most(FILLS, found.values()).but(
        number("largest k at which the line is full", full),
        why=f"a receiver that sends fewer ACKs needs less of the uplink, not more: the line is full up to k = {full:g}",
    )


@listed
def uplink_first(m: Measurements) -> Verdict:
    """With one ACK per 1, 2 or 4 segments, the download does not fill its line at a bandwidth ratio k of 8."""
    rarely = [number(each.name, each.value, each.unit) for each in (filled(m, 8.0, d) for d in DS if d >= 8)]
    return at_most(FILLS, [filled(m, 8.0, d) for d in DS if d < 8]).but(*rarely)


@listed
def one_in_k(m: Measurements) -> Verdict:
    """With an uplink buffer of 10 packets and one ACK per segment, the number of data packets per delivered ACK is
    within 15 % of k."""
    found: list[Verdict] = []
    for k in (2.0, 4.0, 8.0):
        acks = m.value("ratio", "acks_per_packet", k=k, d=1, compression="none", uplink_buffer_packets=SMALL)
        one = number(f"data packets for each ACK at k = {k:g}", 1 / acks.median)
        found.append(ratio(f"packets for each ACK over k = {k:g}", one, number("k", k), above=0.85, below=1.15))
    return all_of(*found)


def _none(m: Measurements, experiment: str, path: Path, load: str) -> float:
    """Returns the download's goodput without any mechanism."""
    return goodput_bps(m, experiment, path, mechanism("delayed"), "without", load, "down")


def _two_way(m: Measurements, experiment: str) -> Verdict:
    def left(path: Path) -> Measured:
        both, alone = (_none(m, experiment, path, load) for load in ("both", "alone"))
        return percent(f"of the download on {path.title}", both / alone)

    return at_most(100 * CLEAR, map(left, setup.JUDGED_ON[experiment]))


@listed
def two_way_is_worse(m: Measurements) -> Verdict:
    """On each of the RFC's paths, an upload reduces the download's goodput by more than 10 %."""
    return _two_way(m, "then")


@listed
def ack_loss(m: Measurements) -> Verdict:
    """The download's goodput with 5 % ACK loss is at least twice its goodput with 5 % data loss."""
    up, down = (
        number(
            f"goodput with {100 * setup.LOST:g} % loss {way}",
            m.value("loss", "down_bps", lost=way),
            "Mbit/s",
            scale=1e-6,
        )
        for way in ("up", "down")
    )
    return ratio("loss of ACKs over loss of data", up, down, above=2)


# --- Sections 4 and 5: statements of the text that the tables do not contain


@listed
def compression_at_high_ratio(m: Measurements) -> Verdict:
    """At k = 16 and 32, header compression raises the download's goodput by less than 10 %."""

    def gain(k: float) -> Verdict:
        return ratio(f"compressed over not, k = {k:g}", filled(m, k, 2, "cslip"), filled(m, k, 2), below=HELPS)

    return all_of(*(gain(k) for k in KS if k > 10))


@listed
def options_are_not_compressed(m: Measurements) -> Verdict:
    """With Linux's TCP, which sends timestamps, header compression (RFC 1144) raises the download's mean goodput by
    less than 10 %."""
    found = ratios(m, "linux", mechanism("vj"))
    gains = {load: mean(found, "down", load) for load in setup.LOADS}
    return at_most(
        HELPS, [number(f"download {load}, with RFC 1144 over without", gain) for load, gain in gains.items()]
    )


def _over_decimation(m: Measurements, load: str) -> Measured:
    """Returns the download's goodput with an ACK filter divided by its goodput with ACK decimation. The ratio is a
    geometric mean over the paths."""

    def down(key: str) -> float:
        return geometric_mean(goodput_bps(m, "then", path, mechanism(key), "with", load, "down") for path in OF_RFC)

    return number(f"filter over decimation, {load}", down("filter-paced") / down("decimate"))


@listed
def filter_before_decimation(m: Measurements) -> Verdict:
    """If bursts are limited, the download's mean goodput with an ACK filter is at least its mean goodput with ACK
    decimation."""
    return at_least(1.0, [_over_decimation(m, load) for load in setup.LOADS])


@listed
def acks_first_starve(m: Measurements) -> Verdict:
    """On at least one of the RFC's paths, acks-first scheduling reduces the upload's goodput by more than 50 %."""
    return at_most(HARMS_UP, [worst(ratios(m, "then", mechanism("acks-first")), "up")])


# --- Sections 4 and 5: the advice


NOT_AS_ADVISED: dict[str, tuple[str, ...]] = {
    "then": ("large-mss", "vj", "rohc", "filter-paced", "per-flow"),
    "today": ("acc", "bytes", "vj", "filter-paced", "per-flow", "acks-first"),
    "quic": ("delayed", "large-mss", "per-flow"),
}
"""For each experiment, the mechanisms whose results contradict the advice of the RFC."""


def _advice(statements: Statements, experiment: str, prefix: str, advice: str) -> Iterator[Claim]:
    """Yields one claim for each simulated row of the RFC's tables."""
    run = {str(case.labels["mechanism"]) for case in setup.EXPERIMENTS[experiment].cases}
    for each in (each for each in IN_TABLES if each.key in run):
        title = each.title[0].upper() + each.title[1:]
        claim = statements(
            f"{title}: {advice.format(each.advice)}.",
            f"section {each.section}",
            key=f"{prefix}-{each.key}",
            needs=(experiment,),
            fails=each.key in NOT_AS_ADVISED[experiment],
        )
        yield claim(partial(judged, experiment=experiment, each=each))


ADVICE = tuple(_advice(of_paper, "then", "advice", "{}"))
STILL = tuple(_advice(ours, "today", "today", "still {}, with Linux on today's lines"))
FOR_QUIC = tuple(_advice(ours, "quic", "quic", "still {}, with QUIC on today's lines"))


# --- Today


@listed
def alone_nothing_is_needed(m: Measurements) -> Verdict:
    """One ACK per 8 segments and an ACK filter each change the download's goodput by less than 10 % on each line."""
    found = [
        number(f"{each.title}, {one.path.title}", one.value)
        for each in map(mechanism, setup.IN_SHORT)
        for one in ratios(m, "today", each)
        if one.load == "alone"
    ]
    return at_most(HELPS, found)


@listed
def two_way_is_still_worse(m: Measurements) -> Verdict:
    """On each line, an upload reduces the download's goodput by more than 10 %."""
    return _two_way(m, "today")


@listed
def encrypted_acks(m: Measurements) -> Verdict:
    """On today's lines, an ACK filter and acks-first scheduling each change the goodput of a QUIC download by at most
    1 %."""
    found = [
        number(f"{each.title}, {one.path.title}: change", abs(one.value - 1), "percent", scale=100)
        for each in map(mechanism, ("filter", "acks-first"))
        for one in ratios(m, "quic", each)
        if one.way == "down"
    ]
    return at_most(1, found)


@listed
def scheduler_with_filter(m: Measurements) -> Verdict:
    """Each of two schedulers, combined with an ACK filter, helps and harms no line. The upload's mean goodput ratio is
    higher with the combination than with the scheduler alone."""
    found: list[Verdict] = []
    for both, alone in (("first-filter", "acks-first"), ("flows-filter", "fq-codel")):
        combined, plain = (ratios(m, "today", mechanism(each)) for each in (both, alone))
        one, other = (
            number(f"upload with {mechanism(key).title}", mean(each, "up"))
            for key, each in ((both, combined), (alone, plain))
        )
        found.append(ratio(f"{both} over {alone}", one, other, above=1.0))
        found.append(at_least(1, [number(f"{both} helps and harms nothing", float(is_good(combined)))]))
    return all_of(*found)


CLAIMS = claims_of(globals())
