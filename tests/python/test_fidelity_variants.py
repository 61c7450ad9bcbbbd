"""Tests the page docs/fidelity/variants.md, and the simulator's errors with different congestion controls on the two
slow lines."""

import math
from statistics import median

import pytest

from reference.fidelity import kept, variants
from reference.fidelity.records import DOCS, Measurement, Values
from reference.fidelity.variants import page, windows

pytestmark = pytest.mark.slow

RECORDS = variants.records(DOCS / "variants.csv")
SLOW_LINES = variants.LINES[:2]


@pytest.fixture(scope="module")
def simulated() -> dict[tuple[str, int], Values]:
    """Simulates all runs on the two slow lines that are recorded on Linux. Returns the values for each cell's name and
    seed."""
    runs = variants.runs()
    return kept.simulate([(cell, seed) for cell, seed in runs if cell.line in SLOW_LINES and RECORDS.get(cell, seed)])


@pytest.mark.parametrize("line", SLOW_LINES, ids=lambda line: line.name)
@pytest.mark.parametrize(("quantity", "bound"), page.MEDIAN_BOUNDS.items())
def test_a_single_flow_matches_linux(simulated, line, quantity, bound):
    errors = []
    for cell in variants.CELLS:
        if (cell.line, cell.traffic) == (line, "alone") and (linux := RECORDS.get(cell, 1)):
            errors.append(simulated[cell.name, 1]["tested", quantity] / linux.values["tested", quantity] - 1)
    assert len(errors) >= len(variants.CONTROLS)
    assert abs(median(errors)) < bound
    assert max(map(abs, errors)) < page.TAIL_BOUND


def test_the_records_belong_to_the_current_scenarios():
    known = {(cell.name, seed): cell for cell, seed in variants.runs()}
    for key in RECORDS.measured():
        assert key in known, key
        assert RECORDS.get(known[key], key[1]) is not None, f"{key} was measured of another scenario"


def test_records_are_read_back_as_they_were_written(tmp_path):
    cell = variants.CELLS[0]
    names = (("tested", quantity) for quantity in variants.QUANTITIES)
    numbers = dict(zip(names, (1e6, 20.5, math.nan, 3.0), strict=True))
    records = variants.records(tmp_path / "variants.csv")
    records.add(Measurement(cell.name, 1, numbers, "6.1", cell.fingerprint(), "d"))
    records.add(Measurement(variants.CELLS[1].name, 1, numbers, "6.1", "of another", "d"))
    again = variants.records(tmp_path / "variants.csv")
    found = again.get(cell, 1)
    assert found is not None
    assert found.values["tested", "rtt_mean_ms"] == 20.5
    assert again.get(variants.CELLS[1], 1) is None


def test_the_page_marks_values_beyond_the_bounds():
    cells = [cell for cell in variants.CELLS if cell.control == "reno"][:4]
    exact = {("tested", "goodput_bps"): 1e6, ("tested", "rtt_mean_ms"): 100.0}
    linux = [Measurement(cell.name, 1, exact, "6.1", "", "") for cell in cells]
    simulated = {
        (cell.name, 1): {("tested", "goodput_bps"): 1.04e6, ("tested", "rtt_mean_ms"): 104.0} for cell in cells
    }
    simulated[cells[0].name, 1]["tested", "rtt_mean_ms"] = 115.0
    text = page.render(linux, simulated, "")
    row = next(line for line in text.splitlines() if line.startswith("| all |"))
    assert row == "| all | 4 | **4.0 %** | 4.0 % | 4.0 % | 4.0 % | **13.3 %** | 15.0 % |"
    assert f"- {cells[0].name.removesuffix('alone')}single download: mean RTT +15.0 %" in text


def test_every_control_has_its_window_drawn_over_that_of_linux():
    curves = windows.Windows(DOCS / "windows.csv")
    missing = [control for control in variants.CONTROLS if curves.get(windows.CURVES[control]) is None]
    assert missing == []
    assert set(windows.CURVES) == {*variants.CONTROLS, *variants.OTHERS}
