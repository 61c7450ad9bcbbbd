from __future__ import annotations

import numpy as np
import pytest

from lopsided import metrics

# --- Means over periods


def test_counter_rate_interpolates_between_samples() -> None:
    time = [0.0, 10.0, 20.0]
    delivered = [0.0, 10_000.0, 40_000.0]
    assert metrics.counter_rate_bps(time, delivered, 0, 20) == pytest.approx(16_000)
    # The period is from 5 s (5 kB delivered) to 15 s (25 kB delivered).
    assert metrics.counter_rate_bps(time, delivered, 5, 15) == pytest.approx(16_000)
    assert metrics.counter_rate_bps(time, delivered, 10, 20) == pytest.approx(24_000)
    # The metric assumes that no data is delivered after the last sample.
    assert metrics.counter_rate_bps(time, delivered, 10, 30) == pytest.approx(12_000)


def test_windows_that_cannot_be_measured_are_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        metrics.counter_rate_bps([0, 1], [0, 1], 5, 6)
    with pytest.raises(ValueError, match="end after"):
        metrics.counter_rate_bps([0, 1], [0, 1], 1, 1)
    with pytest.raises(ValueError, match="must not decrease"):
        metrics.counter_rate_bps([0, 2, 1], [0, 1, 2], 0, 1)
    with pytest.raises(ValueError, match="shape"):
        metrics.counter_rate_bps([0, 1, 2], [0, 1], 0, 1)


def test_rate_series_adds_up_to_the_mean_rate() -> None:
    rng = np.random.default_rng(7)
    time = np.arange(0, 60.05, 0.1)
    counter = np.cumsum(rng.integers(0, 30_000, time.size)).astype(float)
    centres, rate = metrics.rate_series_bps(time, counter, 10, 50, 0.5)
    assert centres[0] == pytest.approx(10.25) and centres.size == 80
    assert rate.mean() == pytest.approx(metrics.counter_rate_bps(time, counter, 10, 50))


def test_rtt_mean_and_deviation_equal_those_of_the_packets() -> None:
    rng = np.random.default_rng(11)
    packet_time = np.sort(rng.uniform(0, 100, 5_000))
    packet_rtt = rng.gamma(4.0, 50.0, 5_000)
    time = np.arange(0.0, 100.5, 0.5)
    row = np.searchsorted(time, packet_time, side="left")
    count, total, squares = (
        np.bincount(row, weights=w, minlength=time.size) for w in (packet_rtt**0, packet_rtt, packet_rtt**2)
    )
    moments = metrics.rtt_moments_ms(time, count, total, squares, 20.0, 70.0)
    inside = packet_rtt[(packet_time > 20) & (packet_time <= 70)]
    assert moments.count == inside.size
    assert moments.mean == pytest.approx(inside.mean())
    assert moments.std == pytest.approx(inside.std())
    with pytest.raises(ValueError, match="no RTT"):
        metrics.rtt_moments_ms(time, count * 0, total, squares, 20.0, 70.0)


def test_time_mean_weighs_by_duration() -> None:
    # The value is 10 for 1 s, then 20 for 9 s.
    assert metrics.time_mean([0.0, 1.0], [10.0, 20.0], 0.0, 10.0) == pytest.approx(19.0)
    assert metrics.time_mean([0.0, 1.0], [10.0, 20.0], 0.5, 1.5) == pytest.approx(15.0)
    assert metrics.largest([0.0, 1.0, 2.0], [5.0, 9.0, 7.0], 1.5, 2.5) == 7.0


# --- ACK compression

UPLINK_BPS = 196e3
SEGMENT = 1500.0
SERVICE_S = SEGMENT * 8 / UPLINK_BPS


def bunched(per_bunch: int, bunches: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns ACKs that acknowledge one segment each, in bunches of `per_bunch`. ACKs of a bunch are 1 ms apart."""
    index = np.arange(per_bunch * bunches)
    ready = (index // per_bunch + 1) * per_bunch * SERVICE_S
    return ready + (index % per_bunch) * 0.001, (index + 1) * SEGMENT


def test_clocked_acks_are_not_compressed() -> None:
    found = metrics.ack_compression(np.arange(1, 200) * SERVICE_S, np.arange(1, 200) * SEGMENT, UPLINK_BPS)
    assert found.compressed_share == 0 and found.bursts == 0 and found.silent_share == 0
    assert found.longest_silence_s == pytest.approx(SERVICE_S)


@pytest.mark.parametrize("per_bunch", [2, 5, 10])
def test_share_and_burst_follow_the_bunch_size(per_bunch: int) -> None:
    found = metrics.ack_compression(*bunched(per_bunch, 40), UPLINK_BPS)
    # In each bunch, all ACKs except the first are compressed.
    assert found.compressed_share == pytest.approx((per_bunch - 1) / per_bunch, abs=0.02)
    assert found.bursts == 40
    assert found.mean_burst_bytes == pytest.approx((per_bunch - 1) * SEGMENT)
    assert found.longest_silence_s == pytest.approx(per_bunch * SERVICE_S, rel=0.1)


def test_a_delayed_ack_of_two_segments_is_not_compressed_but_a_recovery_jump_must_be_skipped() -> None:
    time = np.arange(1, 100) * 2 * SERVICE_S
    acked = np.arange(1, 100) * 2 * SEGMENT
    assert metrics.ack_compression(time, acked, UPLINK_BPS).compressed_share == 0
    # This ACK ends a recovery: it acknowledges 20 segments, 10 ms after the previous ACK.
    time = np.append(time, time[-1] + 0.01)
    acked = np.append(acked, acked[-1] + 20 * SEGMENT)
    assert metrics.ack_compression(time, acked, UPLINK_BPS).compressed_share > 0.05
    skip = np.zeros(time.size, dtype=bool)
    skip[-1] = True
    assert metrics.ack_compression(time, acked, UPLINK_BPS, skip=skip).compressed_share == 0


def test_acks_that_cover_nothing_are_ignored() -> None:
    time, acked = bunched(4, 10)
    doubled = metrics.ack_compression(np.repeat(time, 2), np.repeat(acked, 2), UPLINK_BPS)
    assert doubled == metrics.ack_compression(time, acked, UPLINK_BPS)
    with pytest.raises(ValueError, match="decrease"):
        metrics.ack_compression([0, 1], [2, 1], UPLINK_BPS)
    with pytest.raises(ValueError, match="fewer than two"):
        metrics.ack_compression([0, 1], [2, 2], UPLINK_BPS)


# --- periodicity


@pytest.mark.parametrize("period_s", [1.7, 3.2, 12.0])
def test_a_noisy_cycle_is_found_with_its_period(period_s: float) -> None:
    step = 0.1
    time = np.arange(0, 120, step)
    noise = np.random.default_rng(3).normal(0, 0.3, time.size)
    found = metrics.periodicity(np.sin(2 * np.pi * time / period_s) + noise, step)
    assert found.periodic
    # The correlation may have its maximum at a later cycle. The lag is then a multiple of the period.
    assert found.period_s is not None
    cycles = found.period_s / period_s
    assert abs(cycles - round(cycles)) * period_s < 2 * step
    assert found.line_share > 0.7


@pytest.mark.parametrize("seed", range(8))
def test_white_noise_is_not_periodic(seed: int) -> None:
    found = metrics.periodicity(np.random.default_rng(seed).normal(size=240), 0.5)
    assert not found.periodic
    assert found.line_share < 0.25


def test_a_drift_hides_a_cycle_until_it_is_removed() -> None:
    time = np.arange(0, 120, 0.5)
    drifting = 30 * np.sin(np.pi * time / 120) + np.sin(2 * np.pi * time / 4)
    assert metrics.periodicity(drifting, 0.5, trend_s=10).strength > 0.8
    assert metrics.periodicity(drifting, 0.5).strength < 0.3


def test_a_constant_series_has_no_period() -> None:
    found = metrics.periodicity(np.full(100, 5.0), 0.1)
    assert found.strength == 0 and found.period_s is None and found.line_share == 0


def test_dips_separate_periodic_from_random_drops() -> None:
    step = 0.1
    rate = np.full(1200, 2.0)
    for start in range(0, 1200, 40):
        rate[start : start + 10] = 0.1
    clockwork = metrics.dips(rate, step, 2.0)
    assert clockwork.count == 30 and clockwork.time_share == pytest.approx(0.25)
    assert clockwork.mean_interval_s == pytest.approx(4.0) and clockwork.interval_variation == pytest.approx(0)
    random = np.full(12_000, 2.0)
    random[np.random.default_rng(5).choice(12_000, 120, replace=False)] = 0.1
    variation = metrics.dips(random, step, 2.0).interval_variation
    assert variation is not None and 0.8 < variation < 1.2
    assert metrics.dips(np.full(10, 2.0), step, 2.0).mean_interval_s is None


# --- phase

TIME = np.arange(0, 120, 0.1)


def sawtooth(period_s: float, delay_s: float = 0.0) -> np.ndarray:
    """Returns a sawtooth from 0.5 to 1, like Reno's window."""
    return 0.5 + 0.5 * (((TIME - delay_s) / period_s) % 1.0)


def phase(a: np.ndarray, b: np.ndarray, **settings: float) -> metrics.Phase:
    return metrics.window_phase(TIME, a, TIME, b, 0, 120, **settings)


def test_phase_of_equal_and_opposite_oscillations() -> None:
    swing = np.sin(2 * np.pi * TIME / 10)
    together, against = phase(swing, 5 + 3 * swing), phase(swing, 5 - 3 * swing)
    assert together.verdict == "in phase" and together.correlation > 0.99 and together.agreement > 0.95
    assert against.verdict == "out of phase" and against.correlation < -0.99 and against.agreement < -0.8


def test_sawtooths_that_fall_together_are_in_phase_and_alternating_ones_are_not() -> None:
    assert phase(sawtooth(10), 8 * sawtooth(10)).verdict == "in phase"
    alternating = phase(sawtooth(10), sawtooth(10, delay_s=5))
    assert alternating.correlation < -0.3 and alternating.verdict == "out of phase"
    lag_s, best = metrics.window_lag(TIME, sawtooth(10), TIME, sawtooth(10, delay_s=3), 0, 120)
    assert lag_s == pytest.approx(3, abs=0.2) and best > 0.9


@pytest.mark.parametrize(("period_a", "period_b"), [(10.0, 3.7), (7.3, 2.1), (12.1, 4.3)])
def test_unrelated_sawtooths_have_no_phase_although_both_mostly_grow(period_a: float, period_b: float) -> None:
    a, b = sawtooth(period_a), sawtooth(period_b)
    same_way = np.mean((a[10:] > a[:-10]) == (b[10:] > b[:-10]))
    assert same_way > 0.5  # A detector that compares only the directions would report "in phase".
    assert phase(a, b).verdict == "neither"


def test_a_slow_common_growth_is_not_a_phase() -> None:
    # Both windows double over time, but their sawtooth oscillations are unrelated.
    a = sawtooth(10) + TIME / 60
    b = sawtooth(3.7) + TIME / 60
    assert np.corrcoef(a, b)[0, 1] > 0.8
    assert phase(a, b).verdict == "neither"


def test_simultaneous_growth_in_steps_is_found_without_loss() -> None:
    # Both windows grow for 1 s in every 4 s, together or alternately, and never fall.
    grows = (TIME % 4) < 1
    stairs, later = np.cumsum(grows), np.cumsum(np.roll(grows, 20))
    assert phase(stairs, stairs * 2, scale_s=0.5).agreement > 0.9
    assert phase(stairs, later, scale_s=0.5).agreement < -0.3


def test_falls_that_coincide_beyond_chance() -> None:
    slow, fast = sawtooth(20), sawtooth(5)
    # Each of the slow window's five reductions coincides with a reduction of the fast window. By chance, 20 % would
    # coincide, because the fast window is reduced every 5 s, and a reduction counts within 0.5 s before or after it.
    together = metrics.fall_coincidence(TIME, slow, TIME, fast, 1, 119, within_s=0.5)
    assert (together.falls, together.share) == (5, 1.0)
    assert together.chance == pytest.approx(0.2, abs=0.01) and together.lift == pytest.approx(5, rel=0.05)
    apart = metrics.fall_coincidence(TIME, slow, TIME, sawtooth(5, delay_s=2.5), 1, 119, within_s=0.5)
    assert apart.share == 0 and apart.lift == 0
    # If the intervals around reductions overlap, the overlapping time counts only once.
    assert metrics.fall_coincidence(TIME, slow, TIME, sawtooth(1), 1, 119).chance == pytest.approx(1, abs=0.02)
    never = metrics.fall_coincidence(TIME, TIME + 1, TIME, slow, 1, 119)
    assert never.falls == 0 and np.isnan(never.share)


def test_phase_needs_a_window_longer_than_its_scale() -> None:
    with pytest.raises(ValueError, match="too short"):
        metrics.window_phase(TIME, TIME, TIME, TIME, 0, 3, scale_s=1.0)
