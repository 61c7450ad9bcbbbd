"""Records a controller's inputs and decisions step by step, and replays them.

The controller uses neither a clock nor sockets. Its decisions depend only on its inputs, both on real paths and in the
simulator. `Recording.summary` summarizes a download, so that two downloads can be compared.

The first line of the file is JSON with settings and missing ranges. Each further line is one step. The file
contains neither the first request, nor the opening and closing of connections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from lopsided import _native
from lopsided.data.output import check_free, told, whole_file
from lopsided.errors import FolderError, UsageError

if TYPE_CHECKING:
    from lopsided.scenario import Run

_OURS = "lopsided fetch steps 1"
_CONGESTION = ("queue", "together", "every")


class Step(NamedTuple):
    """One call of the controller, and the state after the call. Times are in ns. The table `fetches` has the same
    columns."""

    at_ns: int
    stream: int
    step: str
    offset: int
    length: int
    late_ns: int
    out_of_order: int
    mss: int
    loss: str
    window: int | None
    requested: int


@dataclass(frozen=True)
class Settings:
    mode: str
    streams: int
    window: str
    detection: str
    min_chunk: int
    stall_timeout_ns: int

    def transfer(self, missing: Iterable[tuple[int, int]]) -> _native.Transfer:
        """Returns a controller for the missing ranges."""
        return _native.Transfer(list(missing), **asdict(self))


@dataclass(frozen=True)
class Summary:
    """Summary of a download, from the first request to the last byte. Means are time-weighted.

    By Little's law, the rate is `requested_bytes` (the mean number of outstanding bytes) divided by `answer_ms`. The
    slower of two downloads had fewer bytes outstanding, or waited longer for responses.
    """

    seconds: float
    rate_bps: float
    window_bytes: float
    requested_bytes: float
    answer_ms: float
    """Mean time from the request for a byte to its arrival, in ms."""
    first_octet_ms: float
    """Median time from a request to the first byte of its response, in ms."""
    shortest_ms: float
    """Shortest time from a request to the first byte of its response, in ms."""
    pause_ms: float
    """Mean time from the last byte of a response to the stream's next request, in ms."""
    longest_pause_ms: float
    requests: int
    holes: int
    """Number of detected losses. `reductions` counts the losses that were treated as congestion."""
    reductions: int


@dataclass(frozen=True)
class Recording:
    """The recorded steps of one download."""

    settings: Settings
    missing: tuple[tuple[int, int], ...]
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, settings: Settings, missing: Iterable[tuple[int, int]], steps: Iterable[Any]) -> Recording:
        """Builds a recording from the controller's steps. Its times start at 0."""
        found = [Step(*step) for step in steps]
        begun = found[0].at_ns if found else 0
        moved = (step._replace(at_ns=step.at_ns - begun) for step in found)
        return cls(settings, tuple(missing), tuple(moved))

    @classmethod
    def of_run(cls, run: Run, flow: str) -> Recording:
        """Builds a recording of a simulated fetch with `record_steps = true`. Raises UsageError if the run has no
        recorded steps."""
        import polars as pl

        described = cast("list[dict[str, Any]]", run.scenario.resolved["flows"])
        apps: dict[str, dict[str, Any]] = {each["name"]: each["app"] for each in described}
        app = apps.get(flow, {})
        if not app.get("record_steps"):
            raise UsageError(f'{flow} records no steps: app = {{ kind = "rdra", record_steps = true }}')
        number = run.flows["flow"][list(run.flows["name"]).index(flow)]
        rows = run.fetches.to_polars().filter(pl.col("flow") == number)
        settings = Settings(
            mode=app["mode"],
            streams=app["streams"],
            window=app["window"],
            detection=app["detection"],
            min_chunk=app["min_chunk_bytes"],
            stall_timeout_ns=round(app["stall_timeout_s"] * 1e9),
        )
        steps = (
            (
                round(row["time_s"] * 1e9), row["stream"], row["step"], row["offset_bytes"] or 0,
                row["length_bytes"] or 0, round((row["late_s"] or 0) * 1e9), row["out_of_order"] or 0,
                row["mss_bytes"] or 0, row["loss"], row["window_bytes"], row["requested_bytes"],
            )
            for row in rows.iter_rows(named=True)
        )  # fmt: skip
        return cls.of(settings, [(0, app["size_bytes"])], steps)

    @classmethod
    def read(cls, path: Path) -> Recording:
        """Reads a file. Raises FolderError if the file is not a recording."""
        with told(path):
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        try:
            head, *steps = (json.loads(line) for line in lines)
            if head.pop("format") != _OURS:
                raise ValueError
            missing = [(int(start), int(end)) for start, end in head.pop("missing")]
            return cls.of(Settings(**head), missing, steps)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise FolderError(f"{path} holds no steps of a download") from None

    def write(self, path: Path, *, overwrite: bool = False) -> None:
        """Writes the file completely or not at all."""
        check_free(path, overwrite=overwrite)
        head = {"format": _OURS, **asdict(self.settings), "missing": self.missing}
        with whole_file(path) as temporary, temporary.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in (head, *self.steps))

    def replayed(self) -> Recording:
        """Replays the inputs with a new controller."""
        transfer = self.settings.transfer(self.missing)
        transfer.record()
        for step in self.steps:
            match step.step:
                case "asked":
                    transfer.request(step.at_ns, step.stream)
                case "received":
                    transfer.received(step.at_ns, step.stream, step.length, step.late_ns)
                case "observed":
                    transfer.observe(step.at_ns, step.stream, step.out_of_order, step.mss)
                case _:
                    transfer.failed(step.at_ns, step.stream)
        return Recording.of(self.settings, self.missing, transfer.take_steps())

    def first_difference(self) -> tuple[Step, Step | None] | None:
        """Replays the steps, and compares the results with the recorded results.

        Returns the first recorded step with a different result, and the replayed step. Returns `None` if all results
        are equal.
        """
        again = self.replayed().steps
        for number, step in enumerate(self.steps):
            other = again[number] if number < len(again) else None
            if step != other:
                return step, other
        return None

    def summary(self) -> Summary:
        """Returns the summary. Raises UsageError if no data arrived."""
        came = [step for step in self.steps if step.step == "received"]
        if not came or came[-1].at_ns == self.steps[0].at_ns:
            raise UsageError("no data arrived in this download")
        end = came[-1].at_ns
        seconds = end * 1e-9
        octets = sum(step.length for step in came)
        requested = window = 0.0
        for step, following in zip(self.steps, self.steps[1:], strict=False):
            lasted = min(following.at_ns, end) - min(step.at_ns, end)
            requested += step.requested * lasted / end
            window += (step.window or 0) * lasted / end
        first, pauses = self._answers()
        losses = [step.loss for step in self.steps if step.loss]
        return Summary(
            seconds=seconds,
            rate_bps=8 * octets / seconds,
            window_bytes=window,
            requested_bytes=requested,
            answer_ms=1e3 * requested * seconds / octets,
            first_octet_ms=sorted(first)[len(first) // 2] * 1e-6,
            shortest_ms=min(first) * 1e-6,
            pause_ms=sum(pauses) / max(len(pauses), 1) * 1e-6,
            longest_pause_ms=max(pauses, default=0) * 1e-6,
            requests=sum(step.step == "asked" for step in self.steps),
            holes=len(losses),
            reductions=sum(loss in _CONGESTION for loss in losses),
        )

    def _answers(self) -> tuple[list[int], list[int]]:
        """Returns two lists of times in ns: from each request to the first byte of its response, and from the end of
        each response to the stream's next request."""
        first: list[int] = []
        pauses: list[int] = []
        asked: dict[int, tuple[int, int]] = {}
        """For each stream: the time of its last request, and the end (exclusive) of the requested range."""
        begun: set[int] = set()
        ended: dict[int, int] = {}
        for step in self.steps:
            stream = step.stream
            if step.step == "asked":
                asked[stream] = step.at_ns, step.offset + step.length
                if stream in ended:
                    pauses.append(step.at_ns - ended.pop(stream))
            elif step.step == "received":
                if stream not in begun:
                    first.append(step.at_ns - step.late_ns - asked[stream][0])
                    begun.add(stream)
                if step.offset + step.length == asked[stream][1]:
                    ended[stream] = step.at_ns - step.late_ns
                    begun.discard(stream)
            elif step.step == "failed":
                begun.discard(stream)
        return first, pauses
