"""`fit --with` reads logs of Flent, irtt and cake-autorate."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import lopsided as lop
from lopsided.errors import UsageError
from lopsided.studies.fit.logs import is_log, read_log
from lopsided.studies.fit.study import Fitter

SAMPLES = 60
"""Number of samples in a Flent series: 5 s without load and 7 s with load."""


def flent(folder: Path, **series: float) -> Path:
    """Writes a Flent file of version 3. The series of the load contain no values before the load starts."""
    quiet = SAMPLES * 5 // 12
    results: dict[str, list[float | None]] = {
        name: [None] * quiet + [value] * (SAMPLES - quiet) for name, value in series.items()
    }
    results["Ping (ms) ICMP"] = [23.5] * quiet + [180.0] * (SAMPLES - quiet)
    content = {
        "metadata": {"NAME": "rrul", "HOST": "10.0.0.1", "STEP_SIZE": 0.2},
        "raw_values": {},
        "results": results,
        "version": 3,
        "x_values": [0.2 * number for number in range(SAMPLES)],
    }
    path = folder / "rrul.flent.gz"
    with gzip.open(path, "wt") as file:
        json.dump(content, file)
    return path


def test_flent_logs_yield_ip_rates_and_the_minimum_ping(tmp_path: Path) -> None:
    log = read_log(flent(tmp_path, **{"TCP upload::1": 0.3, "TCP upload::2": 0.4, "TCP upload::2::tcp_rtt": 90.0}))
    assert log.kind == "Flent"
    assert log.rate_bps == {"up": pytest.approx(0.7e6 * 1500 / 1448)}
    assert (log.floor_ms, log.host) == (23.5, "10.0.0.1")


def test_flent_sums_count_once_and_reverse_acks_count(tmp_path: Path) -> None:
    series = {"TCP download BE": 8.0, "TCP download sum": 8.0, "TCP download avg": 8.0, "TCP upload BE": 0.5}
    log = read_log(flent(tmp_path, **series, **{"TCP totals": 8.5}))
    acks = 8e6 / 1448 / 2 * 52
    assert log.rate_bps["up"] == pytest.approx(0.5e6 * 1500 / 1448 + acks)
    assert log.rate_bps["down"] == pytest.approx(8e6 * 1500 / 1448 + 0.5e6 / 1448 / 2 * 52)


def test_irtt_logs_yield_the_minimum_rtt(tmp_path: Path) -> None:
    content = {
        "version": {"irtt": "0.9.1", "protocol": 1, "json_format": 1},
        "config": {"remote_address": "[2001:db8::1]:2112"},
        "stats": {},
        "round_trips": [
            {"seqno": 0, "lost": "false", "delay": {"receive": 9_000_000, "rtt": 21_500_000, "send": 12_500_000}},
            {"seqno": 1, "lost": "true_up", "delay": {}},
            {"seqno": 2, "lost": "false", "delay": {"rtt": 95_000_000}},
        ],
    }
    path = tmp_path / "irtt.json"
    path.write_text(json.dumps(content))
    log = read_log(path)
    assert (log.kind, log.rate_bps, log.floor_ms, log.host) == ("irtt", {}, 21.5, "2001:db8::1")


def test_cake_autorate_logs_yield_the_throughput_near_the_shaper_rate(tmp_path: Path) -> None:
    header = (
        "LOAD_HEADER; LOG_DATETIME; LOG_TIMESTAMP; PROC_TIME_US; DL_ACHIEVED_RATE_KBPS; UL_ACHIEVED_RATE_KBPS; "
        "CAKE_DL_RATE_KBPS; CAKE_UL_RATE_KBPS"
    )
    rows = [
        f"LOAD; 2026-01-02-10:00:{second:02d}; 1767348000.1; 1767348000100000; {down}; 300; 20000; 5000"
        for second, down in enumerate([100] * 10 + [19000] * 9 + [19400] * 4)
    ]
    path = tmp_path / "cake-autorate.primary.log"
    path.write_text("\n".join(["INFO; 2026-01-02-10:00:00; 1; Starting", header, *rows, "LOAD; cut off"]))
    log = read_log(path)
    assert log.rate_bps == {"down": 19e6}
    assert log.floor_ms is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no log", "is not a log of Flent"),
        (b'{"results": ', "not complete JSON"),
        (b'{"a": ' * 30_000, "not complete JSON"),
        (b"\x1f\x8b but no gzip", "cannot read"),
        (b'{"results": {"TCP upload": [1, "x", null]}, "x_values": [], "metadata": 3}', "without a loaded direction"),
    ],
)
def test_a_file_that_is_not_a_log_is_rejected(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        read_log(path)


def test_a_fit_uses_the_rate_that_the_capture_does_not_show(tmp_path: Path) -> None:
    line = """\
[scenario]
duration = "4 s"
[link]
rtt = "40 ms"
down.rate = "3 Mbit/s"
up.rate = "1 Mbit/s"
[[flow]]
direction = "down"
"""
    lop.Scenario.from_text(line, "line.toml").run(pcap=tmp_path)
    log = flent(tmp_path, **{"TCP upload": 0.96, "TCP download": 9.0})
    fitter = Fitter(tmp_path / "host-server.pcapng", trials=20, log=log)
    found = fitter.run(remedies=False)
    logged = 0.96e6 * 1500 / 1448 + 9e6 / 1448 / 2 * 52
    assert fitter.draft.ways["up"].rate_bps == pytest.approx(logged)
    assert found.value("rate.up")["status"] != "unknown"
    assert any("the fit uses the capture" in note for note in found.notes)


def measured(folder: Path, kind: str, goodput_mbps: float, loaded_ms: float) -> Path:
    """Writes a Flent log of a download with pings, as uncompressed JSON."""
    content = {
        "metadata": {"HOST": "10.0.0.1"},
        "results": {
            "TCP download": [None] * 25 + [goodput_mbps] * 75,
            "Ping (ms) ICMP": [40.0] * 25 + [loaded_ms] * 75,
        },
        "version": 3,
        "x_values": [0.2 * number for number in range(100)],
    }
    path = folder / f"{kind}.flent"
    path.write_text(json.dumps(content))
    return path


def test_a_long_delay_under_load_is_a_drop_tail_buffer(tmp_path: Path) -> None:
    path = measured(tmp_path, "tcp_download", 5.7, 240.0)
    found = lop.fit(path, remedies=False)
    rate, buffer = found.value("rate.down"), found.value("buffer.down")
    assert (rate["status"], rate["value"]) == ("log", pytest.approx(5.9e6, rel=0.02))
    assert (buffer["status"], buffer["value"]) == ("log", pytest.approx(0.2 * 5.9e6 / 8, rel=0.03))
    assert found.value("rtt_floor")["value"] == 40.0
    assert found.possible("queue.down") == ["fifo"]
    assert found.value("rate.up")["status"] == "unknown"
    assert found.possible("cc.down") == []
    assert found.distance < 1.0
    assert "the log does not show it" in " ".join(found.conclusions())


def test_a_short_delay_under_load_leaves_several_disciplines_and_no_buffer(tmp_path: Path) -> None:
    found = lop.fit(measured(tmp_path, "tcp_download", 5.3, 50.0), remedies=False)
    assert len(found.possible("queue.down")) > 1
    assert found.value("buffer.down")["status"] == "unknown"


def test_cake_autorate_alone_is_cake_and_its_rtt_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "cake-autorate.log"
    header = "LOAD_HEADER; DL_ACHIEVED_RATE_KBPS; UL_ACHIEVED_RATE_KBPS; CAKE_DL_RATE_KBPS; CAKE_UL_RATE_KBPS"
    path.write_text("\n".join([header, *["LOAD; 9500; 300; 10000; 2000"] * 9]))
    found = lop.fit(path, remedies=False)
    assert found.possible("queue.down") == ["cake"]
    assert (found.value("rate.down")["status"], found.value("rtt_floor")["status"]) == ("log", "unknown")


def test_a_log_without_a_rate_and_options_for_captures_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "irtt.json"
    path.write_text(json.dumps({"round_trips": [{"delay": {"rtt": 21_500_000}}], "config": {}}))
    assert is_log(path)
    with pytest.raises(UsageError, match="without a rate"):
        lop.fit(path)
    with pytest.raises(UsageError, match="need a capture"):
        lop.fit(path, flow=1)
