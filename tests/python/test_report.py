"""Tests that the report is complete, self-contained and safe."""

import html
import re
import xml.etree.ElementTree as Xml
from html.parser import HTMLParser

import numpy as np
import pytest

import lopsided as lop
from lopsided.views import plot, svg
from lopsided.views.chart import Chart, Curve, Panel
from lopsided.views.plot import style

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(adsl_run) -> str:
    return adsl_run.report()


class _Loads(HTMLParser):
    """A parser that collects the URLs that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag in ("link", "iframe", "img", "object", "embed"):
            self.found.append(tag)
        self.found += [
            value for name, value in attrs if name in ("src", "href", "xlink:href") and not value.startswith("#")
        ]


def test_a_report_is_self_contained(page):
    loads = _Loads()
    loads.feed(page)
    assert loads.found == []
    assert not re.findall(r"url\((?!#)|@import", drawn(page))


def drawn(page):
    """Returns the HTML of a report without its scripts and their data."""
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_a_report_states_what_was_run(page, adsl_run):
    for text in (
        adsl_run.digest,
        "A download meets an upload",
        "download",
        "upload",
        "196 kbit/s",
        "&#34;15 packets&#34;",
    ):
        assert text in page


def test_a_report_has_every_figure_with_unique_ids(page):
    assert page.count("<svg") == len(plot.KINDS)
    ids = re.findall(r'<clipPath id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_report_has_every_note_of_its_figures(page, adsl_run):
    notes = {note for kind in ("goodput", "cwnd", "rtt", "queue") for note in plot.chart(adsl_run, kind).notes}
    own = notes - {"sim", "seed 1", f"digest {adsl_run.digest}"}
    assert len(own) >= 4
    shown = html.unescape(page).replace("\N{NO-BREAK SPACE}", " ")
    for note in own:
        assert note in shown, note


def test_a_report_follows_the_colour_scheme_of_the_reader(page):
    assert "prefers-color-scheme: dark" in page
    assert "var(--ink)" in page
    assert not re.search(rf"(?<!, ){style.INK}", drawn(page).split("</style>", 1)[1])


def test_text_of_figures_is_readable_on_a_dark_page():
    drawn = style.sheet("title", "", (1.0,), "time (s)")
    figure, panel = drawn.figure, drawn.panels[0]
    panel.plot([1, 2], label="a curve")
    panel.set_title("a panel")
    panel.legend()
    words = re.findall(r"<text[^>]*>", style.svg(figure, "salt"))
    assert len(words) > 3
    assert all("fill: var(--" in each for each in words)


def test_names_from_a_scenario_cannot_become_markup(adsl):
    run = adsl.with_(**{"scenario.title": "<script>alert(1)</script>", "scenario.duration": "10 s"}).run()
    report = run.report(play=True)
    assert "<script>alert" not in report and "<script" not in drawn(report)


def test_a_run_without_samples_has_a_report(adsl):
    run = adsl.with_(**{"record.interval": "0 s"}).run()
    page = run.report()
    assert "No samples were recorded" in page
    assert "<svg" not in page
    with pytest.raises(lop.UsageError, match="no samples"):
        run.plot("goodput")


def test_the_figures_of_a_report_come_from_matplotlib(adsl_run):
    for kind in plot.KINDS:
        drawn = Xml.fromstring(svg.svg(plot.chart(adsl_run, kind), salt=kind))
        said = {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
        for axes in adsl_run.plot(kind).axes:
            assert set(axes.get_ylabel().split("\n")) <= said
            assert {text.get_text() for text in axes.texts} <= said


def test_a_curve_with_gaps_is_drawn_in_pieces_and_stays_in_its_panel():
    x = np.arange(6.0)
    y = np.array([0.0, 1.0, np.nan, 2.0, np.nan, 4.0])
    curve = Curve(x, y, "#2471c8", 'a "curve" <of> & one')
    chart = Chart("T <b>", "&", "time (s)", 5.0, (Panel("kB", 4.0, 2.0, (curve,), names=((4.0, curve.name, "red"),)),))
    drawn = Xml.fromstring(svg.svg(chart, salt="x"))
    lines = [line.get("points") for line in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(line.split()) for line in lines] == [2, 1, 1]
    bottom, top = (float(lines[0].split()[0].split(",")[1]), float(lines[2].split(",")[1]))
    assert bottom - top == pytest.approx(2.0 * 72, abs=0.1)
    assert chart.data().rows() == [
        ("kB", curve.name, at, value) for at, value in zip(x, y, strict=True) if value == value
    ]


@pytest.mark.parametrize("end", [1e-6, 0.7, 1.0, 2.4, 23.0, 250.0, 1e9])
def test_ticks_are_few_round_and_inside_the_axis(end):
    ticks = svg.ticks(end, 5)
    values = [value for value, _ in ticks]
    assert 2 <= len(ticks) <= 6
    assert values[0] == 0
    assert values[-1] <= end * (1 + 1e-9)
    assert [float(text) for _, text in ticks] == pytest.approx(values)
