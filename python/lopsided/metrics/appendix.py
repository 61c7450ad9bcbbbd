"""Computes the same averages as merritt2010's scripts (appendices E to J), for comparison with published numbers.

The scripts average the rows of a log. The log has one row per write of 1,460 bytes, so busy periods have more weight.
Two scripts estimate throughput as the mean window divided by the mean RTT (MER-A08). As in appendix C, times are in s,
RTTs in microseconds, and windows in bytes (MER-M15).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive, series
from .buffers import FULL_PACKET_BYTES


@dataclass(frozen=True)
class DownloadAverages:
    """A row of merritt2010's appendix E (MER-M17), without the buffer size."""

    cwnd_both_bytes: float
    cwnd_alone_bytes: float
    throughput_both_bps: float
    throughput_alone_bps: float
    bdp_both_bytes: float
    """Downlink rate times the mean RTT while both flows are active, in bytes."""


def download_averages(
    time_s: ArrayLike, rtt_us: ArrayLike, cwnd_bytes: ArrayLike, split_s: float, downlink_bps: float
) -> DownloadAverages:
    """Returns the means of merritt2010's appendix E, over the rows before and after `split_s`, the start of the upload.

    Raises ValueError if there are no rows before or after the split.
    """
    time, rtt, cwnd = series(time_s, rtt_us, cwnd_bytes)
    positive("downlink rate", downlink_bps)
    both = time > split_s
    if both.all() or not both.any():
        raise ValueError(f"rows are needed on both sides of the split at {split_s} s")
    cwnd_both, rtt_both = float(cwnd[both].mean()), float(rtt[both].mean())
    cwnd_alone, rtt_alone = float(cwnd[~both].mean()), float(rtt[~both].mean())
    return DownloadAverages(
        cwnd_both_bytes=cwnd_both,
        cwnd_alone_bytes=cwnd_alone,
        throughput_both_bps=window_over_rtt_bps(cwnd_both, rtt_both),
        throughput_alone_bps=window_over_rtt_bps(cwnd_alone, rtt_alone),
        bdp_both_bytes=rtt_both / 8_000_000 * downlink_bps,
    )


@dataclass(frozen=True)
class UploadAverages:
    """A row of merritt2010's appendix F (MER-M18), without the buffer size."""

    cwnd_bytes: float
    throughput_bps: float
    rtt_us: float


def upload_averages(rtt_us: ArrayLike, cwnd_bytes: ArrayLike) -> UploadAverages:
    """Returns the means of merritt2010's appendix F over the upload's rows.

    Raises ValueError if the columns are empty or have different lengths.
    """
    rtt, cwnd = np.asarray(rtt_us, dtype=np.float64), np.asarray(cwnd_bytes, dtype=np.float64)
    if rtt.ndim != 1 or rtt.shape != cwnd.shape or rtt.size == 0:
        raise ValueError("RTT and window must be two columns of the same, non-zero length")
    return UploadAverages(
        float(cwnd.mean()), window_over_rtt_bps(float(cwnd.mean()), float(rtt.mean())), float(rtt.mean())
    )


def window_over_rtt_bps(cwnd_bytes: float, rtt_us: float) -> float:
    """Returns the throughput in bit/s as in merritt2010's appendices E and F: mean window divided by mean RTT."""
    positive("RTT", rtt_us)
    return cwnd_bytes * 8.0 / (rtt_us / 1e6)


def maximum_cwnd_bytes(cwnd_bytes: ArrayLike) -> float:
    """Returns the result of merritt2010's appendix G: the largest logged window (MER-M19). The window includes the
    inflation during fast recovery if the log contains this inflation (MER-A19).

    Raises ValueError if the log is empty.
    """
    cwnd = np.asarray(cwnd_bytes, dtype=np.float64)
    if cwnd.size == 0:
        raise ValueError("the log has no rows")
    return float(cwnd.max())


def estimated_buffer_packets(max_cwnd_down_bytes: int, max_cwnd_up_bytes: int, uplink_bdp_bytes: int) -> int:
    """Returns the result of merritt2010's appendix H: the buffer size from eq 6.6, in whole packets.

    As in the appendix's script, both divisions are integer divisions (MER-M20).
    """
    return ((max_cwnd_down_bytes - max_cwnd_up_bytes) // 2 - uplink_bdp_bytes) // int(FULL_PACKET_BYTES)


@dataclass(frozen=True)
class PerformanceRow:
    """A row of merritt2010's appendix I (MER-M21), without the buffer size."""

    net: float
    down: float
    up: float


def performance_row(down_bps: float, up_bps: float, downlink_bps: float, uplink_bps: float) -> PerformanceRow:
    """Returns a row of merritt2010's appendix I: goodput divided by link rate, for both directions and for each.

    Eq 1.2 uses the minimum of both directions instead (MER-A08).
    """
    positive("downlink rate", downlink_bps)
    positive("uplink rate", uplink_bps)
    return PerformanceRow(
        (down_bps + up_bps) / (downlink_bps + uplink_bps), down_bps / downlink_bps, up_bps / uplink_bps
    )


@dataclass(frozen=True)
class RttVariability:
    """A row of merritt2010's appendix J (MER-M22), without the buffer size."""

    variance_us2: float
    std_us: float


def rtt_variability(time_s: ArrayLike, rtt_us: ArrayLike, start_s: float) -> RttVariability:
    """Returns a row of merritt2010's appendix J: population variance and standard deviation of RTTs from `start_s` on.

    The log contains the kernel's smoothed RTT, which hides fast variation. `intervals.rtt_moments_ms` uses the RTTs of
    single packets instead. Raises ValueError if there are no rows.
    """
    time, rtt = series(time_s, rtt_us)
    late = rtt[time >= start_s]
    if late.size == 0:
        raise ValueError(f"no row at or after {start_s} s")
    return RttVariability(float(late.var()), float(late.std()))
