"""Run folders: there and back, and what is refused."""

import json

import pytest

import lopsided as lop
from lopsided.data import run_folder as folders
from lopsided.data.catalogue import run_tables


@pytest.fixture
def saved(adsl_run, tmp_path):
    return adsl_run.save(tmp_path / "run", report=False)


def test_a_run_is_read_back_as_it_was(adsl_run, saved):
    again = lop.Run.load(saved)
    assert (again.digest, again.seed, again.world, again.made) == (adsl_run.digest, 1, "sim", adsl_run.made)
    assert again.facts == adsl_run.facts
    assert again.scenario.resolved == adsl_run.scenario.resolved
    for table in run_tables():
        assert getattr(again, table).to_polars().equals(getattr(adsl_run, table).to_polars()), table


def test_the_scenario_in_the_folder_runs_to_the_same_digest(adsl_run, saved):
    assert lop.Scenario.load(saved / "scenario.toml").run(seed=adsl_run.seed).digest == adsl_run.digest


def test_an_earlier_run_is_replaced_only_if_asked(adsl_run, saved):
    with pytest.raises(lop.FolderError, match="already holds a run"):
        adsl_run.save(saved, report=False)
    (saved / "notes.txt").write_text("mine")
    adsl_run.save(saved, overwrite=True, report=False)
    assert (saved / "notes.txt").read_text() == "mine"


def test_other_peoples_files_are_never_touched(adsl_run, tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(lop.FolderError, match="not a run"):
        adsl_run.save(tmp_path, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_no_folder(adsl_run, tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(lop.FolderError, match="is a file"):
        adsl_run.save(tmp_path / "run")


@pytest.mark.parametrize(("version", "age"), [(0, "an older"), (folders.FORMAT + 1, "a newer")])
def test_another_format_is_refused_with_what_to_do(saved, version, age):
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": version}))
    with pytest.raises(lop.FolderError, match=f"{age} lopsided .* run its scenario.toml again"):
        lop.Run.load(saved)


@pytest.mark.parametrize("damage", ["{", "{}", "[]", '{"format": "x"}'])
def test_a_damaged_manifest_is_told(saved, damage):
    (saved / "manifest.json").write_text(damage)
    with pytest.raises(lop.FolderError, match="damaged"):
        lop.Run.load(saved)


def test_a_missing_or_damaged_table_is_told(saved):
    (saved / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(lop.FolderError, match="damaged"):
        lop.Run.load(saved)
    (saved / "flows.parquet").unlink()
    with pytest.raises(lop.FolderError, match="damaged"):
        lop.Run.load(saved)


def test_what_is_no_run_folder(tmp_path):
    with pytest.raises(lop.FolderError, match="does not exist"):
        lop.Run.load(tmp_path / "nothing")
    with pytest.raises(lop.FolderError, match="not a run folder"):
        lop.Run.load(tmp_path)


def test_a_run_that_came_to_nothing_leaves_nothing(tmp_path):
    folder = folders.prepare(tmp_path / "run")
    (folder / "pcap").mkdir()
    folders.abandon(folder)
    assert not folder.exists()


def test_a_new_name_is_found_beside_those_taken(tmp_path):
    (tmp_path / "adsl").mkdir()
    (tmp_path / "adsl-2").mkdir()
    assert folders.free_name(tmp_path, "adsl").name == "adsl-3"
