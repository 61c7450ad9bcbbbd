//! The owners of a host's local ports. Listening applications have well-known ports, and outgoing connections have
//! ephemeral ports.
//!
//! Each port has one owner. The destination port of a segment therefore selects the only possible connection.

/// The listening port of the first application. Each later application gets the next port.
pub(crate) const FIRST_SERVICE: u16 = 5001;
/// The range of ephemeral ports, as in Linux (`ip_local_port_range`).
const FIRST_EPHEMERAL: u16 = 32_768;
const LAST_EPHEMERAL: u16 = 60_999;

/// Maximum number of listening applications on one host.
pub(crate) const MAX_SERVICES: usize = (FIRST_EPHEMERAL - FIRST_SERVICE) as usize;

/// Marks a free port in the tables.
const UNUSED: u32 = u32::MAX;
/// Bit in an entry of `outgoing`. If the bit is set, an application with datagrams owns the port, otherwise a
/// connection.
const DATAGRAMS: u32 = 1 << 31;

/// The owners of all ports of a host.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// The application that listens on each port, from [`FIRST_SERVICE`] on.
    services: Vec<u32>,
    /// The owner of each port from [`FIRST_EPHEMERAL`] on: a connection, or an application if the bit [`DATAGRAMS`] is
    /// set.
    outgoing: Vec<u32>,
    /// Index at which the search for a free ephemeral port starts.
    next: usize,
}

/// The owner of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A listening application.
    Service(u32),
    /// An outgoing connection.
    Connection(u32),
    /// An application that sends datagrams from this port.
    Datagrams(u32),
}

impl Ports {
    /// Reserves a port for a new listening application. Returns `None` if all ports are in use.
    pub fn serve(&mut self, app: u32) -> Option<u16> {
        if self.services.len() == MAX_SERVICES {
            return None;
        }
        self.services.push(app);
        Some(FIRST_SERVICE + self.services.len() as u16 - 1)
    }

    /// Returns the owner of a port; `None` if the port is free.
    #[inline]
    pub fn owner(&self, port: u16) -> Option<Owner> {
        if port >= FIRST_EPHEMERAL {
            let connection = *self.outgoing.get(usize::from(port - FIRST_EPHEMERAL))?;
            return match connection {
                UNUSED => None,
                app if app & DATAGRAMS != 0 => Some(Owner::Datagrams(app & !DATAGRAMS)),
                connection => Some(Owner::Connection(connection)),
            };
        }
        let app = *self.services.get(usize::from(port.checked_sub(FIRST_SERVICE)?))?;
        Some(Owner::Service(app))
    }

    /// Reserves an ephemeral port for a connection. Returns `None` if all ports are in use.
    pub fn go_out(&mut self, connection: u32) -> Option<u16> {
        let all = usize::from(LAST_EPHEMERAL - FIRST_EPHEMERAL) + 1;
        // The search starts after the last reserved port, so that a released port is reused as late as possible.
        let free =
            (self.next..all).chain(0..self.next).find(|at| self.outgoing.get(*at).is_none_or(|c| *c == UNUSED))?;
        if free >= self.outgoing.len() {
            self.outgoing.resize(free + 1, UNUSED);
        }
        self.outgoing[free] = connection;
        self.next = (free + 1) % all;
        Some(FIRST_EPHEMERAL + free as u16)
    }

    /// Reserves an ephemeral port for an application that sends datagrams.
    pub fn go_out_with_datagrams(&mut self, app: u32) -> Option<u16> {
        self.go_out(app | DATAGRAMS)
    }

    /// Releases an ephemeral port.
    pub fn release(&mut self, port: u16) {
        if let Some(owner) = port.checked_sub(FIRST_EPHEMERAL).and_then(|at| self.outgoing.get_mut(usize::from(at))) {
            *owner = UNUSED;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_released_port_is_reused_after_all_other_ports() {
        let mut ports = Ports::default();
        let first = ports.go_out(1).unwrap();
        ports.release(first);
        let second = ports.go_out(2).unwrap();
        assert_ne!(first, second);
        assert_eq!(ports.owner(second), Some(Owner::Connection(2)));
        assert_eq!(ports.owner(first), None);
        let taken = (0..).take_while(|_| ports.go_out(3).is_some()).count();
        assert_eq!(taken, 28_232 - 1);
        ports.release(first);
        assert_eq!(ports.go_out(4), Some(first));
    }

    #[test]
    fn ports_of_datagrams_and_connections_have_different_owners() {
        let mut ports = Ports::default();
        let (datagrams, connection) = (ports.go_out_with_datagrams(3).unwrap(), ports.go_out(3).unwrap());
        assert_eq!(ports.owner(datagrams), Some(Owner::Datagrams(3)));
        assert_eq!(ports.owner(connection), Some(Owner::Connection(3)));
    }

    #[test]
    fn unused_ports_have_no_owner() {
        let mut ports = Ports::default();
        assert_eq!(ports.serve(7), Some(5001));
        assert_eq!(ports.owner(5001), Some(Owner::Service(7)));
        assert!([0, 80, 5000, 5002, 32_767, 32_768, 60_999, 65_535].iter().all(|port| ports.owner(*port).is_none()));
    }
}
