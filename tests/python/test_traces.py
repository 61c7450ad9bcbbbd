from pathlib import Path

import pytest

import lopsided as lop
from lopsided.errors import FolderError

LINE = """\
[scenario]
duration = "10 s"
[link]
delay = "5 ms"
rate = "8 Mbit/s"
queue = "30 packets"
[host.server.interface]
delay = "40 ms"
[[flow]]
name = "download"
direction = "down"
app = "3 MB"
[record]
traces = true
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[lop.Run, lop.Table]:
    folder = tmp_path_factory.mktemp("pcap")
    run = lop.Scenario.from_text(LINE, "line.toml").run(pcap=folder)
    return run, lop.trace(folder / "host-server.pcapng")


def test_a_capture_at_the_sender_is_taken_behind_its_interface(run: tuple[lop.Run, lop.Table]) -> None:
    of_run, of_file = ({**next(iter(table.rows()))} for table in (run[0].traces, run[1]))
    assert (of_run.pop("host"), of_run.pop("flow")) == ("server", "download")
    assert of_run.items() <= of_file.items()
    (flow,) = run[0].flows.rows()
    assert of_run["rtt_count"] == flow["rtt_count"] > 100
    assert flow["rtt_mean_ms"] - of_run["rtt_mean_ms"] == pytest.approx(40)
    assert of_run["retransmitted_packets"] == flow["retransmits"] > 0
    assert of_run["data_packets"] == flow["data_segments_out"]
    assert of_run["elapsed_s"] == pytest.approx(flow["completion_s"], abs=0.1)
    assert 0 < of_run["outstanding_mean_bytes"] < of_run["outstanding_max_bytes"] < flow["delivered_bytes"]


def test_traces_are_loaded_with_the_folder(run: tuple[lop.Run, lop.Table], tmp_path: Path) -> None:
    folder = run[0].save(tmp_path / "run", report=False)
    assert lop.Run.load(folder).traces.to_polars().equals(run[0].traces.to_polars())


def test_a_file_that_is_not_a_capture_is_rejected(tmp_path: Path) -> None:
    text = tmp_path / "capture.txt"
    text.write_text("no capture at all")
    for path in (text, tmp_path / "missing.pcap"):
        with pytest.raises(FolderError, match="cannot read"):
            lop.trace(path)
