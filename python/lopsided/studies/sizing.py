"""How large should the uplink buffer be? Merritt's model and a measured sweep, side by side.

The model is inequality 6.6 of merritt2010, fed by the thesis's own field procedure (section 6.4) carried out in the
simulator: a download alone for 30 s gives the RTT, then an upload beside it for 30 s, and the largest congestion
windows of both. Each configured buffer gives one estimate; where the estimates cross the diagonal lies the largest
buffer that keeps the two flows out of phase (figure 6.2). The measurement is a sweep over the same buffers:
min-normalised goodput (equation 1.2) while both flows are active. Left out: more than one flow in each direction, and
traffic other than bulk transfers.

Beside the buffer it answers which queue discipline would serve the line better (`size_disciplines`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from lopsided import metrics
from lopsided.accessors import filled_in
from lopsided.data import series, units
from lopsided.data.table import Row, Table
from lopsided.errors import UsageError
from lopsided.scenario import Scenario
from lopsided.studies import device_configs, size_disciplines
from lopsided.studies.inventory import check_preset
from lopsided.studies.jobs import Progress, check_count, part_of, run_jobs
from lopsided.studies.options import SIZE_QUEUES, USUAL_INTERFACE, SizeOptions
from lopsided.studies.size_plan import FIELD_ALONE_S, FIELD_BOTH_S, Plan, about, plan_for
from lopsided.worlds.base import Job

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lopsided.scenario import Run

USUAL = SizeOptions()
PACKET_BYTES = int(metrics.FULL_PACKET_BYTES)
TOLERANCE = 0.05
"""A buffer counts as good while its performance is within this share of the best."""

_ADVICE_SEEDS = 3
_CURVE_SHARE = 0.8
"""Of the work, what the curve takes."""


@dataclass(frozen=True)
class Line:
    """The access line to find a buffer for. `rtt_s` is the propagation round trip, without any queueing."""

    down_bps: int
    up_bps: int
    rtt_s: float
    queue_down: units.QueueLimit
    cc: str
    stack: str
    preset: str | None
    """The access line whose way to send and framing this one has."""
    framing: str | None = None
    """What the line adds to each packet, by a scenario's name for it."""

    @cached_property
    def framings(self) -> tuple[Any, Any]:
        """What the line adds to packets, down and up."""
        link = self.scenario(0.0, 1.0).resolved["links"][0]
        return link["down"]["framing"], link["up"]["framing"]

    @property
    def wire_s(self) -> float:
        """How long the uplink takes to send a full packet."""
        return device_configs.Shaped(self.up_bps, self.framings[1]).wire_bytes * 8 / self.up_bps

    def packets_within(self, delay_s: float) -> int:
        """The largest buffer of full packets that empties into the uplink within so many seconds, one at least."""
        return max(1, math.floor(delay_s / self.wire_s + 1e-9))

    def scenario(self, alone_s: float, both_s: float) -> Scenario:
        """A download, alone for a while, then an upload beside it; starts vary by up to a second with the seed."""
        jitter_s = min(1.0, (alone_s + both_s) / 10)
        down, up = (
            {"rate": f"{rate} bit/s", "queue": {"kind": "fifo", "limit": limit}}
            for rate, limit in ((self.down_bps, str(self.queue_down)), (self.up_bps, "50 packets"))
        )
        line = {"preset": self.preset, "framing": self.framing, "rtt": f"{self.rtt_s * 1e3:g} ms"}
        upload = {"start": f"{alone_s:g} s", "start_jitter": f"{jitter_s:g} s"}
        return Scenario.build(
            {
                "scenario": {"name": "size", "duration": f"{alone_s + both_s + jitter_s:g} s"},
                "link": {**line, "down": down, "up": up},
                "stack": {"profile": self.stack, "cc": self.cc},
                "flow": [
                    {"name": "download", "direction": "down"},
                    {"name": "upload", "direction": "up", **upload},
                ],
                "record": {"interval": "100 ms"},
            },
            name="size",
        )


@dataclass(frozen=True)
class Model:
    """What inequality 6.6 says. `packets` is the crossing of figure 6.2, rounded down; None where there is none.

    The windows are those of the buffer tried that lies nearest the crossing.
    """

    packets: int | None
    side: str
    rtt_ms: float
    window_down_bytes: float
    window_up_bytes: float


@dataclass(frozen=True)
class Measured:
    """What the sweep found.

    `knee_packets` is the largest buffer before performance falls; `falls` says whether it ever did.
    """

    best_packets: int
    best_performance: float
    knee_packets: int
    knee_performance: float
    worst_performance: float
    falls: bool


@dataclass(frozen=True)
class Sizing:
    """The answer. `curve` has one row per buffer size (medians over the repetitions), `runs` one per run."""

    line: Line
    model: Model
    """With the largest windows of the whole procedure, as in the thesis; often the first slow start's overshoot."""
    model_both: Model
    """With the download's largest window while both flows are active, which leaves that overshoot out."""
    measured: Measured
    curve: Table
    runs: Table
    repeat: int
    both_s: float
    digest: str
    advice: size_disciplines.Advice | None = None
    """Which queue discipline serves the line best, where that was asked."""
    plan: Plan | None = None
    """How much was simulated."""
    interface: str = USUAL_INTERFACE
    """Name of the Linux interface towards the line, in `configs`."""
    target_delay_s: float | None = None
    """What a full buffer may add to a packet's time, where a bound was asked for."""

    @property
    def target_packets(self) -> int | None:
        """The largest buffer that empties within the target delay; one packet where not even that one does."""
        return None if self.target_delay_s is None else self.line.packets_within(self.target_delay_s)

    @property
    def packets(self) -> int:
        """The uplink buffer that is advised: the largest that keeps performance, and the target delay where one is
        given."""
        return min(self.measured.knee_packets, self.target_packets or self.measured.knee_packets)

    @property
    def assumed(self) -> str:
        """What the answer takes for granted, in a paragraph."""
        return _assumed(self)

    @property
    def rule_of_thumb_packets(self) -> float:
        """B = RTT C of the uplink, in packets (merritt2010 eq 2.2), with the line's propagation RTT."""
        return metrics.one_bdp_buffer_packets(self.line.up_bps, self.line.rtt_s)

    def many_flows_packets(self, flows: int) -> float:
        """B = RTT C / sqrt(N) of the uplink, in packets (merritt2010 eq 2.3)."""
        return metrics.many_flow_buffer_packets(self.line.up_bps, self.line.rtt_s, flows)

    def drain_s(self, packets: float) -> float:
        """How long a full buffer of so many packets takes to empty into the uplink, with what the line adds to them."""
        return packets * self.line.wire_s

    def performance_at(self, packets: float | None) -> float | None:
        """Median performance at a buffer size, interpolated between those tried; None outside of them."""
        tried = self.curve["buffer_packets"]
        if packets is None or not tried[0] <= packets <= tried[-1]:
            return None
        return float(np.interp(packets, tried.to_numpy(), self.curve["performance"].to_numpy()))

    @property
    def configs(self) -> tuple[device_configs.DeviceConfig, ...]:
        """The commands that set what is recommended, discipline or uplink buffer, on Linux, Cisco IOS and OpenWrt."""
        if self.advice is None or self.advice.recommended in ("fifo", "unmanaged"):
            return device_configs.configs(self._shaped[1], self.packets, self.interface)
        chosen = self.advice.recommended
        return device_configs.discipline_configs(chosen, self._shaped, self.advice.settings[chosen], self.interface)

    @property
    def _shaped(self) -> tuple[device_configs.Shaped, device_configs.Shaped]:
        line = self.line
        return (
            device_configs.Shaped(line.down_bps, line.framings[0]),
            device_configs.Shaped(line.up_bps, line.framings[1]),
        )

    @property
    def shaped_bps(self) -> tuple[int, int]:
        """What to shape to, down and up: below the line, in bytes of Ethernet frames."""
        down, up = self._shaped
        return down.frames_bps, up.frames_bps

    @property
    def why(self) -> str:
        """The reason in one paragraph, from this line's numbers."""
        return _why(self)

    def plot(self) -> Figure:
        """Performance against buffer, and the model's estimates against the diagonal."""
        return filled_in("Sizing.plot")(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        sizes = {
            "measured": self.measured.knee_packets,
            "measured_best": self.measured.best_packets,
            "model": self.model.packets,
            "model_both_active": self.model_both.packets,
            "rule_of_thumb": self.rule_of_thumb_packets,
            "rule_of_thumb_2_flows": self.many_flows_packets(2),
        }
        return {
            "line": {**asdict(self.line), "queue_down": str(self.line.queue_down)},
            "advised": self.packets,
            "when_full_s": self.drain_s(self.packets),
            "target_delay_s": self.target_delay_s,
            "shaped_bps": dict(zip(("down", "up"), self.shaped_bps, strict=True)),
            "assumed": self.assumed,
            "packets": sizes,
            "bytes": {name: None if size is None else round(size * PACKET_BYTES) for name, size in sizes.items()},
            "model": vars(self.model),
            "model_both_active": vars(self.model_both),
            "measured": vars(self.measured),
            "why": self.why,
            "configs": {config.device: config.lines for config in self.configs},
            "undo": {config.device: config.undo for config in self.configs},
            "curve": list(self.curve.rows()),
            "recommended": None if self.advice is None else self.advice.recommended,
            "candidates": None if self.advice is None else list(self.advice.candidates.rows()),
            "settings": None if self.advice is None else dict(self.advice.settings),
            "repeat": self.repeat,
            "digest": self.digest,
        }

    def _repr_html_(self) -> str:
        return f"<p>{self.why}</p>{self.curve.to_html()}"


def size(
    down: str | int | None = None,
    up: str | int | None = None,
    rtt: str | float | None = None,
    *,
    sizes: Sequence[int] | None = None,
    queues: str | Sequence[str] = SIZE_QUEUES,
    workers: int | None = None,
    progress: Callable[[float], object] | None = None,
    estimate: Callable[[Plan], object] | None = None,
    **options: Any,
) -> Sizing:
    """Finds the uplink buffer and the queue discipline for a line: `size("2.4M", "196k", "200ms")`.

    Rates are bit/s or text, `rtt` the propagation round trip in seconds or text. `sizes` are the buffers tried, in
    packets; `queues` the disciplines that are compared under a household's traffic, none of them to leave that out.
    On a fast line runs are shorter and buffers fewer (`size_plan`): `estimate` is told of that before anything
    runs. The others are those of `SizeOptions`, and of `lopsided size`: with the name of a `preset` what is not
    given is as that access line has it. Raises UsageError for a line, a delay or sizes that cannot be.
    """
    asked = SizeOptions(**options)
    repeat, seed = asked.repeat, asked.seed
    device_configs.checked_interface(asked.interface)
    if isinstance(queues, str):
        queues = [name.strip() for name in queues.split(",") if name.strip()]
    line = line_of(down, up, rtt, asked)
    target_s = None if asked.target_delay is None else units.parse_time(asked.target_delay)
    if target_s is not None and not 0 < target_s < math.inf:
        raise UsageError(f"no buffer keeps a target delay of {target_s:g} s: write --target-delay 100ms")
    given, sizes = sizes, default_sizes(line) if sizes is None else sorted(set(sizes))
    if target_s is not None and given is None:
        # Measured too, so that what it costs need not be guessed.
        sizes = sorted({*sizes, min(line.packets_within(target_s), sizes[-1])})
    if not sizes or sizes[0] < 1:
        raise UsageError("buffer sizes are whole numbers of packets, at least 1")
    check_count(len(sizes) * repeat)
    size_disciplines.check(queues, (line.down_bps, line.up_bps), line.rtt_s)
    plan = _plan(line, len(sizes), repeat, len(queues))
    if estimate is not None:
        estimate(plan)
    share = _CURVE_SHARE if queues else 1.0
    runner = _Curve(line, plan, seed, workers, part_of(progress, 0.0, share))
    rows = runner.whole(sizes) if plan.whole else runner.estimate(sizes, chosen=given is not None)
    found = replace(_summarize(line, rows, plan.both_s), plan=plan, target_delay_s=target_s, interface=asked.interface)
    if not queues:
        return found
    advice = size_disciplines.advise(
        line.scenario(0.0, plan.advice_s),
        (line.down_bps, line.up_bps),
        line.rtt_s,
        (line.queue_down, units.QueueLimit(found.packets, "packets")),
        queues,
        repeat=plan.advice_repeat,
        seed=seed,
        workers=workers,
        progress=part_of(progress, share, 1 - share),
    )
    return replace(found, advice=advice)


def _plan(line: Line, sizes: int, repeat: int, candidates: int) -> Plan:
    packets_per_second = (line.down_bps + line.up_bps) / 8 / PACKET_BYTES
    return plan_for(packets_per_second, line.rtt_s, sizes, repeat, candidates, min(repeat, _ADVICE_SEEDS))


@dataclass
class _Curve:
    """The runs of all buffers: rows of what was measured, by kind `field` and `sweep`."""

    line: Line
    plan: Plan
    seed: int
    workers: int | None
    progress: Progress | None

    def whole(self, sizes: Sequence[int]) -> list[Row]:
        """The field procedure and the sweep, each in runs of its own, for every buffer and seed."""
        field = self.line.scenario(FIELD_ALONE_S, FIELD_BOTH_S)
        swept = self.line.scenario(self.plan.alone_s, self.plan.both_s)
        due = [
            (packets, repetition, base, row)
            for packets in sizes
            for base, row in ((field, _field_row), (swept, _sweep_row))
            for repetition in range(self.plan.repeat)
        ]
        jobs = [Job(_with_buffer(base, packets), self.seed + repetition) for packets, repetition, base, _ in due]

        def reduce(index: int, run: Run) -> Row:
            packets, repetition, _, row = due[index]
            return {**_key(packets, repetition, run), **row(run)}

        return run_jobs(jobs, reduce, workers=self.workers, progress=self.progress)

    def estimate(self, sizes: Sequence[int], *, chosen: bool) -> list[Row]:
        """A coarse grid, then a finer one about the knee, then seeds until those next to the knee agree.

        Sizes that the user has chosen are all tried, and no others.
        """
        plan = self.plan
        first = list(sizes) if chosen else _spaced(sizes, plan.coarse)
        total = (len(first) + (0 if chosen else plan.fine)) * plan.repeat
        rows = self._some(first, 0, 0, total)
        tried = first
        if not chosen and plan.fine:
            knee = _measured(_curve_of(rows)).knee_packets
            finer = sorted({_round_size(size) for size in np.geomspace(first[0], first[-1], 60)})
            more = about(knee, first, plan.fine, finer)
            rows += self._some(more, 0, len(first), total)
            tried = sorted([*first, *more])
        for repetition in range(1, plan.repeat):
            if repetition > 1 and _agreed(rows):
                break
            rows += self._some(tried, repetition, repetition * len(tried), total)
        return rows

    def _some(self, sizes: Sequence[int], repetition: int, done: int, total: int) -> list[Row]:
        base = self.line.scenario(self.plan.alone_s, self.plan.both_s)
        jobs = [Job(_with_buffer(base, packets), self.seed + repetition) for packets in sizes]

        def reduce(index: int, run: Run) -> list[Row]:
            key = _key(sizes[index], repetition, run)
            return [{**key, **_field_row(run)}, {**key, **_sweep_row(run)}]

        progress = part_of(self.progress, done / total, len(sizes) / total)
        pairs = run_jobs(jobs, reduce, workers=self.workers, progress=progress)
        return [row for pair in pairs for row in pair]


def _with_buffer(base: Scenario, packets: int) -> Scenario:
    return base.with_(**{"link.up.queue.limit": f"{packets} packets"})


def _key(packets: int, repetition: int, run: Run) -> Row:
    return {"buffer_packets": packets, "repetition": repetition, "seed": run.seed, "digest": run.digest}


def _spaced(sizes: Sequence[int], count: int) -> list[int]:
    """So many of the sizes, the first and the last among them."""
    places = np.linspace(0, len(sizes) - 1, min(count, len(sizes)))
    return sorted({sizes[round(float(place))] for place in places})


def _agreed(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether more seeds would hardly move the knee: its performance and its neighbours' are known well enough."""
    curve = _curve_of(rows)
    tried = [row["buffer_packets"] for row in curve]
    place = tried.index(_measured(curve).knee_packets)
    near = tried[max(0, place - 1) : place + 2]
    best = max(row["performance"] for row in curve)
    for packets in near:
        values = [row["performance"] for row in rows if row["part"] == "sweep" and row["buffer_packets"] == packets]
        if metrics.mean_interval(values).half_width > TOLERANCE * best:
            return False
    return True


def line_of(
    down: str | int | None,
    up: str | int | None,
    rtt: str | float | None,
    asked: SizeOptions = USUAL,
) -> Line:
    """The line from what people type. Raises UsageError for rates, a round trip or a preset that make no line."""
    if asked.preset is not None:
        usual = _preset_rates(asked.preset)
        if usual[0] is None or usual[1] is None:
            raise UsageError(f"the rate of {asked.preset} is drawn anew all the time: no one buffer is right for it")
        down, up = down or usual[0], up or usual[1]
        rtt = usual[2] if rtt is None else rtt
    if down is None or up is None or rtt is None:
        raise UsageError("a line has rates down and up and a round trip, or the name of a preset")
    down_bps, up_bps, rtt_s = units.parse_rate(down), units.parse_rate(up), units.parse_time(rtt)
    if not 0 <= rtt_s <= 100:
        raise UsageError(f"an RTT of {rtt_s:g} s is not one of a line on Earth")
    one_bdp = math.ceil(metrics.one_bdp_buffer_packets(down_bps, rtt_s))
    limit = units.parse_limit(asked.queue_down) if asked.queue_down else units.QueueLimit(max(50, one_bdp), "packets")
    return Line(down_bps, up_bps, rtt_s, limit, asked.cc, asked.stack, asked.preset, asked.framing)


def _assumed(sizing: Sizing) -> str:
    line = sizing.line
    frames = f"{line.framing} framing" if line.framing else f"{line.preset}'s framing" if line.preset else "no framing"
    down, up = sizing.shaped_bps
    return (
        f"Assumed: one download and one upload of full packets ({PACKET_BYTES} bytes) with {line.cc} on {line.stack}, "
        f"{units.millis(line.rtt_s * 1e3)} there and back without queues, {line.queue_down} before the downlink, "
        f"{frames} on the line. The settings below shape to {device_configs.SHAPED_SHARE * 100:.0f} % of it, counted "
        "as Ethernet frames: "
        f"{units.rate(down)} down, {units.rate(up)} up."
    )


def _preset_rates(name: str) -> tuple[int | None, int | None, float]:
    """A preset's rates down and up, where it has some, and its round trip."""
    link = _preset_link(name)
    return link["down"]["rate_bps"], link["up"]["rate_bps"], link["down"]["delay_s"] + link["up"]["delay_s"]


def _preset_link(name: str) -> Any:
    check_preset(name)
    tables = {"scenario": {"duration": "1 s"}, "link": {"preset": name}, "flow": [{"direction": "up"}]}
    return Scenario.build(tables, name="preset").resolved["links"][0]


def default_sizes(line: Line, count: int = 14) -> list[int]:
    """Buffers to try, closer together where small, up to twice what the model could ever allow and at least 50 packets.

    The download's window cannot exceed its own pipe and buffer, so half of those bounds inequality 6.6 from above.
    """
    pipe = metrics.bandwidth_delay_product_bytes(line.down_bps, line.rtt_s)
    queue = line.queue_down.count * (PACKET_BYTES if line.queue_down.unit == "packets" else 1)
    bound = (pipe + queue) / 2 / PACKET_BYTES
    largest = max(50, min(2 * bound, 2000))
    steps = [3 * (largest / 3) ** (step / (count - 1)) for step in range(count)]
    return sorted({_round_size(step) for step in steps})


def _round_size(size: float) -> int:
    """A size people would choose: whole below 20, then in fives, tens, ..."""
    if size < 20:
        return round(size)
    grain = 5 * 10 ** max(0, math.floor(math.log10(size)) - 1)
    return round(size / grain) * grain


def _field_row(run: Run) -> Row:
    """The field procedure's three numbers (MER-M23), and the estimate they give."""
    flows = {row["name"]: row for row in run.flows.rows()}
    start, stop = series.both_active(run)
    rtt_ms = series.rtt_between(run, "download", 0.0, start)
    down, up = flows["download"]["cwnd_max_bytes"], flows["upload"]["cwnd_max_bytes"]
    down_both = series.largest_between(run, "download", "cwnd_bytes", start, stop)
    up_bps = run.scenario.link_rate_bps("up") or math.nan
    return {
        "part": "field",
        "rtt_alone_ms": rtt_ms,
        "window_down_bytes": down,
        "window_down_both_bytes": down_both,
        "window_up_bytes": up,
        "estimate_packets": metrics.uplink_buffer_bound_packets(down, up, rtt_ms / 1e3, up_bps),
        "estimate_both_packets": metrics.uplink_buffer_bound_packets(down_both, up, rtt_ms / 1e3, up_bps),
    }


def _sweep_row(run: Run) -> Row:
    start, stop = series.both_active(run)
    down, up = (series.goodput_between(run, name, start, stop) for name in ("download", "upload"))
    rates = run.scenario.link_rate_bps("down") or math.nan, run.scenario.link_rate_bps("up") or math.nan
    return {
        "part": "sweep",
        "goodput_down_bps": down,
        "goodput_up_bps": up,
        "performance": metrics.min_normalised_goodput(down, up, *rates),
        "rtt_ms": series.rtt_between(run, "download", start, stop),
    }


_FIELD_COLUMNS = (
    "estimate_packets",
    "estimate_both_packets",
    "window_down_bytes",
    "window_down_both_bytes",
    "window_up_bytes",
    "rtt_alone_ms",
)


def _summarize(line: Line, rows: list[Row], both_s: float) -> Sizing:
    import polars as pl

    curve = _curve_of(rows)
    digests = hashlib.blake2b("".join(row["digest"] for row in rows).encode(), digest_size=8).hexdigest()
    runs = Table(pl.DataFrame(rows, infer_schema_length=None))
    models = (
        _model(curve, "estimate_packets", "window_down_bytes"),
        _model(curve, "estimate_both_packets", "window_down_both_bytes"),
    )
    repeat = max(row["repetition"] for row in rows) + 1
    return Sizing(line, *models, _measured(curve), Table(pl.DataFrame(curve)), runs, repeat, both_s, digests)


def _curve_of(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """One row for each buffer: medians over the seeds."""
    curve: list[Row] = []
    for packets in sorted({row["buffer_packets"] for row in rows}):
        here = [row for row in rows if row["buffer_packets"] == packets]
        field = [row for row in here if row["part"] == "field"]
        swept = [row for row in here if row["part"] == "sweep"]
        performance = [row["performance"] for row in swept]
        curve.append(
            {
                "buffer_packets": packets,
                "performance": median(performance),
                "performance_least": min(performance),
                "performance_greatest": max(performance),
                "goodput_down_bps": median(row["goodput_down_bps"] for row in swept),
                "goodput_up_bps": median(row["goodput_up_bps"] for row in swept),
                "rtt_ms": median(row["rtt_ms"] for row in swept),
                **{column: median(row[column] for row in field) for column in _FIELD_COLUMNS},
            }
        )
    return curve


def _model(curve: list[Row], estimate: str, window_down: str) -> Model:
    crossing = metrics.diagonal_crossing([row["buffer_packets"] for row in curve], [row[estimate] for row in curve])
    at = curve[0]["buffer_packets"] if crossing.packets is None else crossing.packets
    near = min(curve, key=lambda row: abs(row["buffer_packets"] - at))
    return Model(
        packets=None if crossing.packets is None else max(1, math.floor(crossing.packets)),
        side=crossing.side,
        rtt_ms=median(row["rtt_alone_ms"] for row in curve),
        window_down_bytes=near[window_down],
        window_up_bytes=near["window_up_bytes"],
    )


def _measured(curve: list[Row]) -> Measured:
    best = max(range(len(curve)), key=lambda index: curve[index]["performance"])
    floor = curve[best]["performance"] * (1 - TOLERANCE)
    knee = max(index for index, row in enumerate(curve) if row["performance"] >= floor)
    return Measured(
        best_packets=curve[best]["buffer_packets"],
        best_performance=curve[best]["performance"],
        knee_packets=curve[knee]["buffer_packets"],
        knee_performance=curve[knee]["performance"],
        worst_performance=curve[-1]["performance"],
        falls=knee + 1 < len(curve),
    )


def _why(sizing: Sizing) -> str:
    line, measured = sizing.line, sizing.measured
    largest = int(sizing.curve["buffer_packets"][-1])
    carries = (
        "The uplink carries the upload and the download's acknowledgements through one buffer, and at "
        f"{units.rate(line.up_bps)} each full packet in it makes an acknowledgement wait "
        f"{units.millis(sizing.drain_s(1) * 1e3)}."
    )
    if measured.falls:
        found = (
            f"Up to {measured.knee_packets} packets ({units.millis(sizing.drain_s(measured.knee_packets) * 1e3)} when "
            f"full) the slower of the two flows keeps {units.percent(measured.knee_performance)} of its link. Beyond, "
            "the wait outgrows what the download's window can bridge, its downlink runs empty, and with "
            f"{largest} packets ({units.millis(sizing.drain_s(largest) * 1e3)}) "
            f"{units.percent(measured.worst_performance)} is left."
        )
    else:
        found = (
            f"With all the sizes tried, up to {largest} packets, performance stays within "
            f"{units.percent(TOLERANCE)} of its best, {units.percent(measured.best_performance)}: a larger buffer "
            "only adds waiting."
        )
    estimated = "" if sizing.plan is None or sizing.plan.whole else f" All this is {sizing.plan.said}."
    return f"{carries} {found} {_model_says(sizing)}{estimated}"


def _model_says(sizing: Sizing) -> str:
    model, both = sizing.model, sizing.model_both
    verdicts = {"above": "allows every size tried", "below": "allows none of the sizes tried"}
    says = f"puts the limit at {model.packets} packets" if model.packets else verdicts.get(model.side, "gives no limit")
    text = (
        f"Merritt's model {says}, from largest windows of {units.size(model.window_down_bytes)} down and "
        f"{units.size(model.window_up_bytes)} up and an RTT of {units.millis(model.rtt_ms)} with the uplink idle"
    )
    if both.packets == model.packets:
        return f"{text}."
    instead = f"{both.packets} packets" if both.packets else verdicts.get(both.side, "gives no limit")
    return (
        f"{text}; the download's window was largest in its first slow start, and with its largest while both flows are "
        f"active ({units.size(both.window_down_bytes)}) the model {'says' if both.packets else ''} {instead}."
    )
