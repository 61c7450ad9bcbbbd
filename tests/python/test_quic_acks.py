"""Checks that QUIC's ACKs in captures have the sizes that RFC 9000 defines, and that their number agrees with the
configured ratio."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lines import QUIC, line_of
from lopsided.scenario import Scenario

LINE = line_of("2 s", "10 Mbit/s", "2 Mbit/s", "100 packets", "100 packets") + QUIC

IPV4, UDP, CONNECTION_ID, TAG = 20, 8, 8, 16


def datagrams(file: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yields the source address and the UDP datagram of each packet in a pcapng file."""
    octets, at = file.read_bytes(), 0
    while at < len(octets):
        kind, size = struct.unpack_from("<II", octets, at)
        if kind == 6:  # An enhanced packet block: interface, time, captured and original length, and the packet.
            captured, original = struct.unpack_from("<II", octets, at + 20)
            packet = octets[at + 28 : at + 28 + captured]
            assert captured == original == int.from_bytes(packet[2:4], "big") and packet[0] == 0x45
            yield packet[12:16], packet[IPV4:]
        at += size


def varint(octets: bytes, at: int) -> tuple[int, int]:
    """Decodes a variable-length integer (RFC 9000, section 16). Returns its value and the next position."""
    size = 1 << (octets[at] >> 6)
    return int.from_bytes(octets[at : at + size], "big") & ((1 << (8 * size - 2)) - 1), at + size


def varint_size(value: int) -> int:
    return next(size for size, limit in ((1, 2**6), (2, 2**14), (4, 2**30), (8, 2**62)) if value < limit)


def ack(udp: bytes) -> tuple[list[tuple[int, int]], int] | None:
    """Returns the acknowledged ranges if the datagram is a pure ACK, and the size that RFC 9000 specifies for its IPv4
    packet; otherwise `None`."""
    first = udp[UDP]
    if first & 0x80:
        return None
    number_size = (first & 3) + 1
    frames = udp[UDP + 1 + CONNECTION_ID + number_size : -TAG]
    if frames[0] not in (2, 3):
        return None
    (largest, at), values = varint(frames, 1), []
    for _ in range(3):
        value, at = varint(frames, at)
        values.append(value)
    delay, count, length = values
    ranges, gaps = [(largest - length, largest)], []
    for _ in range(count):
        gap, at = varint(frames, at)
        length, at = varint(frames, at)
        end = ranges[-1][0] - gap - 2
        ranges.append((end - length, end))
        gaps.append(gap)
    marks = []
    for _ in range(3 if frames[0] == 3 else 0):
        mark, at = varint(frames, at)
        marks.append(mark)
    if at != len(frames):
        return None
    # Section 17.3.1 of RFC 9000 defines the header. Section 19.3 defines the fields: type, largest acknowledged, delay,
    # range count, ranges and gaps, and ECN counts.
    lengths = [end - start for start, end in ranges]
    numbers = [largest, delay, count, *lengths, *gaps, *marks]
    frame = 1 + sum(map(varint_size, numbers))
    return ranges, IPV4 + UDP + 1 + CONNECTION_ID + number_size + frame + TAG


@pytest.mark.parametrize(("ecn", "loss"), [(True, "0 %"), (False, "0 %"), (False, "2 %")])
@pytest.mark.parametrize("packets", [2, 10])
def test_acks_of_a_capture_have_the_size_and_the_ratio_of_the_arithmetic(
    tmp_path: Path, ecn: bool, loss: str, packets: int
):
    transport = {"kind": "quic", "ecn": ecn, "ack_packets": packets, "reordering_threshold": 0, "gso_packets": 1}
    changed = Scenario.from_text(LINE, "acks").with_(**{"flow.it.transport": transport, "link.down.loss": loss})
    run = changed.run(pcap=tmp_path, pcap_at=["hosts"])
    captured = list(datagrams(tmp_path / "host-client.pcapng"))
    client = captured[0][0]
    sizes: Counter[int] = Counter()
    acknowledged: set[int] = set()
    news: list[int] = []
    for source, udp in captured:
        if source != client or (found := ack(udp)) is None:
            continue
        ranges, size = found
        assert IPV4 + len(udp) == size
        sizes[size] += 1
        numbers = {number for start, end in ranges for number in range(start, end + 1)}
        news.append(len(numbers - acknowledged))
        acknowledged |= numbers
    row = next(iter(run.flows.rows()))
    acks = row["data_segments_in"] / sum(sizes.values())
    if loss == "0 %":
        assert news[len(news) // 2] == packets
        assert acks == pytest.approx(packets, rel=0.15)
        # The header has 1 + 8 + 1 bytes, the frame 1 + 2 (largest) + 2 (delay) + 1 + 1 bytes, and the tag 16 bytes. ECN
        # counts add 2 + 1 + 1 bytes.
        assert sizes.most_common(1)[0][0] == (65 if ecn else 61)
    else:
        assert max(sizes) > min(sizes), "holes need ranges"


@pytest.mark.parametrize(
    ("acks", "least", "most"),
    [
        # quinn, ngtcp2, msquic, quic-go and neqo send an ACK for every second packet.
        *((name, 1.8, 2.2) for name in ("quinn", "ngtcp2", "msquic", "quic-go", "neqo")),
        # Chrome acknowledges every 10th packet, but waits at most 25 % of an RTT after the first packet.
        ("chrome", 8, 10.5),
        ("mvfst", 8, 10.5),
        # picoquic sends an ACK when 25 % of a window (up to 117 packets) has arrived, or after 10 ms. At 833 packets/s,
        # 8 packets arrive in 10 ms.
        ("picoquic", 7, 11),
        # After the first 1,000 packets, quicly sends an ACK when 12.5 % of a window has arrived.
        ("quicly", 8, 25),
    ],
)
def test_a_preset_acknowledges_like_its_stack(acks: str, least: float, most: float):
    changed = {"flow.it.transport.acks": acks, "scenario.duration": "6 s", "record.interval": "1 s"}
    run = Scenario.from_text(LINE, acks).with_(**changed).run()
    # Use only the last 3 s, because the presets differ at the start. The counters are cumulative.
    sent = {(row["direction"], round(row["time_s"])): row["sent_packets"] for row in run.queues.rows()}
    ratio = (sent["down", 6] - sent["down", 3]) / (sent["up", 6] - sent["up", 3])
    assert least <= ratio <= most, ratio
