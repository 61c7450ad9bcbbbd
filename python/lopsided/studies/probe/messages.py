"""Reads and validates the messages of both ends: the request for a flow, and the report on the flows.

Each message is one line of JSON. The other end may be any program, so the size of each message and the time for
receiving it are limited.
"""

from __future__ import annotations

import json
import time
from dataclasses import fields
from typing import Any, cast

from lopsided.studies.probe.flows import LONGEST_S, Flow, Log, Sample
from lopsided.studies.probe.transfer import MOST_SAMPLES
from lopsided.studies.probe.ways import PATIENCE_S, Connection

_LONGEST_LINE, _LONGEST_NAME = 4096, 64
_SHORTEST_INTERVAL_S = 0.001
_MOST_ROWS = 2 * MOST_SAMPLES + 1
"""Maximum number of samples in a report: one per write up to `MOST_SAMPLES`, and then as many at the interval."""
_REPORT_BYTES = _MOST_ROWS * 512
"""Maximum size of a flow's report, in bytes."""
_REPORT_S = 120.0


def printable(text: str) -> str:
    """Returns the first 200 characters of a peer's text. A question mark replaces each character that is not printable,
    such as a terminal escape."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:200])


def word(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise ValueError(f"the {what} is not text of at most {_LONGEST_NAME} characters")
    return value


def _number(value: object, what: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"the {what} is not between {least:g} and {most:g}")
    return value


def wished(value: object) -> Flow:
    """Parses and validates a client's request for a flow. Raises `ValueError` if the request is invalid."""
    if not isinstance(value, dict):
        raise ValueError("the request has no flow")
    wish = cast("dict[str, object]", value)
    direction = word(wish.get("direction"), "direction")
    if direction not in ("down", "up"):
        raise ValueError("the direction of a flow must be down or up")
    cc = wish.get("cc")
    return Flow(
        name=word(wish.get("name"), "name"),
        direction=direction,
        start_s=_number(wish.get("start_s", 0), "start", 0, LONGEST_S),
        duration_s=_number(wish.get("duration_s"), "duration", 1e-3, LONGEST_S),
        size=int(_number(wish.get("size", 0), "size", 0, 2**50)),
        cc=None if cc is None else word(cc, "congestion control"),
    )


def interval(value: object, flow: Flow) -> float:
    """Returns the requested sampling interval in seconds, or a longer interval if the flow would have more than
    `MOST_SAMPLES` samples."""
    return max(_number(value, "interval", _SHORTEST_INTERVAL_S, LONGEST_S), flow.duration_s / MOST_SAMPLES)


def as_table(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a table")
    return cast("dict[str, object]", value)


def fill_in(log: Log, report: dict[str, object]) -> None:
    """Validates the sink's report on a flow, and adds it to the flow's log. Raises `ValueError` if the report is not
    valid.
    """
    if log.flow.direction == "up":
        log.received = int(_number(report.get("received"), "count of bytes", 0, 2**60))
        log.seconds = _number(report.get("seconds"), "time", 0, 2 * LONGEST_S)
        return
    samples = report.get("samples")
    if not isinstance(samples, list) or len(cast("list[object]", samples)) > _MOST_ROWS:
        raise ValueError("the samples are not a list, or too many")
    names = {each.name for each in fields(Sample)}
    # Older sinks do not send these fields.
    needed = names - {"state", "in_flight_bytes"}
    log.samples = []
    for each in cast("list[object]", samples):
        sample = as_table(each, "a sample")
        if not needed <= set(sample) <= names:
            raise ValueError(f"a sample does not have the fields {', '.join(sorted(names))}")
        log.samples.append(Sample(**{name: cast("Any", _sampled(value)) for name, value in sample.items()}))


def _sampled(value: object) -> object:
    if value is None or isinstance(value, str):
        return None if value is None else word(value, "word of a sample")
    if isinstance(value, bool):
        return value
    return _number(value, "number of a sample", -(2.0**63), 2.0**64)


def send_all(connection: Connection, octets: bytes) -> None:
    until = time.monotonic() + PATIENCE_S
    while octets:
        octets = octets[connection.send(octets, max(1e-3, until - time.monotonic())) :]


def read_line(connection: Connection) -> dict[str, Any]:
    """Reads a request. The request is read byte by byte, because the flow's data may follow its line.

    Raises ValueError if the line is too long, incomplete or not a JSON object.
    """
    line, until = b"", time.monotonic() + PATIENCE_S
    while not line.endswith(b"\n"):
        octet = connection.recv(1, max(1e-3, until - time.monotonic()))
        if not octet or len(line) == _LONGEST_LINE or time.monotonic() > until:
            raise ValueError("no request was received")
        line += octet
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("the request is not a JSON object")
    return cast("dict[str, Any]", found)


def read_report(connection: Connection, flows: int) -> bytes:
    """Reads the sink's report on `flows` flows. Raises OSError if the report is larger than a valid report, or takes
    longer than `_REPORT_S` seconds."""
    most = _REPORT_BYTES * (1 + flows)
    until = time.monotonic() + _REPORT_S
    found = bytearray()
    while octets := connection.recv(1 << 16, PATIENCE_S):
        found += octets
        if len(found) > most or time.monotonic() > until:
            raise OSError("the peer's answer is too long: it is not a `lopsided probe sink`")
    return bytes(found)
