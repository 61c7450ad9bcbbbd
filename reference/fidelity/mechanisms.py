"""`python -m reference.fidelity.mechanisms`: compares each mechanism of Linux's TCP with Linux.

Each mechanism has packet scripts, and a small scenario in which it acts. The scenario runs on Linux and in the
simulator, and all packets are aligned (`lopsided compare --packets`). Writes `docs/fidelity/mechanisms.md`.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lopsided.cli.terminal import print_line
from lopsided.scenario import Scenario
from lopsided.studies import packets
from lopsided.worlds.kernel import KernelUnavailable
from reference.fidelity import promises, stamps
from reference.fidelity.promises import Promise
from reference.fidelity.stamps import Probe
from reference.fidelity.tables import section, table

Settings = Mapping[str, object]

SCRIPTS = Path("crates/tcp/src/tests/scripts")
PAGE = "fidelity/mechanisms.md"

_DIRECTION = {"rate": "8 Mbit/s", "queue": "200 packets", "shaper": "1600 B"}
_LINE = {
    "scenario": {"duration": "6 s"},
    "link": {"rtt": "40 ms", "down": _DIRECTION, "up": _DIRECTION},
    "flow": [{"name": "download", "direction": "down", "cc": "reno"}],
}


def _lost(*packets: int) -> Settings:
    """Returns settings that drop these packets of the download, by number, in both worlds."""
    return {"link.down.loss.packets": packets}


def _outages(way: str, *times: tuple[str, str]) -> Settings:
    return {f"link.{way}.loss.outages": times}


def _app(**keys: object) -> Settings:
    return {"flow.download.app": keys}


_HOLES = _lost(60, 63, 66, 90, 300, 301)


@dataclass(frozen=True)
class Mechanism:
    """A mechanism of Linux: its packet scripts, and a scenario in which it acts."""

    name: str
    scripts: tuple[str, ...]
    """Scripts, as `file::test` below `crates/tcp/src/tests/scripts`."""
    settings: Settings
    acts: str = ""
    """Column of `flows` that is positive if the mechanism acted, if there is one."""
    ignored: tuple[str, ...] = field(default=())

    def scenario(self) -> Scenario:
        """Returns the common scenario with the mechanism's settings."""
        return Scenario.build(_LINE, "mechanism.toml").with_(**self.settings)


MECHANISMS: tuple[Mechanism, ...] = (
    Mechanism(
        "PRR, limited transmit, RACK by SACK",
        (
            "recovery::prr_sends_one_segment_for_two_delivered_until_the_flight_is_at_the_threshold",
            "recovery::prr_grows_back_to_the_threshold_in_slow_start_after_heavy_loss",
        ),
        _HOLES,
        "fast_retransmits",
    ),
    Mechanism(
        "a retransmission that is lost too",
        ("recovery::a_lost_retransmission_is_found_by_what_was_sent_after_it",),
        _lost(100, 180, 181, 182, 190),
        "fast_retransmits",
    ),
    Mechanism(
        "NewReno without SACK",
        (
            "recovery::newreno_repairs_one_hole_a_round_trip",
            "recovery::prr_without_sack_counts_a_segment_for_each_duplicate",
            "recovery::without_sack_a_repair_lasts_until_something_beyond_its_point_is_acknowledged",
        ),
        {**_HOLES, "stack.sack": "false"},
        "fast_retransmits",
    ),
    Mechanism(
        "no timestamps: the receiver's round trip by its window",
        ("acking::without_timestamps_the_first_window_that_was_filled_gives_the_round_trip",),
        {**_HOLES, "stack.timestamps": "false"},
        "fast_retransmits",
    ),
    Mechanism(
        "a tail loss probe",
        (
            "timeouts::a_probe_sends_the_last_segment_after_two_round_trips",
            "timeouts::a_loss_that_the_probe_repaired_halves_the_window",
        ),
        {**_lost(36, 37), **_app(kind="transfer", size="50 kB", repeat=10, pause="200 ms")},
        "tail_probes",
    ),
    Mechanism(
        "timeouts, F-RTO and Eifel while the way back is down",
        (
            "timeouts::each_timeout_doubles_the_next_and_sends_one_segment",
            "timeouts::frto_sends_new_data_and_takes_the_timeout_back_when_an_original_arrives",
            "timeouts::eifel_takes_a_timeout_back_when_the_ack_echoes_the_original",
            "timeouts::linux_timers_fire_at_the_end_of_a_slot_of_the_wheel",
        ),
        {**_lost(40, 44), **_outages("up", ("0.30 s", "0.75 s"))},
        "undos",
    ),
    Mechanism(
        "a timeout during a repair; DSACK of what is held",
        (
            "acking::duplicates_are_reported_once_by_dsack",
            "acking::data_in_order_that_covers_what_is_held_is_reported_by_dsack",
        ),
        {**_lost(60, 63, 66, 90), **_outages("up", ("0.20 s", "0.62 s"), ("1.5 s", "2.1 s"))},
        "timeouts",
    ),
    Mechanism(
        "lost acknowledgements",
        ("acking::out_of_order_segments_and_filled_gaps_are_acknowledged_at_once",),
        {**_lost(60, 200, 600), "link.up.loss.packets": "[20, 22, 24, 26, 60, 61, 62, 63, 64, 65]"},
        "fast_retransmits",
    ),
    Mechanism(
        "a SYN and its answer lost",
        ("handshake::a_lost_syn_is_sent_again_with_doubled_timeouts_until_the_attempt_fails",),
        {**_lost(1, 20), "link.up.loss.packets": "[1]"},
    ),
    Mechanism(
        "RFC 2861: a window that is not used comes down",
        (
            "sending::linux_lets_a_window_that_is_not_used_come_down_half_of_the_way_each_rto",
            "sending::a_window_that_comes_down_unused_leaves_three_quarters_of_it_as_the_threshold",
            "sending::linux_halves_the_window_for_each_idle_timeout_down_to_the_initial_one",
        ),
        {"scenario.duration": "16 s", **_app(kind="on_off", on="1 s", off="3 s")},
    ),
    Mechanism(
        "pingpong: the end of each side, delayed and quick ACKs of short connections",
        (
            "acking::the_acknowledgement_of_a_fin_rides_on_this_ends_own",
            "acking::an_end_that_answers_acknowledges_with_its_answers",
            "closing::a_write_goes_out_by_itself_and_the_fin_of_the_close_behind_it_follows",
        ),
        _app(kind="transfer", size="700 B", repeat=30, pause="50 ms"),
        "transfers",
    ),
    Mechanism(
        "the FIN beyond the congestion window",
        ("sending::linux_lets_the_segment_with_the_fin_go_beyond_the_congestion_window",),
        _app(kind="transfer", size="60 kB", repeat=30, pause="50 ms"),
        "transfers",
    ),
    Mechanism(
        "a FIN that comes before the data",
        (
            "acking::a_fin_without_data_behind_a_gap_is_a_block_of_its_own",
            "closing::a_fin_that_comes_early_is_kept_until_the_gap_is_filled",
        ),
        {**_lost(8), **_app(kind="transfer", size="8459 B", repeat=10, pause="200 ms")},
        "fast_retransmits",
    ),
    Mechanism(
        "a repair without SACK that takes longer than the timeout",
        ("sending::a_repair_without_new_data_is_no_idle_time",),
        {**_lost(*range(60, 121, 2)), "stack.sack": "false"},
        "fast_retransmits",
    ),
    Mechanism(
        "an initial window of twenty: room for two in the send buffer, PSH where the first write ends",
        (
            "sending::linux_has_room_for_two_initial_windows_from_the_start",
            "sending::linux_pushes_the_end_of_a_write_and_beyond_each_half_window",
        ),
        {**_HOLES, "stack.initial_window": '"20 segments"'},
        "fast_retransmits",
    ),
    Mechanism(
        "an initial window of two, its segments lost",
        ("sending::linux_begins_with_ten_segments_and_grows_by_what_is_delivered",),
        {**_lost(3, 4, 60, 63, 66, 90, 300, 301), "stack.initial_window": '"2 segments"'},
        "fast_retransmits",
    ),
    Mechanism(
        "a small receive buffer",
        ("acking::a_full_buffer_closes_the_window_and_reading_opens_it_by_no_less_than_a_segment",),
        {**_HOLES, "flow.download.receiver_stack.receive_buffer": '"20000 B"'},
        "fast_retransmits",
    ),
    Mechanism(
        "small segments",
        ("acking::small_segments_are_acknowledged_in_pairs_too",),
        {**_HOLES, "stack.mss": '"536 B"'},
        "fast_retransmits",
    ),
    Mechanism(
        "path-MTU discovery",
        (
            "path_mtu::what_was_out_goes_again_at_once_in_pieces_that_count_as_segments",
            "path_mtu::what_is_written_later_goes_in_full_segments_of_the_new_size",
        ),
        {"link.down.mtu": '"1400 B"', "flow.download.cc": '"vegas"'},
    ),
    Mechanism(
        "BBR: ProbeRTT in ticks, rates in fixed point",
        ("sending::bbr_empties_the_network_for_a_while_after_ten_seconds",),
        {"scenario.duration": "12 s", "flow.download.cc": '"bbr"'},
    ),
)


@dataclass(frozen=True)
class Held:
    """The result of comparing one mechanism."""

    mechanism: Mechanism
    packets: int
    same: int
    """Packets before the first with different content, or all."""
    first: packets.Divergence | None
    acted: bool


def hold(mechanism: Mechanism, kernel: str | None = None) -> Held:
    """Runs the scenario on Linux and in the simulator, and aligns the packets."""
    found = packets.compare(mechanism.scenario(), ignored=mechanism.ignored, kernel=kernel)
    counts = max((one.packets for one in found.found), default=(0, 0))
    acted = not mechanism.acts or all(float(side.run.flows[mechanism.acts][0]) > 0 for side in found.sides)
    parted = found.parted and found.parted.parted
    first = found.first and found.first.first
    return Held(mechanism, counts[0], parted.packets if parted else counts[0], first, acted)


SCRIPTS_ALONE: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "TCP_NODELAY, cork, Nagle",
        (
            "socket_options::nodelay_lets_a_short_segment_go_behind_another",
            "socket_options::cork_keeps_a_short_segment_until_it_is_full_or_uncorked_or_an_rto_has_passed",
            "sending::a_short_segment_waits_while_a_short_one_is_out",
        ),
    ),
    (
        "resets for unread data and after close",
        ("leaving::unread_data_is_answered_with_a_reset", "leaving::data_after_close_is_answered_with_a_reset"),
    ),
    (
        "replies that carry the ACK (pingpong)",
        (
            "acking::data_carries_the_acknowledgement_that_is_owed",
            "acking::an_end_that_answers_acknowledges_with_its_answers",
        ),
    ),
    (
        "reordering, and DSACK that widens RACK's reordering window",
        (
            "recovery::once_reordering_was_seen_rack_waits_a_quarter_of_the_round_trip",
            "recovery::dsack_widens_the_wait_for_reordering_only_where_some_was_seen",
            "recovery::once_much_reordering_was_seen_what_sack_reports_raises_the_window_too",
        ),
    ),
    (
        "PAWS, challenge ACKs and resets in the window",
        (
            "hostile::old_timestamps_are_refused_and_answered",
            "hostile::a_reset_in_the_window_but_not_its_edge_is_challenged",
        ),
    ),
)
"""Mechanisms that the kernel world cannot trigger: its applications write in one direction, and its lines keep the
order."""


WITHOUT: tuple[tuple[str, str], ...] = (
    (
        "PSH beyond each half of the largest window",
        "sending::linux_pushes_the_end_of_a_write_and_beyond_each_half_window",
    ),
    ("PSH at the end of a write", "sending::a_bare_fin_has_no_push"),
    (
        "RACK ignores the ACK of a spurious retransmission",
        "recovery::a_repair_that_was_not_needed_says_nothing_of_what_went_before_it",
    ),
    (
        "reordering is measured from the SACK state before the ACK",
        "recovery::the_blocks_of_one_ack_are_no_reordering_of_each_other",
    ),
    ("the receiver's measured MSS", "acking::short_segments_that_keep_coming_are_full_ones"),
    (
        "no SACK: more duplicate ACKs than segments in flight",
        "recovery::without_sack_more_duplicates_than_segments_out_are_of_reordering",
    ),
    ("no SACK: the count of duplicate ACKs decreases", "recovery::newreno_repairs_one_hole_a_round_trip"),
    (
        "no SACK: a state stays at its point",
        "recovery::without_sack_a_repair_lasts_until_something_beyond_its_point_is_acknowledged",
    ),
    (
        "no SACK: an undone recovery also lasts until its recovery point is passed (tcp_try_undo_recovery)",
        "recovery::without_sack_a_repair_that_was_taken_back_holds_its_state_too",
    ),
    ("tail loss probe: at least 2 ms", "timeouts::a_probe_sends_the_last_segment_after_two_round_trips"),
    ("RACK: at least 2 ms", "recovery::once_reordering_was_seen_rack_waits_a_quarter_of_the_round_trip"),
    ("slots of the timer wheel", "timeouts::linux_timers_fire_at_the_end_of_a_slot_of_the_wheel"),
    ("delayed ACKs in ticks", "acking::the_timeout_of_a_delayed_ack_is_kept_in_whole_ticks"),
    (
        "delayed ACKs after 40 ms",
        "acking::linux_waits_forty_milliseconds_for_a_second_segment_and_longer_when_it_waited_in_vain",
    ),
    ("ts_recent only from acceptable segments", "hostile::only_a_segment_at_the_left_edge_sets_the_timestamp_to_echo"),
    (
        "a segment that ends at the last ACK is acceptable",
        "acking::a_retransmission_of_what_was_acknowledged_last_has_its_timestamp_echoed",
    ),
    ("pingpong: replies", "acking::an_end_that_answers_acknowledges_with_its_answers"),
    ("pingpong: the ACK of a FIN", "acking::the_acknowledgement_of_a_fin_rides_on_this_ends_own"),
    ("tcp_may_raise_cwnd", "recovery::once_much_reordering_was_seen_what_sack_reports_raises_the_window_too"),
    ("Nagle", "sending::a_short_segment_waits_while_a_short_one_is_out"),
    ("TCP_NODELAY", "socket_options::nodelay_lets_a_short_segment_go_behind_another"),
    ("TCP_CORK", "socket_options::cork_keeps_a_short_segment_until_it_is_full_or_uncorked_or_an_rto_has_passed"),
    ("DSACK for held data", "acking::data_in_order_that_covers_what_is_held_is_reported_by_dsack"),
    ("whole segments in a SYN ACK's window", "handshake::the_answer_to_a_syn_offers_whole_segments"),
    ("a reset for unread data", "leaving::unread_data_is_answered_with_a_reset"),
    ("a reset after a full close", "leaving::data_after_close_is_answered_with_a_reset"),
    ("the minimum send buffer", "sending::the_least_send_buffer_takes_three_segments"),
    (
        "RFC 2861: an unused window",
        "sending::linux_lets_a_window_that_is_not_used_come_down_half_of_the_way_each_rto",
    ),
    (
        "RFC 2861: after an idle time",
        "sending::linux_halves_the_window_for_each_idle_timeout_down_to_the_initial_one",
    ),
    ("idle time also counts from a retransmission", "sending::a_repair_without_new_data_is_no_idle_time"),
    ("receive-buffer autotuning", "acking::the_receive_window_grows_to_twice_what_a_round_trip_brings"),
    (
        "the window when a gap closes",
        "acking::the_window_opens_by_the_memory_there_was_before_a_gap_was_closed",
    ),
    (
        "the receiver's round trip by its window",
        "acking::without_timestamps_the_first_window_that_was_filled_gives_the_round_trip",
    ),
    (
        "the FIN behind the write",
        "closing::a_write_goes_out_by_itself_and_the_fin_of_the_close_behind_it_follows",
    ),
    (
        "the FIN beyond the congestion window",
        "sending::linux_lets_the_segment_with_the_fin_go_beyond_the_congestion_window",
    ),
    ("SACK of a FIN without data", "acking::a_fin_without_data_behind_a_gap_is_a_block_of_its_own"),
    (
        "a SACK that restarts the retransmission timer",
        "timeouts::a_sack_of_what_was_sent_before_the_repair_sets_the_timeout_anew",
    ),
    ("a send buffer of two initial windows", "sending::linux_has_room_for_two_initial_windows_from_the_start"),
    (
        "path-MTU discovery: data in flight is sent again",
        "path_mtu::what_was_out_goes_again_at_once_in_pieces_that_count_as_segments",
    ),
    ("ProbeRTT", "sending::bbr_empties_the_network_for_a_while_after_ten_seconds"),
    ("F-RTO", "timeouts::frto_sends_new_data_and_takes_the_timeout_back_when_an_original_arrives"),
    ("Eifel", "timeouts::eifel_takes_a_timeout_back_when_the_ack_echoes_the_original"),
    ("undo by DSACK", "timeouts::dsack_takes_a_fast_retransmit_back_when_recovery_is_over"),
    ("DSACK", "acking::duplicates_are_reported_once_by_dsack"),
    ("ACK compression", "acking::linux_compresses_duplicate_acks_after_the_third"),
    ("a segment with PSH is acknowledged at once", "acking::linux_acknowledges_at_once_what_ends_a_message"),
    (
        "ECN: a segment that cannot be marked counts as a retransmission",
        "ecn::linux_takes_a_segment_that_cannot_be_marked_for_a_repair_and_acknowledges_two_at_once",
    ),
    (
        "an ACK that would shrink the window waits for the read",
        "acking::an_ack_that_would_offer_less_waits_for_the_read",
    ),
    (
        "the first unacknowledged segment arms the delayed-ACK timer",
        "acking::the_first_segment_that_waits_sets_the_timer_of_all",
    ),
    (
        "a half-full buffer ends quick ACKs",
        "acking::nothing_is_acknowledged_quickly_once_the_buffer_is_half_full",
    ),
    (
        "DSACK of a retransmission counts as delivered",
        "recovery::what_dsack_reports_counts_as_delivered_where_it_went_again",
    ),
    (
        "minimum RTT: newest SACKed segment first",
        "info::the_smallest_round_trip_is_of_the_newest_segment_that_was_sacked",
    ),
    (
        "minimum RTT: the timestamp echo after a retransmission",
        "info::behind_a_retransmission_the_echo_is_the_smallest_round_trip",
    ),
    (
        "the receiver's RTT in units of 1/8 µs, once per echo",
        "acking::the_receivers_round_trip_is_kept_in_eighths_of_a_microsecond",
    ),
    ("half of odd memory is rounded up", "acking::of_odd_memory_the_larger_half_is_offered"),
    ("windows in units of the received segment size (rcv_mss)", "acking::windows_are_rounded_to_segments_as_they_come"),
    (
        "windows grow by the advertised MSS (advmss)",
        "acking::windows_grow_by_the_segments_that_were_offered_to_be_taken",
    ),
    (
        "pages with hardly any room left are not filled",
        "acking::a_page_with_hardly_any_room_left_holds_no_part_of_the_next_segment",
    ),
    (
        "old data outside the window: quick ACKs, and pingpong ends (tcp_send_dupack)",
        "quick_acks::old_data_outside_the_window_begin_sixteen_quick_acks",
    ),
    (
        "a duplicate within the window uses up a quick ACK",
        "quick_acks::a_duplicate_within_the_window_uses_up_a_quick_ack",
    ),
    ("the number of quick ACKs depends on the advertised window", "quick_acks::a_small_window_has_few_quick_acks"),
    ("a pause leaves the delayed-ACK timeout unchanged", "quick_acks::a_pause_leaves_the_delayed_ack_timeout_alone"),
    (
        "minimum RTT: ACKs that may be delayed (FLAG_ACK_MAYBE_DELAYED)",
        "info::a_delayed_ack_is_no_smallest_round_trip_that_ends_an_older_one",
    ),
    (
        "the buffer grows beyond its first window (rcvq_space)",
        "receive_memory::a_small_buffer_grows_once_a_round_trip_brings_more_than_its_first_window",
    ),
    (
        "small out-of-order segments open the window by their memory",
        "receive_memory::small_segments_out_of_order_open_the_window_too",
    ),
    (
        "in-order data with a FIN fills no gap, and the FIN starts pingpong",
        "closing::a_fin_that_comes_with_data_in_order_fills_no_gap",
    ),
    (
        "data behind a filled gap is acknowledged before the application closes",
        "closing::what_a_filled_gap_leads_up_to_is_acknowledged_before_the_application_closes",
    ),
    (
        "a reply to the first of several SYNs (tcp_try_undo_spurious_syn)",
        "handshake::an_answer_to_the_first_of_three_syns_leaves_the_initial_window",
    ),
    (
        "a SYN ACK sent again for a repeated SYN (num_retrans)",
        "handshake::an_answer_sent_again_for_a_repeated_syn_counts_as_lost_beside_one_that_timed_out",
    ),
    ("SYNs count", "handshake::syns_count_among_what_was_sent_again_and_timed_out"),
    (
        "ECN: CWR after a lost SYN",
        "ecn::after_a_lost_syn_the_first_data_says_that_the_window_came_down",
    ),
    (
        "ECN: two quick ACKs, starting with the first echoed mark",
        "ecn::linux_acknowledges_two_at_once_from_the_first_mark_on",
    ),
    (
        "reordering by a late original segment that fills a hole (tcp_try_undo_partial)",
        "recovery::an_original_that_fills_the_hole_late_tells_how_far_the_path_reorders",
    ),
    (
        "BBR: packets in flight when pacing releases the next segment (bbr_packets_in_net_at_edt)",
        "sending::bbr_ends_drain_by_what_is_out_when_the_next_segment_may_go",
    ),
    (
        "segments sent after a pause are app-limited (tcp_rate_gen)",
        "info::what_is_sent_after_a_pause_measures_the_application",
    ),
    (
        "in slow start a window that is more than half used is not reduced",
        "sending::in_slow_start_a_window_of_which_half_is_used_waits_for_its_decay",
    ),
    (
        "an ACK checks the use of the window only if data was sent or the window limited the sender",
        "sending::an_ack_that_lets_nothing_go_says_nothing_of_the_window",
    ),
)
"""Rules, each with a packet script that fails without it. Each was switched off by hand to verify this."""


def missing(root: Path) -> list[str]:
    """Returns packet scripts in these tables that do not exist."""
    named = [script for mechanism in MECHANISMS for script in mechanism.scripts]
    named += [script for _, scripts in SCRIPTS_ALONE for script in scripts]
    named += [script for _, script in WITHOUT]
    return [script for script in named if not exists(root, script)]


def exists(root: Path, script: str) -> bool:
    """True if the packet script `file::test` exists."""
    file, test = script.split("::")
    path = root / SCRIPTS / f"{file}.rs"
    return path.is_file() and re.search(rf"fn {test}\(", path.read_text()) is not None


_HEAD = """\
# Mechanisms of Linux's TCP, one by one

Made by `python -m reference.fidelity.mechanisms`; do not edit. For each mechanism, there are packet scripts
(`crates/tcp/src/tests/scripts`), and a small scenario in which the mechanism takes effect. The scenario runs once on
Linux 6.1 and once in the simulator, and both worlds lose the same packets. All packets at both hosts are compared
([what is compared](../packets.md)). The table shows how many packets are equal before the two worlds diverge, and
which field differs first.

"""


def render(held: Iterable[Held]) -> str:
    """The page."""
    held = list(held)
    whole = [one for one in held if one.same == one.packets]
    lines = [
        _HEAD + f"Scenarios in which all packets are equal until the end of the run: **{len(whole)} of {len(held)}**.\n"
    ]
    lines += promises.rows(promised(len(held), len(whole), sum(one.acted for one in held)))
    lines += table("mechanism | packets | the same | first difference | script", map(_cells, held))
    lines += section(
        "By scripts alone",
        "The kernel world cannot produce these cases, because its applications write in only one direction, and its\n"
        "lines do not reorder packets.",
        table("mechanism | script", ((name, listed(scripts)) for name, scripts in SCRIPTS_ALONE)),
    )
    lines += section(
        "Scripts that fail without their rule",
        "Each rule was disabled by hand in the source code, one at a time. Each listed script then failed.",
        table("rule | a script that fails without it", ((name, f"`{script}`") for name, script in WITHOUT)),
    )
    return "\n".join(lines)


def _cells(one: Held) -> tuple[str, ...]:
    first = "none" if one.first is None else f"{' '.join(one.first.fields)}, after {one.first.packets:,}"
    same = "all" if one.same == one.packets else f"{one.same:,}"
    name = one.mechanism.name + ("" if one.acted else " (did not act)")
    return name, f"{one.packets:,}", same, first, listed(one.mechanism.scripts)


def promised(scenarios: int, whole: int, acted: int) -> list[Promise]:
    """Returns two checks: each mechanism acts in its scenario, and all packets are equal."""
    return [
        promises.all_of(scenarios, "The mechanism acts in every scenario.", "scenarios in which it acts", acted),
        promises.all_of(scenarios, "The packets are the same to the end.", "scenarios with equal packets", whole),
    ]


def probes() -> list[Probe]:
    """Returns runs whose digests show whether the page is up to date."""
    return [Probe(mechanism.name, mechanism.scenario()) for mechanism in MECHANISMS[:4]]


def listed(scripts: Iterable[str]) -> str:
    """Formats the names of packet scripts for a table cell, one per line."""
    return "<br>".join(f"`{script}`" for script in scripts)


def main() -> int:
    """Runs all mechanisms and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m reference.fidelity.mechanisms", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the documentation")
    parser.add_argument("--only", default="", help="run only mechanisms with this in their names, and write no page")
    given = parser.parse_args()
    held: list[Held] = []
    try:
        for mechanism in MECHANISMS:
            if given.only in mechanism.name:
                held.append(hold(mechanism))
                print_line(f"{mechanism.name}: {held[-1].same:,} of {held[-1].packets:,}")
    except KernelUnavailable as reason:
        print_line(str(reason))
        return 1
    if not given.only:
        stamps.publish(given.docs / PAGE, render(held), probes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
