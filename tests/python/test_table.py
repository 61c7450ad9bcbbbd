import numpy as np
import polars as pl
import pytest
from rich.console import Console

import lopsided as lop

pytestmark = pytest.mark.slow


@pytest.fixture
def table() -> lop.Table:
    frame = {
        "name": ["a", "b"],
        "goodput_bps": [2.2e6, None],
        "rtt_mean_ms": [0.25, 206.0],
        "cwnd_max_bytes": [162_000, 999],
    }
    return lop.Table(pl.DataFrame(frame))


def test_any_library_reads_a_table_through_arrow(table):
    class Foreign:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    assert pl.DataFrame(Foreign()).equals(table.to_polars())


def test_pandas_needs_no_pyarrow(table):
    pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame.columns) == table.columns
    assert frame["goodput_bps"].isna().tolist() == [False, True]


def test_values_are_shown_with_their_unit(table):
    for shown in (table._repr_html_(), _printed(table)):
        for text in ("goodput", "2.20 Mbit/s", "–", "250 µs", "206 ms", "162 kB", "999 B"):
            assert text in shown
        assert "_bps" not in shown


def test_html_is_escaped():
    assert "<b>" not in lop.Table(pl.DataFrame({"name": ["<b>"]}))._repr_html_()


def test_a_long_table_states_its_omitted_rows():
    long = lop.Table(pl.DataFrame({"flow": range(100)}))
    assert "and 60 more rows" in long._repr_html_()
    assert "and 60 more rows" in _printed(long)


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_the_file_extension_selects_the_format(table, tmp_path, ending):
    path = table.write(tmp_path / f"table.{ending}")
    read = getattr(pl, f"read_{ending}")(path)
    assert read["cwnd_max_bytes"].to_list() == [162_000, 999]
    with pytest.raises(lop.UsageError, match="written as"):
        table.write(tmp_path / "table.xls")


def _printed(table: lop.Table) -> str:
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_a_latex_table_has_readable_headings():
    frame = pl.DataFrame({"name": ["up & 100 %_{x}", "b\\c~^"], "goodput_bps": [2.4e6, None]})
    lines = lop.Table(frame).to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lr}" and lines[-1] == r"\end{tabular}"
    assert r"up \& 100 \%\_\{x\} & 2.40 Mbit/s \\" in lines
    assert r"b\textbackslash{}c\textasciitilde{}\textasciicircum{} & -- \\" in lines
    assert lop.Table(frame).to_latex("goodput_bps").splitlines()[0] == r"\begin{tabular}{r}"


def test_arrays_of_a_new_run_equal_its_frames(adsl_run):
    """Studies read arrays directly. Building a polars series would take longer than the rest of the study."""
    for table in (adsl_run.samples, adsl_run.queues, adsl_run.flows):
        frame = lop.Table(table.to_polars())
        for series in table.to_polars():
            if series.dtype == pl.String:
                words = series.drop_nulls().to_list()[:1]
                assert table.among(series.name, words).tolist() == series.is_in(words).to_list()
                assert frame.among(series.name, words).tolist() == series.is_in(words).to_list()
            elif series.dtype.is_numeric():
                expected = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
                for found in (table.numbers(series.name), frame.numbers(series.name)):
                    assert found.dtype == np.float64 and np.array_equal(found, expected, equal_nan=True), series.name
