"""The paper's statements as functions that measure whether they hold."""

from __future__ import annotations

from collections.abc import Iterable

from lopsided import metrics
from lopsided.papers.balakrishnan1999 import section9
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
from lopsided.papers.balakrishnan1999.shared import (
    ack_limit_bps,
    locked_out,
    lossy,
    two_way,
)
from lopsided.papers.framework.claims import (
    Statements,
    agree_within,
    all_of,
    at_least,
    at_most,
    kbit,
    mbit,
    near,
    number,
    ordered,
    ratio,
)
from lopsided.papers.framework.measurements import Measurements, Spread
from lopsided.papers.framework.model import Claim, Measured, Verdict
from lopsided.papers.framework.published import PublishedValue

of_paper = Statements(())
ours = Statements((), "ours")


def _reno(m: Measurements, line: str, column: str = "throughput_bps") -> Spread:
    return m.value("one-way", column, line=line, scheme=RENO.key)


@of_paper(
    "Over uncompressed return lines of 9.6 and 28.8 kbit/s Reno gets 1.93 and 4.48 Mbit/s, over 9.6 kbit/s compressed "
    "6.67.",
    "section 7.1.1, figure 8",
    needs=("one-way",),
)
def reno_over_slow_return_lines(m: Measurements) -> Verdict:
    where = "Section 7.1.1 / Figure 8"
    printed = {
        SLOWEST.key: "case A, Reno, SLIP without header compression, first value printed",
        UNCOMPRESSED.key: "case A, Reno, SLIP without header compression, second value printed",
        COMPRESSED_SLOW.key: "case A, Reno, 9.6 kbps with header compression",
    }
    return near(
        [
            mbit(f"{line} kbit/s", _reno(m, line), m.published.find(where, "throughput", case=case))
            for line, case in printed.items()
        ]
    )


@of_paper(
    "Header compression is a big win: it brings Reno from less than half to most of 10 Mbit/s at 28.8 kbit/s.",
    "section 7.1.1, figure 8",
    needs=("one-way",),
)
def compression_is_a_big_win(m: Measurements) -> Verdict:
    with_it, without = _reno(m, DIALUP.key), _reno(m, UNCOMPRESSED.key)
    return all_of(
        ratio("with over without", mbit("with compression", with_it), mbit("without", without), above=2),
        at_least(9.0, [mbit("with compression", with_it)]),
    )


@of_paper(
    "At 9.6 kbit/s compressed the full buffer of 10 ACKs adds 50 ms to the round trip, which holds Reno back.",
    "section 7.1.1",
    needs=("one-way",),
    origin="arithmetic",
)
def queued_acks_lengthen_the_round_trip(m: Measurements) -> Verdict:
    unloaded = 66.0
    added = _reno(m, COMPRESSED_SLOW.key, "rtt_ms").median - unloaded
    case = "case A, 9.6 kbps with header compression, full reverse buffer"
    printed = m.published.find("Section 7.1.1", "added_delay", case=case)
    return near([number("added to the round trip", added, "ms", published=printed)])


@ours(
    "ACKs that are lost before the return line let Reno exceed the limit of one packet for each ACK that the line "
    "carries.",
    "section 4.2.1",
    needs=("one-way",),
)
def lost_acks_let_more_go(m: Measurements) -> Verdict:
    lines = [line for line in LINES if ack_limit_bps(line) < 9e6]
    return all_of(
        *(
            ratio(
                f"Reno over the limit at {line.title}",
                mbit(f"Reno at {line.title}", _reno(m, line.key)),
                mbit("the limit", ack_limit_bps(line)),
                above=1,
            )
            for line in lines
        )
    )


@of_paper(
    "With forward loss Reno gets 6.71 Mbit/s, with a mean window of 66.7 packets and a mean RTT of 79 ms.",
    "table 1",
    needs=("lossy",),
)
def reno_with_forward_loss(m: Measurements) -> Verdict:
    def printed(metric: str) -> PublishedValue:
        return m.published.find("Table 1", metric, protocol="Reno")

    return near(
        [
            mbit("throughput", lossy(m, RENO, "throughput_bps"), printed("throughput")),
            number("mean window", lossy(m, RENO, "cwnd_packets"), "packets", published=printed("average_cwnd")),
            number("mean RTT", lossy(m, RENO, "rtt_ms"), "ms", published=printed("average_rtt")),
        ]
    )


@of_paper(
    "Two Reno downloads do not share: the first gets everything, the fairness index is 0.5 and the total 9.80 Mbit/s.",
    "table 2",
    needs=("two-downloads",),
)
def reno_downloads_do_not_share(m: Measurements) -> Verdict:
    def of(column: str) -> Spread:
        return m.value("two-downloads", column, scheme=RENO.key)

    printed = m.published.find("Table 2", "fairness_index", protocol="Reno")
    total = m.published.find("Table 2", "total_throughput", protocol="Reno")
    return near(
        [number("fairness index", of("fairness_index"), published=printed), mbit("total", of("total_bps"), total)]
    )


@of_paper(
    "Beside an upload, Reno's runs are of two kinds: in a fifth the download's ACKs lock the upload out, which gets "
    "nothing; in the others the two take turns.",
    "section 7.1.3, table 3",
    needs=("two-way",),
)
def two_kinds_of_two_way_runs(m: Measurements) -> Verdict:
    case = "Reno, forward acks fill the reverse buffer"
    printed = m.published.find("Section 7.1.3", "share_of_runs", case=case)
    share = number("locked out", locked_out(m, RENO), "percent", scale=100, published=printed)
    note = (
        "The upload's first packet holds up the ACKs behind it while it crosses the LAN, in which time the queue makes "
        "room with a chance of three quarters. Every timer is a multiple of the time in which the pattern of room "
        "repeats, so what is sent again finds what it found the first time."
    )
    return near([share]).but(notes=(note,))


@of_paper(
    "Where the upload is locked out the download gets 9.93 Mbit/s.",
    "table 3",
    needs=("two-way",),
    origin="arithmetic",
)
def lock_out_leaves_the_download_everything(m: Measurements) -> Verdict:
    printed = m.published.find("Table 3", "forward_throughput", protocol="Reno", runs_share="20 percent of runs")
    return near([mbit("download", two_way(m, RENO, "forward_bps", locked=True), printed)])


@of_paper(
    "Where they take turns, the download gets 1.80 Mbit/s, less than a window for each of the upload's packets, and "
    "the upload 22.7 kbit/s.",
    "table 3, section 7.1.3",
    needs=("two-way",),
    fails=True,
)
def taking_turns(m: Measurements) -> Verdict:
    def printed(way: str) -> PublishedValue:
        return m.published.find("Table 3", f"{way}_throughput", protocol="Reno", runs_share="80 percent of runs")

    forward = two_way(m, RENO, "forward_bps", locked=False)
    bound = metrics.blocked_window_bps(100e3, 1000, 28.8e3)
    return near(
        [
            mbit("download", forward, printed("forward")),
            kbit("upload", two_way(m, RENO, "reverse_bps", locked=False), printed("reverse")),
        ]
    ).but(mbit("the bound of a window for each packet", bound))


@of_paper(
    "Over 1, 2 and 3 hops of packet radio Reno gets 40.7, 19.0 and 12.1 kbit/s.",
    "table 5",
    needs=("radio",),
    fails=True,
)
def reno_over_packet_radio(m: Measurements) -> Verdict:
    return near(
        [
            kbit(
                f"{hops} hops",
                m.value("radio", "throughput_bps", hops=hops, scheme=RENO.key),
                m.published.find("Table 5", "throughput", hops=hops, protocol="Reno"),
            )
            for hops in (1, 2, 3)
        ]
    )


@of_paper(
    "Over two hops Reno's round trips are long and vary: 2.67 s with a deviation of about 1 s.",
    "section 7.2.2, figure 13",
    needs=("radio",),
    fails=True,
)
def round_trips_over_two_hops(m: Measurements) -> Verdict:
    where = "Section 7.2.2 / Figure 13"
    return near(
        [
            number(
                name,
                m.value("radio", column, hops=2, scheme=RENO.key),
                "s",
                scale=1e-3,
                published=m.published.find(where, metric, case="Reno, 2 hops"),
            )
            for name, column, metric in (
                ("mean RTT", "rtt_ms", "rtt_mean"),
                ("standard deviation", "rtt_std_ms", "rtt_std_dev"),
            )
        ]
    )


@of_paper(
    "Of more connections over one hop Reno makes an ever less even sharing: the index falls from 0.85 for two to 0.49 "
    "for twelve.",
    "section 7.2.3, figure 14",
    needs=("radio-many",),
    fails=True,
)
def fairness_falls_with_connections(m: Measurements) -> Verdict:
    where = "Section 7.2.3 / Figure 14"
    found = [
        number(
            f"{connections} connections",
            m.value("radio-many", "fairness_index", connections=connections, scheme=RENO.key),
            published=m.published.find(where, "fairness_index", case=f"Reno, {connections} connections"),
        )
        for connections in (2, 12)
    ]
    return all_of(ordered(found), near(found))


@of_paper(
    "Utilisation of one hop hardly depends on the number of connections: 42.8 to 47.1 kbit/s for two to twelve.",
    "section 7.2.3, table 6",
    needs=("radio-many",),
)
def utilisation_hardly_depends_on_connections(m: Measurements) -> Verdict:
    found = [
        kbit(
            f"{connections} connections",
            m.value("radio-many", "throughput_bps", connections=connections, scheme=RENO.key),
            m.published.find("Table 6", "aggregate_throughput", connections=connections, protocol="Reno"),
        )
        for connections in (2, 4, 6, 8, 10, 12)
    ]
    return all_of(agree_within(0.1, found), near(found))


@of_paper(
    "ACK filtering helps where k is large: over 9.6 kbit/s a download gets several times Reno's, over 9.6 kbit/s "
    "compressed and 28.8 kbit/s nearly the line.",
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
    "With forward loss ACK filtering alone is worse than Reno: 5.16 Mbit/s, a mean window of 43.8 packets, 65 ms.",
    "table 1, section 7.1.1",
    needs=("lossy",),
)
def filtering_alone_is_worse_with_loss(m: Measurements) -> Verdict:
    def printed(metric: str) -> PublishedValue:
        return m.published.find("Table 1", metric, protocol="AF alone")

    rate = mbit("AF alone", lossy(m, AF_ALONE, "throughput_bps"), printed("throughput"))
    return all_of(
        ordered([mbit("Reno", lossy(m, RENO, "throughput_bps")), rate]),
        near(
            [
                rate,
                number("mean window", lossy(m, AF_ALONE, "cwnd_packets"), "packets", published=printed("average_cwnd")),
                number("mean RTT", lossy(m, AF_ALONE, "rtt_ms"), "ms", published=printed("average_rtt")),
            ]
        ),
    )


@of_paper(
    "Acks-first with ACK filtering starves the upload: ACKs come faster than they drain, so one always waits.",
    "section 7.1.3, table 3",
    needs=("two-way",),
)
def filtering_with_acks_first_starves_the_upload(m: Measurements) -> Verdict:
    return all_of(
        at_least(9.0, [mbit("download", two_way(m, AF_SA_FIRST, "forward_bps"))]),
        at_most(0.5, [kbit("upload", two_way(m, AF_SA_FIRST, "reverse_bps"))]),
    )


@of_paper(
    "Between measured hosts the return line's limits are nearly reached: 1.1 Mbit/s over SLIP and 3.2 over CSLIP; with "
    "Ethernet back it is much more, and less with buffers beyond 16 kB, as a forward router's queue overflows.",
    "section 4.2.1, figure 2",
    needs=("measured",),
    fails=True,
)
def measured_limits(m: Measurements) -> Verdict:
    def of(line: str, size: int) -> Spread:
        return m.value("measured", "throughput_bps", line=line, buffer_kb=size)

    section = "Section 4.2.1 / Figure 2"

    def printed(line: str) -> PublishedValue:
        return m.published.find(section, "throughput_limit", case=f"28.8 kbps {line} reverse, delayed acks")

    at_16, at_64 = mbit("Ethernet, 16 kB", of("Ethernet", 16)), mbit("Ethernet, 64 kB", of("Ethernet", 64))
    return all_of(
        near([mbit(f"{line}, 64 kB", of(line, 64), printed(line)) for line in ("SLIP", "CSLIP")]),
        ordered([at_16, at_64]),
    ).but(why="the limits are of a line whose window is open, and slow start takes a large part of 1 MB")


@of_paper(
    "Over one hop of packet radio round trips vary so much that the retransmission timer is about 10 s: 2.5 s in the "
    "mean with a deviation of 1.5 s.",
    "section 5.2, figure 6",
    needs=("measured-radio",),
    fails=True,
)
def radio_makes_long_timeouts(m: Measurements) -> Verdict:
    def of(column: str) -> Spread:
        return m.value("measured-radio", column, hops=1)

    where, case = "Section 5.2 / Figure 6b", "200 KB transfer, one wireless hop"
    return near(
        [
            number(name, of(column), "s", scale=1e-3, published=m.published.find(where, metric, case=case))
            for name, column, metric in (("mean RTT", "rtt_ms", "rtt_mean"), ("deviation", "rtt_std_ms", "rtt_std_dev"))
        ]
    )


@of_paper(
    "A download that joins an upload over 9.6 kbit/s idles for long until the upload loses packets, at about 160 s, "
    "and is much faster from then on.",
    "section 4.2.2, figures 3 and 4",
    needs=("measured-two-way",),
    fails=True,
)
def a_download_waits_for_the_upload_to_lose(m: Measurements) -> Verdict:
    """The pauses of more than 5 s end near 160 s, and the download's rate after that is twice that before."""

    def of(column: str) -> Spread:
        return m.value("measured-two-way", column, line="9.6")

    case = "forward transfer against a 9.6 kbps reverse transfer"
    printed = m.published.find("Section 4.2.2 / Figure 4", "end_of_large_idle_periods", case=case)
    after, before = (kbit(f"rate {when} that", of(f"{when}_pauses_bps")) for when in ("after", "before"))
    return all_of(
        near([number("the last long pause ends at", of("last_long_pause_s"), "s", published=printed)]),
        ratio("rate after the pauses to before", after, before, above=2),
    ).but(number("longest pause", of("longest_pause_s"), "s"))


@of_paper(
    "With forward loss AF/AR is best and AF/SA next, both above ACC/SA and Reno; ACC/SA is a little above Reno.",
    "table 1, section 7.1.1",
    needs=("lossy",),
    fails=True,
)
def filtering_is_best_with_loss(m: Measurements) -> Verdict:
    return ordered(
        [mbit(scheme.title, lossy(m, scheme, "throughput_bps")) for scheme in (AF_AR, AF_SA, ACC_SA, RENO)], by=1
    )


@of_paper(
    "With forward loss ACC/SA gets 6.95 Mbit/s with a window of 62 packets, AF/SA 7.82 with 65.3, AF/AR 8.57 with "
    "104.6.",
    "table 1",
    needs=("lossy",),
    fails=True,
)
def remedies_with_forward_loss(m: Measurements) -> Verdict:
    def of(scheme: Scheme) -> Iterable[Measured]:
        printed = {
            metric: m.published.find("Table 1", metric, protocol=scheme.title)
            for metric in ("throughput", "average_cwnd", "average_rtt")
        }
        yield mbit(scheme.title, lossy(m, scheme, "throughput_bps"), printed["throughput"])
        window, rtt = lossy(m, scheme, "cwnd_packets"), lossy(m, scheme, "rtt_ms")
        yield number(f"window of {scheme.title}", window, "packets", published=printed["average_cwnd"])
        yield number(f"RTT of {scheme.title}", rtt, "ms", published=printed["average_rtt"])

    return near([each for scheme in (ACC_SA, AF_SA, AF_AR) for each in of(scheme)])


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


@of_paper(
    "ACC and AF make two downloads share: fairness indices of 0.95 and 0.99, at 8.59 and 8.98 Mbit/s in all.",
    "section 7.1.2, table 2",
    needs=("two-downloads",),
    fails=True,
)
def remedies_make_downloads_share(m: Measurements) -> Verdict:
    def of(scheme: Scheme) -> Iterable[Measured]:
        name = scheme.title.split("/")[0]
        index = m.value("two-downloads", "fairness_index", scheme=scheme.key)
        total = m.value("two-downloads", "total_bps", scheme=scheme.key)
        yield number(f"index of {name}", index, published=m.published.find("Table 2", "fairness_index", protocol=name))
        yield mbit(f"total of {name}", total, m.published.find("Table 2", "total_throughput", protocol=name))

    return near([each for scheme in (ACC_SA, AF_SA) for each in of(scheme)])


def _table_3(m: Measurements, scheme: Scheme) -> Verdict:
    def printed(way: str) -> PublishedValue:
        return m.published.find("Table 3", f"{way}_throughput", protocol=scheme.title)

    return near(
        [
            mbit("download", two_way(m, scheme, "forward_bps"), printed("forward")),
            kbit("upload", two_way(m, scheme, "reverse_bps"), printed("reverse")),
        ]
    )


@of_paper(
    "Beside an upload ACC gets 1.50 Mbit/s and leaves the upload 19.4 kbit/s.",
    "table 3",
    needs=("two-way",),
    fails=True,
)
def acc_beside_an_upload(m: Measurements) -> Verdict:
    return _table_3(m, ACC_SA)


@of_paper(
    "ACC with acks-first gets 2.38 Mbit/s, below the bound of a window for each of the upload's packets, which gets "
    "25.9 kbit/s: the best of both.",
    "table 3, section 7.1.3",
    needs=("two-way",),
)
def acc_with_acks_first(m: Measurements) -> Verdict:
    bound = mbit("a window for each packet", metrics.blocked_window_bps(100e3, 1000, 28.8e3))
    download = mbit("the download", two_way(m, ACC_SA_FIRST, "forward_bps"))
    return all_of(_table_3(m, ACC_SA_FIRST), ordered([bound, download], by=1))


@of_paper(
    "Beside an upload AF gets 0.54 Mbit/s, in bursts with pauses of seconds, and the upload 24.0 kbit/s.",
    "table 3, figure 10",
    needs=("two-way",),
    fails=True,
)
def af_beside_an_upload(m: Measurements) -> Verdict:
    return _table_3(m, AF_SA)


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


@of_paper("AF/AR beside an upload gets 2.03 Mbit/s and leaves 19.0 kbit/s.", "table 3", needs=("two-way",), fails=True)
def reconstruction_beside_an_upload(m: Measurements) -> Verdict:
    return _table_3(m, AF_AR)


@of_paper("AF/AR with acks-first locks the upload out as well.", "table 3", needs=("two-way",))
def reconstruction_with_acks_first(m: Measurements) -> Verdict:
    return _table_3(m, AF_AR_FIRST)


@of_paper(
    "Over packet radio AF/SA gets 51.0, 24.0 and 17.1 kbit/s over 1, 2 and 3 hops, ACC/SA 42.8, 22.0 and 14.5.",
    "table 5",
    needs=("radio",),
    fails=True,
)
def remedies_over_packet_radio(m: Measurements) -> Verdict:
    return near(
        [
            kbit(
                f"{scheme.title}, {hops} hops",
                m.value("radio", "throughput_bps", hops=hops, scheme=scheme.key),
                m.published.find("Table 5", "throughput", hops=hops, protocol=scheme.title),
            )
            for scheme in (ACC_SA, AF_SA)
            for hops in HOPS
        ]
    )


@of_paper(
    "Over packet radio AF is better than ACC, since it removes all redundant ACKs, and both are better than Reno.",
    "section 7.2.2, figure 12",
    needs=("radio",),
    fails=True,
)
def filtering_is_best_over_radio(m: Measurements) -> Verdict:
    def of(scheme: Scheme, hops: int) -> Measured:
        return kbit(f"{scheme.title}, {hops} hops", m.value("radio", "throughput_bps", hops=hops, scheme=scheme.key))

    return all_of(*(ordered([of(each, hops) for each in (AF_SA, ACC_SA, RENO)], by=1) for hops in HOPS))


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


CLAIMS: tuple[Claim, ...] = (
    reno_over_slow_return_lines,
    compression_is_a_big_win,
    queued_acks_lengthen_the_round_trip,
    lost_acks_let_more_go,
    reno_with_forward_loss,
    reno_downloads_do_not_share,
    two_kinds_of_two_way_runs,
    lock_out_leaves_the_download_everything,
    taking_turns,
    reno_over_packet_radio,
    round_trips_over_two_hops,
    fairness_falls_with_connections,
    utilisation_hardly_depends_on_connections,
    filtering_helps_where_k_is_large,
    filtering_alone_is_worse_with_loss,
    filtering_with_acks_first_starves_the_upload,
    measured_limits,
    radio_makes_long_timeouts,
    a_download_waits_for_the_upload_to_lose,
    filtering_is_best_with_loss,
    remedies_with_forward_loss,
    both_help_where_k_is_large,
    remedies_make_downloads_share,
    acc_beside_an_upload,
    acc_with_acks_first,
    af_beside_an_upload,
    fewer_acks_stall_more,
    reconstruction_beside_an_upload,
    reconstruction_with_acks_first,
    remedies_over_packet_radio,
    filtering_is_best_over_radio,
    filtering_steadies_the_radio,
    filtering_shares_the_radio,
    filtering_serves_pages_best,
    *section9.statements("maxburst", "max-delay", "implemented-two-way"),
)
