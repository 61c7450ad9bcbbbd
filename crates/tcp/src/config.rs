//! The configuration of a connection.

use crate::cc::Setup;
use crate::cc::{self, Controller};
use crate::profile::Profile;
use crate::receive::ack_policy::{self, AckPolicy};
use lopsided_core::packet::{IPV4_HEADER, TCP_HEADER};
use lopsided_core::{Bytes, Duration, Time};
use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub addr: IpAddr,
    pub port: u16,
}

/// A router's report about the path to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    /// The largest IP packet that the path carries.
    pub mtu: Bytes,
    /// When larger packets are tried again.
    pub until: Time,
}

/// Keep-alive times and limits. The default is Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence before the first probe (TCP_KEEPIDLE).
    pub idle: Duration,
    /// Time between two probes (TCP_KEEPINTVL).
    pub interval: Duration,
    /// Number of unanswered probes after which the connection fails (TCP_KEEPCNT).
    pub probes: u32,
}

impl Default for KeepAlive {
    fn default() -> KeepAlive {
        KeepAlive { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), probes: 9 }
    }
}

/// Error: no built-in congestion control has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController {
    pub name: String,
}

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = cc::CONTROLLERS.to_vec();
        write!(f, "there is no congestion control {:?}; built in are {}", self.name, known.join(", "))
    }
}

impl Error for UnknownController {}

/// The settings of one end of a connection.
#[derive(Debug)]
pub struct ConnConfig {
    pub local: Endpoint,
    pub remote: Endpoint,
    /// The initial sequence number.
    pub iss: u32,
    /// Added to the clock for timestamps (RFC 7323 section 5.4 recommends a random offset).
    pub timestamp_offset: u32,
    /// The largest IP packet of the interface.
    pub mtu: Bytes,
    /// An earlier router's report about the path to this destination.
    pub path_mtu: Option<PathMtu>,
    /// Shared by connections of one kind.
    pub profile: Arc<Profile>,
    pub controller: Box<dyn Controller>,
    /// When this end acknowledges.
    pub ack_policy: Box<dyn AckPolicy>,
}

impl ConnConfig {
    /// Creates a configuration with a built-in congestion control. Fails if no control has that name.
    pub fn new(
        local: Endpoint,
        remote: Endpoint,
        iss: u32,
        mtu: Bytes,
        profile: impl Into<Arc<Profile>>,
        cc: &str,
    ) -> Result<ConnConfig, UnknownController> {
        let make = cc::maker(cc).ok_or_else(|| UnknownController { name: cc.to_owned() })?;
        Ok(ConnConfig::with(local, remote, iss, mtu, profile, make))
    }

    /// Creates a configuration with the congestion control that `make` creates.
    pub fn with(
        local: Endpoint,
        remote: Endpoint,
        iss: u32,
        mtu: Bytes,
        profile: impl Into<Arc<Profile>>,
        make: impl Fn(&Setup) -> Box<dyn Controller>,
    ) -> ConnConfig {
        let profile = profile.into();
        // For the largest possible segments: the handshake decides the size, and with it the initial window.
        let mss = Bytes::new(u64::from(payload_limit(mtu, false)));
        let controller = make(&Setup::new(&profile, mss, u64::from(iss)));
        let ack_policy = ack_policy::build(&profile.ack).expect("a profile names a policy that is known");
        ConnConfig {
            local,
            remote,
            iss,
            timestamp_offset: iss.rotate_left(16),
            mtu,
            path_mtu: None,
            profile,
            controller,
            ack_policy,
        }
    }

    /// The MSS option: the largest payload of an IP packet without options (RFC 6691), reduced by a known path MTU
    /// (Linux).
    pub(crate) fn mss_option(&self) -> u16 {
        let mtu = self.path_mtu.map_or(self.mtu, |known| known.mtu.min(self.mtu));
        payload_limit(mtu, false) as u16
    }
}

/// The largest payload of a segment with or without timestamps.
fn payload_limit(mtu: Bytes, timestamps: bool) -> u32 {
    let options = if timestamps { 12 } else { 0 };
    (mtu.get().min(65_535) as u32).saturating_sub(IPV4_HEADER + TCP_HEADER + options).max(64)
}
