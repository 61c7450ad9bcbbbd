"""Tests the analysis of sender logs, as in the scripts of Merritt (2010), with logs whose averages are known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lopsided import cli, metrics
from lopsided.errors import UsageError
from lopsided.studies import sender_log
from lopsided.studies.probe import THESIS_COLUMNS


def log(path: Path, rows: list[tuple[float, int, int]], header: bool = True) -> Path:
    """Writes a sender log. Each row contains the time in s, the RTT in microseconds, and the congestion window in
    bytes."""
    lines = ["\t".join(THESIS_COLUMNS)] if header else []
    lines += [f"{time:f}\t{rtt}\t50\t0\t{cwnd}\t65535\t65535\t0\t1000.000000" for time, rtt, cwnd in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Writes a log of a download and a log of an upload. The upload starts after 10 s, and doubles the download's RTT
    and window."""
    alone = [(100.0 + at, 200_000, 30_000) for at in range(11)]
    both = [(100.0 + at, 400_000, 60_000) for at in range(11, 21)]
    return log(tmp_path / "down.tsv", alone + both), log(tmp_path / "up.tsv", [(110.5, 1_000_000, 20_000)] * 5)


def found(*arguments: object, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    assert cli.invoke(["metrics", *map(str, arguments), "--json"]) == 0
    return {each["name"]: each["value"] for each in json.loads(capsys.readouterr().out)}


def test_all_scripts_agree_with_the_functions(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    values = found(*logs, "--down", "2.4M", "--up", "196k", capsys=capsys)
    assert values["mean window, download alone"] == 30_000
    assert values["throughput, both active, window over RTT"] == pytest.approx(60_000 * 8 / 0.4)
    assert values["bandwidth-delay product, both active"] == pytest.approx(0.4 * 2.4e6 / 8)
    assert values["largest window of the upload"] == 20_000
    bdp = int(0.2 * 196e3 / 8)
    expected = metrics.estimated_buffer_packets(60_000, 20_000, bdp)
    assert values["uplink buffer by inequality 6.6"] == expected == 10
    assert values["performance, the smaller of these (eq 1.2)"] == pytest.approx(100 * 1.2e6 / 2.4e6)
    # The RTT does not vary during the upload.
    assert values["standard deviation of the download's RTT"] == 0


def test_a_single_log_has_one_part(logs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    values = found(logs[0], capsys=capsys)
    assert values["mean window of the download"] == pytest.approx((11 * 30_000 + 10 * 60_000) / 21)
    assert "uplink buffer by inequality 6.6" not in values
    split = found(logs[0], "--split", "10s", capsys=capsys)
    assert split["mean window, both active"] == 60_000


def test_appendix_d_is_written(logs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "bdp.csv"
    assert cli.invoke(["metrics", str(logs[0]), "--down", "2.4M", "--bdp", str(target)]) == 0
    lines = target.read_text().splitlines()
    assert lines[:2] == ["time_s,cwnd_bytes,bdp_bytes", "100.000000,30000,60000"] and len(lines) == 22
    capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows"),
        ("a\tb\n1\t2\n", ":2: a row needs 9 numbers"),
        ("1 2 3 4 5 6 7 8 nine\n", ":1: a row needs 9"),
    ],
)
def test_a_file_that_is_not_a_log_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        sender_log.read(path)
    with pytest.raises(UsageError, match="such file"):
        sender_log.read(tmp_path / "missing")


def test_a_split_outside_the_log_is_named(logs: tuple[Path, Path]) -> None:
    with pytest.raises(UsageError, match="no rows on one side of the split, 50 s in"):
        sender_log.figures(sender_log.read(logs[0]), None, 50.0, sender_log.Rates(None, None))
