//! Which local port belongs to whom: services on ports of their own, connections that go out on ephemeral ones.
//!
//! Every application that receives has a port to itself and every connection that goes out has one to itself, so the
//! port alone finds the candidate and one comparison of the far end confirms it.

/// The first port that services get, one after the other.
pub(crate) const FIRST_SERVICE: u16 = 5001;
/// The ephemeral ports of Linux.
const FIRST_EPHEMERAL: u16 = 32_768;
const LAST_EPHEMERAL: u16 = 60_999;

/// Services that one host can have.
pub(crate) const MAX_SERVICES: usize = (FIRST_EPHEMERAL - FIRST_SERVICE) as usize;

/// In the tables: nobody's.
const NOBODY: u32 = u32::MAX;
/// In the table of outgoing ports: the rest of the word is an application with datagrams, not a connection.
const DATAGRAMS: u32 = 1 << 31;

#[derive(Debug, Default)]
pub(crate) struct Ports {
    /// Applications, by port from [`FIRST_SERVICE`] on.
    services: Vec<u32>,
    /// Connections, or applications with [`DATAGRAMS`], by port from [`FIRST_EPHEMERAL`] on.
    outgoing: Vec<u32>,
    /// Where the search for a free ephemeral port begins.
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An application that waits for whoever comes.
    Service(u32),
    /// A connection that went out from here.
    Connection(u32),
    /// An application that sent the first datagram from here.
    Datagrams(u32),
}

impl Ports {
    /// The port of a new service; `None` if all are taken.
    pub fn serve(&mut self, app: u32) -> Option<u16> {
        if self.services.len() == MAX_SERVICES {
            return None;
        }
        self.services.push(app);
        Some(FIRST_SERVICE + self.services.len() as u16 - 1)
    }

    #[inline]
    pub fn owner(&self, port: u16) -> Option<Owner> {
        if port >= FIRST_EPHEMERAL {
            let connection = *self.outgoing.get(usize::from(port - FIRST_EPHEMERAL))?;
            return match connection {
                NOBODY => None,
                app if app & DATAGRAMS != 0 => Some(Owner::Datagrams(app & !DATAGRAMS)),
                connection => Some(Owner::Connection(connection)),
            };
        }
        let app = *self.services.get(usize::from(port.checked_sub(FIRST_SERVICE)?))?;
        Some(Owner::Service(app))
    }

    /// A free ephemeral port for the connection: always the next one, so that a port rests as long as possible. `None`
    /// if all are taken.
    pub fn go_out(&mut self, connection: u32) -> Option<u16> {
        let all = usize::from(LAST_EPHEMERAL - FIRST_EPHEMERAL) + 1;
        let free =
            (self.next..all).chain(0..self.next).find(|at| self.outgoing.get(*at).is_none_or(|c| *c == NOBODY))?;
        if free >= self.outgoing.len() {
            self.outgoing.resize(free + 1, NOBODY);
        }
        self.outgoing[free] = connection;
        self.next = (free + 1) % all;
        Some(FIRST_EPHEMERAL + free as u16)
    }

    /// A free ephemeral port for the application's datagrams.
    pub fn go_out_with_datagrams(&mut self, app: u32) -> Option<u16> {
        self.go_out(app | DATAGRAMS)
    }

    pub fn release(&mut self, port: u16) {
        if let Some(owner) = port.checked_sub(FIRST_EPHEMERAL).and_then(|at| self.outgoing.get_mut(usize::from(at))) {
            *owner = NOBODY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_rests_until_all_others_were_used() {
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
    fn datagrams_and_connections_are_told_apart() {
        let mut ports = Ports::default();
        let (datagrams, connection) = (ports.go_out_with_datagrams(3).unwrap(), ports.go_out(3).unwrap());
        assert_eq!(ports.owner(datagrams), Some(Owner::Datagrams(3)));
        assert_eq!(ports.owner(connection), Some(Owner::Connection(3)));
    }

    #[test]
    fn ports_of_nobody_have_no_owner() {
        let mut ports = Ports::default();
        assert_eq!(ports.serve(7), Some(5001));
        assert_eq!(ports.owner(5001), Some(Owner::Service(7)));
        assert!([0, 80, 5000, 5002, 32_767, 32_768, 60_999, 65_535].iter().all(|port| ports.owner(*port).is_none()));
    }
}
