"""Estimates starting values for the line's parameters, from the metrics of `lopsided analyze`."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lopsided.data import units
from lopsided.errors import UsageError
from lopsided.studies.analyze import Capture
from lopsided.studies.fit.cross import pieces
from lopsided.studies.fit.line import (
    ACK,
    AQMS,
    BUSY_MS,
    CONTROLS,
    PACKET,
    QUEUES,
    WAYS,
    Direction,
    Draft,
    Observed,
    Piece,
    Structure,
    Traffic,
    Way,
)
from lopsided.studies.fit.logs import Log
from lopsided.studies.fit.statistics import Flow, flows

MOST_FLOWS = 12
"""Maximum number of flows in the fitted scenario. The flows with the least data are omitted."""
LEAST_SHARE = 0.02
"""A flow is fitted only if it carried at least this fraction of the largest flow's data."""
APPLICATION = 0.1
"""The drafted scenario includes pauses if the application limits the flow for at least this fraction of the time."""
WINDOW = 0.1
"""The drafted scenario limits the receive window if that window limits the flow for at least this fraction of the
time."""
CONTRADICTED = 1.15
"""If data arrived faster than a busy line's measured rate by at least this factor, the measured rate is discarded."""
OUTAGE_S = 0.5
"""Shortest period in seconds that counts as an outage. A shorter silence can be a timeout."""
TIMESTAMPS = 12
"""Size of the timestamp option in bytes, which reduces the payload of a full segment."""
SURE = 0.9
"""With flows in both directions, the fit keeps the congestion control that `analyze` found if its probability is at
least this value."""
LEAST_THINNING = 1.5
"""The drafted scenario thins ACKs if the path receives at least this number of ACKs per ACK that it forwards."""
LOSSY = 0.002
"""If at least this fraction of packets is lost, the fit also tries random loss."""


def chosen_flows(capture: Capture, number: int | None) -> list[Flow]:
    """Returns the flows to fit: the flow with this number in `analyze`, or all flows with at least `LEAST_SHARE` of the
    largest flow's data.

    Raises UsageError if there is no such flow.
    """
    found = flows(capture)
    if number is not None:
        found = [flow for flow in found if flow.row["direction"] == number]
        if not found:
            raise UsageError(f"there is no direction {number}; the capture has {len(capture.largest)}")
    if not found or not found[0].row["acked_bytes"]:
        raise UsageError("the capture has no connection whose data was acknowledged, so there is nothing to fit")
    most = found[0].row["acked_bytes"]
    return [flow for flow in found if flow.row["acked_bytes"] >= LEAST_SHARE * most][:MOST_FLOWS]


def client_of(of_flows: Sequence[Flow]) -> str:
    """Returns the subscriber's address: the private address if there is only one, or else the receiver of the most
    data."""
    row = of_flows[0].row
    ends = [row["to"], row["from"]]
    private = [end for end in ends if _is_private(end)]
    return private[0] if len(private) == 1 else ends[0]


def _is_private(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_private
    except ValueError:
        return False


def place_of(of_flows: Sequence[Flow], ways: Sequence[Way]) -> str:
    """Returns where the capture was taken: `server`, `client` or `link`."""
    for flow, way in zip(of_flows, ways, strict=True):
        vantage = flow.row["vantage"]
        if vantage in ("sender", "receiver"):
            return "server" if (vantage == "sender") == (way == "down") else "client"
    return "link"


def ways_of(of_flows: Sequence[Flow], client: str) -> list[Way]:
    """Returns each flow's direction. The direction `down` is towards the client."""
    inside, outside = {client}, set[str]()
    found: list[Way] = []
    for flow in of_flows:
        source, target = flow.row["from"], flow.row["to"]
        up = source in inside or target in outside
        inside.add(source if up else target)
        outside.add(target if up else source)
        found.append("up" if up else "down")
    return found


def draft_of(of_flows: Sequence[Flow], ways: Sequence[Way]) -> Draft:
    """Returns starting values for the fit, from the capture's measurements."""
    rows = [flow.row for flow in of_flows]
    begin_s = min(row["start_s"] for row in rows)
    until_s = max(row["start_s"] + row["elapsed_s"] for row in rows)
    seen = _directions(of_flows, ways)
    traffic = [
        _traffic(number, flow, way, begin_s, until_s)
        for number, (flow, way) in enumerate(zip(of_flows, ways, strict=True), 1)
    ]
    marked = sum(row["marked_packets"] + row["echoed_marks"] for row in rows) > 0
    mss = max(row["mss_bytes"] or 1460 for row in rows)
    floors = [row["rtt_floor_ms"] for row in rows if row["rtt_floor_ms"]]
    floor_ms = min(floors) if floors else 1.0
    outages: dict[Way, list[tuple[float, float]]] = {}
    for flow, way in zip(of_flows, ways, strict=True):
        opposite = [other for other, of in zip(of_flows, ways, strict=True) if of != way]
        for begin, end in _outages(flow):
            # ACKs of the flows in the opposite direction cross the same link direction as this flow's data. If these
            # ACKs arrive, the line was up, and only this flow waited for a timeout.
            if any(_acked_between(other, begin, end) for other in opposite):
                continue
            if not any(begin < until and since < end for since, until in outages.get(way, [])):
                outages.setdefault(way, []).append((begin - begin_s, end - begin_s))
    for found in outages.values():
        found.sort()
    others: dict[Way, Sequence[Piece]] = {}
    for way in set(ways):
        # With flows in both directions, late ACKs also reduce the rate of a busy line.
        if len(set(ways)) == 1 and seen[way].rate_known and (missing := pieces(of_flows, seen[way].rate_bps, begin_s)):
            others[way] = missing
    return Draft(
        seen,
        floor_ms,
        traffic,
        max(until_s - begin_s, 0.5),
        mss + 40,
        marked,
        begin_s=begin_s,
        outages=outages,
        others=others,
        notes=[*_notes(of_flows, traffic, outages, seen), *_notes_of_others(others)],
    )


def with_log(draft: Draft, of_flows: Sequence[Flow], log: Log) -> Draft:
    """Returns the fit's starting values, with rates and the shortest RTT from a log if the capture does not show them.

    Rates from the capture are kept. An RTT counts only if the log measured it to an endpoint of the flows.
    """
    ways, notes = dict(draft.ways), list(draft.notes)
    for way, rate in log.rate_bps.items():
        seen = draft.ways[way]
        if not seen.rate_known:
            ways[way] = replace(seen, rate_bps=rate, logged=True)
        elif not 1 / CONTRADICTED <= rate / seen.rate_bps <= CONTRADICTED:
            notes.append(
                f"The {log.kind} log shows {units.rate(rate)} {way}, the capture {units.rate(seen.rate_bps)}: "
                "the fit uses the capture."
            )
    floor = draft.floor_ms
    if log.floor_ms is not None:
        if log.host in {end for flow in of_flows for end in (flow.row["from"], flow.row["to"])}:
            floor = min(floor, log.floor_ms)
        else:
            notes.append(
                f"The round trips of the {log.kind} log are not used: its host is not an address of the capture."
            )
    return replace(draft, ways=ways, floor_ms=floor, notes=notes)


def with_queues(draft: Draft, observed: Mapping[Way, Observed]) -> Draft:
    """Returns the fit's starting values, with the rate and discipline of each queue that was measured from packets."""
    ways, notes = dict(draft.ways), list(draft.notes)
    for way, queue in observed.items():
        if draft.others.get(way):
            # The measurement of the queue is wrong, because the queue also stored packets that the capture lacks.
            continue
        seen = ways[way]
        discipline = seen.discipline if queue.discipline == "unknown" else queue.discipline
        ways[way] = replace(
            seen, rate_bps=queue.rate_bps, rate_known=True, discipline=discipline, logged=False, observed=queue
        )
        if queue.framing and queue.framing.cells:
            notes.append(f"The line {way} sends packets in ATM cells; its rate counts whole cells.")
        elif queue.framing and queue.framing.overhead_bytes:
            notes.append(f"The rate {way} includes {queue.framing.overhead_bytes} B of framing for each packet.")
        if queue.burst_bytes:
            notes.append(f"The line {way} has a shaper, whose bucket holds {units.size(queue.burst_bytes)}.")
    return replace(draft, ways=ways, notes=notes)


def _acked_between(flow: Flow, begin_s: float, end_s: float) -> bool:
    """Returns true if data of a flow was acknowledged in the period."""
    times, width = flow.bins["time_s"], flow.bins["width_s"]
    inside = (times >= begin_s) & (times + width <= end_s)
    return bool(flow.bins["acked_bytes"][inside].any())


def _outages(flow: Flow) -> list[tuple[float, float]]:
    """Returns the periods in seconds in which no data arrived although the timer caused retransmissions.

    An outage ends between the last lost and the first delivered retransmission.
    """
    bins = flow.bins
    if not len(bins["time_s"]) or not flow.row["timeouts"]:
        return []
    width = float(bins["width_s"][0])
    still = (bins["acked_bytes"] == 0) & ~((bins["sent_bytes"] > 0) & (bins["retransmitted_packets"] == 0))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], still, [False]]).astype(int)))
    found: list[tuple[float, float]] = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        if (end - begin) * width < OUTAGE_S or end >= len(still):
            continue
        round_trip_s = (flow.row["rtt_floor_ms"] or 0.0) / 1e3
        again = bins["time_s"][begin:end][bins["retransmitted_packets"][begin:end] > 0]
        arrived = float(bins["time_s"][end]) - round_trip_s
        lost = again[again < arrived - width]
        if len(lost):
            found.append((float(bins["time_s"][begin]) - round_trip_s / 2, (float(lost[-1]) + arrived) / 2))
    return found


def _notes(
    of_flows: Sequence[Flow],
    traffic: Sequence[Traffic],
    outages: Mapping[Way, Sequence[tuple[float, float]]],
    directions: Mapping[Way, Direction],
) -> list[str]:
    said: list[str] = []
    if any(flow.row["offload"] == "yes" for flow in of_flows):
        said.append("The capture has packets that the network card merged (GRO, TSO): ACK statistics are coarse.")
    if any(each.app["kind"] == "on_off" for each in traffic):
        said.append("The application paused: the scenario alternates data and silence with the median lengths.")
    for way, seen in directions.items():
        if seen.thinning is not None:
            place = "The path" if seen.thinning_sure else "The path or the receiver"
            said.append(f"{place} thins ACKs {way}: the scenario forwards one of about {seen.thinning:.0f}.")
    for way, periods in outages.items():
        times = ", ".join(f"{begin:.1f} to {end:.1f} s" for begin, end in periods)
        said.append(f"Nothing passed {way} from {times}: the scenario has outages there.")
    return said


def _notes_of_others(others: Mapping[Way, Sequence[Piece]]) -> list[str]:
    said: list[str] = []
    for way, found in others.items():
        times = ", ".join(
            f"{units.rate(piece.rate_bps)} from {piece.begin_s:.1f} to {piece.end_s:.1f} s" for piece in found
        )
        said.append(
            f"The captured flows did not fill the busy line {way}: the scenario has other traffic ({times}). A lower "
            "rate of the line has the same effect."
        )
    return said


def _directions(of_flows: Sequence[Flow], ways: Sequence[Way]) -> dict[Way, Direction]:
    found: dict[Way, Direction] = {}
    for way in WAYS:
        data = [flow for flow, of in zip(of_flows, ways, strict=True) if of == way]
        acks = [flow for flow, of in zip(of_flows, ways, strict=True) if of != way]
        found[way] = _direction(data, acks)
    known = {way: each.rate_bps for way, each in found.items() if each.rate_bps > 0}
    for way, each in found.items():
        if not each.rate_bps > 0:
            # Only ACKs cross this direction, so the assumed rate must not limit them.
            rate = max(4 * _ack_load(of_flows, ways, way), max(known.values(), default=1e7) / 8)
            found[way] = replace(each, rate_bps=rate, rate_known=False, loaded=False)
    return found


def _direction(data: Sequence[Flow], acks: Sequence[Flow]) -> Direction:
    of_data: list[float] = [flow.row["data_rate_bps"] for flow in data if flow.row["data_rate_bps"]]
    of_acks: list[float] = [flow.row["ack_rate_bps"] for flow in acks if flow.row["ack_rate_bps"]]
    peak, most = _peaks(data)
    rates = of_data or of_acks
    # If the peak is far above a busy line's measured rate, the measured rate must be wrong. A smaller excess is caused
    # by ACKs after a recovery.
    known = bool(rates) and max(rates) * CONTRADICTED >= peak
    rate = max(rates, default=0.0)
    rate = rate if known else max(rate, peak)
    mixed = _mean_packet(data, acks)
    # The buffer was measured in bytes of mixed packets, and is converted to full packets.
    buffers = [
        row["data_buffer_bytes"] * PACKET / mixed for row in (flow.row for flow in data) if row["data_buffer_bytes"]
    ]
    waits = [flow.row["data_longest_wait_ms"] for flow in data] + [flow.row["ack_longest_wait_ms"] for flow in acks]
    longest = max((wait for wait in waits if wait is not None and not np.isnan(wait)), default=0.0)
    kinds = {flow.row["data_discipline"] for flow in data} - {"unknown"}
    packets = sum(flow.row["data_packets"] for flow in data)
    again = sum(flow.row["retransmitted_packets"] for flow in data)
    marks = sum(flow.row["marked_packets"] + flow.row["echoed_marks"] for flow in data)
    return Direction(
        rate_bps=rate,
        rate_known=known,
        peak_bps=most,
        buffer_bytes=float(max(buffers)) if buffers else None,
        mixed=mixed < 0.97 * PACKET,
        mean_bytes=min(mixed, PACKET),
        longest_wait_ms=float(longest),
        discipline=kinds.pop() if len(kinds) == 1 else "unknown",
        losses=again / max(packets, 1),
        marks=int(marks),
        loaded=bool(data) and longest >= BUSY_MS,
        thinning=None if data else _thinning(acks),
        thinning_sure=any(flow.row["ack_thinning"] == "network" for flow in acks),
    )


def _thinning(acks: Sequence[Flow]) -> float | None:
    """Returns the number of ACKs that the path receives per ACK that it forwards, for a direction that carries only
    ACKs; `None` if the path does not drop ACKs.

    If identification numbers do not show where ACKs are missing, the receiver may have sent fewer ACKs. Thinning on the
    path has the same effect on the sender. Usually a receiver acknowledges every second segment (RFC 9293, section
    3.8.6.3).
    """
    ratios = [
        (flow.row["ack_bytes_p50_bytes"] or 0.0) / ((flow.row["mss_bytes"] or 1460) - TIMESTAMPS) / 2
        for flow in acks
        if flow.row["ack_thinning"] in ("network", "unknown")
    ]
    ratio = float(np.median(ratios)) if ratios else 0.0
    return ratio if ratio >= LEAST_THINNING else None


def _mean_packet(data: Sequence[Flow], acks: Sequence[Flow]) -> float:
    """Returns the mean packet size in bytes in a direction with data, including ACKs."""
    octets = packets = 0.0
    for flow in data:
        size = min((flow.row["mss_bytes"] or 1460) + 40, PACKET)
        packets += flow.row["data_packets"]
        octets += flow.row["data_packets"] * size
        begin, end = flow.row["start_s"], flow.row["start_s"] + flow.row["elapsed_s"]
        for other in acks:
            inside = (other.bins["time_s"] >= begin) & (other.bins["time_s"] <= end)
            found = float(other.bins["acks"][inside].sum())
            packets += found
            octets += found * ACK
    return max(octets / packets, ACK) if packets else float(PACKET)


def _peaks(data: Sequence[Flow]) -> tuple[float, float]:
    """Returns the highest rate in bit/s of IP packets over at least 0.5 s, which is a lower bound for the line's rate.

    In a capture near the sender, only ACKs show the delivery of data. An ACK that ends a recovery also covers earlier
    data. Intervals during and after retransmissions are therefore left out, if other intervals remain.
    """
    known = [flow for flow in data if len(flow.bins["time_s"])]
    if not known:
        return 0.0, 0.0
    begin = min(flow.bins["time_s"][0] for flow in known)
    end = max(flow.bins["time_s"][-1] for flow in known)
    width = max(float(flow.bins["width_s"][0]) for flow in known)
    length = max(1, math.ceil(0.5 / width))
    total, doubtful = np.zeros(int((end - begin) / width) + 1), np.zeros(int((end - begin) / width) + 1)
    for flow in known:
        mss = flow.row["mss_bytes"] or 1460
        places = ((flow.bins["time_s"] - begin) / width).astype(int)
        near = flow.row["vantage"] == "receiver"
        np.add.at(total, places, flow.bins["sent_bytes" if near else "acked_bytes"] * (mss + 40) / (mss - 12))
        if not near:
            np.add.at(doubtful, places, flow.bins["retransmitted_packets"])
    length = min(length, len(total))
    means = np.convolve(total, np.ones(length) / length, mode="valid")
    # A recovery that began before these intervals may end in them.
    unsure = np.convolve(doubtful, np.ones(2 * length), mode="full")[length - 1 : length - 1 + len(means)] > 0
    sure = means[~unsure]
    low = np.quantile(sure, 0.9) if len(sure) >= 3 else np.median(means)
    return float(low) * 8 / width, float(np.quantile(means, 0.95)) * 8 / width


def _ack_load(of_flows: Sequence[Flow], ways: Sequence[Way], way: Way) -> float:
    """Returns the highest rate in bit/s of ACKs in a direction."""
    loads = [
        float(np.max(flow.bins["acks"] / flow.bins["width_s"], initial=0.0)) * ACK * 8
        for flow, of in zip(of_flows, ways, strict=True)
        if of != way
    ]
    return sum(loads)


def _traffic(number: int, flow: Flow, way: Way, begin_s: float, until_s: float) -> Traffic:
    row = flow.row
    start = row["start_s"] - begin_s
    if row["vantage"] != "sender":
        # The SYN left its sender before it reached the capture point.
        start = max(start - (row["rtt_floor_ms"] or 0.0) / (2e3 if row["vantage"] == "receiver" else 4e3), 0.0)
    last_s = row["start_s"] + row["elapsed_s"]
    ended = row["ending"] != "open" or last_s < until_s - max(0.2, 3e-3 * (row["rtt_p95_ms"] or 0.0))
    app: dict[str, Any] = {"kind": "bulk"}
    if (phases := _phases(flow)) is not None:
        app = {"kind": "on_off", "on": f"{phases[0]:.4f} s", "off": f"{phases[1]:.4f} s"}
    elif ended:
        app = {"kind": "transfer", "size": f"{row['acked_bytes']} B"}
    return Traffic(f"{'download' if way == 'down' else 'upload'}{number}", way, start, app, None, flow, _stack(flow))


def _phases(flow: Flow) -> tuple[float, float] | None:
    """Returns the median durations in seconds of a period with data and of a pause.

    Returns `None` if the application rarely limits the flow, or if there are fewer than 2 pauses.
    """
    row, bins = flow.row, flow.bins
    if (row["limited_application"] or 0.0) < APPLICATION:
        return None
    busy = bins["sent_bytes"] > 0
    width = float(bins["width_s"][0])
    edges = np.flatnonzero(np.diff(np.concatenate([[False], busy, [False]]).astype(int)))
    begins, ends = edges[::2], edges[1::2]
    if len(begins) < 3:
        return None
    cycle = float(np.median(np.diff(begins))) * width
    off = float(np.median(begins[1:] - ends[:-1])) * width
    return (max(cycle - off, width), off) if off > 0 else None


def _stack(flow: Flow) -> dict[str, Any]:
    row = flow.row
    options = (row["options"] or "").split()
    found: dict[str, Any] = {}
    if row["options"] is not None and row["opened_by"] != "unknown":
        for option, key in (("sack", "sack"), ("timestamps", "timestamps"), ("window_scale", "window_scaling")):
            if option not in options:
                found[key] = False
    if row["vantage"] == "sender" and 2 <= row["initial_window_packets"] <= 64:
        found["initial_window"] = f"{row['initial_window_packets']} segments"
    if (row["limited_receive_window"] or 0.0) >= WINDOW:
        found["receive_buffer"] = f"{row['window_max_bytes']} B"
    per_ack = (row["ack_bytes_p50_bytes"] or 0.0) / (row["mss_bytes"] or 1460)
    if 0 < per_ack < 1.5 and row["ack_ratio"] and row["ack_ratio"] > 0.9:
        found["ack_policy"] = "immediate"
    return found


def first_structure(draft: Draft, of_flows: Sequence[Flow], ways: Sequence[Way]) -> Structure:
    queues: dict[Way, str] = {}
    controls: dict[Way, str] = {}
    for way in WAYS:
        kind = draft.ways[way].discipline
        queues[way] = "codel" if kind == "aqm" and draft.ways[way].loaded else "fifo"
        said = [
            flow.row["cc"] for flow, of in zip(of_flows, ways, strict=True) if of == way and flow.row["cc"] in CONTROLS
        ]
        controls[way] = said[0] if said else ""
    # If the congestion control of only one sender is known, the other sender is assumed to use the same one.
    known = [name for name in controls.values() if name]
    for way in WAYS:
        controls[way] = controls[way] or (known[0] if known else "cubic")
    return Structure(queues, controls, dict.fromkeys(WAYS, False))


def may_lose(draft: Draft, way: Way) -> bool:
    """Returns true if the fit tries random loss, because packets may have been lost outside of the queue."""
    seen = draft.ways[way]
    dropped_by_queue = seen.observed is not None and seen.observed.sure and seen.observed.discipline != "unknown"
    return seen.losses >= LOSSY and not dropped_by_queue


def controls_to_try(draft: Draft, way: Way) -> Sequence[str]:
    """Returns the congestion controls to try.

    Flows in opposite directions disturb each other, so a wrong congestion control can be closer by chance.
    With such flows, the fit keeps the congestion control that `analyze` found if its probability is at least `SURE`.
    """
    rows = [traffic.flow.row for traffic in draft.traffic if traffic.way == way]
    names = {row["cc"] for row in rows if row["cc"] in CONTROLS and row["cc_probability"] >= SURE}
    two_way = len({traffic.way for traffic in draft.traffic}) > 1
    known = two_way and len(names) == 1 and all(row["cc"] in names for row in rows)
    return tuple(names) if known else CONTROLS


def queues_to_try(draft: Draft, way: Way) -> tuple[str, ...]:
    seen = draft.ways[way]
    if not seen.loaded:
        return ("fifo",)
    managed = (*AQMS, "red")
    if seen.marks:
        return managed
    if seen.observed and seen.observed.sure and seen.observed.discipline != "unknown":
        return ("fifo",) if seen.observed.discipline == "drop_tail" else managed
    return (*QUEUES, "red")
