//! Settings of one-way transfers.

use super::asker::Asker;
use super::{Receiver, Sender, Transfer};
use crate::config::pair;
use crate::{AppError, AppPair, AppSettings, FlowContext, Opening, RunApplications, Side};
use lopsided_core::{Bytes, Duration};
use lopsided_spec::{Fault, Key, Part, key};

/// Settings of a bulk transfer: unlimited data until the flow stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkConfig {
    /// Time from the start of the flow, when the connection is opened, to the first byte.
    pub wait: Duration,
    /// Upper bound of a random time that is added to `wait`.
    pub wait_jitter: Duration,
}

/// Settings of a transfer of a fixed size, with a new connection for each transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferConfig {
    /// Size of one transfer.
    pub size: Bytes,
    /// Number of transfers, or `None` to repeat until the flow stops.
    pub repeat: Option<u32>,
    /// Time between the end of a transfer and the start of the next.
    pub pause: Duration,
}

/// Settings of a sender that alternates between bursts and silence on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnOffConfig {
    /// Duration of a burst.
    pub on: Duration,
    /// Duration of the silence after a burst.
    pub off: Duration,
}

impl Default for TransferConfig {
    fn default() -> TransferConfig {
        TransferConfig { size: Bytes::new(1), repeat: Some(1), pause: Duration::ZERO }
    }
}

impl Part for BulkConfig {
    const NAME: &'static str = "bulk";
    const TEXT: &'static str = "Unlimited data until the flow stops.";
    const KEYS: &'static [Key<BulkConfig>] = &[
        key(
            "wait",
            |bulk: &mut Self| &mut bulk.wait,
            "Time from the start of the flow, when the connection is opened, to the first byte of data.",
        ),
        key("wait_jitter", |bulk| &mut bulk.wait_jitter, "A random time from 0 to this value is added to `wait`."),
    ];
}

impl Part for TransferConfig {
    const NAME: &'static str = "transfer";
    const TEXT: &'static str = "One or more transfers of a fixed size, each on a new connection.";
    const KEYS: &'static [Key<TransferConfig>] = &[
        key("size", |transfer: &mut Self| &mut transfer.size, "Size of one transfer.").required("\"100 kB\""),
        key("repeat", |transfer: &mut Self| &mut transfer.repeat, "Number of transfers.").none_word("forever"),
        key(
            "pause",
            |transfer| &mut transfer.pause,
            "Time from the end of a transfer to the start of the next transfer.",
        ),
    ];

    fn check(&self) -> Result<(), Fault> {
        if self.size == Bytes::ZERO {
            return Err(Fault::new("size", "the size must be at least 1 B"));
        }
        if self.repeat == Some(0) {
            return Err(Fault::new("repeat", "this must be at least 1"));
        }
        Ok(())
    }
}

impl Part for OnOffConfig {
    const NAME: &'static str = "on_off";
    const TEXT: &'static str = "Bulk data with pauses: phases of sending and of silence alternate on one connection.";
    const KEYS: &'static [Key<OnOffConfig>] = &[
        key("on", |bursts: &mut Self| &mut bursts.on, "Length of a phase of bulk data.").required("\"1 s\""),
        key("off", |bursts: &mut Self| &mut bursts.off, "Length of a phase of silence.").required("\"1 s\""),
    ];

    fn check(&self) -> Result<(), Fault> {
        for (key, time) in [("on", self.on), ("off", self.off)] {
            if time.is_zero() {
                return Err(Fault::new(key, "this must be longer than 0 s"));
            }
        }
        Ok(())
    }
}

impl AppSettings for BulkConfig {
    fn build(&self, flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        Ok(one_way(flow, Transfer::Bulk { wait: self.wait, wait_jitter: self.wait_jitter }))
    }
}

impl AppSettings for TransferConfig {
    fn build(&self, flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        let TransferConfig { size, repeat, pause } = *self;
        Ok(one_way(flow, Transfer::Bytes { size, repeat, pause }))
    }
}

impl AppSettings for OnOffConfig {
    fn build(&self, flow: &FlowContext, _own: &RunApplications) -> Result<AppPair, AppError> {
        Ok(one_way(flow, Transfer::OnOff { on: self.on, off: self.off }))
    }
}

fn one_way(flow: &FlowContext, transfer: Transfer) -> AppPair {
    match flow.opening {
        // The end that opens the connection also begins the transfer; the other end listens.
        Opening::Sender => pair(Sender::new(transfer), Receiver::new(transfer.size()), Side::To, false),
        Opening::Receiver => pair(Sender::answering(transfer), Asker::new(transfer), Side::From, false),
    }
}
