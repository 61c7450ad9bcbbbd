"""What is kept of how many packets two worlds have in common."""

from __future__ import annotations

from pathlib import Path

from lopsided.studies.packets import Divergence
from reference.fidelity import packets


def test_what_was_found_is_read_back_and_told_by_group(tmp_path: Path):
    wanted = packets.cells()
    told = Divergence("client", "download", 0, 0.5, 0.1, False, 20, 42, ("ack", "syn_options"))
    first = packets.Place.of(told)
    same = packets.Measurement(wanted[0].name, 1, 900, None, None, "6.1", wanted[0].fingerprint(), "s", "k")
    other = packets.Measurement(wanted[1].name, 1, 800, first, first, "6.1", wanted[1].fingerprint(), "s", "k")
    records = packets.Records(tmp_path / "packets.csv")
    records.add(same)
    records.add(other)
    again = packets.Records(tmp_path / "packets.csv")
    assert again.get(wanted[0], 1) == same and again.get(wanted[1], 1) == other
    assert (same.same("parted"), other.same("parted")) == (900, 42)
    page = packets.render(again)
    assert "| alone | reno | 1 | 900 | 900 | 900 | to the end |" in page
    assert "| 42 | 0.500 | ack syn options (download at client) |" in page


def test_cells_have_names_of_their_own_and_every_group_has_the_plain_controls():
    wanted = packets.cells()
    assert len({cell.name for cell in wanted}) == len(wanted)
    assert {(cell.group, cell.control) for cell in wanted} >= {
        (group, control) for group in packets.GROUPS for control in packets.PLAIN
    }
