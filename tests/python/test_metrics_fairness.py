from __future__ import annotations

import math

import numpy as np
import pytest

from lopsided import metrics


def test_shares_sum_to_one() -> None:
    assert metrics.shares([30.0, 10.0]).tolist() == pytest.approx([0.75, 0.25])
    with pytest.raises(ValueError, match="every rate is zero"):
        metrics.shares([0.0, 0.0])
    with pytest.raises(ValueError, match="none may be negative"):
        metrics.shares([1.0, -1.0])


def test_max_min_on_a_parking_lot() -> None:
    # One flow crosses three links with rates of 10, 8 and 10 (in any unit). Each link also carries another flow. The
    # middle link is full first, with a rate of 4 per flow. The other flows on the outer links get the remaining 6.
    rates = metrics.max_min_rates([[0, 1, 2], [0], [1], [2]], [10, 8, 10])
    assert rates.tolist() == pytest.approx([4, 6, 4, 6])


def test_max_min_stops_at_a_limit_and_redistributes_the_rest() -> None:
    # If one of three flows is limited to a rate of 1 on a link with a rate of 10, the other two flows get 4.5 each.
    assert metrics.max_min_rates([[0], [0], [0]], [10], [1, None, None]).tolist() == pytest.approx([1, 4.5, 4.5])
    # The rate of a flow without a link is its own limit, or infinite.
    assert metrics.max_min_rates([[], []], [10], [None, 3]).tolist() == [math.inf, 3]
    with pytest.raises(ValueError, match="each flow needs a limit"):
        metrics.max_min_rates([[0]], [10], [1, 2])
    with pytest.raises(ValueError, match="above zero"):
        metrics.max_min_rates([[0]], [0])


def test_under_max_min_no_flow_can_improve() -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        capacities = rng.uniform(1, 10, 5)
        routes = [sorted(rng.choice(5, rng.integers(1, 4), replace=False)) for _ in range(8)]
        rates = metrics.max_min_rates(routes, capacities)
        load = [sum(rates[flow] for flow, route in enumerate(routes) if link in route) for link in range(5)]
        assert (np.array(load) <= capacities * (1 + 1e-9)).all()
        # This is the bottleneck condition: each flow crosses a full link on which no flow has a higher rate.
        for flow, route in enumerate(routes):
            full = [link for link in route if load[link] == pytest.approx(capacities[link])]
            assert any(
                rates[flow] >= max(rates[other] for other, way in enumerate(routes) if link in way) - 1e-9
                for link in full
            )


def test_jain_index_of_rates_with_unequal_entitlements() -> None:
    # If the entitled rates are 4 and 6, rates of 2 and 3 are fair. Rates of 3 and 3 are not fair: their index is
    # (0.75 + 0.5)^2 / (2 (0.5625 + 0.25)).
    assert metrics.jain_index(metrics.normalised_rates([2, 3], [4, 6])) == pytest.approx(1)
    assert metrics.jain_index(metrics.normalised_rates([3, 3], [4, 6])) == pytest.approx(1.5625 / 1.625)
    with pytest.raises(ValueError, match="fair rate"):
        metrics.normalised_rates([1, 1], [1])


def test_harm_is_relative_to_the_value_without_competition() -> None:
    # The examples are from the paper. The harm is 70 % if a rate falls from 10 to 3, and 75 % if a delay grows from
    # 20 ms to 80 ms.
    assert metrics.harm_to_rate(10, 3) == pytest.approx(0.7)
    assert metrics.harm_to_cost(20, 80) == pytest.approx(0.75)
    assert metrics.harm_to_rate(10, 12) == 0
    assert metrics.harm_to_cost(20, 10) == 0
    assert metrics.harm_to_cost(0, 0.01) == 1
    assert metrics.harm_to_cost(0, 0) == 0
    with pytest.raises(ValueError, match="alone"):
        metrics.harm_to_rate(0, 0)


def test_the_exponent_of_rtt_unfairness() -> None:
    # The rate is proportional to RTT^-exponent. A flow with 4 times the RTT of another flow gets half of the other
    # flow's rate if the exponent is 1/2, and 1/16 of the rate if the exponent is 2.
    assert metrics.rtt_unfairness_exponent(2, 1, 20, 80) == pytest.approx(0.5)
    assert metrics.rtt_unfairness_exponent(1, 16, 80, 20) == pytest.approx(2)
    assert metrics.rtt_unfairness_exponent(1, 2, 20, 80) == pytest.approx(-0.5)
    with pytest.raises(ValueError, match="equal round-trip"):
        metrics.rtt_unfairness_exponent(1, 2, 20, 20)


def test_shares_over_time_cover_the_bytes_of_each_window() -> None:
    time = np.arange(0.0, 11.0)
    # One flow delivers 10 bytes per second, and the other 30 bytes per second from 5 s on.
    counters = np.column_stack([10 * time, 30 * np.maximum(time - 5, 0)])
    when, share = metrics.shares_over_time(time, counters, 0, 10, 2)
    assert when.tolist() == list(range(2, 11))
    assert share[:, 1].tolist() == pytest.approx([0, 0, 0, 0, 30 / 50, 60 / 80, 60 / 80, 60 / 80, 60 / 80])
    _, nothing = metrics.shares_over_time(time, np.zeros((11, 2)), 0, 10, 2)
    assert np.isnan(nothing).all()


def ramp(shares: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Returns sample times, and the shares of two flows at these times. `shares` contains the share of the second flow
    at 0, 1, 2, ... s."""
    second = np.array(shares)
    return np.arange(len(second), dtype=float), np.column_stack([1 - second, second])


def test_convergence_begins_with_the_hold_time() -> None:
    time, share = ramp([0.1, 0.2, 0.3, 0.41, 0.45, 0.5, 0.52, 0.5])
    # From 3 s on, the share is within 20 % of the target 0.5.
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 0, within=0.2, hold_s=3) == 3
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 1, within=0.2, hold_s=3) == 2
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 0, within=0.1, hold_s=3) == 4
    # If the hold time ends after the last sample, the flows do not count as converged.
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 0, within=0.2, hold_s=5) is None


def test_a_crossing_is_not_convergence() -> None:
    time, share = ramp([0.1, 0.5, 0.9, 0.9, 0.9, 0.9])
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 0, hold_s=2) is None
    assert metrics.convergence_time_s(time, share, [0.1, 0.9], 0, hold_s=2) == 2
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 0, hold_s=0) == 1


def test_fairness_metrics_handle_gaps_and_reject_invalid_values() -> None:
    time, share = ramp([0.5, 0.5, math.nan, 0.5, 0.5, 0.5])
    assert metrics.convergence_time_s(time, share, [0.5, 0.5], 0, hold_s=2) == 3
    with pytest.raises(ValueError, match="column for each target"):
        metrics.convergence_time_s(time, share, [0.5], 0)
    with pytest.raises(ValueError, match="within"):
        metrics.convergence_time_s(time, share, [0.5, 0.5], 0, within=0)
