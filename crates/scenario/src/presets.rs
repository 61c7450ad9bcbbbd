//! Access links with typical values, selected by name: `preset = "docsis31-1000-35"` in `[link]`. Other keys of the
//! scenario override single values of the preset.
//!
//! Rates are advertised rates, and round-trip times are measured to a nearby server. Buffer sizes are measured if the
//! source contains measurements, otherwise 100 ms to 250 ms. Names end with the downlink and uplink rates in Mbit/s.

/// A named access line.
///
/// # Examples
///
/// ```
/// use lopsided_scenario::PRESETS;
///
/// assert!(PRESETS.iter().any(|preset| preset.name == "docsis31-1000-35"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The value of `preset` that selects this line.
    pub name: &'static str,
    /// A description in one line.
    pub title: &'static str,
    /// Sources of the round-trip time and of the buffer sizes.
    pub source: &'static str,
    /// The keys of `[link]` that the preset sets, as TOML.
    pub link: &'static str,
}

/// All presets, grouped by technology.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "adsl2plus-16-1",
        title: "ADSL2+ with PPPoE over ATM, and a modem with a deep buffer",
        source: "ITU-T G.992.5; RFC 2684 (framing); Kreibich et al., Netalyzr, IMC 2010 (depth of the buffer)",
        link: r#"
            rtt = "30 ms"
            framing = "pppoe-llcsnap"
            down = { rate = "16 Mbit/s", queue = "200 ms" }
            up = { rate = "1 Mbit/s", queue = "128 kB" }
        "#,
    },
    Preset {
        name: "vdsl2-100-40",
        title: "VDSL2 with vectoring, profile 17a, PPPoE over PTM",
        source: "ITU-T G.993.2 and G.993.5; IEEE 802.3 clause 61 (PTM)",
        link: r#"
            rtt = "16 ms"
            framing = "pppoe-ptm"
            down = { rate = "100 Mbit/s", queue = "100 ms" }
            up = { rate = "40 Mbit/s", queue = "250 ms" }
        "#,
    },
    Preset {
        name: "docsis30-100-10",
        title: "Cable, DOCSIS 3.0: the uplink has requests and grants, a MAP every 2 ms, and a drop-tail buffer of 250 ms",
        source: "CableLabs DOCSIS 3.0 MULPI; White et al., Low Latency DOCSIS (technology overview), 2019, in which a request takes 2 ms to 8 ms",
        link: r#"
            rtt = "20 ms"
            framing = "ethernet"
            down = { rate = "100 Mbit/s", queue = "100 ms" }
            [up]
            rate = "10 Mbit/s"
            queue = "250 ms"
            access = { kind = "grants", request_interval = "2 ms", grant_delay = "4 ms", slot = "2 ms" }
        "#,
    },
    Preset {
        name: "docsis31-1000-35",
        title: "Cable, DOCSIS 3.1: the uplink has requests and grants, a MAP every 2 ms, and PIE in the modem",
        source: "CableLabs DOCSIS 3.1 MULPI; RFC 8034 (PIE with a target of 10 ms)",
        link: r#"
            rtt = "20 ms"
            framing = "ethernet"
            down = { rate = "1 Gbit/s", queue = "50 ms" }
            [up]
            rate = "35 Mbit/s"
            queue = { kind = "docsis-pie" }
            access = { kind = "grants", request_interval = "2 ms", grant_delay = "4 ms", slot = "2 ms" }
        "#,
    },
    Preset {
        name: "docsis31-ll-1000-35",
        title: "Cable, low-latency DOCSIS 3.1: the uplink has proactive grants and a MAP every 1 ms; both directions have coupled queues for L4S",
        source: "CableLabs DOCSIS 3.1 MULPI, version I17 or later; White et al., Low Latency DOCSIS (technology overview), 2019; RFC 9332 (coupled queues)",
        link: r#"
            rtt = "20 ms"
            framing = "ethernet"
            down = { rate = "1 Gbit/s", queue = { kind = "dualpi2" } }
            [up]
            rate = "35 Mbit/s"
            queue = { kind = "dualpi2" }
            access = { kind = "grants", proactive = true, slot = "1 ms" }
        "#,
    },
    Preset {
        name: "gpon-1000-500",
        title: "Fibre, GPON: grants in frames of 125 µs, with bandwidth allocated every 1 ms",
        source: "ITU-T G.984.3 (frames of 125 µs, status-reporting DBA); the allocation cycle of 1 ms is our choice",
        link: r#"
            rtt = "8 ms"
            framing = "ethernet"
            down = { rate = "1 Gbit/s", queue = "50 ms" }
            [up]
            rate = "500 Mbit/s"
            queue = "50 ms"
            access = { kind = "grants", request_interval = "1 ms", grant_delay = "1 ms", slot = "125 us" }
        "#,
    },
    Preset {
        name: "lte-50-15",
        title: "LTE, frequency division: scheduling requests every 10 ms, grants 8 ms later, and HARQ retransmissions after 8 ms",
        source: "3GPP TS 36.213 and TS 36.321 (a grant four subframes after a request, data four subframes after the grant); a block error rate of 10 % is the usual target",
        link: r#"
            rtt = "40 ms"
            [down]
            rate = "50 Mbit/s"
            queue = "300 ms"
            access = { kind = "grants", proactive = true, slot = "1 ms", error = 0.1, retransmit_delay = "8 ms" }
            [up]
            rate = "15 Mbit/s"
            queue = "500 ms"
            access = { kind = "grants", request_interval = "10 ms", grant_delay = "8 ms", slot = "1 ms", error = 0.1, retransmit_delay = "8 ms" }
        "#,
    },
    Preset {
        name: "nr-300-60",
        title: "5G, time division at 3.5 GHz: an uplink slot every 2.5 ms (DDDSU), and HARQ retransmissions after 5 ms",
        source: "3GPP TS 38.213 and TS 38.214 with a subcarrier spacing of 30 kHz; the slot pattern and the request times are our choice",
        link: r#"
            rtt = "25 ms"
            [down]
            rate = "300 Mbit/s"
            queue = "200 ms"
            access = { kind = "grants", proactive = true, slot = "500 us", error = 0.1, retransmit_delay = "5 ms" }
            [up]
            rate = "60 Mbit/s"
            queue = "300 ms"
            access = { kind = "grants", request_interval = "5 ms", grant_delay = "5 ms", slot = "2500 us", error = 0.1, retransmit_delay = "5 ms" }
        "#,
    },
    Preset {
        name: "starlink-200-20",
        title: "Satellites in low orbit: rate and delay change at random every 15 s",
        source: "Mohan et al., A Multifaceted Look at Starlink Performance, WWW 2024 (the 15 s); the ranges are our choice",
        link: r#"
            rtt = "30 ms"
            [down]
            queue = "2500 packets"
            access = { kind = "reallocation", low = "100 Mbit/s", high = "300 Mbit/s", gap = "20 ms", delay_spread = "8 ms" }
            [up]
            queue = "500 packets"
            access = { kind = "reallocation", low = "10 Mbit/s", high = "30 Mbit/s", gap = "20 ms", delay_spread = "8 ms" }
        "#,
    },
    Preset {
        name: "geo-100-5",
        title: "A geostationary satellite: the round trip takes 560 ms, and a grant of bandwidth arrives 560 ms after its request",
        source: "ETSI EN 301 545-2 (DVB-RCS2, capacity on request); RFC 2488 (delay); the superframe of 45 ms is our choice",
        link: r#"
            rtt = "560 ms"
            down = { rate = "100 Mbit/s", queue = "500 ms" }
            [up]
            rate = "5 Mbit/s"
            queue = "500 ms"
            access = { kind = "grants", request_interval = "45 ms", grant_delay = "560 ms", slot = "45 ms" }
        "#,
    },
    Preset {
        name: "wifi5-400-400",
        title: "Wi-Fi 5 with two streams in 80 MHz and busy neighbours: aggregates of up to 4 ms",
        source: "IEEE 802.11-2020 (A-MPDU and EDCA); the neighbours are our choice, and each direction waits for the medium independently",
        link: r#"
            rtt = "10 ms"
            rate = "400 Mbit/s"
            queue = "1000 packets"
            access = { kind = "aggregation", access_delay = "100 us", contention = "4 ms", max_size = "1 MB", max_time = "4 ms" }
        "#,
    },
];

/// Returns the names of all presets.
pub(crate) fn names() -> Vec<&'static str> {
    PRESETS.iter().map(|preset| preset.name).collect()
}
