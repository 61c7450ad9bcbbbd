"""Declares the columns of studies' tables."""

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
    "One row for each side and each side that it met: medians over orders of arrival and seeds, and means.",
    (
        _text("cc", "CC", "The side that the row speaks of."),
        _of("rtt_ms", "ms", "RTT", "Its base round-trip time."),
        _text("against_cc", "against", "The side that it met."),
        _of("against_rtt_ms", "ms", "its RTT", "Base round-trip time of the other side."),
        _of("goodput_bps", "bps", "goodput", "Of all flows of the side."),
        _of("goodput_mean_bps", "bps", "mean", "Mean goodput; both orders of arrival count alike."),
        _of("goodput_ci95_bps", "bps", "±", "Half width of the mean goodput's 95 % interval."),
        _share("share", "share", "Of what both sides got."),
        _share("share_least", "least", "Over orders of arrival and seeds."),
        _share("share_most", "most", "Over orders of arrival and seeds."),
        _share("share_mean", "mean", "Mean share; both orders of arrival count alike."),
        _share("share_ci95", "±", "Half width of the mean share's 95 % interval."),
        _of("ratio", "ratio", "ratio", "Goodput over the other side's."),
        _of("jain", "index", "Jain", "Jain's index of all flows of both sides."),
        _of("jain_mean", "index", "mean", "Mean of Jain's index."),
        _of("jain_ci95", "index", "±", "Half width of its 95 % interval."),
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
        _share("harm_rate_mean", "mean", "Mean harm to goodput."),
        _share("harm_rate_ci95", "±", "Half width of its 95 % interval."),
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

_AQM_KEYS = (
    _text("world", "world", "Where it ran."),
    _text("queue", "queue", "The queue discipline."),
)
_WAY = _text("direction", "direction", "`down`: towards the client; `up`: away from it.")
_OF_A_RUN = (
    Column("repetition", "label", "repetition", "Which of the runs of one discipline, from 0.", "integer"),
    Column("seed", "label", "seed", "Of the run.", "integer"),
    _text("digest", "digest", "Of the run."),
)
_AQM_MEASURES = (
    _of("goodput_bps", "bps", "goodput", "Of all flows of the direction, from the first start to the last stop."),
    _share("utilisation", "utilization", "Share of the rate that was used."),
    _of("jain", "index", "Jain", "Jain's index of the bulk flows."),
    _of("rtt_p50_ms", "ms", "RTT p50", "Median round trip of packets, each counted at the mean of its interval."),
    _of("rtt_p95_ms", "ms", "RTT p95", "95th percentile of the same."),
    _of("sojourn_mean_ms", "ms", "sojourn mean", "Mean time in the queue."),
    _of("sojourn_p50_ms", "ms", "sojourn p50", "Its median."),
    _of("sojourn_p95_ms", "ms", "sojourn p95", "Its 95th percentile."),
    _of("sojourn_max_ms", "ms", "sojourn max", "The longest time in the queue."),
    _of("dropped_packets", "count", "drops", "Packets that the queue dropped."),
    _of("marked_packets", "count", "marks", "Packets that the queue marked (ECN)."),
    _share("drop_ratio", "dropped", "Packets dropped over packets that came."),
    _of("datagram_p95_ms", "ms", "datagrams p95", "95th percentile of the one-way time of UDP flows, of the worst."),
    _share("datagram_loss", "datagrams lost", "Datagrams that did not arrive."),
)
_AQM_USERS = (
    _of("pages", "count", "pages", "Web pages that were completed."),
    _of("page_p50_s", "s", "page p50", "Median time from the start of a page to its last octet."),
    _of("page_p95_s", "s", "page p95", "95th percentile of the same."),
    _of("short_transfers", "count", "transfers", "Transfers of a given size that were completed."),
    _of("transfer_p50_s", "s", "transfer p50", "Median time of a transfer."),
    _of("transfer_p95_s", "s", "transfer p95", "95th percentile of the same."),
    _of("probe_ms", "ms", "probe", "Round trip of probes on connections of their own, mean without the slowest 5 %."),
    _of("load_ms", "ms", "loaded RTT", "Round trip of the bulk flows' packets, mean without the slowest 5 %."),
    _of("rpm", "count", "RPM", "Round trips per minute under load (draft-ietf-ippm-responsiveness)."),
    _of(
        "rpm_confidence",
        "count",
        "RPM confidence",
        "Of the loads `rpm*`: 3 high (stable), 2 medium (out of time before it was), 1 low (too few intervals).",
    ),
)

AQM_CELLS = TableSpec(
    "cells",
    "One row for each queue discipline and direction: medians over the seeds.",
    (*_AQM_KEYS, _WAY, *_AQM_MEASURES),
)
AQM_USERS = TableSpec(
    "users",
    "What users feel under each queue discipline: medians over the seeds.",
    (*_AQM_KEYS, *_AQM_USERS),
)
AQM_RUNS = TableSpec("runs", "One row for each run and direction.", (*_AQM_KEYS, _WAY, *_OF_A_RUN, *_AQM_MEASURES))
AQM_USER_RUNS = TableSpec("user_runs", "What users feel in each run.", (*_AQM_KEYS, *_OF_A_RUN, *_AQM_USERS))
AQM_DELAYS = TableSpec(
    "delays",
    "Distributions of delays over all seeds: the delay that a share of packets does not exceed.",
    (
        *_AQM_KEYS,
        _WAY,
        _text("quantity", "quantity", "`rtt`: round trips; `sojourn`: time in the queue, each interval at its mean."),
        _share("share", "share", "Of the packets."),
        _of("value_ms", "ms", "delay", "The most that this share of packets took."),
    ),
)

CANDIDATES = TableSpec(
    "candidates",
    "One row for each queue discipline that was tried on a line, under a household's traffic: medians over the seeds.",
    (
        _text("queue", "queue", "The queue discipline; `unmanaged` is a deep FIFO."),
        _of("goodput_down_bps", "bps", "goodput down", "Of all downloads."),
        _of("goodput_up_bps", "bps", "goodput up", "Of all uploads."),
        _share("use", "utilization", "Mean of both directions' goodput over the rate."),
        _of("loaded_rtt_ms", "ms", "loaded RTT", "Round trip of the bulk flows' packets, without the slowest 5 %."),
        _of("rpm", "count", "RPM", "Round trips per minute under load."),
        _of("page_s", "s", "page", "Median time of a web page."),
        _of("transfer_s", "s", "100 kB", "Median time of a transfer of 100 kB."),
        _of("call_p95_ms", "ms", "call p95", "95th percentile of a call's one-way time, of the worse direction."),
    ),
)

_ACKPATH_MEASURES = (
    _share(
        "rank_score", "of best", "Sum of both directions' goodput over their rates, held against the best remedy's."
    ),
    _of("down_goodput_bps", "bps", "down", "Goodput of all downloads."),
    _of("up_goodput_bps", "bps", "up", "Goodput of all uploads."),
    _of("ack_ratio", "ratio", "ACK ratio", "ACKs of the downloads that reach their senders, over segments sent."),
    _of("stretch_p50_bytes", "bytes", "stretch", "Octets that an ACK newly acknowledges, median."),
    _of("stretch_p95_bytes", "bytes", "95 %", "Octets that an ACK newly acknowledges, 95th percentile."),
    _share("ack_compression", "compressed", "ACKs that come less than half as far apart as they were sent."),
    _share(
        "ack_share",
        "of uplink",
        "Of the uplink's rate, octets of IP in the downloads' ACKs, less what header compression spares.",
    ),
    Column("burst_p95", "count", "burst", "Segments that a sender sends at one instant."),
    Column("burst_max", "count", "most", "The most segments that a sender sends at one instant."),
    _of("jain", "index", "Jain", "Jain's index of the two directions' shares of their rates."),
    _of("down_rtt_p50_ms", "ms", "RTT", "Of the downloads' packets, median."),
    _of("up_wait_p95_ms", "ms", "up wait", "In the uplink's queue."),
    _share("down_utilisation", "utilization", "Of its rate."),
    _share("limited_window", "by window", "Of the time, the congestion window holds the downloads' senders back."),
    _share("limited_receiver", "by receiver", "Of the time, the receive window does."),
    _share("limited_application", "by application", "Of the time, the application has nothing to send."),
    _share("limited_pacing", "by pacing", "Of the time, the pacing rate does, or the limit of bursts."),
    Column("reductions", "count", "reductions", "Of the downloads' windows, by loss or timeout."),
    _of("down_wait_ms", "ms", "down wait", "In the downlink's queue, mean."),
    _of("ack_wait_ms", "ms", "ACKs' wait", "Of the downloads' ACKs in the uplink's queue, mean."),
    Column("dropped_acks", "count", "ACKs dropped", "Of the downloads', by the uplink's queue; not those filtered."),
)
ACKPATH_CELLS = TableSpec(
    "cells",
    "One row for each set of remedies: medians over the seeds, the best first.",
    (_text("remedies", "remedies", "What is switched on."), *_ACKPATH_MEASURES),
)
ACKPATH_RUNS = TableSpec(
    "runs",
    "One row for each run.",
    (_text("remedies", "remedies", "What is switched on."), *_OF_A_RUN, *_ACKPATH_MEASURES),
)

SUITE_CHECKS = TableSpec(
    "checks",
    "One row for each number that a suite judges, of each case on each line.",
    (
        _text("suite", "suite", "The suite's name."),
        _text("case", "case", "The key of the case."),
        _text("section", "section", "Of the text that asks for it."),
        _text("title", "what", "What the case tests."),
        _text("line", "line", "As in the source, or the way back: its ratio, idle or loaded, what is done about ACKs."),
        _text("measure", "measure", "What is measured."),
        _text("of", "of", "The flows that it is of; empty: those under test."),
        _text("expected", "expected", "The bounds of the value, and when it is measured."),
        _text("measured", "measured", "The value for people; `never` if there is none."),
        Column("value", "number", "value", "The value; null if there is none, as of a transfer that never ends."),
        Column("at_least", "number", "at least", "Lower bound."),
        Column("at_most", "number", "at most", "Upper bound."),
        _text("origin", "threshold", "Where the bounds are from: source, ours, or fitted (not judged)."),
        _text("verdict", "verdict", "`pass`, `fail` or `no threshold`."),
        _text("digest", "digest", "Of the run, with the first seed."),
    ),
)

CHECK_LINES = TableSpec(
    "lines",
    "One row for each line on which two builds of a program were compared.",
    (
        _text("line", "line", "The access line or scenario, and the values of varied settings."),
        Column("pairs", "count", "pairs", "Pairs of runs that both succeeded.", "integer"),
        Column("baseline_failures", "count", "baseline fails", "Failed runs of the baseline.", "integer"),
        Column("candidate_failures", "count", "candidate fails", "Failed runs of the candidate.", "integer"),
        Column("baseline", "number", "baseline", "Mean of the judged quantity, in the unit of its column in `runs`."),
        Column("candidate", "number", "candidate", "The same of the candidate."),
        _share("change", "change", "Mean difference within the pairs over the baseline's mean; less is better."),
        _share("change_ci95", "±", "Half width of its 95 % interval (Student's t)."),
        _text("verdict", "verdict", "`same`, `better`, `worse`, `failed`, or `unsure` if the interval is too wide."),
    ),
)
CHECK_RUNS = TableSpec(
    "runs",
    "One row for each run of a build on a line, in the order of the runs.",
    (
        _text("line", "line", "As in `lines`."),
        _text("build", "build", "`baseline` or `candidate`."),
        Column("seed", "label", "seed", "Of the line's random numbers; both runs of a pair have the same.", "integer"),
        Column("exit_code", "label", "exit code", "Of the client; 124 if it exceeded the time limit.", "integer"),
        _of("time_s", "s", "time", "From the start of the client to its end, in real time."),
        Column("late_p99_us", "number", "late p99 (µs)", "99th percentile of how late packets left the line."),
        _of("down_bytes", "bytes", "bytes down", "Bytes of IP that left the downlink's queue, of the busiest link."),
        _of("down_sojourn_p95_ms", "ms", "sojourn p95 down", "95th percentile of the time in the downlink's queue."),
        Column("down_dropped_packets", "count", "dropped down", "Dropped by the queue or lost on the line.", "integer"),
        _of("up_bytes", "bytes", "bytes up", "Bytes of IP that left the uplink's queue, of the busiest link."),
        _of("up_sojourn_p95_ms", "ms", "sojourn p95 up", "95th percentile of the time in the uplink's queue."),
        Column("up_dropped_packets", "count", "dropped up", "Dropped by the queue or lost on the line.", "integer"),
    ),
)
FIT_PARAMETERS = TableSpec(
    "parameters",
    "One row for each number of the fitted line.",
    (
        _text(
            "parameter",
            "parameter",
            "Name: `rate`, `buffer`, `framing` and `loss` of a direction, and the shortest RTT.",
        ),
        Column("value", "number", "value", "The value in the fitted scenario."),
        Column("low", "number", "low", "Lower bound of the 95 % interval; null if the packets show none."),
        Column("high", "number", "high", "Upper bound of the 95 % interval; null if the packets show none."),
        _text("unit", "unit", "Of value and bounds."),
        _text(
            "status",
            "status",
            "`measured`; `fitted`; `uncertain` without an interval if the simulated packets differ; "
            "`unknown` if the packets do not determine the value; `log` if a log of another measurement gives it.",
        ),
        _share("explained", "explained", "Share of the variance of the number that the statistics of packets explain."),
    ),
)
FIT_CHOICES = TableSpec(
    "choices",
    "One row for each queue discipline and congestion control that was tried.",
    (
        _text("choice", "choice", "`queue` or `cc`, and the direction."),
        _text("name", "name", "Of the queue discipline or the congestion control."),
        Column("distance", "number", "distance", "Smallest distance of its trials from the capture."),
        _text("status", "status", "`best`, `possible` (about as close as the best) or `rejected`."),
    ),
)
FIT_TIMELINE = TableSpec(
    "timeline",
    "One row for each interval of each flow, measured and fitted.",
    (
        _text("flow", "flow", "Name of the flow in the fitted scenario."),
        _text("source", "source", "`measured` or `fitted`."),
        Column("time_s", "s", "time", "Since the first packet."),
        Column("goodput_bps", "bps", "goodput", "Acknowledged data."),
        Column("rtt_mean_ms", "ms", "RTT", "Mean round trip of the whole path."),
        Column("outstanding_max_bytes", "bytes", "outstanding", "Largest amount of unacknowledged data."),
    ),
)
FIT_TRIALS = TableSpec(
    "trials",
    "One row for each simulated scenario, in the order in which they were tried.",
    (
        Column("trial", "label", "trial", "Number, from 0.", "integer"),
        Column("distance", "number", "distance", "From the capture: 1 is one tolerance in each statistic."),
        _text("structure", "structure", "Queue disciplines, congestion controls and losses."),
        _text("parameters", "parameters", "The numbers of the line."),
    ),
)
FIT_REMEDIES = TableSpec(
    "remedies",
    "One row for each remedy on the fitted line, medians over the seeds; the first row is the line as it is.",
    (
        _text("remedy", "remedy", "Name."),
        _text("meaning", "meaning", "What is changed."),
        _of("down_goodput_bps", "bps", "down", "Goodput of all downloads."),
        _of("up_goodput_bps", "bps", "up", "Goodput of all uploads."),
        _of("rtt_p95_ms", "ms", "RTT 95 %", "95th percentile of the round trip; the largest of all flows."),
        _share("down_goodput_change", "down, change", "Relative to the line as it is."),
        _share("up_goodput_change", "up, change", "Relative to the line as it is."),
        _share("rtt_p95_change", "RTT, change", "Relative to the line as it is."),
        _share("power_change", "power, change", "Of goodput divided by delay, relative to the line as it is."),
    ),
)
