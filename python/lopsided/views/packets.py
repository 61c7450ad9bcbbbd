"""Shows a packet-by-packet comparison of two runs on a console of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lopsided.data.catalogue import run_tables
from lopsided.data.view import Styled, View, numbers, words

if TYPE_CHECKING:
    from lopsided.studies.packets import AtHost, Divergence, Packets, Scene

_FLAGS = "SYN S, FIN F, RST R, PSH P, ACK ., ECE E, CWR W"


def headline(found: Packets) -> str:
    """Returns one or two sentences about the first difference between the two runs."""
    names = " and ".join(side.name for side in found.sides)
    first, parted = found.first, found.parted
    if first is None or first.first is None:
        return f"{names}: no difference in {_total(found)} packets"
    text = f"First difference: {_place(first.first)}, in {_words(first.first.fields)}. {_share(found, first.first)}"
    if found.chance:
        text += f" {found.chance}"
    if parted is None or parted.parted is None:
        return f"{text} Data and acknowledgements of all packets are the same."
    if parted.parted == first.first:
        return f"{text} The packets diverge at this difference."
    return f"{text}\nThe packets diverge: {_place(parted.parted)}, in {_words(parted.parted.fields)}. " + _share(
        found, parted.parted
    )


def blocks(found: Packets) -> Iterator[str | View]:
    """Yields sentences and tables: the first difference with the packets before it and the state of both ends, the
    first difference of each field, and how the two runs drift apart."""
    yield headline(found)
    yield flows(found)
    if found.first is not None:
        for scene in found.scenes():
            yield context(found, scene)
            yield states(found, scene)
        yield fields(found.first)
        yield drift(found, found.first)


def _total(found: Packets) -> str:
    return f"{max((counts[0] for counts in found.totals.values()), default=0):,}"


def _place(at: Divergence) -> str:
    connection = f", connection {at.connection + 1}" if at.connection else ""
    end = "sender" if at.sender else "receiver"
    return (
        f"{at.flow}{connection} at {at.host}, {at.time_s:.6f} s, {at.since_syn_s:.6f} s after its SYN, "
        f"packet {at.number + 1:,} of its {end}"
    )


def _share(found: Packets, at: Divergence) -> str:
    return f"{at.packets:,} of {found.totals[at.host][0]:,} packets at {at.host} are before this difference."


def _words(fields: tuple[str, ...]) -> str:
    return ", ".join(field.replace("_", " ") for field in fields)


def many(found: Mapping[str, Packets]) -> View:
    """Returns a table with one row per pair of runs. The columns count the packets before the first difference, and
    before the first difference in content."""
    rows: list[list[str]] = []
    for name, one in found.items():
        first, parted = one.first, one.parted
        places = (first.first if first else None), (parted.parted if parted else None)
        told = [(f"{at.packets:,}", f"{at.since_syn_s:.3f}") if at else ("–", "–") for at in places]
        rows.append([name, _total(one), *told[0], *told[1], _words(places[0].fields) if places[0] else "–"])
    return View(
        [*words("run"), *numbers("packets", "differ after", "s", "part after", "s"), *words("first in")], rows, keys=1
    )


def flows(found: Packets) -> View:
    """Returns a table with one row per flow and host: the first packet that differs between the worlds in time or
    content, and the first packet that differs in content."""
    rows = [[one.flow, one.host, f"{one.packets[0]:,}", *_after(one.first), *_after(one.parted)] for one in found.found]
    return View([*words("flow", "at"), *numbers("packets", "differ after", "s", "part after", "s")], rows, keys=2)


def _after(at: Divergence | None) -> tuple[str, str]:
    return (f"{at.packets:,}", f"{at.time_s:.3f}") if at else ("–", "–")


def fields(one: AtHost) -> str:
    """Returns a sentence with the first difference in each header field, up to the point where the packets diverge."""
    pair = one.pair(one.first)
    if pair is None or not pair["fields"]:
        return ""
    told = sorted(pair["fields"].items(), key=lambda item: item[1]["at_ns"])
    parts = [f"{name.replace('_', ' ')} after {at['packets']:,} ({at['at_ns'] / 1e9:.3f} s)" for name, at in told]
    return "First difference of each field in this connection: " + ", ".join(parts)


def context(found: Packets, scene: Scene) -> View:
    """Returns the packets around a difference: first the packets that are equal in both runs, then the different
    packets of each run."""
    names = [side.name for side in found.sides]
    rows: list[Sequence[str]] = []
    for row in scene.context:
        if not row["differ"]:
            rows.append(["both", *_cells(row["one"], scene.at.sends)])
            continue
        for name, packet in zip(names, (row["one"], row["other"]), strict=True):
            cells = ["none", *[""] * 7] if packet is None else _cells(packet, scene.at.sends)
            rows.append([Styled(cell, "bold") for cell in (name, *cells)])
    for name, then in zip(names, scene.then, strict=True):
        for number, packet in enumerate(then):
            which = f"{name}, then" if number == 0 else ""
            rows.append([Styled(cell, "dim") for cell in (which, *_cells(packet, scene.at.sends))])
    headings = [
        *words(""),
        *numbers("s after SYN"),
        *words(""),
        *numbers("seq", "len", "ack"),
        *words("flags"),
        *numbers("win"),
        *words(""),
    ]
    return View(headings, rows, keys=3, caption=f"at {scene.at.host}: → sent, ← received; {_FLAGS}")


def _cells(packet: dict[str, Any], opener_is_here: bool) -> list[str]:
    leaves = (packet["from"] == "opener") == opener_is_here
    more = [f"sack {start}-{end}" for start, end in packet["sack"]]
    if packet["ecn"]:
        more.append(packet["ecn"])
    if "S" in packet["flags"]:
        mss, scale, sack = packet["syn_options"]
        more += [f"mss {mss}", f"wscale {scale}", *(["sackOK"] if sack else [])]
    return [
        f"{packet['at_ns'] / 1e9:.6f}",
        "→" if leaves else "←",
        str(packet["seq"]),
        str(packet["len"]),
        "" if packet["ack"] is None else str(packet["ack"]),
        packet["flags"],
        str(packet["window"]),
        " ".join(more),
    ]


_STATES = (
    *("time_s", "state", "cwnd_bytes", "ssthresh_bytes", "in_flight_bytes", "srtt_ms", "rto_ms", "snd_wnd_bytes"),
    *("rcv_space_bytes", "delivered_bytes", "retransmits"),
)


def states(found: Packets, scene: Scene) -> View:
    """Returns a table with the state of both ends before a difference: the bytes sent and acknowledged so far, and the
    values of the last sample before it."""
    rows: list[Sequence[str]] = []
    for end, what in (("opener", "sender"), ("answerer", "receiver")):
        cells = [f"{sent:,} / {acked:,}" for sent, acked in (one[end] for one in scene.standing)]
        rows.append([f"octets sent / acknowledged, {what}", *cells])
    for column in map(run_tables()["samples"].__getitem__, _STATES):
        values = [scene.states[side.name].get(column.name) for side in found.sides]
        if any(value is not None for value in values):
            rows.append([column.heading, *map(column.text, values)])
    return View([*words("before it"), *numbers(*(side.name for side in found.sides))], rows)


def drift(found: Packets, one: AtHost) -> View:
    """Returns a table that divides the connection with the first difference into periods of equal length.

    Each row compares the two runs: number of packets, packets that both runs contain, packets with equal times, delay
    of the second run's packets, and number of bytes by which the second run is ahead.
    """
    pair = one.pair(one.first)
    assert pair is not None
    rows: list[Sequence[str]] = []
    for part in pair["drift"]:
        count, other = part["packets"]
        later = part["later_ns"]
        ahead = part["position"][1][0] - part["position"][0][0]
        row = (
            f"{part['from_ns'] / 1e9:.1f} to {part['until_ns'] / 1e9:.1f}",
            f"{count:,}",
            f"{other:,}",
            _percent(part["matched"], count),
            _percent(part["in_time"], count),
            "–" if later is None else f"{later[1] / 1e6:+.3f} ms",
            f"{ahead:+,} B",
        )
        rows.append(row)
    names = [side.name for side in found.sides]
    said = f"{one.flow} at {one.host}: packets of {names[0]} and {names[1]}; delay of {names[1]}, and its lead"
    return View(
        [*words("s after SYN"), *numbers("packets", "", "found again", "in time", "later by", "ahead by")],
        rows,
        caption=said,
    )


def _percent(part: int, whole: int) -> str:
    return "–" if not whole else f"{100 * part / whole:.1f} %"
