//! The names that a scenario may use for what other crates implement.

/// The stack profiles, the default first.
pub const PROFILES: &[&str] = &["linux-6.1", "freebsd-7", "linux-2.6", "bsdi-3", "ns2-reno", "windows"];

/// The congestion controls, the default first.
pub const CONGESTION_CONTROLS: &[&str] = &[
    "reno",
    "newreno",
    "cubic",
    "cubic-hystart++",
    "cubic-slow-start",
    "cubic-0.8",
    "bic",
    "highspeed",
    "htcp",
    "westwood",
    "vegas",
    "scalable",
    "hybla",
    "illinois",
    "veno",
    "yeah",
    "compound",
    "ledbat",
    "bbr",
    "bbr3",
    "dctcp",
    "prague",
];

/// The congestion controls with those of the user's own.
pub(crate) fn with_own<'n>(own: &[&'n str]) -> Vec<&'n str> {
    own.iter().chain(CONGESTION_CONTROLS).copied().collect()
}
