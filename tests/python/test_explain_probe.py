"""Tests `explain` on the flow of a probe. The flow is simulated, so its events are known."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lopsided as lop
from lopsided.errors import UsageError
from lopsided.studies import explain_probe

UPLOAD = """\
[scenario]
duration = "8 s"
[record]
interval = "20 ms"
tcp_events = true
[link]
rtt = "60 ms"
down = { rate = "8 Mbit/s", queue = "50 packets" }
up = { rate = "2 Mbit/s", queue = "12 packets", loss = "1 %" }
[[flow]]
name = "up1"
direction = "up"
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[lop.Run, Path, Path]:
    """Returns a simulated run, a file as a probe would write it for the run's upload, and the capture at the sender."""
    folder = tmp_path_factory.mktemp("probe")
    run = lop.Scenario.from_text(UPLOAD, "upload.toml").run(pcap=folder)
    rows = run.samples_of["up1"].filter(run.samples_of["up1"]["state"] != "closed")
    log = rows.select(
        pl.lit("up1").alias("flow"),
        pl.lit("up").alias("direction"),
        pl.lit(0).alias("port"),
        "time_s",
        "cwnd_bytes",
        "ssthresh_bytes",
        pl.col("snd_wnd_bytes").alias("send_window_bytes"),
        pl.col("retransmits").fill_null(0),
        "state",
        "in_flight_bytes",
    )
    log.write_parquet(folder / "log.parquet")
    return run, folder / "log.parquet", folder / "host-client.pcapng"


def test_a_capture_shows_retransmissions_and_their_times(told: tuple[lop.Run, Path, Path]):
    run, log, capture = told
    story = explain_probe.of_log(log, capture=capture)
    itself = run.tcp_events.to_polars().filter(pl.col("event") == "retransmitted")
    origin = float(pl.read_parquet(log)["time_s"].min())  # type: ignore[arg-type]
    seen = [event["time_s"] + origin for event in story.events if event["event"] == "retransmitted"]
    assert len(seen) >= 5
    assert seen == pytest.approx(itself["time_s"].to_list(), abs=1e-6)
    assert sum(one.retransmitted for one in story.episodes) == len(seen)
    assert story.captured is not None and story.captured.passed.height > 100
    assert story.title == "log.parquet" and story.facts == ("probe",)


def test_samples_without_events_yield_states_windows_and_limits(told: tuple[lop.Run, Path, Path]):
    _, log, _ = told
    story = explain_probe.of_log(log, from_s=1.0, to_s=7.0)
    assert {state for one in story.episodes for state in one.states} >= {"open", "recovery"}
    assert any(one.reductions for one in story.episodes)
    assert sum(story.limited_s.values()) == pytest.approx(6.0, abs=0.05)
    assert max(story.limited_s, key=story.limited_s.__getitem__) == "congestion window"
    table = pl.read_parquet(log)
    table.write_csv(log.with_suffix(".csv"))
    assert explain_probe.of_log(log.with_suffix(".csv"), from_s=1.0, to_s=7.0).limited_s == story.limited_s


def test_a_file_that_is_not_a_log_is_rejected(told: tuple[lop.Run, Path, Path], tmp_path: Path):
    _, log, capture = told
    (tmp_path / "other.csv").write_text("flow,direction\nx,up\n")
    (tmp_path / "broken.parquet").write_text("nothing")
    (tmp_path / "log.tsv").write_text("Time\tRTT\n")
    table = pl.read_parquet(log)
    table.with_columns(pl.lit("down").alias("direction")).write_parquet(tmp_path / "down.parquet")
    table.with_columns(state=pl.lit(None, pl.String)).write_parquet(tmp_path / "old.parquet")
    table.with_columns(port=pl.lit(7)).write_parquet(tmp_path / "elsewhere.parquet")
    for name, given, word in [
        ("other.csv", None, "no column port"),
        ("broken.parquet", None, "broken.parquet is not a parquet table"),
        ("log.tsv", None, ".csv or .parquet"),
        ("down.parquet", capture, "for uploads"),
        ("old.parquet", None, "older version"),
        ("elsewhere.parquet", capture, "contains no packets"),
    ]:
        with pytest.raises(UsageError, match=word):
            explain_probe.of_log(tmp_path / name, capture=given)
    with pytest.raises(UsageError, match="up1"):
        explain_probe.of_log(log, "down1")
    with pytest.raises(UsageError, match="nothing to explain"):
        explain_probe.of_log(log, from_s=9.0)
