"""What the thesis does not give, what is assumed in its place, and what other values would do.

The variants are run by `lopsided reproduce merritt2010`; the report shows what each does to the key results and which
claims change. Stack behaviours are FreeBSD 7.2's defaults as the profile `freebsd-7` has them (section 4.4 says that
all but "inflight" was left at its default).
"""

from __future__ import annotations

from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Assumption, KeyResult, Overrides, Variant
from lopsided.papers.merritt2010.setup import LINES, AccessLine
from lopsided.papers.merritt2010.shared import BOTH_READINGS, Reading, at, threshold

_DIRECTIONS = ("down", "up")


def _both(key: str, value: str) -> Overrides:
    return {f"link.{direction}.{key}": value for direction in _DIRECTIONS}


def _remembered(down_kb: int, up_kb: int) -> Overrides:
    sizes = {"download": down_kb, "upload": up_kb}
    return {f"flow.{flow}.sender_stack.remembered_threshold": f"{size} kB" for flow, size in sizes.items()}


ASSUMPTIONS = (
    Assumption(
        key="base-rtt",
        parameter="base RTT, without queues",
        value="1 ms",
        why="no delay was added, everything stands on one bench (MER-A16); routers and virtual machines cost some time",
        variants=tuple(Variant(value, {"link.rtt": value}) for value in ("0.2 ms", "5 ms", "20 ms")),
    ),
    Assumption(
        key="framing",
        parameter="octets that the shaper counts beside the IP packet",
        value="14, the Ethernet header",
        why="IOS shapes an Ethernet interface by frames without preamble; whether the checksum counts is not said",
        variants=(
            Variant("none", {"link.framing": "none"}),
            Variant("18, with checksum", {"link.framing.overhead": "4 B"}),
            Variant("38, with preamble and gap", {"link.framing": "ethernet-wire"}),
        ),
    ),
    Assumption(
        key="shaper",
        parameter="how the shaper releases credit",
        value="lumps of Bc every 4 ms, credit gathers until a packet fits",
        why="table 4.3; on the uplinks Bc is less than a packet (MER-A03), and what IOS does then is not said",
        variants=(
            Variant("continuous, bucket of 1600 bytes", _both("shaper", "1600 B")),
            Variant("lumps of one packet's size at least", _both("shaper.burst", "1514 B")),
        ),
    ),
    Assumption(
        key="timestamps",
        parameter="TCP timestamps and window scaling (one switch in FreeBSD), and so the payload of a full packet",
        value="on: 1448 bytes",
        why="FreeBSD 7.2 has them on by default; the programs write 1460 bytes, which the stack cuts anew",
        variants=(Variant("off: 1460 bytes", {"stack.timestamps": "false", "stack.window_scaling": "false"}),),
    ),
    Assumption(
        key="socket-buffers",
        parameter="send and receive buffers",
        value="grown by the stack, up to 256 KiB",
        why="FreeBSD 7's defaults; the programs set nothing",
        variants=(
            Variant("receive 64 KiB, fixed", {"stack.receive_buffer": "64 KiB"}),
            Variant("send 32 KiB, fixed", {"stack.send_buffer": "32 KiB"}),
            Variant("both 1 MiB, fixed", {"stack.receive_buffer": "1 MiB", "stack.send_buffer": "1 MiB"}),
        ),
    ),
    Assumption(
        key="initial-window",
        parameter="initial window",
        value="3 segments (RFC 3390)",
        why="FreeBSD 7.2's default",
        variants=(
            Variant("1 segment", {"stack.initial_window": "1 segments"}),
            Variant("10 segments", {"stack.initial_window": "10 segments"}),
        ),
    ),
    Assumption(
        key="rto",
        parameter="minimum retransmission timeout",
        value="30 ms, and 200 ms of slop on every timeout",
        why="FreeBSD 7.2's defaults",
        variants=(
            Variant("1 s (RFC 6298)", {"stack.min_rto": "1 s"}),
            Variant("200 ms", {"stack.min_rto": "200 ms"}),
        ),
    ),
    Assumption(
        key="delayed-ack",
        parameter="delayed ACKs",
        value="every second segment as it arrives, and what reading opens by two: two ACKs for three segments; "
        "at the latest after 100 ms",
        why="table 4.4 says that they are on; the details are FreeBSD 7.2's",
        variants=(
            Variant("off", {"stack.delayed_ack": "off"}),
            Variant("every second segment only", {"stack.window_update": "closed"}),
            Variant("every fourth, as behind a card that merges segments", {"stack.delayed_ack.segments": "4"}),
        ),
    ),
    Assumption(
        key="stack",
        parameter="everything else in the stack",
        value="profile freebsd-7",
        why="held to FreeBSD's own TCP (docs/fidelity/freebsd.md); the other profile shows how much the stack matters "
        "at all",
        variants=(Variant("profile linux-6.1 with Reno", {"stack.profile": "linux-6.1"}),),
    ),
    Assumption(
        key="start",
        parameter="when the upload starts",
        value="120 s after the download, plus up to 1 s by seed",
        why="section 1.3 says two minutes, figure 1.1's text about 150 s (MER-A05); no repetitions are reported",
        variants=(Variant("150 s", {"flow.upload.start": "150 s", "scenario.duration": "270 s"}),),
    ),
    Assumption(
        key="host-cache",
        parameter="what a host remembers from one connection to the next",
        value="nothing",
        why="FreeBSD keeps a threshold per destination for an hour, which ends the first slow start early; whether "
        "hosts were restarted between runs is not given. The values to try are ours, about what a connection on "
        "these lines leaves behind; RTTs that are remembered too are not modelled",
        variants=tuple(
            Variant(f"{down} kB for the download, {up} kB for the upload", _remembered(down, up))
            for down, up in ((50, 20), (36, 20))
        ),
    ),
)


def _performance(line: AccessLine, packets: int, reading: Reading) -> KeyResult:
    return KeyResult(
        key=f"performance{reading.suffix}-{line.name}-{packets}",
        group=reading.name,
        title=f"{reading.name} {line.name}, {packets} packets",
        unit="",
        read=lambda m: at(m, line, packets, reading.performance).median,
    )


def _rtt(line: AccessLine) -> KeyResult:
    def read(m: Measurements) -> float:
        return at(m, line, 50, "rtt_alone_logged_ms").median

    return KeyResult(f"rtt-{line.name}", "RTT alone", f"RTT alone {line.name}", "ms", read)


def _estimate(line: AccessLine) -> KeyResult:
    return KeyResult(
        f"estimate-{line.name}", "estimate", f"estimate {line.name}", "packets", lambda m: threshold(m, line)
    )


KEY_RESULTS = (
    *(_performance(line, packets, reading) for reading in BOTH_READINGS for line in LINES for packets in (5, 20, 50)),
    *(_rtt(line) for line in LINES),
    *(_estimate(line) for line in LINES),
)
