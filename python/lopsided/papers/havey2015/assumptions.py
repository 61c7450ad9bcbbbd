"""What the dissertation does not give, what is assumed in its place, and what other values would do."""

from __future__ import annotations

from lopsided.papers.framework.model import Assumption, KeyResult, Overrides, Variant
from lopsided.papers.havey2015.shared import value


def _channel(queue: str) -> Overrides:
    return {"topology.link.channel.down.queue": queue}


ASSUMPTIONS = (
    Assumption(
        key="mac-queue",
        parameter="queue below IP",
        value="3000 packets in the evening, 1000 of each modem's device",
        why="not stated; round trips printed up to 1500 ms at 21 Mbit/s need about 3.7 MB, and 1000 packets are "
        "Linux's default for a device",
        variants=(Variant("1000 packets", _channel("1000 packets")),),
    ),
    Assumption(
        key="borrowing",
        parameter="HTB's borrowing",
        value="as printed in the experiments cable-*; elsewhere a limiter at the peak rate of 16 Mbit/s (chapter 5) "
        "or at the committed rate of 16 (chapter 6)",
        why="all modems are busy: where the channel is full there is nothing to borrow, where it is not each borrows "
        "up to its peak (HAV-A22); the short overshoots to 18 Mbit/s of section 6.4 are left out",
    ),
    Assumption(
        key="parent",
        parameter="what the modems of the shared channel borrow from",
        value="a class of 48 Mbit/s, also at peak hours; in an upload each modem from its own peak rate",
        why="the limiter at the IP layer does not know what the channel below carries (section 5.2)",
    ),
    Assumption(
        key="mac",
        parameter="MAC of the shared channel",
        value="maps of 2 ms with 8 request slots, 1000 packets a modem, in each direction",
        why="not stated: the dissertation emulated the channel with a limited Ethernet",
    ),
    Assumption(
        key="stack",
        parameter="TCP of the hosts",
        value="profile linux-6.1 with Cubic",
        why="Linux 3.2 has Cubic, an initial window of ten and PRR; it has neither RACK nor HyStart's later repairs",
        variants=(Variant("profile linux-2.6", {"stack.profile": "linux-2.6"}),),
    ),
    Assumption(
        key="windows",
        parameter="receive buffers",
        value="1 MB a connection",
        why="11 Mbit/s at 750 ms mean a window near 1.03 MB (HAV-A28) where they are of one flow (table A)",
    ),
    Assumption(
        key="repeats",
        parameter="pauses between transfers, and on which modems they are",
        value="none, all of the mix on each modem",
        why="not stated (HAV-A30); section 6.3 says across each modem",
    ),
    Assumption(
        key="ared",
        parameter="ARED's adaptation",
        value="RED with the printed thresholds, adaptive from a probability of 2 % on (Floyd 2001)",
        why="the rest of ARED's settings are those of a documentation that is not named; 2 % is Linux's default",
    ),
    Assumption(
        key="pie",
        parameter="PIE's settings in chapter 5",
        value="those of chapter 6: target 20 ms, tupdate 30 ms",
        why="not stated (HAV-A17)",
    ),
)

HINDSIGHT = (
    "That codel-within-25-ms, night-throughput, evening-is-variable, asqm-gives-more and round-trips-are-alike do not "
    "hold was put on record after a first full run.",
    "That order-at-100 holds was put on record after RED had become adaptive: with a fixed probability it did not. "
    "order-at-100 and equal-without-loss are coin tosses: of twelve single seeds 5 and 4 say that they hold, and "
    "four-suffice holds in 11. So they changed with every change of the simulator, whatever it was about; they have "
    "four seeds now, and what is on record is their median. That of equal-without-loss was on record as "
    "holding, and does not hold since Linux's ways with idle time, early FINs and first buffers were followed.",
    "Chapter 2 over time and on the mesh: which statements do not hold, that holes within a full queue's round trip "
    "are one event, and the mesh's loss were put on record after a first run.",
    "The experiments cable-* and their six statements were written after the others of chapter 5, and their bounds "
    "after a trial run of 60 s at 100 ms.",
    "The experiment of one flow alone and its two statements came after a trial run of the mix.",
    "base_delay = subtract became the default of BDP and ASQM after BDP without it had collapsed on a line of "
    "40 ms; tables R5 and R6 have both.",
    "The queue of 3000 packets below IP was chosen with the printed 1500 ms in view, and so what CoDel and PIE show in "
    "the evening.",
    "Chapter 2: which of its statements do not hold, what counts as a full queue, and the experiment on lossy lines "
    "were put on record after a first run. The rule for holes was chosen while lines of its kind were looked at.",
    "Which statements of chapter 3 do not hold, and why, was put on record after its first full run; that a page which "
    "is not whole counts as the run's 6 s, too.",
)

KEY_RESULTS = (
    KeyResult(
        "asqm-evening", "evening", "ASQM's round trip in the evening at 100 ms (90 %)", "ms",
        lambda m: value(m, "evening", "rtt_p90_ms", "asqm", 100).median,
    ),
    KeyResult(
        "codel-evening", "evening", "CoDel's round trip in the evening at 100 ms (90 %)", "ms",
        lambda m: value(m, "evening", "rtt_p90_ms", "codel", 100).median,
    ),
)  # fmt: skip
