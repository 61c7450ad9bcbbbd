"""The tables of studies: what each column is."""

from __future__ import annotations

from lopsided.data.catalogue import Column, TableSpec, Unit, run_tables

_FLOWS = run_tables()["flows"]


def _text(name: str, heading: str, meaning: str) -> Column:
    return Column(name, "text", heading, meaning, "text")


def _share(name: str, heading: str, meaning: str) -> Column:
    return Column(name, "share", heading, meaning)


def _of(name: str, unit: Unit, heading: str, meaning: str) -> Column:
    return Column(name, unit, heading, meaning)


GROUPS = TableSpec(
    "fairness",
    "One row for each group of flows of a run.",
    (
        _text("group", "group", "Flows that belong together."),
        _text("cc", "CC", "Congestion control."),
        Column("flows", "count", "flows", "In the group.", "integer"),
        _of("goodput_bps", "bps", "goodput", "Of the group."),
        _share("share", "share", "Of what all got."),
        _of("fair_bps", "bps", "fair rate", "What max-min fairness gives the group, on the wire."),
        _share("of_fair", "of fair share", "Goodput over what max-min fairness gives the group."),
        _of("jain", "index", "Jain", "Jain's index within the group."),
        _of("rtt_ms", "ms", "RTT mean", "Timed per packet."),
        _share("retransmit_ratio", "retransmits", "Retransmitted segments over all that were sent."),
        _of("alone_goodput_bps", "bps", "goodput alone", "Without the other groups."),
        _of("alone_rtt_ms", "ms", "RTT alone", "Without the other groups."),
        _share("alone_retransmit_ratio", "retransmits alone", "Without the other groups."),
        _share("harm_rate", "harm: goodput", "Part of its goodput alone that is lost in company."),
        _share("harm_rtt", "harm: delay", "Part of its round-trip time that company added."),
        _share("harm_retransmits", "harm: loss", "Part of its retransmissions that company caused."),
    ),
)

CELLS = TableSpec(
    "cells",
    "One row for each side and each side that it met: medians over orders of arrival and seeds.",
    (
        _text("cc", "CC", "The side that the row speaks of."),
        _of("rtt_ms", "ms", "RTT", "Its base round-trip time."),
        _text("against_cc", "against", "The side that it met."),
        _of("against_rtt_ms", "ms", "its RTT", "Base round-trip time of the other side."),
        _of("goodput_bps", "bps", "goodput", "Of all flows of the side."),
        _share("share", "share", "Of what both sides got."),
        _share("share_least", "least", "Over orders of arrival and seeds."),
        _share("share_most", "most", "Over orders of arrival and seeds."),
        _of("ratio", "ratio", "ratio", "Goodput over the other side's."),
        _of("jain", "index", "Jain", "Jain's index of all flows of both sides."),
        _share("utilisation", "utilization", "Goodput of both sides over the rate."),
        _of("rtt_mean_ms", "ms", "RTT mean", "Round trips of the side's packets, queueing counted."),
        _share("retransmit_ratio", "retransmits", "Retransmitted segments over all that the side sent."),
        _of("converged_s", "tenths", "fair after", "After the side joined the other, until both stay near half."),
        _of(
            "settled_s",
            "tenths",
            "settled after",
            "After the side joined the other, until both stay near their final share.",
        ),
        _share("harm_rate", "harm: goodput", "Part of its goodput alone that it lost."),
        _share(
            "harm_rate_own", "by its own kind", "The same, done by another of its kind at the other's round-trip time."
        ),
        _share("harm_rtt", "harm: delay", "Part of its round-trip time that the other added."),
        _share("harm_retransmits", "harm: loss", "Part of its retransmissions that the other caused."),
        _of("rtt_exponent", "ratio", "RTT exponent", "a where goodput goes as 1 / RTT^a."),
    ),
)

SWEEP = TableSpec(
    "sweep",
    "One row for each flow of each run of a sweep.",
    (
        Column("repetition", "label", "repetition", "Which of the runs of one combination, from 0.", "integer"),
        Column("seed", "label", "seed", "Of the run.", "integer"),
        _text("digest", "digest", "Of the run."),
        *_FLOWS.columns,
        _of("goodput_overlap_bps", "bps", "goodput", "In the time in which all flows are active."),
        _share(
            "performance",
            "performance",
            "The smaller of downloads' and uploads' share of their link's rate, in the time in which all are active.",
        ),
    ),
)
