"""Computes statistics of a capture's flows over time, and the distance between two captures.

Each statistic is divided by its tolerance, which is the typical difference between two runs on the same line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lopsided.data.table import Row
    from lopsided.studies.analyze import Capture

Key: TypeAlias = tuple[str, int, str, int]
"""Identifies a flow: the address and port of its sender, then those of its receiver."""
Series: TypeAlias = "Mapping[str, NDArray[np.float64]]"
"""Metrics over time. The keys are column names of the timeline of `lopsided analyze`."""

COLUMNS = (
    "time_s", "width_s", "sent_bytes", "acked_bytes", "retransmitted_packets", "acks", "rtt_mean_ms", "rtt_max_ms",
    "data_wait_ms", "ack_wait_ms", "outstanding_max_bytes",
)  # fmt: skip

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SHARE = 0.03
"""Tolerance: absolute for fractions, and relative for times and amounts."""
WAIT_SHARE = 0.05
"""Relative tolerance of queueing times, in addition to the tolerance of the RTT."""
LEAST_MS = 0.5
"""Minimum tolerance in ms, because TCP timestamps count milliseconds (RFC 7323)."""
FAR = 4.0
"""Differences above this number of tolerances count approximately linearly, smaller differences approximately
squared."""
MOST = 24.0
"""Upper limit of a difference, in tolerances. A statistic that is missing in one capture has this difference."""
LAGS = (1, 2, 4, 8)
"""Lags, in intervals of the timeline, of the RTT's autocorrelation. The autocorrelation shows the RTT's sawtooth."""


@dataclass(frozen=True)
class Flow:
    """One direction of a connection in a capture."""

    row: Row
    """The flow's row in the table `directions`."""
    bins: Series
    """The flow's rows in the table `timeline`."""

    @property
    def key(self) -> Key:
        row = self.row
        return row["from"], row["from_port"], row["to"], row["to_port"]


def flows(capture: Capture) -> list[Flow]:
    """Returns a capture's flows. The flows with the most data come first."""
    directions = capture.timeline.numbers("direction")
    columns = {name: capture.timeline.numbers(name) for name in COLUMNS}
    rows = list(capture.largest)
    # The timeline's rows are sorted by direction.
    numbers = np.array([row["direction"] for row in rows])
    begins, ends = (np.searchsorted(directions, numbers, side) for side in ("left", "right"))
    return [
        Flow(row, {name: values[begin:end] for name, values in columns.items()})
        for row, begin, end in zip(rows, begins, ends, strict=True)
    ]


@dataclass(frozen=True)
class Measure:
    """The units of the statistics: the observed flow's RTT, sending time, acknowledged bytes and segment size.

    A simulated flow and the observed flow are compared in these units.
    """

    rtt_ms: float
    duration_s: float
    data_bytes: float
    segment_bytes: float

    @classmethod
    def of(cls, flow: Flow) -> Measure:
        """Computes the units from the observed flow."""
        row = flow.row
        whole = flow.bins["rtt_mean_ms"]
        whole = whole[~np.isnan(whole)]
        return cls(
            # The RTT of the whole path. In a capture near the receiver, the RTT to the receiver alone is too short.
            rtt_ms=float(np.median(whole)) if len(whole) else max(_or(row["rtt_p50_ms"], 1.0), 1.0),
            duration_s=max(_or(row["sending_s"], 0.1), 0.1),
            data_bytes=max(_or(row["acked_bytes"], 1.0), 1.0),
            segment_bytes=float(row["mss_bytes"] or 1448),
        )

    def of_flow(self, flow: Flow) -> dict[str, float]:
        """Returns a flow's statistics by name, in units of the tolerances; NaN for a statistic that cannot be computed
        from the flow."""
        row, bins = flow.row, flow.bins
        found: dict[str, float] = {
            "goodput": _log(row["goodput_bps"]) / 0.02,
            "retransmits": _root(row["retransmitted_packets"]) / 1.5,
            "recoveries": _root(row["recoveries"]) / 1.5,
            "timeouts": _root(row["timeouts"]) / 1.5,
            "marks": _root(row["marked_packets"] + row["echoed_marks"]) / 1.5,
            "ack ratio": _log(row["ack_ratio"]) / 0.05,
            "octets per ACK": _or(row["ack_bytes_p95_bytes"]) / self.segment_bytes / 0.3,
            "stretch ACKs": _or(row["stretch_share"]) / 0.05,
            "compressed ACKs": _or(row["compressed_share"]) / 0.05,
        }
        for name in ("rtt_floor_ms", "rtt_p50_ms", "rtt_p95_ms"):
            found[name] = float(_times(_or(row[name]), SHARE, LEAST_MS))
        for name in ("data_wait_p50_ms", "data_wait_p95_ms", "ack_wait_p50_ms", "ack_wait_p95_ms"):
            found[name] = float(_times(_or(row[name]), WAIT_SHARE, SHARE * self.rtt_ms + LEAST_MS))
        found |= _spread("rtt", _times(bins["rtt_mean_ms"], SHARE, LEAST_MS))
        found |= _spread("rtt max", _times(bins["rtt_max_ms"], SHARE, LEAST_MS))
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.log(bins["outstanding_max_bytes"])
        found |= _spread("outstanding", np.where(np.isfinite(out), out, np.nan) / 0.05)
        rate = bins["acked_bytes"] / bins["width_s"] * self.duration_s / self.data_bytes
        found |= _spread("rate", rate / 0.05)
        found |= _spread("sent", bins["sent_bytes"] / bins["width_s"] * self.duration_s / self.data_bytes / 0.05)
        found |= _spread("ACKs", np.sqrt(bins["acks"]) / 0.5)
        found |= self._progress(bins)
        found |= _sawtooth(bins["rtt_mean_ms"])
        lossy = bins["retransmitted_packets"] > 0
        found["lossy"] = float(np.sqrt(lossy.sum())) / 1.0
        if lossy.any():
            first = int(np.argmax(lossy))
            found["first loss"] = _log(bins["time_s"][first] - bins["time_s"][0] + self.rtt_ms / 1e3) / 0.15
        return found

    def _progress(self, bins: Series) -> dict[str, float]:
        """Returns the fraction of the data that is acknowledged at 7 points of the sending time."""
        if not len(bins["time_s"]):
            return {}
        times = bins["time_s"] + bins["width_s"] - bins["time_s"][0]
        done = np.cumsum(bins["acked_bytes"]) / self.data_bytes
        shares = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)
        return {f"progress {share}": float(np.interp(share * self.duration_s, times, done)) / 0.02 for share in shares}


def distance(observed: Mapping[str, float], simulated: Mapping[str, float]) -> float:
    """Returns the mean pseudo-Huber distance between observed and simulated statistics. A single statistic cannot
    dominate the mean."""
    found: list[float] = []
    for name, value in observed.items():
        if np.isnan(value):
            continue
        other = simulated.get(name, float("nan"))
        apart = MOST if np.isnan(other) else min(abs(value - other), MOST)
        found.append(FAR**2 * (np.sqrt(1 + (apart / FAR) ** 2) - 1))
    return float(np.mean(found)) if found else 0.0


def vector(observed: Mapping[str, float], simulated: Mapping[str, float]) -> NDArray[np.float64]:
    """Returns the difference between the simulated and the observed value of each statistic, from -`MOST` to `MOST`."""
    apart = [simulated.get(name, np.nan) - value for name, value in observed.items() if not np.isnan(value)]
    return np.clip(np.nan_to_num(np.array(apart), nan=MOST), -MOST, MOST)


def _spread(name: str, values: NDArray[np.float64]) -> dict[str, float]:
    known = values[~np.isnan(values)]
    if not len(known):
        return {}
    found = np.quantile(known, QUANTILES)
    return {f"{name} {share}": float(value) for share, value in zip(QUANTILES, found, strict=True)}


def _sawtooth(rtt_ms: NDArray[np.float64]) -> dict[str, float]:
    known = rtt_ms[~np.isnan(rtt_ms)]
    if len(known) < 4 * max(LAGS) or known.std() < LEAST_MS:
        return {}
    flat = (known - known.mean()) / known.std()
    return {f"sawtooth {lag}": float((flat[lag:] * flat[:-lag]).mean()) / 0.15 for lag in LAGS}


def _times(ms: Any, share: float, least_ms: float) -> Any:
    """Returns times in units of their tolerances. A tolerance is `share` of the time plus `least_ms`.

    The scale is logarithmic, because with two-way traffic the longest RTT can be 50 times the median.
    """
    return np.log1p(share * ms / least_ms) / share


def _or(value: Any, other: float = float("nan")) -> float:
    return other if value is None or np.isnan(value) else float(value)


def _log(value: Any) -> float:
    number = _or(value)
    return float(np.log(number)) if number > 0 else float("nan")


def _root(count: Any) -> float:
    # Multiply by 2: the square root of a Poisson count has a standard deviation of 0.5, and the unit is 1.
    return 2.0 * float(np.sqrt(_or(count, 0.0)))


def weights(of_flows: Sequence[Flow]) -> NDArray[np.float64]:
    """Returns the weight of each flow: the square root of its fraction of the data."""
    roots = np.sqrt([max(_or(flow.row["acked_bytes"], 0.0), 1.0) for flow in of_flows])
    return np.asarray(roots / roots.sum())
