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

/// The address and port of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    /// The IP address.
    pub addr: IpAddr,
    /// The TCP port.
    pub port: u16,
}

/// A path MTU that a router reported for a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtu {
    /// The largest IP packet that the path can carry, in bytes.
    pub mtu: Bytes,
    /// Time at which the sender tries larger packets again.
    pub until: Time,
}

/// Keep-alive times and limits. The default values are those of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Time without a segment from the peer after which the first probe is sent (TCP_KEEPIDLE).
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

/// Error: no built-in congestion control has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownController {
    /// The unknown name.
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
///
/// # Examples
///
/// A Linux 6.1 end with Reno, over an interface with an MTU of 1500 bytes:
///
/// ```
/// use lopsided_core::Bytes;
/// use lopsided_tcp::{ConnConfig, Endpoint, Profile};
/// use std::net::Ipv4Addr;
///
/// let local = Endpoint { addr: Ipv4Addr::new(10, 0, 0, 1).into(), port: 40_000 };
/// let remote = Endpoint { addr: Ipv4Addr::new(10, 0, 0, 2).into(), port: 80 };
/// let config = ConnConfig::new(local, remote, 1, Bytes::new(1500), Profile::linux_6_1(), "reno").unwrap();
/// assert_eq!(config.ack_policy.name(), "linux");
/// assert!(ConnConfig::new(local, remote, 1, Bytes::new(1500), Profile::linux_6_1(), "renu").is_err());
/// ```
#[derive(Debug)]
pub struct ConnConfig {
    /// This end's address and port.
    pub local: Endpoint,
    /// The peer's address and port.
    pub remote: Endpoint,
    /// The initial sequence number.
    pub iss: u32,
    /// Offset of the timestamp clock in ms (RFC 7323 section 5.4 recommends a random one).
    pub timestamp_offset: u32,
    /// MTU of the interface: the largest IP packet that it carries, in bytes.
    pub mtu: Bytes,
    /// Path MTU already known for this destination; `None` if no router has reported one.
    pub path_mtu: Option<PathMtu>,
    /// The behaviour of the TCP stack. Connections with the same stack share one profile.
    pub profile: Arc<Profile>,
    /// The congestion control.
    pub controller: Box<dyn Controller>,
    /// Decides when this end sends an ACK.
    pub ack_policy: Box<dyn AckPolicy>,
    /// True if [`TcpInfo`](crate::TcpInfo) reports the delivery rate. If false, the rate is measured only for a
    /// controller that needs the rate. Without the measurement, an outstanding segment takes 24 bytes less memory.
    pub reports_rate: bool,
}

impl ConnConfig {
    /// Creates a configuration with a built-in congestion control.
    ///
    /// `iss` is the initial sequence number and `mtu` the largest IP packet in bytes. `cc` is one of
    /// [`CONTROLLERS`](crate::CONTROLLERS).
    ///
    /// # Errors
    ///
    /// Returns an error if no built-in congestion control has the name `cc`.
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

    /// Creates a configuration. Calls `make` to create the congestion control.
    ///
    /// # Panics
    ///
    /// Panics if the profile names an unknown acknowledgement policy.
    pub fn with(
        local: Endpoint,
        remote: Endpoint,
        iss: u32,
        mtu: Bytes,
        profile: impl Into<Arc<Profile>>,
        make: impl Fn(&Setup) -> Box<dyn Controller>,
    ) -> ConnConfig {
        let profile = profile.into();
        // The controller starts with the largest possible segment size. The handshake sets the negotiated size and
        // recomputes the initial window.
        let mss = Bytes::new(u64::from(payload_limit(mtu, false)));
        let controller = make(&Setup::new(&profile, mss, u64::from(iss)));
        let ack_policy = ack_policy::build(&profile.ack_settings()).expect("a profile names a policy that is known");
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
            reports_rate: true,
        }
    }

    /// Returns the value of the MSS option in bytes (RFC 6691). As in Linux, a known path MTU reduces the value.
    pub(crate) fn mss_option(&self) -> u16 {
        let mtu = self.path_mtu.map_or(self.mtu, |known| known.mtu.min(self.mtu));
        payload_limit(mtu, false) as u16
    }
}

/// Returns the largest payload of a segment in bytes. `timestamps` is true if segments carry the timestamps option.
fn payload_limit(mtu: Bytes, timestamps: bool) -> u32 {
    let options = if timestamps { 12 } else { 0 };
    (mtu.get().min(65_535) as u32).saturating_sub(IPV4_HEADER + TCP_HEADER + options).max(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(mtu: u64, path: Option<u64>, cc: &str) -> Result<ConnConfig, UnknownController> {
        let end = Endpoint { addr: std::net::Ipv4Addr::LOCALHOST.into(), port: 1 };
        let path_mtu = path.map(|mtu| PathMtu { mtu: Bytes::new(mtu), until: Time::ZERO });
        let config = ConnConfig::new(end, end, 0x0102_0304, Bytes::new(mtu), Profile::linux_6_1(), cc)?;
        Ok(ConnConfig { path_mtu, ..config })
    }

    /// RFC 6691: the MTU minus the headers without options. Linux also heeds a known path MTU.
    #[test]
    fn the_mss_option_follows_the_smaller_mtu() {
        let mss = |mtu, path| config(mtu, path, "reno").expect("built in").mss_option();
        assert_eq!([mss(1500, None), mss(1500, Some(1400)), mss(1500, Some(9000))], [1460, 1360, 1460]);
        assert_eq!([mss(50, None), mss(1 << 20, None)], [64, 65_535 - 40]);
        assert_eq!([payload_limit(Bytes::new(1500), true), payload_limit(Bytes::new(1500), false)], [1448, 1460]);
    }

    #[test]
    fn an_unknown_control_is_named_with_the_known_ones() {
        let error = config(1500, None, "renu").expect_err("there is none").to_string();
        assert!(error.starts_with("there is no congestion control \"renu\"; built in are reno, newreno, "), "{error}");
        assert_eq!(config(1500, None, "reno").expect("built in").timestamp_offset, 0x0304_0102);
    }
}
