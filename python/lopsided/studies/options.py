"""Defines the names and defaults of options that Python and the command line share.

Rates, times and shares are text with a unit, or numbers in bit/s, seconds and fractions of 1. The docstring of a field
is also the help text of its option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeVar, cast

from lopsided.errors import UsageError

T = TypeVar("T")

AQM_QUEUES = "fifo,codel,fq_codel,pie,cake"
"""Disciplines that `lopsided aqm` compares by default."""
SIZE_QUEUES = "unmanaged,fifo,codel,fq_codel,pie,cake"
"""Disciplines that `lopsided size` compares by default."""
USUAL_INTERFACE = "eth0"
"""Default network interface in the printed configuration commands."""
ACKPATH_REMEDIES = (
    "none,filter,cake_filter,acks_first,acc,few_acks,bursts,reconstruct,"
    "filter+bursts,filter+reconstruct,filter+acks_first,acc+bursts"
)
"""Remedies that `ackpath` compares by default."""
ACKPATH_REPEAT = 3
"""Default number of runs per remedy in `lopsided ackpath`."""
FIT_TRIALS = 600
"""Default number of scenarios that `fit` simulates."""
FIT_LEAST_TRIALS = 20
"""Minimum number of scenarios that `fit` simulates."""
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
"""The table column of each named metric except goodput. Every numeric column of a table is also a metric."""
METRICS = ("goodput", *METRIC_COLUMNS)
"""The names of metrics that a sweep accepts in addition to the names of numeric columns."""
CHECK_LINES_TRIED = ("adsl2plus-16-1", "docsis30-100-10", "lte-50-15", "wifi5-400-400")
"""Access lines on which `check` compares two builds by default."""
CHECK_METRIC = "time"
"""The metric that `check` compares by default."""
CHECK_REPEAT = 5
"""Default number of pairs of runs that `check` compares on each access line."""
CHECK_MARGIN = 0.02
"""By default, `check` accepts a candidate build that is worse than the baseline by at most this fraction of the
baseline's mean."""
CHECK_LIMIT = "60s"
"""Default time limit of one run of `check`."""
COMPARED_WORLDS = ("sim", "kernel")
"""Worlds that `lopsided compare` compares by default. The last world is the reference."""
COMPARED_RUNS = 3
"""Default number of runs per world in `lopsided compare`."""
PACKETS_APART_S = 100e-6
"""By default, two packets count as different if their times since the SYN differ by more than this number of
seconds."""


@dataclass(frozen=True, kw_only=True)
class FairnessOptions:
    """Options for measuring the fairness between congestion controls."""

    link: str | int = "100M"
    """Rate of the bottleneck, such as 100M (bit/s). If `--up` is set, this is the downlink's rate."""
    up: str | int | None = None
    """Rate of the uplink; default: the downlink's rate."""
    direction: Literal["down", "up"] = "down"
    """Direction in which the flows send data."""
    buffer: str = "1 BDP"
    """Buffer of each direction: in BDP at the mean RTT of a pair ("1 BDP"), in packets (50p) or in bytes (64kB)."""
    pairs: Literal["usual", "inter", "intra", "full"] = "usual"
    """`inter`: different congestion controls at equal RTTs; `intra`: each congestion control against itself at unequal
    RTTs; `usual`: both; `full`: all combinations."""
    flows: int = 1
    """Number of flows on each side of a pair."""
    stack: str = "linux-6.1"
    """Stack profile of all hosts."""
    socket_buffer: str | None = None
    """Send and receive buffers, such as "4 MiB" or auto; default: large enough never to limit a flow."""
    duration: str | float = "60s"
    """Time for which both sides are active."""
    warmup: str | float | None = None
    """Time that the means exclude after both sides have started; default: 33 % of the duration."""
    lead: str | float = "10s"
    """Time for which the first side runs alone; with 0s both sides start together."""
    within: str | float = "20%"
    """Largest distance from the fair share at which a flow counts as converged."""
    hold: str | float = "5s"
    """Time for which the shares must stay within `--within` of the fair share."""
    harm: bool = True
    """Also run each side alone, and measure the harm that the other side causes."""
    repeat: int = 2
    """Number of seeds for each of the two orders in which the sides of a pair start."""
    seed: int = 1
    """The first seed."""


@dataclass(frozen=True, kw_only=True)
class AqmOptions:
    """Options for comparing queue disciplines."""

    direction: Literal["both", "down", "up"] = "both"
    """Directions in which the disciplines are used. They replace the queue of the slowest link in each direction."""
    link: str | None = None
    """Link whose queue is replaced; default: the slowest link."""
    workload: str | None = None
    """Traffic that replaces the scenario's flows: `rrul` (4 downloads, 4 uploads, pings, in four classes), `rrul_be`
    (all best effort), `home` (a download, an upload, pages, short transfers, a call) or `rpm`, `rpm_down`, `rpm_up`
    (load of the IETF's responsiveness draft: another connection every 5 s)."""
    probe: bool = True
    """Send a small request every 0.5 s to measure responsiveness."""
    ecn: bool = False
    """Use ECN at both ends, and mark in all queues that support marking."""
    repeat: int = 3
    """Number of seeds for each discipline."""
    seed: int | None = None
    """The first seed; default: the scenario's."""

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a comparison {self.repeat} times")


@dataclass(frozen=True, kw_only=True)
class SizeOptions:
    """Options for sizing a buffer, except the line's rates and its RTT."""

    preset: str | None = None
    """An access line by name (`lopsided list presets`); `--down`, `--up` and `--rtt` override its values."""
    queue_down: str | None = None
    """The downlink's buffer, such as 50p (packets) or 64kB; default: one bandwidth-delay product, at least 50
    packets."""
    target_delay: str | float | None = None
    """Largest delay that a full uplink buffer may add, such as 100ms; it limits the recommended buffer."""
    framing: str | None = None
    """The line's overhead per IP packet, such as `ethernet` or `pppoe-llcsnap`.

    By default, the preset's overhead is used if it has one.
    """
    cc: str = "reno"
    """Congestion control of both flows."""
    stack: str = "linux-6.1"
    """Stack profile of both hosts."""
    repeat: int = 5
    """Number of seeds per buffer size; results are medians over the seeds. Disciplines use at most 3 seeds."""
    seed: int = 1
    """The first seed."""
    interface: str = USUAL_INTERFACE
    """Network interface towards the line, as named in the printed Linux commands."""

    def __post_init__(self) -> None:
        if self.repeat < 1:
            raise UsageError(f"cannot repeat a measurement {self.repeat} times")


def from_arguments(kind: type[T], arguments: Mapping[str, Any]) -> T:
    """Builds an options object from the arguments of a function (`locals()`). Each argument sets the field with the
    same name."""
    return kind(**{each.name: arguments[each.name] for each in fields(cast("Any", kind))})
