"""Checks that shards produce the same table as a single machine, even if shards are lost or run twice."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import pytest

from lopsided import cli
from lopsided.errors import FolderError, UsageError
from lopsided.studies import shards

SETTINGS = ("link.up.queue.limit=2..64:2 packets", "scenario.duration=2 s", "flow.upload.start=500 ms")
AXES = (*(part for setting in SETTINGS for part in ("--set", setting)), "--repeat", "2")
COUNT = 64


def _shard(file, folder, number, count=COUNT, *more):
    where = ["--shard", f"{number}/{count}", "--out", str(folder), "--quiet"]
    return cli.invoke(["sweep", str(file), *AXES, *more, *where])


@pytest.fixture(scope="module")
def made(tmp_path_factory, adsl):
    """Runs a sweep with 32 settings and 2 seeds, in 64 shards and on a single machine. Returns the scenario file, the
    folder of the shards, and the content of the single machine's table."""
    place = tmp_path_factory.mktemp("shards")
    file = place / "adsl.toml"
    file.write_text(adsl.to_toml())
    for number in range(1, COUNT + 1):
        assert _shard(file, place / "parts", number) == 0
    assert cli.invoke(["sweep", str(file), *AXES, "--out", str(place / "one.csv"), "--quiet"]) == 0
    return file, place / "parts", (place / "one.csv").read_bytes()


def test_64_shards_yield_one_table(made, tmp_path):
    _, parts, table = made
    assert cli.invoke(["merge", str(parts), "--out", str(tmp_path / "all.csv"), "--quiet"]) == 0
    assert (tmp_path / "all.csv").read_bytes() == table
    assert table.count(b"\n") > COUNT


def test_a_lost_and_a_truncated_shard_are_named_and_run_again(made, tmp_path, capsys):
    file, parts, table = made
    lost, cut = shards.Shard(3, COUNT).file(parts), shards.Shard(5, COUNT).file(parts)
    lost.unlink()
    cut.write_bytes(cut.read_bytes()[:-10])
    assert cli.invoke(["merge", str(parts), "--out", str(tmp_path / "all.csv")]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "2 of 64 shards are missing or unfinished (3,5)" in said
    assert "sbatch --array=3,5 --wrap=" in said
    assert _shard(file, parts, 3) == 0
    assert _shard(file, parts, 5) == 0
    assert cli.invoke(["merge", str(parts), "--out", str(tmp_path / "all.csv"), "--quiet"]) == 0
    assert (tmp_path / "all.csv").read_bytes() == table


def test_an_existing_shard_is_not_run_again(made, capsys):
    file, parts, _ = made
    before = shards.Shard(7, COUNT).file(parts).read_bytes()
    assert cli.invoke(["sweep", str(file), *AXES, "--shard", f"7/{COUNT}", "--out", str(parts)]) == 0
    assert "0 of 64 runs now, 1 earlier, in" in capsys.readouterr().out
    assert shards.Shard(7, COUNT).file(parts).read_bytes() == before


def test_shards_of_another_study_are_refused(made, tmp_path, capsys):
    file, parts, _ = made
    assert _shard(file, parts, 1, COUNT, "--seed", "9") == 1
    assert "another study" in capsys.readouterr().err
    (tmp_path / "shard-00001-of-00002.jsonl").write_text("[]\n")
    with pytest.raises(FolderError, match="not a shard"):
        shards.read(tmp_path)
    with pytest.raises(FolderError, match="has no shards"):
        shards.read(tmp_path / "..")


def test_every_run_belongs_to_exactly_one_shard():
    for runs, count in itertools.product((0, 1, 7, 64, 100), (1, 3, 64)):
        numbers = [run for number in range(1, count + 1) for run in shards.Shard(number, count).numbers(runs)]
        assert sorted(numbers) == list(range(runs))


def test_the_shard_number_comes_from_slurm_or_kubernetes():
    assert shards.parse("auto/64", {"SLURM_ARRAY_TASK_ID": "64"}) == shards.Shard(64, 64)
    assert shards.parse("auto/64", {"JOB_COMPLETION_INDEX": "0"}) == shards.Shard(1, 64)
    assert shards.parse("64", {}) == 64
    for text, environment in (
        ("auto/64", {}),
        ("auto/64", {"SLURM_ARRAY_TASK_ID": "0"}),
        ("auto/64", {"JOB_COMPLETION_INDEX": "x"}),
        ("65/64", {}),
        ("0/64", {}),
        ("1/0", {}),
        ("-1/2", {}),
        ("a", {}),
        ("", {}),
    ):
        with pytest.raises(UsageError, match="--shard"):
            shards.parse(text, environment)


def test_the_job_for_all_shards_is_printed(adsl_file, tmp_path, capsys):
    arguments = ["sweep", str(adsl_file), *AXES, "--shard", "64", "--out", str(tmp_path / "parts")]
    assert cli.invoke(arguments) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "sbatch --array=1-64 --wrap=" in said and "--shard auto/64" in said
    assert "lopsided merge" in said
    assert not (tmp_path / "parts").exists()


def test_a_shard_needs_a_folder(adsl_file, capsys):
    assert cli.invoke(["sweep", str(adsl_file), "--shard", "1/2"]) == 2
    assert cli.invoke(["sweep", str(adsl_file), "--shard", "1/2", "--out", "table.csv"]) == 2
    said = capsys.readouterr().err
    assert "--out FOLDER" in said and "lopsided merge" in said


SEARCH = ("--over", "link.up.queue.limit=2..40 packets", "--over", "stack.cc=reno|cubic", "--maximise", "performance")
TRIALS = (
    *SEARCH,
    "--set",
    "scenario.duration=2 s",
    "--set",
    "flow.upload.start=500 ms",
    "--trials",
    "8",
    "--batch",
    "4",
)


def _search(file, folder, number, count, *more):
    where = ["--shard", f"{number}/{count}", "--shard-wait", "0", "--out", str(folder), "--quiet"]
    return cli.invoke(["search", str(file), *TRIALS, *more, *where])


def _result(arguments, capsys):
    capsys.readouterr()
    assert cli.invoke([*arguments, "--json"]) == 0
    return {name: value for name, value in json.loads(capsys.readouterr().out).items() if name != "folder"}


def test_shards_of_a_search_wait_for_each_batch_and_yield_one_search(adsl_file, tmp_path, capsys):
    pytest.importorskip("optuna")
    parts, count = tmp_path / "parts", 3
    one = _result(["search", str(adsl_file), *TRIALS, "--no-report", "--out", str(tmp_path / "one")], capsys)
    ends = [_search(adsl_file, parts, number, count) for number in range(1, count + 1)]
    assert ends == [1, 1, 1], "without waiting, each stops at a batch that another has not finished"
    said = " ".join(capsys.readouterr().err.split())
    assert "1 of 3 shards are behind" in said and "sbatch --array=" in said
    assert cli.invoke(["merge", str(parts), "--out", str(tmp_path / "early")]) == 1
    shards.Shard(2, count).file(parts).unlink()  # If its file is lost, a shard repeats its runs.
    rounds = 0
    while any([_search(adsl_file, parts, number, count) for number in range(1, count + 1)]):
        rounds += 1
        assert rounds < 10
    assert _search(adsl_file, parts, 1, count, "--minimise", "rtt") == 1, "another search"
    merged = _result(["merge", str(parts), "--out", str(tmp_path / "merged")], capsys)
    assert merged == one
    names = [path.name for path in sorted((tmp_path / "one").glob("*.csv"))]
    assert names
    for name in names:
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    # If both shards of a search run concurrently, each must wait for the results of the other.
    together = tmp_path / "together"
    program = [sys.executable, "-m", "lopsided", "search", str(adsl_file), *TRIALS, "--quiet", "--out", str(together)]
    running = [subprocess.Popen([*program, "--shard", f"{number}/2"]) for number in (1, 2)]
    assert [each.wait(timeout=120) for each in running] == [0, 0]
    assert _result(["merge", str(together), "--out", str(tmp_path / "again")], capsys) == one


SUITE = """
title = "Lines"
source = "ours"
subject = "control"
default = "reno"

[[case]]
key = "1"
title = "The line is used"
section = "1"
file = "line.toml"

[[case.check]]
measure = "utilisation"
at_least = 0.01
origin = "ours"
why = "Something passes."
"""


def test_64_shards_of_a_suite_yield_one_suite(adsl, tmp_path, capsys):
    folder, parts = tmp_path / "lines", tmp_path / "parts"
    folder.mkdir()
    (folder / "suite.toml").write_text(SUITE)
    scenario = adsl.with_(**{"scenario.duration": "1 s", "flow.upload.start": "100 ms"})
    (folder / "line.toml").write_text(scenario.to_toml().replace('"download"', '"test"'))
    command = ["suite", str(folder), "--repeat", "64"]
    for number in range(1, COUNT + 1):
        assert cli.invoke([*command, "--shard", f"{number}/{COUNT}", "--out", str(parts), "--quiet"]) == 0
    one = _result([*command, "--no-report", "--out", str(tmp_path / "one")], capsys)
    assert _result(["merge", str(parts), "--out", str(tmp_path / "merged")], capsys) == one
    assert (tmp_path / "merged" / "checks.csv").read_bytes() == (tmp_path / "one" / "checks.csv").read_bytes()
