"""Parses the names of queue disciplines and assigns the disciplines to links."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from lopsided import _native
from lopsided.data.suggestions import choices
from lopsided.errors import UsageError
from lopsided.settings import dotted_key, setting_text

if TYPE_CHECKING:
    from lopsided.scenario import Scenario

Direction = Literal["down", "up"]

_DEEP_FIFO = '{ kind = "fifo", limit = "1000 packets" }'
"""The queue for the name `fifo` if the scenario has no FIFO. Its limit is Linux's default."""

_OTHER_NAMES = {"docsis_pie": "docsis-pie", "fq-codel": "fq_codel", "fq-pie": "fq_pie", "tail-drop": "fifo"}


@dataclass(frozen=True)
class Discipline:
    """A discipline to compare: its label, and the queue as TOML. An empty `queue` keeps the scenario's queue."""

    label: str
    queue: str
    up: str | None = None
    """The uplink's queue, if it differs from the downlink's."""

    def placed(self, scenario: Scenario, places: Sequence[tuple[str, Direction]], *, ecn: bool) -> Scenario:
        """Returns the scenario with this discipline as the queue of each given link and direction.

        `fifo` keeps the limit of an existing FIFO. With `ecn`, each discipline that supports ECN marks packets instead
        of dropping them.
        """
        queues = {place: self._queue_at(scenario, *place) for place in places}
        placed = scenario.with_(**{_key(*place): queue for place, queue in queues.items() if queue})
        marking = [place for place in places if ecn and queue_of(placed, *place).get("ecn") is False]
        return placed.with_(**{f"{_key(*place)}.ecn": "true" for place in marking})

    def _queue_at(self, scenario: Scenario, link: str, direction: Direction) -> str:
        queue = self.queue if self.up is None or direction == "down" else self.up
        if queue != "fifo":
            return queue
        return "" if queue_of(scenario, link, direction)["kind"] == "fifo" else _DEEP_FIFO


def _key(link: str, direction: Direction) -> str:
    return dotted_key("topology", "link", link, direction, "queue")


def queue_of(scenario: Scenario, link: str, direction: Direction) -> Mapping[str, Any]:
    """Returns the resolved queue of one direction of a link."""
    found = next(each for each in scenario.resolved["links"] if each["name"] == link)
    return cast("Mapping[str, Any]", found[direction]["queue"])


def known() -> tuple[str, ...]:
    """Returns the names of all disciplines, including user-defined ones."""
    schema: dict[str, Any] = json.loads(_native.schema())
    return tuple(schema["$defs"]["queue"]["properties"]["kind"]["enum"])


Queues: TypeAlias = "str | Sequence[str | Mapping[str, Any] | Discipline]"
"""Disciplines to compare: a string such as `fifo,codel`, or a list of strings, tables and `Discipline` objects."""


def disciplines(queues: Queues) -> tuple[Discipline, ...]:
    """Parses a string such as `fifo,codel,{ kind = "codel", target = "10 ms" }`, or a list of disciplines.

    The name `file` stands for the scenario's own queue. A table may have a `label`. Raises UsageError if the list is
    empty or has duplicates.
    """
    parts = _split(queues) if isinstance(queues, str) else list(queues)
    if not parts:
        raise UsageError("name at least one queue discipline")
    found: dict[str, Discipline] = {}
    for part in parts:
        each = _discipline(part)
        if each.label in found:
            raise UsageError(f"{each.label!r} is named twice: give the tables a label")
        found[each.label] = each
    return tuple(found.values())


def _discipline(part: str | Mapping[str, Any] | Discipline) -> Discipline:
    if isinstance(part, Discipline):
        return part
    if isinstance(part, str) and not part.lstrip().startswith("{"):
        name = part.strip()
        name = _OTHER_NAMES.get(name, name)
        if name == "file":
            return Discipline("file", "")
        if name not in known():
            raise UsageError(f"no queue discipline is called {name!r}; {choices(name, known(), ', and `file`')}")
        return Discipline(name, name)
    table = dict(_table(part) if isinstance(part, str) else part)
    label = table.pop("label", None)
    kind = str(table.get("kind", "fifo"))
    settings = " ".join(f"{key}={value}" for key, value in table.items() if key != "kind")
    return Discipline(str(label or f"{kind} {settings}".strip()), setting_text(table))


def _table(text: str) -> Mapping[str, Any]:
    try:
        return cast("Mapping[str, Any]", tomllib.loads(f"queue = {text.strip()}")["queue"])
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{text.strip()} is not a TOML table: {error}") from None


def _split(text: str) -> list[str]:
    """Splits the text at commas outside of tables and lists."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[") - (character in "}]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]
