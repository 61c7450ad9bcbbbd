from __future__ import annotations

import polars as pl
import pytest

import lopsided as lop
from lopsided import cli
from lopsided.studies import cluster

pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

SHORT = {"scenario.duration": "3 s", "record.interval": "0 s", "flow.upload.start": "1 s"}
AXES = {"link.up.queue.limit": "5..20:5 packets", "stack.cc": "reno,cubic"}


@pytest.fixture(scope="module")
def client():
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as there,
        distributed.Client(there) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def short(adsl) -> lop.Scenario:
    return adsl.with_(**SHORT)


def test_the_rows_equal_those_of_one_machine(client, short, tmp_path):
    here = lop.sweep(short, AXES, repeat=3).to_polars()
    done = []
    found = cluster.sweep(client, short, tmp_path / "there", AXES, repeat=3, progress=done.append)
    rows = found.scan().sort("run", maintain_order=True).collect()
    assert (found.runs, found.failed, found.found) == (24, 0, 0) and done[-1] == 1
    assert rows.drop("run").columns == here.columns
    assert rows.drop("run").rows() == here.rows()
    assert len(list((tmp_path / "there").glob("part-*.parquet"))) > 1


def test_an_interrupted_study_resumes_only_its_missing_jobs(client, short, tmp_path):
    folder = tmp_path / "there"
    whole = cluster.sweep(client, short, folder, AXES, repeat=3)
    before = whole.scan().sort("run", maintain_order=True).collect()
    parts = sorted(folder.glob("part-*.parquet"))
    times = {path: path.stat().st_mtime_ns for path in parts}
    parts[1].unlink()
    again = cluster.sweep(client, short, folder, AXES, repeat=3)
    assert 0 < again.found < 24
    assert again.scan().sort("run", maintain_order=True).collect().equals(before)
    assert all(path.stat().st_mtime_ns == times[path] for path in parts if path != parts[1])
    with pytest.raises(lop.FolderError, match="other settings"):
        cluster.sweep(client, short, folder, AXES, repeat=2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(lop.FolderError, match="do not belong to a sweep"):
        cluster.sweep(client, short, tmp_path / "mine", AXES)


def test_a_failed_run_is_listed_and_the_other_runs_continue(client, short, tmp_path):
    # Each setting of the arm "bad" is valid, but its upload would start after the end of the run.
    arms = [{"label": "good", "link.rtt": "20 ms"}, {"label": "bad", "link.rtt": "20 ms", "flow.upload.start": "9 s"}]
    found = cluster.sweep(client, short, tmp_path / "there", {"arm": arms}, repeat=2)
    assert (found.runs, found.failed) == (4, 2)
    assert found.scan().collect()["arm"].unique().to_list() == ["good"]
    failed = pl.read_csv(tmp_path / "there" / cluster.FAILED)
    assert failed["run"].to_list() == [2, 3] and failed["arm"].to_list() == ["bad", "bad"]
    assert "start" in failed["error"][0] and "9 s" in failed["settings"][0]


def test_any_study_runs_on_the_cluster(client, short):
    def digest() -> str:
        sized = lop.size("1M", "100k", "20ms", sizes=[5, 10], queues=(), repeat=1)
        return sized.digest

    here = digest()
    with cluster.using(client):
        assert digest() == here
        with pytest.raises(lop.UsageError, match="runs on this machine"):
            lop.sweep(short, AXES, world="kernel")


def test_gaps_are_the_missing_numbers():
    assert cluster._gaps([], 5) == [(0, 5)]
    assert cluster._gaps([(2, 3), (0, 1)], 5) == [(1, 2), (3, 5)]
    assert cluster._gaps([(0, 5)], 5) == []


def test_an_error_explains_a_missing_dask_or_scheduler(adsl_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    axis = ["--set", "link.up.queue.limit=5,10 packets"]
    assert cli.invoke(["sweep", str(adsl_file), *axis, "--dask", "here"]) == 2
    assert "tcp://HOST:PORT, or local" in capsys.readouterr().err
    assert cli.invoke(["sweep", str(adsl_file), *axis, "--dask", "local", "--out", "x.csv"]) == 2
    assert "folder of Parquet" in capsys.readouterr().err
