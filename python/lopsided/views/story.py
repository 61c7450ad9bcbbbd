"""Describes the events of a flow on a console, for `lopsided explain`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text

from lopsided.data import units
from lopsided.data.view import View, numbers, words

if TYPE_CHECKING:
    from lopsided.studies.explain import Connection, Episode, Story

_MOST_ROWS = 15


def summary(story: Story) -> str:
    """Returns a paragraph that summarises the losses, retransmissions and window reductions of the flow."""
    real = [one for one in story.episodes if not one.harmless]
    harmless = len(story.episodes) - len(real)
    lost: Counter[str] = sum((one.lost for one in real), Counter[str]())
    signals = Counter(signal for one in real for signal, _, _ in one.reductions)
    timeouts = sum("loss" in one.states for one in real)
    undone = Counter(one.undone for one in real if one.undone)
    retransmitted = sum(one.retransmitted for one in real)
    span = f"Between {units.seconds(story.begin_s)} and {units.seconds(story.end_s)}"
    many = len(story.connections)
    whose = f"{story.flow} " + (f"(over {many} connections) " if many > 1 else "")
    left = f"left the open state {_times(len(real))} for a loss or a mark" if real else "saw no loss and no ECN mark"
    text = [f"{span} {whose}{left}" + (_aside(harmless) if real else _only(harmless))]
    if lost:
        text.append(f"Marked lost: {_listed(lost, 'segment')}")
    if retransmitted:
        probes = sum(one.probes for one in real)
        text.append(f"Retransmitted: {_number(retransmitted, 'segment')}" + (f", {probes} as probes" if probes else ""))
    if any(signals):
        text.append(f"The window was reduced {_by(signals)}")
    if timeouts:
        text.append(f"The retransmission timeout expired {_times(timeouts)}")
    if undone:
        text.append(f"Undone: {_by(undone)}")
    if story.run is None:
        seen = "the capture at its sender and " if story.captured is not None else ""
        text.append(f"From {seen}samples of TCP_INFO" + ("" if seen else "; for an upload, --capture shows more"))
    elif story.captured is not None:
        text.append("From the captures at its hosts and samples of TCP_INFO")
    elif not story.events:
        text.append("Reasons are unknown: this run has only samples of TCP_INFO; run it with --pcap hosts")
    return ". ".join(text) + "."


def _only(harmless: int) -> str:
    return f"; it left the open state {_times(harmless)} because of reordering or duplicates" if harmless else ""


def _aside(harmless: int) -> str:
    if not harmless:
        return ""
    return f", and {_times(harmless)} because of reordering or duplicates without a loss"


def limits(story: Story) -> View | None:
    """Returns a table of the limits that slowed the sender, with their durations; `None` if they are unknown."""
    held = story.limited_s
    if not held:
        return None
    total = sum(held.values())
    rows = [[limit, units.seconds(seconds), units.percent(seconds / total)] for limit, seconds in held.items()]
    return View([*words("the sender was limited by"), *numbers("for", "share")], rows, keys=1)


def acknowledgements(story: Story) -> View | None:
    """Returns a table of the reasons why the receiver sent pure ACKs; `None` if they are unknown."""
    acks: Counter[str] = sum((one.acks for one in story.connections), Counter[str]())
    if not acks:
        return None
    total = sum(acks.values())
    rows = [[reason, f"{number:,}", units.percent(number / total)] for reason, number in acks.most_common()]
    return View(
        [*words("the receiver acknowledged because of"), *numbers("ACKs", "share")],
        rows,
        keys=1,
    )


def timeline(story: Story, *, everything: bool = False) -> Group:
    """Returns the events in order of time, one entry per episode. `everything` includes harmless episodes and removes
    the limit of `_MOST_ROWS` entries."""
    told = moments(story, everything=everything)
    most = len(told) if everything else _MOST_ROWS
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        grid.add_column(justify="right", no_wrap=True)
    grid.add_column()
    for at, port, what in told[:most]:
        grid.add_row(Text(f"{at:.3f} s", style="dim"), Text(port, style="dim"), Text(what))
    left = f"and {len(told) - most:,} more: use --all, or a shorter period (--from, --to)" if len(told) > most else ""
    return Group(grid, Text(left, style="dim italic")) if left else Group(grid)


def moments(story: Story, *, everything: bool = False) -> list[tuple[float, str, str]]:
    """Returns time, port and description of each event. The port is empty if there is only one connection."""
    told: list[tuple[float, str, str]] = []
    for one in story.connections:
        port = f"port {one.port}" if len(story.connections) > 1 else ""
        told += [(episode.begin_s, port, in_words(episode)) for episode in _worth_telling(one, everything)]
        told += [(moment.time_s, port, moment.what) for moment in one.moments]
    return sorted(told)


def _worth_telling(one: Connection, everything: bool) -> list[Episode]:
    return [episode for episode in one.episodes if everything or not episode.harmless]


def in_words(episode: Episode) -> str:
    parts = [f"{' → '.join(episode.states)}" + (f" ({episode.cause})" if episode.cause else "")]
    if episode.lost:
        parts.append(f"lost: {_listed(episode.lost, 'segment')}")
    for signal, before, after in episode.reductions:
        change = f"{units.size(before)} to {units.size(after)}"
        parts.append(f"window {change}" + (f" for {signal}" if signal else ""))
    timers = {
        timer: number for timer, number in episode.timers.items() if timer in ("retransmission", "tail loss probe")
    }
    parts += [f"{timer} timer {_times(number)}" for timer, number in timers.items()]
    if episode.retransmitted:
        parts.append(f"{_number(episode.retransmitted, 'segment')} retransmitted")
    if episode.undone:
        parts.append(f"undone by {episode.undone}")
    lasted = units.millis((episode.end_s - episode.begin_s) * 1e3)
    parts.append(f"{lasted}, until {episode.end}" if episode.end else lasted)
    return "; ".join(parts)


def _listed(counts: Counter[str], what: str) -> str:
    return ", ".join(f"{_number(number, what)} by {rule}" for rule, number in counts.most_common())


def _by(counts: Counter[str]) -> str:
    return ", ".join(f"{_times(number)} by {reason}" for reason, number in counts.most_common() if reason)


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
