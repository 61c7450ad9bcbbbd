"""The simulator compared with an earlier measurement of Linux."""

from pathlib import Path

import pytest

from reference.fidelity import reference

pytestmark = pytest.mark.slow

RECORDED = Path(__file__).parents[2] / "docs" / "fidelity" / "reference.csv"


@pytest.fixture(scope="module")
def cells() -> list[reference.Cell]:
    return reference.cells(RECORDED, range(1, 9))


def test_the_mean_over_the_cells_matches_linux(cells: list[reference.Cell]) -> None:
    """Two competing flows are chaotic, so single cells vary; over ten cells, the errors must average out."""
    for quantity in reference.QUANTITIES:
        errors = [cell.error(quantity) for cell in cells]
        assert abs(sum(errors) / len(errors)) < 0.03, (quantity, errors)


@pytest.mark.parametrize("quantity", reference.QUANTITIES)
def test_errors_of_single_cells_are_bounded(cells: list[reference.Cell], quantity: str) -> None:
    """In these cells, Linux's own means of four runs differ by up to 10 % between sets of runs."""
    for cell in cells:
        assert abs(cell.error(quantity)) < 0.12, (cell.buffer, cell.linux[quantity], cell.simulated[quantity])


def test_the_collapse_is_where_linux_has_it(cells: list[reference.Cell]) -> None:
    """With up to 15 packets of buffer, the download gets at least 90 % of its goodput with 5 packets; with 50
    packets, about half."""
    goodput = {cell.buffer: sum(cell.simulated["download_goodput_kbps"]) / 8 for cell in cells}
    assert goodput[15] > 0.9 * goodput[5]
    assert 0.4 < goodput[50] / goodput[5] < 0.6
