"""Simulates figures 20 and 21, the throughput of the BSD/OS implementation. Figure 20 varies `maxburst`, the maximum
burst size in segments, and figure 21 varies the number of segments per ACK.

Both ends run the simulator's TCP; `live.py` runs the same experiments on real packets.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from lopsided.papers.balakrishnan1999 import measure
from lopsided.papers.balakrishnan1999.setup import AF_SA, BURSTS, DELAYS, EMULATED, IMPLEMENTED_QUEUE, NO_LIMIT
from lopsided.papers.balakrishnan1999.shared import ENOUGH, INKS, least_that_is_enough
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Case, Comparison, Experiment, Overrides
from lopsided.papers.framework.plots import Line, Panel, Plot, printed_mark
from lopsided.papers.framework.tables import compare
from lopsided.views.plot import style

SCENARIO = "implemented-one-way.toml"


def _sender(burst: int) -> Overrides:
    """Returns the scenario keys of sender adaptation with the window growth of figure 19: cwnd grows once for every two
    acknowledged segments, even if one ACK acknowledges more segments."""
    limit = {} if burst == NO_LIMIT else {"stack.max_burst": str(burst)}
    return {**limit, "stack.abc_half": "true"}


def receiver(max_delay: int) -> Overrides:
    """Returns the scenario keys of ACK congestion control (ACC) as in BSD/OS. One ACK acknowledges at most `max_delay`
    segments."""
    return {"stack.ack_policy": "acc_peerwin", "stack.max_delack": str(max_delay), "stack.min_acks_per_window": "5"}


_FILTERED = {**EMULATED, "link.up.queue": AF_SA.queue(IMPLEMENTED_QUEUE, implemented=True)}

BURST_SWEEP = Experiment(
    key="maxburst",
    summary="3 MB down by maxburst, under AF/SA and ACC/SA",
    cases=tuple(
        Case(SCENARIO, {**_sender(burst), **remedy}, {"scheme": key, "maxburst": burst})
        for key, remedy in (("af_sa", _FILTERED), ("acc_sa", receiver(8)))
        for burst in BURSTS
    ),
    measure=measure.transfer,
    most=1,
)

DELAY_SWEEP = Experiment(
    key="max-delay",
    summary="3 MB down by the most segments for each ACK, under ACC/SA",
    cases=tuple(
        Case(SCENARIO, {**_sender(burst), **receiver(delay)}, {"maxburst": burst, "max_delay": delay})
        for burst in (4, 6)
        for delay in DELAYS
    ),
    measure=measure.transfer,
    most=1,
)


def _by_burst(m: Measurements) -> Iterable[Line]:
    for key, name in (("af_sa", "AF/SA"), ("acc_sa", "ACC/SA")):
        curve = m.curve(BURST_SWEEP.key, "throughput_bps", "maxburst", scheme=key)
        yield Line.of(curve, INKS[key], 1e-6, column=f"{key}_Mbit/s", end=name)
    limit = m.published.find("Section 9.1.1 / Figure 20", "throughput_limit")
    yield printed_mark(3, limit.number, style.INK)


def _by_delay(m: Measurements) -> Iterable[Line]:
    for burst, ink in ((4, INKS["acc_sa"]), (6, INKS["acc_sa_first"])):
        curve = m.curve(DELAY_SWEEP.key, "throughput_bps", "max_delay", maxburst=burst)
        yield Line.of(curve, ink, 1e-6, column=f"maxburst_{burst}_Mbit/s", end=f"maxburst {burst}")


def burst_comparisons(m: Measurements, experiment: str = BURST_SWEEP.key, kernel: str = "") -> Iterable[Comparison]:
    """Compares figure 20 with two experiments: `experiment`, and `kernel` (if given), in which Linux receives the
    data."""
    where, remark = "Section 9.1.1 / Figure 20", f"the least that reaches {100 * ENOUGH:g} % of the best"
    least = partial(least_that_is_enough, m, label="maxburst")
    printed = m.published.find(where, "maxburst", case="recommended value, low")
    for key, name in (("af_sa", "AF/SA"), ("acc_sa", "ACC/SA")):
        yield compare(printed, least(experiment, scheme=key), f"{name}: {remark}")
    if kernel:
        yield compare(printed, least(kernel), f"kernel's receiver: {remark}")
    limit = m.published.find(where, "throughput_limit", case="maxburst 3, 10 ms timer, 1424 B segments")
    yield compare(limit, m.value(experiment, "throughput_bps", scheme="af_sa", maxburst=3), "AF/SA", 1e-6)


def delay_comparisons(m: Measurements, experiment: str = DELAY_SWEEP.key, kernel: str = "") -> Iterable[Comparison]:
    """Compares figure 21 with two experiments: `experiment`, and `kernel` (if given), in which Linux sends the data."""
    remark = f"the least that reaches {100 * ENOUGH:g} % of the best"
    printed = m.published.find("Section 9.1.2 / Figure 21", "max_delay", case="throughput stops growing beyond")
    for burst in (4, 6):
        found = least_that_is_enough(m, experiment, "max_delay", maxburst=burst)
        yield compare(printed, found, f"maxburst {burst}: {remark}")
    if kernel:
        yield compare(printed, least_that_is_enough(m, kernel, "max_delay"), f"kernel's sender: {remark}")


FIGURE_20 = Plot(
    "3 MB by the largest burst",
    "28.8 kbit/s back (AF: 28), between hosts of BSD/OS with the changes at both ends (figure 20)",
    "maxburst (segments)",
    (Panel("Mbit/s", _by_burst, height=3.0),),
    (BURST_SWEEP.key,),
    ticks=BURSTS,
    tick_names=[*map(str, BURSTS[:-1]), "none"],
    comparisons=burst_comparisons,
    axis="maxburst",
    notes=(
        "In BSD/OS the segments beyond a burst wait for a tick of 10 ms, which causes the rise. Diamond: the printed "
        "limit at a maxburst of 3.",
    ),
)

FIGURE_21 = Plot(
    "3 MB by segments for each ACK",
    "28.8 kbit/s back, ACC bounded by the sender's window, at least 5 ACKs for each (figure 21)",
    "max_delay (segments)",
    (Panel("Mbit/s", _by_delay, height=3.0),),
    (DELAY_SWEEP.key,),
    ticks=DELAYS,
    comparisons=delay_comparisons,
    axis="max_delay",
)
