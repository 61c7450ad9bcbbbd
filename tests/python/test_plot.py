"""Tests the texts and the panels of figures, but not their appearance."""

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import lopsided as lop
from lopsided.views import plot
from lopsided.views.inks import LABEL_IN, moved_apart
from lopsided.views.plot import buffer_sizes, style

pytestmark = pytest.mark.slow


def texts(figure) -> str:
    return "\n".join(artist.get_text() for artist in figure.findobj(lambda artist: hasattr(artist, "get_text")))


@pytest.mark.parametrize("kind", plot.KINDS)
def test_every_figure_names_its_run_and_its_time_axis(adsl_run, kind):
    said = texts(adsl_run.plot(kind))
    for text in (adsl_run.digest, "seed 1", "sim", "time since the run began (s)", "A download meets an upload"):
        assert text in said


def test_the_goodput_figure_states_its_window_and_the_link_rates(adsl_run):
    said = texts(adsl_run.plot("goodput", window_s=0.5))
    for text in ("windows of 500 ms, no smoothing", "link 2.40 Mbit/s", "down (Mbit/s)", "up (kbit/s)"):
        assert text in said


def test_only_the_requested_flows_are_drawn(adsl_run):
    figure = adsl_run.plot("cwnd", flows=["upload"])
    assert len(figure.axes) == 1
    assert "download" not in texts(figure).replace("A download meets", "")


def test_an_impossible_figure_is_rejected(adsl_run):
    with pytest.raises(lop.UsageError, match="no plot called 'pie'; there are goodput"):
        adsl_run.plot("pie")
    with pytest.raises(lop.UsageError, match="no flow called nobody"):
        adsl_run.plot("rtt", flows=["nobody"])
    with pytest.raises(lop.UsageError, match="unexpected keyword argument"):
        adsl_run.plot("rtt", window_s=1)


def test_many_flows_are_drawn_as_a_cloud_with_their_mean(adsl):
    settings = {
        "flow.download.count": 12,
        "flow.download.start_jitter": "1 s",
        "scenario.duration": "5 s",
        "flow.upload.start": "1 s",
    }
    said = texts(adsl.with_(**settings).run().plot("goodput"))
    assert "12 flows" in said
    assert "download.3" not in said


def test_thinning_keeps_every_peak():
    time = np.arange(100_000.0)
    value = np.zeros(100_000)
    value[[7, 54_321]] = 1, -1
    value[60_000:70_000] = np.nan
    kept_time, kept = style.thin_out(time, value, points=100)
    assert len(kept) < 300
    assert 7 in kept_time
    assert 54_321 in kept_time
    assert np.isnan(kept).any()
    assert (np.diff(kept_time) > 0).all()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_are_saved(adsl_run, tmp_path, ending):
    path = tmp_path / f"figure.{ending}"
    style.save(adsl_run.plot("rtt"), path)
    assert path.stat().st_size > 1000


def test_curve_labels_stay_next_to_the_panel_without_overlap():
    labels = [(7.78, "one", ""), (7.79, "two", ""), (3.0, "three", ""), (7.80, "four\nlines", "")]
    placed = moved_apart(labels, 0, 8, 2)
    step = 8 * LABEL_IN / 2
    assert [text for _, text, _ in placed] == ["three", "one", "two", "four\nlines"]
    heights = [step * (1 + text.count("\n")) for _, text, _ in placed]
    assert placed[0][0] == 3 and placed[-1][0] == 8
    for (lower, *_), (upper, *_), below, above in zip(placed, placed[1:], heights, heights[1:], strict=False):
        assert upper - lower >= (below + above) / 2 - 1e-9


def test_a_page_names_the_curves_also_where_their_ends_are_outside_the_screen(adsl_run):
    sheet = style.sheet("", "", (1.9,), "time (s)")
    style.end_labels(sheet.panels[0], [(1.0, "down & up", style.RED), (0.5, "upload", style.INK)])
    page = style.svg(sheet.figure, salt="ends")
    ends = page.partition('<p class="ends">')[2]
    names = re.findall(r'<span style="color: (?:var\(--[a-z0-9-]+, )?(#\w+)\)?">([^<]*)</span>', ends)
    assert names == [(style.RED, "down &amp; up"), (style.INK, "upload")]
    assert '<svg style="--width: 8.4"' in page
    assert 'class="ends"' not in style.svg(adsl_run.plot("drops"), salt="drops")


def test_small_panels_and_heat_maps_fit_a_journal_column():
    with style.for_column("single"):
        figure, panels = style.small_panels("Title", "", ["a", "b"], 2)
    assert figure.get_figwidth() == 3.5 and not figure.texts
    first, second = (panel.get_position() for panel in panels)
    assert first.x0 == second.x0 and first.y0 > second.y1


@pytest.mark.parametrize("top", [2, 0.155, 12_345, 0.000_123])
def test_labels_of_the_y_axis_leave_room_for_the_tick_labels_in_a_column(top):
    with style.for_column("single"):
        sheet = style.sheet("", "", (1.9, 1.9), "time (s)", end_labels=False)
        for panel, highest in zip(sheet.panels, (9, top), strict=True):
            panel.set_ylim(0, highest)
            panel.set_ylabel("goodput")
        style.small_print(sheet.figure)
    canvas = FigureCanvasAgg(sheet.figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    labels = [panel.yaxis.label.get_window_extent(renderer) for panel in sheet.panels]
    ticks = [text.get_window_extent(renderer) for panel in sheet.panels for text in panel.get_yticklabels()]
    assert labels[0].x0 == labels[1].x0 >= 0
    assert min(tick.x0 for tick in ticks) - labels[0].x1 > 0.01 * sheet.figure.dpi
    assert sheet.panels[0].get_position().x1 == pytest.approx(1 - 0.12 / 3.5)


def test_a_label_of_a_line_crosses_no_other_line():
    sheet = style.sheet("", "", (3.2,), "")
    marks = [
        buffer_sizes.Mark(100, style.INK, "recommended: 100 packets, 121 ms when full", 0.05),
        buffer_sizes.Mark(145, style.INK, "Merritt's model: 145", 0.13),
    ]
    buffer_sizes.draw_marks(sheet.panels[0], marks, 357)
    advised, model = sheet.panels[0].lines
    assert list(advised.get_ydata()) == [0, 1] and list(model.get_ydata()) == [pytest.approx(0.09), 1]


def test_all_bars_are_one_path_that_is_not_simplified():
    sheet = style.sheet("bars", "", (1.0,), "time (s)")
    count = 500
    style.bars(
        sheet.panels[0], range(count), [0.0] * count, [0.001] * (count - 1) + [1.0], color="#123456", linewidth=1
    )
    drawn = re.findall(r'<path d="([^"]*)"[^>]*#123456', style.svg(sheet.figure, salt="bars"))
    assert [(path.count("M"), path.count("L")) for path in drawn] == [(count, count)]
