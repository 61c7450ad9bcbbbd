"""What the report says, measured (sections 3.1 to 4).

A printed number counts as reproduced within `SHARE`, as for merritt2010; a flow leads that has `MORE` times the other's
throughput.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.yahya2011.exhibits import (
    MBIT,
    RETRANSMITTED,
    RTT,
    THROUGHPUT,
    collection,
    experiment_of,
    number,
    printed,
    row,
)
from lopsided.papers.yahya2011.tables import recorded
from lopsided.papers.yahya2011.testbed import BASELINES, COMBOS, NO_LOSS, PAIRED, WITH_LOSS, Test

if TYPE_CHECKING:
    from lopsided.papers.framework.lab import Lab

SHARE = 0.15
MORE = 1.1

ALONE, DELAYED = BASELINES[:4], BASELINES[4:]


def _mbit(lab: Lab, test: Test, flow: str = "S1", experiment: str | None = None) -> float:
    return float(row(lab, experiment or experiment_of(test), test)[f"{flow}_throughput_bps"]) / MBIT


def _value(lab: Lab, test: Test, name: str, flow: str = "S1", experiment: str | None = None) -> float:
    return float(row(lab, experiment or experiment_of(test), test)[f"{flow}_{name}"])


def _rates(lab: Lab, tests: Iterable[Test], flow: str = "S1", experiment: str | None = None) -> tuple[Measured, ...]:
    return tuple(
        Measured(
            f"{test.name} {test.variant if flow == 'S1' else 'SACK'} {flow}",
            _mbit(lab, test, flow, experiment),
            "Mbit/s",
            printed(lab, test, flow, THROUGHPUT),
        )
        for test in tests
    )


def _off(value: float, wanted: float) -> bool:
    return abs(value / wanted - 1) > SHARE


@collection.claim(
    "alone-fills-the-link",
    "Without delay each variant alone achieves above 90 % of the link.",
    where="section 3.1.2",
    needs=("baselines",),
)
def alone_fills_the_link(lab: Lab) -> Verdict:
    """Throughput of baselines 1 to 4 above 90 Mbit/s, and all four within 5 % of each other."""
    rates = [_mbit(lab, test) for test in ALONE]
    holds = min(rates) > 90 and max(rates) < 1.05 * min(rates)
    return Verdict(holds, _rates(lab, ALONE), "" if holds else f"they get {min(rates):.1f} to {max(rates):.1f} Mbit/s")


@collection.claim(
    "rtt-without-delay",
    "Without delay the RTT is 5.3 ms with each variant.",
    where="section 3.1.1",
    needs=("baselines",),
)
def rtt_without_delay(lab: Lab) -> Verdict:
    """Within 15 %: 45 packets of an unscaled window, one after the other through a link of 100 Mbit/s."""
    measured = tuple(
        Measured(f"{test.name} {test.variant}", _value(lab, test, "rtt_ms"), "ms", printed(lab, test, "S1", RTT))
        for test in ALONE
    )
    off = [one for one in measured if one.published and _off(one.value, one.published.number)]
    return Verdict(not off, measured, "; ".join(str(one) for one in off))


@collection.claim(
    "delay-costs-little-but-westwood",
    "With 100 ms of delay a transfer takes 10 to 14 s, with WESTWOOD 46 s.",
    where="section 3.1.3",
    needs=("baselines",),
)
def delay_costs_little_but_westwood(lab: Lab) -> Verdict:
    """Each printed throughput within 15 %."""
    measured = _rates(lab, DELAYED)
    off = [one for one in measured if one.published and _off(one.value, one.published.number)]
    reason = "; ".join(f"{one.name} gets {one.value:.1f}, printed {one.published}" for one in off)
    return Verdict(not off, measured, reason)


@collection.claim(
    "slow-without-loss",
    "WESTWOOD is slow at 100 ms although nothing is sent again.",
    where="section 3.1.3 (there unexplained)",
    needs=("baselines",),
)
def slow_without_loss(lab: Lab) -> Verdict:
    """Less than half of the next slowest's throughput; in all four no retransmission, but refusals by netem."""
    rates = {test: _mbit(lab, test) for test in DELAYED}
    westwood = DELAYED[-1]
    others = min(rate for test, rate in rates.items() if test is not westwood)
    again = sum(_value(lab, test, "retransmitted_packets") for test in DELAYED)
    refusals = [_value(lab, test, "local_reductions") for test in DELAYED]
    measured = (
        Measured("WESTWOOD", rates[westwood], "Mbit/s", printed(lab, westwood, "S1", THROUGHPUT)),
        Measured("slowest of the others", others, "Mbit/s"),
        Measured("sent again in all four", again, "packets"),
        Measured("times that netem had no room, least of the four", min(refusals)),
    )
    holds = rates[westwood] < others / 2 and again == 0 and min(refusals) > 0
    reason = (
        f"WESTWOOD gets {rates[westwood]:.1f} Mbit/s against {others:.1f}; {again:.0f} packets are sent again, netem "
        f"refuses {refusals} times"
    )
    return Verdict(holds, measured, "" if holds else reason)


@collection.claim(
    "netem-decides",
    "It is the room of the senders' netem that tells the variants apart at 100 ms.",
    where="ours, of baselines 5 to 8 (YAH-A17)",
    needs=("baselines", "in-network"),
)
def netem_decides(lab: Lab) -> Verdict:
    """With the delay on the wire WESTWOOD gets at least 90 % of SACK's throughput, with it in netem less than half."""
    sack, westwood = DELAYED[0], DELAYED[-1]
    shares = [
        _mbit(lab, westwood, experiment=experiment) / _mbit(lab, sack, experiment=experiment)
        for experiment in ("baselines", "in-network")
    ]
    measured = (
        Measured("WESTWOOD over SACK, netem on the sender", shares[0]),
        Measured("WESTWOOD over SACK, delay on the wire", shares[1]),
        *(
            Measured(f"{test.variant}, delay on the wire", _mbit(lab, test, experiment="in-network"), "Mbit/s")
            for test in DELAYED
        ),
    )
    holds = shares[0] < 0.5 and shares[1] > 0.9
    return Verdict(holds, measured, "" if holds else f"the shares are {shares[0]:.2f} and {shares[1]:.2f}")


@collection.claim(
    "linux-does-the-same",
    "Linux itself behind a full netem does what the simulator does.",
    where="ours, on Linux 6.1 (table K)",
    needs=("kernel", "kernel-pair"),
)
def linux_does_the_same(lab: Lab) -> Verdict:
    """Every completion time, alone and in Combos 7 to 12, within 3 % (docs/fidelity.md), nothing sent again."""
    gaps, off = {}, []
    for experiment, tests in (("kernel", DELAYED), ("kernel-pair", PAIRED)):
        for test in tests:
            for flow in test.flows:
                linux = recorded(lab, test, flow)
                simulated = _value(lab, test, "completion_s", flow, experiment)
                again = linux["retransmits"] + _value(lab, test, "retransmitted_packets", flow, experiment)
                name, gap = f"{test.name} {test.variant} {flow}", simulated / linux["completion_s"] - 1
                gaps[name] = gap
                if abs(gap) > 0.03 or again:
                    off.append(f"{name} differs by {gap:.1%}, {again:.0f} packets sent again")
    measured = tuple(Measured(f"{name}, simulated over Linux", gap * 100, "percent") for name, gap in gaps.items())
    return Verdict(not off, measured, "; ".join(off))


@collection.claim(
    "rtt-column-is-behind-netem",
    "The RTT column leaves the added delay out: captures at a sender are taken behind its netem.",
    where="ours, of sections 3.1.1 and 3.2.1 (YAH-A01)",
    needs=("baselines", "combos"),
)
def rtt_column_is_behind_netem(lab: Lab) -> Verdict:
    """Over the tests whose windows are not in doubt (baselines 5 to 8, Combos 7 to 12) the median ratio to print is
    within a factor of two behind netem, and tenfold or more end to end."""
    behind, beyond = [], []
    for test in (*DELAYED, *NO_LOSS[6:]):
        for flow in test.flows:
            of_print = number(printed(lab, test, flow, RTT))
            behind.append(_value(lab, test, "rtt_ms", flow) / of_print)
            beyond.append(_value(lab, test, "end_to_end_rtt_ms", flow) / of_print)
    measured = (
        Measured("behind netem over printed, median", float(np.median(behind))),
        Measured("least", min(behind)),
        Measured("greatest", max(behind)),
        Measured("end to end over printed, median", float(np.median(beyond))),
    )
    holds = 0.5 < np.median(behind) < 2 and float(np.median(beyond)) > 10
    return Verdict(bool(holds), measured, "" if holds else f"the median ratio is {np.median(behind):.2f}")


@collection.claim(
    "short-delay-wins",
    "With 20 and 100 ms at S1, S1 gets 46.8 Mbit/s and S2 10.4, whatever the variant.",
    where="section 3.2.2",
    needs=("combos",),
    known_not_to_hold=True,
)
def short_delay_wins(lab: Lab) -> Verdict:
    """Each of the twelve throughputs within 15 % of print, windows as intended."""
    return _first_six(lab, "combos")


@collection.claim(
    "short-delay-wins-by-windows",
    "The same, with the windows that the printed numbers speak for.",
    where="section 3.2.2 (YAH-A12)",
    needs=("observed",),
)
def short_delay_wins_by_windows(lab: Lab) -> Verdict:
    """As before; one window for S2 and one for each delay of S1 stand behind twelve numbers."""
    return _first_six(lab, "observed")


def _first_six(lab: Lab, experiment: str) -> Verdict:
    tests = NO_LOSS[:6]
    measured = (*_rates(lab, tests, "S1", experiment), *_rates(lab, tests, "S2", experiment))
    off = [one for one in measured if one.published and _off(one.value, one.published.number)]
    reason = (
        f"{len(off)} of 12 are off: at 20 ms S1 gets {_mbit(lab, tests[0], 'S1', experiment):.1f} and S2 "
        f"{_mbit(lab, tests[0], 'S2', experiment):.1f}, at 100 ms {_mbit(lab, tests[3], 'S1', experiment):.1f} and "
        f"{_mbit(lab, tests[3], 'S2', experiment):.1f}. Equal delays and equal windows share equally. In print S2 runs "
        "alone for 63 of its 81 s and still gets no more than 10.4 Mbit/s: its window was 131 kB, not the 937 kB that "
        "were set for 100 ms"
    )
    return Verdict(not off, measured, reason if off else "")


@collection.claim(
    "long-delay-loses",
    "With 200 and 400 ms at S1, S2 gets the greater part.",
    where="section 3.2.2",
    needs=("combos",),
)
def long_delay_loses(lab: Lab) -> Verdict:
    """S2 faster than S1 in Combos 7 to 12."""
    ratios = {test: _mbit(lab, test, "S2") / _mbit(lab, test) for test in NO_LOSS[6:]}
    measured = tuple(Measured(f"{test.name} {test.variant}, S2 over S1", ratio) for test, ratio in ratios.items())
    fails = [f"{test.name}: {ratio:.2f}" for test, ratio in ratios.items() if ratio <= 1]
    return Verdict(not fails, measured, "; ".join(fails))


@collection.claim(
    "long-delay-numbers",
    "At 200 ms S1 gets 40.5 (CUBIC), 36.0 (HIGHSPEED), 9.4 (WESTWOOD), at 400 ms 23.0, 17.8, 4.4 Mbit/s.",
    where="table 3-1",
    needs=("combos",),
    known_not_to_hold=True,
)
def long_delay_numbers(lab: Lab) -> Verdict:
    """Each within 15 %."""
    measured = _rates(lab, NO_LOSS[6:])
    off = [one for one in measured if one.published and _off(one.value, one.published.number)]
    reason = "; ".join(f"{one.name} gets {one.value:.1f}, printed {one.published}" for one in off)
    explained = (
        ". Westwood's window after the refusal is its estimate of the path, which in slow start lags behind by two "
        "filters; how far depends on when netem fills, and from there it grows by half a segment a round trip for the "
        "rest of the transfer"
    )
    return Verdict(not off, measured, reason + explained if off else "")


@collection.claim(
    "variants-order",
    "At 200 and 400 ms CUBIC gets more than HIGHSPEED, and WESTWOOD least.",
    where="section 3.2.2",
    needs=("combos",),
)
def variants_order(lab: Lab) -> Verdict:
    """In both groups of three, each at least a tenth more than the next."""
    fails = []
    for group in (NO_LOSS[6:9], NO_LOSS[9:]):
        rates = [_mbit(lab, test) for test in group]
        if not (rates[0] > MORE * rates[1] > MORE * MORE * rates[2]):
            fails.append(f"{group[0].delay_ms} ms: " + ", ".join(f"{rate:.1f}" for rate in rates))
    return Verdict(not fails, _rates(lab, NO_LOSS[6:]), "; ".join(fails))


@collection.claim(
    "sack-at-400",
    "Beside a flow of 400 ms, SACK at 100 ms gets 59.7 Mbit/s on average.",
    where="section 3.2.2",
    needs=("combos",),
)
def sack_at_400(lab: Lab) -> Verdict:
    """Within 15 %."""
    of_print = lab.published.find("Section 3.2.2", "throughput", item="group 2, 400 ms, flow 2 mean")
    value = float(np.mean([_mbit(lab, test, "S2") for test in NO_LOSS[9:]]))
    holds = not _off(value, of_print.number)
    measured = (Measured("mean of Combos 10 to 12", value, "Mbit/s", of_print),)
    return Verdict(holds, measured, "" if holds else f"it gets {value:.1f}")


@collection.claim(
    "loss-takes-a-window",
    "The loss of 100 ms takes 86 to 90 packets of S2 beside a flow of 20 ms, and 128 of S1 at 100 ms.",
    where="section 3.3.1",
    needs=("observed",),
)
def loss_takes_a_window(lab: Lab) -> Verdict:
    """Retransmissions within 15 %, windows as observed: all that is out in 100 ms is a window."""
    measured = []
    for tests, flow in ((WITH_LOSS[:3], "S2"), (WITH_LOSS[3:6], "S1")):
        for test in tests:
            value = _value(lab, test, "retransmitted_packets", flow, "observed")
            measured.append(Measured(f"{test.name} {flow}", value, "packets", printed(lab, test, flow, RETRANSMITTED)))
    off = [one for one in measured if one.published and _off(one.value, one.published.number)]
    return Verdict(not off, tuple(measured), "; ".join(f"{one.name} sends {one.value:.0f} again" for one in off))


@collection.claim(
    "loss-order-at-20",
    "After a loss, at 20 ms HIGHSPEED is first, CUBIC second, WESTWOOD third.",
    where="section 3.3.2",
    needs=("combos",),
    known_not_to_hold=True,
)
def loss_order_at_20(lab: Lab) -> Verdict:
    """Combos 14, 13, 15, each at least a tenth faster than the next."""
    cubic, highspeed, westwood = (_mbit(lab, test) for test in WITH_LOSS[:3])
    holds = highspeed > MORE * cubic > MORE * MORE * westwood
    reason = (
        f"they get {highspeed:.1f}, {cubic:.1f} and {westwood:.1f} Mbit/s: the window of 20 ms bounds all three, "
        "before the loss and soon after it. In print HIGHSPEED is 5 % ahead of CUBIC, in one run each"
    )
    return Verdict(holds, _rates(lab, WITH_LOSS[:3]), "" if holds else reason)


@collection.claim(
    "sack-wins-at-equal-delay",
    "After a loss at equal delays of 100 ms, SACK gets more than each of the variants.",
    where="section 3.3.2",
    needs=("combos",),
    known_not_to_hold=True,
)
def sack_wins_at_equal_delay(lab: Lab) -> Verdict:
    """S2 at least a tenth faster than S1 in Combos 16 to 18, windows as intended."""
    return _sack_wins(lab, "combos")


@collection.claim(
    "sack-wins-by-windows",
    "The same, with the windows that the printed numbers speak for.",
    where="section 3.3.2 (YAH-A12)",
    needs=("observed",),
)
def sack_wins_by_windows(lab: Lab) -> Verdict:
    """As before: S1's receiver has the window of the 20 ms tests."""
    return _sack_wins(lab, "observed")


def _sack_wins(lab: Lab, experiment: str) -> Verdict:
    tests = WITH_LOSS[3:6]
    measured = tuple(
        one for pair in zip(_rates(lab, tests, "S1", experiment), _rates(lab, tests, "S2", experiment), strict=True)
        for one in pair
    )  # fmt: skip
    ratios = {test: _mbit(lab, test, "S2", experiment) / _mbit(lab, test, "S1", experiment) for test in tests}
    fails = [f"{test.name} {test.variant}: S2 has {ratio:.2f} of S1" for test, ratio in ratios.items() if ratio < MORE]
    reason = (
        "; ".join(fails)
        + ". At equal delay and window both lose a window at once, and recover alike; print has S1 at 12 "
        "to 14 Mbit/s with exactly 128 packets lost in each of three runs, which is the window of the 20 ms tests"
    )
    return Verdict(not fails, measured, reason if fails else "")


@collection.claim(
    "sack-keeps-more",
    "After a loss at 200 and 400 ms SACK keeps the greater part.",
    where="section 3.3.2",
    needs=("combos",),
    known_not_to_hold=True,
)
def sack_keeps_more(lab: Lab) -> Verdict:
    """S2 faster than S1 in Combos 19 to 24; print itself has 12.21 against 10.61 in Combo 19 (YAH-A10)."""
    tests = WITH_LOSS[6:]
    ratios = {test: _mbit(lab, test, "S2") / _mbit(lab, test) for test in tests}
    measured = (*_rates(lab, tests, "S1"), *_rates(lab, tests, "S2"))
    fails = [f"{test.name} {test.variant}: S2 has {ratio:.2f} of S1" for test, ratio in ratios.items() if ratio <= 1]
    reason = "; ".join(fails) + ". It is so in print too (10.61 against 12.21 Mbit/s, YAH-A10)"
    return Verdict(not fails, measured, reason if fails else "")


@collection.claim(
    "sack-suffers-at-long-delay",
    "After a loss beside a flow of 200 or 400 ms, SACK falls to 10.4 to 10.9 Mbit/s.",
    where="section 3.3.1, Combos 19 to 23",
    needs=("combos",),
    known_not_to_hold=True,
)
def sack_suffers_at_long_delay(lab: Lab) -> Verdict:
    """S2's throughput within 15 % of print."""
    tests = WITH_LOSS[6:11]
    measured = _rates(lab, tests, "S2")
    off = [one for one in measured if one.published and _off(one.value, one.published.number)]
    rates = [one.value for one in measured]
    again = [_value(lab, test, "retransmitted_packets", "S2") for test in tests]
    reason = (
        f"S2 gets {min(rates):.0f} to {max(rates):.0f} Mbit/s: after losing {min(again):.0f} to {max(again):.0f} "
        "packets (print: 519 to 581) it returns to half its window and grows. Print's 10.4 Mbit/s is the rate of a "
        "window of 131 kB from start to end, but with such a window no more than 90 packets could be lost; a sender "
        "that stays "
        "at a quarter of its former rate for 70 s without a second loss is not explained by any window of table W"
    )
    return Verdict(not off, measured, reason if off else "")


@collection.claim(
    "one-always-leads",
    "When two variants compete, one always leads.",
    where="abstract",
    needs=("combos",),
    known_not_to_hold=True,
)
def one_always_leads(lab: Lab) -> Verdict:
    """In each of the 24 combinations one flow's throughput is at least a tenth above the other's."""
    ratios = {test: _mbit(lab, test, "S2") / _mbit(lab, test) for test in COMBOS}
    even = {test: ratio for test, ratio in ratios.items() if 1 / MORE < ratio < MORE}
    measured = (
        Measured("combinations in which one leads", len(COMBOS) - len(even)),
        Measured("of these S2", sum(ratio >= MORE for ratio in ratios.values())),
    )
    reason = (
        "no one leads in " + ", ".join(f"{test.name} ({test.variant} at {test.delay_ms} ms)" for test in even)
        + ". Where one does, delay, netem's room and the window decide before the variant does"
    )  # fmt: skip
    return Verdict(not even, measured, reason if even else "")


@collection.claim(
    "throughput-falls-with-rtt",
    "Throughput is inversely proportional to the round trip: longer ones are disciplined.",
    where="chapter 4",
    needs=("combos",),
)
def throughput_falls_with_rtt(lab: Lab) -> Verdict:
    """For each variant, without and with loss, S1's throughput falls from each delay to the next."""
    measured, fails = [], []
    for tests in (NO_LOSS, WITH_LOSS):
        for place in range(3):
            rates = [_mbit(lab, test) for test in tests[place::3]]
            name = f"{tests[place].variant}{' with loss' if tests[place].loss else ''}"
            measured.append(Measured(f"{name}, 400 ms over 20 ms", rates[-1] / rates[0]))
            if any(later >= earlier for earlier, later in pairwise(rates)):
                fails.append(f"{name}: " + ", ".join(f"{rate:.1f}" for rate in rates) + " Mbit/s")
    return Verdict(not fails, tuple(measured), "; ".join(fails))
