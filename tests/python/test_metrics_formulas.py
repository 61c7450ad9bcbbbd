"""Compares closed-form metrics with published numbers, or with numbers calculated by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lopsided import metrics


def test_performance_is_the_worse_direction() -> None:
    # The download uses 50 % of the downlink, and the upload uses 25 % of the uplink. The metric is the smaller of the
    # two.
    assert metrics.min_normalised_goodput(1.2e6, 49e3, 2.4e6, 196e3) == pytest.approx(0.25)
    # This metric hides that the upload starves: the sum of both goodputs is 1,249 kbit/s, and the sum of both rates is
    # 2,596 kbit/s.
    assert metrics.normalised_net_goodput(1.2e6, 49e3, 2.4e6, 196e3) == pytest.approx(1249 / 2596)
    assert metrics.asymmetry_ratio(2.4e6, 196e3) == pytest.approx(12.24, abs=0.005)
    with pytest.raises(ValueError, match="uplink rate"):
        metrics.min_normalised_goodput(1.0, 1.0, 1.0, 0.0)


def test_performance_bound_fills_exactly_one_direction() -> None:
    for down, up in ((3e6, 1e6), (2.4e6, 196e3), (3e6, 100e3), (1e6, 1e6)):
        share = metrics.two_way_performance_bound(down, up)
        uplink = share * up * 1514 / 1448 + share * down / (2 * 1448 * 8) * 66 * 8
        downlink = share * down * 1514 / 1448 + share * up / (2 * 1448 * 8) * 66 * 8
        assert max(uplink / up, downlink / down) == pytest.approx(1.0)
    # Without ACKs, only headers reduce the bound. With one ACK per segment, there are twice as many ACKs on the uplink
    # as with delayed ACKs.
    assert metrics.two_way_performance_bound(2.4e6, 196e3, ack_bytes=0) == pytest.approx(1448 / 1514)
    assert metrics.two_way_performance_bound(2.4e6, 196e3) == pytest.approx(0.755, abs=0.001)
    assert metrics.two_way_performance_bound(2.4e6, 196e3, segments_per_ack=1) == pytest.approx(0.623, abs=0.001)


def test_jain_index_from_equal_to_all_to_one() -> None:
    assert metrics.jain_index([3.0, 3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert metrics.jain_index([5.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert metrics.jain_index([1.0, 2.0]) == pytest.approx(9 / 10)
    assert metrics.jain_index([1e6, 2e6]) == pytest.approx(metrics.jain_index([1.0, 2.0]))
    for bad in ([], [0.0, 0.0], [1.0, -1.0]):
        with pytest.raises(ValueError):
            metrics.jain_index(bad)


def test_throughput_and_window_ratios() -> None:
    assert metrics.throughput_ratio(1.1e6, 2.2e6) == pytest.approx(0.5)
    assert metrics.cwnd_efficiency_ratio(60_000, 15_000) == pytest.approx(4.0)
    with pytest.raises(ValueError):
        metrics.throughput_ratio(1.0, 0.0)


def test_rank_correlation_depends_only_on_order() -> None:
    x = np.arange(1.0, 9.0)
    assert metrics.rank_correlation(x, np.exp(x)) == pytest.approx(1)
    assert metrics.rank_correlation(x, -(x**3)) == pytest.approx(-1)
    assert metrics.rank_correlation(x, np.full(8, 2.0)) == 0
    # Equal values share a mean rank: the correlation of (1, 2.5, 2.5, 4) with (1, 2, 3, 4) is 4.5 / sqrt(4.5 * 5).
    assert metrics.rank_correlation([1, 2, 3, 4], [5, 7, 7, 9]) == pytest.approx(np.sqrt(0.9))
    with pytest.raises(ValueError, match="missing"):
        metrics.rank_correlation([1, 2], [1, float("nan")])


def test_buffer_sizes_by_rules_of_thumb() -> None:
    # 2.4 Mbit/s times 200 ms is 60 kB or 40 packets. The rule for four flows is half of this buffer.
    assert metrics.bandwidth_delay_product_bytes(2.4e6, 0.2) == pytest.approx(60_000)
    assert metrics.one_bdp_buffer_packets(2.4e6, 0.2) == pytest.approx(40)
    assert metrics.many_flow_buffer_packets(2.4e6, 0.2, 4) == pytest.approx(20)
    with pytest.raises(ValueError, match="flows"):
        metrics.many_flow_buffer_packets(2.4e6, 0.2, 0)


@pytest.mark.parametrize(
    ("packets", "uplink_bps", "rtt_s", "difference_bytes"),
    # From Merritt (2010): buffer estimates in packets (table 6.2), uplink rates, RTTs (table 6.1), and the window
    # differences that these values imply (MER-M08).
    [(25, 1e6, 0.140, 110_000), (17, 196e3, 0.200, 60_800), (30, 100e3, 0.160, 94_000)],
)
def test_uplink_bound_and_its_inverse(packets: int, uplink_bps: float, rtt_s: float, difference_bytes: float) -> None:
    assert metrics.window_difference_for_bound_bytes(packets, rtt_s, uplink_bps) == pytest.approx(difference_bytes)
    bound = metrics.uplink_buffer_bound_packets(difference_bytes + 9_000, 9_000, rtt_s, uplink_bps)
    assert bound == pytest.approx(packets)


def test_uplink_bound_is_where_the_phase_rule_turns() -> None:
    # Equation 6.6 of Merritt (2010) equals equation 2.5 if the RTT includes the time in which the buffer drains
    # (equation 6.5). With a slightly smaller buffer, the windows are out of phase.
    w_down, w_up, rtt_s, uplink_bps = 75_000.0, 20_000.0, 0.18, 256e3
    bound = metrics.uplink_buffer_bound_packets(w_down, w_up, rtt_s, uplink_bps)
    for packets, phase in ((bound - 0.01, "out of phase"), (bound + 0.01, "in phase")):
        delay_s = rtt_s + metrics.drain_time_s(packets, uplink_bps)
        assert metrics.two_way_phase(w_down, w_up, metrics.bandwidth_delay_product_bytes(uplink_bps, delay_s)) == phase


def test_drain_time_is_linear_in_packets() -> None:
    assert metrics.drain_time_s(5, 196e3) == pytest.approx(0.306, abs=5e-4)
    assert metrics.drain_time_s(50, 196e3) == pytest.approx(3.061, abs=5e-4)


def test_diagonal_crossing_is_interpolated() -> None:
    sizes = np.arange(5.0, 55.0, 5.0)
    # The curve "estimate = 30 - size / 2" crosses the diagonal at 20.
    crossing = metrics.diagonal_crossing(sizes, 30 - sizes / 2)
    assert crossing.packets == pytest.approx(20) and crossing.side == "crosses"
    # A constant estimate of 18 packets crosses the diagonal between two of the tested sizes.
    assert metrics.diagonal_crossing(sizes, np.full(10, 18.0)).packets == pytest.approx(18)


def test_diagonal_crossing_with_no_and_with_several_crossings() -> None:
    sizes = np.array([5.0, 10.0, 15.0, 20.0])
    above = metrics.diagonal_crossing(sizes, sizes + 4)
    below = metrics.diagonal_crossing(sizes, sizes - 4)
    assert (above.packets, above.side, below.packets, below.side) == (None, "above", None, "below")
    # The curve crosses down, up and down. The first downward crossing is the threshold.
    wavy = metrics.diagonal_crossing(sizes, sizes + np.array([2.0, -2.0, 2.0, -2.0]))
    assert wavy.packets == pytest.approx(7.5)
    assert wavy.every == pytest.approx((7.5, 12.5, 17.5))
    with pytest.raises(ValueError, match="increase"):
        metrics.diagonal_crossing([5, 5], [6, 4])


def test_appendix_download_averages_split_by_rows() -> None:
    time = [0.0, 1.0, 2.0, 3.0]
    averages = metrics.download_averages(time, [100e3, 100e3, 400e3, 600e3], [10e3, 20e3, 30e3, 50e3], 1.0, 2.4e6)
    assert averages.cwnd_alone_bytes == 15e3 and averages.cwnd_both_bytes == 40e3
    assert averages.throughput_alone_bps == pytest.approx(15e3 * 8 / 0.1)
    assert averages.throughput_both_bps == pytest.approx(40e3 * 8 / 0.5)
    assert averages.bdp_both_bytes == pytest.approx(2.4e6 * 0.5 / 8)
    with pytest.raises(ValueError, match="split"):
        metrics.download_averages(time, time, time, 9.0, 1.0)


def test_appendix_uploads_maxima_and_performance() -> None:
    upload = metrics.upload_averages([1e6, 3e6], [8e3, 16e3])
    assert (upload.cwnd_bytes, upload.rtt_us, upload.throughput_bps) == (12e3, 2e6, pytest.approx(48e3))
    assert metrics.maximum_cwnd_bytes([1.0, 7.0, 3.0]) == 7.0
    row = metrics.performance_row(1.2e6, 98e3, 2.4e6, 196e3)
    assert (row.down, row.up, row.net) == (pytest.approx(0.5), pytest.approx(0.5), pytest.approx(0.5))


def test_appendix_estimate_rounds_down_twice() -> None:
    # The window difference of 60,801 bytes is halved and rounded down to 30,400 bytes. Subtracting 4,900 bytes leaves
    # 25,500 bytes, which are exactly 17 packets of 1,500 bytes.
    assert metrics.estimated_buffer_packets(70_801, 10_000, 4_900) == 17
    assert metrics.estimated_buffer_packets(70_799, 10_000, 4_900) == 16
    # Integer division rounds towards minus infinity.
    assert metrics.estimated_buffer_packets(10_000, 10_000, 100) == -1


def test_appendix_rtt_variability_uses_the_late_rows() -> None:
    spread = metrics.rtt_variability([0, 1, 2, 3], [9e9, 100.0, 300.0, 500.0], 1.0)
    assert spread.variance_us2 == pytest.approx(80_000 / 3)
    assert spread.std_us == pytest.approx(math.sqrt(80_000 / 3))


def test_a_slow_return_path_limits_a_download() -> None:
    # Balakrishnan et al. (1999), section 4.2.1: packets of 1 kB, and delayed ACKs of 52 B (SLIP) or 18 B (compressed).
    of_slip, of_cslip = (10e6, 28.8e3, 1000, 52), (10e6, 28.8e3, 1000, 18)
    assert metrics.normalised_bandwidth_ratio(*of_slip) == pytest.approx(18.05, abs=0.01)
    assert metrics.normalised_bandwidth_ratio(*of_cslip) == pytest.approx(6.25)
    assert metrics.ack_limited_bps(*of_slip, 2) / 1e6 == pytest.approx(1.1, abs=0.01)
    assert metrics.ack_limited_bps(*of_cslip, 2) / 1e6 == pytest.approx(3.2)
    assert metrics.ack_limited_bps(10e6, 10e6, 1000, 52, 2) == 10e6, "never more than the line"
    # Section 7.1.3 of the same paper assumes 280 ms for a packet of 1 kB at 28.8 kbit/s.
    assert metrics.blocked_window_bps(100e3, 1000, 28.8e3) / 1e6 == pytest.approx(2.85, rel=0.02)
    with pytest.raises(ValueError, match="ACK"):
        metrics.normalised_bandwidth_ratio(1.0, 1.0, 1.0, 0.0)


def test_the_confidence_interval_uses_students_t():
    found = metrics.mean_interval([1, 2, None, 3, 4, 5, float("nan")])
    assert (found.mean, found.of) == (3, 5)
    assert found.half_width == pytest.approx(2.776 * math.sqrt(2.5 / 5))
    assert (found.low, found.high) == (3 - found.half_width, 3 + found.half_width)
    assert math.isnan(metrics.mean_interval([7]).half_width) and math.isnan(metrics.mean_interval([]).mean)
    # Printed tables of Student's t contain these values for 40, 60 and 120 degrees of freedom.
    assert [metrics.t95(freedom) for freedom in (40, 60, 120)] == pytest.approx([2.021, 2.000, 1.980], abs=6e-4)


def test_differences_between_strata_do_not_widen_the_interval():
    found = metrics.stratified_interval([[1, 3, None], [11, 13]])
    # Both variances are 2. The two means use 2 of the 4 degrees of freedom, so t is 4.303.
    assert (found.mean, found.of) == (7, 4)
    assert found.half_width == pytest.approx(4.303 * math.sqrt(2 * (1 / 2 + 1 / 2) / 4))
    assert metrics.stratified_interval([[1, 2, 3]]) == metrics.mean_interval([1, 2, 3])
    # All strata have equal weight.
    assert metrics.stratified_interval([[1], [11, 13]]).mean == pytest.approx(6.5)
    assert math.isnan(metrics.stratified_interval([[1], [2]]).half_width)
    draws = np.random.default_rng(2).normal(0, 3, (2000, 2, 4)) + np.array([[[5], [15]]])
    held = sum(abs(each.mean - 10) <= each.half_width for each in map(metrics.stratified_interval, draws))
    assert 0.935 <= held / len(draws) <= 0.965


def test_the_interval_contains_the_mean_in_95_percent_of_samples():
    draws = np.random.default_rng(1).normal(10, 3, (2000, 5))
    held = sum(low <= 10 <= high for low, high in ((each.low, each.high) for each in map(metrics.mean_interval, draws)))
    assert 0.935 <= held / len(draws) <= 0.965
