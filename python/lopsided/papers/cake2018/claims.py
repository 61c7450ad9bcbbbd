"""The statements of the paper and the functions that judge them.

The following thresholds are our own. They were fixed before the first run:

- in figure 3, a flow's share of the link must be within 2.5 percentage points of the computed share;
- "equal" means within 5 %;
- "completely isolated": at most 5 ms of added delay, at most 0.1 % loss, at least 99 % of the rate;
- latency counts as low below 50 ms of added delay;
- a de-prioritised flow gets at most 40 % of an equal share, and at least half of its tin's guarantee;
- the RTTs of probes must be within 5 ms of the RTTs in the authors' data;
- with overhead compensation, packets must wait in the modem for at most 20 ms, and for less than 10 % of their waiting
  time without compensation.
"""

from __future__ import annotations

from collections.abc import Iterable

from lopsided.papers.cake2018.setup import FILTERS, ISOLATIONS
from lopsided.papers.framework import text
from lopsided.papers.framework.claims import (
    MORE,
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
    percent,
    ratio,
    rises,
    within,
)
from lopsided.papers.framework.measurements import Curve, Measurements
from lopsided.papers.framework.model import Claim, Measured, Verdict

ISOLATED_POINTS = 2.5
EQUAL = 0.05
LOW_MS, ISOLATED_MS, LOST, KEPT = 50.0, 5.0, 0.1, 1.98
PROBE_MS = 5.0
BULK_GUARANTEE, MUCH_LESS = 100 / 16, 0.4
MODEM_MS, TENTH = 20.0, 0.1

FLOWS = ("A-A", "A-B", "A-C1", "A-C2", "B-C", "B-D")
MARKS = ("be", "bk", "cs5", "ef")
DATA = "Data, rrul_diffserv"

listed = Listed.beside(__file__)


def _isolated(mode: str) -> Claim:
    def check(m: Measurements) -> Verdict:
        """Each flow's share of the link is within 2.5 percentage points of the computed share."""
        return within(
            ISOLATED_POINTS,
            [
                percent(
                    f"share of {flow}",
                    m.value("hosts", f"share_{flow}", mode=mode),
                    m.published.find("Figure 3", "share", mode=mode, flow=flow),
                )
                for flow in FLOWS
            ],
        )

    return listed.claim(f"isolation-{mode}", check)


ISOLATION = tuple(map(_isolated, ISOLATIONS))


def _goodputs(m: Measurements, queue: str, ways: Iterable[str] = ("down", "up")) -> list[Measured]:
    """Returns the goodput of each DSCP mark's flow in each direction, with the value in the authors' data."""
    return [
        mbit(
            f"{way}load {mark} under {queue}",
            m.value("tins", f"{way}_{mark}_bps", queue=queue),
            m.published.find(DATA, "goodput", queue=queue, flow=f"{way}_{mark}"),
        )
        for way in ways
        for mark in MARKS
    ]


@listed
def unmarked_cake(m: Measurements) -> Verdict:
    """Under CAKE with `besteffort`, the goodputs of the four flows in each direction differ by less than 5 %. Each
    goodput is near the authors' value."""
    return _same(m, "cake")


@listed
def unmarked_fq_codel(m: Measurements) -> Verdict:
    """Under FQ-CoDel, the goodputs of the four flows in each direction differ by less than 5 %. Each goodput is near
    the authors' value."""
    return _same(m, "fq_codel")


def _same(m: Measurements, queue: str) -> Verdict:
    ways = [
        agree_within(EQUAL, _goodputs(m, queue, (way,)), f"greatest difference of the {way}loads")
        for way in ("down", "up")
    ]
    return all_of(*ways, near(_goodputs(m, queue)))


@listed
def diffserv3_divides(m: Measurements) -> Verdict:
    """Under CAKE with `diffserv3`, each goodput of the eight flows is near the authors' value."""
    return near(_goodputs(m, "cake_diff3"))


@listed
def diffserv4_divides(m: Measurements) -> Verdict:
    """Under CAKE with `diffserv4`, each goodput of the eight flows is near the authors' value."""
    return near(_goodputs(m, "cake_diff4"))


@listed
def background_yields(m: Measurements) -> Verdict:
    """Under CAKE with `diffserv3` and with `diffserv4`, the bulk flow gets at most 40 % of an equal share. It also gets
    at least half of the 6.25 % of the rate that its tin guarantees."""
    found: list[Measured] = []
    for queue in ("cake_diff3", "cake_diff4"):
        for way in ("down", "up"):
            rates = {mark: m.value("tins", f"{way}_{mark}_bps", queue=queue).median for mark in MARKS}
            found.append(percent(f"bulk {way}load under {queue}", rates["bk"] / sum(rates.values())))
    return between(BULK_GUARANTEE / 2, 100 / len(MARKS) * MUCH_LESS, found)


@listed
def probes_see_the_data(m: Measurements) -> Verdict:
    """For three DSCP marks under each of four queue disciplines, the probes' median RTT is within 5 ms of the authors'
    value."""
    return within(
        PROBE_MS,
        [
            number(
                f"probe {mark} under {queue}",
                m.value("tins", f"ping_{mark}_ms", queue=queue),
                "ms",
                published=m.published.find(DATA, "ping_p50", queue=queue, flow=mark),
            )
            for queue in ("fq_codel", "cake", "cake_diff3", "cake_diff4")
            for mark in ("be", "bk", "ef")
        ],
    )


def _delay(m: Measurements, queue: str, name: str, column: str = "delay_ms") -> Measured:
    return number(name, m.value("real-time", column, queue=queue), "ms")


def _loss(m: Measurements, queue: str) -> Measured:
    return percent(f"loss under {queue}", m.value("real-time", "lost_share", queue=queue))


@listed
def without_marks_no_low_latency(m: Measurements) -> Verdict:
    """Under FQ-CoDel and under CAKE, the real-time flow's median queueing delay in the steady state is at least 50
    ms."""
    delays = [_delay(m, queue, f"added delay under {queue}") for queue in ("fq_codel", "cake")]
    losses = [_loss(m, queue) for queue in ("fq_codel", "cake")]
    return at_least(LOW_MS, delays).but(
        *losses, why=f"the flow loses most of its packets instead: {text.listed(losses)}"
    )


@listed
def cake_settles(m: Measurements) -> Verdict:
    """Under CAKE, the real-time flow's median added delay in the steady state is near the published 200 ms."""
    printed = m.published.find("Figure 5", "induced_delay", queue="cake")
    found = number("added delay under cake", m.value("real-time", "delay_ms", queue="cake"), "ms", published=printed)
    return near([found]).but(_loss(m, "cake"), why=f"COBALT drops instead: {text.named(_loss(m, 'cake'))}")


@listed
def fq_codel_oscillates(m: Measurements) -> Verdict:
    """Under FQ-CoDel, the 5th and 95th percentiles of the added delay are between 50 and 500 ms. The 95th percentile
    is at least 3 times the 5th percentile."""
    low, high = (
        _delay(m, "fq_codel", f"{name} percentile of the added delay", f"delay_{column}_ms")
        for name, column in (("5th", "p5"), ("95th", "p95"))
    )
    return all_of(between(50, 500, [low, high]), ratio("95th over 5th percentile", high, low, above=3)).but(
        _loss(m, "fq_codel")
    )


@listed
def diffserv_isolates(m: Measurements) -> Verdict:
    """Under CAKE with `diffserv4`, the real-time flow has an added delay of at most 5 ms and a loss of at most 0.1 %.
    Its goodput is at least 99 % of its rate of 2 Mbit/s."""
    goodput = mbit("goodput", m.value("real-time", "goodput_bps", queue="cake_diff4"))
    delays = [_delay(m, "cake_diff4", "added delay"), _delay(m, "cake_diff4", "its 95th percentile", "delay_p95_ms")]
    return all_of(at_most(ISOLATED_MS, delays), at_most(LOST, [_loss(m, "cake_diff4")]), at_least(KEPT, [goodput]))


def _downloads(m: Measurements) -> dict[str, float]:
    return {rule: m.value("filters", "down_bps", filter=rule).median for rule in FILTERS}


@listed
def filters_gain(m: Measurements) -> Verdict:
    """Each ACK filter raises the downloads' goodput by about the published 15 %."""
    found, printed = _downloads(m), m.published.find("Figure 6", "download_gain")
    gains = [percent(f"gain of the {rule} filter", found[rule] / found["none"] - 1, printed) for rule in FILTERS[1:]]
    return near(gains).but(*(mbit(f"downloads with filter {rule}", rate) for rule, rate in found.items()))


@listed
def filtered_downloads(m: Measurements) -> Verdict:
    """The downloads' total goodput is in the published range without an ACK filter and with each ACK filter."""
    rates = (mbit(f"downloads with filter {rule}", rate) for rule, rate in _downloads(m).items())
    return between(24.5, 27.5, rates)


def gain(m: Measurements, rule: str) -> Curve:
    """Returns the relative gain in download goodput that an ACK filter causes, as a function of the uplink rate in
    Mbit/s."""
    plain, better = (m.curve("uplinks", "down_bps", "uplink_mbps", filter=each) for each in ("none", rule))
    share = better.median / plain.median - 1
    return Curve(plain.x, share, share, share)


@listed
def filters_help_steep_lines(m: Measurements) -> Verdict:
    """On lines of 30/0.3 and 30/0.5 Mbit/s, each ACK filter raises the downloads' goodput by at least 10 %."""
    found = [
        percent(f"gain of the {rule} filter on 30/{rate:g}", gain(m, rule).at(rate))
        for rule in FILTERS[1:]
        for rate in (0.3, 0.5)
    ]
    return at_least(100 * (MORE - 1), found)


@listed
def steeper_gains_more(m: Measurements) -> Verdict:
    """Each ACK filter's gain in download goodput rises with the ratio of downlink rate to uplink rate."""
    curves = {rule: gain(m, rule) for rule in FILTERS[1:]}
    return all_of(
        rises(f"gain of the {rule} filter by ratio", found.against(30 / found.x), "percent", scale=100)
        for rule, found in curves.items()
    )


@listed
def uploads_keep_theirs(m: Measurements) -> Verdict:
    """With each ACK filter, the uploads' goodput is at least 95 % of their goodput without a filter."""
    plain = mbit("uploads without a filter", m.value("filters", "up_bps", filter="none"))
    return all_of(
        ratio(
            f"uploads with the {rule} filter over those without",
            mbit(f"uploads with the {rule} filter", m.value("filters", "up_bps", filter=rule)),
            plain,
            above=1 - EQUAL,
        )
        for rule in FILTERS[1:]
    )


@listed
def compensation_moves_the_queue(m: Measurements) -> Verdict:
    """If CAKE counts ATM cells, packets wait in the modem for at most 20 ms. This wait is less than 10 % of the wait
    without cell counting."""
    plain, counted = (
        number(f"wait in the modem with framing {framing}", m.value("overhead", "modem_ms", framing=framing), "ms")
        for framing in ("none", "pppoe-llcsnap")
    )
    return all_of(at_most(MODEM_MS, [counted]), ratio("counted over uncounted", counted, plain, below=TENTH))


CLAIMS = claims_of(globals())
