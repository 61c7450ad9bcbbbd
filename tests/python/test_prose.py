"""Checks that `tools/prose` reports bad sentences and accepts good sentences."""

import pytest

from of_tools import load

prose = load("prose")

PLANTED = (
    ("x.md", "Of the buffer, in bytes of memory."),
    ("x.md", "What few links have."),
    ("x.md", "- What came in order now ends here."),
    ("x.md", "A link is told of it once."),
    ("x.md", "The option tells of the loss."),
    ("x.md", "It is refused, which nobody sees."),
    ("x.md", "Whoever waits is served."),
    ("x.md", "The count begins anew."),
    ("x.md", "Marks in place of drops."),
    ("x.md", "At most so many are replayed."),
    ("x.md", "It is held to Linux's own."),
    ("x.md", "It works as ever."),
    ("x.md", "`None` where the limit counts packets."),
    ("x.md", "The " + "very " * 40 + "long sentence ends here."),
    ("x.rs", "/// Of the first packet.\nfn f() {}"),
    ("x.rs", "//! Somebody may see it."),
    ("x.rs", "fn f() {\n    // What is left goes.\n}"),
    ("x.py", '"""What a run is."""'),
    ("x.py", "def f():\n    # Begun anew.\n    return 1"),
    ("x.py", 'def f():\n    """Held against a model."""'),
)


@pytest.mark.parametrize(("name", "text"), PLANTED)
def test_a_planted_sentence_is_found(name: str, text: str):
    assert prose.check(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.md", "The link stores the packet. It returns `None` if the queue is empty. Of course it may drop."),
        ("x.md", "What you get: a report."),
        ("x.md", "```\nOf the buffer, nobody knows anew.\n```"),
        ("x.md", "| of the buffer | anew |"),
        ("x.rs", 'fn f() { let s = "nobody anew"; }'),
        ("x.py", 'x = "in place of"'),
    ],
)
def test_plain_sentences_code_and_tables_pass(name: str, text: str):
    assert prose.check(name, text) == []


def test_an_area_has_at_most_its_allowed_findings():
    found = prose.check("docs/x.md", "It begins anew. It ends anew.")
    assert prose.too_many(found, [("docs/*", 2)]) == []
    assert [area for area, _, _ in prose.too_many(found, [("docs/*", 1)])] == ["docs/*"]
    assert [area for area, _, _ in prose.too_many(found, [])] == ["everywhere else"]


def test_an_allowance_needs_a_reason():
    assert prose.read_allowed("# a comment\ndocs/* | 3 | being rewritten") == [("docs/*", 3)]
    with pytest.raises(SystemExit, match="REASON"):
        prose.read_allowed("docs/* | 3 |")


def test_the_project_stays_within_its_allowances():
    areas = prose.read_allowed(prose.ALLOWED.read_text(encoding="utf-8"))
    found = [one for path in prose.tracked() for one in prose.check(prose._name(path), path.read_text("utf-8"))]
    assert prose.too_many(found, areas) == []
