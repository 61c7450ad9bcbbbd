"""One scenario with each remedy for the way back of ACKs, alone and combined: what each buys, what limits a download.

    found = ackpath(Scenario.load("adsl.toml"))
    found.cells        # a row for each remedy, the best first
    found.limits       # for each, what limits the downloads, in a sentence

The remedies stand at the slowest link upwards, or at `link`: in its queue, behind its line, or in TCP at both ends.
Every one meets the same scenario with the same seeds; a cell is the median over them. What limits the downloads is read
from the events inside TCP and from the queues of that link.

Left out: remedies of a scenario's own, which stay as they are in every row; datagrams; the kernel world.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from lopsided import _native
from lopsided.accessors import filled_in
from lopsided.data import units
from lopsided.data.study_tables import ACKPATH_CELLS, ACKPATH_RUNS
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.metrics.performance import jain_index
from lopsided.scenario import Scenario
from lopsided.studies.aqm.study import bottleneck
from lopsided.studies.inventory import check_preset
from lopsided.studies.jobs import Progress, check_count, repeated, run_jobs
from lopsided.studies.options import ACKPATH_REMEDIES, ACKPATH_REPEAT
from lopsided.studies.starts import varied

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from lopsided.controllers import Controllers
    from lopsided.scenario import Run

Settings = dict[str, Any]
Change = Callable[["Place"], Settings]

_LEAST_LIMIT = 0.5
"""What holds a sender back for this share of its time is what limits it."""
_FULL = 0.95
"""A line is full that is used so far."""


_RECEIVER = ("receive window", "stream flow control", "connection flow control")
"""What the receiver allows the sender, by TCP and by QUIC."""

_ENDS = ("sender_stack", "receiver_stack")
"""A flow's own settings of TCP."""


@dataclass
class Place:
    """The direction upwards of a link, as far as the remedies before have changed it."""

    link: str
    queue: Mapping[str, Any]
    stages: list[Mapping[str, Any]]
    down_rate: str | None
    """What its other direction carries, if that is a rate."""

    @property
    def key(self) -> str:
        """What its settings begin with."""
        return f"topology.link.{self.link}.up"


def _filter(rule: str) -> Change:
    def change(place: Place) -> Settings:
        place.queue = {"kind": "ack_filter", "rule": rule, "queue": place.queue}
        return {f"{place.key}.queue": place.queue}

    return change


def _acks_first(place: Place) -> Settings:
    acks = {"class": 0, "packet": "ack"}
    place.queue = {"kind": "prio", "bands": [place.queue, place.queue], "classify": [acks]}
    return {f"{place.key}.queue": place.queue}


def _acc(place: Place) -> Settings:
    # The bounds of the authors' example scripts; the thresholds are in packets of any size.
    red = {"kind": "red", "limit": place.queue.get("limit", "100 packets"), "min": "3 packets", "max": "12 packets"}
    place.queue = {**red, "weight": 0.01, "probability": 0.1, "ecn": True, "marks": "all", "victim": "random"}
    return {
        f"{place.key}.queue": place.queue,
        **{"stack.ack_policy": "acc", "stack.max_delack": 25, "stack.min_acks_per_window": 2},
    }


def _afvq(place: Place) -> Settings:
    place.queue = {"kind": "afvq", "queue": place.queue}
    return {f"{place.key}.queue": place.queue}


def _pace(place: Place) -> Settings:
    if place.down_rate is None:
        raise UsageError(f"`ack_pacing` paces ACKs by the rate downwards, and link {place.link!r} has none")
    place.stages = [*place.stages, {"kind": "ack_pacing", "rate": place.down_rate}]
    return {f"{place.key}.stages": place.stages}


def _policy(name: str, **settings: int) -> Change:
    values = {f"stack.{key}": value for key, value in settings.items()}
    return lambda _: {"stack.ack_policy": name, **values}


def _compress(place: Place) -> Settings:
    # With timestamps nearly every header goes in full.
    return {f"{place.key}.header_compression": "cslip", "stack.timestamps": False}


def _compress_by(scheme: str) -> Change:
    return lambda place: {f"{place.key}.header_compression": scheme}


def _reconstruct(place: Place) -> Settings:
    place.stages = [*place.stages, {"kind": "ack_reconstruct"}]
    return {f"{place.key}.stages": place.stages}


def _quic(**settings: Any) -> Change:
    return lambda _: {f"transport.{key}": value for key, value in settings.items()}


REMEDIES: Mapping[str, tuple[str, Change]] = {
    "filter": ("earlier ACKs leave the queue, by their number alone (balakrishnan1999)", _filter("cumulative")),
    "cake_filter": ("as CAKE's ack-filter: nothing goes that a later ACK does not cover", _filter("conservative")),
    "acks_first": ("ACKs before data, by strict priority", _acks_first),
    "acc": ("RED marks ACKs, and receivers send fewer (balakrishnan1999)", _acc),
    "afvq": ("ACKs before data, few of them waiting, and half of the line at most (AFVQ, RFC 3449 5.4.1)", _afvq),
    "few_acks": ("receivers send four ACKs in a round trip (after TACK)", _policy("tack", acks_per_rtt=4)),
    "rfc5690": (
        "senders ask for fewer ACKs where some are lost (RFC 5690)",
        _policy("rfc5690", max_delack=25),
    ),
    "tarr": (
        "senders ask for four ACKs a window (the TARR option)",
        _policy("tarr", acks_per_rtt=4, max_delack=25),
    ),
    "ace": (
        "receivers estimate the window, and send four ACKs for it (RFC 3449 4.5)",
        _policy("ace", min_acks_per_window=4, max_delack=25),
    ),
    "growing": ("an ACK for one segment, then two, up to eight (delayed ACK 1 to N)", _policy("growing", max_delack=8)),
    "bursts": ("senders send four segments back to back at most", lambda _: {"stack.max_burst": 4}),
    "cslip": ("headers are compressed on the line (RFC 1144), and timestamps off for it", _compress),
    "iphc": ("headers are compressed on the line (RFC 2507), timestamps too", _compress_by("iphc")),
    "rohc": ("headers are compressed on the line (RFC 6846), whatever is lost of them", _compress_by("rohc")),
    "reconstruct": ("behind the line ACKs are made anew and spread", _reconstruct),
    "ack_pacing": ("behind the line ACKs go on at the pace of the data that they ask for (RFC 2760 3.3.3)", _pace),
    "quic_10": ("QUIC receivers acknowledge every tenth packet", _quic(ack_packets=10)),
    "quic_ask_10": (
        "QUIC senders ask for an ACK for ten packets, out of order or not (ACK_FREQUENCY)",
        _quic(ack_packets=10, ack_frequency=True, reordering_threshold=0),
    ),
    "quic_chrome": (
        "QUIC receivers acknowledge as Chrome's do: every tenth packet after the first 100",
        _quic(acks="chrome"),
    ),
    "quic_picoquic": ("QUIC receivers send four ACKs in a round trip, as picoquic's do", _quic(acks="picoquic")),
}
"""Each remedy: what it does, and its settings."""

QUIC_REMEDIES = "none,filter,cake_filter,acks_first,afvq,reconstruct,quic_10,quic_ask_10,quic_chrome,quic_picoquic"
"""Compared where none are named and no flow is TCP.

First what the network offers, which cannot read QUIC's ACKs, then what the endpoints can do.
"""


@dataclass(frozen=True)
class AckPath:
    """The answer: `cells` has a row for each arm, medians over the seeds, the best first; `runs` every seed."""

    scenario: Scenario
    link: str
    arms: tuple[str, ...]
    repeat: int
    seed: int
    cells: Table
    runs: Table
    limits: Mapping[str, str]
    """For each arm, what limits the downloads."""
    digest: str
    start_jitter_s: float | None = None
    """By how much starts vary with the seed, if that was not asked for."""

    def report(self) -> str:
        """The report as one self-contained HTML page."""
        return filled_in("AckPath.report")(self)

    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> Path:
        """Writes tables and report into a folder and returns its path."""
        return filled_in("AckPath.save")(self, folder, overwrite=overwrite, report=report)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the single runs as plain values."""
        return {**self.manifest(), "cells": list(self.cells.rows()), "limits": dict(self.limits)}

    def manifest(self) -> dict[str, Any]:
        """The fingerprint of this comparison."""
        return {
            "lopsided": _native.__version__,
            "kind": "ackpath",
            "name": self.scenario.name,
            "link": self.link,
            "arms": list(self.arms),
            "repeat": self.repeat,
            "seed": self.seed,
            "start_jitter_s": self.start_jitter_s,
            "digest": self.digest,
        }

    def _repr_html_(self) -> str:
        return self.cells.to_html()


def ackpath(
    scenario: Scenario,
    remedies: str | Sequence[str] = ACKPATH_REMEDIES,
    *,
    link: str | None = None,
    repeat: int = ACKPATH_REPEAT,
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AckPath:
    """Runs the scenario with each remedy: `ackpath(scenario, "none,filter,filter+bursts")`.

    A name is one of `REMEDIES`, or several with `+` between them, applied in that order; `none` is the scenario as
    it is. Raises UsageError for remedies that are named twice or not known.
    """
    if remedies == ACKPATH_REMEDIES and not _of_transport(scenario, "tcp"):
        remedies = QUIC_REMEDIES
    arms = tuple(name.strip() for name in remedies.split(",")) if isinstance(remedies, str) else tuple(remedies)
    if repeat < 1:
        raise UsageError(f"cannot repeat a comparison {repeat} times")
    if len(set(arms)) < len(arms) or not arms:
        raise UsageError("name each remedy once, and at least one")
    check_count(len(arms) * repeat)
    place = bottleneck(scenario, "up") if link is None else link
    _link(scenario, place)
    starts = varied([scenario], repeat, workers=workers)
    scenario = starts.scenarios[0]
    changed = [remedied(scenario, place, arm) for arm in arms]
    first = scenario.seed if seed is None else seed
    recorded = [arm.with_(**{"record.events": True, "record.tcp_events": True}) for arm in changed]
    jobs = repeated(recorded, first, repeat)

    def reduce(job: int, run: Run) -> Row:
        which, repetition = divmod(job, repeat)
        return {"remedies": arms[which], "repetition": repetition, "seed": run.seed, **_measure(run, place)}

    rows = run_jobs(jobs, reduce, workers=workers, progress=progress)
    cells = sorted((_median(arm, rows) for arm in arms), key=lambda row: -row["rank_score"])
    best = cells[0]["rank_score"] or 1.0
    for row in cells:
        row["rank_score"] /= best
    limits = {arm: _limit(arm, rows) for arm in arms}
    digest = hashlib.blake2b("".join(row["digest"] for row in rows).encode(), digest_size=8).hexdigest()
    tables = (Table(ACKPATH_CELLS.frame(cells), ACKPATH_CELLS), Table(ACKPATH_RUNS.frame(rows), ACKPATH_RUNS))
    return AckPath(scenario, place, arms, repeat, first, *tables, limits, digest, starts.unasked_s)


def two_way(preset: str, controllers: Controllers | None = None) -> Scenario:
    """A download and an upload on an access line by name. Raises UsageError where none is called so."""
    check_preset(preset)
    tables = {
        "scenario": {"title": f"A download and an upload on {preset}", "duration": "10 s"},
        "link": {"preset": preset},
        "flow": [{"name": "download", "direction": "down"}, {"name": "upload", "direction": "up"}],
    }
    return Scenario.build(tables, preset, controllers=controllers)


def _link(scenario: Scenario, name: str) -> dict[str, Any]:
    """The link of this name, as the resolved file has it."""
    links = scenario.to_tables()["topology"]["link"]
    found: dict[str, Any] | None = next((each for each in links if each["name"] == name), None)
    if found is None:
        raise UsageError(f"no link is called {name!r}: there are {', '.join(each['name'] for each in links)}")
    return found


def remedied(scenario: Scenario, link: str, arm: str) -> Scenario:
    """The scenario with the remedies of one arm, `filter+acks_first` for example, upwards at that link.

    Raises UsageError for a remedy that is not known.
    """
    if arm == "none":
        return scenario
    ways = _link(scenario, link)
    up = ways["up"]
    place = Place(link, up["queue"], list(up.get("stages", [])), ways["down"].get("rate"))
    settings: Settings = {}
    for name in arm.split("+"):
        if name not in REMEDIES:
            raise UsageError(f"no remedy is called {name!r}: there are {', '.join(REMEDIES)}, and `none`")
        settings |= REMEDIES[name][1](place)
    # In its tables every link and flow has the name that the settings begin with.
    tables = scenario.to_tables()
    settings = _at_every_flow(settings, tables["flow"])
    return Scenario.build(tables, scenario.name, controllers=scenario.controllers).with_(**settings)


def _at_every_flow(settings: Settings, flows: Sequence[Mapping[str, Any]]) -> Settings:
    """The settings of `stack` at both ends of every TCP flow, and those of `transport` at every QUIC flow.

    They replace what the scenario says there.
    """
    found: Settings = {}
    for key, value in settings.items():
        root, _, rest = key.partition(".")
        if root == "stack":
            for flow in (each for each in flows if each["transport"]["kind"] == "tcp"):
                found |= {f"flow.{flow['name']}.{end}.{rest}": value for end in _ENDS if end in flow}
        elif root == "transport":
            quic = [each["name"] for each in flows if each["transport"]["kind"] == "quic"]
            if not quic:
                raise UsageError('this remedy is for QUIC, and no flow has transport = "quic"')
            found |= {f"flow.{name}.transport.{rest}": value for name in quic}
        else:
            found[key] = value
    return found


def _of_transport(scenario: Scenario, kind: str) -> list[int]:
    """The flows over this transport, by their numbers; without those of datagrams."""
    flows = enumerate(scenario.resolved["flows"])
    return [number for number, flow in flows if flow["transport"]["kind"] == kind and flow["app"]["kind"] != "udp"]


def _measure(run: Run, link: str) -> Row:
    """One run's numbers."""
    import polars as pl

    flows = list(run.flows.rows())
    ways = {way: [row for row in flows if row["direction"] == way] for way in ("down", "up")}
    lines = {row["direction"]: row for row in run.links.rows() if row["link"] == link}
    rates = {way: sum(row["goodput_bps"] for row in ways[way]) for way in ways}
    shares = [rates[way] / lines[way]["rate_bps"] for way in rates if ways[way] and lines[way]["rate_bps"]]
    events = run.events.to_polars()
    down = [row["flow"] for row in ways["down"]]
    # What a QUIC receiver sends is ACKs, but for its requests.
    pure = (pl.col("payload_bytes") == 0) & (pl.col("protocol") == "tcp")
    quic = pl.col("flow").is_in(_of_transport(run.scenario, "quic"))
    acks = events.filter(pl.col("flow").is_in(down) & (pure | quic))
    senders = [row["from"] for row in ways["down"]]
    segments = sum(row["data_segments_out"] for row in ways["down"])
    at_link = acks.filter((pl.col("node") == link) & (pl.col("direction") == "up"))
    carried = at_link.filter(pl.col("event") == "dequeued")
    dropped = at_link.filter((pl.col("event") == "dropped") & (pl.col("reason") != "ack_filtered"))
    saved = _saved_bytes(run, link)
    room = (lines["up"]["rate_bps"] or 0) * run.scenario.duration_s / 8
    # Where headers of an upload are compressed too, it is not known what its share of the saving is.
    known = room and not (saved and ways["up"])
    spent = (int(carried["size_bytes"].sum()) - saved) / room if known else None
    return {
        "digest": run.digest,
        "down_goodput_bps": rates["down"] if ways["down"] else None,
        "up_goodput_bps": rates["up"] if ways["up"] else None,
        "rank_score": sum(shares),
        **_of_acks(acks, senders, segments),
        "ack_share": spent or None,
        **_of_bursts(events, down, senders),
        "jain": jain_index(shares) if len(shares) > 1 else None,
        "down_rtt_p50_ms": median(row["rtt_p50_ms"] for row in ways["down"]) if ways["down"] else None,
        "up_wait_p95_ms": lines["up"]["sojourn_p95_ms"],
        "ack_wait_ms": carried["sojourn_ms"].mean(),
        "dropped_acks": len(dropped),
        **_of_limits(run, down, lines),
    }


def _saved_bytes(run: Run, link: str) -> float:
    """What header compression spared the line upwards."""
    import polars as pl

    where = (pl.col("node") == link) & (pl.col("direction") == "up") & (pl.col("quantity") == "saved_bytes")
    saved = run.parts.to_polars().filter(where)["value"]
    return float(saved[-1]) if len(saved) else 0.0


def _of_acks(acks: pl.DataFrame, senders: Sequence[str], segments: int) -> Row:
    """How many came, how much each said, and how many came closer together than they were sent."""
    import polars as pl

    came = acks.filter((pl.col("event") == "received") & pl.col("node").is_in(senders))
    left = acks.filter(pl.col("event") == "sent").select("packet", pl.col("time_s").alias("left_s"))
    each = (
        came.join(left, on="packet", how="left")
        .sort("flow", "time_s")
        .with_columns(
            (pl.col("ack").cast(pl.Int64).diff().over("flow") % (1 << 32)).alias("step"),
            pl.col("time_s").diff().over("flow").alias("came_apart_s"),
            pl.col("left_s").diff().over("flow").alias("left_apart_s"),
        )
    )
    said = each.filter((pl.col("step") > 0) & (pl.col("step") < (1 << 31)))["step"]
    closer = each.filter(pl.col("left_apart_s") > 0)
    squeezed = closer.filter(pl.col("came_apart_s") < pl.col("left_apart_s") / 2)
    return {
        "ack_ratio": len(came) / segments if segments else None,
        "stretch_p50_bytes": said.median() if len(said) else None,
        "stretch_p95_bytes": said.quantile(0.95, "higher") if len(said) else None,
        "ack_compression": len(squeezed) / len(closer) if len(closer) else None,
    }


def _of_bursts(events: pl.DataFrame, flows: Sequence[int], senders: Sequence[str]) -> Row:
    """Segments that senders hand to the network at one instant."""
    import polars as pl

    sent = events.filter(
        (pl.col("event") == "sent")
        & pl.col("flow").is_in(flows)
        & pl.col("node").is_in(senders)
        & (pl.col("payload_bytes") > 0)
    )
    bursts = sent.group_by("flow", "time_s").len()["len"]
    if not len(bursts):
        return {"burst_p95": None, "burst_max": None}
    return {"burst_p95": bursts.quantile(0.95, "higher"), "burst_max": bursts.max()}


def _of_limits(run: Run, flows: Sequence[int], lines: Mapping[str, Mapping[str, Any]]) -> Row:
    """For how long what holds the downloads' senders back, and what else tells of the cause."""
    import polars as pl

    told = run.tcp_events.to_polars().filter(pl.col("flow").is_in(flows) & (pl.col("end") == "sender"))
    limited = told.filter(pl.col("event") == "limited").sort("flow", "time_s")
    spans = limited.with_columns(
        (pl.col("time_s").shift(-1).over("flow").fill_null(run.scenario.duration_s) - pl.col("time_s")).alias("span_s")
    )
    held = {
        row["reason"]: row["span_s"] for row in spans.group_by("reason").agg(pl.col("span_s").sum()).rows(named=True)
    }
    total = sum(held.values()) or 1.0
    fell = told.filter((pl.col("event") == "cwnd_reduced") & pl.col("reason").is_in(["loss", "timeout"]))
    return {
        "down_utilisation": lines["down"]["utilisation"],
        "limited_window": held.get("congestion window", 0.0) / total,
        "limited_receiver": sum(held.get(reason, 0.0) for reason in _RECEIVER) / total,
        "limited_application": held.get("application", 0.0) / total,
        "limited_pacing": held.get("pacing", 0.0) / total,
        "reductions": len(fell),
        "down_wait_ms": lines["down"]["sojourn_mean_ms"],
    }


def _median(arm: str, rows: Sequence[Mapping[str, Any]]) -> Row:
    own = [row for row in rows if row["remedies"] == arm]
    cell: Row = {"remedies": arm}
    for column in own[0].keys() - {"remedies", "repetition", "seed", "digest"}:
        values = [row[column] for row in own if row[column] is not None]
        cell[column] = median(values) if values else None
    return cell


def _limit(arm: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """What limits the downloads, in a sentence with the numbers that say so."""
    cell = _median(arm, rows)
    used, waits = cell["down_utilisation"] or 0.0, (cell["ack_wait_ms"] or 0.0, cell["down_wait_ms"] or 0.0)
    if used >= _FULL:
        return f"the downlink itself: {units.percent(used)} of it is used"
    for column, what in (("limited_receiver", "the receive window"), ("limited_application", "the application")):
        if cell[column] >= _LEAST_LIMIT:
            return f"{what}, which holds the sender back for {units.percent(cell[column])} of its time"
    held = "the pacing rate" if cell["limited_pacing"] > cell["limited_window"] else "the congestion window"
    share = max(cell["limited_pacing"], cell["limited_window"])
    sentence = f"{held} ({units.percent(share)} of the sender's time)"
    if waits[0] > waits[1]:
        dropped = round(cell["dropped_acks"] or 0)
        lost = f", and {dropped:,} {'is' if dropped == 1 else 'are'} dropped there" if dropped else ""
        return f"the way of the ACKs: {sentence}, while ACKs wait {waits[0]:.0f} ms in the uplink's queue{lost}"
    if cell["reductions"]:
        return f"loss: {sentence}, which {cell['reductions']:.0f} losses brought down"
    return sentence
