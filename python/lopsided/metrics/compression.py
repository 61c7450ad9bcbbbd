"""ACK compression: ACKs that arrive at shorter intervals than those at which the acknowledged data left the bottleneck.

A bottleneck spaces data segments by their transmission time, and the receiver sends its ACKs with the same spacing. If
the ACKs then wait together in a queue of the reverse direction, they leave this queue back to back, and the sender
answers with a burst (Zhang, Shenker, Clark 1991; merritt2010 sections 2.2 and 5.1.2, which identify it by eye in a
trace, MER-M24). Left out: where on the path the compression happened, because only arrivals at the sender are used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ._series import positive, series


@dataclass(frozen=True)
class AckCompression:
    """Statistics of how bunched the arriving ACKs are."""

    compressed_share: float
    """Fraction of the acknowledged bytes whose ACK is compressed: from 0 (ACK-clocked) to 1.

    An ACK is compressed if its gap to the previous ACK is shorter than `threshold` times the transmission time of the
    acknowledged bytes."""
    bursts: int
    """Number of bursts: runs of consecutive compressed ACKs."""
    mean_burst_bytes: float
    """Mean number of bytes that a burst acknowledges, which the sender may then send at once; 0 if there are no
    bursts."""
    max_burst_bytes: float
    silent_share: float
    """Fraction of the time that is spent in long gaps between ACKs: gaps of more than twice the transmission time of
    the acknowledged data."""
    longest_silence_s: float


def ack_compression(
    time_s: ArrayLike,
    acked_bytes: ArrayLike,
    bottleneck_bps: float,
    *,
    threshold: float = 0.5,
    skip: ArrayLike | None = None,
) -> AckCompression:
    """Compares the gap before each ACK with the time that the bottleneck took to send the acknowledged bytes.

    Parameters
    ----------
    time_s, acked_bytes
        One row per ACK arrival, with a cumulative byte counter. If there is one row per sample, the ACKs within a
        sample count as one. Rows that acknowledge no new data are ignored.
    bottleneck_bps
        The rate of the data's direction, in bit/s.
    threshold
        An ACK is compressed if its gap is shorter than this fraction of the transmission time of the acknowledged
        bytes. At the default of 0.5, a few percent of framing overhead do not matter.
    skip
        True for each row to leave out. For example, an ACK that ends a loss recovery acknowledges a whole window at
        once without being compressed.

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
