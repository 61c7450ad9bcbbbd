"""The report: complete, self-contained, safe."""

import re
from html.parser import HTMLParser

import pytest

import lopsided as lop
from lopsided.views import plot

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(adsl_run) -> str:
    return adsl_run.report()


class _Loads(HTMLParser):
    """Collects everything a browser would fetch, and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "link", "iframe", "img", "object", "embed"):
            self.found.append(tag)
        self.found += [
            value for name, value in attrs if name in ("src", "href", "xlink:href") and not value.startswith("#")
        ]


def test_it_needs_nothing_from_elsewhere(page):
    loads = _Loads()
    loads.feed(page)
    assert loads.found == []
    assert not re.findall(r"url\((?!#)|@import", page)


def test_it_says_what_was_run(page, adsl_run):
    for text in (
        adsl_run.digest,
        "A download meets an upload",
        "download",
        "upload",
        "196 kbit/s",
        "&#34;15 packets&#34;",
    ):
        assert text in page


def test_every_figure_is_there_and_its_ids_are_its_own(page):
    assert page.count("<svg") == len(plot.KINDS)
    ids = re.findall(r'<clipPath id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_it_follows_the_readers_colours(page):
    assert "prefers-color-scheme: dark" in page
    assert "var(--ink)" in page
    assert not re.search(rf"(?<!, ){plot.style.INK}", page.split("</style>", 1)[1])


def test_names_from_a_scenario_cannot_become_markup(adsl):
    run = adsl.with_(**{"scenario.title": "<script>alert(1)</script>", "scenario.duration": "10 s"}).run()
    assert "<script" not in run.report()


def test_a_run_without_samples_has_a_report(adsl):
    run = adsl.with_(**{"record.interval": "0 s"}).run()
    page = run.report()
    assert "No samples were recorded" in page
    assert "<svg" not in page
    with pytest.raises(lop.UsageError, match="no samples"):
        run.plot("goodput")
