"""Reads logs of Flent, Crusader, irtt and cake-autorate that were recorded on the same access line as a capture.

A log provides the shortest RTT, and the rate of a direction that has no load in the capture. The formats are described
in Flent's "The Data File Format", in Crusader's `file_format.rs`, in the section "Output" of the manual page
irtt-client(1), and in the headers of cake-autorate's log (`DATA_HEADER`, `LOAD_HEADER`).
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lopsided.errors import UsageError
from lopsided.studies.fit import crusader
from lopsided.studies.fit.line import ACK, PACKET, Way

MOST_BYTES = 64 << 20
"""Largest size of a log in bytes, after decompression."""
HEAD = 64 << 10
"""Number of bytes at the start of a file that are read to detect its format."""
PAYLOAD = 1448
"""Payload of a full packet with timestamps, in bytes. Test tools report payload as throughput."""
BUSY = 0.8
"""If the load of a shaper is at least this fraction of its rate, the throughput counts as the line's rate."""
LEAST_SAMPLES = 5
"""Minimum number of samples for computing a rate."""
LONGEST_S = 86_400.0
"""Longest plausible load in seconds. Groups of streams with a longer load are ignored."""
STEP_S = 0.2
"""Interval in seconds at which the goodput of Crusader's streams is computed."""
_FLENT: Mapping[Way, str] = {"down": "download", "up": "upload"}
_AUTORATE: Mapping[Way, str] = {"down": "DL", "up": "UL"}
_FLOW = re.compile(r"TCP (?P<way>download|upload)(?P<rest>.*)")


@dataclass(frozen=True)
class Log:
    """The values that a log provides for the fit."""

    kind: str
    """`Flent`, `Crusader`, `irtt` or `cake-autorate`."""
    rate_bps: Mapping[Way, float]
    """Rates in bit/s of IP packets, for the directions that were loaded."""
    floor_ms: float | None
    """Shortest RTT to the host, in ms."""
    host: str
    """Address or name of the far end to which the RTT was measured; empty if unknown."""
    flows: Mapping[Way, int] = field(default_factory=dict[Way, int])
    """Number of flows that loaded each direction, if the log shows them."""
    goodput_bps: Mapping[Way, float] = field(default_factory=dict[Way, float])
    """Goodput in bit/s of the loaded directions, if the log shows it."""
    loaded_ms: Sequence[float] = ()
    """RTTs in ms while flows loaded the line."""
    loaded_s: float = 0.0
    """Duration of the load in seconds."""
    shaped: bool = False
    """True if CAKE shaped both directions."""


def is_log(path: Path) -> bool:
    """Returns true if a file, plain or compressed with gzip, begins like a log and not like a capture."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, EOFError, zlib.error):
        return False
    return head.lstrip()[:1] == b"{" or b"_HEADER;" in head or head.startswith(crusader.MAGIC)


def read_log(path: Path) -> Log:
    """Reads a log, plain or compressed with gzip.

    Raises UsageError if the file cannot be read, is too large, or has an unknown format.
    """
    data = _bytes(path)
    if data.startswith(crusader.MAGIC):
        return _crusader(path, data)
    text = data.decode("utf-8", errors="replace")
    if text.lstrip()[:1] == "{":
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path.name} is not complete JSON: {error}") from None
        if isinstance(_of(found, "x_values"), list) and isinstance(_of(found, "results"), dict):
            return _flent(path, found)
        if isinstance(_of(found, "round_trips"), list):
            return _irtt(path, found)
    elif "DATA_HEADER;" in text or "LOAD_HEADER;" in text:
        return _cake_autorate(path, text)
    raise UsageError(f"{path.name} is not a log of Flent, Crusader, irtt or cake-autorate")


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            found = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(found) > MOST_BYTES:
        raise UsageError(f"{path.name} is larger than {MOST_BYTES >> 20} MB")
    return found


def _flent(path: Path, found: Mapping[str, Any]) -> Log:
    goodput: dict[Way, float] = {}
    flows: dict[Way, int] = {}
    loads: list[NDArray[np.float64]] = []
    for way, name in _FLENT.items():
        series = {
            match["rest"].strip(): values
            for key, values in found["results"].items()
            if (match := _FLOW.fullmatch(str(key))) and match["way"] == name
        }
        # Only single flows are used. Flent also stores their sum, and counters whose names contain `::`.
        single = {key: each for key, each in series.items() if re.fullmatch(r"(::\d+)?|(?!avg|sum)[^:]*", key)}
        summed = [series["sum"]] if "sum" in series else list(single.values())
        total = [_typical(_numbers(each)) for each in summed]
        known = [each for each in total if each is not None]
        if known and sum(known) > 0:
            goodput[way] = 1e6 * sum(known)
            flows[way] = len(single) or 1
            loads += [_aligned(each) for each in summed]
    rates: dict[Way, float] = {way: each * PACKET / PAYLOAD for way, each in goodput.items()}
    if len(goodput) == 2:
        rates = _with_acks(goodput)
    trips = [values for key, values in found["results"].items() if str(key).startswith("Ping (ms)")]
    host = str(_of(found.get("metadata"), "HOST") or "")
    floor = _least(_numbers(each) for each in trips)
    loaded = [load >= np.nanquantile(load, 0.95) / 2 for load in loads if not np.isnan(load).all()]
    busy = np.logical_or.reduce(_alike(loaded)) if loaded else np.zeros(0, dtype=bool)
    ping, times = (_aligned(trips[0]) if trips else np.zeros(0)), _aligned(found["x_values"])
    ping, under = _alike([ping, busy])
    ping = ping[under]
    times, under = _alike([times, busy])
    length = float(np.ptp(times[under])) if under.any() else 0.0
    log = Log("Flent", rates, floor, host, flows, goodput, ping[~np.isnan(ping)].tolist(), length)
    return _checked(path, log)


def _crusader(path: Path, data: bytes) -> Log:
    try:
        found = crusader.content(data, MOST_BYTES)
    except ValueError as error:
        raise UsageError(f"cannot read {path.name} as a result of Crusader: {error}") from None
    alone, both, flows, spans = _crusader_loads(found)
    rates: dict[Way, float] = _with_acks(both) if len(both) == 2 else {}
    # While only one direction is loaded, its data does not compete with ACKs of the other direction.
    rates |= {way: each * PACKET / PAYLOAD for way, each in alone.items()}
    # Goodput and delay come from the phase that loads both directions, or else from the first phase with one direction.
    single: Way | None = next(iter(alone), None) if len(both) < 2 else None
    goodput: dict[Way, float] = both if single is None else {single: alone[single]}
    span = spans.get((single or "down", single is None), (0.0, 0.0))
    trips = _aligned([_seconds(_of(_of(ping, "latency"), "total")) for ping in _list(found, "pings")]) * 1e3
    times = _aligned([_seconds(_of(ping, "sent")) for ping in _list(found, "pings")])
    loaded = trips[(times >= span[0]) & (times < span[1]) & ~np.isnan(trips)]
    counts: dict[Way, int] = {way: flows[way, single is None] for way in goodput}
    log = Log("Crusader", rates, _least([trips.tolist()]), "", counts, goodput, loaded.tolist(), span[1] - span[0])
    return _checked(path, log)


def _crusader_loads(
    found: Mapping[str, Any],
) -> tuple[
    dict[Way, float], dict[Way, float], dict[tuple[Way, bool], int], dict[tuple[Way, bool], tuple[float, float]]
]:
    """Returns 4 mappings: goodput in bit/s while only one direction was loaded, goodput while both directions were
    loaded, number of streams, and time span of the load. The keys of the last two are pairs: the direction, and true if
    both directions were loaded.
    """
    loads: dict[bool, dict[Way, float]] = {False: {}, True: {}}
    flows: dict[tuple[Way, bool], int] = {}
    spans: dict[tuple[Way, bool], tuple[float, float]] = {}
    for group in _list(found, "stream_groups"):
        way: Way = "down" if _of(group, "download") else "up"
        is_both = bool(_of(group, "both"))
        streams = [
            (
                _aligned([_seconds(_of(point, "time")) for point in points]),
                _aligned([_of(point, "bytes") for point in points]),
            )
            for stream in _list(group, "streams")
            if len(points := _list(stream, "data")) >= LEAST_SAMPLES
        ]
        if not streams or any(np.isnan(part).any() for stream in streams for part in stream):
            continue
        begin, end = min(times[0] for times, _ in streams), max(times[-1] for times, _ in streams)
        if not 0 < end - begin < LONGEST_S:
            continue
        grid = np.arange(begin, end, STEP_S)
        total = np.sum([np.interp(grid, times, sent) for times, sent in streams], axis=0)
        rates = np.diff(total) * 8 / STEP_S
        rate = _typical(rates.tolist())
        if rate is not None:
            busy = np.flatnonzero(rates >= rate / 2)
            loads[is_both][way] = rate
            flows[way, is_both] = len(streams)
            spans[way, is_both] = (float(grid[busy[0]]), float(grid[busy[-1] + 1]))
    return loads[False], loads[True], flows, spans


def _seconds(duration: Any) -> float:
    return _number(_of(duration, "secs")) + _number(_of(duration, "nanos")) / 1e9


def _list(found: Any, key: str) -> list[Any]:
    values = _of(found, key)
    return values if isinstance(values, list) else []  # pyright: ignore[reportUnknownVariableType]


def _irtt(path: Path, found: Mapping[str, Any]) -> Log:
    trips = [_of(_of(each, "delay"), "rtt") for each in found["round_trips"]]
    config = _of(found, "config")
    host = str(_of(config, "remote_address") or "").rpartition(":")[0].strip("[]")
    floor = _least([_numbers(trips)])
    return _checked(path, Log("irtt", {}, None if floor is None else floor / 1e6, host))


def _cake_autorate(path: Path, text: str) -> Log:
    columns: dict[str, list[str]] = {}
    achieved: dict[Way, list[float]] = {"down": [], "up": []}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(";")]
        kind = cells[0]
        if kind in ("DATA_HEADER", "LOAD_HEADER"):
            columns[kind.removesuffix("_HEADER")] = cells
        elif kind in columns and len(cells) == len(columns[kind]):
            row = dict(zip(columns[kind], cells, strict=True))
            for way, short in _AUTORATE.items():
                rate, shaper = (
                    _number(row.get(name)) for name in (f"{short}_ACHIEVED_RATE_KBPS", f"CAKE_{short}_RATE_KBPS")
                )
                if rate > 0 and shaper > 0 and rate >= BUSY * shaper:
                    achieved[way].append(rate)
    rates: dict[Way, float] = {
        way: 1e3 * float(np.median(each)) for way, each in achieved.items() if len(each) >= LEAST_SAMPLES
    }
    # The RTTs in this log were measured to reflectors, whose paths differ, so they are not used.
    return _checked(path, Log("cake-autorate", rates, None, "", shaped=True))


def _checked(path: Path, log: Log) -> Log:
    if not log.rate_bps and log.floor_ms is None:
        raise UsageError(f"{path.name} is a log of {log.kind} without a loaded direction and without round trips")
    return log


def _with_acks(goodput: Mapping[Way, float]) -> dict[Way, float]:
    """Returns the IP packet rates in bit/s from goodputs that were measured while both directions were loaded."""
    # The ACKs of one direction load the other direction, with one ACK per two packets (RFC 9293, section 3.8.6.3).
    down, up = goodput["down"], goodput["up"]
    return {"down": down * PACKET / PAYLOAD + _acks(up), "up": up * PACKET / PAYLOAD + _acks(down)}


def _acks(goodput_bps: float) -> float:
    return goodput_bps / (2 * PAYLOAD) * ACK


def _of(found: Any, key: str) -> Any:
    return found.get(key) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _number(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def _numbers(values: Any) -> list[float]:
    known = [_number(value) for value in values] if isinstance(values, list) else []  # pyright: ignore[reportUnknownVariableType]
    return [value for value in known if not math.isnan(value)]


def _aligned(values: Any) -> NDArray[np.float64]:
    """Returns the values of a series, with NaN for a missing value."""
    return np.array([_number(value) for value in values] if isinstance(values, list) else [])  # pyright: ignore[reportUnknownVariableType]


def _alike(series: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Cuts all series to the length of the shortest series."""
    length = min(map(len, series))
    return [each[:length] for each in series]


def _typical(values: list[float]) -> float | None:
    """Returns the median of the values while a flow sent data, without slow start and idle time.

    Returns `None` if there are too few samples.
    """
    most = float(np.quantile(values, 0.95)) if len(values) >= LEAST_SAMPLES else 0.0
    busy = [value for value in values if value >= most / 2]
    return float(np.median(busy)) if most > 0 else None


def _least(series: Iterable[list[float]]) -> float | None:
    return min((value for values in series for value in values if value > 0), default=None)
