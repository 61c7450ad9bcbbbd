"""What the paper does not give, what is assumed in its place, and what other values would do."""

from __future__ import annotations

from lopsided.papers.balakrishnan1999.setup import LINES, RENO
from lopsided.papers.balakrishnan1999.shared import lossy
from lopsided.papers.framework.measurements import Measurements
from lopsided.papers.framework.model import Assumption, KeyResult, Variant

ASSUMPTIONS = (
    Assumption(
        key="delayed-acks",
        parameter="when simulated receivers acknowledge",
        value="every packet",
        why="not said (BAL-A26); ns-2's sink does, and the ratio k is quoted without the factor 2",
        variants=(Variant("every second packet, or after 100 ms", {"stack.delayed_ack": "on"}),),
    ),
    Assumption(
        key="delays",
        parameter="delays of the links in simulation",
        value="1 ms on both LANs, 5 ms forward, 50 ms back",
        why="figure 7 gives them in a drawing that is lost (BAL-A03); those of the example scripts of the authors' "
        "simulator. The measured network had about 2 ms forward (BAL-A02)",
        variants=(Variant("2 ms forward", {"link.down.delay": "2 ms"}),),
    ),
    Assumption(
        key="buffer-of-n",
        parameter="what a buffer of n packets holds",
        value="n - 1",
        why="as in the authors' simulator, whose drop-tail queues hold one less than their limit",
    ),
    Assumption(
        key="recovery",
        parameter="which Reno",
        value="one fast retransmit for each window of losses, then a timeout",
        why="ns-2's Agent/TCP/Reno with its default bugFix_",
        variants=(
            Variant("a fast retransmit for each loss, as 4.4BSD's", {"stack.fast_recovery": "reno"}),
            Variant("NewReno", {"stack.fast_recovery": "newreno"}),
        ),
    ),
    Assumption(
        key="red",
        parameter="RED before the return line under ACC",
        value="thresholds of 2 and 6 packets, weight 0.01, probability 0.1; a random drop above the upper one",
        why="not given (BAL-A07); those of the example scripts of the authors' simulator, whose lower threshold is "
        "1.5; so is the drop, where the text speaks of marks until the buffer is full",
    ),
    Assumption(
        key="reconstruction",
        parameter="how AR spaces ACKs",
        value="a mean interval apart, the first at once",
        why="as in the authors' simulator, where AR is a pacer; the text's share of the gap gives 4.4 Mbit/s in case B "
        "where the paper prints 8.57",
    ),
    Assumption(
        key="no-handshake",
        parameter="the second flow's handshake",
        value="over before the first flow fills the queue",
        why="the authors' simulator has none. A SYN of 40 B finds room a quarter of the time, the first packet of "
        "data three quarters: it holds up the ACKs behind it on the LAN",
    ),
    Assumption(
        key="maxburst",
        parameter="bursts under SA in simulation",
        value="4 packets",
        why="not given; section 9.1.1 recommends 4 or 5 for the implementation",
    ),
    Assumption(
        key="web-requests",
        parameter="the request of 500 B for four objects",
        value="one of 125 B on each of the four connections",
        why="the paper's one request brings four downloads by other connections",
    ),
    Assumption(
        key="packet-radio",
        parameter="control frames, backoff and packets of the radio network",
        value="20 B, a random wait of up to 25 ms that doubles, packets of 1000 B",
        why="unstated (BAL-A20); the wait is of the order of two turnarounds",
    ),
)

HINDSIGHT = (
    "ACC's RED: dropping above the upper threshold (harddrop) was tried first, then left out, and taken again with the "
    "authors' code at hand.",
    "Until AR paced as the authors' code does, and the upload was connected before it sends, AF/AR got 4.4 Mbit/s in "
    "case B and the upload was locked out in 76 % of the runs.",
    "Case A: the queue of the source's LAN had 100 packets at first, and 19 after results.",
    "Figures 2 to 4: the modem's buffer had 10 packets and the two-way hosts' buffers 16 kB at first; 32 packets and "
    "64 kB came after a first look.",
)

KEY_RESULTS = (
    *(
        KeyResult(
            f"reno-{line.key}",
            "throughput",
            f"Reno, {line.title}",
            "Mbit/s",
            lambda m, key=line.key: m.value("one-way", "throughput_bps", line=key, scheme=RENO.key).median / 1e6,
        )
        for line in LINES
    ),
    KeyResult("reno-lossy", "throughput", "Reno, case B", "Mbit/s", lambda m: _lossy(m)),
)


def _lossy(m: Measurements) -> float:
    return lossy(m, RENO, "throughput_bps").median / 1e6
