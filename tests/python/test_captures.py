"""Checks captures with tshark: no malformed packets, and no unexplained analysis flags."""

import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import lopsided as lop

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

SENT_AGAIN = {"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order"}
"""tshark's flags for a retransmission in the sender's capture. tshark chooses one of the flags by the timing."""
SEEN_BEHIND_A_LOSS = {"lost_segment", "duplicate_ack", "window_update"}
"""tshark's flags after a loss, in the receiver's capture. A duplicate ACK that enlarges the window is flagged as a
window update."""
OUTBOUND = 2
"""The value that marks outgoing packets in pcapng."""
FLAGS = sorted(SENT_AGAIN | SEEN_BEHIND_A_LOSS)


@pytest.fixture(scope="module")
def captured(adsl, tmp_path_factory) -> tuple[lop.Run, Path]:
    folder = tmp_path_factory.mktemp("pcap")
    return adsl.run(pcap=folder), folder


def tshark(file: Path, shown: str, *fields: str) -> list[list[str]]:
    """Returns the given fields of each packet that matches the display filter `shown`."""
    command = ["tshark", "-r", str(file), "-Y", shown, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_no_captured_packet_is_malformed(captured):
    _, folder = captured
    files = sorted(folder.glob("*.pcapng"))
    assert files
    for file in files:
        assert tshark(file, "_ws.malformed || _ws.expert.severity == error", "frame.number") == []
        assert tshark(file, "frame.time_delta < 0", "frame.number") == []


@pytest.mark.slow
@pytest.mark.parametrize(("host", "flow"), [("server", "download"), ("client", "upload")])
def test_every_flag_at_a_host_is_explained(captured, host, flow):
    run, folder = captured
    fields = ["frame.packet_flags_direction", *(f"tcp.analysis.{flag}" for flag in FLAGS)]
    flagged = tshark(folder / f"host-{host}.pcapng", "tcp.analysis.flags", *fields)
    again = 0
    for direction, *marks in flagged:
        outbound = int(direction, 0) == OUTBOUND
        flags = {flag for flag, mark in zip(FLAGS, marks, strict=True) if mark}
        assert flags, "a flag of another kind"
        again += outbound and bool(flags & SENT_AGAIN)
        assert not outbound or "lost_segment" not in flags, "a host's own capture misses nothing that it sent"
    told = run.flows.to_polars().row(by_predicate=pl.col("name") == flow, named=True)["retransmits"]
    assert again == told > 0


@pytest.mark.slow
def test_goodput_in_the_capture_is_goodput_in_the_table(captured):
    run, folder = captured
    acks = tshark(folder / "host-server.pcapng", "frame.packet_flags_direction == 1 && tcp.stream == 0", "tcp.ack")
    delivered = run.flows.to_polars().row(by_predicate=pl.col("name") == "download", named=True)["delivered_bytes"]
    # The ACK number also counts SYN and FIN, so it may exceed the delivered bytes by 2. It may be lower than the
    # delivered bytes, because the last ACKs have not reached the server.
    assert delivered - 100_000 < max(int(ack) for (ack,) in acks) <= delivered + 2
