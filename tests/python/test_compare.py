"""Tests comparisons between the simulator and the kernel world, and compares the simulator with recorded values of
Linux."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from lopsided.errors import UsageError
from lopsided.studies import compare
from lopsided.worlds import sim
from lopsided.worlds.kernel import KernelUnavailable, backend
from reference import fidelity
from reference.fidelity.records import Measurement

pytestmark = pytest.mark.slow

LINUX = Path(__file__).parents[2] / "docs" / "fidelity" / "linux.csv"


def row(sim: tuple[float, ...], kernel: tuple[float, ...], tolerance: float | None = 0.05) -> compare.Row:
    return compare.Row("download", "goodput_bps", {"sim": sim, "kernel": kernel}, tolerance)


def test_the_error_compares_medians_and_the_spread_compares_pairs():
    found = row((100.0, 110.0, 130.0), (100.0, 100.0, 100.0))
    assert found.error("sim", "kernel") == pytest.approx(0.10)
    assert found.spread("sim", "kernel") == pytest.approx((0.0, 0.30))
    assert found.exceeds("sim", "kernel")
    assert not replace(found, tolerance=0.2).exceeds("sim", "kernel")
    assert not replace(found, tolerance=None).exceeds("sim", "kernel")


def test_zero_in_both_worlds_is_not_an_error():
    assert row((0.0,), (0.0,)).error("sim", "kernel") == 0
    assert math.isnan(row((3.0,), (0.0,)).error("sim", "kernel"))
    assert math.isnan(row((math.nan,), (5.0,)).error("sim", "kernel"))
    assert not row((math.nan,), (5.0,)).exceeds("sim", "kernel")


def test_a_measurement_covers_only_its_window(adsl):
    run = adsl.run(seed=1)
    whole, late = compare.measure(run), compare.measure(run, (15.0, 20.0))
    assert late["upload", "goodput_bps"] > 0
    assert late["download", "retransmits"] <= whole["download", "retransmits"]
    assert compare.measure(run, (0.0, 20.0))["download", "rtt_mean_ms"] == pytest.approx(
        whole["download", "rtt_mean_ms"], rel=0.01
    )


def test_a_world_is_not_compared_with_itself(adsl):
    with pytest.raises(UsageError, match="two different worlds"):
        compare.compare(adsl, ("sim", "sim"))
    with pytest.raises(UsageError, match="no quantity"):
        compare.compare(adsl, ("sim", "kernel"), tolerances={"speed": 0.1})


def test_a_missing_kernel_is_reported_before_any_run(adsl, monkeypatch):
    monkeypatch.setattr(backend.build, "find_built", lambda _series: None)
    monkeypatch.setattr(sim, "run_many", lambda *_, **__: pytest.fail("it ran"))
    with pytest.raises(KernelUnavailable, match="run `lopsided kernel build`"):
        compare.compare(adsl, ("sim", "kernel"), kernel="timetravel")
    monkeypatch.setattr(backend, "KINDS", ("timetravel",))
    with pytest.raises(KernelUnavailable, match="no kernel to run in: `lopsided kernel build`"):
        compare.compare(adsl, ("sim", "kernel"))


def test_records_return_a_measurement_only_for_its_own_scenario(tmp_path: Path):
    cell = fidelity.CELLS[0]
    values = {("download", "goodput_bps"): 2875730.0}
    records = fidelity.records(tmp_path / "linux.csv")
    records.add(Measurement(cell.name, 7, values, "6.1 (timetravel)", cell.fingerprint(), "d"))
    again = fidelity.records(tmp_path / "linux.csv")
    found = again.get(cell, 7)
    assert found is not None
    assert found.values == values
    assert again.get(cell, 8) is None
    assert again.get(replace(cell, window=(1.0, 60.0)), 7) is None


@pytest.fixture(scope="module")
def errors() -> dict[tuple[str, str, str], float]:
    """Returns the simulator's relative errors against the recorded values of Linux. The keys are scenario, flow and
    metric."""
    records = fidelity.records(LINUX)
    found: dict[tuple[str, str, str], float] = {}
    for cell in fidelity.CELLS:
        measured = records.get(cell, 1)
        assert measured is not None, f"{cell.name} is not measured as it is now: run `make fidelity`"
        simulated = compare.measure(cell.scenario(1).run(seed=1), cell.window)
        for what, quantity in simulated:
            if quantity in compare.TOLERANCES:
                found[cell.name, what, quantity] = simulated[what, quantity] / measured.values[what, quantity] - 1
    return found


@pytest.mark.parametrize(("quantity", "bound"), compare.TOLERANCES.items())
def test_a_single_flow_matches_linux(errors: dict, quantity: str, bound: float):
    assert abs(errors["alone 3000/1000", "download", quantity]) < bound / 2


@pytest.mark.parametrize("line", [(2400, 196), (3000, 1000)])
@pytest.mark.parametrize("flow", ["download", "upload"])
@pytest.mark.parametrize(("quantity", "bound"), compare.TOLERANCES.items())
def test_median_errors_of_two_way_traffic_are_small(errors: dict, line, flow: str, quantity: str, bound: float):
    cells = [fidelity.two_way(*line, buffer).name for buffer in fidelity.BUFFERS]
    assert median(abs(errors[cell, flow, quantity]) for cell in cells) < bound
