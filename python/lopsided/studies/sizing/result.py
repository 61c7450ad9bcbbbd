"""The result of `lopsided size`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from textwrap import indent
from typing import Any, ClassVar

import numpy as np

from lopsided import metrics
from lopsided.data import units
from lopsided.data.table import Table
from lopsided.data.view import View, numbers, view, words
from lopsided.studies import device_configs
from lopsided.studies.options import USUAL_INTERFACE
from lopsided.studies.sizing.curve import TOLERANCE, Measured, Model
from lopsided.studies.sizing.disciplines import Advice
from lopsided.studies.sizing.line import PACKET_BYTES, Line
from lopsided.studies.sizing.plan import Plan
from lopsided.studies.study import Block, Drawing, Headline, Source, Study


@dataclass(frozen=True)
class Sizing(Study):
    """The result of sizing a buffer. `curve` has one row per buffer size, with medians over the seeds. `runs` has one
    row per run."""

    kind: ClassVar[str] = "size"
    figures: ClassVar[Mapping[str, str]] = {"curve": "Performance against the uplink buffer"}
    footer: ClassVar[str] = (
        "The tables next to this page (`curve`, `runs`, `candidates`) contain all numbers of the page. Column names "
        "end with the unit."
    )

    line: Line
    model: Model
    """The buffer that the model recommends if its congestion windows are the largest of the whole run, as in
    merritt2010. Slow start often overshoots, so these windows can be too large."""
    model_both: Model
    """The buffer that the model recommends if its congestion windows are the largest while both flows run. This period
    excludes the overshoot of the download's slow start."""
    measured: Measured
    curve: Table
    runs: Table
    repeat: int
    both_s: float
    digest: str
    advice: Advice | None = None
    """The recommended discipline; `None` if disciplines were not compared."""
    plan: Plan | None = None
    """The numbers and the durations of the planned runs."""
    interface: str = USUAL_INTERFACE
    """The Linux interface towards the line, which `configs` uses."""
    target_delay_s: float | None = None
    """The user's upper limit for the delay of a full buffer, in seconds; `None` if there is no limit."""

    @property
    def target_packets(self) -> int | None:
        """The largest buffer in packets that satisfies the target delay, at least one packet."""
        return None if self.target_delay_s is None else self.line.packets_within(self.target_delay_s)

    @property
    def packets(self) -> int:
        """The recommended uplink buffer in packets: the largest buffer with good performance that also satisfies the
        target delay."""
        return min(self.measured.knee_packets, self.target_packets or self.measured.knee_packets)

    @property
    def assumed(self) -> str:
        """The assumptions of the recommendation, as a paragraph."""
        return _assumed(self)

    @property
    def rule_of_thumb_packets(self) -> float:
        """The buffer in packets by the rule of thumb B = RTT C (merritt2010 eq 2.2). RTT excludes queueing."""
        return metrics.one_bdp_buffer_packets(self.line.up_bps, self.line.rtt_s)

    def many_flows_packets(self, flows: int) -> float:
        """Returns the buffer in packets by the rule for many flows, B = RTT C / sqrt(N) (merritt2010 eq 2.3)."""
        return metrics.many_flow_buffer_packets(self.line.up_bps, self.line.rtt_s, flows)

    def drain_s(self, packets: float) -> float:
        """Returns the time in seconds that a full buffer of `packets` takes to drain into the uplink."""
        return packets * self.line.wire_s

    def performance_at(self, packets: float | None) -> float | None:
        """Returns the interpolated median performance for a buffer size; `None` outside of the tested sizes."""
        tried = self.curve.numbers("buffer_packets")
        if packets is None or not tried[0] <= packets <= tried[-1]:
            return None
        return float(np.interp(packets, tried, self.curve.numbers("performance")))

    @property
    def configs(self) -> tuple[device_configs.DeviceConfig, ...]:
        """The commands that configure the recommended queue on Linux, Cisco IOS and OpenWrt."""
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
        """The rates of the shapers for downlink and uplink, in bit/s of Ethernet frames. The shapers' rates are below
        the line's rates."""
        down, up = self._shaped
        return down.frames_bps, up.frames_bps

    @property
    def why(self) -> str:
        """The reason for the recommendation, as a paragraph with this line's numbers."""
        return _why(self)

    @property
    def title(self) -> str:
        line = self.line
        return f"Uplink buffer for {line.preset or f'{units.rate(line.down_bps)} down, {units.rate(line.up_bps)} up'}"

    def conclusions(self) -> list[str]:
        if self.advice is None:
            return [_answer(self)]
        return [*filter(None, [_felt(self.advice)]), _answer(self), _advised(self.advice.recommended)]

    def conditions(self) -> list[tuple[str, str]]:
        line = self.line
        return [
            ("round trip", units.millis(line.rtt_s * 1e3)),
            ("both flows", units.seconds(self.both_s)),
            ("congestion control", line.cc),
            ("stack", line.stack),
            ("seeds", str(self.repeat)),
            ("digest of all", self.digest),
        ]

    def identity(self) -> dict[str, Any]:
        return {"repeat": self.repeat, "digest": self.digest}

    def files(self) -> Mapping[str, Table | str]:
        found = {"curve.csv": self.curve, "runs.csv": self.runs}
        if self.advice is not None:
            found["candidates.csv"] = self.advice.candidates
        return {**found, **{f"{config.device}.txt": f"{config.lines}\n" for config in self.configs}}

    def shown(self) -> Iterable[Block]:
        yield _answers(self)
        yield f"{self.why} {self.assumed}\n"
        if self.advice is not None:
            yield view(self.advice.candidates, caption=_CHOSEN)
        for config in self.configs:
            yield Headline(config.device, config.note)
            yield Source("", f"{config.lines}\n")
            yield Source("undo:", indent(config.undo, "    ") + "\n")

    def page(self) -> Iterable[Block]:
        yield Drawing("curve", self.figures["curve"])
        yield Headline("The buffer by each rule")
        yield _answers(self)
        yield self.why
        yield self.assumed
        if self.advice is not None:
            yield Headline("Queue disciplines under a household's traffic")
            yield view(self.advice.candidates, caption=_CHOSEN)
        yield Headline("How to set it")
        for config in self.configs:
            yield Source(f"{config.device}: {config.note}", config.lines)
            yield Source(f"{config.device}: undo", config.undo)
        yield Headline("All measurements")
        yield view(self.curve)

    def results(self) -> dict[str, Any]:
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
        }


def _assumed(sizing: Sizing) -> str:
    line = sizing.line
    frames = f"{line.framing} framing" if line.framing else f"{line.preset}'s framing" if line.preset else "no framing"
    down, up = sizing.shaped_bps
    return (
        f"Assumed: one download and one upload of full packets ({PACKET_BYTES} bytes) with {line.cc} on {line.stack}, "
        f"a round trip of {units.millis(line.rtt_s * 1e3)} without queues, {line.queue_down} before the downlink, "
        f"{frames} on the line. The settings below shape to {device_configs.SHAPED_SHARE * 100:.0f} % of the line's "
        f"rates, counted as Ethernet frames: {units.rate(down)} down, {units.rate(up)} up."
    )


def _why(sizing: Sizing) -> str:
    line, measured = sizing.line, sizing.measured
    largest = int(sizing.curve.values("buffer_packets")[-1])
    carries = (
        "The uplink carries the upload and the download's acknowledgements through one buffer, and at "
        f"{units.rate(line.up_bps)} each full packet in it makes an acknowledgement wait "
        f"{units.millis(sizing.drain_s(1) * 1e3)}."
    )
    if measured.falls:
        found = (
            f"Up to {measured.knee_packets} packets ({units.millis(sizing.drain_s(measured.knee_packets) * 1e3)} when "
            f"full) the slower of the two flows keeps {units.percent(measured.knee_performance)} of its link. "
            "With a larger buffer, ACKs wait so long that the download's window is used up and its link runs empty. "
            f"With {largest} packets ({units.millis(sizing.drain_s(largest) * 1e3)}), the slower flow keeps "
            f"{units.percent(measured.worst_performance)}."
        )
    else:
        found = (
            f"With every tested size, up to {largest} packets, performance stays within "
            f"{units.percent(TOLERANCE)} of its best, {units.percent(measured.best_performance)}: a larger buffer "
            "only adds waiting."
        )
    estimated = "" if sizing.plan is None or sizing.plan.whole else f" These numbers are {sizing.plan.said}."
    return f"{carries} {found} {_model_sentences(sizing)}{estimated}"


def _model_sentences(sizing: Sizing) -> str:
    model, both = sizing.model, sizing.model_both
    text = (
        f"Merritt's model {_limit(model)}. Its inputs are the largest windows, "
        f"{units.size(model.window_down_bytes)} down and {units.size(model.window_up_bytes)} up, and an RTT of "
        f"{units.millis(model.rtt_ms)} with the uplink idle."
    )
    if both.packets == model.packets:
        return text
    return (
        f"{text} The download's window was largest in its first slow start. With its largest window while both flows "
        f"are active ({units.size(both.window_down_bytes)}), the model {_limit(both)}."
    )


def _limit(model: Model) -> str:
    if model.packets:
        return f"puts the limit at {model.packets} packets"
    verdicts = {"above": "allows every tested size", "below": "allows none of the tested sizes"}
    return verdicts.get(model.side, "gives no limit")


def _felt(advice: Advice) -> str:
    """Returns a sentence about the delays of calls and pages, with the current queue and with the recommended queue."""
    rows = {row["queue"]: row for row in advice.candidates.rows()}
    now = rows.get("unmanaged") or rows.get("fifo")
    then = rows[advice.recommended]
    shown = [then] if now is None or now is then else [now, then]
    said: list[str] = []
    for what, column, to_ms in (("a call's packets wait", "call_p95_ms", 1.0), ("a page takes", "page_s", 1e3)):
        if all(row[column] is not None for row in shown):
            waits = [f"{units.millis(row[column] * to_ms)} {_under(row['queue'])}" for row in shown]
            said.append(f"{what} {' and '.join(waits)}")
    return f"While the line is busy, {'; '.join(said)}." if said else ""


def _under(queue: str) -> str:
    """Returns a phrase with a queue's name, such as `with codel`, for a sentence about the delay in this queue."""
    return "in an unmanaged queue" if queue == "unmanaged" else f"with {queue}"


def _answer(found: Sizing) -> str:
    """Returns sentences with the recommended buffer size, its delay, and the effect of the target delay."""
    full = units.millis(found.drain_s(found.packets) * 1e3)
    said = f"Set the uplink buffer to {found.packets} packets: {full} when full."
    if found.target_delay_s is None or found.target_packets is None:
        return said
    target = units.millis(found.target_delay_s * 1e3)
    if found.drain_s(1) > found.target_delay_s:
        alone = units.millis(found.drain_s(1) * 1e3)
        return f"{said} No buffer stays below {target}: one full packet alone takes {alone} at this rate."
    if found.target_packets >= found.measured.knee_packets:
        return f"{said} That is within {target}, and a larger buffer would not perform better."
    best, here = found.measured.best_performance, found.performance_at(found.packets)
    cost = "" if here is None else f" Performance is then {units.percent(here)}; at best it is {units.percent(best)}."
    return f"{said} The delay of a larger buffer would exceed {target}.{cost}"


_CHOSEN = "chosen: the fastest page, among disciplines that use at least 80 % as much of the line as the best one"


def _advised(queue: str) -> str:
    if queue in ("fifo", "unmanaged"):
        return "No queue discipline serves a household better on this line than this buffer."
    return f"No buffer size serves a household's traffic as well as {queue} in both directions."


def _answers(found: Sizing) -> View:
    """Returns a table of the buffer sizes that the sweep, the model and the rules of thumb recommend, with the delay
    and the performance of each size."""
    measured, model = found.measured, found.model
    rows: list[list[str]] = []

    def row(name: str, packets: float | None, performance: float | None = None, otherwise: str = "none") -> None:
        if packets is None:
            rows.append([name, otherwise, "–", "–", "–"])
            return
        shown = f"{packets}" if isinstance(packets, int) else f"{packets:.1f}"
        wait = units.millis(found.drain_s(packets) * 1e3)
        rows.append([name, shown, units.size(packets * PACKET_BYTES), wait, units.percent(performance)])

    falls = "largest before performance falls" if measured.falls else "largest tested; performance never falls"
    row(f"measured: {falls}", measured.knee_packets, measured.knee_performance)
    row("measured: best performance", measured.best_packets, measured.best_performance)
    row(
        "model: Merritt's inequality 6.6",
        model.packets,
        found.performance_at(model.packets),
        _none(model.side),
    )
    if model.packets != found.model_both.packets:
        both = found.model_both
        row("  with windows while both are active", both.packets, found.performance_at(both.packets), _none(both.side))
    if found.target_delay_s is not None:
        target, most = units.millis(found.target_delay_s * 1e3), found.target_packets
        row(f"largest within {target} when full", most, found.performance_at(most))
    row("rule of thumb: RTT x C", found.rule_of_thumb_packets)
    row("for 2 flows: RTT x C / sqrt(2)", found.many_flows_packets(2))
    return View([*words(""), *numbers("packets", "bytes", "when full", "performance")], rows)


def _none(side: str) -> str:
    return {"above": "all tried", "below": "none tried"}.get(side, "none")
