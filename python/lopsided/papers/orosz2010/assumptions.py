"""What the letter does not give, what is assumed in its place, and what other values would do.

The variants are run by `lopsided reproduce orosz2010`; the report shows what each does to the shares of phases 2 and 3
and which claims change. Two things decide most and have experiments of their own: the uplink buffer and the windows of
the uploads.
"""

from __future__ import annotations

from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Assumption, KeyResult, Overrides, Variant
from lopsided.papers.orosz2010.setup import HIGH_SPEED
from lopsided.papers.orosz2010.shared import OTHERS, VEGAS, mean_over, value

_UPLOADS = ("upload", "more")


def _uploads(key: str, setting: str) -> Overrides:
    return {f"flow.{name}.{key}": setting for name in _UPLOADS}


def _phases_of(seconds: int) -> Overrides:
    return {
        "flow.upload.start": f"{seconds} s",
        "flow.more.start": f"{2 * seconds} s",
        "scenario.duration": f"{3 * seconds} s",
    }


ASSUMPTIONS = (
    Assumption(
        key="uplink-buffer",
        parameter="the modem's uplink buffer",
        value="50 packets",
        why="not given and decisive (ORO-A08); a round number in the range of such devices, 5.5 s when full of "
        "uploads, and one of the few with which near 70 % is left in phase 2, as the statement "
        "seventy-percent-needs-its-buffer and figure B show",
        variants=(
            Variant("20 packets", {"link.up.queue.limit": "20 packets"}),
            Variant("100 packets", {"link.up.queue.limit": "100 packets"}),
            Variant("32 kB, counted in bytes", {"link.up.queue.limit": "32 kB"}),
        ),
    ),
    Assumption(
        key="upload-windows",
        parameter="the windows of the uploads",
        value="grown by the stack, in effect unbounded",
        why="section III says that defaults were kept; Linux 2.6.22 grows both buffers. An FTP program that sets its "
        "buffers would bound them; figure W sweeps that with a buffer that does not overflow",
        variants=(
            Variant("24 KiB", _uploads("sender_stack.send_buffer", "24 KiB")),
            Variant(
                "24 KiB, uplink buffer 200 packets",
                {**_uploads("sender_stack.send_buffer", "24 KiB"), "link.up.queue.limit": "200 packets"},
            ),
            Variant("64 KiB", _uploads("sender_stack.send_buffer", "64 KiB")),
        ),
    ),
    Assumption(
        key="download-window",
        parameter="the download's window",
        value="grown by the stack, in effect unbounded",
        why="as above",
        variants=(
            Variant("receive buffer 64 KiB", {"flow.download.receiver_stack.receive_buffer": "64 KiB"}),
            Variant(
                "receive buffer 16 KiB, the least that section III names",
                {"flow.download.receiver_stack.receive_buffer": "16 KiB"},
            ),
        ),
    ),
    Assumption(
        key="downlink-buffer",
        parameter="the DSLAM's downlink buffer",
        value="50 packets",
        why="not given",
        variants=tuple(
            Variant(f"{size} packets", {"link.down.queue.limit": f"{size} packets"}) for size in (20, 100, 200)
        ),
    ),
    Assumption(
        key="framing",
        parameter="what the rates of 512 and 128 kbit/s count",
        value="ATM cells with PPPoE in them (LLC/SNAP), packets of 1492 bytes",
        why='"maximum physical bandwidth" is the rate of the line, and both are multiples of its 32 kbit/s step; how '
        "the ISP encapsulates is not given. A download then has 437 kbit/s of IP packets",
        variants=(
            Variant("IP packets of 1500 bytes", {"link.framing": "none", "stack.mtu": "1500 B"}),
            Variant("Ethernet frames", {"link.framing": "ethernet", "stack.mtu": "1500 B"}),
            Variant("PPPoA in cells (VC-MUX)", {"link.framing": "pppoa-vcmux", "stack.mtu": "1500 B"}),
        ),
    ),
    Assumption(
        key="both-ends",
        parameter="which host runs the variant",
        value="both",
        why="the letter speaks of the kernel's setting and of no difference between the hosts",
        variants=(
            Variant("the server only, uploads under CUBIC (the kernel's default)", _uploads("cc", "cubic-0.8")),
            Variant("the server only, uploads under Reno", _uploads("cc", "reno")),
        ),
    ),
    Assumption(
        key="uploads",
        parameter="uploads added in phase 3",
        value="one, two in all",
        why='section IV says "flows", section V "another flow" (ORO-A05)',
        variants=tuple(Variant(f"{more}, {more + 1} in all", {"flow.more.count": str(more)}) for more in (2, 4)),
    ),
    Assumption(
        key="phase-length",
        parameter="length of the phases",
        value="120 s",
        why="not given; long enough for a dozen cycles of a window",
        variants=tuple(Variant(f"{seconds} s", _phases_of(seconds)) for seconds in (60, 300)),
    ),
    Assumption(
        key="rtt",
        parameter="round-trip time without queues",
        value="30 ms",
        why='"the latency of the full path", read as a round trip (ORO-A07)',
        variants=(Variant("60 ms, 30 ms one way", {"link.rtt": "60 ms"}),),
    ),
    Assumption(
        key="cubic",
        parameter="which CUBIC",
        value="Linux before 2.6.26: beta 819/1024, no HyStart",
        why="the kernel of section III; table L has today's beside it",
    ),
    Assumption(
        key="recovery",
        parameter="loss recovery",
        value="FACK and rate halving",
        why="defaults of Linux 2.6.22",
        variants=(
            Variant("RFC 6675", {"stack.fack": "false", "stack.rate_halving": "false"}),
            Variant("without SACK", {"stack.sack": "false"}),
        ),
    ),
    Assumption(
        key="stack",
        parameter="everything else in the stack",
        value="profile linux-2.6",
        why="from Linux's documentation and literature; not measured against that kernel. The other profile shows how "
        "much the stack matters at all",
        variants=(
            Variant("profile linux-6.1", {"stack.profile": "linux-6.1"}),
            Variant("initial window of 10 segments", {"stack.initial_window": "10 segments"}),
            Variant("timestamps off", {"stack.timestamps": "false"}),
            Variant("an ACK for every segment", {"stack.delayed_ack": "off"}),
            Variant("minimum RTO 1 s (RFC 6298)", {"stack.min_rto": "1 s"}),
        ),
    ),
    Assumption(
        key="remembered",
        parameter="what a host remembers from one connection to the next",
        value="nothing",
        why="Linux 2.6.22 keeps thresholds and RTTs per destination unless tcp_no_metrics_save is set, which would end "
        "a slow start early; whether routes were flushed between runs is not given. Not modelled",
    ),
)


def _mean_share(phase: int) -> KeyResult:
    return KeyResult(
        key=f"share-{phase}",
        group=f"phase {phase}",
        title=f"phase {phase} mean but Vegas",
        unit="of phase 1",
        read=lambda m: mean_over(m, OTHERS, f"share_{phase}").median,
    )


def _vegas(phase: int) -> KeyResult:
    def read(m: Measurements) -> float:
        return value(m, VEGAS, f"throughput_{phase}_bps").median / 1e3

    return KeyResult(key=f"vegas-{phase}", group="Vegas", title=f"Vegas phase {phase}", unit="kbit/s", read=read)


KEY_RESULTS = (
    _mean_share(2),
    _mean_share(3),
    _vegas(2),
    _vegas(3),
    KeyResult(
        key="fluctuation-3",
        group="fluctuation",
        title="fluctuation phase 3, high-speed variants",
        unit="",
        read=lambda m: mean_over(m, HIGH_SPEED, "fluctuation_3").median,
    ),
)
