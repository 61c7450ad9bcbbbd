"""Tests heusse2011: the model's expression has known results, claims fail with opposite settings, and the reasons of
verdicts agree with the data."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lopsided.papers.framework.experiments import run_experiments
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Artifact, Figure, Overrides, Paper
from lopsided.papers.heusse2011 import model, setup
from lopsided.papers.heusse2011.claims import alternates, ratio_of_windows, sizing_helps, value
from lopsided.studies.jobs import run_jobs
from of_papers import outside_panels
from of_papers import test_reasons_state_only_measured_numbers as test_reasons_state_only_measured_numbers

PAPER = "heusse2011"


def test_equal_buffers_give_equal_throughputs_and_unequal_ones_their_ratio() -> None:
    for unit in setup.UNITS:
        assert model.windows(unit, 50, 50).ratio == pytest.approx(1)
    # ACKs need 26 bytes per segment of 1,500 bytes, so the ratio of the windows is slightly above 2.
    assert model.windows("bytes", 50, 25).ratio == pytest.approx(2, rel=0.03)
    # The ACKs for 50 segments use the space of 25 packets.
    assert model.windows("packets", 50, 35).ratio == pytest.approx((50 - 17.5) / (35 - 25))
    assert math.isnan(model.windows("packets", 50, 25).ratio)


def test_a_line_whose_buffer_drains_more_slowly_is_full() -> None:
    windows = model.windows("bytes", 50, 50)
    down, up = windows.shares(3e6, 1e6)
    # Data and ACKs fill the uplink, and the rates of both flows are equal.
    assert up * (1 + model.ack_room("bytes") * windows.ratio) == pytest.approx(1)
    assert down == pytest.approx(up / 3)


def _byte_buffers(paper: Paper, overrides: Overrides) -> Measurements:
    """Runs the cases whose buffers are limited in bytes, and have equal sizes or equal drain times in both directions.
    Uses one seed."""
    sizes = {(line.name, size) for line in setup.LINES for size in (line.matched, setup.DOWNLINK_BUFFER)}
    sweep = paper.experiment("sweep")
    cases = tuple(
        case
        for case in sweep.cases
        if case.labels["unit"] == "bytes" and (case.labels["line"], case.labels["uplink_packets"]) in sizes
    )
    return run_experiments(paper, [replace(sweep, cases=cases)], 1, run_jobs, overrides=overrides, keep_runs=False)


def test_windows_that_never_fill_a_buffer_do_not_oscillate(paper: Paper) -> None:
    right = _byte_buffers(paper, {})
    assert alternates.check(right).holds and sizing_helps.check(right).holds
    wrong = _byte_buffers(paper, {"stack.send_buffer": "12 KiB"})
    assert not alternates.check(wrong).holds and not sizing_helps.check(wrong).holds


@pytest.mark.slow
def test_equal_buffers_are_shared_equally_at_all_rates(m: Measurements) -> None:
    for line in setup.LINES:
        assert value(m, line, "ratio", setup.DOWNLINK_BUFFER).median == pytest.approx(1, rel=0.4), line.name


@pytest.mark.slow
def test_the_timeouts_explain_the_ratios_that_the_windows_do_not(m: Measurements) -> None:
    numbers = {each.name: each.value for each in ratio_of_windows.check(m).measured}
    for line in setup.LINES:
        for size in setup.BUFFERS:
            where = f"on {line.name} with {size} packets"
            quotient = numbers[f"throughput ratio over window ratio {where}"]
            assert abs(quotient - 1) <= 0.15 or numbers[f"the upload's timeouts {where}"] >= 10, where


@pytest.mark.slow
def test_the_figures_are_drawn_inside_their_panels(artifacts: dict[str, tuple[Figure, Artifact]]) -> None:
    assert {name for name, (_, each) in artifacts.items() if each.drawing} == {"Figure P", "Figure R", "Figure S"}
    assert all(artifact.data.height > 0 for _, artifact in artifacts.values())
    assert outside_panels(artifacts) == []
