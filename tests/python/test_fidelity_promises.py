"""Tests the accuracy targets on the pages of docs/fidelity, and the function that finds outdated pages."""

from __future__ import annotations

from pathlib import Path

import pytest

import lopsided as lop
from lines import DOWNLOAD, line_of
from lopsided.papers.framework.claims import at_most, number
from reference.fidelity import freebsd, packets, promises, stamps, state
from reference.fidelity.promises import Promise
from reference.fidelity.records import Measurement
from reference.fidelity.stamps import Probe

LINE = line_of("1 s", "2 Mbit/s", "1 Mbit/s") + DOWNLOAD


@pytest.fixture
def probe():
    return Probe("a line", lop.Scenario.from_text(LINE, "line.toml"))


def test_a_promise_is_written_with_its_bound_and_result(tmp_path: Path):
    told = [Promise("Few.", at_most(3, [number("errors", value)])) for value in (2, 4)]
    page = tmp_path / "page.md"
    page.write_text("\n".join(["# A page", "", *promises.rows(told), "## More", "", "| no | target |", ""]))
    assert "| Few. | errors: at most 3 | errors: 2 | yes |" in page.read_text()
    assert "| Few. | errors: at most 3 | errors: 4 | **no** |" in page.read_text()
    assert promises.read(page) == [("Few.", True), ("Few.", False)]
    assert list(state.broken(tmp_path)) == [("page.md", "Few.")]


def test_a_page_is_stale_if_the_digest_of_a_run_changes(tmp_path: Path, probe: Probe):
    assert stamps.read(tmp_path) == {}
    stamps.write(tmp_path, "page.md", [probe])
    stamps.write(tmp_path, "other.md", [probe])
    assert stamps.read(tmp_path) == dict.fromkeys(("page.md", "other.md"), stamps.digests([probe]))
    changed = Probe(probe.name, probe.scenario.with_(**{"link.rtt": "21 ms"}))
    assert stamps.read(tmp_path)["page.md"] != stamps.digests([changed])


def test_every_page_has_its_command():
    known = {path.name for path in state.DOCS.glob("*.md")} - {"packetdrill.md", "queues.md"}
    assert known - {path.name for path in state.DOCS.glob("*causes.md")} == set(state.PAGES) - {"../fidelity.md"}


def test_few_equal_packets_break_the_promise():
    cell = Measurement("a", 1, {("all", "packets"): 900, ("first", "packets"): 100, ("parted", "packets"): 100})
    groups = {(group, control): [cell] for group in packets.SAME for control in packets.PLAIN}
    assert [one.verdict.holds for one in packets.promised(groups)] == [False] * 4


def test_a_buffer_far_from_freebsds_breaks_the_promise():
    of_freebsd = {"performance": [0.5, 0.5], "upload_timeouts": [3.0, 9.0]}
    near, far = ({"performance": [value], "upload_timeouts": [timeouts]} for value, timeouts in ((0.52, 5), (0.6, 10)))
    cells = [freebsd.Cell(freebsd.MAIN, 5, of_freebsd, near), freebsd.Cell(freebsd.MAIN, 10, of_freebsd, far)]
    assert [one.verdict.holds for one in freebsd.promised(cells[:1], 0.69)] == [True, True, True]
    performance, acks, timeouts = freebsd.promised(cells, 0.75)
    assert not (performance.verdict.holds or acks.verdict.holds or timeouts.verdict.holds)
    assert timeouts.row[2] == "buffer sizes with a number in the range: 1; not with buffers of 10 packets"
