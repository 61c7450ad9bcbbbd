//! Runs the regions of a time window on several threads.
//!
//! Any thread can run any region within a time window (see [`regions`](crate::regions)). Each additional thread has a
//! *crew*, which is a network without nodes. For each time window:
//!
//! 1. The regions are divided into one share per thread. All shares except the share of the calling thread move into
//!    crews.
//! 2. Each thread runs its share to the end of the time window.
//! 3. The nodes move back to the calling thread's network, followed by the packets that wait in front of links.
//!
//! All packets of one leader are in one share and stay in order, so the result does not depend on the number of
//! threads.

use crate::network::Network;
use crate::regions::{Regions, Window};
use lopsided_core::{Node, Time};
use std::panic::resume_unwind;

/// Maximum number of events per share of a thread. Only the calling thread checks the run's budget of events.
const MOST_EVENTS: u64 = 1 << 24;

impl<H: Node> Network<H> {
    /// Simulates hosts in parallel on up to `threads` threads. Several threads are used only in time windows with at
    /// least `from_events` events. Call this before [`Network::with_followers`]. Results do not change.
    #[must_use]
    pub fn with_threads(mut self, threads: usize, from_events: f64) -> Network<H> {
        (self.crews.threads, self.crews.from_events) = (threads, from_events);
        self
    }

    /// Returns the largest number of threads in one time window, and the number of events in windows with several
    /// threads.
    pub fn threads_used(&self) -> (usize, u64) {
        self.crews.used
    }

    /// Runs the open time window on several threads if this is faster. `regions.open` then contains the unfinished
    /// shares.
    pub(crate) fn run_on_threads(&mut self, regions: &mut Regions, until: Time) {
        let (threads, first) = (self.crews.threads, regions.open[0]);
        let count = first.until_region - first.region;
        let expected = regions.pace * (first.end - first.begin).as_secs_f64();
        // Moving a region to a thread and back takes about as long as handling one event. If a region has less than one
        // event on average, moving it saves no time.
        if threads == 1 || expected < self.crews.from_events.max(count as f64) {
            return;
        }
        // The group has fewer regions than there are threads, so run the other groups at the same time. If this group
        // ran first, the time windows of the other groups could be longer.
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

    /// Runs the shares on all threads. Returns the unfinished parts of shares.
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

    /// Swaps the nodes of a share between two networks, with their counters, event times and packets.
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

    /// Moves all packets and unused packet memory out of a crew without nodes.
    fn take_packets(&mut self, crew: &mut Network<H>) {
        for number in 0..self.merge_points.len() {
            self.merge_points[number].1.append(&mut crew.merge_points[number].1);
            self.rearm(self.merge_points[number].0);
        }
        if std::mem::take(&mut crew.inbound_packets) > 0 {
            for (region, inlet) in crew.inbound.iter_mut().enumerate() {
                while let Some((at, packet)) = inlet.pop() {
                    self.put_inbound(region, at, packet);
                }
            }
        }
        self.accounting.share_boxes(&mut crew.accounting);
    }
}
