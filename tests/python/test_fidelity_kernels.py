from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from lopsided.worlds import kernel
from reference.fidelity import kernels, renew, state
from reference.fidelity.records import Measurement, Records
from reference.fidelity.renew import Evidence, Old


def test_every_access_line_was_run_on_both_kernels():
    known = kernels.records()
    assert len(kernels.LINES) == 11
    for cell in kernels.ACCESS:
        assert kernel.refusals(cell.scenario()) == []
        assert known.get(cell, 1) is not None, cell.name


def test_a_change_is_off_only_beyond_its_bound_and_chance():
    change = kernels.Change("a line", "down", "goodput_bps", (2e6, 2e6), (2e6, 1.8e6), 0.01)
    assert change.is_off and change.row()[-1] == "**-10.0 ± 1.0**"
    assert not replace(change, chance=0.04).is_off
    assert not replace(change, sim=(2e6, 1.92e6)).is_off


def old(seed: int, value: float) -> Old:
    """Returns a recorded run. The version of the kernel world that produced it is unknown."""
    cell = kernels.CELLS[0]
    one = Measurement(cell.name, seed, {("down", "goodput_bps"): value}, "6.1.1 (timetravel)", cell.fingerprint())
    return Old("kernels.csv", cell, seed, cell.scenario(), one)


def test_values_are_compared_in_the_digits_of_the_record():
    recorded = Measurement("a", 1, {("down", "goodput_bps"): 1234.56, ("down", "retransmits"): 7.0})
    again = Measurement("a", 1, {("down", "goodput_bps"): 1234.5551, ("down", "retransmits"): 7.0})
    assert renew.differing(recorded, again) == []
    again.values["down", "retransmits"] = 8.0
    assert renew.differing(recorded, again) == ["down retransmits"]
    del again.values["down", "retransmits"]
    assert renew.differing(recorded, again) == ["down retransmits"]


def test_an_equal_sample_renews_its_group_and_a_different_sample_does_not(tmp_path: Path):
    runs = [old(seed, 1e6 + seed) for seed in range(1, 6)]
    chosen = renew.sample(runs, 2)
    assert chosen == renew.sample(runs, 2) and len(chosen) == 2

    def records(file: str) -> Records:
        return Records(tmp_path / file, ())

    records("kernels.csv").add(*(one.recorded for one in runs))
    same = renew.run_again(tmp_path, chosen[0], lambda one: one.renewed("6.1.2 (timetravel)"), records)
    assert same.differs == "" and renew.read(tmp_path) == [same]
    rest = [one for one in runs if one is not chosen[0]]
    differs = replace(Evidence.of(chosen[1], chosen[1].renewed("6.1.2 (timetravel)")), differs="down goodput_bps")
    assert renew.apply(rest, [same, differs], records) == {}
    assert renew.apply(rest, [same], records) == {same.group: 4}
    worlds = {(one.source, one.world) for one in records("kernels.csv").of(runs[0].cell.name)}
    assert worlds == {("6.1.2 (timetravel)", kernel.version_of(one.scenario, one.seed)) for one in runs}


def test_the_files_of_runs_name_cells_that_can_run():
    assert all(next(state.known(name), None) is not None for name in state.RECORDED)
