"""Measures ACK compression: ACKs arrive closer together than the data segments left the bottleneck.

A bottleneck spaces segments by their transmission time, and the ACKs keep this spacing. If several ACKs wait in a
reverse queue, they leave the queue back to back, and the sender answers with a burst (Zhang, Shenker, Clark 1991;
merritt2010 sections 2.2 and 5.1.2, MER-M24). The measure does not show where on the path compression happened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive, series


@dataclass(frozen=True)
class AckCompression:
    """Statistics of ACK compression."""

    compressed_share: float
    """Fraction of the bytes that compressed ACKs acknowledged: 0 (ACK-clocked) to 1.

    An ACK is compressed if its gap to the previous ACK is at most `threshold` times the transmission time of its bytes.
    """
    bursts: int
    """Number of bursts. A burst is a run of consecutive compressed ACKs."""
    mean_burst_bytes: float
    """Mean number of bytes that the ACKs of a burst acknowledge. The sender may send this number of bytes at once. The
    value is 0 without bursts."""
    max_burst_bytes: float
    silent_share: float
    """Fraction of the time in silences.

    A silence is a gap between ACKs that is longer than twice the transmission time of the acknowledged data.
    """
    longest_silence_s: float


def ack_compression(
    time_s: ArrayLike,
    acked_bytes: ArrayLike,
    bottleneck_bps: float,
    *,
    threshold: float = 0.5,
    skip: ArrayLike | None = None,
) -> AckCompression:
    """Compares the gap before each ACK with the transmission time of the acknowledged bytes.

    Parameters
    ----------
    time_s, acked_bytes
        One row per ACK: its time, and the cumulative number of acknowledged bytes. In sampled data, all ACKs of a
        sampling interval count as one ACK. Rows without new data are ignored.
    bottleneck_bps
        The bottleneck's rate in the direction of the data, in bit/s.
    threshold
        Largest gap before a compressed ACK, relative to the transmission time. At 0.5, framing overhead of a few
        percent has no effect.
    skip
        True for each row to ignore. For example, an ACK that ends a loss recovery acknowledges a whole window, but is
        not compressed.

    Raises
    ------
    ValueError
        If fewer than two rows acknowledge new data.
    """
    time, acked = series(time_s, acked_bytes)
    positive("bottleneck rate", bottleneck_bps)
    if np.any(np.diff(acked) < 0):
        raise ValueError("acknowledged bytes must not decrease")
    skipped = np.zeros(time.size, dtype=bool) if skip is None else np.asarray(skip, dtype=bool)
    if skipped.shape != time.shape:
        raise ValueError(f"time has {time.size} rows but `skip` has shape {skipped.shape}")
    new = np.concatenate(([True], np.diff(acked) > 0))
    if int(new.sum()) < 2:
        raise ValueError("fewer than two acknowledgements cover new data")
    gap = np.diff(time[new])
    covered = np.diff(acked[new])
    judged = ~skipped[new][1:]
    service = covered * 8.0 / bottleneck_bps
    compressed = judged & (gap < threshold * service)
    silent = gap > 2.0 * service
    bursts = _run_sums(compressed, covered)
    total = float(covered[judged].sum())
    return AckCompression(
        compressed_share=float(covered[compressed].sum()) / total if total else 0.0,
        bursts=bursts.size,
        mean_burst_bytes=float(bursts.mean()) if bursts.size else 0.0,
        max_burst_bytes=float(bursts.max()) if bursts.size else 0.0,
        silent_share=float(gap[silent].sum()) / float(gap.sum()) if gap.sum() > 0 else 0.0,
        longest_silence_s=float(gap.max()),
    )


def _run_sums(flag: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sums `weight` over each run of true flags."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flag.astype(np.int8), [0]))))
    totals = np.concatenate(([0.0], np.cumsum(weight)))
    return np.asarray(totals[edges[1::2]] - totals[edges[0::2]])
