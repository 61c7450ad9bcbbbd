//! The reasons for which packets are dropped and marked. Each reason is declared in one line: its name in the tables of
//! results, and its meaning.

macro_rules! reasons {
    ($(#[$about:meta])* $name:ident { $( $reason:ident = $text:literal, $doc:literal; )+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum $name { $( #[doc = $doc] $reason, )+ }

        impl $name {
            /// All reasons.
            pub const ALL: &[$name] = &[$( $name::$reason, )+];
            /// The number of reasons.
            pub const COUNT: usize = $name::ALL.len();

            /// The reason's name in the tables of results.
            pub fn name(self) -> &'static str {
                match self { $( $name::$reason => $text, )+ }
            }

            /// The reason's meaning, as a sentence without the final full stop.
            pub fn meaning(self) -> &'static str {
                match self { $( $name::$reason => $doc, )+ }
            }
        }
    };
}

reasons! {
    /// Why a packet was dropped. Every lost packet has exactly one reason. The number of the reason is part of a run's
    /// digest, so add new reasons at the end.
    DropReason {
        QueueFull = "queue_full", "the queue had no room and the arriving packet was refused";
        HeadDrop = "head_drop", "the queue had no room and this packet, from its head, gave way to the arriving one";
        Early = "early", "the discipline chose to drop early";
        Policed = "policed", "a rate limiter without a buffer was out of tokens";
        RandomLoss = "random_loss", "lost at random on the medium";
        PatternLoss = "pattern_loss", "lost by the scenario's loss pattern";
        NoRoute = "no_route", "no route to its destination";
        NoSocket = "no_socket", "its host has no connection or listener for it";
        TtlExpired = "ttl_expired", "its time to live ran out";
        Malformed = "malformed", "it could not be read as the packet it claims to be";
        AckThinned = "ack_thinned", "an ACK that a later one covers, dropped by a stage";
        RetriesExhausted = "retries_exhausted", "the medium's ARQ gave it up";
        AckFiltered = "ack_filtered", "an ACK that a later one in the queue covers, removed by a filter";
        ContextLost = "context_lost", "its compressed header could not be rebuilt: one before it was lost";
        Collided = "collided", "two stations sent at once, and nothing sends it again";
        TooBig = "too_big", "larger than the link's mtu, and not to be fragmented";
    }
}

reasons! {
    /// Why a packet was marked as CE, congestion experienced (RFC 3168).
    MarkReason {
        Threshold = "threshold", "the queue was above a fixed threshold";
        Early = "early", "picked at random, by the state of the queue";
        Forced = "forced", "the average queue was so long that every packet is picked";
    }
}
