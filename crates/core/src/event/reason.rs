//! The reasons for which packets are dropped and marked. Each reason has a name for result tables and a one-sentence
//! meaning.

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

            /// Returns the reason's name in result tables.
            pub fn name(self) -> &'static str {
                match self { $( $name::$reason => $text, )+ }
            }

            /// Returns the reason's meaning, as a sentence without the final full stop.
            pub fn meaning(self) -> &'static str {
                match self { $( $name::$reason => $doc, )+ }
            }
        }
    };
}

reasons! {
    /// The reason why a packet was dropped. The number of a reason is part of a run's digest, so add new reasons at the
    /// end.
    DropReason {
        QueueFull = "queue_full", "the queue was full, and the arriving packet was rejected";
        HeadDrop = "head_drop", "the queue was full, and this packet at its head was dropped to make room for the arriving packet";
        Early = "early", "the discipline dropped the packet before the queue was full";
        Policed = "policed", "a rate limiter without a buffer had no tokens left";
        RandomLoss = "random_loss", "the packet was lost at random on the medium";
        PatternLoss = "pattern_loss", "the scenario's loss pattern selected the packet";
        NoRoute = "no_route", "there is no route to the packet's destination";
        NoSocket = "no_socket", "the host has no connection or listener for the packet";
        TtlExpired = "ttl_expired", "the packet's time to live (TTL) expired";
        Malformed = "malformed", "the packet could not be parsed according to its headers";
        AckThinned = "ack_thinned", "a stage dropped an ACK that a later ACK covers";
        RetriesExhausted = "retries_exhausted", "the ARQ of the medium gave up after the last retry";
        AckFiltered = "ack_filtered", "a filter removed an ACK that a later ACK in the queue covers";
        ContextLost = "context_lost", "the compressed header could not be decompressed, because an earlier packet was lost";
        Collided = "collided", "two stations sent at once, and the packet is not sent again";
        TooBig = "too_big", "the packet is larger than the link's MTU and must not be fragmented";
    }
}

reasons! {
    /// The reason why a packet was marked as CE, congestion experienced (RFC 3168).
    MarkReason {
        Threshold = "threshold", "the queue was longer than a fixed threshold";
        Early = "early", "the packet was selected at random, with a probability that depends on the queue";
        Forced = "forced", "the average queue was so long that every packet was selected";
    }
}
