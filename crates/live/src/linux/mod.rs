//! Linux interfaces: devices, addresses and routes, processes in namespaces, and messages between processes.

mod channel;
mod netlink;
mod nfqueue;
mod process;
mod raw;
mod terminal;
mod tun;

pub(crate) use channel::{Channel, MOST};
pub(crate) use netlink::{Netlink, Reach};
pub(crate) use nfqueue::{NfQueue, Verdict};
pub(crate) use process::{
    Hurry, Side, drop_privileges, finish, forget_signals, fork, keep_only_net_admin, own_terminal,
};
pub(crate) use raw::RawOut;
pub(crate) use terminal::terminal_size;
pub use tun::Tun;
