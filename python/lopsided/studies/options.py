"""What may be asked of studies: names, defaults and words, once for Python and for the console.

Rates, times and shares are what people type, or numbers of bit/s, of seconds and of one. A docstring is the option's
line of help.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lopsided.errors import UsageError

AQM_QUEUES = "fifo,codel,fq_codel,pie,cake"
"""The disciplines that are compared where none are named."""
SIZE_QUEUES = "unmanaged,fifo,codel,fq_codel,pie,cake"
"""Those that are compared for a line."""
USUAL_INTERFACE = "eth0"
"""The network interface towards the line, in printed commands, where none is named."""
ACKPATH_REMEDIES = (
    "none,filter,cake_filter,acks_first,acc,few_acks,bursts,reconstruct,"
    "filter+bursts,filter+reconstruct,filter+acks_first,acc+bursts"
)
"""Remedies for the way of the ACKs that are compared where none are named."""
ACKPATH_REPEAT = 3
"""Runs of each."""
SWEEP_METRIC = "goodput"
"""The default metric of a sweep."""
METRIC_COLUMNS = {
    "delay": "rtt_mean_ms",
    "delay95": "rtt_p95_ms",
    "loss": "loss_share",
    "retransmits": "retransmits",
    "completion": "completion_s",
    "jain": "jain",
    "performance": "performance",
}
"""The column of each metric but goodput. A numeric column of the table is a metric by its own name."""
METRICS = ("goodput", *METRIC_COLUMNS)
"""The metrics of a sweep, in addition to the columns of its table."""
COMPARED_WORLDS = ("sim", "kernel")
"""Held against each other where none are named; the last is the reference."""
COMPARED_RUNS = 3
"""Runs in each."""
PACKETS_APART_S = 100e-6
"""By how much the times of a packet may differ, each since its connection's SYN."""


@dataclass(frozen=True, kw_only=True)
class FairnessOptions:
    """Of congestion controls against each other."""

    link: str | int = "100M"
    """Rate of the bottleneck, such as 100M (bit/s); of the downlink where that of the uplink differs."""
    up: str | int | None = None
    """Rate of the uplink; default: that of the downlink."""
    direction: Literal["down", "up"] = "down"
    """Where the data goes."""
    buffer: str = "1 BDP"
    """Of each direction: BDP at the mean RTT of a pair (such as "1 BDP"), or as 50p (packets) or 64kB."""
    pairs: Literal["usual", "inter", "intra", "full"] = "usual"
    """`inter`: control against control at equal RTT; `intra`: each against itself at unequal RTT; `usual`: both;
    `full`: everything against everything."""
    flows: int = 1
    """Flows on each side."""
    stack: str = "linux-6.1"
    """Stack profile of all hosts."""
    socket_buffer: str | None = None
    """Send and receive buffers, such as "4 MiB" or auto; default: so large that they never decide."""
    duration: str | float = "60s"
    """How long both sides are active."""
    warmup: str | float | None = None
    """Of that, the time left out of the means; default: a third."""
    lead: str | float = "10s"
    """How long the side that comes first is alone; with 0s both start together."""
    within: str | float = "20%"
    """A time of convergence ends when shares are this near to what they should be ..."""
    hold: str | float = "5s"
    """... and stay there for so long."""
    harm: bool = True
    """Run each side alone too, and measure the harm of company."""
    repeat: int = 2
    """Seeds for each order of arrival: a pair meets in both, so it has twice as many runs."""
    seed: int = 1
    """The first seed."""


@dataclass(frozen=True, kw_only=True)
class AqmOptions:
    """Of queue disciplines beside each other."""

    direction: Literal["both", "down", "up"] = "both"
    """Where they stand: before the slowest link of both directions, or of one."""
    link: str | None = None
    """Where they stand instead: before this link."""
    workload: str | None = None
    """In place of the scenario's flows: `rrul` (4 downloads, 4 uploads, pings, in four classes), `rrul_be` (all best
    effort), `home` (a download, an upload, pages, short transfers, a call) or `rpm`, `rpm_down`, `rpm_up` (the
    responsiveness draft's: a connection more each 5 s)."""
    probe: bool = True
    """Send a small request each half second, which tells the responsiveness."""
    ecn: bool = False
    """Both ends use ECN, and queues mark wherever they can."""
    repeat: int = 3
    """Runs of each discipline, each with another seed: a comparison needs to know how much is chance."""
    seed: int | None = None
    """The first seed; default: the scenario's."""

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a comparison {self.repeat} times")


@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Of a line beside its rates and round trip."""

    preset: str | None = None
    """An access line by name (`lopsided list presets`); rates and round trip that are given beside it win."""
    queue_down: str | None = None
    """The downlink's buffer, such as 50p (packets) or 64kB; default: one bandwidth-delay product, at least 50
    packets."""
    target_delay: str | float | None = None
    """What a full uplink buffer may at most add to a packet's time, such as 100ms: the buffer advised is no larger."""
    framing: str | None = None
    """What the line adds to each IP packet, as a scenario's `framing` (`ethernet`, `pppoe-llcsnap`, ...); default:
    nothing, or what the preset has."""
    cc: str = "reno"
    """Congestion control of both flows."""
    stack: str = "linux-6.1"
    """Stack profile of both hosts."""
    repeat: int = 5
    """Seeds per size, of which the median counts; at most 3 per discipline."""
    seed: int = 1
    """The first seed."""
    interface: str = USUAL_INTERFACE
    """Network interface towards the line, for the commands that set a Linux machine."""

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a measurement {self.repeat} times")
