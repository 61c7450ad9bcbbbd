"""Tests `analyze` on captures of simulated runs whose limits, lines and packet counts are known."""

from __future__ import annotations

import gzip
import json
import math
import os
import pty
import signal
import subprocess
import sys
from array import array
from pathlib import Path

import polars as pl
import pytest

import lopsided as lop
from lines import DOWNLOAD, UPLOAD, line_of
from lopsided import _native
from lopsided.cli.terminal import print_json
from lopsided.data import catalogue
from lopsided.errors import UsageError

LINE = line_of("40 s", "2400 kbit/s", "196 kbit/s", "50 packets", "50 packets") + DOWNLOAD + UPLOAD + 'start = "20 s"\n'


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pcap")
    lop.Scenario.from_text(LINE, "line.toml").run(pcap=folder)
    return folder


@pytest.fixture(scope="module")
def found(captures: Path) -> lop.Capture:
    return lop.analyze(captures / "host-server.pcapng", points=True)


def command(*arguments: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    given = [sys.executable, "-m", "lopsided", "analyze", *map(str, arguments)]
    return subprocess.run(given, input=stdin, capture_output=True, check=False)


def test_the_ack_path_limits_a_download_once_an_upload_fills_the_uplink(found: lop.Capture) -> None:
    download = found.largest[0]
    bins = found.timeline.to_polars().filter(pl.col("direction") == download["direction"])
    alone = bins.filter((pl.col("time_s") > 2) & (pl.col("time_s") < 19))
    joined = bins.filter((pl.col("time_s") > 25) & (pl.col("time_s") < 39))
    assert (alone["limit"] == "ack_path").mean() == 0
    assert (joined["limit"] == "ack_path").mean() > 0.8  # pyright: ignore[reportOptionalOperand, reportOperatorIssue]
    assert download["vantage"] == "sender"


def test_picked_rows_equal_those_of_the_whole_table(found: lop.Capture) -> None:
    for table in (found.timeline, lop.Table(found.timeline.to_polars())):
        rows = list(found.timeline.rows())
        assert table.picked([3, 0]) == [rows[3], rows[0]]
        assert table.picked([]) == []


def test_the_line_is_found_in_both_directions(found: lop.Capture) -> None:
    download = found.largest[0]
    assert download["data_rate_bps"] == pytest.approx(2.4e6, rel=0.03)
    assert download["ack_rate_bps"] == pytest.approx(196e3, rel=0.05)
    assert download["data_discipline"] == "drop_tail"
    # The full buffer contains 50 packets of 1,500 bytes, and another packet is being transmitted.
    assert download["data_buffer_ms"] == pytest.approx(250, rel=0.1)
    assert download["rtt_floor_ms"] == pytest.approx(20 + 1500 * 8 / 2400 - 1.5, abs=3)


@pytest.mark.parametrize("host", ["server", "client"])
def test_shares_of_limits_add_up_at_either_end(captures: Path, host: str) -> None:
    table = lop.analyze(captures / f"host-{host}.pcapng").directions.to_polars()
    shares = table.select(pl.sum_horizontal(pl.selectors.starts_with("limited_") - pl.selectors.string()))
    assert shares.to_series().to_list() == pytest.approx([1.0] * len(table))


def test_counts_equal_those_of_the_older_trace(captures: Path) -> None:
    path = captures / "host-server.pcapng"
    ours = lop.analyze(path).directions.to_polars().sort("from", "from_port")
    theirs = lop.trace(path).to_polars().sort("from", "from_port")
    counts = ("packets", "packets_back", "data_packets", "data_bytes", "retransmitted_packets", "acked_bytes")
    for column in counts:
        assert ours[column].to_list() == theirs[column].to_list(), column
    near = ours["vantage"] == "sender"
    assert near.any()
    for column in ("rtt_count", "rtt_mean_ms"):
        assert ours[column].filter(near).to_list() == pytest.approx(theirs[column].filter(near).to_list())
    # `analyze` may have fewer RTT samples than `trace`. If the capture was not taken at the sender, `trace` also takes
    # samples from ACKs of segments that fill a hole below SACKed data.
    assert (ours["rtt_count"] <= theirs["rtt_count"]).all()


def test_every_column_has_a_meaning(found: lop.Capture) -> None:
    for name, spec in catalogue.analysis_tables().items():
        table: lop.Table = getattr(found, name)
        assert [column.name for column in spec.columns] == table.columns
        assert all(column.meaning for column in spec.columns)


def test_the_folder_holds_tables_and_a_page_that_needs_no_network(found: lop.Capture, tmp_path: Path) -> None:
    folder = found.save(tmp_path / "analysis")
    page = (folder / "report.html").read_text()
    assert "<svg" in page
    assert "ACK path" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert pl.read_parquet(folder / "directions.parquet").equals(found.directions.to_polars())


def test_a_compressed_capture_from_a_pipe_yields_the_same_result(captures: Path) -> None:
    path = captures / "host-server.pcapng"
    done = command("-", "--json", stdin=gzip.compress(path.read_bytes(), 1))
    assert done.returncode == 0, done.stderr
    piped = json.loads(done.stdout)
    assert piped["connections"] == 2
    assert piped["directions"][0]["limited_by"] == lop.analyze(path).largest[0]["limited_by"]


def test_the_json_text_equals_the_result_encoded_by_python(found: lop.Capture, capsys) -> None:
    print_json(found.streamed())
    text = capsys.readouterr().out
    print_json(found.to_dict())
    assert text == capsys.readouterr().out
    assert json.loads(text)["directions"][0]["stretches"]


def test_numbers_and_texts_in_json_rows_are_written_as_python_writes_them() -> None:
    numbers = [0.0, -0.0, 0.1, 1e-4, 9.9e-5, 5e-324, 1.5e-7, 123456789.125, 1e15, 1e16, 1.7976931348623157e308, 2 / 3]
    texts = ["a", 'say "\\"', "\b\f\n\r\t\x7f", "é\u2028\U0001f600", *["x"] * 8]
    table = {"number": ("f64", array("d", numbers).tobytes()), "text": ("text", texts)}
    rows = [json.dumps({"number": number, "text": text}) for number, text in zip(numbers, texts, strict=True)]
    members = _native.json_members(table, 0, len(rows))
    assert ["{" + text.strip().replace(",\n ", ",") + "}" for text in members] == rows
    missing = {"number": ("f64", array("d", [math.nan, math.inf]).tobytes()), "count": ("maybe", [None, 7])}
    assert _native.json_members(missing, 0, 2) == [
        '  "number": null,\n  "count": null',
        '  "number": null,\n  "count": 7',
    ]


def test_an_unknown_option_before_the_capture_is_named(captures: Path) -> None:
    done = command("--nothing", captures / "host-server.pcapng")
    assert done.returncode == 2
    assert b"unknown option --nothing" in done.stderr


def test_a_truncated_capture_is_read_with_a_note(captures: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes((captures / "host-server.pcapng").read_bytes()[:200_001])
    done = command(cut)
    assert done.returncode == 0
    assert b"cut short or damaged" in done.stderr
    assert b"10.0.0.1" in done.stdout


@pytest.mark.parametrize("content", [b"", b"\x1b[31mno capture\x1b[0m", b"\x1f\x8b\x08damaged", bytes(5000)])
def test_a_file_that_is_not_a_capture_is_rejected_with_a_reason_and_code_2(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "evil\x1b[2Jname.pcap"
    path.write_bytes(content)
    done = command(path)
    assert done.returncode == 2
    assert b"not a readable capture" in done.stderr
    assert b"\x1b" not in done.stderr + done.stdout


def test_a_missing_file_or_a_folder_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.pcap does not exist"):
        lop.analyze(tmp_path / "missing.pcap")
    with pytest.raises(UsageError, match="is a folder"):
        lop.analyze(tmp_path)


def test_two_captures_show_losses_and_delays_between_their_points(captures: Path) -> None:
    found = lop.analyze(captures / "host-server.pcapng", captures / "host-client.pcapng")
    download = found.between.to_polars().filter((pl.col("from") == "10.0.0.1") & (pl.col("to_port") == 5001))
    row = download.row(0, named=True)
    retransmitted = found.largest[0]["retransmitted_packets"]
    assert row["first"] == 1
    # Packets that are in flight at the end also count as lost, because the second capture does not contain them.
    assert retransmitted <= row["lost_packets"] <= retransmitted + 60
    assert found.facts["clock_offset_s"] == pytest.approx(0, abs=0.005)
    assert len(found.passages) >= row["packets_1"]


def test_no_report_writes_only_the_tables_and_no_line_is_wide(captures: Path, tmp_path: Path) -> None:
    done = command(captures / "host-server.pcapng", "--out", tmp_path / "found", "--no-report")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "found" / "directions.parquet").exists()
    assert not (tmp_path / "found" / "report.html").exists()
    # Lines that contain a path may be wider than 80 columns.
    tables = [
        line for line in done.stdout.decode().splitlines() if "test_no_report" not in line and str(captures) not in line
    ]
    assert max(map(len, tables)) <= 80


def test_a_shared_ip_id_counter_is_not_reported_as_ack_thinning(found: lop.Capture) -> None:
    assert "network" not in found.directions.to_polars()["ack_thinning"].to_list()


def test_a_freebsd_upload_is_reno_and_its_queue_of_packets_is_drop_tail(tmp_path: Path) -> None:
    # The queue stores 50 packets (data and ACKs). The shaper behind the queue releases bytes every 4 ms.
    path = Path(__file__).parents[2] / "scenarios" / "two-way.toml"
    lop.Scenario.load(path).run(pcap=tmp_path, pcap_at=["hosts"])
    rows = lop.analyze(tmp_path / "host-server.pcapng").largest
    upload = next(row for row in rows if row["from"] == "10.0.0.2")
    assert upload["cc"] == "reno"
    assert upload["data_discipline"] == "drop_tail"
    assert upload["data_buffer_bytes"] == pytest.approx(50 * 1500, rel=0.1)


def test_a_pipe_has_a_live_view_and_ctrl_c_prints_the_result(captures: Path) -> None:
    content = (captures / "host-server.pcapng").read_bytes()
    screen, terminal = pty.openpty()
    given = [sys.executable, "-m", "lopsided", "analyze", "-"]
    running = subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=terminal)
    os.close(terminal)
    assert running.stdin is not None
    assert running.stdout is not None
    # Write only half of the capture, so that the input ends in the middle of a record.
    running.stdin.write(content[: len(content) // 2])
    running.stdin.flush()
    shown = b""
    while b"10.0.0.1:" not in shown:
        shown += os.read(screen, 65_536)
    assert b"limited by" in shown
    running.send_signal(signal.SIGINT)
    printed = running.stdout.read()
    assert running.wait(timeout=30) == 0, shown
    assert b"TCP packets" in printed
    assert b"cut short" not in printed
    os.close(screen)


def test_live_rows_have_the_columns_of_the_tables(captures: Path) -> None:
    seen: list[list[dict[str, object]]] = []
    found = lop.analyze(captures / "host-server.pcapng", live=seen.append)
    columns = {*found.directions.columns, *found.timeline.columns}
    assert len(seen) >= 39
    assert all(set(row) <= columns for rows in seen for row in rows)
    download = [rows[0]["goodput_bps"] for rows in seen[5:19]]
    assert download == pytest.approx([2.4e6 * 1448 / 1500] * len(download), rel=0.15)
