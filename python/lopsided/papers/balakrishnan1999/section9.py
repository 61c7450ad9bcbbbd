"""Defines section 9's measurements of a download with a concurrent upload, and the section's eight statements.

ACC is implemented as in section 8.2. The receiver uses the sender's window (`acc_peerwin`). One ACK acknowledges at
most 8 segments, and the receiver sends at least 5 ACKs per window. AF runs on the emulated line of section 8.1,
28 kbit/s and 80 ms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lopsided.papers.balakrishnan1999 import bursts, measure
from lopsided.papers.balakrishnan1999.printed import figure_22
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA,
    ACC_SA_FIRST,
    AF_SA,
    AF_SA_FIRST,
    EMULATED,
    IMPLEMENTED_QUEUE,
    MAX_BURST,
    NO_LIMIT,
    RENO,
    RENO_FIRST,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import ENOUGH
from lopsided.papers.framework.claims import (
    Listed,
    all_of,
    at_least,
    at_most,
    kbit,
    mbit,
    near,
    number,
    ordered,
    ratio,
    rises,
)
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Case, Claim, Experiment, Measured, Overrides, Verdict
from lopsided.papers.framework.rows import Row, measured

SCHEMES = (RENO, RENO_FIRST, ACC_SA, ACC_SA_FIRST, AF_SA, AF_SA_FIRST)
MAX_DELAY = 8
"""Maximum number of segments per ACK under ACC with an upload (section 9.1.3)."""

PRINTED = (
    ("Reno, FIFO", RENO, "forward"),
    ("ACC, FIFO", ACC_SA, "forward"),
    ("AF, FIFO", AF_SA, "forward"),
    ("Reno + acks-first", RENO_FIRST, "reverse"),
    ("ACC + acks-first", ACC_SA_FIRST, "forward"),
    ("ACC + acks-first", ACC_SA_FIRST, "reverse"),
    ("AF + acks-first", AF_SA_FIRST, "forward"),
    ("AF + acks-first", AF_SA_FIRST, "reverse"),
)
"""The throughputs in figure 22 for which the paper's text states a value. Each entry is a case, its scheme and a
direction."""


def printed_of(experiment: str, remark: str = "", schemes: Iterable[Scheme] = SCHEMES) -> list[tuple[Scheme, str, Row]]:
    """Returns the scheme, the direction and the table row of each value that section 9 states."""
    return [
        (scheme, way, figure_22(experiment, case, scheme, way, remark))
        for case, scheme, way in PRINTED
        if scheme in schemes
    ]


def adapted(burst: int) -> Overrides:
    """Returns the scenario keys of sender adaptation with the window growth of figure 19. Only the download's sender
    uses this adaptation."""
    limit = {} if burst == NO_LIMIT else {"flow.forward.sender_stack.max_burst": str(burst)}
    return {**limit, "flow.forward.sender_stack.abc_half": "true"}


def line(scheme: Scheme) -> Overrides:
    """Returns the scenario keys of the return line's queue. The queue never marks packets, because the implemented ACC
    uses the sender's window instead."""
    return {"link.up.queue": replace(scheme, marked=False).queue(IMPLEMENTED_QUEUE, implemented=True)}


def beside_an_upload(scheme: Scheme) -> Case:
    """Returns the case in which a 3 MB download and a 100 kB upload run concurrently between BSD/OS hosts."""
    overrides = {
        "scenario.duration": "30 s",
        **line(scheme),
        **(adapted(MAX_BURST) if scheme.adapted else {}),
        **(bursts.receiver(MAX_DELAY) if scheme.marked else {}),
        **(EMULATED if scheme.filtered else {}),
    }
    return Case("implemented-two-way.toml", overrides, {"scheme": scheme.key})


IMPLEMENTED_TWO_WAY = Experiment(
    key="implemented-two-way",
    summary="3 MB down and 100 kB up, between hosts of BSD/OS with section 8's forms of ACC and SA",
    cases=tuple(map(beside_an_upload, SCHEMES)),
    measure=measure.implemented_two_way,
    usual=5,
    full_repetitions=10,
)


LISTED = Listed.beside(__file__)


def statements(by_burst: str, by_delay: str, two_way: str) -> tuple[Claim, ...]:
    """Returns the eight statements of section 9, which use the given experiments.

    Parameters
    ----------
    by_burst, by_delay, two_way
        Keys of three experiments. The first varies `maxburst`, the second varies the number of segments per ACK, and
        the third adds an upload.
    """
    of_bursts, of_delays, of_two_way = (replace(LISTED, needs=(key,)) for key in (by_burst, by_delay, two_way))

    def at_burst(m: Measurements, scheme: Scheme, burst: int) -> Spread:
        return m.value(by_burst, "throughput_bps", scheme=scheme.key, maxburst=burst)

    def beside(m: Measurements, scheme: Scheme, way: str) -> Measured:
        of, name = (mbit, "download") if way == "forward" else (kbit, "upload")
        return of(f"{scheme.title}, {name}", m.value(two_way, f"{way}_bps", scheme=scheme.key))

    def of_print(scheme: Scheme) -> list[Row]:
        return [row for each, _, row in printed_of(two_way) if each is scheme]

    @of_bursts
    def throughput_rises_with_maxburst(m: Measurements) -> Verdict:
        """The throughput with a `maxburst` of 4 is 3.2 to 4.8 times the throughput with a `maxburst` of 1. The paper's
        "almost linearly" is interpreted as 4 times, within 20 %."""
        verdicts: list[Verdict] = []
        for scheme in (AF_SA, ACC_SA):
            four, one = (mbit(f"{scheme.title}, maxburst {burst}", at_burst(m, scheme, burst)) for burst in (4, 1))
            verdicts.append(ratio(f"{scheme.title}, maxburst 4 to 1", four, one, above=3.2, below=4.8))
        return all_of(*verdicts)

    @of_bursts
    def bursts_of_four_are_enough(m: Measurements) -> Verdict:
        def share(scheme: Scheme) -> Measured:
            best = max(m.curve(by_burst, "throughput_bps", "maxburst", scheme=scheme.key).median)
            return number(f"{scheme.title}, of the best", at_burst(m, scheme, 4).median / best, "percent", scale=100)

        return at_least(100 * ENOUGH, [share(AF_SA), share(ACC_SA)])

    @of_delays
    def little_is_gained_beyond_eight(m: Measurements) -> Verdict:
        def judged(burst: int) -> Verdict:
            curve = m.curve(by_delay, "throughput_bps", "max_delay", maxburst=burst)
            name = f"maxburst {burst}"
            beyond = ratio(
                f"{name}, 16 segments to 8",
                mbit(f"{name}, 16 segments", curve.at(16)),
                mbit(f"{name}, 8 segments", curve.at(8)),
                below=1.1,
            )
            return all_of(rises(name, curve, "Mbit/s", scale=1e-6), beyond)

        return all_of(judged(4), judged(6))

    @of_two_way
    def fewer_acks_leave_the_download_less(m: Measurements) -> Verdict:
        return ordered([beside(m, scheme, "forward") for scheme in (RENO, ACC_SA, AF_SA)])

    @of_two_way
    def the_upload_gets_its_line(m: Measurements) -> Verdict:
        def share(scheme: Scheme, line_bps: float) -> Measured:
            found = m.value(two_way, "reverse_bps", scheme=scheme.key).median / line_bps
            return number(f"{scheme.title}, of the line", found, "percent", scale=100)

        return at_least(90, [share(ACC_SA, 28.8e3), share(AF_SA, 28e3)])

    acks_first_cost_the_upload = of_two_way.near_print("acks-first-cost-the-upload", measured(of_print(RENO_FIRST)))

    @of_two_way
    def acks_first_and_filtering_starve_the_upload(m: Measurements) -> Verdict:
        return all_of(near(measured(of_print(AF_SA_FIRST)[:1])(m)), at_most(0.5, [beside(m, AF_SA_FIRST, "reverse")]))

    acks_first_and_acc = of_two_way.near_print("acks-first-and-acc", measured(of_print(ACC_SA_FIRST)))

    return (
        throughput_rises_with_maxburst,
        bursts_of_four_are_enough,
        little_is_gained_beyond_eight,
        fewer_acks_leave_the_download_less,
        the_upload_gets_its_line,
        acks_first_cost_the_upload,
        acks_first_and_filtering_starve_the_upload,
        acks_first_and_acc,
    )
