"""`lopsided fairness`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lopsided.cli.options import (
    ANSWER,
    NOTHING,
    PRINTING,
    Answer,
    Dask,
    Kernel,
    OwnCode,
    Printing,
    Workers,
    World,
    ask,
    on,
)
from lopsided.cli.study import carry_out
from lopsided.data.suggestions import names_in
from lopsided.data.units import parse_rate, parse_time
from lopsided.studies.doubts import rate_doubt, rtt_doubt
from lopsided.studies.options import FairnessOptions

USUAL = FairnessOptions()


def fairness(
    *,
    cc: str = "reno,cubic,bbr",
    rtt: str = "20ms,100ms",
    options: Annotated[FairnessOptions, Parameter(name="*")] = USUAL,
    answer: Answer = ANSWER,
    own: OwnCode = NOTHING,
    world: World = "sim",
    kernel: Kernel = None,
    workers: Workers = None,
    dask: Dask = None,
    printing: Printing = PRINTING,
) -> None:
    """Measure how fairly pairs of flows with different congestion controls and RTTs share a bottleneck.

    Each pair runs twice, and each flow starts first in one of the two runs. Each flow also runs alone, as the reference
    for harm. The result folder contains the tables, heat maps and report.html; by default it is created under `runs/`.

    For example:

        lopsided fairness
        lopsided fairness --cc cubic,westwood,vegas,bbr --rtt 20ms,100ms,400ms \\
          --link 100M
        lopsided fairness --cc cubic,bbr --rtt 40ms --link 20M --buffer "8 BDP" \\
          --repeat 5
        lopsided fairness --cc cubic,quic:cubic --rtt 40ms --link 20M
        lopsided fairness --cc reno,Gentle --controller gentle.py:Gentle
        lopsided fairness --cc reno,cubic --rtt 20ms,200ms --link 50M --up 5M \\
          --direction up --pairs full

    Parameters
    ----------
    cc
        The congestion controls, separated by commas; quic:cubic is CUBIC over QUIC.
    rtt
        Base round-trip times, separated by commas, such as 20ms,100ms.
    """
    from lopsided.studies import fairness as fair

    spans_s = [parse_time(each) for each in names_in(rtt)]
    for span_s in spans_s:
        ask(rtt_doubt("--rtt", span_s))
    for option, rate in (("--link", options.link), ("--up", options.up)):
        ask([] if rate is None else rate_doubt(option, parse_rate(rate)))
    plan = fair.plan(names_in(cc), [span_s * 1e3 for span_s in spans_s], options, own.load())
    plan.check()
    with on(dask, workers):
        carry_out(
            lambda report: fair.run(plan, world=world, kernel=kernel, workers=workers, progress=report),
            "fairness",
            f"fairness, {plan.runs}",
            answer,
            printing,
        )
