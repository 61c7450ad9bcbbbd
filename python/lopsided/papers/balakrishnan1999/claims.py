"""The statements of the paper and the functions that judge them. If a statement only gives numbers, `printed.py` lists
the numbers."""

from __future__ import annotations

from lopsided import metrics
from lopsided.papers.balakrishnan1999 import printed, section9
from lopsided.papers.balakrishnan1999.setup import (
    ACC_SA,
    ACC_SA_FIRST,
    AF_ALONE,
    AF_AR,
    AF_AR_FIRST,
    AF_SA,
    AF_SA_FIRST,
    COMPRESSED_SLOW,
    DIALUP,
    HOPS,
    LINES,
    RENO,
    SLOWEST,
    UNCOMPRESSED,
    Line,
    Scheme,
)
from lopsided.papers.balakrishnan1999.shared import ack_limit_bps, locked_out, lossy, two_way
from lopsided.papers.framework.claims import (
    Listed,
    agree_within,
    all_of,
    at_least,
    at_most,
    claims_of,
    kbit,
    mbit,
    near,
    number,
    ordered,
    percent,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Measured, Verdict
from lopsided.papers.framework.rows import measured

listed = Listed.beside(__file__)

UNLOADED_MS = 66.0
"""RTT in milliseconds if all queues are empty, in case A over a return line of 9.6 kbit/s with header compression."""
FULL_REVERSE_BUFFER = "case A, 9.6 kbps with header compression, full reverse buffer"
LOCKED_OUT = "Reno, forward acks fill the reverse buffer"


def _reno(m: Measurements, line: str, column: str = "throughput_bps") -> Spread:
    return m.value("one-way", column, line=line, scheme=RENO.key)


def _bound_of_a_window(m: Measurements) -> Measured:
    """Returns an upper bound for the download's throughput (section 7.1.3). Each ACK waits behind one upload packet, so
    at most one window of data is delivered per transmission time of an upload packet."""
    return mbit("the bound of a window for each packet", metrics.blocked_window_bps(100e3, 1000, 28.8e3))


# --- Case A: one download, no forward loss

RENO_OVER_SLOW_RETURN_LINES = listed.near_print(
    "reno-over-slow-return-lines", measured((printed.FIGURE_8[0], printed.FIGURE_8[2], printed.FIGURE_8[1]))
)


@listed
def compression_is_a_big_win(m: Measurements) -> Verdict:
    compressed, plain = mbit("with compression", _reno(m, DIALUP.key)), mbit("without", _reno(m, UNCOMPRESSED.key))
    return all_of(ratio("with over without", compressed, plain, above=2), at_least(9.0, [compressed]))


QUEUED_ACKS_LENGTHEN_THE_ROUND_TRIP = listed.near_print(
    "queued-acks-lengthen-the-round-trip",
    lambda m: [
        number(
            "added to the round trip",
            _reno(m, COMPRESSED_SLOW.key, "rtt_ms").median - UNLOADED_MS,
            "ms",
            published=m.published.find("Section 7.1.1", "added_delay", case=FULL_REVERSE_BUFFER),
        )
    ],
)


@listed
def lost_acks_let_more_go(m: Measurements) -> Verdict:
    return all_of(
        ratio(
            f"Reno over the limit at {line.title}",
            mbit(f"Reno at {line.title}", _reno(m, line.key)),
            mbit("the limit", ack_limit_bps(line)),
            above=1,
        )
        for line in LINES
        if ack_limit_bps(line) < 9e6
    )


@listed
def filtering_helps_where_k_is_large(m: Measurements) -> Verdict:
    def of(line: str) -> Spread:
        return m.value("one-way", "throughput_bps", line=line, scheme=AF_SA.key)

    slowest = mbit("AF at 9.6 kbit/s", of(SLOWEST.key)), mbit("Reno there", _reno(m, SLOWEST.key))
    return all_of(
        ratio("AF over Reno at 9.6 kbit/s", *slowest, above=2),
        at_least(9.0, [mbit(f"AF at {line.title}", of(line.key)) for line in (COMPRESSED_SLOW, UNCOMPRESSED)]),
    )


@listed
def both_help_where_k_is_large(m: Measurements) -> Verdict:
    def of(scheme: Scheme, line: Line) -> Measured:
        found = m.value("one-way", "throughput_bps", line=line.key, scheme=scheme.key)
        return mbit(f"{scheme.title} at {line.title}", found)

    return all_of(*(ordered([of(each, line) for each in (AF_SA, ACC_SA, RENO)]) for line in (SLOWEST, UNCOMPRESSED)))


# --- Case B: forward loss

RENO_WITH_FORWARD_LOSS = listed.near_print("reno-with-forward-loss", measured(printed.table_1(RENO)))

REMEDIES_WITH_FORWARD_LOSS = listed.near_print(
    "remedies-with-forward-loss", measured(row for scheme in (ACC_SA, AF_SA, AF_AR) for row in printed.table_1(scheme))
)


@listed
def filtering_alone_is_worse_with_loss(m: Measurements) -> Verdict:
    alone = measured(printed.table_1(AF_ALONE))(m)
    rates = [mbit("Reno", lossy(m, RENO, "throughput_bps")), *list(alone)[:1]]
    return all_of(ordered(rates), near(alone))


@listed
def filtering_is_best_with_loss(m: Measurements) -> Verdict:
    return ordered((printed.table_1(scheme)[0].measured(m) for scheme in (AF_AR, AF_SA, ACC_SA, RENO)), by=1)


# --- Two downloads

RENO_DOWNLOADS_DO_NOT_SHARE = listed.near_print("reno-downloads-do-not-share", measured(printed.table_2(RENO)))

REMEDIES_MAKE_DOWNLOADS_SHARE = listed.near_print(
    "remedies-make-downloads-share", measured(row for scheme in (ACC_SA, AF_SA) for row in printed.table_2(scheme))
)

# --- One download and one upload in parallel

TWO_KINDS_OF_TWO_WAY_RUNS = listed.near_print(
    "two-kinds-of-two-way-runs",
    lambda m: [
        percent("locked out", locked_out(m, RENO), m.published.find("Section 7.1.3", "share_of_runs", case=LOCKED_OUT))
    ],
)

LOCK_OUT_LEAVES_THE_DOWNLOAD_EVERYTHING = listed.near_print(
    "lock-out-leaves-the-download-everything", measured(printed.LOCKED_OUT[:1])
)


@listed
def taking_turns(m: Measurements) -> Verdict:
    return near(measured(printed.TAKING_TURNS)(m)).but(_bound_of_a_window(m))


@listed
def filtering_with_acks_first_starves_the_upload(m: Measurements) -> Verdict:
    return all_of(
        at_least(9.0, [mbit("download", two_way(m, AF_SA_FIRST, "forward_bps"))]),
        at_most(0.5, [kbit("upload", two_way(m, AF_SA_FIRST, "reverse_bps"))]),
    )


BESIDE_AN_UPLOAD = tuple(
    listed.near_print(key, measured(printed.table_3(scheme)))
    for key, scheme in (
        ("acc-beside-an-upload", ACC_SA),
        ("af-beside-an-upload", AF_SA),
        ("reconstruction-beside-an-upload", AF_AR),
        ("reconstruction-with-acks-first", AF_AR_FIRST),
    )
)


@listed
def acc_with_acks_first(m: Measurements) -> Verdict:
    rows = measured(printed.table_3(ACC_SA_FIRST))(m)
    return all_of(near(rows), ordered([_bound_of_a_window(m), *list(rows)[:1]], by=1))


@listed
def fewer_acks_stall_more(m: Measurements) -> Verdict:
    return ordered(
        [
            mbit("Reno, taking turns", two_way(m, RENO, "forward_bps", locked=False)),
            *(mbit(each.title, two_way(m, each, "forward_bps")) for each in (ACC_SA, AF_SA)),
        ]
    )


# --- Packet radio

RENO_OVER_PACKET_RADIO = listed.near_print(
    "reno-over-packet-radio", measured(printed.table_5(RENO, hops) for hops in HOPS)
)

ROUND_TRIPS_OVER_TWO_HOPS = listed.near_print("round-trips-over-two-hops", measured(printed.figure_13(RENO)))

REMEDIES_OVER_PACKET_RADIO = listed.near_print(
    "remedies-over-packet-radio", measured(printed.table_5(scheme, hops) for scheme in (ACC_SA, AF_SA) for hops in HOPS)
)


@listed
def fairness_falls_with_connections(m: Measurements) -> Verdict:
    found = measured(printed.FIGURE_14)(m)
    return all_of(ordered(found), near(found))


@listed
def utilisation_hardly_depends_on_connections(m: Measurements) -> Verdict:
    found = measured(printed.table_6(RENO, connections) for connections in (2, 4, 6, 8, 10, 12))(m)
    return all_of(agree_within(0.1, found), near(found))


@listed
def filtering_is_best_over_radio(m: Measurements) -> Verdict:
    schemes = (AF_SA, ACC_SA, RENO)
    return all_of(*(ordered([printed.table_5(each, hops).measured(m) for each in schemes], by=1) for hops in HOPS))


@listed
def filtering_steadies_the_radio(m: Measurements) -> Verdict:
    def of(column: str, scheme: Scheme, name: str) -> Measured:
        found = m.value("radio", column, hops=2, scheme=scheme.key)
        return number(f"{name} of {scheme.title}", found, "s", scale=1e-3)

    quantities = (("mean", "rtt_ms"), ("deviation", "rtt_std_ms"))
    return all_of(*(ordered([of(column, each, name) for each in (RENO, AF_SA)]) for name, column in quantities))


@listed
def filtering_shares_the_radio(m: Measurements) -> Verdict:
    def of(scheme: Scheme, connections: int) -> Measured:
        found = m.value("radio-many", "fairness_index", connections=connections, scheme=scheme.key)
        return number(f"{scheme.title}, {connections} connections", found)

    return all_of(*(ordered([of(each, connections) for each in (AF_SA, RENO)], by=1) for connections in (4, 8, 12)))


@listed
def filtering_serves_pages_best(m: Measurements) -> Verdict:
    def of(scheme: Scheme, hosts: int) -> Measured:
        return number(
            f"{scheme.title}, {hosts} hosts", m.value("web", "completion_s", hosts=hosts, scheme=scheme.key), "s"
        )

    many = (5, 10, 20)
    return all_of(
        *(ordered([of(RENO, hosts), of(AF_SA, hosts)]) for hosts in many),
        *(agree_within(0.25, [of(AF_SA, hosts), of(AF_ALONE, hosts)]) for hosts in many),
    )


# --- Measured networks


@listed
def measured_limits(m: Measurements) -> Verdict:
    def of(line: str, size: int) -> Spread:
        return m.value("measured", "throughput_bps", line=line, buffer_kb=size)

    limits = [
        mbit(
            f"{line}, 64 kB",
            of(line, 64),
            m.published.find(
                "Section 4.2.1 / Figure 2", "throughput_limit", case=f"28.8 kbps {line} reverse, delayed acks"
            ),
        )
        for line in ("SLIP", "CSLIP")
    ]
    at_16, at_64 = mbit("Ethernet, 16 kB", of("Ethernet", 16)), mbit("Ethernet, 64 kB", of("Ethernet", 64))
    return all_of(near(limits), ordered([at_16, at_64])).but(
        why="the limits are those of a line with an open window, and slow start takes a large part of the 1 MB transfer"
    )


RADIO_MAKES_LONG_TIMEOUTS = listed.near_print("radio-makes-long-timeouts", measured(printed.FIGURE_6[-2:]))


@listed
def a_download_waits_for_the_upload_to_lose(m: Measurements) -> Verdict:
    """The download's last pause of more than 5 s ends after about 160 s. The download's goodput after this time is at
    least twice its goodput before this time."""

    def of(column: str) -> Spread:
        return m.value("measured-two-way", column, line="9.6")

    case = "forward transfer against a 9.6 kbps reverse transfer"
    print_ = m.published.find("Section 4.2.2 / Figure 4", "end_of_large_idle_periods", case=case)
    after, before = (kbit(f"rate {when} that", of(f"{when}_pauses_bps")) for when in ("after", "before"))
    return all_of(
        near([number("the last long pause ends at", of("last_long_pause_s"), "s", published=print_)]),
        ratio("rate after the pauses to before", after, before, above=2),
    ).but(number("longest pause", of("longest_pause_s"), "s"))


SECTION_9 = section9.statements("maxburst", "max-delay", "implemented-two-way")

CLAIMS = claims_of(globals())
