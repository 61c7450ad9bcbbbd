"""Measures one run. The first sixth of the run, which contains slow start, and the last 2 s are not measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lopsided.papers.framework.traces import buffers_of, traces_of
from lopsided.papers.lakshman2000.model import PACKET_BYTES

if TYPE_CHECKING:
    from lopsided.papers.framework.model import Case
    from lopsided.scenario import Run

PAYLOAD = 960 / 1000
"""Fraction of a packet's bytes that are payload."""


def _window_s(run: Run) -> tuple[float, float]:
    stop = max(float(row["stop_s"]) for row in run.flows.rows())
    return stop / 6, stop - 2


def _goodputs(run: Run, group: str = "forward") -> list[float]:
    names = [row["name"] for row in run.flows.rows() if row["group"] == group]
    return [trace.goodput_bps(*_window_s(run)) for trace in traces_of(run, names).values()]


def single(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns the forward link's goodput and utilisation, timeouts, and data packets per delivered ACK.

    All packets on the reverse link count as ACKs, except data packets of an upload.
    """
    goodput, window = sum(_goodputs(run)), _window_s(run)
    rate = run.scenario.link_rate_bps("down") or float("nan")
    buffer = buffers_of(run)
    sent = {
        way: float(np.diff(np.interp(window, columns["time_s"], columns["sent_bytes"]))[0])
        for way, columns in buffer.items()
    }
    upload = sum(_goodputs(run, "upload")) / PAYLOAD * (window[1] - window[0]) / 8
    acks = max(sent["up"] - upload, 0.0) / 40
    timeouts = sum(float(row["timeouts"]) for row in run.flows.rows() if row["group"] == "forward")
    return {
        "goodput_bps": goodput,
        "utilisation": goodput / PAYLOAD / rate,
        "timeouts": timeouts,
        "packets_per_ack": sent["down"] / PACKET_BYTES / acks if acks else float("nan"),
    }


def fairness(run: Run, case: Case) -> Mapping[str, float]:
    """Returns the columns of `single` over all downloads, Jain's index, and the smallest and largest share of a
    download."""
    rates = np.array(_goodputs(run))
    share = rates / rates.sum()
    jain = float(rates.sum() ** 2 / (rates.size * np.square(rates).sum()))
    return {**single(run, case), "jain": jain, "least": float(share.min()), "greatest": float(share.max())}
