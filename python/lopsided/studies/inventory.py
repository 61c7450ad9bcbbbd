"""Lists all names that a scenario or a command accepts, with descriptions.

Most names come from the JSON Schema of the native module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from lopsided import _native
from lopsided.data import examples
from lopsided.data.suggestions import choices
from lopsided.errors import UsageError


@dataclass(frozen=True)
class Entry:
    """An accepted name with its description. The description also states the source, such as a paper, if there is
    one."""

    name: str
    text: str = ""


ACK_POLICIES: Mapping[str, str] = {
    "delayed": "Every second full segment, or after a timeout (RFC 5681 section 4.2).",
    "immediate": "Every segment.",
    "linux": "As Linux: quick ACKs at the start, then every second segment or after 40 to 200 ms.",
    "acc": "ACK congestion control: fewer ACKs if ACKs are marked, more after each RTT without a mark "
    "(balakrishnan1999).",
    "acc_peerwin": "The fewest ACKs that the sender's window, sent in an option, allows (balakrishnan1999, 8.2).",
    "rfc5690": "The sender doubles the segments for each ACK if ACKs are lost or marked (AckCC, RFC 5690); both ends.",
    "tarr": "The sender requests segments for each ACK by an option (draft-ietf-tcpm-ack-rate-request); both ends.",
    "ace": "An ACK for a fraction of the segments of a round trip, at most max_delack (ACE, Ming-Chit 2000).",
    "growing": "Each ACK covers one segment more than the last, up to max_delack (Altman and Jimenez 2003).",
    "tack": "Four ACKs per round trip (after TACK, Li et al. 2020).",
}
"""The receivers' ACK policies: name and description."""


@dataclass(frozen=True)
class Group:
    """All names of one kind. `use` shows the option or key that accepts the names."""

    name: str
    text: str
    use: str
    entries: tuple[Entry, ...]


def check_preset(name: str) -> None:
    """Raises UsageError if no access line has this name."""
    known = [known for known, *_ in _native.presets()]
    if name not in known:
        raise UsageError(f"no preset is called {name!r}; {choices(name, known, likeness=0.4)}")


def groups() -> list[Group]:
    """Returns all groups of names except the papers, because this module must not import the package of the papers."""
    found = [
        Group(
            "controls",
            "congestion controls",
            "--set stack.cc=NAME",
            tuple(Entry(name, text) for name, text in _native.CONGESTION_CONTROL_TEXTS),
        ),
        Group("stacks", "TCP behaviour of real stacks", "--set stack.profile=NAME", _words("stack", "profile")),
        Group(
            "ack-policies",
            "when a receiver acknowledges",
            "--set stack.ack_policy=NAME",
            tuple(Entry(each.name, ACK_POLICIES.get(each.name, each.text)) for each in _words("stack", "ack_policy")),
        ),
        Group("queues", "queue disciplines", "--set link.up.queue.kind=NAME", _words("queue", "kind")),
        Group("stages", "packet processing next to a queue", 'stages = [{ kind = "NAME" }]', _words("stage", "kind")),
        Group("media", "channels that stations share", '[[topology.medium]] kind = "NAME"', _words("medium", "kind")),
        Group("apps", "applications of flows", 'app = { kind = "NAME" }', _words("app", "kind")),
        Group(
            "examples",
            "example scenarios",
            "lopsided new --example NAME",
            tuple(Entry(name, examples.title(name)) for name in examples.names()),
        ),
        Group(
            "presets",
            "typical access lines",
            "--set link.preset=NAME",
            tuple(Entry(name, f"{title}. {source}") for name, title, source, _ in _native.presets()),
        ),
        Group("workloads", "standard traffic mixes", "lopsided aqm FILE --workload NAME", tuple(_workloads())),
    ]
    return [each for each in found if each.entries]


def _words(table: str, key: str) -> tuple[Entry, ...]:
    """Returns the values that the scenario schema allows for a key of a table, with their descriptions."""
    tables = cast("Mapping[str, Any]", json.loads(_native.schema())["$defs"])
    found = cast("Mapping[str, Any]", tables.get(table, {}).get("properties", {}).get(key, {}))
    words = cast("list[str]", found.get("enum", []))
    texts = cast("list[str]", found.get("enumDescriptions", [""] * len(words)))
    return tuple(Entry(word, text) for word, text in zip(words, texts, strict=True))


def _workloads() -> Iterable[Entry]:
    from lopsided.studies.aqm.workloads import WORKLOADS

    return (Entry(name, load.text) for name, load in WORKLOADS.items())
