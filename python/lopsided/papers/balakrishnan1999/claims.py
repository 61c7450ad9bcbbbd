"""The statements of the paper and the functions that judge them. Statements that give only numbers are rows of
`printed.py`."""

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
    Statements,
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

of_paper, of_arithmetic, ours = Statements(()), Statements((), "arithmetic"), Statements((), "ours")

UNLOADED_MS = 66.0
"""RTT in milliseconds of case A with empty queues, over 9.6 kbit/s with header compression."""
FULL_REVERSE_BUFFER = "case A, 9.6 kbps with header compression, full reverse buffer"
LOCKED_OUT = "Reno, forward acks fill the reverse buffer"


def _reno(m: Measurements, line: str, column: str = "throughput_bps") -> Spread:
    return m.value("one-way", column, line=line, scheme=RENO.key)


def _bound_of_a_window(m: Measurements) -> Measured:
    """Returns an upper bound of the download's throughput (section 7.1.3): one window of data per upload packet."""
    return mbit("the bound of a window for each packet", metrics.blocked_window_bps(100e3, 1000, 28.8e3))


# --- Case A: one download, no forward loss

RENO_OVER_SLOW_RETURN_LINES = of_paper.near_print(
    "reno-over-slow-return-lines",
    "Over uncompressed return lines of 9.6 and 28.8 kbit/s Reno gets 1.93 and 4.48 Mbit/s, over 9.6 kbit/s compressed "
    "6.67.",
    "section 7.1.1, figure 8",
    measured((printed.FIGURE_8[0], printed.FIGURE_8[2], printed.FIGURE_8[1])),
    needs=("one-way",),
)


@of_paper(
    "Header compression is a big win: it brings Reno from less than half to most of 10 Mbit/s at 28.8 kbit/s.",
    "section 7.1.1, figure 8",
    needs=("one-way",),
)
def compression_is_a_big_win(m: Measurements) -> Verdict:
    compressed, plain = mbit("with compression", _reno(m, DIALUP.key)), mbit("without", _reno(m, UNCOMPRESSED.key))
    return all_of(ratio("with over without", compressed, plain, above=2), at_least(9.0, [compressed]))


QUEUED_ACKS_LENGTHEN_THE_ROUND_TRIP = of_arithmetic.near_print(
    "queued-acks-lengthen-the-round-trip",
    "At 9.6 kbit/s compressed a full buffer of 10 ACKs adds 50 ms to the round trip, which holds Reno back.",
    "section 7.1.1",
    lambda m: [
        number(
            "added to the round trip",
            _reno(m, COMPRESSED_SLOW.key, "rtt_ms").median - UNLOADED_MS,
            "ms",
            published=m.published.find("Section 7.1.1", "added_delay", case=FULL_REVERSE_BUFFER),
        )
    ],
    needs=("one-way",),
)


@ours(
    "The loss of ACKs before the return line lets Reno exceed the limit of one packet for each ACK that the line "
    "carries.",
    "section 4.2.1",
    needs=("one-way",),
)
def lost_acks_let_more_go(m: Measurements) -> Verdict:
    return all_of(
        *(
            ratio(
                f"Reno over the limit at {line.title}",
                mbit(f"Reno at {line.title}", _reno(m, line.key)),
                mbit("the limit", ack_limit_bps(line)),
                above=1,
            )
            for line in LINES
            if ack_limit_bps(line) < 9e6
        )
    )


@of_paper(
    "ACK filtering helps where k is large: over 9.6 kbit/s a download gets several times Reno's rate, over 9.6 kbit/s "
    "compressed and 28.8 kbit/s nearly the line rate.",
    "section 7.1.1, figure 8",
    needs=("one-way",),
)
def filtering_helps_where_k_is_large(m: Measurements) -> Verdict:
    def of(line: str) -> Spread:
        return m.value("one-way", "throughput_bps", line=line, scheme=AF_SA.key)

    slowest = mbit("AF at 9.6 kbit/s", of(SLOWEST.key)), mbit("Reno there", _reno(m, SLOWEST.key))
    return all_of(
        ratio("AF over Reno at 9.6 kbit/s", *slowest, above=2),
        at_least(9.0, [mbit(f"AF at {line.title}", of(line.key)) for line in (COMPRESSED_SLOW, UNCOMPRESSED)]),
    )


@of_paper(
    "ACC is somewhat below AF over 9.6 and 28.8 kbit/s, and both are above Reno.",
    "section 7.1.1, figure 8",
    needs=("one-way",),
)
def both_help_where_k_is_large(m: Measurements) -> Verdict:
    def of(scheme: Scheme, line: Line) -> Measured:
        found = m.value("one-way", "throughput_bps", line=line.key, scheme=scheme.key)
        return mbit(f"{scheme.title} at {line.title}", found)

    return all_of(*(ordered([of(each, line) for each in (AF_SA, ACC_SA, RENO)]) for line in (SLOWEST, UNCOMPRESSED)))


# --- Case B: forward loss

RENO_WITH_FORWARD_LOSS = of_paper.near_print(
    "reno-with-forward-loss",
    "With forward loss Reno gets 6.71 Mbit/s, with a mean window of 66.7 packets and a mean RTT of 79 ms.",
    "table 1",
    measured(printed.table_1(RENO)),
    needs=("lossy",),
)

REMEDIES_WITH_FORWARD_LOSS = of_paper.near_print(
    "remedies-with-forward-loss",
    "With forward loss ACC/SA gets 6.95 Mbit/s with a window of 62 packets, AF/SA 7.82 with 65.3, AF/AR 8.57 with "
    "104.6.",
    "table 1",
    measured(row for scheme in (ACC_SA, AF_SA, AF_AR) for row in printed.table_1(scheme)),
    needs=("lossy",),
    fails=True,
)


@of_paper(
    "With forward loss ACK filtering alone is worse than Reno: 5.16 Mbit/s, a mean window of 43.8 packets, 65 ms.",
    "table 1, section 7.1.1",
    needs=("lossy",),
)
def filtering_alone_is_worse_with_loss(m: Measurements) -> Verdict:
    alone = measured(printed.table_1(AF_ALONE))(m)
    rates = [mbit("Reno", lossy(m, RENO, "throughput_bps")), *list(alone)[:1]]
    return all_of(ordered(rates), near(alone))


@of_paper(
    "With forward loss AF/AR is best and AF/SA next, both above ACC/SA and Reno; ACC/SA is a little above Reno.",
    "table 1, section 7.1.1",
    needs=("lossy",),
    fails=True,
)
def filtering_is_best_with_loss(m: Measurements) -> Verdict:
    return ordered((printed.table_1(scheme)[0].measured(m) for scheme in (AF_AR, AF_SA, ACC_SA, RENO)), by=1)


# --- Two downloads

RENO_DOWNLOADS_DO_NOT_SHARE = of_paper.near_print(
    "reno-downloads-do-not-share",
    "Two Reno downloads do not share: the first gets everything, the fairness index is 0.5 and the total 9.80 Mbit/s.",
    "table 2",
    measured(printed.table_2(RENO)),
    needs=("two-downloads",),
)

REMEDIES_MAKE_DOWNLOADS_SHARE = of_paper.near_print(
    "remedies-make-downloads-share",
    "ACC and AF make two downloads share: fairness indices of 0.95 and 0.99, at 8.59 and 8.98 Mbit/s in all.",
    "section 7.1.2, table 2",
    measured(row for scheme in (ACC_SA, AF_SA) for row in printed.table_2(scheme)),
    needs=("two-downloads",),
    fails=True,
)

# --- One download and one upload in parallel

TWO_KINDS_OF_TWO_WAY_RUNS = of_paper.near_print(
    "two-kinds-of-two-way-runs",
    "Beside an upload, Reno's runs are of two kinds: in 20 % the download's ACKs lock the upload out, which gets "
    "nothing; in the others the two take turns.",
    "section 7.1.3, table 3",
    lambda m: [
        percent("locked out", locked_out(m, RENO), m.published.find("Section 7.1.3", "share_of_runs", case=LOCKED_OUT))
    ],
    needs=("two-way",),
    notes=(
        "The upload's first packet delays the ACKs behind it while it crosses the LAN. In that time the queue makes "
        "room with a probability of three quarters. Timers are multiples of the period of this room. A retransmission "
        "therefore meets the same queue as the first packet",
    ),
)

LOCK_OUT_LEAVES_THE_DOWNLOAD_EVERYTHING = of_arithmetic.near_print(
    "lock-out-leaves-the-download-everything",
    "If the upload is locked out the download gets 9.93 Mbit/s.",
    "table 3",
    measured(printed.LOCKED_OUT[:1]),
    needs=("two-way",),
)


@of_paper(
    "If download and upload take turns, the download gets 1.80 Mbit/s, less than a window for each of the upload's "
    "packets, and the upload 22.7 kbit/s.",
    "table 3, section 7.1.3",
    needs=("two-way",),
    fails=True,
)
def taking_turns(m: Measurements) -> Verdict:
    return near(measured(printed.TAKING_TURNS)(m)).but(_bound_of_a_window(m))


@of_paper(
    "Acks-first with ACK filtering starves the upload: ACKs arrive faster than they drain, so one always waits.",
    "section 7.1.3, table 3",
    needs=("two-way",),
)
def filtering_with_acks_first_starves_the_upload(m: Measurements) -> Verdict:
    return all_of(
        at_least(9.0, [mbit("download", two_way(m, AF_SA_FIRST, "forward_bps"))]),
        at_most(0.5, [kbit("upload", two_way(m, AF_SA_FIRST, "reverse_bps"))]),
    )


ACC_BESIDE_AN_UPLOAD, AF_BESIDE_AN_UPLOAD, RECONSTRUCTION_BESIDE_AN_UPLOAD, RECONSTRUCTION_WITH_ACKS_FIRST = (
    of_paper.near_print(key, statement, where, measured(printed.table_3(scheme)), needs=("two-way",), fails=fails)
    for key, scheme, fails, statement, where in (
        (
            "acc-beside-an-upload",
            ACC_SA,
            True,
            "Beside an upload ACC gets 1.50 Mbit/s and leaves the upload 19.4 kbit/s.",
            "table 3",
        ),
        (
            "af-beside-an-upload",
            AF_SA,
            True,
            "Beside an upload AF gets 0.54 Mbit/s, in bursts with pauses of seconds, and the upload 24.0 kbit/s.",
            "table 3, figure 10",
        ),
        (
            "reconstruction-beside-an-upload",
            AF_AR,
            True,
            "AF/AR beside an upload gets 2.03 Mbit/s and leaves 19.0 kbit/s.",
            "table 3",
        ),
        (
            "reconstruction-with-acks-first",
            AF_AR_FIRST,
            False,
            "AF/AR with acks-first locks the upload out as well.",
            "table 3",
        ),
    )
)


@of_paper(
    "ACC with acks-first gets 2.38 Mbit/s, below the bound of a window for each of the upload's packets, and the "
    "upload gets 25.9 kbit/s: the best of both.",
    "table 3, section 7.1.3",
    needs=("two-way",),
)
def acc_with_acks_first(m: Measurements) -> Verdict:
    rows = measured(printed.table_3(ACC_SA_FIRST))(m)
    return all_of(near(rows), ordered([_bound_of_a_window(m), *list(rows)[:1]], by=1))


@of_paper(
    "Of the schemes without acks-first, those with fewer ACKs leave the download less: Reno more than ACC, ACC more "
    "than AF.",
    "sections 7.1.3 and 9.1.3",
    needs=("two-way",),
    fails=True,
)
def fewer_acks_stall_more(m: Measurements) -> Verdict:
    return ordered(
        [
            mbit("Reno, taking turns", two_way(m, RENO, "forward_bps", locked=False)),
            *(mbit(each.title, two_way(m, each, "forward_bps")) for each in (ACC_SA, AF_SA)),
        ]
    )


# --- Packet radio

RENO_OVER_PACKET_RADIO = of_paper.near_print(
    "reno-over-packet-radio",
    "Over 1, 2 and 3 hops of packet radio Reno gets 40.7, 19.0 and 12.1 kbit/s.",
    "table 5",
    measured(printed.table_5(RENO, hops) for hops in HOPS),
    needs=("radio",),
)

ROUND_TRIPS_OVER_TWO_HOPS = of_paper.near_print(
    "round-trips-over-two-hops",
    "Over two hops Reno's round trips are long and vary: 2.67 s with a deviation of about 1 s.",
    "section 7.2.2, figure 13",
    measured(printed.figure_13(RENO)),
    needs=("radio",),
    fails=True,
)

REMEDIES_OVER_PACKET_RADIO = of_paper.near_print(
    "remedies-over-packet-radio",
    "Over packet radio AF/SA gets 51.0, 24.0 and 17.1 kbit/s over 1, 2 and 3 hops, ACC/SA 42.8, 22.0 and 14.5.",
    "table 5",
    measured(printed.table_5(scheme, hops) for scheme in (ACC_SA, AF_SA) for hops in HOPS),
    needs=("radio",),
    fails=True,
)


@of_paper(
    "Over one hop Reno shares less evenly the more connections there are: the index falls from 0.85 for two to 0.49 "
    "for twelve.",
    "section 7.2.3, figure 14",
    needs=("radio-many",),
    fails=True,
)
def fairness_falls_with_connections(m: Measurements) -> Verdict:
    found = measured(printed.FIGURE_14)(m)
    return all_of(ordered(found), near(found))


@of_paper(
    "Utilisation of one hop hardly depends on the number of connections: 42.8 to 47.1 kbit/s for two to twelve.",
    "section 7.2.3, table 6",
    needs=("radio-many",),
)
def utilisation_hardly_depends_on_connections(m: Measurements) -> Verdict:
    found = measured(printed.table_6(RENO, connections) for connections in (2, 4, 6, 8, 10, 12))(m)
    return all_of(agree_within(0.1, found), near(found))


@of_paper(
    "Over packet radio AF is better than ACC, since it removes all redundant ACKs, and both are better than Reno.",
    "section 7.2.2, figure 12",
    needs=("radio",),
    fails=True,
)
def filtering_is_best_over_radio(m: Measurements) -> Verdict:
    schemes = (AF_SA, ACC_SA, RENO)
    return all_of(*(ordered([printed.table_5(each, hops).measured(m) for each in schemes], by=1) for hops in HOPS))


@of_paper("Over two hops AF cuts the round trip and its deviation.", "section 7.2.2, figure 13", needs=("radio",))
def filtering_steadies_the_radio(m: Measurements) -> Verdict:
    def of(column: str, scheme: Scheme, name: str) -> Measured:
        found = m.value("radio", column, hops=2, scheme=scheme.key)
        return number(f"{name} of {scheme.title}", found, "s", scale=1e-3)

    quantities = (("mean", "rtt_ms"), ("deviation", "rtt_std_ms"))
    return all_of(*(ordered([of(column, each, name) for each in (RENO, AF_SA)]) for name, column in quantities))


@of_paper(
    "With many connections over packet radio AF shares more evenly than Reno.",
    "section 7.2.3, figure 14",
    needs=("radio-many",),
    fails=True,
)
def filtering_shares_the_radio(m: Measurements) -> Verdict:
    def of(scheme: Scheme, connections: int) -> Measured:
        found = m.value("radio-many", "fairness_index", connections=connections, scheme=scheme.key)
        return number(f"{scheme.title}, {connections} connections", found)

    return all_of(*(ordered([of(each, connections) for each in (AF_SA, RENO)], by=1) for connections in (4, 8, 12)))


@of_paper(
    "As hosts increase, AF gives the shortest pages over packet radio; ACC helps little, and leaving out sender "
    "adaptation costs little.",
    "section 7.3, figure 16",
    needs=("web",),
    fails=True,
)
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


@of_paper(
    "Between measured hosts the throughput nearly reaches the return line's limits: 1.1 Mbit/s over SLIP and 3.2 over "
    "CSLIP. With Ethernet back it is much more, and less with buffers beyond 16 kB, as a forward router's queue "
    "overflows.",
    "section 4.2.1, figure 2",
    needs=("measured",),
    fails=True,
)
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


RADIO_MAKES_LONG_TIMEOUTS = of_paper.near_print(
    "radio-makes-long-timeouts",
    "Over one hop of packet radio round trips vary so much that the retransmission timer is about 10 s: 2.5 s in the "
    "mean with a deviation of 1.5 s.",
    "section 5.2, figure 6",
    measured(printed.FIGURE_6[-2:]),
    needs=("measured-radio",),
    fails=True,
)


@of_paper(
    "A download that joins an upload over 9.6 kbit/s idles for long until the upload loses packets, at about 160 s, "
    "and is much faster from then on.",
    "section 4.2.2, figures 3 and 4",
    needs=("measured-two-way",),
    fails=True,
)
def a_download_waits_for_the_upload_to_lose(m: Measurements) -> Verdict:
    """The last pause of more than 5 s ends after about 160 s. The download is then at least twice as fast."""

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
