"""Compares two runs packet by packet.

    found = packets.compare(Scenario.load("adsl.toml"))
    found.first        # the earliest difference at any host
    found.parted       # the earliest packet with different content

    kept = packets.keep(Scenario.load("adsl.toml"), Path("kept/adsl"), seed=1)     # once, on Linux
    found = packets.against(Run.load("kept/adsl"))                                 # after each change of the simulator

At each host, the n-th packet of a connection and direction is compared with the n-th packet of the same connection and
direction in the other run. Times and numbers count from the connection's first SYN. Packets differ if a field differs
(`FIELDS`), or if their times differ by more than the tolerance.

The default tolerance is 0.1 ms. The kernel's clock and shapers cause errors of a few microseconds. A real difference
shifts a packet by at least one transmission time, 0.12 ms at 100 Mbit/s.

UDP is not compared. Connections that exist in only one run are counted, but not compared.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lopsided import _native
from lopsided.accessors import filled_in
from lopsided.data import captures
from lopsided.data import run_folder as folders
from lopsided.errors import FolderError, UsageError
from lopsided.scenario import Run
from lopsided.studies.arms import Arm, check_worlds, in_worlds, kernel_in, run_each
from lopsided.studies.jobs import Progress, part_of
from lopsided.studies.options import COMPARED_WORLDS, PACKETS_APART_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.scenario import Scenario

FIELDS: tuple[str, ...] = tuple(_native.PACKET_FIELDS)
"""The fields of a packet that are compared; see `crates/trace/src/align.rs`."""

BEFORE, AFTER, DRAWN, PARTS = 8, 4, 24, 12
"""Number of packet pairs that are printed before the divergence, number of packets that are printed after it, number of
packets that the figure shows before it, and number of intervals in the drift table."""

CAPTURES = "pcap"
"""The subfolder of a run folder that contains the captures."""

FINE_S = 0.02
"""Maximum sampling interval in seconds, so that a state is sampled shortly before each divergence."""


@dataclass(frozen=True)
class Side:
    """One of the two compared runs, and the folder that contains its captures."""

    name: str
    run: Run
    captures: Path


@dataclass(frozen=True)
class Divergence:
    host: str
    flow: str
    connection: int
    """Index of the flow's connection, from 0."""
    time_s: float
    """Time of the divergence in the first run, in seconds since the start of the run."""
    since_syn_s: float
    sender: bool
    """True if the sender of the flow's data, which opens the connection, sent the packet."""
    number: int
    """Number of packets that the packet's sender sent on the connection before this packet."""
    packets: int
    """Number of TCP packets before the divergence in the first run's capture at this host."""
    fields: tuple[str, ...]


@dataclass(frozen=True)
class AtHost:
    """One flow in the captures of one host."""

    host: str
    flow: str
    sends: bool
    """True if this host sends the flow's data."""
    connections: tuple[int, int]
    pairs: list[dict[str, Any]] = field(repr=False)
    """The result of `_native.align` for each connection."""
    first: Divergence | None
    parted: Divergence | None

    def pair(self, at: Divergence | None) -> dict[str, Any] | None:
        """Returns the alignment of the connection that contains the divergence, or of the first connection if `at` is
        `None`. Returns `None` if the runs have no connection of this flow in common."""
        return self.pairs[at.connection if at else 0] if self.pairs else None

    @property
    def packets(self) -> tuple[int, int]:
        """Number of the flow's packets at this host, in the first and in the second run."""
        return sum(pair["packets"][0] for pair in self.pairs), sum(pair["packets"][1] for pair in self.pairs)


@dataclass(frozen=True)
class Scene:
    """A divergence, with the packets around it and the states of both ends before it."""

    at: AtHost
    divergence: Divergence
    states: dict[str, dict[str, float | str | None]]
    """The last TCP state that each run sampled before the divergence: TCP_INFO, or the simulator's equivalent."""
    context: list[dict[str, Any]]
    """The pairs of packets shortly before the divergence, and the pair that differs."""
    then: list[list[dict[str, Any]]]
    """The first packets of each capture from the divergence on."""
    around: list[list[dict[str, Any]]]
    standing: list[dict[str, tuple[int, int]]]
    """For each capture and end: the number of bytes that the end sent before the divergence, and the number of these
    bytes that the other end acknowledged."""

    def as_dict(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in ("states", "standing", "context", "then")}
        return {**vars(self.divergence), "fields": list(self.divergence.fields), **told}


@dataclass(frozen=True)
class Packets:
    """The comparison of two runs of the same flows, with the packets of both runs aligned."""

    sides: tuple[Side, Side]
    tolerance_s: float
    ignored: tuple[str, ...]
    found: tuple[AtHost, ...]
    totals: dict[str, tuple[int, int]]
    """Number of TCP packets in each run, by host."""

    @property
    def first(self) -> AtHost | None:
        """The flow and host with the earliest difference; `None` if there is no difference."""
        return _earliest(self.found, lambda one: one.first)

    @property
    def parted(self) -> AtHost | None:
        """The flow and host with the earliest packet whose content differs. An additional or missing packet also
        counts."""
        return _earliest(self.found, lambda one: one.parted)

    def scenes(self) -> list[Scene]:
        """Returns the first difference and the first packet whose content differs, each with its context.

        If both differences are at the same packet, this packet is returned once.
        """
        scenes: list[Scene] = []
        for kind, at in (("first", self.first), ("parted", self.parted)):
            told = at and (at.first if kind == "first" else at.parted)
            if at is None or told is None or any(scene.divergence == told for scene in scenes):
                continue
            pair = at.pair(told)
            assert pair is not None
            states = {side.name: _state(side.run, at.flow, told.time_s) for side in self.sides}
            scenes.append(Scene(at, told, states, **pair[f"{kind}_scene"]))
        return scenes

    @cached_property
    def chance(self) -> str | None:
        """A sentence that explains the first difference by a random number; `None` if no random number explains it.

        Worlds and seeds use different random numbers, so random losses can hit different packets. BBR also chooses the
        first phase of `probe bandwidth` at random (tcp_bbr.c, bbr_reset_probe_bw_mode).
        """
        at = self.first
        if at is None or at.first is None or _share_draws(*(side.run for side in self.sides)):
            return None
        return _drawn_loss(self, at, at.first) or _drawn_phase(self.sides, at.first)

    def figure(self) -> Figure | None:
        """Plots the sequence numbers of both runs around the first packet whose content differs. Returns `None` if no
        packet's content differs."""
        return filled_in("Packets.figure")(self)

    def as_dict(self) -> dict[str, Any]:
        return {
            "runs": [{"name": side.name, "world": side.run.world, "seed": side.run.seed} for side in self.sides],
            "tolerance_s": self.tolerance_s,
            "ignored": list(self.ignored),
            "packets": {host: list(counts) for host, counts in self.totals.items()},
            "first": _divergence((first := self.first) and first.first),
            "parted": _divergence((parted := self.parted) and parted.parted),
            "chance": self.chance,
            "scenes": [scene.as_dict() for scene in self.scenes()],
            "flows": [
                {
                    "host": one.host,
                    "flow": one.flow,
                    "connections": list(one.connections),
                    "packets": list(one.packets),
                    "first": _divergence(one.first),
                    "parted": _divergence(one.parted),
                    "fields": pair["fields"] if (pair := one.pair(one.first)) else {},
                    "drift": pair["drift"] if pair else [],
                }
                for one in self.found
            ],
        }


def compare(scenario: Scenario, worlds: Sequence[str] = COMPARED_WORLDS, **options: Any) -> Packets:
    """Runs the scenario in two worlds and aligns the packets. The options are those of `compare_arms`."""
    return compare_arms(in_worlds(scenario, worlds), **options)


def compare_arms(
    arms: Sequence[Arm],
    *,
    seed: int | None = None,
    kernel: str | None = None,
    tolerance_s: float = PACKETS_APART_S,
    ignored: Sequence[str] = (),
    keep: Path | None = None,
    progress: Progress | None = None,
) -> Packets:
    """Runs each of the two arms once, with captures at the hosts, and aligns the captures.

    If `keep` is a folder, the captures are stored there, in one subfolder per arm. Raises UsageError unless there are
    two arms.
    """
    check(tolerance_s, ignored)
    if len(arms) != 2:
        raise UsageError("packets are compared between exactly two different worlds")
    check_worlds(arms, kernel)
    with tempfile.TemporaryDirectory() as temporary:

        def run(arm: Arm, part: Progress | None) -> Side:
            folder = (keep or Path(temporary)) / arm.name.replace("/", "-")
            folder.mkdir(parents=True, exist_ok=True)
            its = kernel_in(arm.world, [each.world for each in arms], kernel)
            found = finely_sampled(arm.scenario).run(
                seed=seed, world=arm.world, kernel=its, ours=arm.ours, progress=part, pcap=folder, pcap_at=("hosts",)
            )
            return Side(arm.name, found, folder)

        one, other = run_each(arms, run, progress).values()
        return align(one, other, tolerance_s=tolerance_s, ignored=ignored)


def of_folders(one: Run, other: Run, *, tolerance_s: float = PACKETS_APART_S, ignored: Sequence[str] = ()) -> Packets:
    """Aligns the captures of two run folders that `lopsided run --pcap hosts` wrote.

    Raises FolderError if a folder has no captures.
    """
    sides: list[Side] = []
    for run in (one, other):
        if run.folder is None:
            raise FolderError("a run that was not saved has no captures")
        sides.append(Side(str(run.folder), run, run.folder / CAPTURES))
    return align(sides[0], sides[1], tolerance_s=tolerance_s, ignored=ignored)


def against(kept: Run, *, progress: Progress | None = None, **rules: Any) -> Packets:
    """Simulates the scenario of a saved run with the same seed, and aligns the simulated packets with the saved
    captures.

    A run on Linux can thus be compared with many versions of the simulator. `rules` are options of `align`. Raises
    FolderError if the run was not saved.
    """
    if kept.folder is None:
        raise FolderError("a run that was not saved has no captures")
    captures.read_index(kept.folder / CAPTURES)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run = kept.scenario.run(seed=kept.seed, progress=progress, pcap=folder, pcap_at=("hosts",))
        return align(Side("sim", run, folder), Side(f"kept {kept.world}", kept, kept.folder / CAPTURES), **rules)


def against_all(folder: Path, *, progress: Progress | None = None, **rules: Any) -> dict[str, Packets]:
    """Compares each saved run in a folder with a new simulation of its scenario, as `against` does. Returns the results
    by the names of the run folders."""
    kept = kept_in(folder)
    parts = [part_of(progress, number / len(kept), 1 / len(kept)) for number in range(len(kept))]
    return {path.name: against(Run.load(path), progress=part, **rules) for path, part in zip(kept, parts, strict=True)}


def keep(scenario: Scenario, folder: Path, *, seed: int, world: str = "kernel", kernel: str | None = None) -> Run:
    """Runs the scenario with captures at the hosts, and saves the run folder. `against` can then compare it with
    simulations."""
    with folders.writing(folder) as staged:
        run = finely_sampled(scenario).run(
            seed=seed, world=world, kernel=kernel, pcap=staged / CAPTURES, pcap_at=("hosts",)
        )
        run.write(staged, report=False)
    run.folder = folder
    return run


def kept_in(folder: Path) -> list[Path]:
    """Returns all run folders with captures inside `folder`, or `folder` itself if it is such a run folder.

    Raises FolderError if there is no such folder.
    """
    if (folder / CAPTURES).is_dir():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"*/{CAPTURES}"))
    if not found:
        raise FolderError(f"{folder} holds no runs with captures; make one: lopsided run --world kernel --pcap hosts")
    return found


def check(tolerance_s: float, ignored: Sequence[str]) -> None:
    """Raises UsageError if the tolerance is negative or a field is unknown."""
    if unknown := set(ignored) - set(FIELDS):
        raise UsageError(f"packets have no field {sorted(unknown)[0]!r}; there are {', '.join(FIELDS)}")
    if tolerance_s < 0:
        raise UsageError("a tolerance cannot be negative")


def align(one: Side, other: Side, *, tolerance_s: float = PACKETS_APART_S, ignored: Sequence[str] = ()) -> Packets:
    """Aligns the captures that two runs recorded at the same hosts. Flows with the same name are compared.

    Raises UsageError if the runs have no TCP flow in common, and FolderError if there are no captures.
    """
    check(tolerance_s, ignored)
    these = {listed.flow: listed for listed in captures.read_index(one.captures)}
    those = {listed.flow: listed for listed in captures.read_index(other.captures)}
    names = [name for name in these if name in those and _is_tcp(one.run, name)]
    if not names:
        raise UsageError("the two runs have no TCP flow in common")
    hosts = dict.fromkeys(host for name in names for host in (these[name].sender, these[name].receiver))
    found: list[AtHost] = []
    totals: dict[str, tuple[int, int]] = {}
    for host in hosts:
        files = captures.at_host(one.captures, host), captures.at_host(other.captures, host)
        if not all(file.is_file() for file in files):
            raise FolderError(f"a capture at the host {host} is missing: run with --pcap hosts")
        present = [name for name in names if host in (these[name].sender, these[name].receiver)]
        rows = _native.align(
            *files,
            [(these[name].place, those[name].place) for name in present],
            round(tolerance_s * 1e9),
            list(ignored),
            before=BEFORE,
            after=AFTER,
            drawn=DRAWN,
            parts=PARTS,
        )
        for name, row in zip(present, rows, strict=True):
            found.append(_at_host(host, name, host == these[name].sender, row, files[0]))
        totals[host] = (_native.count_packets(files[0], 0)[1], _native.count_packets(files[1], 0)[1])
    return Packets((one, other), tolerance_s, tuple(ignored), tuple(found), totals)


def _at_host(host: str, flow: str, sends: bool, row: dict[str, Any], file: Path) -> AtHost:
    pairs: list[dict[str, Any]] = row["pairs"]

    def earliest(kind: str) -> Divergence | None:
        places = [(pair["begun_ns"][0] + pair[kind]["at_ns"], number) for number, pair in _with(pairs, kind)]
        if not places:
            return None
        at_ns, number = min(places)
        told = pairs[number][kind]
        before, _ = _native.count_packets(file, at_ns)
        return Divergence(
            host=host,
            flow=flow,
            connection=number,
            time_s=at_ns / 1e9,
            since_syn_s=told["at_ns"] / 1e9,
            sender=told["from"] == "opener",
            number=told["number"],
            packets=before,
            fields=tuple(told["fields"]),
        )

    return AtHost(host, flow, sends, row["connections"], pairs, earliest("first"), earliest("parted"))


def _with(pairs: list[dict[str, Any]], kind: str) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((number, pair) for number, pair in enumerate(pairs) if pair[kind] is not None)


def _earliest(found: Sequence[AtHost], of: Callable[[AtHost], Divergence | None]) -> AtHost | None:
    known = [(told.time_s, number) for number, one in enumerate(found) if (told := of(one)) is not None]
    return found[min(known)[1]] if known else None


def finely_sampled(scenario: Scenario) -> Scenario:
    """Returns the scenario with a sampling interval of at most `FINE_S`."""
    interval = scenario.interval_s
    if interval is not None and interval <= FINE_S:
        return scenario
    return scenario.with_(**{"record.interval": f"{FINE_S * 1000:g} ms"})


def _share_draws(one: Run, other: Run) -> bool:
    return one.world == other.world == "sim" and one.seed == other.seed


DRAWING = ("red", "pie", "fq_pie", "choke", "docsis-pie", "dualpi2")
"""Queue disciplines that drop packets at random."""
CYCLES = 8
"""BBR's random first phase can explain a difference within this number of smoothed RTTs. It equals the number of phases
in a cycle (tcp_bbr.c, CYCLE_LEN)."""


def _drawn_loss(found: Packets, at: AtHost, first: Divergence) -> str | None:
    """Returns a sentence if both runs sent a packet and only one run lost it, on a path with random losses; otherwise
    `None`."""
    if first.sender == at.sends:
        return None
    sent = next((one for one in found.found if one.flow == at.flow and one.host != at.host), None)
    if sent is None or (sent.first is not None and sent.first.time_s <= first.time_s):
        return None
    if not (places := _places_of_loss(found.sides[0].run)):
        return None
    return (
        f"Both runs sent this packet of {at.flow}, but it reached {at.host} in only one run. Each run has its own "
        f"random losses at {' and '.join(places)}, so chance explains the difference."
    )


def _places_of_loss(run: Run) -> list[str]:
    """Returns the link directions in which packets can be lost at random."""
    return [
        f"{link['name']}.{way}"
        for link in run.scenario.resolved["links"]
        for way in ("down", "up")
        if link[way]["loss"]["random"] or link[way]["loss"]["gilbert"] or _draws(link[way]["queue"])
    ]


def _draws(queue: Mapping[str, Any]) -> bool:
    if queue["kind"] in DRAWING:
        return True
    inner = [cast("dict[str, Any]", each) for each in queue.values() if isinstance(each, dict)]
    return any("kind" in each and _draws(each) for each in inner)


def _drawn_phase(sides: Sequence[Side], first: Divergence) -> str | None:
    """Returns a sentence if a simulated BBR flow chose its first phase shortly before the difference; otherwise
    `None`."""
    run = next((side.run for side in sides if side.run.world == "sim"), None)
    flows = {} if run is None else {row["flow"]: row["name"] for row in run.flows.rows() if row["cc"] == "bbr"}
    if run is None or not flows:
        return None
    # Run the whole scenario: flows may start after the difference, and a shorter run would reject them.
    told = run.scenario.with_(**{"record.tcp_events": True})
    for event in told.run(seed=run.seed).tcp_events.rows():
        if event["event"] != "cc_phase" or event["to"] != "probe bandwidth" or event["flow"] not in flows:
            continue
        name, since_s = flows[event["flow"]], first.time_s - event["time_s"]
        state = _state(run, name, event["time_s"])
        if 0 <= since_s <= CYCLES * float(state.get("srtt_ms") or 0) / 1e3:
            return (
                f"BBR of {name} entered PROBE_BW {since_s * 1e3:.1f} ms earlier, at {event['time_s']:.6f} s. Each run "
                "chooses the first pacing gain of this state at random, so chance explains the difference."
            )
    return None


def _is_tcp(run: Run, flow: str) -> bool:
    found = next((one for one in run.scenario.resolved["flows"] if one["name"] == flow), None)
    return found is not None and found["app"]["kind"] != "udp"


_STATE = (
    *("time_s", "state", "cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_ms", "rttvar_ms", "rto_ms"),
    *("snd_wnd_bytes", "rcv_space_bytes", "delivered_bytes", "retransmits"),
)


def _state(run: Run, flow: str, time_s: float) -> dict[str, float | str | None]:
    samples = run.samples_of.get(flow)
    if samples is None:
        return {}
    before = samples.filter(samples["time_s"] <= time_s)
    if not len(before):
        return {}
    last = before.row(-1, named=True)
    return {name: last.get(name) for name in _STATE}


def _divergence(found: Divergence | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {**vars(found), "fields": list(found.fields)}
