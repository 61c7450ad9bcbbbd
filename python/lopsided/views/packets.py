"""Two runs aligned packet by packet, for a console of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lopsided.data import units
from lopsided.views.console import plain_table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from lopsided.studies.packets import AtHost, Divergence, Packets, Scene

_FLAGS = "SYN S, FIN F, RST R, PSH P, ACK ., ECE E, CWR W"


def headline(found: Packets) -> str:
    """Where the two runs first differ, in a sentence or two."""
    names = " and ".join(side.name for side in found.sides)
    first, parted = found.first, found.parted
    if first is None or first.first is None:
        return f"{names}: no difference in {_total(found)} packets"
    text = f"First difference: {_place(first.first)}, in {_words(first.first.fields)}. {_share(found, first.first)}"
    if parted is None or parted.parted is None:
        return f"{text} All packets are the same ones to the end."
    if parted.parted == first.first:
        return f"{text} There the packets part."
    return f"{text}\nThe packets part: {_place(parted.parted)}, in {_words(parted.parted.fields)}. " + _share(
        found, parted.parted
    )


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
    return f"{at.packets:,} of {found.totals[at.host][0]:,} packets at {at.host} are before it."


def _words(fields: tuple[str, ...]) -> str:
    return ", ".join(field.replace("_", " ") for field in fields)


def flows(found: Packets) -> RichTable:
    """For each flow at each of its hosts, when the two runs first differ and when their packets part."""
    table = plain_table("flow", "at", "packets", "differ after", "s", "part after", "s", left=2)
    for one in found.found:
        table.add_row(one.flow, one.host, f"{one.packets[0]:,}", *_after(one.first), *_after(one.parted))
    return table


def _after(at: Divergence | None) -> tuple[str, str]:
    return (f"{at.packets:,}", f"{at.time_s:.3f}") if at else ("–", "–")


def fields(one: AtHost) -> str:
    """The first difference in each field up to where the packets part."""
    pair = one.pair(one.first)
    if pair is None or not pair["fields"]:
        return ""
    told = sorted(pair["fields"].items(), key=lambda item: item[1]["at_ns"])
    parts = [f"{name.replace('_', ' ')} after {at['packets']:,} ({at['at_ns'] / 1e9:.3f} s)" for name, at in told]
    return "First difference of each field in this connection: " + ", ".join(parts)


def context(found: Packets, scene: Scene) -> RichTable:
    """The packets before a difference, once where both runs have the same one, and from there on by run."""
    names = [side.name for side in found.sides]
    table = plain_table("", "s after SYN", "", "seq", "len", "ack", "flags", "win", "", left=1)
    table.columns[2].justify = table.columns[6].justify = table.columns[8].justify = "left"
    table.columns[8].no_wrap = False
    for row in scene.context:
        if not row["differ"]:
            table.add_row("both", *_cells(row["one"], scene.at.sends))
            continue
        for name, packet in zip(names, (row["one"], row["other"]), strict=True):
            cells = ["none", *[""] * 7] if packet is None else _cells(packet, scene.at.sends)
            table.add_row(name, *cells, style="bold")
    for name, then in zip(names, scene.then, strict=True):
        for number, packet in enumerate(then):
            table.add_row(f"{name}, then" if number == 0 else "", *_cells(packet, scene.at.sends), style="dim")
    table.caption = f"at {scene.at.host}: → leaves it, ← comes to it; {_FLAGS}"
    return table


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
    ("time_s", "sampled at", lambda value: f"{value:.3f} s"),
    ("state", "state", str),
    ("cwnd_bytes", "cwnd", units.size),
    ("ssthresh_bytes", "ssthresh", units.size),
    ("in_flight_bytes", "in flight", units.size),
    ("srtt_ms", "smoothed RTT", units.millis),
    ("rto_ms", "RTO", units.millis),
    ("snd_wnd_bytes", "window offered", units.size),
    ("rcv_space_bytes", "receiver's space", units.size),
    ("delivered_bytes", "delivered", units.size),
    ("retransmits", "sent again", str),
)


def states(found: Packets, scene: Scene) -> RichTable:
    """Both ends' state before a difference: of the capture at that instant, and of the last sample."""
    table = plain_table("before it", *(side.name for side in found.sides), left=1)
    for end, what in (("opener", "sender"), ("answerer", "receiver")):
        cells = [f"{sent:,} / {acked:,}" for sent, acked in (one[end] for one in scene.standing)]
        table.add_row(f"octets sent / acknowledged, {what}", *cells)
    for key, what, write in _STATES:
        values = [scene.states[side.name].get(key) for side in found.sides]
        if any(value is not None for value in values):
            table.add_row(what, *("–" if value is None else write(value) for value in values))  # type: ignore[no-untyped-call]
    return table


def drift(found: Packets, one: AtHost) -> RichTable:
    """What becomes of the flow: how many packets are found again, how many in time, and who is ahead by how much."""
    pair = one.pair(one.first)
    assert pair is not None
    table = plain_table("s after SYN", "packets", "", "found again", "in time", "later by", "ahead by", left=1)
    for part in pair["drift"]:
        count, other = part["packets"]
        later = part["later_ns"]
        ahead = part["position"][1][0] - part["position"][0][0]
        table.add_row(
            f"{part['from_ns'] / 1e9:.1f} to {part['until_ns'] / 1e9:.1f}",
            f"{count:,}",
            f"{other:,}",
            _percent(part["matched"], count),
            _percent(part["in_time"], count),
            "–" if later is None else f"{later[1] / 1e6:+.3f} ms",
            f"{ahead:+,} B",
        )
    names = [side.name for side in found.sides]
    table.caption = (
        f"{one.flow} at {one.host}: packets of {names[0]} and {names[1]}; by how much {names[1]} is later, ahead"
    )
    return table


def _percent(part: int, whole: int) -> str:
    return "–" if not whole else f"{100 * part / whole:.1f} %"
