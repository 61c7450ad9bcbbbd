//! A station's frames for one receiver (IEEE 802.11-2020, clauses 9.7 and 10.25): their state at both ends, and the
//! next aggregate.

use crate::medium::FrameId;
use lopsided_core::Bytes;
use std::collections::VecDeque;

/// Size of LLC and SNAP, in bytes.
const LLC: u64 = 8;
/// Size of the header of an A-MSDU subframe, in bytes.
const SUBFRAME: u64 = 14;
/// Size of the delimiter in front of each MPDU of an A-MPDU, in bytes.
const DELIMITER: u64 = 4;

/// Limits of an aggregate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Size of an MPDU's headers and check sequence, in bytes.
    pub header: Bytes,
    /// Maximum size of an A-MSDU, in bytes. Zero: one packet per MPDU.
    pub amsdu: Bytes,
    /// Maximum number of MPDUs in an aggregate.
    pub frames: u32,
    /// Maximum number of bytes in an aggregate: the smaller of the size limit and the limit by air time.
    pub size: Bytes,
    /// Size of the block-ACK window: number of MPDUs that may be in flight, counted from the oldest unacknowledged
    /// MPDU.
    pub window: u32,
}

/// An MPDU that has been sent or is about to be sent.
#[derive(Debug)]
struct Mpdu {
    /// Sequence number of the MPDU. Unlike the 12-bit numbers of the standard, this number does not wrap around.
    number: u64,
    /// The first packet; `None` once the packets are lost.
    first: Option<FrameId>,
    /// The other packets of an A-MSDU.
    more: Vec<FrameId>,
    /// Size of the MPDU, in bytes.
    size: Bytes,
    tries: u32,
    /// True once the receiver has received the MPDU.
    received: bool,
    /// True once the receiver has delivered the MPDU's packets.
    released: bool,
    /// True once the MPDU is acknowledged or the sender has dropped it.
    settled: bool,
}

impl Mpdu {
    fn packets(&self) -> impl Iterator<Item = FrameId> {
        self.first.into_iter().chain(self.more.iter().copied())
    }
}

/// One aggregation queue.
#[derive(Debug)]
pub(super) struct Outbox {
    limits: Limits,
    /// Packets that are not in an MPDU yet.
    waiting: VecDeque<(FrameId, Bytes)>,
    /// The MPDUs that the sender or the receiver still needs, in the order of their sequence numbers.
    under_way: VecDeque<Mpdu>,
    /// Number of MPDUs under way that are not settled.
    unsettled: usize,
    next_number: u64,
    /// Numbers of the MPDUs in the current or next aggregate.
    aggregate: Vec<u64>,
    /// Size on the air of the current or next aggregate, in bytes.
    aggregate_size: Bytes,
    /// True while the aggregate is being filled.
    open: bool,
}

/// Returns the length of a subframe or delimiter, padded to a multiple of 4 bytes.
fn padded(octets: u64) -> u64 {
    octets.next_multiple_of(4)
}

impl Outbox {
    pub fn new(limits: Limits) -> Outbox {
        Outbox {
            limits,
            waiting: VecDeque::new(),
            under_way: VecDeque::new(),
            unsettled: 0,
            next_number: 0,
            aggregate: Vec::new(),
            aggregate_size: Bytes::ZERO,
            open: false,
        }
    }

    /// True if the sender has nothing to send.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.unsettled == 0
    }

    /// Adds a packet. If an aggregate is being filled, the packet joins the aggregate.
    pub fn push(&mut self, packet: FrameId, size: Bytes) {
        self.waiting.push_back((packet, size));
        // An aggregate is being filled, so the packet may still join the aggregate.
        if self.open {
            self.take_waiting();
        }
    }

    /// Opens the next aggregate. Unacknowledged MPDUs come first.
    pub fn open(&mut self) {
        self.open = true;
        self.aggregate.clear();
        self.aggregate_size = Bytes::ZERO;
        for place in 0..self.under_way.len() {
            let Mpdu { number, size, settled, .. } = self.under_way[place];
            if settled {
                continue;
            }
            // Stop at the first MPDU that does not fit, so that MPDUs keep their order.
            if !self.has_room(size) {
                break;
            }
            self.add(number, size);
        }
        self.take_waiting();
    }

    /// True if the open aggregate may have room for another packet.
    pub fn wants(&self) -> bool {
        // The smallest IP packet is an IPv4 header of 20 bytes.
        let smallest = self.limits.header + Bytes::new(20);
        let joins = self.limits.amsdu > Bytes::ZERO && self.under_way.back().is_some_and(|last| last.tries == 0);
        self.open && self.waiting.is_empty() && (joins || self.has_place(smallest))
    }

    /// Returns the bytes that an MPDU adds to the aggregate.
    fn on_air(&self, mpdu: Bytes) -> Bytes {
        match self.limits.frames {
            1 => mpdu,
            _ => Bytes::new(DELIMITER + padded(mpdu.get())),
        }
    }

    /// True if the aggregate has room for an MPDU of this size. The first MPDU always fits.
    fn has_room(&self, mpdu: Bytes) -> bool {
        self.aggregate.is_empty()
            || (self.aggregate.len() < self.limits.frames as usize
                && self.aggregate_size + self.on_air(mpdu) <= self.limits.size)
    }

    /// True if the aggregate and the block-ACK window have room for a new MPDU of this size.
    fn has_place(&self, mpdu: Bytes) -> bool {
        // The window starts at the oldest MPDU that the sender or the receiver still needs.
        let oldest = self.under_way.front().map_or(self.next_number, |mpdu| mpdu.number);
        self.next_number - oldest < u64::from(self.limits.window) && self.has_room(mpdu)
    }

    /// Adds an MPDU to the aggregate.
    fn add(&mut self, number: u64, mpdu: Bytes) {
        self.aggregate.push(number);
        self.aggregate_size += self.on_air(mpdu);
    }

    /// Moves waiting packets into the aggregate as long as they fit.
    fn take_waiting(&mut self) {
        while let Some(&(packet, size)) = self.waiting.front() {
            if !self.join(packet, size) && !self.begin(packet, size) {
                return;
            }
            self.waiting.pop_front();
        }
    }

    /// Adds a packet to the last MPDU (A-MSDU). Returns false if this MPDU has already been sent or has no room.
    fn join(&mut self, packet: FrameId, size: Bytes) -> bool {
        let limits = self.limits;
        if limits.amsdu == Bytes::ZERO {
            return false;
        }
        // Only the latest MPDUs have never been sent.
        let Some(last) = self.under_way.back_mut().filter(|last| last.tries == 0) else { return false };
        let subframe = Bytes::new(padded(SUBFRAME + LLC + size.get()));
        let (joined, before) = (last.size + subframe, last.size);
        // The limit of an A-MSDU applies to its subframes, without the header of the MPDU.
        let body = Bytes::new(joined.get().saturating_sub(limits.header.get().saturating_sub(LLC)));
        let grown = match limits.frames {
            1 => joined.get() - before.get(),
            _ => padded(joined.get()) - padded(before.get()),
        };
        if body > limits.amsdu || self.aggregate_size + Bytes::new(grown) > limits.size {
            return false;
        }
        last.size = joined;
        last.more.push(packet);
        self.aggregate_size += Bytes::new(grown);
        true
    }

    /// Starts a new MPDU with this packet. Returns false if there is no room.
    fn begin(&mut self, packet: FrameId, size: Bytes) -> bool {
        let octets = match self.limits.amsdu {
            Bytes::ZERO => self.limits.header.get() + size.get(),
            // The new MPDU is an A-MSDU that contains one packet so far.
            _ => self.limits.header.get().saturating_sub(LLC) + padded(SUBFRAME + LLC + size.get()),
        };
        let mpdu = Bytes::new(octets);
        if !self.has_place(mpdu) {
            return false;
        }
        let number = self.next_number;
        self.next_number += 1;
        self.unsettled += 1;
        self.under_way.push_back(Mpdu {
            number,
            first: Some(packet),
            more: Vec::new(),
            size: mpdu,
            tries: 0,
            received: false,
            released: false,
            settled: false,
        });
        self.add(number, mpdu);
        true
    }

    /// Closes the aggregate for sending. Returns the number of its MPDUs and its size in bytes.
    pub fn close(&mut self) -> (usize, Bytes) {
        self.open = false;
        for place in 0..self.aggregate.len() {
            let number = self.aggregate[place];
            self.mpdu(number).tries += 1;
        }
        (self.aggregate.len(), self.aggregate_size)
    }

    /// Returns the MPDU with this number, which must be in flight.
    fn mpdu(&mut self, number: u64) -> &mut Mpdu {
        // The numbers have no gaps: an older MPDU has had at least as many tries, so it is dropped first.
        let first = self.under_way.front().map_or(number, |mpdu| mpdu.number);
        let place = (number - first) as usize;
        self.under_way.get_mut(place).filter(|mpdu| mpdu.number == number).expect("an aggregate's MPDU is under way")
    }

    /// Handles the arrival of the aggregate. `survives` is called once per packet. Returns the number of received
    /// MPDUs.
    pub fn arrive(&mut self, mut survives: impl FnMut() -> bool) -> usize {
        let mut received = 0;
        for place in 0..self.aggregate.len() {
            let number = self.aggregate[place];
            let mpdu = self.mpdu(number);
            // Call `survives` for every packet, so that errors do not depend on how packets are grouped into MPDUs.
            let whole = mpdu.packets().fold(true, |whole, _| survives() && whole);
            mpdu.received |= whole;
            received += usize::from(whole);
        }
        received
    }

    /// Delivers received packets. With `in_order`, stops at the first gap.
    pub fn release(&mut self, in_order: bool, mut delivered: impl FnMut(FrameId)) {
        for mpdu in &mut self.under_way {
            if mpdu.received && !mpdu.released {
                mpdu.released = true;
                mpdu.packets().for_each(&mut delivered);
            }
            // The reordering buffer releases nothing beyond a gap.
            if in_order && !mpdu.received {
                return;
            }
        }
    }

    /// Ends the exchange of the aggregate. `acknowledged` is true if the acknowledgement arrived. An MPDU is dropped
    /// after `retries` retransmissions. If `retries` is `None`, every MPDU that has not arrived is dropped.
    pub fn settle(&mut self, acknowledged: bool, retries: Option<u32>, mut lost: impl FnMut(FrameId)) {
        for place in 0..self.aggregate.len() {
            let number = self.aggregate[place];
            let mpdu = self.mpdu(number);
            // If the acknowledgement was lost, the sender retransmits the whole aggregate.
            let arrived = mpdu.received && acknowledged;
            if !arrived && retries.is_some_and(|retries| mpdu.tries <= retries) {
                continue;
            }
            // Without an acknowledgement, the sender drops the MPDU, although the receiver may have received it.
            mpdu.settled = true;
            if !mpdu.received {
                mpdu.first.take().into_iter().chain(mpdu.more.drain(..)).for_each(&mut lost);
            }
            self.unsettled -= 1;
        }
        self.aggregate.clear();
        self.aggregate_size = Bytes::ZERO;
        // The sender's window starts after the dropped MPDUs, so the receiver does not wait for them.
        self.under_way.retain(|mpdu| !mpdu.settled || mpdu.received);
    }

    /// Removes the MPDUs that neither the sender nor the receiver needs any longer.
    pub fn forget(&mut self, mut done: impl FnMut(FrameId)) {
        while self.under_way.front().is_some_and(|mpdu| mpdu.settled && mpdu.released) {
            let mpdu = self.under_way.pop_front().expect("there is a first");
            mpdu.packets().for_each(&mut done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lopsided_core::Rng;
    use proptest::prelude::*;

    const LIMITS: Limits =
        Limits { header: Bytes::new(38), amsdu: Bytes::ZERO, frames: 64, size: Bytes::new(1 << 20), window: 64 };

    fn id(number: u64) -> FrameId {
        FrameId { station: 0, number }
    }

    /// Fills an aggregate from an unlimited number of packets. Returns the sequence numbers of its MPDUs.
    fn fill(outbox: &mut Outbox, next: &mut u64) -> Vec<u64> {
        outbox.open();
        while outbox.wants() {
            outbox.push(id(*next), Bytes::new(1500));
            *next += 1;
        }
        let sent = outbox.aggregate.clone();
        outbox.close();
        sent
    }

    /// Simulates an exchange in which the MPDUs at the positions `lost` do not arrive. Returns the packets that the
    /// receiver delivers.
    fn exchange(outbox: &mut Outbox, lost: &[usize]) -> Vec<u64> {
        let (mut place, mut released) = (0, Vec::new());
        outbox.arrive(|| {
            place += 1;
            !lost.contains(&place)
        });
        outbox.settle(true, Some(7), |_| panic!("no frame is dropped"));
        outbox.release(true, |packet| released.push(packet.number));
        outbox.forget(|_| {});
        released
    }

    /// havey2015, figure 3.2: the second and the third of 64 frames are lost, and the retransmission of the third is
    /// also lost. The next aggregates have three and two frames.
    #[test]
    fn an_early_loss_makes_the_next_aggregates_short() {
        let (mut outbox, mut next) = (Outbox::new(LIMITS), 0);
        assert_eq!(fill(&mut outbox, &mut next), (0..64).collect::<Vec<_>>());
        assert_eq!(exchange(&mut outbox, &[2, 3]), [0]);
        assert_eq!(fill(&mut outbox, &mut next), [1, 2, 64]);
        assert_eq!(exchange(&mut outbox, &[2]), [1]);
        assert_eq!(fill(&mut outbox, &mut next), [2, 65]);
        assert_eq!(exchange(&mut outbox, &[]), (2..66).collect::<Vec<_>>());
        assert_eq!(fill(&mut outbox, &mut next), (66..130).collect::<Vec<_>>());
    }

    #[test]
    fn a_dropped_frame_does_not_delay_later_frames() {
        let (mut outbox, mut next) = (Outbox::new(LIMITS), 0);
        fill(&mut outbox, &mut next);
        let (mut place, mut lost, mut released) = (0, Vec::new(), Vec::new());
        outbox.arrive(|| {
            place += 1;
            place != 1
        });
        outbox.settle(true, Some(0), |packet| lost.push(packet.number));
        outbox.release(true, |packet| released.push(packet.number));
        assert_eq!((lost, released), (vec![0], (1..64).collect()));
    }

    /// An A-MSDU and an aggregate may have exactly the maximum size.
    #[test]
    fn a_packet_joins_if_the_frame_then_has_at_most_its_maximum_size() {
        let limits = Limits { amsdu: Bytes::new(96), frames: 1, ..LIMITS };
        let packets = |limits: Limits| {
            let mut outbox = Outbox::new(limits);
            outbox.open();
            [20, 20, 20].iter().enumerate().for_each(|(at, size)| outbox.push(id(at as u64), Bytes::new(*size)));
            (outbox.under_way[0].packets().count(), outbox.aggregate_size)
        };
        // 14 and 8 bytes for each packet of 20 bytes, padded to 44, behind the header of 30 bytes.
        assert_eq!(packets(limits), (2, Bytes::new(30 + 2 * 44)));
        assert_eq!(packets(Limits { amsdu: Bytes::new(88), ..limits }), (2, Bytes::new(30 + 2 * 44)));
        assert_eq!(packets(Limits { amsdu: Bytes::new(87), ..limits }), (1, Bytes::new(30 + 44)));
        assert_eq!(packets(Limits { size: Bytes::new(118), ..limits }), (2, Bytes::new(30 + 2 * 44)));
        assert_eq!(packets(Limits { size: Bytes::new(117), ..limits }), (1, Bytes::new(30 + 44)));
    }

    /// An MPDU of 7,935 bytes has room for 5 packets of 1,524 bytes. An error in one packet loses all five packets.
    #[test]
    fn an_error_loses_all_packets_of_a_frame() {
        let limits = Limits { amsdu: Bytes::new(7935), frames: 1, ..LIMITS };
        let (mut outbox, mut next, mut place) = (Outbox::new(limits), 0, 0);
        fill(&mut outbox, &mut next);
        assert_eq!((outbox.under_way.len(), outbox.under_way[0].packets().count()), (1, 5));
        assert_eq!(outbox.under_way[0].size, Bytes::new(30 + 5 * 1524));
        let received = outbox.arrive(|| {
            place += 1;
            place != 4
        });
        assert_eq!((received, place), (0, 5));
    }

    proptest! {
        /// Each packet is delivered or lost exactly once, and packets that are delivered keep their order.
        #[test]
        fn each_packet_is_delivered_or_lost_once(
            seed: u64, frames in 1..20_u32, size in 60..6000_u64, window in 1..30_u32, subframes: bool, retries in 0..4_u32,
            in_order: bool, no_acks: bool,
        ) {
            let amsdu = Bytes::new(if subframes { 4000 } else { 0 });
            let mut outbox = Outbox::new(Limits { amsdu, frames, size: Bytes::new(size), window, ..LIMITS });
            let mut rng = Rng::for_role(seed, "outbox");
            let (mut next, mut ended, mut delivered) = (0, Vec::new(), Vec::new());
            while next < 200 || !outbox.is_empty() {
                outbox.open();
                while next < 200 && outbox.wants() {
                    outbox.push(id(next), Bytes::new(20 + rng.below(1481)));
                    next += 1;
                }
                let (frames_sent, bytes) = outbox.close();
                prop_assert!(frames_sent == 1 || bytes <= Bytes::new(size));
                // A collision loses the whole aggregate.
                let collides = rng.chance(0.2);
                let received = outbox.arrive(|| !collides && !rng.chance(0.3));
                outbox.release(in_order, |packet| delivered.push(packet.number));
                let acknowledged = received > 0 && !rng.chance(0.2);
                let known = !no_acks || (collides && rng.chance(0.5));
                outbox.settle(acknowledged || !known, known.then_some(retries), |packet| ended.push(packet.number));
                outbox.release(in_order, |packet| delivered.push(packet.number));
                outbox.forget(|_| {});
            }
            prop_assert!(!in_order || delivered.is_sorted());
            ended.extend(delivered);
            ended.sort_unstable();
            prop_assert_eq!(ended, (0..200).collect::<Vec<_>>());
        }
    }
}
