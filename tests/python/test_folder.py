import errno
import json
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import lopsided as lop
from lopsided.data import free_names, output
from lopsided.data import run_folder as folders
from lopsided.data.catalogue import run_tables
from lopsided.errors import LeftoverWarning
from lopsided.views.plot import style


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


def test_an_earlier_run_is_replaced_only_with_overwrite(adsl_run, saved):
    with pytest.raises(lop.FolderError, match="already holds a run"):
        adsl_run.save(saved, report=False)
    (saved / "notes.txt").write_text("mine")
    adsl_run.save(saved, overwrite=True, report=False)
    assert (saved / "notes.txt").read_text() == "mine"


def test_a_folder_of_other_files_is_never_changed(adsl_run, tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(lop.FolderError, match="not a run"):
        adsl_run.save(tmp_path, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_not_accepted_as_a_folder(adsl_run, tmp_path):
    (tmp_path / "run").touch()
    with pytest.raises(lop.FolderError, match="is a file"):
        adsl_run.save(tmp_path / "run")


@pytest.mark.parametrize(("version", "age"), [(0, "an older"), (folders.FORMAT + 1, "a newer")])
def test_another_format_version_is_rejected_with_advice(saved, version, age):
    manifest = json.loads((saved / "manifest.json").read_text())
    (saved / "manifest.json").write_text(json.dumps({**manifest, "format": version}))
    with pytest.raises(lop.FolderError, match=f"{age} lopsided .* run its scenario.toml again"):
        lop.Run.load(saved)


@pytest.mark.parametrize("damage", ["{", "{}", "[]", '{"format": "x"}'])
def test_a_damaged_manifest_is_rejected(saved, damage):
    (saved / "manifest.json").write_text(damage)
    with pytest.raises(lop.FolderError, match="damaged"):
        lop.Run.load(saved)


def test_a_missing_or_damaged_table_is_rejected(saved):
    (saved / "flows.parquet").write_bytes(b"PAR1")
    with pytest.raises(lop.FolderError, match="damaged"):
        lop.Run.load(saved)
    (saved / "flows.parquet").unlink()
    with pytest.raises(lop.FolderError, match="damaged"):
        lop.Run.load(saved)


def test_a_folder_without_a_run_is_rejected(tmp_path):
    with pytest.raises(lop.FolderError, match="does not exist"):
        lop.Run.load(tmp_path / "nothing")
    with pytest.raises(lop.FolderError, match="not a run folder"):
        lop.Run.load(tmp_path)


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_failed_run_leaves_no_files(tmp_path):
    with pytest.raises(KeyboardInterrupt), folders.writing(tmp_path / "deep" / "run") as staged:
        (staged / "pcap").mkdir()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_old_run_stays_until_the_new_run_is_complete(adsl_run, saved, tmp_path):
    before = {name: (saved / name).read_bytes() for name in listing(saved)}
    with pytest.raises(KeyboardInterrupt), folders.writing(saved, overwrite=True) as staged:
        adsl_run.write(staged)
        raise KeyboardInterrupt
    assert {name: (saved / name).read_bytes() for name in listing(saved)} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_only_the_files_of_the_run_are_replaced(adsl_run, saved):
    mine = ("figures/mine.png", "cells.csv", "pcap/mine.pcap", "notes.txt")
    for name in mine:
        (saved / name).parent.mkdir(exist_ok=True)
        (saved / name).write_text(f"my {name}")
    style.save(adsl_run.plot("goodput"), saved / "goodput.png")
    adsl_run.save(saved, overwrite=True, report=False)
    assert {name: (saved / name).read_text() for name in mine} == {name: f"my {name}" for name in mine}
    assert not (saved / "goodput.png").exists(), "a picture of the run that is no more"
    assert lop.Run.load(saved).digest == adsl_run.digest


def test_a_file_that_the_new_run_would_hide_is_not_lost(adsl_run, saved):
    (saved / "report.html").write_text("my own")
    with pytest.raises(lop.FolderError, match=r"report\.html does not belong to the run"):
        adsl_run.save(saved, overwrite=True, report=True)
    assert (saved / "report.html").read_text() == "my own"


def test_one_process_at_a_time_writes_a_folder(adsl_run, tmp_path):
    with folders.writing(tmp_path / "run") as staged:
        with pytest.raises(lop.FolderError, match="being written by another process"):
            adsl_run.save(tmp_path / "run")
        adsl_run.write(staged, report=False)
    assert lop.Run.load(tmp_path / "run").digest == adsl_run.digest


def test_a_second_writer_does_not_replace_the_first(adsl_run, tmp_path):
    with pytest.raises(lop.FolderError, match="already holds a run"), folders.writing(tmp_path / "run") as staged:
        adsl_run.write(staged, report=False)
        shutil.copytree(staged, tmp_path / "run")
    assert lop.Run.load(tmp_path / "run").digest == adsl_run.digest


def test_the_next_run_removes_the_files_of_a_killed_run(adsl_run, tmp_path):
    left = tmp_path / ".run.lopsided-writing"
    (left / "pcap").mkdir(parents=True)
    (left / "flows.parquet").touch()
    adsl_run.save(tmp_path / "run", report=False)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert "pcap" not in [path.name for path in (tmp_path / "run").iterdir()]


def test_temporary_files_of_killed_commands_are_removed_and_reported(adsl_run, tmp_path):
    left, new, held = (tmp_path / f".{name}.lopsided-writing" for name in ("run-1", "run-2", "run-3"))
    for folder in (left, new, held):
        folder.mkdir()
        (folder / "flows.parquet").touch()
    long_ago = left.stat().st_mtime - 60
    for folder in (left, held):
        os.utime(folder, (long_ago, long_ago))
    (tmp_path / ".mine").mkdir()
    with output.alone(held), pytest.warns(LeftoverWarning, match=r"removed .*run-1.*killed") as told:
        adsl_run.save(tmp_path / "run", report=False)
    assert len(told) == 1
    # Files of other programs are not removed. Folders that another process has just created are not removed either.
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine", new.name, held.name, "run"]


def test_temporary_files_of_a_killed_write_are_removed_later(tmp_path):
    with pytest.raises(KeyboardInterrupt), output.whole_file(tmp_path / "t.csv") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
    left = tmp_path / ".t.csv.lopsided-writing"
    left.mkdir()
    (left / "t.csv").write_text("half")
    with output.whole_file(tmp_path / "t.csv") as temporary:
        temporary.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    assert (tmp_path / "t.csv").read_text() == "whole"
    name = "é" * 125 + ".csv"
    with output.whole_file(tmp_path / name) as temporary:
        temporary.touch()
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_kill_between_two_moves_loses_nothing(adsl_run, saved, tmp_path):
    saved.rename(tmp_path / ".run.lopsided-old")
    with pytest.raises(lop.FolderError, match="already holds a run"):
        adsl_run.save(saved, report=False)
    assert lop.Run.load(saved).digest == adsl_run.digest


def test_without_an_exchange_the_folder_is_moved_in_two_steps(adsl_run, saved, tmp_path, monkeypatch):
    def refuse(one, other):
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(output, "_exchange", refuse)
    (saved / "notes.txt").write_text("mine")
    adsl_run.save(saved, overwrite=True, report=False)
    assert (saved / "notes.txt").read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_full_disk_is_reported_and_leaves_no_files(adsl_run, tmp_path, monkeypatch):
    def full(self, path):
        raise pl.exceptions.ComputeError("No space left on device (os error 28)")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(lop.FolderError, match="No space left"):
        adsl_run.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_file_is_not_replaced(adsl_run, tmp_path):
    target = tmp_path / "goodput.png"
    target.write_text("mine")
    with pytest.raises(lop.FolderError, match="--overwrite"):
        output.check_free(target)
    output.check_free(target, overwrite=True)
    for name in ("a.png", "a.svg", "a.pdf"):
        style.save(adsl_run.plot("goodput"), tmp_path / name)
        # Even a file that lopsided wrote is not replaced, because it may belong to another study.
        with pytest.raises(lop.FolderError, match="--overwrite"):
            output.check_free(tmp_path / name)


def test_default_folder_names_are_unused_and_private(tmp_path: Path, monkeypatch):
    """Names must differ even if several commands start in the same second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(free_names, "datetime", SimpleNamespace(now=lambda: datetime(2026, 1, 2, 3, 4, 5)))
    (tmp_path / "runs" / "adsl-20260102-030405").mkdir(parents=True)
    assert free_names.dated("adsl") == Path("runs/adsl-20260102-030405-2")
    script = f"import os; os.chdir({str(tmp_path)!r}); from lopsided.data.free_names import _claimed; "
    script += "from pathlib import Path; print(_claimed(Path('runs/adsl-20260102-030405-2')))"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == ("False" if sys.platform == "linux" else "True")
    assert free_names.dated("size", ".png") == Path("runs/size-20260102-030405.png")
