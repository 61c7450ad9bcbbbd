"""Tests that `fit --with` reads the logs of Flent, Crusader, irtt and cake-autorate."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import lopsided as lop
from lines import DOWNLOAD, line_of
from lopsided.errors import UsageError
from lopsided.studies.fit.logs import is_log, read_log
from lopsided.studies.fit.study import Fitter

SAMPLES = 60
"""Number of samples in each series of a Flent file. They cover 5 s without load and 7 s with load."""


def flent(folder: Path, **series: float) -> Path:
    """Writes a Flent file of version 3. The series that measure the load contain no values before the load starts."""
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
    line = line_of("4 s", "3 Mbit/s", "1 Mbit/s", "50 packets", "50 packets", rtt="40 ms") + DOWNLOAD
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


def packed(value: object) -> bytes:
    """Returns a value in MessagePack format, with the types that Crusader writes."""
    if isinstance(value, bool) or value is None:
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return bytes([value]) if value < 0x80 else b"\xcf" + value.to_bytes(8, "big")
    if isinstance(value, str):
        return bytes([0xA0 + len(value)]) + value.encode()
    if isinstance(value, list):
        return b"\xdc" + len(value).to_bytes(2, "big") + b"".join(map(packed, value))
    assert isinstance(value, dict)
    return bytes([0x80 + len(value)]) + b"".join(packed(name) + packed(each) for name, each in value.items())


def snappy(data: bytes) -> bytes:
    """Returns the data as a Snappy stream that contains literals, and copies of the bytes 20 positions earlier."""
    stream = b"\xff\x06\x00\x00sNaPpY"
    for begin in range(0, len(data), 1 << 16):
        block = data[begin : begin + (1 << 16)]
        size = len(block)
        chunk = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
        place = 0
        while place < size:
            part = block[place : place + 8]
            if place >= 20 and part == block[place - 20 : place - 12] and len(part) == 8:
                chunk += bytes([7 << 2 | 2, 20, 0])
            else:
                chunk += bytes([len(part) - 1 << 2]) + part
            place += len(part)
        stream += b"\x00" + (len(chunk) + 4).to_bytes(3, "little") + bytes(4) + chunk
    return stream


def duration(seconds: float) -> dict[str, int]:
    return {"secs": int(seconds), "nanos": int(seconds % 1 * 1e9)}


def crusader(folder: Path, scenario: lop.Scenario) -> Path:
    """Writes a Crusader result file with the flows of a simulated run. The file contains pings on the idle line,
    followed by the first flow's RTT samples in the format of pings."""
    run = scenario.run()
    samples = run.samples.to_polars()
    groups, pings = [], [{"sent": duration(0.1 * number), "latency": {"total": duration(0.04)}} for number in range(9)]
    for number, flow in enumerate(run.flows.to_polars().iter_rows(named=True)):
        rows = samples.filter(samples["flow"] == flow["flow"])
        times = [1.0 + time for time in rows["time_s"]]
        points = [{"time": duration(at), "bytes": sent} for at, sent in zip(times, rows["acked_bytes"], strict=True)]
        groups.append({"download": flow["direction"] == "down", "both": False, "streams": [{"data": points}]})
        if number == 0:
            latency = [None if trip is None else {"total": duration(trip / 1e3)} for trip in rows["srtt_ms"]]
            pings += [{"sent": duration(at), "latency": trip} for at, trip in zip(times, latency, strict=True)]
    content = {"version": 2, "stream_groups": groups, "pings": pings}
    path = folder / "test.crr"
    path.write_bytes((0x5372AB82AE7C59CB).to_bytes(8, "little") + (2).to_bytes(8, "little") + snappy(packed(content)))
    return path


def test_crusader_results_yield_rate_and_buffer_of_a_simulated_line(tmp_path: Path) -> None:
    line = """\
[scenario]
duration = "20 s"
[record]
interval = "50 ms"
[link]
rtt = "40 ms"
down.rate = "6 Mbit/s"
down.queue = { kind = "fifo", limit = "120 packets" }
up.rate = "1 Mbit/s"
[[flow]]
direction = "down"
"""
    path = crusader(tmp_path, lop.Scenario.from_text(line, "line.toml"))
    assert is_log(path)
    log = read_log(path)
    assert (log.kind, log.flows, log.floor_ms) == ("Crusader", {"down": 1}, pytest.approx(40.0))
    assert log.rate_bps == {"down": pytest.approx(6e6, rel=0.03)}
    found = lop.fit(path, remedies=False)
    assert found.possible("queue.down") == ["fifo"]
    buffer = found.value("buffer.down")
    assert (buffer["status"], buffer["value"]) == ("log", pytest.approx(120 * 1500, rel=0.1))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda data: data[:12], "the header is not complete"),
        (lambda data: data[:8] + bytes(8) + data[16:], "version 0 is not supported"),
        (lambda data: data[:-100], "cut off or damaged"),
        (lambda data: data[:16] + data[26:], "does not contain a Snappy stream"),
        (lambda data: data[:16] + snappy(b"\x91" * 99 + b"\xc0"), "nested too deeply"),
        (lambda data: data[:16] + snappy(packed({"pings": 3, "stream_groups": [None]})), "without a loaded direction"),
    ],
)
def test_a_damaged_crusader_file_is_rejected(tmp_path: Path, spoil: Callable[[bytes], bytes], said: str) -> None:
    path = tmp_path / "test.crr"
    start = (0x5372AB82AE7C59CB).to_bytes(8, "little") + (2).to_bytes(8, "little")
    path.write_bytes(spoil(start + snappy(packed({"pings": [{"sent": duration(1.0)}] * 40}))))
    with pytest.raises(UsageError, match=said):
        read_log(path)
