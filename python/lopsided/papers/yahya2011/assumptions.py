"""What the report does not give, what is assumed in its place, and what other values would do."""

from __future__ import annotations

from lopsided.papers.framework.model import Assumption, KeyResult, Overrides, Variant
from lopsided.papers.yahya2011.setup import BASELINES, COMBOS, Test
from lopsided.papers.yahya2011.shared import mbit


def _hosts(key: str, value: str) -> Overrides:
    return {f"host.{host}.interface.{key}": value for host in ("sender1", "sender2")}


def _starts(first: str, second: str) -> Overrides:
    return {"flow.S1.start": first, "flow.S2.start": second}


ASSUMPTIONS = (
    Assumption(
        key="netem-limit",
        parameter="packets that netem on a sender holds",
        value="1000",
        why="the report gives the delay only, and 1000 is netem's default; a packet for which there is no room is "
        "refused to TCP, which takes that for congestion without a loss",
        variants=(Variant("any number", _hosts("limit", "1000000 packets")),),
    ),
    Assumption(
        key="ring",
        parameter="packets that a sender's network card holds",
        value="64",
        why="a usual ring of 100 Mbit/s cards; what waits there waits behind the capture. The 5.3 ms printed without "
        "delay are a window of 45 packets on its way, so it holds at least these",
        variants=tuple(Variant(value, _hosts("ring", f"{value} packets")) for value in ("16", "256")),
    ),
    Assumption(
        key="router-queue",
        parameter="queue of the first hardware router, where the flows meet",
        value="1000 packets",
        why="not stated (YAH-A18); Linux gives an interface as many",
        variants=tuple(
            Variant(f"{size} packets", {"topology.link.bottleneck.down.queue": f"{size} packets"}) for size in ("100",)
        ),
    ),
    Assumption(
        key="windows",
        parameter="what a window of RWIN octets lets out",
        value="three quarters of it",
        why="Linux 2.6 keeps a quarter of a receive buffer for overhead, and Combo 11's printed window is 74 % of its "
        "buffer. Whether hosts ran with the listed buffers is in doubt (YAH-A12): table W and the experiment "
        "`observed` are about that",
    ),
    Assumption(
        key="stack",
        parameter="kernel of the hosts",
        value="profile linux-2.6",
        why="the report is of 2010 and sets tcp_fack; the version is not stated (YAH-A18)",
        variants=(Variant("profile linux-6.1", {"stack.profile": "linux-6.1"}),),
    ),
    Assumption(
        key="sack",
        parameter="SACK between Sender2 and Receiver2",
        value="on",
        why="tcp_sack = 1 is listed for all hosts. Off, Combos 19 to 23 come near print and others do not (table "
        "3-2), so print may come from hosts that were set otherwise, or that mended one hole in a round trip for "
        "another reason",
        variants=(Variant("off", {f"flow.S2.{end}_stack.sack": "false" for end in ("sender", "receiver")}),),
    ),
    Assumption(
        key="start",
        parameter="which transfer begins first",
        value="both at once",
        why="cron starts both at the same time, but a login takes several round trips, so the slower path begins later",
        variants=(
            Variant("S2 1 s later", _starts("10 s", "11 s")),
            Variant("S1 1 s later", _starts("11 s", "10 s")),
        ),
    ),
    Assumption(
        key="loss-time",
        parameter="time from the start of the transfers to the loss",
        value="4 s",
        why="the script waits for 4 s, from when is not said (YAH-A13), and a login comes first",
        variants=(
            Variant("2 s", _starts("12 s", "12 s")),
            Variant("8 s", _starts("6 s", "6 s")),
        ),
    ),
    Assumption(
        key="loss",
        parameter="what the loss takes",
        value="100 ms of packets towards the receivers",
        why="netem set to lose 100 % drops what comes to it and lets go what already passed; its interface has no "
        "queue to speak of, since nothing comes faster than it sends. Towards the receivers is likely (YAH-A13). The "
        "time that tc itself takes adds some milliseconds",
    ),
    Assumption(
        key="login",
        parameter="the FTP dialogue before the transfer",
        value="left out",
        why="the report's captures are of the data connection's port; what its round trips do to the beginnings "
        "shows the experiment `dialogue` (table H)",
    ),
)


def _throughput(test: Test, flow: str) -> KeyResult:
    return KeyResult(
        key=f"{test.name}-{flow}",
        group="alone" if test.alone else ("with loss" if test.loss else "without loss"),
        title=f"{test.name} {flow}",
        unit="Mbit/s",
        read=lambda m: mbit(m, test, flow),
    )


KEY_RESULTS = (
    *(_throughput(test, "S1") for test in BASELINES[4:]),
    *(_throughput(COMBOS[number - 1], flow) for number in (4, 9, 10, 16, 20) for flow in ("S1", "S2")),
)
