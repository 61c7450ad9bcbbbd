//! Exchanges of two applications over a line, and the network's treatment of each segment.

use super::pair::connection_config;
use crate::{Connection, Next, Outgoing, Profile, State};
use lopsided_core::packet::TcpHeader;
use lopsided_core::{Duration, Ecn, Payload, Time};
use std::collections::BTreeMap;

/// The actions of two applications and of the network between them.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Writes of the client: milliseconds and bytes. The client closes after the last write.
    writes: &'static [(u64, u32)],
    /// Bytes that the server sends when the connection is open.
    answer: u32,
    /// Bytes that the server reads every 20 ms; `None`: it reads all data at once.
    reads: Option<u64>,
    /// The fate of the n-th segment. The segments of each direction have their own numbers.
    fate: fn(to_server: bool, number: u64, at_ms: u64) -> Fate,
    /// Longest queue of each direction in milliseconds; segments that find a longer queue are lost.
    queue_ms: u64,
    /// True while the queue of the client's interface has no space for data.
    full: fn(at_ms: u64) -> bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Fate {
    Arrives,
    Lost,
    /// Arrives with a CE mark if the sender supports ECN.
    Marked,
    /// Arrives this number of milliseconds later.
    Late(u64),
    /// Arrives twice.
    Twice,
}

/// Returns a number from 0 to 99 that looks random.
fn scattered(number: u64) -> u64 {
    (number.wrapping_add(7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 100
}

const QUIET: Probe = Probe {
    writes: &[(0, 300_000)],
    answer: 50_000,
    reads: None,
    fate: |_, _, _| Fate::Arrives,
    queue_ms: 100_000,
    full: |_| false,
};

pub const PROBES: &[Probe] = &[
    QUIET,
    // Random losses.
    Probe { fate: |_, number, _| if scattered(number) < 4 { Fate::Lost } else { Fate::Arrives }, ..QUIET },
    Probe { fate: |up, number, _| if up && scattered(number) < 10 { Fate::Lost } else { Fate::Arrives }, ..QUIET },
    // Bursts of losses, with lost retransmissions.
    Probe {
        fate: |up, number, _| if up && (60..75).contains(&(number % 150)) { Fate::Lost } else { Fate::Arrives },
        ..QUIET
    },
    // Lost SYNs, SYN-ACKs, and FINs.
    Probe { fate: |up, number, _| if up && number < 6 { Fate::Lost } else { Fate::Arrives }, ..QUIET },
    Probe { fate: |up, number, _| if !up && number < 2 { Fate::Lost } else { Fate::Arrives }, ..QUIET },
    Probe {
        writes: &[(0, 2_500)],
        answer: 700,
        fate: |_, number, _| if (3..7).contains(&number) { Fate::Lost } else { Fate::Arrives },
        ..QUIET
    },
    // Marks, reordering, and a delay of all segments during one second.
    Probe { fate: |_, number, _| if scattered(number) < 7 { Fate::Marked } else { Fate::Arrives }, ..QUIET },
    Probe { fate: |_, number, _| if number < 2 { Fate::Marked } else { Fate::Arrives }, ..QUIET },
    Probe {
        fate: |up, number, _| if up && scattered(number) < 10 { Fate::Late(3 * (number % 12)) } else { Fate::Arrives },
        ..QUIET
    },
    Probe {
        fate: |_, _, at_ms| if (60..1060).contains(&at_ms) { Fate::Late(1060 - at_ms) } else { Fate::Arrives },
        ..QUIET
    },
    Probe {
        fate: |_, _, at_ms| if (200..8200).contains(&at_ms) { Fate::Late(8200 - at_ms) } else { Fate::Arrives },
        ..QUIET
    },
    // The ACKs arrive shortly after the retransmission timeout of a stack whose clock has ticks of 500 ms.
    Probe {
        writes: &[(0, 20_000), (9_500, 20_000), (19_500, 20_000), (29_500, 20_000), (39_500, 20_000), (49_500, 20_000)],
        fate: |_, _, at_ms| {
            let (round, within) = (at_ms / 10_000, at_ms % 10_000);
            let until = 9_490 + 500 * round;
            if within >= 9_500 { Fate::Late(until.saturating_sub(within)) } else { Fate::Arrives }
        },
        ..QUIET
    },
    // The FIN has no data, and arrives before lost data.
    Probe {
        writes: &[(0, 3_000), (25, 0)],
        answer: 0,
        fate: |up, number, _| if up && (3..5).contains(&number) { Fate::Lost } else { Fate::Arrives },
        ..QUIET
    },
    // Pauses and short writes.
    Probe {
        writes: &[(0, 60_000), (400, 60_000), (4_000, 60_000), (9_000, 100), (9_001, 100), (9_002, 100), (9_500, 1)],
        ..QUIET
    },
    Probe {
        writes: &[(0, 2_000), (10, 300), (50, 300), (90, 3_000), (200, 10), (390, 1_448), (700, 4_000), (1_500, 9_000)],
        answer: 9_000,
        ..QUIET
    },
    // A round trip of 640 ms, with pauses.
    Probe {
        writes: &[(0, 60_000), (5_000, 1_448), (5_900, 1_448), (6_500, 1_448), (9_000, 60_000)],
        fate: |_, _, _| Fate::Late(300),
        ..QUIET
    },
    // Each write ends with a full segment that carries PSH.
    Probe {
        writes: &[(0, 1_448), (100, 1_448), (200, 2_896), (201, 1_448), (300, 1_448), (301, 1_448), (302, 1_448)],
        answer: 0,
        reads: Some(1_448),
        ..QUIET
    },
    // A slow reader, without and with losses.
    Probe { reads: Some(6_000), ..QUIET },
    Probe {
        reads: Some(9_000),
        fate: |up, number, _| if up && scattered(number) < 3 { Fate::Lost } else { Fate::Arrives },
        ..QUIET
    },
    // A long transfer, during which buffers and windows grow.
    Probe { writes: &[(0, 3_000_000)], ..QUIET },
    Probe {
        writes: &[(0, 3_000_000)],
        fate: |up, number, _| if up && number % 500 == 400 { Fate::Lost } else { Fate::Arrives },
        ..QUIET
    },
];

/// Exchanges on worse paths, which show no further field of a profile.
pub const WORSE: &[Probe] = &[
    // A short queue, few ACKs, and segments that arrive twice.
    Probe { writes: &[(0, 900_000)], queue_ms: 15, ..QUIET },
    Probe { fate: |up, number, _| if !up && number % 4 > 0 { Fate::Lost } else { Fate::Arrives }, ..QUIET },
    Probe { fate: |_, number, _| if scattered(number) < 15 { Fate::Twice } else { Fate::Arrives }, ..QUIET },
    // Loss, reordering and duplicates in both directions.
    Probe {
        writes: &[(0, 150_000), (900, 40_000), (2_000, 90_000)],
        answer: 120_000,
        fate: |_, number, _| match scattered(number * 3) {
            0..4 => Fate::Lost,
            4..9 => Fate::Late(number % 31),
            9..12 => Fate::Twice,
            12..15 => Fate::Marked,
            _ => Fate::Arrives,
        },
        queue_ms: 30,
        ..QUIET
    },
    // The client's interface is full at times.
    Probe { full: |at_ms| at_ms % 200 >= 160, queue_ms: 60, ..QUIET },
    Probe {
        writes: &[(0, 3_000), (70, 3_000), (900, 3_000), (3_000, 20_000)],
        answer: 200_000,
        full: |at_ms| (60..1_400).contains(&at_ms) || at_ms % 500 < 30,
        ..QUIET
    },
];

/// Time, direction, header, payload in bytes, and ECN field of each segment.
pub type Trace = Vec<(Time, bool, TcpHeader, u32, Ecn)>;

/// A test that follows an exchange.
pub trait Watch {
    fn sent(&mut self, at: Time, to_server: bool, header: &TcpHeader, outgoing: &Outgoing);

    /// The arrivals and timeouts of an instant were handled. The server is the first end.
    fn handled(&mut self, _now: Time, _ends: &mut [Connection; 2]) {}
}

impl Watch for Trace {
    fn sent(&mut self, at: Time, to_server: bool, header: &TcpHeader, outgoing: &Outgoing) {
        self.push((at, to_server, header.clone(), outgoing.payload.len(), outgoing.ecn));
    }
}

/// Bounds the length of a trace if the connection does not end.
const LONGEST: u64 = 12_000;
const LIMIT: Time = Time::from_nanos(120_000_000_000);

impl Probe {
    /// Runs the applications on two connections with these profiles.
    pub fn run(&self, client: &Profile, server: &Profile) -> Trace {
        let mut trace = Trace::new();
        let server = Connection::listen(connection_config(server.clone(), false));
        self.play([server, Connection::connect(connection_config(client.clone(), true))], &mut trace);
        trace
    }

    /// Runs the applications on a server and a client. The line has 12 Mbit/s and a round trip of 40 ms.
    pub fn play(&self, mut ends: [Connection; 2], watch: &mut impl Watch) {
        let mut on_line: BTreeMap<(Time, u64), (bool, TcpHeader, Payload, Ecn)> = BTreeMap::new();
        let mut free_at = [Time::ZERO; 2];
        let mut numbers = [0; 2];
        let mut to_write = [u64::from(self.answer), 0];
        let mut writes = self.writes.iter().peekable();
        let mut next_read = Time::ZERO;
        let mut now = Time::ZERO;
        loop {
            while let Some((_, octets)) = writes.next_if(|(at, _)| Time::ZERO + Duration::from_millis(*at) <= now) {
                to_write[1] += u64::from(*octets);
            }
            for up in [true, false] {
                let end = &mut ends[usize::from(up)];
                if matches!(end.state(), State::Listen | State::Closed) {
                    continue;
                }
                let waiting = &mut to_write[usize::from(up)];
                while *waiting > 0 && end.writable() > 0 {
                    match end.write(&Payload::virtual_len(end.writable().min(*waiting) as u32)) {
                        Ok(taken) if taken > 0 => *waiting -= taken,
                        _ => break,
                    }
                }
                if *waiting == 0 && (!up || writes.peek().is_none()) {
                    end.shutdown(std::net::Shutdown::Write);
                }
            }
            for up in [true, false] {
                let end = &mut ends[usize::from(up)];
                let now_ms = now.as_nanos() / 1_000_000;
                let full = up && (self.full)(now_ms);
                let mut next = if full { Next::Open } else { end.predict_segment(now) };
                loop {
                    let mut header = TcpHeader::default();
                    let outgoing = match next {
                        Next::Nothing => break,
                        Next::Full => end.write_full_segment(now, &mut header),
                        Next::Open => {
                            let outgoing = match full {
                                true => end.write_segment_without_data(now, &mut header),
                                false => end.write_segment(now, &mut header),
                            };
                            let Some(outgoing) = outgoing else { break };
                            outgoing
                        }
                    };
                    watch.sent(now, up, &header, &outgoing);
                    next = outgoing.next;
                    let (number, free) = (&mut numbers[usize::from(up)], &mut free_at[usize::from(up)]);
                    let fate = (self.fate)(up, *number, now_ms);
                    *number += 1;
                    if free.saturating_since(now) > Duration::from_millis(self.queue_ms) {
                        continue;
                    }
                    *free = (*free).max(now) + Duration::from_micros(u64::from(outgoing.payload.len() + 52) * 8 / 12);
                    let (copies, late) = match fate {
                        Fate::Lost => (0, 0),
                        Fate::Arrives | Fate::Marked => (1, 0),
                        Fate::Late(late) => (1, late),
                        Fate::Twice => (2, 0),
                    };
                    let marked = matches!(fate, Fate::Marked) && outgoing.ecn != Ecn::NotEct;
                    let ecn = if marked { Ecn::Ce } else { outgoing.ecn };
                    let arrives = *free + Duration::from_millis(20 + late);
                    for copy in 0..copies {
                        let order = (numbers[0] + numbers[1]) * 2 + copy;
                        on_line.insert((arrives, order), (up, header.clone(), outgoing.payload.clone(), ecn));
                    }
                }
            }
            let timers = ends.iter().filter_map(Connection::poll_timeout);
            let arrival = on_line.first_key_value().map(|((at, _), _)| *at);
            let write = writes.peek().map(|(at, _)| Time::ZERO + Duration::from_millis(*at));
            let read = self.reads.filter(|_| ends[0].readable() > 0).map(|_| next_read);
            let Some(next) = timers.chain(arrival).chain(write).chain(read).min() else { break };
            now = now.max(next);
            if now > LIMIT || numbers[0] + numbers[1] > LONGEST {
                break;
            }
            while let Some(entry) = on_line.first_entry().filter(|entry| entry.key().0 <= now) {
                let (up, header, payload, ecn) = entry.remove();
                ends[usize::from(!up)].handle_segment(now, &header, &payload, ecn);
            }
            for end in &mut ends {
                end.handle_timeout(now);
                while end.poll_event().is_some() {}
            }
            watch.handled(now, &mut ends);
            let _ = ends[1].read(now, u64::MAX);
            match self.reads {
                None => drop(ends[0].read(now, u64::MAX)),
                Some(octets) if next_read <= now => {
                    drop(ends[0].read(now, octets));
                    next_read = now + Duration::from_millis(20);
                }
                Some(_) => {}
            }
        }
    }
}
