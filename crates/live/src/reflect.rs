//! The far end of a path that the queue disciplines `asqm` and `bdp` measure. It returns the probes of these
//! disciplines, which are called sensing packets.
//!
//! An NFQUEUE rule diverts arriving packets of the sensing protocol. [`turn`] selects the packets to return, and a raw
//! socket sends them. Other packets of this protocol pass unchanged.
//!
//! **Bounded.** Each packet causes at most one packet of the same size, so the reflector cannot amplify traffic. It
//! returns at most [`Reflection::most`] packets per second, and only to senders in [`Reflection::from`] if that list is
//! not empty.

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

/// The settings of a reflector.
#[derive(Clone, Debug)]
pub struct Reflection {
    /// Return only packets that arrive at this interface; `None` for all interfaces.
    pub interface: Option<String>,
    /// Return only packets from these addresses; empty for all addresses.
    pub from: Vec<Prefix>,
    /// Largest number of packets returned per second.
    pub most: u32,
}

/// Default rate limit in packets per second. A link of about 500 Mbit/s needs this number of sensing packets.
pub const MOST: u32 = 10_000;

/// An IP prefix.
///
/// # Examples
///
/// ```
/// use lopsided_live::reflect::Prefix;
///
/// let prefix: Prefix = "192.0.2.0/24".parse()?;
/// assert!(prefix.holds([192, 0, 2, 77].into()));
/// assert!(!prefix.holds([198, 51, 100, 1].into()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    bits: u8,
}

impl std::str::FromStr for Prefix {
    type Err = String;

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or a single address.
    fn from_str(text: &str) -> Result<Prefix, String> {
        let wrong = || format!("{text:?} is not an address; write 192.0.2.1 or 192.0.2.0/24");
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > most { Err(wrong()) } else { Ok(Prefix { address, bits }) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl Prefix {
    /// Returns true if the address has this prefix.
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

/// Packet counters of a reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reflected {
    /// Packets returned to their senders.
    pub returned: u64,
    /// Packets that passed unchanged: sensing packets that were already returned, and all packets that are not sensing
    /// packets.
    pub passed: u64,
    /// Packets that were dropped: above the rate limit, from an unlisted sender, or rejected by the kernel.
    pub dropped: u64,
}

/// The reason why the reflector failed.
#[derive(Debug)]
pub enum ReflectError {
    /// The rules could not be set.
    Rules(RulesError),
    /// The kernel's queue or a socket failed.
    Queue(io::Error),
}

impl fmt::Display for ReflectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReflectError::Rules(error) => error.fmt(f),
            ReflectError::Queue(error) if error.kind() == io::ErrorKind::AddrInUse => {
                f.write_str("another reflector already runs on this machine")
            }
            ReflectError::Queue(error) => write!(f, "cannot return sensing packets (this needs root): {error}"),
        }
    }
}

impl std::error::Error for ReflectError {}

/// The action to take for a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send these bytes back to the sender.
    Return(Vec<u8>),
    /// Let the packet pass unchanged.
    Pass,
    /// Drop the packet: it exceeds the rate limit, or its sender is not listed.
    Drop,
}

/// Decides for each packet whether to return, pass or drop it. The reflector does no I/O.
#[derive(Debug)]
pub struct Reflector {
    reflection: Reflection,
    accounting: Accounting,
    /// Number of packets that may still be returned in this second.
    left: u32,
}

impl Reflector {
    /// Creates a reflector with these settings. Its first second starts now, with the full rate limit.
    pub fn new(reflection: &Reflection) -> Reflector {
        Reflector { reflection: reflection.clone(), accounting: Accounting::new(1), left: reflection.most }
    }

    /// Starts the next second: the full rate limit is available again.
    pub fn next_second(&mut self) {
        self.left = self.reflection.most;
    }

    /// Decides whether to return, pass or drop one packet.
    pub fn turn(&mut self, octets: &[u8]) -> Action {
        let Ok(new) = wire::read_foreign(FlowId(0), octets) else { return Action::Pass };
        let mut cx = Cx::new(Time::ZERO, NodeId(0), &mut self.accounting);
        // The simulator's `turn` needs a packet that is registered with an accounting object, so register the packet
        // here and release it afterwards.
        let mut packet = cx.originate(new);
        let sender = packet.src();
        let turned = turn(&mut packet, &mut cx);
        // Reset the TTL: the reply starts a new journey.
        cx.rewrite(&mut packet, |editor| editor.set_ttl(DEFAULT_TTL));
        let back = wire::encode(&packet);
        let delivered = cx.deliver(packet);
        cx.recycle(delivered);
        if !turned {
            return Action::Pass;
        }
        let from = &self.reflection.from;
        if self.left == 0 || !(from.is_empty() || from.iter().any(|prefix| prefix.holds(sender))) {
            return Action::Drop;
        }
        self.left -= 1;
        Action::Return(back)
    }
}

#[expect(clippy::disallowed_methods, reason = "the limit of packets per second needs the machine's clock")]
fn instant() -> Instant {
    Instant::now()
}

/// Returns the probes (sensing packets) of `asqm` and `bdp` to their senders until a signal ends the program.
///
/// # Errors
/// Returns an error if the kernel does not permit a queue, a socket or a rule.
pub fn reflect(reflection: &Reflection) -> Result<Reflected, ReflectError> {
    let rules = Rules::of_sensing(reflection.interface.as_deref()).map_err(ReflectError::Rules)?;
    let keeper = Keeper::start(rules.clone()).map_err(ReflectError::Queue)?;
    let mut queue = NfQueue::bind(rules.queue(), true).map_err(ReflectError::Queue)?;
    let raw = RawOut::open(None, None).map_err(ReflectError::Queue)?;
    let ending = Ending::begin().map_err(ReflectError::Queue)?;
    keeper.set().map_err(ReflectError::Rules)?;
    keep_only_net_admin().map_err(ReflectError::Queue)?;
    let (mut turner, mut found, mut octets) = (Reflector::new(reflection), Reflected::default(), Vec::new());
    let mut second = instant();
    // The closure catches every error, so that the rules are removed after an error too.
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
        // The limit applies per second. The next second can start when a packet arrives, because no packet is returned
        // at any other time.
        if second.elapsed() >= Duration::from_secs(1) {
            second = instant();
            turner.next_second();
        }
        while let Some(number) = queue.receive(&mut octets)? {
            let verdict = match turner.turn(&octets) {
                Action::Pass => {
                    found.passed += 1;
                    Verdict::Accept
                }
                Action::Return(back) if raw.send(&back) => {
                    found.returned += 1;
                    Verdict::Drop
                }
                Action::Return(_) | Action::Drop => {
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
    fn a_sensing_packet_is_returned_once_with_its_payload() {
        let mut turner = Reflector::new(&reflection(10, &[]));
        let Action::Return(back) = turner.turn(&packet(77, 253)) else { panic!("this is a sensing packet") };
        assert_eq!((&back[12..16], &back[16..20], back[8]), (&[198, 51, 100, 7][..], &[192, 0, 2, 1][..], DEFAULT_TTL));
        assert_eq!(back.len(), 28);
        assert_eq!(&back[21..28], &77u64.to_be_bytes()[1..]);
        // A second reflector lets the returned packet pass. It also lets packets pass that are not sensing packets.
        assert_eq!(turner.turn(&back), Action::Pass);
        assert_eq!(turner.turn(&packet(77, 17)), Action::Pass);
        assert_eq!(turner.turn(&packet(77, 253)[..27]), Action::Pass);
    }

    #[test]
    fn the_reflector_obeys_its_rate_limit_and_its_prefixes() {
        let mut turner = Reflector::new(&reflection(2, &["192.0.2.0/30", "2001:db8::/32"]));
        let turned = |turner: &mut Reflector| turner.turn(&packet(1, 253)) != Action::Drop;
        assert_eq!([(); 4].map(|()| turned(&mut turner)), [true, true, false, false]);
        turner.next_second();
        assert!(turned(&mut turner));
        let mut of_others = Reflector::new(&reflection(2, &["192.0.2.2/32", "198.51.100.7"]));
        assert!(!turned(&mut of_others));
        for wrong in ["192.0.2.1/33", "192.0.2", "::/129", "x", "1.1.1.1/"] {
            assert!(wrong.parse::<Prefix>().is_err(), "{wrong}");
        }
        assert!("0.0.0.0/0".parse::<Prefix>().is_ok_and(|all| all.holds([203, 0, 113, 9].into())));
    }

    proptest! {
        /// A returned packet is at most as large as the received packet, and is never returned again.
        #[test]
        fn hostile_packets_are_returned_at_most_once_and_never_enlarged(mut octets in proptest::collection::vec(any::<u8>(), 0..80), version in 0u8..8) {
            if let Some(first) = octets.first_mut() {
                *first = [0x45, 0x46, 0x60, *first][usize::from(version % 4)];
            }
            if let (true, Some(protocol)) = (version > 3, octets.get_mut(9)) {
                *protocol = 253;
            }
            if let Action::Return(back) = Reflector::new(&reflection(10, &[])).turn(&octets) {
                prop_assert!(back.len() <= octets.len());
                prop_assert_eq!(Reflector::new(&reflection(10, &[])).turn(&back), Action::Pass);
            }
        }
    }
}
