"""Tests lakshman2000: the model's expressions have known results, and claims fail with opposite settings."""

from __future__ import annotations

import pytest

from lopsided import metrics
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Figure, Paper
from lopsided.papers.lakshman2000 import claims, model, setup
from of_papers import one_seed, outside_panels
from of_papers import test_reasons_state_only_measured_numbers as test_reasons_state_only_measured_numbers

PAPER = "lakshman2000"


def test_the_reverse_rate_gives_the_asymmetry() -> None:
    for k in setup.ASYMMETRIES:
        reverse = model.reverse_rate_bps(setup.FORWARD_BPS, k)
        found = metrics.normalised_bandwidth_ratio(setup.FORWARD_BPS, reverse, model.PACKET_BYTES, model.ACK_BYTES)
        assert found == pytest.approx(k)


def test_a_sawtooth_uses_75_percent_without_a_buffer_and_all_with_one_bdp() -> None:
    assert model.without_loss(1, 0.0, 10, 50) == 1.0  # A burst of one packet always passes.
    assert model.without_loss(0.5, 1e-9 + 0.5, 10, 50) == pytest.approx(0.75, abs=0.01)
    assert model.without_loss(1, 50, 10, 50) == 1
    # With a buffer of 10 packets, 11 packets of a burst of 40 are delivered.
    assert model.without_loss(40, 10, 10, 50) == pytest.approx(11 / 40)


def test_the_expressions_under_loss_meet_where_the_reverse_link_starts_to_limit() -> None:
    # Losses limit the throughput to sqrt(1.5 / p) / pipe. The reverse link limits it to 1 / k. The limits are equal if
    # the loss rate p is 1.5 (k / pipe)^2.
    for k in (2, 8):
        edge = 1.5 * (k / 50) ** 2
        free, limited = (model.with_loss(edge * factor, k, 0, 50) for factor in (1.0001, 0.9999))
        assert free == pytest.approx(1 / k, rel=1e-3) and limited == pytest.approx(free, rel=1e-3)
    # If the reverse link limits ACKs, the throughput halves when the loss rate grows by a factor of 8.
    one, eight = (model.with_loss(loss, 8, 0, 50) for loss in (1e-4, 8e-4))
    assert one / eight == pytest.approx(2)


def test_a_fast_reverse_link_is_fair(paper: Paper) -> None:
    assert claims.reverse_congestion_is_unfair.check(one_seed(paper, "shared", {})).holds
    fast = one_seed(paper, "shared", {"link.up.rate": "1 Mbit/s"})
    assert not claims.reverse_congestion_is_unfair.check(fast).holds


def test_the_claim_about_front_drop_fails_without_front_drop(paper: Paper) -> None:
    assert claims.front_performs_better.check(one_seed(paper, "front", {})).holds
    alike = one_seed(paper, "front", {"link.up.queue.drop": "tail"})
    assert not claims.front_performs_better.check(alike).holds


@pytest.mark.slow
def test_the_bound_of_bursts_holds_in_every_run(m: Measurements) -> None:
    for forward in setup.FORWARD_BUFFERS:
        for k in setup.ASYMMETRIES:
            if k > forward:
                bound = model.without_loss(k, forward, setup.REVERSE_BUFFER, setup.PIPE)
                assert claims.utilisation(m, forward, k) <= bound + 0.02, (forward, k)


@pytest.mark.slow
def test_the_expression_under_loss_is_close_to_the_simulation(m: Measurements) -> None:
    for rtt, k, loss, _, found in claims.lossy(m):
        expected = model.with_loss(loss, k, setup.LOSSY_REVERSE_BUFFER, claims.pipe(rtt))
        assert found == pytest.approx(expected, abs=0.2), (rtt, k, loss)


@pytest.mark.slow
def test_the_figures_are_drawn_inside_their_panels(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    assert list(artifacts) == ["Figure K", "Figure P", "Figure X", "Figure D", "Figure J"]
    assert all(artifact.drawing and artifact.data.height > 0 for _, artifact in artifacts.values())
    assert outside_panels(artifacts) == []
