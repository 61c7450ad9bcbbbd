"""The statements of chapters 4 to 6 and the functions that judge them.

Three criteria are our own. "Unaffected" means within 25 %. The RTT "passes 1 s" if 10 % of the packets have an RTT
above 1 s. The RTT is "well controlled" if 90 % of the packets have an RTT within 100 ms of the base RTT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from lopsided.papers.framework.claims import (
    Listed,
    agree_within,
    all_of,
    at_least,
    at_most,
    between,
    claims_of,
    mbit,
    near,
    number,
    ordered,
    percent,
    ratio,
    rises,
)
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.framework.published import PublishedValue
from lopsided.papers.havey2015.setup import ALL, CHAPTER_5, CHAPTER_6, EVENING_RTTS, NAMES, RTTS
from lopsided.papers.havey2015.shared import said, value

UNAFFECTED = 1.25
SECOND_MS = 1000.0

listed = Listed.beside(__file__)


# --- Chapter 4


@listed
def knee_is_full(m: Measurements) -> Verdict:
    """With a queue of one BDP, a Reno transfer reaches 98 % of the line rate."""
    printed = m.published.find("Section 4.2.1 / Figure 4.1", "throughput_at_the_knee")
    found = mbit("throughput at 12,500 B", m.curve("knee", "throughput_bps", "queue_bytes").at(12500))
    share = percent("share of the rate", found.value / printed.number)
    return at_least(98, [share]).but(found)


@listed
def less_below_the_knee(m: Measurements) -> Verdict:
    """Up to a queue size of one BDP, a Reno transfer's throughput rises with the queue size."""
    curve = m.curve("knee", "throughput_bps", "queue_bytes")
    below = [mbit(f"throughput at {octets:,} B", curve.at(octets)) for octets in (12500, 6250, 3000)]
    return ordered(below, by=1)


@listed
def delay_above_the_knee(m: Measurements) -> Verdict:
    """A Reno transfer's mean wait rises with the queue size. From one BDP to four BDP, its throughput rises by less
    than 2 %."""
    throughput = m.curve("knee", "throughput_bps", "queue_bytes")
    most, knee = (mbit(f"throughput at {octets:,} B", throughput.at(octets)) for octets in (50000, 12500))
    return all_of(
        rises("wait", m.curve("knee", "wait_ms", "queue_bytes"), "ms"),
        ratio("throughput of four times the queue to that of the knee", most, knee, below=1.02),
    )


# The longest wait is the drain time of a full queue of 12,500 bytes.
DELAY_AT_THE_KNEE = listed.near_print(
    "delay-at-the-knee",
    lambda m: [
        number(
            "longest wait at 12,500 B",
            m.curve("knee", "longest_wait_ms", "queue_bytes").at(12500),
            "ms",
            published=m.published.find("Section 4.2.1 / Figure 4.1", "delay_at_the_knee"),
        )
    ],
)


# --- Chapter 5


@listed
def asqm_is_unaffected(m: Measurements) -> Verdict:
    """Under ASQM, the RTT's median and 90th percentile are at most 25 % higher in the evening than at night."""
    return all_of(
        ratio(
            f"evening to night at {rtt} ms ({name})",
            said(m, "evening", column, "asqm", rtt, "ms", what=f", evening ({name})"),
            said(m, "night", column, "asqm", rtt, "ms", what=f", night ({name})"),
            below=UNAFFECTED,
        )
        for rtt in EVENING_RTTS
        for column, name in (("rtt_p50_ms", "median"), ("rtt_p90_ms", "90 %"))
    )


def _passes_a_second(m: Measurements, aqm: str) -> Verdict:
    found = [said(m, "evening", "rtt_p90_ms", aqm, rtt, "ms", what=" (90 %)") for rtt in EVENING_RTTS]
    at_night = [said(m, "night", "rtt_p90_ms", aqm, rtt, "ms", what=", night (90 %)") for rtt in EVENING_RTTS]
    return at_least(SECOND_MS, found).but(*at_night)


@listed
def codel_passes_a_second(m: Measurements) -> Verdict:
    """In the evening, at least 10 % of the packets under CoDel have an RTT above 1 s, at each base RTT."""
    return _passes_a_second(m, "codel")


@listed
def pie_passes_a_second(m: Measurements) -> Verdict:
    """In the evening, at least 10 % of the packets under PIE have an RTT above 1 s, at each base RTT."""
    return _passes_a_second(m, "pie")


@listed
def codel_within_25_ms(m: Measurements) -> Verdict:
    """At night, at least 90 % of the packets under CoDel have an RTT within 25 ms of the base RTT."""
    shares = [said(m, "night", "share_rtt_within_25_ms", "codel", rtt, "percent", 100) for rtt in EVENING_RTTS]
    return at_least(90, shares)


@listed
def pie_within_25_ms(m: Measurements) -> Verdict:
    """At night, at least 90 % of the packets under PIE have an RTT within 25 ms of the base RTT."""
    shares = [said(m, "night", "share_rtt_within_25_ms", "pie", rtt, "percent", 100) for rtt in EVENING_RTTS]
    return at_least(90, shares).but(why="PIE controls the mean wait, so that many packets wait longer")


@listed
def asqm_within_50_ms(m: Measurements) -> Verdict:
    """At night, at least 90 % of the packets under ASQM have an RTT within 50 ms of the base RTT (HAV-A15)."""
    shares = [said(m, "night", "share_rtt_within_50_ms", "asqm", rtt, "percent", 100) for rtt in EVENING_RTTS]
    medians = [said(m, "night", "rtt_p50_ms", "asqm", rtt, "ms", what=" (median)") for rtt in EVENING_RTTS]
    return at_least(90, shares).but(
        *medians,
        why="ASQM acts when the link's delay reaches its target, so a standing queue of about the target remains. The "
        "bound contradicts the target",
    )


def _throughputs(
    experiment: str, where: str, item: str, aqms: Iterable[str] = CHAPTER_5
) -> Callable[[Measurements], list[Measured]]:
    """Returns a function that reads the mean throughput after slow start at each RTT, with the published value."""

    def read(m: Measurements) -> list[Measured]:
        printed = m.published.find(where, "throughput", item=item)
        return [
            said(m, experiment, "throughput_bps", aqm, rtt, "Mbit/s", 1e-6, published=printed)
            for aqm in aqms
            for rtt in EVENING_RTTS
        ]

    return read


NIGHT_THROUGHPUT = listed.near_print("night-throughput", _throughputs("night", "Section 5.4.1", "non-peak, per modem"))


EVENING_THROUGHPUT = listed.near_print(
    "evening-throughput", _throughputs("evening", "Section 5.4", "peak, per modem, expected")
)


@listed
def evening_is_variable(m: Measurements) -> Verdict:
    """In the evening, the throughput's coefficient of variation (bins of 1 s) is higher under CoDel and under PIE than
    under ASQM."""
    return all_of(
        ratio(
            f"variation under {NAMES[aqm]} to that under ASQM at {rtt} ms",
            said(m, "evening", "variation", aqm, rtt, "percent", 100),
            said(m, "evening", "variation", "asqm", rtt, "percent", 100),
            above=1.0,
        )
        for aqm in ("codel", "pie")
        for rtt in EVENING_RTTS
    ).but(
        why="a standing queue of seconds smooths a modem's share in bins of a second. On a short path with a short "
        "queue, the share follows each flow"
    )


@listed
def asqm_gives_more(m: Measurements) -> Verdict:
    """At night and at each base RTT, ASQM's mean throughput is higher than the mean throughputs of CoDel and PIE."""
    return all_of(
        ratio(
            f"ASQM to {NAMES[aqm]} at {rtt} ms",
            said(m, "night", "throughput_bps", "asqm", rtt, "Mbit/s", 1e-6),
            said(m, "night", "throughput_bps", aqm, rtt, "Mbit/s", 1e-6),
            above=1.0,
        )
        for aqm in ("codel", "pie")
        for rtt in EVENING_RTTS
    ).but(why="all disciplines fill the line, and ASQM has less by the size of its own packets")


@listed
def sensing_is_cheap(m: Measurements) -> Verdict:
    """The bytes of sensing packets are at most the published percentage of all bytes that the limiters send."""
    printed = m.published.find("Section 5.2", "overhead")
    return at_most(
        printed.number,
        [
            said(m, each, "sensing_share", "asqm", rtt, "percent", 100, what=f", {each}")
            for each in ("night", "evening")
            for rtt in EVENING_RTTS
        ],
    )


@listed
def uploads_are_alike(m: Measurements) -> Verdict:
    """The criteria apply to uploads in the evening at a base RTT of 100 ms. The median RTT under ASQM is at most
    300 ms. The 90th percentile of the RTT under CoDel and under PIE is at least 1 s."""
    return all_of(
        at_most(300, [said(m, "evening-up", "rtt_p50_ms", "asqm", 100, "ms", what=", upload")]),
        at_least(
            SECOND_MS,
            [said(m, "evening-up", "rtt_p90_ms", aqm, 100, "ms", what=", upload (90 %)") for aqm in ("codel", "pie")],
        ),
    )


@listed
def cable_asqm(m: Measurements) -> Verdict:
    """On the shared cable channel, ASQM's median RTT is at most 25 % higher at peak hours than at night."""
    return all_of(
        ratio(
            f"peak to night at {rtt} ms",
            said(m, "cable-peak", "rtt_p50_ms", "asqm", rtt, "ms", what=", peak (median)"),
            said(m, "cable-night", "rtt_p50_ms", "asqm", rtt, "ms", what=", night (median)"),
            below=UNAFFECTED,
        )
        for rtt in EVENING_RTTS
    )


@listed
def cable_others(m: Measurements) -> Verdict:
    """On the shared cable channel, CoDel and PIE have RTTs above 1 s for at least 10 % of the packets at peak hours,
    and for at most 10 % of the packets at night."""
    peak, night = (
        [said(m, each, "rtt_p90_ms", aqm, rtt, "ms", what=f", {each} (90 %)") for aqm in others for rtt in EVENING_RTTS]
        for each, others in (("cable-peak", ("codel", "pie")), ("cable-night", ("codel", "pie")))
    )
    return all_of(at_least(SECOND_MS, peak), at_most(SECOND_MS, night))


CABLE_PEAK_THROUGHPUT = listed.near_print(
    "cable-peak-throughput", _throughputs("cable-peak", "Section 5.4", "peak, per modem, expected")
)


CABLE_BORROWS = listed.near_print(
    "cable-borrows", _throughputs("cable-night", "Section 5.4.1", "non-peak, per modem", ("asqm",))
)


@listed
def cable_uploads(m: Measurements) -> Verdict:
    """At a base RTT of 100 ms, uploads under ASQM, CoDel and PIE meet the same criteria as downloads."""
    median = [
        said(m, each, "rtt_p50_ms", "asqm", 100, "ms", what=f", {each} (median)")
        for each in ("cable-up-peak", "cable-up-night")
    ]
    others = [
        said(m, "cable-up-peak", "rtt_p90_ms", aqm, 100, "ms", what=", upload (90 %)") for aqm in ("codel", "pie")
    ]
    return all_of(ratio("peak to night, upload", *median, below=UNAFFECTED), at_least(SECOND_MS, others))


@listed
def cable_sensing(m: Measurements) -> Verdict:
    """The bytes of sensing packets are at most the published percentage of all bytes that the limiters send."""
    printed = m.published.find("Section 5.2", "overhead")
    down = [(each, rtt) for each in ("cable-night", "cable-peak") for rtt in EVENING_RTTS]
    places = [*down, ("cable-up-night", 100), ("cable-up-peak", 100)]
    return at_most(
        printed.number,
        [said(m, each, "sensing_share", "asqm", rtt, "percent", 100, what=f", {each}") for each, rtt in places],
    )


# --- Chapter 6


def _throughput(m: Measurements, aqm: str, rtt: int, column: str = "throughput_bps", what: str = "") -> Measured:
    return said(m, "delays", column, aqm, rtt, "Mbit/s", 1e-6, what)


@listed
def all_are_good_at_100(m: Measurements) -> Verdict:
    """At a base RTT of 100 ms, each discipline's mean throughput after slow start is at least 12 Mbit/s."""
    return at_least(12, [_throughput(m, aqm, 100) for aqm in CHAPTER_6])


@listed
def order_at_100(m: Measurements) -> Verdict:
    """At a base RTT of 100 ms, the mean throughput decreases in the order ARED, BDP, CoDel, PIE. Any difference counts
    ("detectable but insignificant")."""
    found = [
        said(m, "delays-100", "throughput_bps", aqm, 100, "Mbit/s", 1e-6) for aqm in ("ared", "bdp", "codel", "pie")
    ]
    return ordered(found, by=1)


@listed
def overshoots_at_100(m: Measurements) -> Verdict:
    """At a base RTT of 100 ms, the 99th percentile of throughput is 16 to 18 Mbit/s under PIE, CoDel and ARED, and at
    most 16 Mbit/s under BDP."""
    found = {
        aqm: said(m, "borrowing", "throughput_p99_bps", aqm, 100, "Mbit/s", 1e-6, what=" (99 %)")
        for aqm in ("pie", "codel", "ared", "bdp")
    }
    return all_of(between(16, 18, [found[aqm] for aqm in ("pie", "codel", "ared")]), at_most(16, [found["bdp"]]))


@listed
def bdp_at_250(m: Measurements) -> Verdict:
    """Under BDP at a base RTT of 250 ms, the percentage of packets in bins with a throughput below 12 Mbit/s is at most
    the published percentage. Slow start is included."""
    printed = m.published.find("Section 6.4 / Figure 6.4", "share_of_packets_below_12_mbps")
    return at_most(printed.number, [said(m, "delays", "share_below_12_mbps", "bdp", 250, "percent", 100)])


@listed
def others_at_250(m: Measurements) -> Verdict:
    """At a base RTT of 250 ms, the percentage of packets in bins with a throughput below 12 Mbit/s is 30 to 50 % under
    ARED, and at least 40 % under CoDel and PIE."""
    ared = said(m, "delays", "share_below_12_mbps", "ared", 250, "percent", 100)
    rest = [said(m, "delays", "share_below_12_mbps", aqm, 250, "percent", 100) for aqm in ("codel", "pie")]
    verdict = all_of(between(30, 50, [ared]), at_least(40, rest))
    return verdict.but(
        why="ten Cubic flows share the modem: when one reduces its window, the others keep the line busy"
    )


@listed
def bdp_at_500(m: Measurements) -> Verdict:
    """Under BDP at a base RTT of 500 ms, the 25th, 50th and 75th percentiles of throughput over packets are 14 to
    15.5 Mbit/s."""
    found = [_throughput(m, "bdp", 500, f"throughput_p{each}_bps", f" ({each} %)") for each in (25, 50, 75)]
    return between(14, 15.5, found)


@listed
def others_lose_half_at_500(m: Measurements) -> Verdict:
    """At a base RTT of 500 ms, the median throughputs over packets under ARED, CoDel and PIE are near the published
    values."""
    found = [
        said(
            m, "delays", "throughput_p50_bps", aqm, 500, "Mbit/s", 1e-6,
            published=m.published.find(
                "Section 6.4 / Figure 6.5", "throughput_for_50_percent_of_packets", aqm=NAMES[aqm]
            ),
        )
        for aqm in ("ared", "codel", "pie")
    ]  # fmt: skip
    return near(found).but(
        why="a loss reduces one of the mix's ten windows; one flow alone comes near the printed value of CoDel"
    )


@listed
def bdp_is_best_at_500(m: Measurements) -> Verdict:
    """At a base RTT of 500 ms, BDP's mean throughput is higher than the mean throughputs of ARED, CoDel and PIE."""
    return all_of(
        ratio(f"BDP to {NAMES[aqm]} at 500 ms", _throughput(m, "bdp", 500), _throughput(m, aqm, 500), above=1.0)
        for aqm in ("ared", "codel", "pie")
    )


@listed
def at_750(m: Measurements) -> Verdict:
    """At a base RTT of 750 ms, the median throughput over packets is 8 to 11 Mbit/s under BDP, and at most 4 Mbit/s
    under CoDel and PIE."""
    bdp = _throughput(m, "bdp", 750, "throughput_p50_bps")
    rest = [_throughput(m, aqm, 750, "throughput_p50_bps") for aqm in ("codel", "pie")]
    return all_of(between(8, 11, [bdp]), at_most(4, rest)).but(
        why="the mix has ten windows, and each could fill the line; the printed limit of TCP is that of one window"
    )


@listed
def ared_recovers(m: Measurements) -> Verdict:
    """ARED's median throughput over packets is higher at a base RTT of 750 ms than at a base RTT of 500 ms."""
    later, before = (_throughput(m, "ared", rtt, "throughput_p50_bps") for rtt in (750, 500))
    return ratio("ARED at 750 ms to 500 ms", later, before, above=1.0)


@listed
def round_trips_are_alike(m: Measurements) -> Verdict:
    """Under each discipline and at each base RTT, the 90th percentile of the RTT exceeds the base RTT by at most
    100 ms."""
    found = [
        number(
            f"{NAMES[aqm]} at {rtt} ms above the base (90 %)",
            value(m, "delays", "rtt_p90_ms", aqm, rtt).median - rtt,
            "ms",
        )
        for aqm in CHAPTER_6
        for rtt in RTTS
    ]
    return at_most(100, found).but(
        why="BDP allows the link one tenth of the round trip and drops at most once per round trip. On long paths, "
        "slow starts far exceed this part before BDP acts"
    )


@listed
def alike_below_100(m: Measurements) -> Verdict:
    """At a base RTT of 10 ms, the disciplines' mean throughputs are within 5 % of each other."""
    return agree_within(0.05, [said(m, "wide", "throughput_bps", aqm, 10, "Mbit/s", 1e-6) for aqm in ALL])


@listed
def unusable_at_500(m: Measurements) -> Verdict:
    """Under ASQM, CoDel and PIE, the throughput at a base RTT of 500 ms is less than half of the throughput at a base
    RTT of 100 ms."""
    experiments = {"asqm": "wide", "codel": "delays", "pie": "delays"}
    rates = {
        rtt: [said(m, each, "throughput_bps", aqm, rtt, "Mbit/s", 1e-6) for aqm, each in experiments.items()]
        for rtt in (100, 250, 500)
    }
    return all_of(
        ratio(f"{NAMES[aqm]} at 500 ms to 100 ms", later, before, below=0.5)
        for aqm, before, later in zip(experiments, rates[100], rates[500], strict=True)
    ).but(*rates[250], why="they lose less than that: the mix has ten windows, and a loss reduces one of them")


def _alone(m: Measurements, aqm: str, rtt: int, published: PublishedValue | None = None) -> Measured:
    return said(m, "alone", "throughput_p50_bps", aqm, rtt, "Mbit/s", 1e-6, ", alone (50 %)", published)


# The continuous transfer is the only flow. Neither BDP nor PIE affects a single flow.
LIMIT_IS_OF_ONE_FLOW = listed.near_print(
    "limit-is-of-one-flow",
    lambda m: [
        _alone(m, aqm, 750, m.published.find("Section 6.4 / Figure 6.6", "expected_throughput_high", base_rtt_ms=750))
        for aqm in ("bdp", "pie")
    ],
)


@listed
def one_flow_under_codel(m: Measurements) -> Verdict:
    """For a single flow at base RTTs of 500 and 750 ms, CoDel's median throughput is 20 to 60 % of BDP's median
    throughput."""
    return all_of(
        ratio(f"CoDel to BDP at {rtt} ms", _alone(m, "codel", rtt), _alone(m, "bdp", rtt), above=0.2, below=0.6)
        for rtt in (500, 750)
    )


CLAIMS = claims_of(globals())
