"""Checks the recorded number of packets that are equal on Linux and in the simulator."""

from __future__ import annotations

from pathlib import Path

from lopsided.studies.packets import Divergence
from reference.fidelity import packets


def test_results_are_read_back_and_shown_by_group(tmp_path: Path):
    wanted = packets.cells()
    told = Divergence("client", "download", 0, 0.5, 0.1, False, 20, 42, ("ack", "syn_options"))
    nowhere = {"first": None, "parted": None}
    same = packets.measurement(wanted[0], 900, nowhere, "s", "6.1", "k")
    other = packets.measurement(wanted[1], 800, dict.fromkeys(nowhere, told), "s", "6.1", "k")
    records = packets.records(tmp_path / "packets.csv")
    records.add(same)
    records.add(other)
    again = packets.records(tmp_path / "packets.csv")
    assert again.get(wanted[0], 1) == same and again.get(wanted[1], 1) == other
    assert (packets.same(same, "parted"), packets.same(other, "parted")) == (900, 42)
    assert packets.is_same(same) and not packets.is_same(other)
    page = packets.render(again)
    assert "| a single download | reno | 1 | 900 | 900 | 900 | to the end |" in page
    assert "| 42 | 0.500 | `ack`, `syn_options` | download | client |" in page


def test_cells_have_unique_names_and_every_group_has_the_plain_controls():
    wanted = packets.cells()
    assert len({cell.name for cell in wanted}) == len(wanted)
    assert {(cell.group, cell.control) for cell in wanted} >= {
        (group, control) for group in packets.GROUPS for control in packets.PLAIN
    }
