//! The far end of a sensed line: returns the sensing packets of `asqm` and `bdp` that pass this machine, and nothing
//! else.
//!
//! The same [`turn`] as in the simulator's reflector. A rule hands over packets of the sensing protocol as they come in
//! (NFQUEUE), whoever they are for; each that senses goes back to its sender with the addresses exchanged, by a raw
//! socket. What has turned already, or is no sensing packet, goes on untouched.
//!
//! **Bounded.** One packet comes back for one, of the same 28 octets (48 in IPv6), so that nothing is amplified; at
//! most [`Reflection::most`] a second, and only for senders of [`Reflection::from`], if there are any. What is beyond
//! that is dropped.

use crate::linux::{NfQueue, RawOut, Verdict, keep_only_net_admin};
use crate::shape::keeper::Keeper;
use crate::shape::rules::{Rules, RulesError};
use crate::shape::signals::Ending;
use lopsided_core::packet::DEFAULT_TTL;
use lopsided_core::{Accounting, Cx, FlowId, NodeId, Time, wire};
use lopsided_queue::turn;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// What is returned, and how much.
#[derive(Clone, Debug)]
pub struct Reflection {
    /// Only what comes in here.
    pub interface: Option<String>,
    /// Only what these send; everybody's if there are none.
    pub from: Vec<Prefix>,
    /// At most so many packets a second.
    pub most: u32,
}

/// So many packets a second are those of a line of half a gigabit.
pub const MOST: u32 = 10_000;

/// Addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl std::str::FromStr for Prefix {
    type Err = String;

    /// `192.0.2.0/24`, `2001:db8::/32`, or one address.
    fn from_str(text: &str) -> Result<Prefix, String> {
        let wrong = || format!("{text:?} is no address such as 192.0.2.1 or 192.0.2.0/24");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > most { Err(wrong()) } else { Ok(Prefix { address, bits }) }
    }
}

impl Prefix {
    pub fn holds(self, address: IpAddr) -> bool {
        let first = |value: u128, of: u8| if self.bits == 0 { 0 } else { value >> (of - self.bits) };
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                first(u32::from(own).into(), 32) == first(u32::from(other).into(), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => first(own.into(), 128) == first(other.into(), 128),
            _ => false,
        }
    }
}

/// What became of the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reflected {
    pub returned: u64,
    /// Not sensing, or turned before: they went on.
    pub passed: u64,
    /// Too many, of others, or not taken by the kernel.
    pub dropped: u64,
}

/// Why nothing is returned, or no longer.
#[derive(Debug)]
pub enum ReflectError {
    Rules(RulesError),
    Queue(io::Error),
}

impl fmt::Display for ReflectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReflectError::Rules(error) => error.fmt(f),
            ReflectError::Queue(error) if error.kind() == io::ErrorKind::AddrInUse => {
                f.write_str("another reflector runs on this machine already")
            }
            ReflectError::Queue(error) => write!(f, "sensing packets cannot be returned (it takes root): {error}"),
        }
    }
}

impl std::error::Error for ReflectError {}

/// What is to be done with a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Turned {
    /// These octets go back.
    Back(Vec<u8>),
    /// It goes on.
    On,
    Refused,
}

/// The decision on each packet, without I/O.
#[derive(Debug)]
pub struct Turner {
    reflection: Reflection,
    accounting: Accounting,
    /// Packets that may go back until the next second begins.
    left: u32,
}

impl Turner {
    pub fn new(reflection: &Reflection) -> Turner {
        Turner { reflection: reflection.clone(), accounting: Accounting::new(1), left: reflection.most }
    }

    /// Another second has begun.
    pub fn next_second(&mut self) {
        self.left = self.reflection.most;
    }

    pub fn turn(&mut self, octets: &[u8]) -> Turned {
        let Ok(new) = wire::read_foreign(FlowId(0), octets) else { return Turned::On };
        let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut self.accounting);
        let mut packet = cx.originate(new);
        let sender = packet.src();
        let turned = turn(&mut packet, &mut cx);
        // It has the whole way before it again.
        cx.rewrite(&mut packet, |editor| editor.set_ttl(DEFAULT_TTL));
        let back = wire::encode(&packet);
        let delivered = cx.deliver(packet);
        cx.recycle(delivered);
        if !turned {
            return Turned::On;
        }
        let from = &self.reflection.from;
        if self.left == 0 || !(from.is_empty() || from.iter().any(|prefix| prefix.holds(sender))) {
            return Turned::Refused;
        }
        self.left -= 1;
        Turned::Back(back)
    }
}

#[expect(clippy::disallowed_methods, reason = "packets a second are counted by the machine's clock")]
fn instant() -> Instant {
    Instant::now()
}

/// Returns sensing packets until a signal ends it.
///
/// # Errors
/// If the kernel does not let this process.
pub fn reflect(reflection: &Reflection) -> Result<Reflected, ReflectError> {
    let rules = Rules::of_sensing(reflection.interface.as_deref()).map_err(ReflectError::Rules)?;
    let keeper = Keeper::start(rules.clone()).map_err(ReflectError::Queue)?;
    let mut queue = NfQueue::bind(rules.queue(), true).map_err(ReflectError::Queue)?;
    keeper.arm().map_err(ReflectError::Queue)?;
    let raw = RawOut::open(None, None).map_err(ReflectError::Queue)?;
    let ending = Ending::begin().map_err(ReflectError::Queue)?;
    rules.add().map_err(ReflectError::Rules)?;
    keep_only_net_admin().map_err(ReflectError::Queue)?;
    let (mut turner, mut found, mut octets) = (Turner::new(reflection), Reflected::default(), Vec::new());
    let mut second = instant();
    let worked = (|| loop {
        let mut waits = [PollFd::new(queue.as_fd(), PollFlags::POLLIN), PollFd::new(ending.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waits, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(io::Error::from(error)),
        }
        if waits[1].any().unwrap_or(true) {
            ending.take()?;
            return Ok(());
        }
        if second.elapsed() >= Duration::from_secs(1) {
            second = instant();
            turner.next_second();
        }
        while let Some(number) = queue.receive(&mut octets)? {
            let verdict = match turner.turn(&octets) {
                Turned::On => {
                    found.passed += 1;
                    Verdict::Accept
                }
                Turned::Back(back) if raw.send(&back) => {
                    found.returned += 1;
                    Verdict::Drop
                }
                Turned::Back(_) | Turned::Refused => {
                    found.dropped += 1;
                    Verdict::Drop
                }
            };
            queue.verdict(number, verdict, None)?;
        }
    })();
    keeper.end();
    worked.map_err(ReflectError::Queue)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reflection(most: u32, from: &[&str]) -> Reflection {
        Reflection { interface: None, from: from.iter().map(|text| text.parse().expect("a prefix")).collect(), most }
    }

    fn packet(stamp: u64, protocol: u8) -> Vec<u8> {
        let mut octets = vec![0x45, 0, 0, 28, 0, 9, 0, 0, 3, protocol, 0, 0, 192, 0, 2, 1, 198, 51, 100, 7];
        octets.extend(stamp.to_be_bytes());
        octets
    }

    #[test]
    fn a_sensing_packet_goes_back_once_and_whole() {
        let mut turner = Turner::new(&reflection(10, &[]));
        let Turned::Back(back) = turner.turn(&packet(77, 253)) else { panic!("it senses") };
        assert_eq!((&back[12..16], &back[16..20], back[8]), (&[198, 51, 100, 7][..], &[192, 0, 2, 1][..], DEFAULT_TTL));
        assert_eq!(back.len(), 28);
        assert_eq!(&back[21..28], &77u64.to_be_bytes()[1..]);
        // Another far end leaves it alone, as it does what is no sensing packet.
        assert_eq!(turner.turn(&back), Turned::On);
        assert_eq!(turner.turn(&packet(77, 17)), Turned::On);
        assert_eq!(turner.turn(&packet(77, 253)[..27]), Turned::On);
    }

    #[test]
    fn no_more_than_asked_for_and_for_nobody_else() {
        let mut turner = Turner::new(&reflection(2, &["192.0.2.0/30", "2001:db8::/32"]));
        let turned = |turner: &mut Turner| turner.turn(&packet(1, 253)) != Turned::Refused;
        assert_eq!([(); 4].map(|()| turned(&mut turner)), [true, true, false, false]);
        turner.next_second();
        assert!(turned(&mut turner));
        let mut of_others = Turner::new(&reflection(2, &["192.0.2.2/32", "198.51.100.7"]));
        assert!(!turned(&mut of_others));
        for wrong in ["192.0.2.1/33", "192.0.2", "::/129", "x", "1.1.1.1/"] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
        assert!("0.0.0.0/0".parse::<Prefix>().is_ok_and(|all| all.holds([203, 0, 113, 9].into())));
    }

    proptest! {
        /// Nothing comes back that is larger than what came, or has turned, whatever it is.
        #[test]
        fn hostile_packets_are_only_passed(mut octets in proptest::collection::vec(any::<u8>(), 0..80), version in 0u8..8) {
            if let Some(first) = octets.first_mut() {
                *first = [0x45, 0x46, 0x60, *first][usize::from(version % 4)];
            }
            if let (true, Some(protocol)) = (version > 3, octets.get_mut(9)) {
                *protocol = 253;
            }
            if let Turned::Back(back) = Turner::new(&reflection(10, &[])).turn(&octets) {
                prop_assert!(back.len() <= octets.len());
                prop_assert_eq!(Turner::new(&reflection(10, &[])).turn(&back), Turned::On);
            }
        }
    }
}
