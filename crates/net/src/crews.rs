//! Runs the regions of a window on several threads.
//!
//! Regions do not affect each other within a window (see [`regions`](crate::regions)), so any thread can run any region.
//! A *crew* is a network without nodes that belongs to a thread. For each window:
//!
//! 1. The regions are divided into as many shares as there are threads. The calling thread keeps the first share. The
//!    nodes of each other share move into a crew, with their counters and times.
//! 2. Each thread runs its share to the end of the window.
//! 3. The nodes move back, and then the packets: those in front of shared links, and those on their way into links of
//!    other regions. The calling thread lets them into the shared links in order of time, as with one thread.
//!
//! A leader's packets are in one share, so every merge point and inlet gets the packets of a leader in their order, and
//! the result does not depend on the number of threads.

use crate::network::Network;
use crate::regions::{Regions, Window};
use lopsided_core::{Node, Time};
use std::panic::resume_unwind;

/// A thread leaves the rest of its share to the calling thread after this number of events: a node may act endlessly.
const MOST_EVENTS: u64 = 1 << 24;

impl<H: Node> Network<H> {
    /// Lets hosts that run ahead of each other do so on several threads, the calling one included, in windows with at
    /// least `from_events` events. Must precede [`Network::with_followers`]. The setting changes no result.
    #[must_use]
    pub fn with_threads(mut self, threads: usize, from_events: f64) -> Network<H> {
        (self.crews.threads, self.crews.from_events) = (threads, from_events);
        self
    }

    /// The largest number of threads that were used at once, and the number of events in windows of several threads.
    pub fn threads_used(&self) -> (usize, u64) {
        self.crews.used
    }

    /// Runs the open window on several threads if this is faster. Shares that are not at their end stay open.
    pub(crate) fn run_on_threads(&mut self, regions: &mut Regions, until: Time) {
        let (threads, first) = (self.crews.threads, regions.open[0]);
        let count = first.until_region - first.region;
        let expected = regions.pace * (first.end - first.begin).as_secs_f64();
        // Moving a region to a thread and back takes about as long as an event.
        if threads == 1 || expected < self.crews.from_events.max(count as f64) {
            return;
        }
        // The other groups can run at the same time, but then their windows are shorter.
        if count < threads {
            regions.open_others(until);
        }
        let of_each = (threads / regions.open.len()).max(1);
        let shares: Vec<Window> = regions.open.iter().flat_map(|window| window.shares(of_each)).collect();
        if shares.len() > 1 {
            let before = self.events;
            self.now = first.begin;
            regions.open = self.run_shares(regions, &shares);
            self.instant = (self.now, self.events);
            regions.handled += self.events - before;
            self.crews.used =
                (self.crews.used.0.max(threads.min(shares.len())), self.crews.used.1 + self.events - before);
        }
    }

    /// Runs shares of windows on all threads, and returns what is left of them.
    fn run_shares(&mut self, regions: &Regions, shares: &[Window]) -> Vec<Window> {
        let mut shares = shares.chunks(shares.len().div_ceil(self.crews.threads));
        let mine = shares.next().unwrap_or_default();
        let mut crews = std::mem::take(&mut self.crews.networks);
        crews.resize_with(shares.len().max(crews.len()), || self.without_nodes());
        for (crew, shares) in crews.iter_mut().zip(shares.clone()) {
            crew.accounting.promise_unseen(self.accounting.unseen_until());
            shares.iter().for_each(|share| self.exchange(regions, share, crew));
        }
        let run = |crew: &mut Network<H>, shares: &[Window]| -> Vec<Window> {
            let last = crew.events + MOST_EVENTS;
            shares.iter().filter_map(|share| crew.run_window(regions, *share, last)).collect()
        };
        let rest = std::thread::scope(|scope| {
            let start = |(crew, shares)| scope.spawn(move || run(crew, shares));
            let threads: Vec<_> = crews.iter_mut().zip(shares.clone()).map(start).collect();
            let mut rest = run(self, mine);
            for thread in threads {
                rest.extend(thread.join().unwrap_or_else(|payload| resume_unwind(payload)));
            }
            rest
        });
        for (crew, shares) in crews.iter_mut().zip(shares) {
            shares.iter().for_each(|share| self.exchange(regions, share, crew));
        }
        for crew in &mut crews {
            self.take_packets(crew);
            self.events += std::mem::take(&mut crew.events);
        }
        self.crews.networks = crews;
        rest
    }

    /// Swaps the nodes of a share between two networks, with their counters, their times, and the packets on their way
    /// into them.
    fn exchange(&mut self, regions: &Regions, share: &Window, other: &mut Network<H>) {
        for index in share.region..share.until_region {
            let (mine, theirs) = (&mut self.inbound[index], &mut other.inbound[index]);
            self.inbound_packets = self.inbound_packets + theirs.len() - mine.len();
            other.inbound_packets = other.inbound_packets + mine.len() - theirs.len();
            std::mem::swap(mine, theirs);
            let region = regions.regions[index];
            for node in [region.host, region.link].iter().chain(&self.crews.outlets[index]) {
                let (place, index) = (*node, node.index());
                std::mem::swap(&mut self.places[index].node, &mut other.places[index].node);
                self.accounting.swap_node(place, &mut other.accounting);
                let (mine, theirs) = (self.queue.get(index), other.queue.get(index));
                self.queue.set(index, theirs);
                other.queue.set(index, mine);
            }
        }
    }

    /// Takes all packets of a crew that has no nodes, and the free memory of packets that it does not need.
    fn take_packets(&mut self, crew: &mut Network<H>) {
        for number in 0..self.merge_points.len() {
            self.merge_points[number].1.append(&mut crew.merge_points[number].1);
            self.rearm(self.merge_points[number].0);
        }
        if std::mem::take(&mut crew.inbound_packets) > 0 {
            for (region, inlet) in crew.inbound.iter_mut().enumerate() {
                inlet.drain(..).for_each(|(at, packet)| self.put_inbound(region, at, packet));
            }
        }
        self.accounting.share_boxes(&mut crew.accounting);
    }
}
