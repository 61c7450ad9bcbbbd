"""Defines the RFC's paths, four current lines, and the cases with the mechanisms of `mechanisms.toml`.

A mechanism's effect is the goodput with its keys divided by the goodput without its keys, for the same seeds.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from string import Template
from typing import TYPE_CHECKING, Any

from lopsided.papers.framework.model import Case, Experiment, Overrides, Variant

if TYPE_CHECKING:
    from lopsided.scenario import Run

FOLDER = File(__file__).parent
LOADS = ("alone", "both")
"""Loads: only the download, or the download after an upload has filled the uplink."""
ACK_BYTES = 40
WAITING = 2
"""Maximum number of upload data packets that wait in the queue under backpressure."""


@dataclass(frozen=True)
class Path:
    """A path of the RFC, or a current line. Rates count the bytes of IP packets, unless a preset is used."""

    key: str
    title: str
    section: str
    down_kbps: float
    up_kbps: float
    rtt_ms: float
    seconds: int
    """Duration of a run. The download starts after 2 s. From 30 s after its start on current lines, and from 50 s on
    the RFC's paths, the verdicts are those of two minutes.
    """
    packet_bytes: int = 1500
    limit: str = "20 packets"
    """The limit of the uplink's buffer."""

    @property
    def k(self) -> float:
        """The normalised bandwidth ratio of section 1, for ACKs of 40 bytes."""
        return self.down_kbps / self.up_kbps / (self.packet_bytes / ACK_BYTES)

    @property
    def at(self) -> tuple[str, str, str]:
        """The scenario file, and the keys of the slow direction's queue and of its later stages."""
        if self.key == "radio":
            return "radio.toml", "topology.medium.radio.queue", "topology.link.fixed.up.stages"
        return "today.toml" if self.section == "today" else "line.toml", "link.up.queue", "link.up.stages"

    @property
    def queue(self) -> str:
        """The uplink's queue without a mechanism, as TOML."""
        return f'{{ kind = "fifo", limit = "{self.limit}" }}'

    @property
    def overrides(self) -> Overrides:
        file, place, _ = self.at
        found = {"scenario.duration": f"{self.seconds} s", "stack.mtu": f"{self.packet_bytes} B", place: self.queue}
        if file != "line.toml":
            return found | ({"link.preset": self.key} if file == "today.toml" else {})
        rates = {"link.down.rate": f"{self.down_kbps:g} kbit/s", "link.up.rate": f"{self.up_kbps:g} kbit/s"}
        return {**found, **rates, "link.rtt": f"{self.rtt_ms:g} ms", "link.down.queue": "1 BDP"}

    def words(self, stack: str) -> dict[str, str]:
        """Returns the values of the variables that `mechanisms.toml` marks with `$`."""
        amount, unit = self.limit.split()
        bytes_of = {"packets": self.packet_bytes, "kB": 1e3, "ms": self.up_kbps / 8}[unit]
        # RED's thresholds are taken from balakrishnan1999: 1.5 and 6 packets in a queue of 10 packets.
        low, high = (f"{share * float(amount):g} {unit}" for share in (0.15, 0.6))
        return {
            "queue": self.queue,
            "limit": self.limit,
            "low": low,
            "high": high,
            "packets": f"{float(amount) * bytes_of / self.packet_bytes:.0f}",
            "window": f"{self.up_kbps * self.rtt_ms / 8 + WAITING * self.packet_bytes:.0f} B",
            "shaped": f"{0.8 * self.down_kbps:g} kbit/s",
            # Today's TCP sends timestamps (12 bytes).
            "segment": f"{self.packet_bytes - (40 if stack == 'then' else 52)} B",
        }


EXAMPLE = Path("example", "section 3.1's example", "3.1", 10_000, 50, 60, 62, packet_bytes=1000)
ADSL = Path("adsl", "ADSL", "appendix", 6144, 640, 60, 62)
OF_RFC = (
    EXAMPLE,
    Path("dvb", "DVB satellite, modem back", "appendix, 5.4.2", 38_000, 28.8, 300, 42),
    Path("military", "military satellite", "appendix", 2000, 9.6, 300, 122),
    Path("cable", "DOCSIS 1.0", "appendix", 27_000, 166, 60, 62),
    ADSL,
    Path("radio", "packet radio", "2.2, 3.2", 100, 100, 60, 62),
)
OF_TODAY = (
    Path("adsl2plus-16-1", "ADSL2+ 16/1", "today", 16_000, 1000, 30, 32, limit="128 kB"),
    Path("docsis30-100-10", "DOCSIS 3.0 100/10", "today", 100_000, 10_000, 20, 32, limit="250 ms"),
    Path("lte-50-15", "LTE 50/15", "today", 50_000, 15_000, 40, 32, limit="500 ms"),
    Path("geo-100-5", "geostationary 100/5", "today", 100_000, 5000, 560, 32, limit="500 ms"),
)
"""Presets of access lines, with their own buffers."""
PATHS = (*OF_RFC, *OF_TODAY)


@dataclass(frozen=True)
class Mechanism:
    """A table of `mechanisms.toml`. That file explains the fields."""

    key: str
    title: str = ""
    section: str = ""
    advice: str = ""
    row: str = ""
    tcp: Mapping[str, str] = field(default_factory=dict[str, str])
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    quic: str | None = None
    quic_upload: str = ""
    queue: str = ""
    stages: str = ""
    use: Sequence[str] = ()
    without: Mapping[str, Any] = field(default_factory=dict[str, Any])
    paths: Sequence[str] = tuple(each.key for each in PATHS)
    below_k: float = math.inf

    def settings(self, path: Path, stack: str) -> tuple[Overrides, Overrides] | None:
        """Returns the scenario keys with the mechanism and without it, or `None` if the path or the stack does not
        support the mechanism."""
        if path.key not in self.paths or (stack == "quic" and self.quic is None):
            return None
        return self._keys(path, stack), Mechanism(self.key, **self.without)._keys(path, stack)

    def _keys(self, path: Path, stack: str) -> Overrides:
        found: dict[str, str] = {}
        _, place, stages = path.at
        words = path.words(stack)
        for other in self.use:
            found |= mechanism(other)._keys(path, stack)
        found |= {place: self.queue} if self.queue else {}
        found |= {stages: self.stages} if self.stages else {}
        found |= {**self.keys, **(self.tcp if stack != "quic" else {})}
        if stack == "quic":
            for flow, settings in (("download", self.quic), ("upload", self.quic_upload)):
                found[f"flow.{flow}.transport"] = f'{{ kind = "quic"{", " if settings else ""}{settings or ""} }}'
        return {key: Template(value.replace("\n", "")).substitute(words) for key, value in found.items()}


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


ALL = tuple(Mechanism(key, **table) for key, table in _read("mechanisms.toml").items())
IN_TABLES = tuple(each for each in ALL if each.row or each.key == "filter")
"""Mechanisms of tables 1 and 2. ACK filtering has two rows: without and with limited bursts (section 5.2.1)."""
COMBINED = tuple(each for each in ALL if each not in IN_TABLES)
LEFT_OUT: Sequence[Mapping[str, str]] = _read("left-out.toml")["mechanism"]


def mechanism(key: str) -> Mechanism:
    return next(each for each in ALL if each.key == key)


def measure(run: Run, _case: Case) -> Mapping[str, float]:
    """Returns each flow's goodput, the download's median RTT, and the ACKs per data packet."""
    flows = {row["name"]: row for row in run.flows.rows()}
    lines = {row["direction"]: row for row in run.links.rows() if row["link"] == "link"}
    acks = lines["up"]["sent_packets"] / max(lines["down"]["sent_packets"], 1) if lines else math.nan
    return {
        "down_bps": flows["download"]["goodput_bps"],
        "up_bps": flows["upload"]["goodput_bps"],
        "rtt_ms": flows["download"]["rtt_p50_ms"],
        "acks_per_packet": acks,
    }


IDLE = {"flow.upload.app": "1 B"}
"""Scenario keys of the load `alone`: the upload ends after 1 byte."""
NEW = {
    **{"stack.profile": "linux-6.1", "stack.cc": "cubic", "stack.timestamps": "true"},
    **{"stack.send_buffer": "auto", "stack.receive_buffer": "auto"},
}
LONGER = Variant("two minutes", {"scenario.duration": "122 s"})
IN_SHORT = ("delayed", "filter")
"""Mechanisms that also run without an upload on today's lines."""


def _cases(stack: str, paths: Iterable[Path], alone: Sequence[str]) -> Iterator[Case]:
    """Yields the cases with an upload: one without any mechanism, and one for each mechanism. The mechanisms in `alone`
    also run without an upload."""
    own = {} if stack == "then" else NEW
    for path in paths:
        for each in ALL:
            for arm, keys in zip(("with", "without"), each.settings(path, stack) or (), strict=False):
                for load in LOADS if each.key in alone else LOADS[1:]:
                    idle = IDLE if load == "alone" else {}
                    labels = {"path": path.key, "mechanism": each.key, "arm": arm, "load": load}
                    yield Case(path.at[0], {**path.overrides, **own, **keys, **idle}, labels)


def _matrix(
    key: str, who: str, stack: str, paths: Iterable[Path], alone: Sequence[str] = (), usual: int | None = None
) -> Experiment:
    summary, often = f"{who}, with and without each mechanism", 3 if stack == "quic" else 10
    cases = tuple(_cases(stack, paths, alone))
    return Experiment(key, summary, cases, measure, usual=usual, full=LONGER, full_repetitions=often)


JUDGED_ON: Mapping[str, tuple[Path, ...]] = {"then": OF_RFC, "linux": OF_RFC, "today": OF_TODAY, "quic": OF_TODAY}
"""The paths on which the advice is judged, by experiment."""

KS = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0, 32.0)
"""Normalised bandwidth ratios of the sweep. The downlink stays at 10 Mbit/s."""
DS = (1, 2, 4, 8, 16)
"""Numbers of segments per ACK in the sweep (section 3.1)."""
DEEP, SMALL = 1000, 10
"""Uplink buffers of the sweep in packets."""


def _of_ratio(k: float, d: int, scheme: str = "none", limit: int = DEEP) -> Case:
    up_kbps = EXAMPLE.down_kbps / k / (EXAMPLE.packet_bytes / ACK_BYTES)
    path = replace(EXAMPLE, up_kbps=up_kbps, limit=f"{limit} packets")
    # A window of 128 packets fills the path and does not overflow a queue, so only ACKs limit the download.
    keys = {
        "stack.receive_buffer": "128 kB",
        "stack.delayed_ack": "off" if d == 1 else f"{{ segments = {d} }}",
        "link.up.header_compression": scheme,
    }
    labels = {"k": k, "d": d, "compression": scheme, "uplink_buffer_packets": limit}
    return Case(path.at[0], {**path.overrides, **keys, **IDLE}, labels)


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
    summary=f"one download on the ADSL line with {100 * LOST:g} % of the packets lost in one direction",
    cases=tuple(
        Case(ADSL.at[0], {**ADSL.overrides, **IDLE, f"link.{lost}.loss": f"{LOST:.0%}"}, {"lost": lost})
        for lost in ("up", "down")
    ),
    measure=measure,
    full=LONGER,
)

EXPERIMENTS: Mapping[str, Experiment] = {
    each.key: each
    for each in (
        _matrix("then", "the TCP of 1999 on the RFC's paths", "then", OF_RFC, [each.key for each in IN_TABLES]),
        _matrix("linux", "Linux 6.1 with CUBIC on the RFC's paths", "linux", OF_RFC, ("vj", *IN_SHORT), usual=1),
        _matrix("today", "Linux 6.1 with CUBIC on four lines of today", "linux", OF_TODAY, IN_SHORT),
        _matrix("quic", "QUIC on two of these paths and today's lines", "quic", (EXAMPLE, ADSL, *OF_TODAY), usual=1),
        RATIO,
        LOSS,
    )
}
