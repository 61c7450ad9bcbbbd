//! The audit must detect every kind of violation of a discipline's contract, and must not affect a correct discipline.

use crate::common::{Drops, cx, packet, packet_with};
use lopsided_core::{Accounting, Bytes, Cx, DropReason, Ecn, MarkReason, NodeId, Packet, Payload, Time};
use lopsided_queue::{Backlog, CheckedQdisc, Fifo, FifoConfig, Limit, Qdisc, QueuedPacket};

/// The way in which a [`WrongFifo`] violates the contract.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Violation {
    DropsWithoutReport,
    LosesAtDequeue,
    WrongBacklog,
    ShrinksPackets,
    WrongEnqueueTime,
    WrongPeekSize,
    ReadyWithoutPacket,
    EnqueuesWithoutReport,
}

/// A FIFO that violates the contract, in most cases when the third packet arrives.
#[derive(Debug)]
struct WrongFifo {
    violation: Violation,
    inside: std::collections::VecDeque<QueuedPacket>,
    backlog: Backlog,
}

impl Qdisc for WrongFifo {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        let third = packet.id() == 3;
        if third && self.violation == Violation::DropsWithoutReport {
            return;
        }
        if third && self.violation == Violation::EnqueuesWithoutReport {
            self.backlog = Backlog { packets: 3, bytes: Bytes::new(300) };
        } else {
            self.backlog.add(&packet, packet.size(), cx);
        }
        if third && self.violation == Violation::WrongBacklog {
            self.backlog.bytes += Bytes::new(1);
        }
        self.inside.push_back(QueuedPacket { packet, enqueued_at: cx.now() });
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        if self.violation == Violation::ReadyWithoutPacket {
            return None;
        }
        let mut waiting = self.inside.pop_front()?;
        self.backlog.remove(waiting.packet.size());
        match self.violation {
            Violation::LosesAtDequeue => return None,
            Violation::ShrinksPackets => {
                cx.rewrite(&mut waiting.packet, |packet| assert!(packet.set_payload(Payload::EMPTY)));
            }
            Violation::WrongEnqueueTime => waiting.enqueued_at = Time::ZERO,
            _ => {}
        }
        Some(waiting)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn peek(&mut self, _cx: &mut Cx<'_>) -> Option<Bytes> {
        let wrong = Bytes::new(u64::from(self.violation == Violation::WrongPeekSize));
        self.inside.front().map(|waiting| waiting.packet.size() + wrong)
    }
}

fn catch(violation: Violation) {
    let mut queue = CheckedQdisc::new(WrongFifo { violation, inside: Default::default(), backlog: Backlog::default() });
    let mut accounting = Accounting::new(1);
    let now = Time::from_nanos(5);
    (1..=3).for_each(|id| queue.enqueue(packet(id, 100), &mut cx(now, &mut accounting)));
    queue.peek(&mut cx(now, &mut accounting));
    queue.dequeue(&mut cx(now, &mut accounting));
}

macro_rules! catches {
    ($($name:ident: $violation:expr, $message:literal;)*) => { $(
        #[test]
        #[should_panic(expected = $message)]
        fn $name() {
            catch($violation);
        }
    )* };
}

catches! {
    a_packet_lost_without_a_report_is_detected: Violation::DropsWithoutReport, "neither enqueued nor dropped";
    a_packet_lost_at_dequeue_is_detected: Violation::LosesAtDequeue, "in = out + dropped + backlog";
    a_wrong_backlog_is_detected: Violation::WrongBacklog, "in = out + dropped + backlog";
    a_packet_that_shrank_is_detected: Violation::ShrinksPackets, "changed its size";
    a_wrong_time_of_enqueue_is_detected: Violation::WrongEnqueueTime, "has a wrong `enqueued_at`";
    a_peek_with_a_wrong_size_is_detected: Violation::WrongPeekSize, "`peek` returned another size";
    a_ready_queue_without_a_packet_is_detected: Violation::ReadyWithoutPacket, "ready, but no packet was dequeued or dropped";
    an_enqueue_without_a_report_is_detected: Violation::EnqueuesWithoutReport, "neither enqueued nor dropped";
}

/// A discipline that, like CoDel, decides at dequeue: it marks every packet, and drops the packets that cannot be
/// marked.
#[derive(Debug)]
struct MarkOrDrop(Fifo);

impl Qdisc for MarkOrDrop {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.0.enqueue(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<QueuedPacket> {
        loop {
            let mut waiting = self.0.dequeue(cx)?;
            if cx.mark(&mut waiting.packet, MarkReason::Early) {
                return Some(waiting);
            }
            cx.drop(waiting.packet, DropReason::Early);
        }
    }

    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

#[test]
fn drops_and_marks_of_a_correct_discipline_reach_the_accounting_of_the_run() {
    let mut queue = CheckedQdisc::new(MarkOrDrop(Fifo::new(&FifoConfig::new(Limit::Packets(3))).unwrap()));
    let (drops, mut accounting) = Drops::watched();
    for id in 1..=4 {
        let ecn = if id == 2 { Ecn::Ect0 } else { Ecn::NotEct };
        queue.enqueue(packet_with(ecn, id, 100), &mut cx(Time::ZERO, &mut accounting));
    }
    let given = queue.dequeue(&mut cx(Time::ZERO, &mut accounting)).unwrap();
    assert_eq!((given.packet.id(), given.packet.ecn()), (2, Ecn::Ce));
    assert!(queue.dequeue(&mut cx(Time::ZERO, &mut accounting)).is_none());
    assert_eq!(drops.seen(), [(4, DropReason::QueueFull), (1, DropReason::Early), (3, DropReason::Early)]);
    assert_eq!(drops.entered(), [1, 2, 3]);
    assert_eq!(accounting.node(NodeId(0)).marked_total().packets, 1);
}
