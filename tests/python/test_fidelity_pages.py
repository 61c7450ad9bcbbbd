"""Checks that the writers of the fidelity pages produce the committed texts, in the same lines. A page that is written
again then differs only in numbers."""

from __future__ import annotations

import pytest

from reference import fidelity
from reference.fidelity import ns3, packets, page, reference, values, variants
from reference.fidelity.records import DOCS, Measurement, Values
from reference.fidelity.tables import WIDTH, reflowed
from reference.fidelity.variants import page as variants_page

WRITTEN = [DOCS.parent / "fidelity.md", *DOCS.glob("*.md")]
NOT_BY_US = {"packetdrill.md"}
"""`tools/packetdrill/report` writes this page."""


LISTS = ("Differences above", "Errors above", "Cells with an error above")
"""The first words of headings of sections that list measured values."""


def texts(markdown: str) -> list[str]:
    """Returns the lines of a page without tables and without sections that list measured values."""
    sections = [each for each in markdown.split("\n## ") if not each.startswith(LISTS)]
    return [line for each in sections for line in each.split("\n") if line and not line.startswith("|")]


def written_again(name: str) -> str:
    """Writes a page as if the simulator had measured the same values as Linux, because simulating takes minutes."""

    def same(linux: list[Measurement]) -> dict[tuple[str, int], Values]:
        return {(one.cell, one.seed): one.values for one in linux}

    if name == "packets.md":
        return packets.render(packets.records(DOCS / "packets.csv"))
    if name == "variants.md":
        linux = variants.records(DOCS / "variants.csv").current(variants.runs())
        return variants_page.render(linux, same(linux), (DOCS / "variants-causes.md").read_text())
    records = fidelity.records(DOCS / "linux.csv")
    linux = records.current(fidelity.runs(range(1, 5)))
    if name == "values.md":
        return values.render(values.side_by_side(linux, same(linux)))
    beside = ns3.records(DOCS / "ns3.csv")
    ns3_runs = [one for cell in dict.fromkeys(cell for cell, _ in beside.measured()) for one in beside.of(cell)]
    measured = reference.shown(reference.values(DOCS / "reference.csv", range(1, 3)))
    return page.render(linux, same(linux), ns3_runs, measured + "\n" + (DOCS / "causes.md").read_text())


@pytest.mark.parametrize("name", ["../fidelity.md", "values.md", "variants.md", "packets.md"])
def test_a_page_that_is_written_again_has_the_committed_texts(name: str):
    assert texts(reflowed(written_again(name))) == texts((DOCS / name).read_text())


def test_paragraphs_of_all_pages_have_the_lines_of_the_writers():
    """`write_page` divides paragraphs into lines, so a page that was divided by hand would change when it is written
    again."""
    pages = [path for path in WRITTEN if path.name not in NOT_BY_US]
    assert len(pages) > 10
    for path in pages:
        text = path.read_text()
        assert reflowed(text) == text, path
        assert max(len(line) for line in text.split("\n") if not line.startswith(("|", "!"))) <= WIDTH, path


def test_only_paragraphs_and_list_items_are_divided():
    word = "packet " * 30
    text = f"# {word}\n\n{word}\n\n- {word}\n  {word}\n- one\n\n  | {word} |\n\n| {word} |\n```\n{word}\n```\n"
    lines = reflowed(text).split("\n")
    assert [len(line) > WIDTH for line in lines].count(True) == 4
    assert [line[:4] for line in lines if line] == [
        "# pa",
        *["pack"] * 2,
        "- pa",
        *["  pa"] * 2,
        "- on",
        "  | ",
        "| pa",
        "```",
        "pack",
        "```",
    ]
    assert reflowed("\n".join(lines)) == "\n".join(lines)
