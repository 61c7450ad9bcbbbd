//! Compares the scoreboard with a list of segments that is searched from end to end.

use super::{RateStamp, Scoreboard, TxRecord};
use lopsided_core::{Duration, Time};
use proptest::prelude::*;
use std::ops::Range;

const TIMEOUT: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
struct Sent {
    octets: Range<u64>,
    pad: u64,
    at: Time,
    stamp: RateStamp,
    sacked: bool,
    lost: bool,
    again: bool,
    ever_again: bool,
    /// An undo removed the loss mark while the retransmission was outstanding.
    undone: bool,
    /// RACK does not check the retransmission.
    untimed: bool,
}

impl Sent {
    fn weight(&self) -> u64 {
        self.octets.end - self.octets.start + self.pad
    }

    /// True for an original transmission of which nothing is known.
    fn is_open(&self) -> bool {
        !self.sacked && !self.lost && !self.ever_again
    }
}

#[derive(Debug, Default)]
struct Model {
    sent: Vec<Sent>,
    total_lost: u64,
    lost_again: u64,
    /// Each loss since the last comparison: the range, and the bytes lost since the segment was sent.
    losses: Vec<(Range<u64>, u64)>,
}

impl Model {
    fn lose(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        let weight = sent.weight();
        let before = self.total_lost;
        if std::mem::take(&mut sent.again) {
            (sent.undone, sent.untimed) = (false, false);
            self.lost_again += 1;
            self.total_lost += weight;
        }
        if !std::mem::replace(&mut sent.lost, true) {
            self.total_lost += weight;
        }
        if self.total_lost > before {
            self.losses.push((sent.octets.clone(), self.total_lost - u64::from(sent.stamp.lost)));
        }
    }

    /// RACK's mark: a retransmission whose loss mark was undone stays outstanding.
    fn lose_by_time(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        if !sent.undone || sent.lost {
            return self.lose(index);
        }
        sent.again = false;
        self.lose(index);
        let sent = &mut self.sent[index];
        (sent.again, sent.undone, sent.untimed) = (true, true, true);
    }

    fn lose_all(&mut self, which: impl Fn(usize, &Sent) -> bool) {
        for index in 0..self.sent.len() {
            if which(index, &self.sent[index]) {
                self.lose(index);
            }
        }
    }

    /// Index of the first segment of the highest SACKed run, and the number of segments up to its end.
    fn highest_run(&self) -> Option<(usize, usize)> {
        let last = self.sent.iter().rposition(|sent| sent.sacked)?;
        let first = self.sent[..last].iter().rposition(|sent| !sent.sacked).map_or(0, |hole| hole + 1);
        Some((first, last + 1))
    }

    /// Number of segments that remain of the SACKed segments if adjacent segments of equal length are merged.
    fn merged(&self) -> usize {
        let len = |sent: &Sent| sent.octets.end - sent.octets.start;
        let merges = |before: &Sent, sent: &Sent| before.sacked && len(before) == len(sent);
        let begins = |index: usize| index == 0 || !merges(&self.sent[index - 1], &self.sent[index]);
        (0..self.sent.len()).filter(|index| self.sent[*index].sacked && begins(*index)).count()
    }

    fn pending(&self) -> Option<usize> {
        self.sent.iter().position(|sent| sent.lost && !sent.again)
    }

    fn before(&self, offset: u64) -> usize {
        self.sent.iter().filter(|sent| sent.octets.end <= offset).count()
    }
}

#[derive(Debug, Clone)]
enum Step {
    Send(u64),
    Sack(u64, u64),
    Ack(u64),
    PlainAck(u64),
    Retransmit,
    ByTime(u64),
    BelowHighest(u64),
    ByCount(u32),
    ByDistance(u32, u64),
    RetransmissionsByFack,
    HolesAgain,
    First,
    All(bool, bool),
    TooLong(u64),
    Unmark,
    Settle,
    Cut(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1u64..30).prop_map(|len| Step::Send(10 * len)),
        6 => (0u64..100, 1u64..60).prop_map(|(from, len)| Step::Sack(from, len)),
        3 => (0u64..60).prop_map(Step::Ack),
        1 => (1u64..60).prop_map(Step::PlainAck),
        6 => Just(Step::Retransmit),
        3 => (0u64..100).prop_map(Step::ByTime),
        1 => (0u64..120).prop_map(Step::BelowHighest),
        1 => (1u32..5).prop_map(Step::ByCount),
        1 => (1u32..5, 0u64..3).prop_map(|(threshold, least)| Step::ByDistance(threshold, least)),
        1 => Just(Step::RetransmissionsByFack),
        1 => Just(Step::HolesAgain),
        1 => Just(Step::First),
        1 => any::<(bool, bool)>().prop_map(|(forget, spare)| Step::All(forget, spare)),
        1 => (50u64..250).prop_map(Step::TooLong),
        1 => Just(Step::Unmark),
        1 => Just(Step::Settle),
        1 => (50u64..250).prop_map(Step::Cut),
    ]
}

/// The scoreboard, the model and the clock.
struct Both {
    board: Scoreboard,
    model: Model,
    now: Time,
    end: u64,
    una: u64,
    /// Send time and end of the newest delivered segment.
    newest: (Time, u64),
}

impl Both {
    fn stamp(&self, delivered: u32) -> RateStamp {
        RateStamp {
            delivered,
            delivered_at: self.now - Duration::from_micros(1),
            first_sent_at: self.now - Duration::from_micros(2),
            in_flight: delivered / 2,
            lost: self.model.total_lost as u32,
            app_limited: delivered % 3 == 0,
        }
    }

    /// Returns the offset at `percent` of the outstanding data.
    fn offset(&self, percent: u64) -> u64 {
        self.una + (self.end - self.una) * percent / 100
    }

    fn take(&mut self, step: &Step) {
        let Both { board, model, .. } = self;
        match *step {
            Step::Send(len) => {
                let stamp = self.stamp(self.end as u32);
                let octets = self.end..self.end + len;
                self.board.push(octets.start, octets.end, 0, self.now, stamp);
                let (at, end) = (self.now, octets.end);
                self.model.sent.push(Sent {
                    octets,
                    pad: 0,
                    at,
                    stamp,
                    sacked: false,
                    lost: false,
                    again: false,
                    ever_again: false,
                    undone: false,
                    untimed: false,
                });
                self.end = end;
            }
            Step::Sack(from, len) => {
                let (start, end) = (self.offset(from), self.offset(from + len).min(self.end));
                let mut seen = Vec::new();
                self.board.sack(start, end, |sent, stamp| seen.push((sent.start(), sent.sent_at, stamp.delivered_at)));
                let mut expected = Vec::new();
                for sent in &mut self.model.sent {
                    if start <= sent.octets.start && sent.octets.end <= end && !sent.sacked {
                        expected.push((sent.octets.start, sent.at, sent.stamp.delivered_at));
                        (sent.sacked, sent.lost, sent.again) = (true, false, false);
                        (sent.undone, sent.untimed) = (false, false);
                    }
                }
                assert_eq!(seen, expected);
            }
            Step::Ack(percent) => {
                self.una = self.offset(percent);
                while self.model.sent.first().is_some_and(|sent| sent.octets.end <= self.una) {
                    let sent = self.model.sent.remove(0);
                    let (record, stamp) = self.board.pop_acked(self.una).expect("it is acknowledged");
                    assert_eq!(
                        (record.start(), record.end(), record.sent_at),
                        (sent.octets.start, sent.octets.end, sent.at)
                    );
                    assert_eq!((stamp.lost, stamp.first_sent_at), (sent.stamp.lost, sent.stamp.first_sent_at));
                    assert_eq!((stamp.delivered, stamp.app_limited), (sent.stamp.delivered, sent.stamp.app_limited));
                }
                assert!(self.board.pop_acked(self.una).is_none());
                if let Some(sent) = self.model.sent.first_mut() {
                    sent.octets.start = sent.octets.start.max(self.una);
                }
                self.board.trim_first(self.una);
                self.board.give_back_room();
            }
            Step::PlainAck(percent) => {
                let una = self.una + (self.end - self.una) * percent / 100;
                let covered = model.before(una);
                let plain = model.sent[..covered].iter().all(Sent::is_open);
                let whole = covered > 0 && model.sent[covered - 1].octets.end == una;
                if una == self.una {
                    return;
                }
                match board.pop_plain(una) {
                    None => assert!(!plain || !whole),
                    Some(popped) => {
                        assert!(plain && whole);
                        let (first, newest) = (&model.sent[0], &model.sent[covered - 1]);
                        assert_eq!((popped.first_sent_at, popped.segments as usize), (first.at, covered));
                        assert_eq!((popped.newest.start(), popped.newest.sent_at), (newest.octets.start, newest.at));
                        assert_eq!(popped.stamp.in_flight, newest.stamp.in_flight);
                        let pads = model.sent[..covered].iter().map(|sent| sent.pad);
                        assert_eq!(popped.padding, pads.sum::<u64>());
                        model.sent.drain(..covered);
                        self.una = una;
                    }
                }
            }
            Step::Retransmit => {
                let Some(index) = self.model.pending() else { return };
                let number = self.board.next_to_retransmit().expect("the model has one");
                let stamp = self.stamp(index as u32);
                self.board.retransmit(number, self.now, stamp);
                let sent = &mut self.model.sent[index];
                (sent.at, sent.stamp, sent.again, sent.ever_again) = (self.now, stamp, true, true);
                (sent.undone, sent.untimed) = (false, false);
            }
            Step::ByTime(percent) => {
                let index = (model.sent.len() * percent as usize / 100).min(model.sent.len());
                let Some(delivered) = model.sent.get(index) else { return };
                // The newest delivered segment never becomes older.
                self.newest = self.newest.max((delivered.at, delivered.octets.end));
                let newest = self.newest;
                let now = self.now;
                let wait = |at: Time| {
                    let due = at + TIMEOUT;
                    (due > now).then(|| due - now)
                };
                let longest = board.mark_lost_by_time(newest.0, newest.1, wait);
                let older = |sent: &Sent| (sent.at, sent.octets.end) < newest;
                // Originals in stream order, then retransmissions in the order in which they were sent.
                model.lose_all(|_, sent| sent.is_open() && older(sent) && wait(sent.at).is_none());
                let timed = |sent: &Sent| sent.again && !sent.untimed;
                let mut again: Vec<usize> = (0..model.sent.len()).filter(|index| timed(&model.sent[*index])).collect();
                again.sort_by_key(|index| (model.sent[*index].at, *index));
                for index in again {
                    if older(&model.sent[index]) && wait(model.sent[index].at).is_none() {
                        model.lose_by_time(index);
                    }
                }
                let waiting = model.sent.iter().filter(|sent| (sent.is_open() || timed(sent)) && older(sent));
                assert_eq!(longest, waiting.filter_map(|sent| wait(sent.at)).max());
            }
            Step::BelowHighest(percent) => {
                let upto = self.offset(percent);
                self.board.mark_lost_below_highest_sack(upto);
                if let Some((first, _)) = self.model.highest_run() {
                    let limit = first.min(self.model.before(upto));
                    self.model.lose_all(|index, sent| index < limit && !sent.sacked && !sent.again && !sent.lost);
                }
            }
            Step::ByCount(threshold) => {
                board.mark_lost_by_count(threshold);
                // RFC 6675 section 4, IsLost. The holes below a run count all segments of that run.
                let above = |index: usize| model.sent[index..].iter().filter(|sent| sent.sacked).count();
                let limit = (0..model.sent.len())
                    .rfind(|index| !model.sent[*index].sacked && above(*index) >= threshold as usize);
                model.lose_all(|index, sent| {
                    limit.is_some_and(|limit| index <= limit) && !sent.sacked && !sent.again && !sent.lost
                });
            }
            Step::ByDistance(threshold, least) => {
                let upto = self.offset(70);
                let Both { board, model, .. } = self;
                board.mark_lost_by_distance(threshold, least, upto);
                let forward = model.highest_run().map_or(0, |(_, next)| next.saturating_sub(threshold as usize));
                let limit = forward.max(least as usize).min(model.before(upto));
                model.lose_all(|index, sent| index < limit && !sent.sacked && !sent.again && !sent.lost);
            }
            Step::RetransmissionsByFack => {
                board.mark_lost_retransmissions();
                let Some((_, next)) = model.highest_run() else { return };
                let highest = model.sent[next - 1].clone();
                let timed = |sent: &Sent| sent.again && !sent.untimed;
                let mut again: Vec<usize> = (0..model.sent.len()).filter(|index| timed(&model.sent[*index])).collect();
                again.sort_by_key(|index| (model.sent[*index].at, *index));
                for index in again {
                    if !highest.ever_again && model.sent[index].at < highest.at {
                        model.lose(index);
                    }
                }
            }
            Step::HolesAgain => {
                board.mark_holes_lost_again();
                if let Some((first, _)) = model.highest_run() {
                    model.lose_all(|index, sent| index < first && !sent.sacked);
                }
            }
            Step::First => {
                board.mark_first_lost();
                model.lose_all(|index, sent| index == 0 && !sent.sacked);
            }
            Step::All(forget, spares) => {
                let young = self.now - Duration::from_millis(5);
                let spare = |at: Time| spares && at > young;
                board.mark_all_lost(forget, spare);
                if forget {
                    model.sent.iter_mut().for_each(|sent| sent.sacked = false);
                }
                model.lose_all(|index, sent| !sent.sacked && (index == 0 || !spare(sent.at)));
            }
            Step::TooLong(longer_than) => {
                board.mark_too_long_lost(longer_than);
                model.lose_all(|_, sent| !sent.sacked && sent.octets.end - sent.octets.start > longer_than);
            }
            Step::Unmark => {
                board.unmark_lost();
                for sent in &mut model.sent {
                    (sent.lost, sent.undone) = (false, sent.undone || sent.lost && sent.again);
                }
            }
            Step::Settle => {
                board.settle_retransmissions();
                for sent in model.sent.iter_mut().filter(|sent| sent.again) {
                    (sent.lost, sent.again, sent.undone, sent.untimed) = (false, false, false, false);
                }
            }
            Step::Cut(full) => {
                // A path MTU never grows while segments of an earlier, smaller size are outstanding.
                if model.sent.iter().any(|sent| sent.pad > 0 && sent.weight() < full) {
                    return;
                }
                board.cut_to(full);
                let cut = |sent: &Sent| {
                    let len = sent.octets.end - sent.octets.start;
                    let is_cut = !sent.sacked && (sent.pad > 0 || len > full);
                    let piece = |start: u64| {
                        let octets = start..sent.octets.end.min(start + full);
                        Sent { pad: full - (octets.end - octets.start), octets, ..sent.clone() }
                    };
                    let step = full as usize;
                    if is_cut { sent.octets.clone().step_by(step).map(piece).collect() } else { vec![sent.clone()] }
                };
                model.sent = model.sent.iter().flat_map(cut).collect();
            }
        }
    }

    fn compare(&mut self) {
        let Both { board, model, .. } = self;
        board.check();
        let (base, sum) = (board.first_number(), |keep: fn(&&Sent) -> bool| {
            model.sent.iter().filter(keep).map(Sent::weight).sum::<u64>()
        });
        assert_eq!(board.segments() as usize, model.sent.len());
        for (number, sent) in (base..).zip(&model.sent) {
            let record: &TxRecord = board.get(number);
            assert_eq!((record.start()..record.end(), record.weight()), (sent.octets.clone(), sent.weight()));
            assert_eq!(
                (record.is_sacked(), record.is_lost(), record.is_retransmitted(), record.was_ever_retransmitted()),
                (sent.sacked, sent.lost, sent.again, sent.ever_again),
                "{sent:?}"
            );
            assert_eq!((record.sent_at, record.is_app_limited()), (sent.at, sent.stamp.app_limited));
        }
        assert_eq!(board.sacked_bytes(), sum(|sent| sent.sacked));
        assert_eq!((board.lost_bytes(), board.retrans_bytes()), (sum(|sent| sent.lost), sum(|sent| sent.again)));
        assert_eq!((board.total_lost(), board.lost_retransmits()), (model.total_lost, model.lost_again));
        assert_eq!(board.merged_segments() as usize, model.merged());
        assert_eq!(board.highest_sacked(), model.highest_run().map(|(_, next)| model.sent[next - 1].octets.end));
        assert_eq!(board.first_pending(), model.pending().map(|index| model.sent[index].octets.start));
        assert_eq!(board.is_reneged(), model.sent.first().is_some_and(|sent| sent.sacked));
        assert_eq!(board.is_unmarked(), model.sent.iter().all(|sent| !sent.sacked && !sent.lost && !sent.again));
        assert_eq!(board.last_number(), model.sent.len().checked_sub(1).map(|last| base + last as u64));
        assert_eq!(board.has_losses(), !model.losses.is_empty());
        let losses = board.take_losses().into_iter().map(|lost| (lost.start..lost.end, lost.lost_since_sent.get()));
        assert_eq!(losses.collect::<Vec<_>>(), std::mem::take(&mut model.losses));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    // A connection detects losses either by time or by holes: the search by time skips segments that were retransmitted
    // before an undo, which the rules for holes mark again.
    #[test]
    fn the_scoreboard_equals_a_list_of_segments(
        by_time: bool, first in 0usize..20, steps in proptest::collection::vec((step(), 0u64..4_000), 1..80),
    ) {
        let mut both = Both {
            board: Scoreboard::default(), model: Model::default(), now: Time::from_nanos(1_000_000_000), end: 0, una: 0, newest: (Time::ZERO, 0),
        };
        both.board.watch_losses();
        for (step, wait) in std::iter::repeat_n((Step::Send(100), 500), first).chain(steps) {
            both.now += Duration::from_micros(wait);
            let holes = matches!(step, Step::BelowHighest(_) | Step::ByCount(_) | Step::ByDistance(..));
            if if by_time { holes } else { matches!(step, Step::ByTime(_)) } {
                continue;
            }
            both.take(&step);
            both.compare();
        }
    }
}
