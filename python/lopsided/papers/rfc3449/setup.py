"""The RFC's paths, four lines of today, the mechanisms of its tables 1 and 2, and the runs of each on each.

A mechanism is a set of scenario keys for one path and one stack. Its effect is the ratio of the goodput with these keys
to the goodput with the keys of its baseline, with the same seeds. Three stacks: the TCP of the RFC's time (`then`),
Linux 6.1 with CUBIC (`linux`) and QUIC with CUBIC (`quic`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from lopsided.papers.framework.model import Case, Experiment, Overrides, Variant

if TYPE_CHECKING:
    from lopsided.scenario import Run

Stack: TypeAlias = Literal["then", "linux", "quic"]
STACKS: Mapping[Stack, str] = {"then": "TCP of 1999", "linux": "Linux 6.1", "quic": "QUIC"}
LOADS = ("alone", "both")
"""The download alone, and next to an upload that fills the uplink before the download starts."""

ACK_BYTES = 40


@dataclass(frozen=True)
class Path:
    """A path of the RFC, or a line of today. Rates count IP packets if there is no preset."""

    key: str
    title: str
    section: str
    down_kbps: float
    up_kbps: float
    rtt_ms: float
    seconds: int
    packet_bytes: int = 1500
    preset: str = ""
    queue: str = '{ kind = "fifo", limit = "20 packets" }'
    """The uplink's queue, as TOML."""
    is_radio: bool = False

    @property
    def k(self) -> float:
        """The normalised bandwidth ratio of section 1, for ACKs of 40 bytes."""
        return self.down_kbps / self.up_kbps / (self.packet_bytes / ACK_BYTES)

    @property
    def place(self) -> str:
        """The key of the slow direction's queue."""
        return "topology.medium.radio.queue" if self.is_radio else "link.up.queue"

    @property
    def stages(self) -> str:
        """The key of the stages after the slow direction."""
        return "topology.link.fixed.up.stages" if self.is_radio else "link.up.stages"

    @property
    def file(self) -> str:
        """The scenario file."""
        return "radio.toml" if self.is_radio else "today.toml" if self.preset else "line.toml"

    @property
    def overrides(self) -> Overrides:
        """The scenario keys of the path."""
        found = {
            "scenario.duration": f"{self.seconds} s",
            self.place: self.queue,
            "stack.mtu": f"{self.packet_bytes} B",
        }
        if self.is_radio:
            return found
        if self.preset:
            return {**found, "link.preset": self.preset}
        rates = {
            f"link.{way}.rate": f"{rate:g} kbit/s" for way, rate in (("down", self.down_kbps), ("up", self.up_kbps))
        }
        return {**found, **rates, "link.rtt": f"{self.rtt_ms:g} ms", "link.down.queue": "1 BDP"}


EXAMPLE = Path("example", "section 3.1's example", "3.1", 10_000, 50, 60, 32, packet_bytes=1000)
DVB = Path("dvb", "DVB satellite, modem back", "appendix, 5.4.2", 38_000, 28.8, 300, 42)
MILITARY = Path("military", "military satellite", "appendix", 2000, 9.6, 300, 122)
CABLE = Path("cable", "DOCSIS 1.0", "appendix", 27_000, 166, 60, 22)
ADSL = Path("adsl", "ADSL", "appendix", 6144, 640, 60, 32)
RADIO = Path("radio", "packet radio", "2.2, 3.2", 100, 100, 60, 62, is_radio=True)
OF_RFC = (EXAMPLE, DVB, MILITARY, CABLE, ADSL, RADIO)


def _preset(key: str, title: str, down: float, up: float, rtt: float, seconds: int, limit: str) -> Path:
    queue = f'{{ kind = "fifo", limit = "{limit}" }}'
    return Path(key, title, "today", down, up, rtt, seconds, preset=key, queue=queue)


OF_TODAY = (
    _preset("adsl2plus-16-1", "ADSL2+ 16/1", 16_000, 1000, 30, 22, "128 kB"),
    _preset("docsis30-100-10", "DOCSIS 3.0 100/10", 100_000, 10_000, 20, 8, "250 ms"),
    _preset("lte-50-15", "LTE 50/15", 50_000, 15_000, 40, 10, "500 ms"),
    _preset("geo-100-5", "geostationary 100/5", 100_000, 5000, 560, 32, "500 ms"),
)
PATHS = (*OF_RFC, *OF_TODAY)

Keys: TypeAlias = Callable[[Path, Stack], "Overrides | None"]
"""Returns the keys of a setting on a path under a stack; `None` if the setting does not exist there."""


def _tcp(**settings: object) -> Keys:
    keys = {f"stack.{key}": str(value) for key, value in settings.items()}
    return lambda _path, stack: None if stack == "quic" else keys


def _quic(**settings: object) -> Overrides:
    """The transport of both flows, with more settings for the download."""
    more = "".join(f", {key} = {value}" for key, value in settings.items())
    return {"flow.download.transport": f'{{ kind = "quic"{more} }}', "flow.upload.transport": "quic"}


def _queue(text: str) -> Keys:
    """A discipline at the slow direction; `QUEUE` stands for the path's own queue."""
    return lambda path, _stack: {path.place: text.replace("QUEUE", path.queue)}


def _both(*parts: Keys) -> Keys:
    """Several settings at once. A later one replaces the same key."""

    def keys(path: Path, stack: Stack) -> Overrides | None:
        found: dict[str, str] = {}
        for part in parts:
            more = part(path, stack)
            if more is None:
                return None
            found |= more
        return found

    return keys


def _few_acks(_path: Path, stack: Stack) -> Overrides:
    return _quic(ack_packets=FEW) if stack == "quic" else {"stack.delayed_ack": f"{{ segments = {FEW} }}"}


def _small(_path: Path, stack: Stack) -> Overrides:
    """The segments of hosts without path MTU discovery: 536 bytes (RFC 1122), and 1,200 for QUIC (RFC 9000)."""
    return _quic(mtu_discovery="false") if stack == "quic" else {"stack.mtu": "576 B"}


def _compressed(scheme: str) -> Keys:
    # The simulator compresses on plain lines only: a line with grants or radio has its own layer for that.
    lines = ("example", "dvb", "military", "cable", "adsl", "adsl2plus-16-1")
    return lambda path, _stack: {"link.up.header_compression": scheme} if path.key in lines else None


def _reconstructed(path: Path, stack: Stack) -> Overrides | None:
    segment = path.packet_bytes - (52 if stack == "linux" else 40)
    return {path.stages: f'[{{ kind = "ack_reconstruct", segment = "{segment} B", max_delay = "1 s" }}]'}


def _shaped(path: Path, _stack: Stack) -> Overrides | None:
    """Generic traffic shaping at the server's side, to 80 % of the line's rate, which is below any framing."""
    if path.is_radio:
        return None
    return {
        "lan.rate": "1 Gbit/s",
        "lan.down.rate": f"{0.8 * path.down_kbps:g} kbit/s",
        "lan.down.queue": "5000 packets",
    }


def _pushed_back(path: Path, stack: Stack) -> Overrides:
    """At most `WAITING` data packets of the upload wait, beyond those that the path holds: a bound on its window."""
    window = path.up_kbps * path.rtt_ms / 8 + WAITING * path.packet_bytes
    if stack == "quic":
        own = f'{{ kind = "quic", send_window = "{max(window, 3000):.0f} B" }}'
        return {**_quic(), "flow.upload.transport": own}
    return {"flow.upload.sender_stack.send_buffer": f"{window:.0f} B"}


FEW = 8
"""Segments for each ACK of a modified delayed ACK."""
BURST = 4
"""Segments that a paced sender sends back to back, as in balakrishnan1999."""
WAITING = 2
"""Data packets of the upload that may wait under backpressure."""
SHORT = 6
"""Packets in each of the short queues of ACK decimation."""

FIRST = 'classify = [{ packet = "ack", class = 0 }]'
FILTER = _queue('{ kind = "ack_filter", queue = QUEUE }')
PACED = _tcp(max_burst=BURST)


def _none(_path: Path, stack: Stack) -> Overrides:
    return _quic() if stack == "quic" else {}


def _marked(path: Path, _stack: Stack) -> Overrides:
    """RED that marks ACKs too, with the thresholds of balakrishnan1999's scripts doubled for data in the same queue."""
    limit = 200 if path.preset else 20
    return {
        path.place: f'{{ kind = "red", limit = "{limit} packets", min = "3 packets", max = "12 packets", '
        'weight = 0.01, probability = 0.1, ecn = true, marks = "all", victim = "random" }'
    }


def _per_flow(path: Path, stack: Stack) -> Overrides:
    """Fair queueing as operators had it then, and as they have it now."""
    then, now = '{ kind = "sfq", limit = "127 packets" }', '{ kind = "fq_codel", limit = "10240 packets" }'
    return {path.place: then if stack == "then" else now}


Advice: TypeAlias = Literal["recommended", "not recommended", "experimental"]


@dataclass(frozen=True)
class Mechanism:
    """A row of the RFC's tables 1 and 2, or a combination that its text names.

    Attributes
    ----------
    keys
        Its settings.
    base
        The settings that it is compared with.
    where
        The paths for which the RFC recommends it, if it names any.
    """

    key: str
    title: str
    section: str
    advice: Advice
    keys: Keys
    base: Keys = _none
    where: Callable[[Path], bool] = lambda _path: True

    def settings(self, path: Path, stack: Stack) -> tuple[Overrides, Overrides] | None:
        """Returns the settings with and without the mechanism; `None` if it does not exist on this path."""
        found, base = self.keys(path, stack), self.base(path, stack)
        if found is None or base is None:
            return None
        # QUIC's flows need their transport also if the mechanism is in the network.
        quic = _quic() if stack == "quic" else {}
        return {**quic, **found}, {**quic, **base}


MECHANISMS = (
    Mechanism("delayed", f"an ACK for {FEW} segments", "4.1", "not recommended", _few_acks),
    Mechanism("large-mss", "large MSS by path MTU discovery", "4.2", "recommended", _none, _small),
    Mechanism(
        "acc",
        "ACK congestion control",
        "4.3",
        "experimental",
        _both(_marked, _tcp(ecn="on", ack_policy="acc", max_delack=25, min_acks_per_window=2)),
    ),
    Mechanism(
        "wpm",
        "window prediction, by a perfect predictor",
        "4.4",
        "not recommended",
        _tcp(ack_policy="acc_peerwin", max_delack=25, min_acks_per_window=2),
    ),
    Mechanism(
        "ace",
        "ACKs by an estimate of cwnd (ACE)",
        "4.5",
        "not recommended",
        _tcp(ack_policy="ace", max_delack=25, min_acks_per_window=2),
    ),
    Mechanism("pacing", f"sender pacing, bursts of {BURST}", "4.6", "experimental", PACED),
    Mechanism("bytes", "byte counting without a limit", "4.7", "not recommended", _tcp(abc=1000), _tcp(abc=0)),
    Mechanism("backpressure", f"backpressure, {WAITING} packets of the upload", "4.8", "experimental", _pushed_back),
    Mechanism(
        "vj",
        "header compression, RFC 1144",
        "5.1.1",
        "recommended",
        _compressed("cslip"),
        where=lambda path: path.k < 10,
    ),
    Mechanism("rohc", "header compression, ROHC", "5.1.2", "recommended", _compressed("rohc")),
    Mechanism("filter", "ACK filter alone", "5.2.1", "not recommended", FILTER),
    Mechanism("filter-paced", "ACK filter and sender pacing", "5.2.1", "recommended", _both(FILTER, PACED)),
    Mechanism(
        "decimate",
        "ACK decimation and sender pacing",
        "5.2.2",
        "experimental",
        _both(_queue(f'{{ kind = "sfq", limit = "127 packets", depth = "{SHORT} packets" }}'), PACED),
    ),
    Mechanism(
        "reconstruct", "ACK filter and reconstruction", "5.3.1", "not recommended", _both(FILTER, _reconstructed)
    ),
    Mechanism("shaped", "ACK filter and traffic shaping", "5.3.3", "recommended", _both(FILTER, _shaped), FILTER),
    Mechanism("per-flow", "a queue for each flow", "5.4.1", "recommended", _per_flow),
    Mechanism(
        "acks-first",
        "ACKs first",
        "5.4.2",
        "not recommended",
        _queue(f'{{ kind = "prio", bands = [QUEUE, QUEUE], {FIRST} }}'),
    ),
)
"""The rows of tables 1 and 2 that a run can show, in the order of the text; `coverage.py` has the others.

ACK filtering has two rows: "not recommended" alone, "recommended" with a bound on bursts (section 5.2.1).
"""

COMBINED = (
    Mechanism(
        "afvq",
        "ACKs first, at most half of the line",
        "5.4.1",
        "recommended",
        _queue('{ kind = "afvq", queue = QUEUE }'),
    ),
    Mechanism(
        "first-filter",
        "ACKs first and ACK filter",
        "5.2.1, 5.4.2",
        "experimental",
        _queue(f'{{ kind = "ack_filter", queue = {{ kind = "prio", bands = [QUEUE, QUEUE], {FIRST} }} }}'),
    ),
    Mechanism(
        "flows-filter",
        "a queue for each flow and ACK filter",
        "5.2.1, 5.4.1",
        "recommended",
        # SFQ cannot remove a packet from the middle of a queue, so FQ-CoDel serves the TCP of 1999 too.
        _queue('{ kind = "ack_filter", rule = "conservative", queue = { kind = "fq_codel" } }'),
    ),
)
"""Combinations that the text names, outside of its tables."""

ALL = (*MECHANISMS, *COMBINED)


def mechanism(key: str) -> Mechanism:
    """Returns a mechanism by its key."""
    return next(each for each in ALL if each.key == key)


OF_QUIC = ("delayed", "large-mss", "backpressure", "filter", "per-flow", "acks-first")
"""Mechanisms that are run with QUIC. The others are TCP's own, or read TCP's headers as the filter does."""
IN_SHORT = ("delayed", "filter")
"""Mechanisms that are run on today's lines without an upload too."""


def measure(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns the goodput of both flows over their time, the download's median RTT, and the ACKs for each packet."""
    flows = {row["name"]: row for row in run.flows.rows()}
    down, up = flows["download"], flows["upload"]
    lines = {row["direction"]: row for row in run.links.rows() if row["link"] == "link"}
    acks = lines["up"]["sent_packets"] / max(lines["down"]["sent_packets"], 1) if lines else float("nan")
    return {
        "down_bps": down["goodput_bps"],
        "up_bps": up["goodput_bps"],
        "rtt_ms": down["rtt_p50_ms"],
        "acks_per_packet": acks,
    }


IDLE = {"flow.upload.app": "1 B"}
"""Settings of the load `alone`: the upload sends one byte before the download starts."""

NEW = {"stack.profile": "linux-6.1", "stack.cc": "cubic", "stack.send_buffer": "auto", "stack.receive_buffer": "auto"}


def _cases(stack: Stack, paths: Iterable[Path], alone: Sequence[str], keys: Sequence[str] = ()) -> tuple[Case, ...]:
    """Returns the cases of a stack on these paths: with and without each mechanism, under both loads.

    `alone` names the mechanisms that are also run without an upload, `keys` those that are run at all (default: all).
    """
    own = {} if stack == "then" else NEW
    found: list[Case] = []
    for path in paths:
        for each in ALL:
            settings = each.settings(path, stack) if not keys or each.key in keys else None
            for arm, changed in zip(("with", "without"), settings or (), strict=False):
                for load in LOADS if each.key in alone else LOADS[1:]:
                    idle = IDLE if load == "alone" else {}
                    labels = {"path": path.key, "mechanism": each.key, "arm": arm, "load": load}
                    found.append(Case(path.file, {**path.overrides, **own, **changed, **idle}, labels))
    return tuple(found)


LONGER = Variant("two minutes", {"scenario.duration": "122 s"})

EVERY = tuple(each.key for each in ALL)
THEN = Experiment(
    key="then",
    summary="the TCP of 1999 on the RFC's paths, with and without each mechanism, alone and next to an upload",
    cases=_cases("then", OF_RFC, EVERY),
    measure=measure,
    full=LONGER,
    full_repetitions=10,
)
LINUX = Experiment(
    key="linux",
    summary="Linux 6.1 with CUBIC on the RFC's paths, with and without each mechanism, alone and next to an upload",
    cases=_cases("linux", OF_RFC, EVERY),
    measure=measure,
    usual=1,
    full=LONGER,
    full_repetitions=10,
)
TODAY = Experiment(
    key="today",
    summary="Linux 6.1 with CUBIC on four lines of today, with and without each mechanism, next to an upload",
    cases=_cases("linux", OF_TODAY, IN_SHORT),
    measure=measure,
    full=LONGER,
    full_repetitions=10,
)
QUIC = Experiment(
    key="quic",
    summary="QUIC on two of the RFC's paths and four lines of today, next to an upload over QUIC",
    cases=_cases("quic", (EXAMPLE, ADSL, *OF_TODAY), (), OF_QUIC),
    measure=measure,
    usual=1,
    full_repetitions=3,
)
PATHS_OF: Mapping[str, tuple[Path, ...]] = {
    "then": OF_RFC,
    "linux": OF_RFC,
    "today": OF_TODAY,
    "quic": OF_TODAY,
}
"""The paths on which the advice is judged, by experiment."""

KS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0, 32.0)
"""Normalised bandwidth ratios of the sweep. The downlink stays at 10 Mbit/s."""
DS = (1, 2, 4, 8, 16)
"""Segments for each ACK, at the ratio of section 3.1."""


def _of_ratio(k: float, d: int, scheme: str = "none", limit: int = 1000) -> Case:
    path = replace(EXAMPLE, up_kbps=EXAMPLE.down_kbps / k / (EXAMPLE.packet_bytes / ACK_BYTES))
    # A window of 128 packets fills the path and overflows no queue: only the ACKs limit.
    keys = {
        path.place: f'{{ kind = "fifo", limit = "{limit} packets" }}',
        "stack.receive_buffer": "128 kB",
        "stack.delayed_ack": "off" if d == 1 else f"{{ segments = {d} }}",
        "link.up.header_compression": scheme,
    }
    labels = {"k": k, "d": d, "compression": scheme, "uplink_buffer_packets": limit}
    return Case(path.file, {**path.overrides, **keys, **IDLE}, labels)


DEEP, SMALL = 1000, 10
RATIO = Experiment(
    key="ratio",
    summary="one download on section 3.1's line, by k, the segments for each ACK, compression and uplink buffer",
    cases=(
        *(_of_ratio(k, d) for k in KS for d in (1, 2)),
        *(_of_ratio(8.0, d) for d in DS if d > 2),
        *(_of_ratio(k, 2, "cslip") for k in KS),
        *(_of_ratio(k, 1, limit=SMALL) for k in (2.0, 4.0, 8.0)),
    ),
    measure=measure,
    most=1,
    full=LONGER,
)

LOST = 0.05
LOSS = Experiment(
    key="loss",
    summary=f"one download on the ADSL line with {LOST:.0%} of the packets lost in one direction",
    cases=tuple(
        Case(
            ADSL.file,
            {**ADSL.overrides, **IDLE, **({f"link.{lost}.loss": f"{LOST:.0%}"} if lost != "none" else {})},
            {"lost": lost},
        )
        for lost in ("none", "up", "down")
    ),
    measure=measure,
    full=LONGER,
)

EXPERIMENTS: Mapping[str, Experiment] = {each.key: each for each in (THEN, LINUX, TODAY, QUIC, RATIO, LOSS)}
