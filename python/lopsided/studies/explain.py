"""Explains one flow: its TCP events in order of time, with their causes.

    story = explain.of_run(Run.load("runs/adsl"), "download", from_s=12, to_s=14)
    story.episodes     # the periods outside the open state: losses, window reductions, and how each period ended
    story.limited_s    # the limits of the sender, and the seconds for which each limit applied

If a simulated run has no recorded events, it is repeated with the same seed and digest. For a run on Linux, captures at
the hosts (`run --pcap`) show retransmissions, congestion states and the reasons for ACKs. Samples of TCP_INFO show
windows and limits. Without captures, the samples also show states and retransmissions, but no reasons.

Pauses of the application and datagrams are not explained.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.studies import explain_captures

if TYPE_CHECKING:
    import polars as pl

    from lopsided.scenario import Run
    from lopsided.studies.explain_captures import Captured

Row: TypeAlias = dict[str, Any]

_FINE_SAMPLES = 600
"""Minimum number of samples in the explained period if the run is repeated."""
_MOST_PACKETS = 3_000_000
"""Maximum number of packets of a run for which individual packets are recorded."""
_BACK = ("open", "closed")
_SEGMENT_BYTES = 1500
"""A window limits the sender if fewer than this number of bytes are free in the window."""


@dataclass
class Episode:
    """A period in which the sender's congestion state was not `open`."""

    begin_s: float
    end_s: float
    states: list[str]
    """The congestion states in order. The first state is `open`."""
    cause: str
    end: str = ""
    """The reason for the end of the episode; empty if the episode continues after the explained period."""
    lost: Counter[str] = field(default_factory=Counter[str])
    """For each rule of loss detection, the number of segments that the rule marked lost."""
    retransmitted: int = 0
    probes: int = 0
    reductions: list[tuple[str, int | None, int | None]] = field(
        default_factory=list[tuple[str, int | None, int | None]]
    )
    """Window reductions: the signal that caused the reduction, and the window before and after the reduction."""
    timers: Counter[str] = field(default_factory=Counter[str])
    undone: str = ""
    """The rule that undid the reduction, if any."""

    @property
    def harmless(self) -> bool:
        return not (self.lost or self.reductions or self.retransmitted)


@dataclass(frozen=True)
class Moment:
    """A single event outside of all episodes."""

    time_s: float
    what: str


@dataclass(frozen=True)
class Connection:
    """One connection of the flow, identified by the port of the end that opened it."""

    port: int
    episodes: list[Episode]
    moments: list[Moment]
    limited_s: dict[str, float]
    """Seconds for which each limit applied to the sender."""
    acks: Counter[str]
    """For each reason to send an ACK, the number of pure ACKs that the receiver sent."""


@dataclass(frozen=True)
class Story:
    """The events of one flow's connections within a period."""

    run: Run | None
    """The run, or `None` if the story comes from a probe's log."""
    flow: str
    begin_s: float
    end_s: float
    connections: list[Connection]
    events: list[Row]
    """The rows of `tcp_events` from which the story was built. On Linux, they come from captures."""
    captured: Captured | None = None
    """Events and packets from captures of a run on Linux."""
    sampled: pl.DataFrame | None = None
    """The flow's samples, if the story comes from a probe's log."""
    source: str = ""
    """Name of the probe's log file."""

    @property
    def title(self) -> str:
        """The title of the run, or the name of the probe's log."""
        return self.source if self.run is None else self.run.scenario.heading

    @property
    def facts(self) -> tuple[str, ...]:
        """The world, seed and digest of the run."""
        run = self.run
        return ("probe",) if run is None else (run.world, f"seed {run.seed}", f"digest {run.digest}")

    @property
    def episodes(self) -> list[Episode]:
        return sorted((episode for one in self.connections for episode in one.episodes), key=lambda one: one.begin_s)

    @property
    def limited_s(self) -> dict[str, float]:
        """Seconds for which each limit applied to a sender, over all connections."""
        sums: defaultdict[str, float] = defaultdict(float)
        for one in self.connections:
            for limit, seconds in one.limited_s.items():
                sums[limit] += seconds
        return dict(sorted(sums.items(), key=itemgetter(1), reverse=True))

    def samples(self, column: str) -> tuple[list[float], list[float]]:
        """Returns times and values of a sample column in the period."""
        rows = self.sampled if self.run is None else self.run.samples_of.get(self.flow)
        if rows is None:
            return [], []
        inside = rows.filter((rows["time_s"] >= self.begin_s) & (rows["time_s"] <= self.end_s))
        return inside["time_s"].to_list(), inside[column].to_list()


def of_run(
    run: Run,
    flow: str | None = None,
    *,
    from_s: float | None = None,
    to_s: float | None = None,
    progress: Callable[[float], object] | None = None,
) -> Story:
    """Explains one flow between two times in seconds. The defaults are the first TCP flow and the whole run.

    Raises UsageError if the end is not after the start.
    """
    row = _flow(run, flow)
    begin = 0.0 if from_s is None else from_s
    end = run.scenario.duration_s if to_s is None else min(to_s, run.scenario.duration_s)
    if not end > begin:
        raise UsageError(nothing_between(begin, end, run.scenario.duration_s))
    if run.world != "sim":
        return _of_linux(run, row, begin, end)
    told = run if len(run.tcp_events) else _again(run, begin, end, progress)
    every = [event for event in told.tcp_events.rows() if event["flow"] == row["flow"]]
    connections, shown = _connections(every, begin, end)
    return Story(told, row["name"], begin, end, connections, shown)


def nothing_between(begin_s: float, end_s: float, last_s: float) -> str:
    """Returns the error message for a period that does not end after its start, or starts after the last time."""
    if begin_s >= last_s:
        return f"nothing to explain from {begin_s:g} s: the measurement ends at {last_s:g} s"
    return f"nothing to explain from {begin_s:g} s to {end_s:g} s: the end must be after the start"


def _connections(every: Sequence[Row], begin: float, end: float) -> tuple[list[Connection], list[Row]]:
    """Returns the connections and events of the period."""
    shown = [event for event in every if begin <= event["time_s"] <= end]
    ports = list(dict.fromkeys(event["opener_port"] for event in every))
    connections = [_connection(port, _of(every, port), begin, end) for port in ports]
    lived = [one for one, port in zip(connections, ports, strict=True) if _of(shown, port) or one.limited_s]
    return lived, shown


def _flow(run: Run, name: str | None) -> Row:
    rows = list(run.flows.rows())
    if name is None:
        found = next((row for row in rows if row["cc"]), None)
        if found is None:
            raise UsageError("no flow of this run is TCP")
        return found
    found = next((row for row in rows if row["name"] == name), None)
    if found is None:
        raise UsageError(f"no flow called {name!r}; {choices(name, (row['name'] for row in rows))}")
    if not found["cc"]:
        raise UsageError(f"{name} sends datagrams: only TCP flows can be explained")
    return found


def _again(run: Run, begin: float, end: float, progress: Callable[[float], object] | None) -> Run:
    """Repeats the run, and records all events that a story needs."""
    interval = min(run.scenario.interval_s or end, (end - begin) / _FINE_SAMPLES)
    packets = run.facts.get("packets", 0) <= _MOST_PACKETS
    settings = {"record.interval": f"{interval * 1e6:.0f} us", "record.tcp_events": True, "record.events": packets}
    again = run.scenario.with_(**settings).run(seed=run.seed, progress=progress)
    if again.digest != run.digest:
        raise UsageError(
            f"this run has no recorded TCP events, and a repetition has another digest ({again.digest}), because "
            "another version of lopsided made it; run its scenario again with record.tcp_events = true"
        )
    again.folder = run.folder
    return again


def _of(events: Sequence[Row], port: int) -> list[Row]:
    return [event for event in events if event["opener_port"] == port]


def _connection(port: int, events: Sequence[Row], begin: float, end: float) -> Connection:
    sender = [event for event in events if event["end"] == "sender"]
    inside = [event for event in events if begin <= event["time_s"] <= end]
    receiver = [event for event in inside if event["end"] == "receiver"]
    episodes, moments = _episodes(sender, begin, end)
    acks = Counter(event["reason"] for event in receiver if event["event"] == "ack_sent")
    return Connection(port, episodes, moments, _limits(sender, begin, end), acks)


def _episodes(sender: Sequence[Row], begin: float, end: float) -> tuple[list[Episode], list[Moment]]:
    """Groups the sender's events into episodes and single moments. The cause of a state change is recorded before the
    change."""
    episodes: list[Episode] = []
    moments: list[Moment] = []
    before: list[Row] = []
    now: Episode | None = None
    for event in sender:
        if before and before[0]["time_s"] != event["time_s"]:
            moments += [Moment(one["time_s"], what) for one in before if (what := _alone(one))]
            before = []
        if event["event"] == "ca_state":
            if now is None:
                now = Episode(event["time_s"], end, [event["from"], event["to"]], event["reason"])
                _absorb(now, before)
                before = []
                episodes.append(now)
            else:
                now.states.append(event["to"])
            if event["to"] in _BACK:
                now.end_s, now.end = event["time_s"], event["reason"]
                now = None
        elif now is not None and event["event"] not in ("state", "limited", "cc_phase"):
            _absorb(now, [event])
        else:
            before.append(event)
    moments += [Moment(one["time_s"], what) for one in before if (what := _alone(one))]
    told = [one for one in episodes if one.end_s >= begin and one.begin_s <= end]
    return told, [one for one in moments if begin <= one.time_s <= end]


def _absorb(episode: Episode, events: Iterable[Row]) -> None:
    for event in events:
        kind, reason = event["event"], event["reason"]
        if kind == "lost":
            episode.lost[reason] += event["segments"]
        elif kind == "retransmitted":
            episode.retransmitted += 1
            episode.probes += reason == "tail loss probe"
        elif kind == "cwnd_reduced":
            episode.reductions.append((reason, event["cwnd_from_bytes"], event["cwnd_to_bytes"]))
        elif kind == "timer":
            episode.timers[reason] += 1
        elif kind == "undone":
            episode.undone = reason


def _alone(event: Row) -> str:
    """Describes an event outside all episodes. Returns an empty string if events of this kind are not described."""
    kind, reason = event["event"], event["reason"]
    if kind == "state":
        return f"{event['from']} to {event['to']}"
    if kind == "cc_phase":
        return f"congestion control: {event['from']} to {event['to']}" if event["from"] else ""
    if kind == "cwnd_reduced":
        return f"the window is reduced from {event['cwnd_from_bytes']:,} to {event['cwnd_to_bytes']:,} B: {reason}"
    if kind == "undone":
        return f"the window is restored to {event['cwnd_to_bytes']:,} B: {reason}"
    if kind == "timer":
        return f"the {reason} timer expires" if reason not in ("pacing", "delayed ACK") else ""
    if kind == "retransmitted":
        return f"{event['length_bytes']:,} B from offset {event['offset_bytes']:,} are retransmitted" + (
            ", as a tail loss probe" if reason else ""
        )
    return ""


def _limits(sender: Sequence[Row], begin: float, end: float) -> dict[str, float]:
    """Returns the seconds for which each limit applied. A limit applies until the next limit event or the end of the
    connection."""
    sums: defaultdict[str, float] = defaultdict(float)
    limit, since = "", 0.0
    for event in sender:
        ends = event["event"] == "state" and event["to"] in ("closed", "time-wait")
        if event["event"] != "limited" and not ends:
            continue
        if limit:
            sums[limit] += max(min(event["time_s"], end) - max(since, begin), 0.0)
        limit, since = ("" if ends else event["reason"]), event["time_s"]
    if limit:
        sums[limit] += max(end - max(since, begin), 0.0)
    return {limit: seconds for limit, seconds in sorted(sums.items(), key=itemgetter(1), reverse=True) if seconds > 0}


def _of_linux(run: Run, flow: Row, begin: float, end: float) -> Story:
    """Builds the story from TCP_INFO samples, and from captures if there are any."""
    rows = run.samples_of.get(flow["name"])
    if rows is None or rows.height == 0:
        raise UsageError(f"{flow['name']} has no samples, so it cannot be explained")
    samples = list(rows.iter_rows(named=True))
    captured = explain_captures.of_flow(run, flow)
    connections, shown = of_samples(samples, captured, begin, end)
    return Story(run, flow["name"], begin, end, connections, shown, captured)


def of_samples(
    samples: Sequence[Row], captured: Captured | None, begin: float, end: float
) -> tuple[list[Connection], list[Row]]:
    """Returns the connections and events of the period, from samples and captures."""
    if captured is None:
        found = Connection(0, _sampled_episodes(samples, begin, end), [], {}, Counter())
        connections, shown = [found], []
    else:
        connections, shown = _connections(captured.events, begin, end)
        for episode in (episode for one in connections for episode in one.episodes):
            _add_reduction(episode, samples)
    if len(connections) == 1:
        connections = [replace(connections[0], limited_s=_sampled_limits(samples, begin, end))]
    return connections, shown


def _add_reduction(episode: Episode, samples: Sequence[Row]) -> None:
    """Adds a window reduction to the episode: from the last window before the episode to the smallest window during the
    episode."""
    before = bisect_right(samples, episode.begin_s, key=itemgetter("time_s")) - 1
    after = bisect_left(samples, episode.end_s, key=itemgetter("time_s"))
    least = min((row["cwnd_bytes"] for row in samples[before + 1 : after + 1]), default=0)
    if before >= 0 and 0 < least < samples[before]["cwnd_bytes"]:
        episode.reductions.append(("", samples[before]["cwnd_bytes"], least))


def _sampled_limits(samples: Sequence[Row], begin: float, end: float) -> dict[str, float]:
    """Returns the seconds for which each limit applied, computed from samples. A window limits the sender if less than
    one segment of the window is free."""
    sums: defaultdict[str, float] = defaultdict(float)
    for last, row in pairwise(samples):
        if last["state"] in ("closed", "udp"):
            continue
        room = {
            "congestion window": last["cwnd_bytes"] - last["in_flight_bytes"],
            "receive window": last["snd_wnd_bytes"] - last["in_flight_bytes"],
        }
        limit = min(room, key=room.__getitem__)
        seconds = max(min(row["time_s"], end) - max(last["time_s"], begin), 0.0)
        sums[limit if room[limit] < _SEGMENT_BYTES else "neither window"] += seconds
    return {limit: seconds for limit, seconds in sorted(sums.items(), key=itemgetter(1), reverse=True) if seconds > 0}


def _sampled_episodes(samples: Sequence[Row], begin: float, end: float) -> list[Episode]:
    """Returns episodes, computed from TCP_INFO samples. An episode that is shorter than the sampling interval may be
    missed."""
    episodes: list[Episode] = []
    now: Episode | None = None
    for last, row in pairwise(samples):
        state = row["state"]
        if not begin <= row["time_s"] <= end:
            continue
        if now is None and state not in _BACK and state != last["state"]:
            now = Episode(row["time_s"], end, [last["state"], state], "")
            episodes.append(now)
        elif now is not None and state != now.states[-1]:
            now.states.append(state)
        if now is not None:
            _compare(now, last, row)
            if state in _BACK:
                now.end_s = row["time_s"]
                now = None
    return episodes


def _compare(episode: Episode, last: Row, row: Row) -> None:
    episode.retransmitted += max((row["retransmits"] or 0) - (last["retransmits"] or 0), 0)
    before, after = last["cwnd_bytes"], row["cwnd_bytes"]
    if before and after and after < before:
        if episode.reductions:
            _, first, _ = episode.reductions.pop()
            before = first or before
        episode.reductions.append(("", before, after))
