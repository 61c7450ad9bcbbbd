//! Tins: classes of service by DSCP, with a guaranteed share of the rate (tc-cake(8)).

use lopsided_spec::Choice;

/// The priority queue modes of tc-cake(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TinMode {
    /// One tin.
    Besteffort,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight tins, selected by commonly used codepoints.
    Diffserv8,
    /// Eight tins, selected by the precedence bits of the old TOS field.
    Precedence,
}

impl Choice for TinMode {
    const WORDS: &'static [(&'static str, TinMode)] = &[
        ("besteffort", TinMode::Besteffort),
        ("diffserv3", TinMode::Diffserv3),
        ("diffserv4", TinMode::Diffserv4),
        ("diffserv8", TinMode::Diffserv8),
        ("precedence", TinMode::Precedence),
    ];
}

/// The name and the share of a tin.
#[derive(Clone, Copy, Debug)]
pub(super) struct TinPlan {
    pub name: &'static str,
    /// Fraction of the rate up to which the tin has priority. Without a shaper: weight of the tin.
    pub share: f64,
}

const fn plan(name: &'static str, share: f64) -> TinPlan {
    TinPlan { name, share }
}

// The tins are in Linux's order, because if several tins are due, the last one is served.
const BESTEFFORT: &[TinPlan] = &[plan("best effort", 1.0)];
const DIFFSERV3: &[TinPlan] = &[plan("best effort", 1.0), plan("bulk", 1.0 / 16.0), plan("voice", 0.25)];
const DIFFSERV4: &[TinPlan] =
    &[plan("best effort", 1.0), plan("bulk", 1.0 / 16.0), plan("video", 0.5), plan("voice", 0.25)];
const EIGHT: &[&str] = &["tin 0", "tin 1", "tin 2", "tin 3", "tin 4", "tin 5", "tin 6", "tin 7"];

// Codepoints of RFC 2474, 2597, 3246, 5865 and 8622.
const LE: u8 = 1;
const TOS_LOW_DELAY: u8 = 4;
const TOS_THROUGHPUT: u8 = 2;
const CS1: u8 = 8;
const EF: u8 = 46;
const VA: u8 = 44;

impl TinMode {
    /// Returns the tins of the mode, in Linux's order.
    pub(super) fn plans(self) -> Box<dyn Iterator<Item = TinPlan>> {
        match self {
            TinMode::Besteffort => Box::new(BESTEFFORT.iter().copied()),
            TinMode::Diffserv3 => Box::new(DIFFSERV3.iter().copied()),
            TinMode::Diffserv4 => Box::new(DIFFSERV4.iter().copied()),
            // Each tin's share is 12.5 % smaller than the previous tin's share.
            TinMode::Diffserv8 | TinMode::Precedence => Box::new(
                EIGHT.iter().scan(1.0, |share, name| Some(plan(name, std::mem::replace(share, *share * 7.0 / 8.0)))),
            ),
        }
    }

    /// Returns the index of the tin for a codepoint.
    pub(super) fn tin_of(self, dscp: u8) -> usize {
        match self {
            TinMode::Besteffort => 0,
            TinMode::Diffserv3 => match dscp {
                CS1 | LE => 1,
                TOS_LOW_DELAY | VA | EF | 48 | 56 => 2,
                _ => 0,
            },
            TinMode::Diffserv4 => match dscp {
                CS1 | LE => 1,
                // AF4x, AF3x, AF2x, CS3, CS2, and the old TOS value "low delay".
                34 | 36 | 38 | 26 | 28 | 30 | 18 | 20 | 22 | 24 | 16 | TOS_LOW_DELAY => 2,
                EF | VA | 32 | 40 | 48 | 56 => 3,
                _ => 0,
            },
            TinMode::Diffserv8 => match dscp {
                CS1 | LE => 0,
                // AF1x, and the old TOS value "high throughput".
                10 | 12 | 14 | TOS_THROUGHPUT => 1,
                // AF4x, AF3x, CS3.
                34 | 36 | 38 | 26 | 28 | 30 | 24 => 3,
                // AF2x, and the old TOS value "low delay".
                18 | 20 | 22 | TOS_LOW_DELAY => 4,
                // CS2.
                16 => 5,
                EF | VA | 32 | 40 => 6,
                48 | 56 => 7,
                _ => 2,
            },
            // RFC 791: the precedence is the upper 3 bits of the old TOS byte.
            TinMode::Precedence => usize::from(dscp >> 3),
        }
    }
}
