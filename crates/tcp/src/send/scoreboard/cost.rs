//! Tests of the number of search steps: with 20,000 holes, each hole costs less than 8 steps, in any order of events.

use super::{RateStamp, Scoreboard};
use lopsided_core::{Duration, Time};

const HOLES: u64 = 20_000;
const STAMP: RateStamp = RateStamp {
    delivered: 0,
    delivered_at: Time::ZERO,
    first_sent_at: Time::ZERO,
    in_flight: 0,
    lost: 0,
    app_limited: false,
};

/// Segments of one byte, sent 1 µs apart. Every second segment becomes a hole.
fn sent() -> Scoreboard {
    let mut board = Scoreboard::default();
    for number in 0..2 * HOLES {
        board.push(number, number + 1, 0, at(number), STAMP);
    }
    board
}

fn at(number: u64) -> Time {
    Time::ZERO + Duration::from_micros(number)
}

type Nth = fn(u64) -> u64;

/// Functions that return the `place`-th number below `HOLES` in ascending, descending or scattered order. 61,681 is
/// coprime to 20,000.
const ORDERS: [(&str, Nth); 3] =
    [("up", |place| place), ("down", |place| HOLES - 1 - place), ("all over", |place| place * 61_681 % HOLES)];

/// Returns the number of search steps per hole since the last call.
fn steps(board: &Scoreboard) -> f64 {
    board.steps.take() as f64 / HOLES as f64
}

#[test]
fn holes_in_any_order_cost_fewer_than_8_steps_each() {
    for (order, nth) in ORDERS {
        let mut board = sent();
        // The segments between the holes are SACKed. Loss detection runs after each SACK, before any hole is overdue.
        let mut newest = 0;
        for place in 0..HOLES {
            let number = 2 * nth(place) + 1;
            board.sack(number, number + 1, |_, _| ());
            newest = newest.max(number);
            board.mark_lost_by_time(at(newest), newest + 1, |_| Some(Duration::from_micros(1)));
        }
        assert_eq!(u64::from(board.merged_segments()), HOLES);
        let cost = steps(&board);
        assert!(cost > 0.1 && cost < 8.0, "{order}: waiting costs {cost}");

        // The holes become overdue one by one. Each is retransmitted and lost again.
        for hole in 0..HOLES {
            let overdue = at(2 * hole);
            let waiting = |sent_at| (sent_at > overdue).then_some(Duration::from_micros(1));
            board.mark_lost_by_time(at(newest), newest + 1, waiting);
            assert_eq!(board.next_to_retransmit(), Some(2 * hole));
            board.retransmit(2 * hole, at(2 * HOLES + hole), STAMP);
        }
        assert!(steps(&board) < 8.0, "{order}: lost");
        for place in 0..HOLES / 2 {
            // Retransmitted segments are SACKed from one end of the window, and marked lost again from the other end.
            let number = 2 * nth(place);
            board.sack(number, number + 1, |_, _| ());
            let overdue = at(2 * HOLES + place);
            let waiting = |sent_at| (sent_at > overdue).then_some(Duration::from_micros(1));
            board.mark_lost_by_time(at(3 * HOLES), 2 * HOLES, waiting);
        }
        assert!(steps(&board) < 8.0, "{order}: lost again");
        while let Some(number) = board.next_to_retransmit() {
            board.retransmit(number, at(4 * HOLES), STAMP);
        }
        board.mark_lost_below_highest_sack(2 * HOLES);
        board.mark_lost_by_distance(3, 0, 2 * HOLES);
        board.mark_lost_by_count(3);
        for una in 1..=2 * HOLES {
            assert!(board.pop_acked(una).is_some());
        }
        assert!(steps(&board) < 8.0, "{order}: acknowledged");
        assert!(board.is_empty() && board.is_unmarked());
        board.check();
    }
}

/// A flow at 5 Mbit/s has 40 records, so each byte of a record costs 400 kB with 10,000 flows.
#[test]
fn a_record_takes_24_octets_and_as_many_for_the_delivery_rate() {
    assert_eq!((size_of::<super::TxRecord>(), size_of::<super::RatePart>()), (24, 24));
}

/// Rings grow in whole steps and have little unused capacity.
#[test]
fn the_capacity_follows_the_window_in_steps() {
    let mut board = Scoreboard::default();
    for number in 0..1_000 {
        board.push(number, number + 1, 0, at(number), STAMP);
        let (held, places) = (board.ring.len(), board.ring.capacity());
        assert!(places % super::STEP == 0 && places <= held + held / 4 + super::STEP, "{places} for {held}");
    }
    for una in 1..=1_000 {
        board.pop_acked(una).expect("it was sent");
        board.give_back_room();
        let (held, places) = (board.ring.len(), board.ring.capacity());
        assert!(
            places % super::STEP == 0 && (places <= super::ROOMY || places <= 3 * held + super::STEP),
            "{places} for {held}"
        );
    }
}

/// If the rate measurement is enabled later, segments that were sent earlier are measured from their transmission on.
#[test]
fn stamps_are_kept_from_the_call_on() {
    let mut board = Scoreboard::default();
    let push = |board: &mut Scoreboard, number: u64| board.push(number, number + 1, 0, at(number), STAMP);
    push(&mut board, 0);
    assert!(!board.keeps_rates());
    push(&mut board, 1);
    board.keep_rates();
    push(&mut board, 2);
    board.check();
    let mut delivered_at = |una| board.pop_acked(una).expect("it was sent").1.delivered_at;
    assert_eq!([1, 2, 3].map(&mut delivered_at), [at(0), at(1), STAMP.delivered_at]);
}

#[test]
fn settled_retransmissions_leave_consistent_counts() {
    let mut board = Scoreboard::default();
    for number in 0..20 {
        board.push(number * 100, number * 100 + 100, 0, at(number), STAMP);
    }
    board.mark_all_lost(false, |_| false);
    for _ in 0..7 {
        let next = board.next_to_retransmit().expect("all are lost");
        board.retransmit(next, at(100), STAMP);
        board.check();
    }
    board.settle_retransmissions();
    board.check();
    assert_eq!((board.lost_bytes(), board.retrans_bytes()), (1300, 0));
}
