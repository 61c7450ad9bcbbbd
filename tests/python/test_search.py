"""Checks that `lopsided search` finds known optima, is reproducible, and continues after an interruption."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import lopsided as lop
from lopsided import cli
from lopsided.data import locks
from lopsided.data import run_folder as folders
from lopsided.studies import search as study
from lopsided.studies.search import log
from lopsided.views import study as views

LIMITS = {"link.up.queue.limit": "5..24 packets"}
QUEUES = {**LIMITS, "link.up.queue.kind": "fifo|codel", "link.up.queue.target": "2..40:log ms"}


@pytest.fixture(scope="module")
def short(adsl) -> lop.Scenario:
    return adsl.with_(**{"scenario.duration": "8 s", "flow.upload.start": "1 s", "record.interval": "200 ms"})


def space(over, scenario):
    return study.Space.of(over, scenario)


# --- syntax -------------------------------------------------------------------------------------------------------


def test_a_range_of_an_integer_key_has_whole_numbers(short):
    over = {**LIMITS, "link.up.rate": "100..300 kbit/s", "link.down.queue.limit": "5..30:5 packets"}
    limit, rate, buffer = space(over, short).keys
    assert (limit.whole, limit.size, limit.of_finite()[:2]) == (True, 20, ["5 packets", "6 packets"])
    assert (rate.whole, rate.size) == (False, None)
    assert buffer.of_finite() == [f"{size} packets" for size in range(5, 31, 5)]


def test_a_written_value_can_be_read_again(short):
    rate = space({"link.up.rate": "0.1..3:log Mbit/s"}, short).keys[0]
    for value in (0.1, 0.123456789, 1.0000001, 2.9999999, 3):
        assert float(rate.parameter(rate.of(value))) == pytest.approx(value, rel=1e-3)
    assert rate.of(0.123456) == "0.1235 Mbit/s" and rate.of(2.99999) == "3 Mbit/s"


def test_choices_keep_text_in_brackets(short):
    (queue,) = space(
        {"link.up.queue": '{ kind = "fifo", limit = "9|9" }|"codel"'.replace("9|9", "9 packets")}, short
    ).keys
    assert queue.labels == ['{ kind = "fifo", limit = "9 packets" }', '"codel"']


@pytest.mark.parametrize(
    ("over", "says"),
    [
        ({}, "nothing to search over"),
        ({"link.up.queue.limit": "9 packets"}, "no choice"),
        ({"link.up.queue.limit": "9..5 packets"}, "ends before it begins"),
        ({"link.up.queue.limit": "5..9:20 packets"}, "contains no step"),
        ({"link.up.rate": "0..9:log Mbit/s"}, "no logarithm"),
        ({"link.up.queue.kind": "fifo|fifo"}, "must differ"),
        ({"link.up.queue.kind": "fifo|fofi"}, "unknown queue `fofi`"),
        ({"link.up.queue.limt": "5..9 packets"}, "did you mean `limit`"),
        ({"link.up.queue.limit": "0..9 packets"}, "no packet could ever wait"),
        ({"link.up.queue.target": "1..9 ms"}, "belongs to kind"),
    ],
)
def test_an_impossible_search_is_rejected(short, over, says):
    with pytest.raises(lop.LopsidedError) as told:
        space(over, short)
    assert says in str(told.value)


def test_search_metrics_equal_the_table_columns(short):
    run = short.run()
    flows = {row["name"]: row for row in run.flows.rows()}
    rate = {text: study.Metric.of(text, short).of_run(run) for text in ("goodput.download", "goodput.up", "goodput")}
    assert rate["goodput"] == pytest.approx(rate["goodput.download"] + rate["goodput.up"])
    assert study.Metric.of("rtt.download", short).of_run(run) == flows["download"]["rtt_mean_ms"]
    assert study.Metric.of("loss.upload", short).of_run(run) == (
        flows["upload"]["retransmits"] / flows["upload"]["data_segments_out"]
    )
    up = next(row for row in run.links.rows() if row["direction"] == "up")
    assert study.Metric.of("sojourn_p95_ms.link.up", short).of_run(run) == up["sojourn_p95_ms"]
    assert 0 < study.Metric.of("jain", short).of_run(run) <= 1
    assert study.Metric.of("completion", short).of_run(run) is None


@pytest.mark.parametrize(
    ("text", "unit", "bound"),
    [
        ("loss.upload < 2 %", "share", 0.02),
        ("rtt.download <= 0.2 s", "ms", 200),
        ("goodput > 1.5M", "bps", 1.5e6),
        ("retransmits.upload<7", "count", 7),
        ("cwnd_max_bytes.upload < 64kB", "bytes", 64000),
    ],
)
def test_a_bound_has_the_unit_of_its_metric(short, text, unit, bound):
    limit = study.Limit.of(text, short)
    assert (limit.metric.unit, limit.bound) == (unit, bound)
    assert limit.kept(bound) is ("=" in text)
    assert limit.kept(bound * (0.9 if "<" in text else 1.1)) and not limit.kept(bound * (1.1 if "<" in text else 0.9))


# --- results ------------------------------------------------------------------------------------------------------


def test_the_error_without_optuna_names_the_package(short, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(lop.UsageError, match=r"pip install 'lopsided\[search\]'"):
        lop.search(short, LIMITS, maximise="goodput")


def test_a_small_space_is_tried_as_a_whole(short):
    pytest.importorskip("optuna")
    found = lop.search(short, LIMITS, maximise="goodput.download", trials=20)
    swept = lop.sweep(short, {"link.up.queue.limit": "5..24:1 packets"}, repeat=1).to_polars().filter(name="download")
    best = swept.sort("goodput_overlap_bps", descending=True, maintain_order=True).row(0, named=True)
    assert found.whole and len(found.tried) == 20
    assert found.best.labels == {"link.up.queue.limit": f"{best['link.up.queue.limit_packets']} packets"}
    assert found.value(found.best, 0) == best["goodput_overlap_bps"]
    assert found.best.runs[0].digest == best["digest"]


def test_a_known_optimum_is_found_with_fewer_trials_than_there_are_values(short):
    """The goodput grows with the rate, so the best trial must be within 5 % of the end of the range."""
    pytest.importorskip("optuna")
    alone = short.with_(**{"flow.upload.start": "7.9 s"})
    found = lop.search(alone, {"link.down.rate": "0.5..3 Mbit/s"}, maximise="goodput.download", trials=24)
    assert float(found.best.labels["link.down.rate"].split()[0]) > 2.85


def test_the_front_covers_all_trials_and_respects_the_constraints(short):
    pytest.importorskip("optuna")
    arguments = {"maximise": "goodput.upload", "minimise": "rtt.download", "subject_to": "loss.upload < 25 %"}
    found = lop.search(short, QUEUES, **arguments, trials=20, repeat=2)
    kept = [trial for trial in found.tried if found.keeps(trial)]
    assert 0 < len(found.front) <= len(kept) < len(found.tried)
    for trial, other in itertools.product(found.front, kept):
        better = found.value(other, 0) > found.value(trial, 0), found.value(other, 1) < found.value(trial, 1)
        assert not all(better)
    for trial in found.tried:
        assert ("link.up.queue.target" in trial.labels) == (trial.labels["link.up.queue.kind"] == "codel")
        assert found.keeps(trial) == (trial.mean(2) < 0.25)
    # `search` checked the best trial with three other seeds. The trial's scenario file reproduces its first run.
    first = found.front[0]
    assert len(first.checks) == 3 and {run.digest for run in first.checks}.isdisjoint(run.digest for run in first.runs)
    assert found.scenario_of(first).run().digest == first.runs[0].digest
    rows = found.trials.to_polars()
    assert rows.filter(front="yes")["trial"].to_list() == sorted(trial.number for trial in found.front)


@pytest.mark.slow
def test_the_same_seed_yields_the_same_search_for_any_number_of_workers(short):
    pytest.importorskip("optuna")
    arguments = {"maximise": "goodput.download", "minimise": "rtt.upload", "trials": 20}
    one = lop.search(short, QUEUES, **arguments, workers=1)
    two = lop.search(short, QUEUES, **arguments, workers=2)
    other = lop.search(short, QUEUES, **arguments, seed=5)
    assert one.trials.to_polars().equals(two.trials.to_polars()) and one.digest == two.digest != other.digest


def test_unmet_constraints_are_reported_with_the_nearest_trial(short):
    pytest.importorskip("optuna")
    found = lop.search(short, LIMITS, maximise="goodput", subject_to="rtt.download < 1 ms", trials=20)

    assert found.front == [] and found.best is None
    assert "None of 20 trials keeps the limits." in " ".join(found.conclusions())
    assert found.nearest.mean(1) == min(trial.mean(1) for trial in found.tried)
    assert found.report().count("<table") == 2


# --- continuing a search ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_finished_trials_are_kept_and_more_trials_continue(short, tmp_path):
    pytest.importorskip("optuna")

    def searched(trials: int, folder: Path) -> tuple[pl.DataFrame, int]:
        searcher = study.prepared(short, QUEUES, "goodput.download", "rtt.upload", (), trials=trials)
        mark = searcher.fingerprint()
        with log.kept(folder, searcher) as kept:
            found = searcher.run()
            with folders.writing(folder, overwrite=kept.replace) as staged:
                log.write_runs(staged, searcher)
                views.write(found, staged, report=False, more={"fingerprint": mark})
            return found.trials.to_polars(), kept.runs

    whole, nothing = searched(20, tmp_path / "whole")
    first, _ = searched(11, tmp_path / "parts")
    again, there = searched(20, tmp_path / "parts")
    unmarked = ("trial", "link.up.queue.limit_packets", "goodput.download_bps")
    assert nothing == 0 and there >= 12
    assert again.equals(whole) and first.select(unmarked).equals(whole.select(unmarked).head(11))
    other = study.prepared(short, LIMITS, "goodput.download", (), (), trials=20)
    with pytest.raises(lop.FolderError, match="already holds"), log.kept(tmp_path / "parts", other):
        pass


def test_an_interrupt_during_a_write_takes_effect_after_the_write(adsl, tmp_path, monkeypatch):
    searcher = study.prepared(adsl, LIMITS, "goodput.download", (), (), trials=2)
    found = locks.is_of

    def interrupted(*locked):
        os.kill(os.getpid(), signal.SIGINT)
        return found(*locked)

    with log.kept(tmp_path / "there", searcher), monkeypatch.context() as patch:
        patch.setattr(locks, "is_of", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                searcher.log(searcher.done)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_the_command_keeps_finished_trials_at_ctrl_c_and_resumes(adsl_file, tmp_path):
    pytest.importorskip("optuna")
    words = ["search", str(adsl_file), "--over", "link.up.queue.limit=5..40 packets", "--maximise", "goodput.download"]
    words += ["--minimise", "rtt.upload", "--trials", "24", "--set", "scenario.duration=60 s", "--workers", "1"]
    main = [sys.executable, "-c", "from lopsided.cli import main; main()"]
    folder = tmp_path / "there"
    with subprocess.Popen([*main, *words, "--out", str(folder)], stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            beside = log.hidden(folder) / log.RUNS
            if beside.is_file() and pl.read_parquet(beside).height > 4:
                os.kill(process.pid, signal.SIGINT)
                break
        _, said = process.communicate()
    assert process.returncode == 130 and "continue with the same command" in said and "Traceback" not in said, said
    assert 0 < pl.read_parquet(folder / "trials.parquet").height < 24
    assert not log.hidden(folder).exists()
    done = pl.read_parquet(folder / log.RUNS)["digest"].to_list()
    assert cli.invoke([*words, "--out", str(folder), "--quiet"]) == 0
    assert pl.read_parquet(folder / log.RUNS)["digest"].to_list()[: len(done)] == done
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["trials"] == 24 and manifest["front"]
    best = folder / "front" / f"trial-{manifest['front'][0]:02}.toml"
    assert cli.invoke(["check", str(best)]) == 0
    assert cli.invoke([*words, "--out", str(folder), "--quiet", "--repeat", "2"]) == 2, "another search"
