"""The statements of the report (sections 3.1 to 4) and the functions that judge them.

If the published numbers of a statement were used to choose a setting (the windows of YAH-A12, SACK off), the statement
is counted separately, as fitted.
"""

from __future__ import annotations

from functools import partial
from itertools import groupby

import numpy as np

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
    inversely_proportional,
    kilobytes,
    near,
    number,
    ordered,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Curve, Measurements
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.yahya2011.setup import (
    BASELINES,
    COMBOS,
    DELAYED,
    FILE_BYTES,
    LEGS,
    NO_LOSS,
    PAIRED,
    SECOND_DELAY_MS,
    WITH_LOSS,
    Test,
)
from lopsided.papers.yahya2011.shared import (
    ELAPSED,
    MBIT,
    RETRANSMITTED,
    RTT,
    mbit,
    printed,
    printed_number,
    rates,
    value,
)
from lopsided.papers.yahya2011.tables import iperf_mbit, recorded

UNDELAYED = BASELINES[:4]
STEP_6 = "Section 2.5.2 step 6"


listed = Listed.beside(__file__)


PATH_CHECK = listed.near_print(
    "path-check",
    lambda m: [
        number(leg, iperf_mbit(m, leg), "Mbit/s", published=m.published.find(STEP_6, "throughput", item=leg))
        for leg in LEGS
    ],
)


@listed
def alone_fills_the_link(m: Measurements) -> Verdict:
    """The throughputs of baselines 1 to 4 exceed 90 Mbit/s and are within 5 % of each other."""
    found = rates(m, UNDELAYED)
    return all_of(at_least(90, found).but(criterion="each above 90 Mbit/s"), agree_within(0.05, found))


# The 45 packets of an unscaled window need about 5.3 ms on a 100 Mbit/s link.
RTT_WITHOUT_DELAY = listed.near_print(
    "rtt-without-delay",
    lambda m: [
        number(f"{test.name} {test.variant}", value(m, test, "rtt_ms"), "ms", published=printed(m, test, "S1", RTT))
        for test in UNDELAYED
    ],
)


DELAY_COSTS_LITTLE_BUT_WESTWOOD = listed.near_print("delay-costs-little-but-westwood", partial(rates, tests=DELAYED))


@listed
def slow_without_loss(m: Measurements) -> Verdict:
    """In baselines 5 to 8, Westwood gets less than half of the throughput of the second slowest variant. In each of
    these baselines, netem rejects packets, but no packet is retransmitted."""
    found = rates(m, DELAYED)
    again = number(
        "retransmitted in all four", sum(value(m, t, "retransmitted_packets").median for t in DELAYED), "packets"
    )
    refusals = min(value(m, test, "local_congestion").median for test in DELAYED)
    return all_of(
        ratio("WESTWOOD over the slowest other", found[-1], min(found[:-1], key=lambda each: each.value), below=0.5),
        at_most(0, [again]),
        at_least(1, [number("packets that netem refused, fewest of the four", refusals)]),
    )


def _westwood_over_sack(m: Measurements, experiment: str) -> Measured:
    sack, westwood = DELAYED[0], DELAYED[-1]
    where = "netem on the sender" if experiment == "baselines" else "delay on the wire"
    return number(f"WESTWOOD over SACK, {where}", mbit(m, westwood, "S1", experiment) / mbit(m, sack, "S1", experiment))


@listed
def netem_decides(m: Measurements) -> Verdict:
    """Westwood gets at most 50 % of SACK's throughput with netem on the sender, and at least 90 % with delay on the
    wire."""
    return all_of(
        at_most(0.5, [_westwood_over_sack(m, "baselines")]), at_least(0.9, [_westwood_over_sack(m, "in-network")])
    ).but(*(number(f"{t.variant}, delay on the wire", mbit(m, t, "S1", "in-network"), "Mbit/s") for t in DELAYED))


@listed
def linux_does_the_same(m: Measurements) -> Verdict:
    """The completion times of single flows and of Combos 7 to 12 are within 3 % of the times on Linux 6.1, without
    retransmissions."""
    gaps: list[Measured] = []
    again = 0.0
    for experiment, tests in (("kernel", DELAYED), ("kernel-pair", PAIRED)):
        for test in tests:
            for flow in test.flows:
                linux, simulated = recorded(test, flow), value(m, test, "completion_s", flow, experiment).median
                again += linux["retransmits"] + value(m, test, "retransmitted_packets", flow, experiment).median
                name = f"{test.name} {test.variant} {flow}, simulated over Linux"
                gaps.append(percent(name, simulated / linux["completion_s"] - 1))
    return all_of(
        between(-3, 3, gaps).but(criterion="every completion time within 3 %"),
        at_most(0, [number("retransmitted in all", again, "packets")]),
    )


@listed
def rtt_column_is_behind_netem(m: Measurements) -> Verdict:
    """Judges the ratio of the measured to the published RTT, for the tests whose windows are known (baselines 5 to 8,
    Combos 7 to 12)."""
    places = [(test, flow) for test in (*DELAYED, *PAIRED) for flow in test.flows]
    behind, beyond = (
        np.array([value(m, *(test, column, flow)).median / printed_number(m, test, flow, RTT) for test, flow in places])
        for column in ("rtt_ms", "end_to_end_rtt_ms")
    )
    return all_of(
        between(0.5, 2, [number("behind netem over printed, median", float(np.median(behind)))]),
        at_least(10, [number("end to end over printed, median", float(np.median(beyond)))]),
    ).but(number("behind netem over printed, least", behind.min()), number("greatest", behind.max()))


def first_six(m: Measurements, experiment: str = "combos") -> Verdict:
    """Judges whether the throughputs of Combos 1 to 6 are near the published throughputs."""
    tests = NO_LOSS[:6]
    first, second = (printed_number(m, tests[0], flow, ELAPSED) for flow in ("S1", "S2"))
    alone = number("printed Combo1: time that S2 runs alone", second - first, "s")
    whole = number("printed Combo1: completion time of S2", second, "s")
    path = (SECOND_DELAY_MS + printed_number(m, tests[0], "S2", RTT)) / 1e3
    window = kilobytes("printed Combo1: S2's bytes per round trip", FILE_BYTES / second * path)
    return near([*rates(m, tests, "S1", experiment), *rates(m, tests, "S2", experiment)]).but(
        *(alone, whole, window),
        why=f"in the report, S2 runs alone for {text.value(alone)} of its {text.value(whole)} without getting faster, "
        f"which implies a window of {text.value(window)} (table W)",
    )


SHORT_DELAY_WINS = listed.claim("short-delay-wins", first_six)

SHORT_DELAY_WINS_BY_WINDOWS = listed.claim("short-delay-wins-by-windows", partial(first_six, experiment="observed"))


@listed
def long_delay_loses(m: Measurements) -> Verdict:
    """In Combos 7 to 12, S2's throughput is higher than S1's throughput."""
    return _s2_over_s1(m, PAIRED, above=1)


def _s2_over_s1(m: Measurements, tests: tuple[Test, ...], above: float, experiment: str = "combos") -> Verdict:
    first, second = rates(m, tests, "S1", experiment), rates(m, tests, "S2", experiment)
    found = (
        ratio(f"{test.name} {test.variant}, S2 over S1", two, one, above=above)
        for test, one, two in zip(tests, first, second, strict=True)
    )
    return all_of(*found).but(criterion=f"S2 over S1 above {above:g} in each")


LONG_DELAY_NUMBERS = listed.near_print("long-delay-numbers", partial(rates, tests=PAIRED))


@listed
def variants_order(m: Measurements) -> Verdict:
    """In Combos 7 to 9 and in Combos 10 to 12, S1's throughput is at least 10 % higher with CUBIC than with HIGHSPEED,
    and at least 10 % higher with HIGHSPEED than with WESTWOOD."""
    return all_of(ordered(rates(m, NO_LOSS[6:9])), ordered(rates(m, NO_LOSS[9:]))).but(
        why="the order agrees with the report, but in the second group CUBIC leads HIGHSPEED by less than the margin"
    )


SACK_AT_400 = listed.near_print(
    "sack-at-400",
    lambda m: [
        number(
            "mean of Combos 10 to 12",
            float(np.mean([mbit(m, test, "S2") for test in NO_LOSS[9:]])),
            "Mbit/s",
            published=m.published.find("Section 3.2.2", "throughput", item="group 2, 400 ms, flow 2 mean"),
        )
    ],
)


# The number of packets that the loss period drops is exactly one observed window.
LOSS_TAKES_A_WINDOW = listed.near_print(
    "loss-takes-a-window",
    lambda m: [
        number(
            f"{test.name} {flow}",
            value(m, test, "retransmitted_packets", flow, "observed"),
            "packets",
            published=printed(m, test, flow, RETRANSMITTED),
        )
        for tests, flow in ((WITH_LOSS[:3], "S2"), (WITH_LOSS[3:6], "S1"))
        for test in tests
    ],
)


@listed
def loss_order_at_20(m: Measurements) -> Verdict:
    """In Combos 13 to 15, S1's throughput is at least 10 % higher with HIGHSPEED than with CUBIC, and at least 10 %
    higher with CUBIC than with WESTWOOD."""
    cubic, highspeed, westwood = rates(m, WITH_LOSS[:3])
    return ordered([highspeed, cubic, westwood])


def sack_wins(m: Measurements, experiment: str = "combos") -> Verdict:
    """Judges whether S2's throughput exceeds S1's throughput by at least 10 % in Combos 16 to 18."""
    return _s2_over_s1(m, WITH_LOSS[3:6], above=MORE, experiment=experiment)


SACK_WINS = listed.claim("sack-wins-at-equal-delay", sack_wins)

SACK_WINS_BY_WINDOWS = listed.claim("sack-wins-by-windows", partial(sack_wins, experiment="observed"))


@listed
def sack_keeps_more(m: Measurements) -> Verdict:
    """In Combos 19 to 24, S2's throughput is higher than S1's throughput. The published table contains one exception
    (YAH-A10)."""
    return _s2_over_s1(m, WITH_LOSS[6:], above=1)


def sack_suffers(m: Measurements, experiment: str = "combos") -> Verdict:
    """Judges whether S2's throughput in Combos 19 to 23 is near the published throughput."""
    again = [
        number(
            f"{test.name} S2, retransmitted",
            value(m, test, "retransmitted_packets", "S2", experiment),
            "packets",
            published=printed(m, test, "S2", RETRANSMITTED),
        )
        for test in WITH_LOSS[6:11]
    ]
    return near(rates(m, WITH_LOSS[6:11], "S2", experiment)).but(*again, why=f"retransmissions: {text.listed(again)}")


SACK_SUFFERS = listed.claim("sack-suffers-at-long-delay", sack_suffers)


@listed
def sack_suffers_without_sack(m: Measurements) -> Verdict:
    """Judges S2's throughput in Combos 19 to 23 with SACK off.

    The note lists the other lossy combinations whose throughput is not near the published value with SACK off.
    """
    others = near(rates(m, (*WITH_LOSS[3:6], WITH_LOSS[11]), "S2", "without-sack"))
    verdict = sack_suffers(m, "without-sack").but(*others.measured)
    note = f"Without SACK, these differ from the printed values: {others.reason}"
    return verdict if others.holds else verdict.but(notes=(note,))


@listed
def one_always_leads(m: Measurements) -> Verdict:
    """In each combination, one flow's throughput is at least 10 % higher than the other flow's throughput."""
    ratios = {test: mbit(m, test, "S2") / mbit(m, test) for test in COMBOS}
    even = [test for test, found in ratios.items() if 1 / MORE < found < MORE]
    leads = number("combinations in which one leads", len(COMBOS) - len(even))
    second = number("combinations in which S2 leads", sum(found >= MORE for found in ratios.values()))
    names = "; ".join(
        f"at {delay} ms{' with a loss' if loss else ''}: {', '.join(test.variant for test in tests)}"
        for (delay, loss), tests in groupby(even, key=lambda test: (test.delay_ms, test.loss))
    )
    delays = [number(f"delay of S1 {delay} ms", delay, "ms") for delay in sorted({test.delay_ms for test in even})]
    criterion = f"one flow has at least {MORE} times the other's throughput in each combination"
    return Verdict(not even, criterion, (leads, second, *delays), f"neither flow leads {names}")


@listed
def throughput_falls_with_rtt(m: Measurements) -> Verdict:
    """For each variant, with loss and without, the product of S1's throughput and RTT varies by at most 15 % over the
    delays."""

    def against_rtt(tests: tuple[Test, ...]) -> Curve:
        spreads = [value(m, test, "throughput_bps") for test in tests]
        rtts = [value(m, test, "end_to_end_rtt_ms").median for test in tests]
        return Curve(np.array(rtts), *(np.array(column) for column in zip(*spreads, strict=True)))

    groups = [(tests[place::3], loss) for tests, loss in ((NO_LOSS, ""), (WITH_LOSS, ", loss")) for place in range(3)]
    return all_of(
        inversely_proportional(
            f"{tests[0].variant}{loss}", against_rtt(tests), "Mbit/s", scale=1 / MBIT, setting_unit="ms"
        )
        for tests, loss in groups
    )


CLAIMS = claims_of(globals())
