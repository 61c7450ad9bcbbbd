"""The structure of QUIC's qlog files: draft-ietf-quic-qlog-main-schema-14 and draft-ietf-quic-qlog-quic-events-14.

This module contains only the events and frames that lopsided writes. Any other field is a fault, because the drafts
allow no additional fields, except in events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Check = Callable[[Any], bool]
Fields = Mapping[str, Check]


def _uint(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _hex(value: Any) -> bool:
    return isinstance(value, str) and len(value) % 2 == 0 and set(value) <= set("0123456789abcdef")


def _bool(value: Any) -> bool:
    return isinstance(value, bool)


def _one_of(*words: str) -> Check:
    return lambda value: value in words


def _map(required: Fields, optional: Fields) -> Check:
    return lambda value: isinstance(value, dict) and not list(_of_map(value, required, optional))


def _of_map(value: Mapping[str, Any], required: Fields, optional: Fields) -> Iterator[str]:
    yield from (f"no {name}" for name in required if name not in value)
    for name, found in value.items():
        check = required.get(name) or optional.get(name)
        if check is None:
            yield f"{name} is not a field"
        elif not check(found):
            yield f"{name} is {found!r}"


def _range(value: Any) -> bool:
    return isinstance(value, list) and len(value) in (1, 2) and all(map(_uint, value)) and value == sorted(value)


def _ranges(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_range, value))


_RAW = _map({}, {"length": _uint, "payload_length": _uint, "data": _hex})
_STREAM_TYPE = _one_of("unidirectional", "bidirectional")
_ERROR = {"error": _one_of("unknown"), "error_code": _uint}

FRAMES: Mapping[str, tuple[Fields, Fields]] = {
    "padding": ({}, {}),
    "ping": ({}, {}),
    "ack": ({}, {"ack_delay": _number, "acked_ranges": _ranges, "ect0": _uint, "ect1": _uint, "ce": _uint}),
    "reset_stream": ({"stream_id": _uint, "final_size": _uint, **_ERROR}, {}),
    "stop_sending": ({"stream_id": _uint, **_ERROR}, {}),
    "crypto": ({"offset": _uint, "raw": _RAW}, {}),
    "new_token": ({"token": _map({}, {"raw": _RAW})}, {}),
    "stream": ({"stream_id": _uint}, {"offset": _uint, "fin": _bool}),
    "max_data": ({"maximum": _uint}, {}),
    "max_stream_data": ({"stream_id": _uint, "maximum": _uint}, {}),
    "max_streams": ({"stream_type": _STREAM_TYPE, "maximum": _uint}, {}),
    "data_blocked": ({"limit": _uint}, {}),
    "stream_data_blocked": ({"stream_id": _uint, "limit": _uint}, {}),
    "streams_blocked": ({"stream_type": _STREAM_TYPE, "limit": _uint}, {}),
    "new_connection_id": ({"sequence_number": _uint, "retire_prior_to": _uint, "connection_id": _hex}, {}),
    "retire_connection_id": ({"sequence_number": _uint}, {}),
    "path_challenge": ({}, {"data": _hex}),
    "path_response": ({}, {"data": _hex}),
    "connection_close": ({}, {"error_space": _one_of("transport", "application"), **_ERROR}),
    "handshake_done": ({}, {}),
    # These frames are defined in draft-ietf-quic-ack-frequency, which extends draft-ietf-quic-qlog-quic-events.
    "ack_frequency": (
        {"ack_eliciting_threshold": _uint, "request_max_ack_delay_us": _uint, "reordering_threshold": _uint},
        {},
    ),
    "immediate_ack": ({}, {}),
}


def _frame(value: Any) -> bool:
    required, optional = FRAMES.get(value["frame_type"], ({"listed": _bool}, {}))
    return not list(_of_map(value, {"frame_type": _text, **required}, {"raw": _RAW, **optional}))


def _frames(value: Any) -> bool:
    return isinstance(value, list) and all(map(_frame, value))


_NUMBERED = ("initial", "handshake", "0RTT", "1RTT")


def _header(value: Any) -> bool:
    fields = {"packet_type": _one_of(*_NUMBERED, "retry", "version_negotiation", "stateless_reset", "unknown")}
    numbers = {"packet_number": _uint, "packet_number_length": _uint} if value["packet_type"] in _NUMBERED else {}
    return not list(_of_map(value, fields, numbers))


_PACKET = ({"header": _header}, {"frames": _frames, "raw": _RAW})
_STATES = _one_of("attempted", "handshake_started", "handshake_complete", "handshake_confirmed", "closed")
_REASONS = _one_of(
    "scheduling",
    "pacing",
    "amplification_protection",
    "congestion_control",
    "connection_flow_control",
    "stream_flow_control",
    "stream_id",
    "application",
)

EVENTS: Mapping[str, tuple[Fields, Fields]] = {
    "quic:packet_sent": _PACKET,
    "quic:packet_received": _PACKET,
    "quic:connection_state_updated": ({"new": _STATES}, {"old": _STATES}),
    "quic:congestion_state_updated": ({"new": _text}, {"old": _text, "trigger": _text}),
    "quic:recovery_metrics_updated": ({}, {"congestion_window": _uint, "bytes_in_flight": _uint, "ssthresh": _uint}),
    "quic:connection_data_blocked_updated": (
        {"new": _one_of("blocked", "unblocked")},
        {"old": _one_of("blocked", "unblocked"), "reason": _REASONS},
    ),
}

_HEAD = _map(
    {
        "file_schema": _one_of("urn:ietf:params:qlog:file:sequential"),
        "serialization_format": _one_of("application/qlog+json-seq"),
        "trace": _map(
            {"event_schemas": lambda value: value == ["urn:ietf:params:qlog:events:quic-14"]},
            {
                "common_fields": _map(
                    {},
                    {
                        "time_format": _one_of("relative_to_epoch"),
                        "reference_time": _map({"clock_type": _one_of("monotonic"), "epoch": _one_of("unknown")}, {}),
                    },
                ),
                "vantage_point": _map({"type": _one_of("client", "server")}, {}),
            },
        ),
    },
    {"title": _text},
)


def faults(head: Any, events: list[Any]) -> list[str]:
    """Returns the differences between the records of a file and the structure that the drafts define."""
    found = [] if _HEAD(head) else [f"head {head}"]
    last_ms = 0.0
    for number, event in enumerate(events):
        if set(event) != {"time", "name", "data"} or not _number(event["time"]) or event["name"] not in EVENTS:
            found.append(f"event {number}: {event}")
            continue
        if event["time"] < last_ms:
            found.append(f"event {number}: time goes back to {event['time']} ms")
        last_ms = event["time"]
        found += [
            f"event {number}, {event['name']}: {fault}" for fault in _of_map(event["data"], *EVENTS[event["name"]])
        ]
    return found
