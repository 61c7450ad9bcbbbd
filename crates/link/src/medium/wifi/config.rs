//! The settings of a Wi-Fi channel in scenarios.

use super::phy::{Modulation, Rate, Standard};
use crate::medium::MediumSettings;
use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Fault, Given, Key, Part, key, part_value};

/// Settings of a Wi-Fi channel.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiConfig {
    /// Name of the medium, and queue of each station.
    pub settings: MediumSettings,
    /// The IEEE 802.11 amendment that provides the default rates, times and limits.
    pub standard: Standard,
    /// Modulation and coding scheme of a spatial stream. `complete` converts `mcs`, `width_mhz`, `streams` and `guard`
    /// to `rate`.
    pub mcs: Option<u32>,
    /// Channel width in MHz.
    pub width_mhz: Option<u32>,
    /// Number of spatial streams.
    pub streams: Option<u32>,
    /// Guard interval of a symbol.
    pub guard: Option<Duration>,
    /// Data rate.
    pub rate: BitRate,
    /// Duration of an OFDM symbol. Air time is rounded up to whole symbols. Zero disables the rounding.
    pub symbol: Duration,
    /// Duration of a PPDU's preamble.
    pub preamble: Duration,
    /// Rate of RTS, CTS and acknowledgements.
    pub control_rate: BitRate,
    /// Duration of the preamble of RTS, CTS and acknowledgements.
    pub control_preamble: Duration,
    /// Duration of a backoff slot.
    pub slot: Duration,
    /// Gap between the frames of an exchange.
    pub sifs: Duration,
    /// AIFSN: number of free slots after SIFS before the backoff counts down. With 2 slots, AIFS equals DIFS.
    pub aifsn: u32,
    /// Maximum backoff before the first attempt, in slots. The range doubles with each failure.
    pub cw_min: u32,
    /// Maximum backoff after any number of failures, in slots.
    pub cw_max: u32,
    /// True if the slot in which another station starts counts as a backoff slot (EDCA).
    pub edca: bool,
    /// Wait in addition to AIFS after a transmission that no station could decode.
    pub eifs_extra: Duration,
    /// Propagation delay between two stations.
    pub propagation: Duration,
    /// Largest number of retransmissions of a frame.
    pub retries: u32,
    /// An RTS and a CTS precede each PPDU with more bytes than this. `None`: no RTS is sent.
    pub rts_threshold: Option<Bytes>,
    /// Size of a frame's MAC header, LLC, SNAP and check sequence, in bytes.
    pub header: Bytes,
    /// Maximum size of an A-MSDU, in bytes. Zero: one packet per frame.
    pub amsdu: Bytes,
    /// Maximum number of frames in a PPDU.
    pub ampdu: u32,
    /// Maximum number of bytes in a PPDU.
    pub ampdu_size: Bytes,
    /// Maximum air time of a PPDU.
    pub ppdu_time: Duration,
    /// Size of the block-ACK window: number of frames that may be in flight, counted from the oldest unacknowledged
    /// frame.
    pub window: u32,
    /// Number of queues for the frames to one receiver. Each queue has its own aggregates and window.
    pub aggregation_queues: u32,
    /// True if frames are acknowledged. False: every frame is sent once (no-ACK policy).
    pub acknowledge: bool,
    /// True if the receiver has a reordering buffer, and therefore delivers packets in order.
    pub reorder: bool,
    /// Probability that a packet is received in error in one transmission.
    pub frame_error: f64,
    /// Probability that an acknowledgement is received in error.
    pub ack_error: f64,
    /// True if stations reach each other only through the first station; false if they reach each other directly.
    pub access_point: bool,
    /// Stations whose settings differ from those of the channel.
    pub stations: Vec<WifiStation>,
}

/// Settings of one station. `None` selects the setting of the channel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WifiStation {
    /// Name of the node whose link connects the station.
    pub name: String,
    /// Data rate to and from the station.
    pub rate: Option<BitRate>,
    /// Modulation and coding scheme, as an alternative to `rate`.
    pub mcs: Option<u32>,
    /// Probability that a packet to or from the station is received in error.
    pub frame_error: Option<f64>,
    /// True if frames to the station are acknowledged.
    pub acknowledge: Option<bool>,
    /// True if the station delivers packets in order.
    pub reorder: Option<bool>,
}

impl Part for WifiStation {
    const NAME: &'static str = "wifi station";
    const TEXT: &'static str =
        "A station of a Wi-Fi channel, with the settings of the link between the station and the access point.";
    const KEYS: &'static [Key<WifiStation>] = &[
        key("name", |station: &mut Self| &mut station.name, "Node at the end of the station's link.")
            .required("\"laptop\""),
        key("rate", |station: &mut Self| &mut station.rate, "Data rate to and from the station.")
            .default_text("the channel's"),
        key(
            "mcs",
            |station: &mut Self| &mut station.mcs,
            "Modulation and coding scheme of the station, instead of a rate.",
        )
        .default_text("the channel's")
        .input_only(),
        key(
            "frame_error",
            |station: &mut Self| &mut station.frame_error,
            "Probability that a packet to or from the station is received in error.",
        )
        .default_text("the channel's"),
        key(
            "acknowledge",
            |station: &mut Self| &mut station.acknowledge,
            "The station acknowledges the frames that it receives.",
        )
        .default_text("the channel's"),
        key(
            "reorder",
            |station: &mut Self| &mut station.reorder,
            "The station holds frames that arrive out of order until the missing ones have arrived.",
        )
        .default_text("the channel's"),
    ];
    const EXCLUSIVE: &'static [&'static [&'static str]] = &[&["rate", "mcs"]];

    fn check(&self) -> Result<(), Fault> {
        self.rate.map_or(Ok(()), |rate| check_rate("rate", rate))?;
        self.frame_error.map_or(Ok(()), |error| check_probability("frame_error", error))
    }
}

part_value!(WifiStation);

impl Default for WifiConfig {
    fn default() -> WifiConfig {
        WifiConfig::of(Standard::default())
    }
}

impl WifiConfig {
    /// Returns the parameters of a standard for best effort (access category AC_BE) in the 5 GHz band, with the rate of
    /// a typical station.
    ///
    /// - Slot, SIFS and contention windows: IEEE 802.11-2020, tables 17-21 and 9-155.
    /// - Sizes: table 9-25 (A-MPDU of 802.11n 65,535 bytes, of 802.11ac 1,048,575) and IEEE 802.11ax-2021, clause 27
    ///   (6,500,631).
    /// - Windows: 64 and 256 frames. Longest PPDU: 5.484 ms (aPPDUMaxTime).
    /// - Overhead of a packet: MAC header of 24 bytes (26 with QoS), LLC and SNAP of 8, check sequence of 4.
    /// - EIFS includes the time of an ACK at 6 Mbit/s.
    pub fn of(standard: Standard) -> WifiConfig {
        let Rate { rate, symbol, preamble } = standard.rate(standard.usual()).expect("a standard has its usual rate");
        let qos = standard != Standard::A;
        // Maximum number of frames and of bytes in an A-MPDU.
        let (ampdu, ampdu_size) = match standard {
            Standard::A => (1, 65_535),
            Standard::N => (64, 65_535),
            Standard::Ac => (64, 1_048_575),
            Standard::Ax => (256, 6_500_631),
        };
        WifiConfig {
            settings: MediumSettings::default(),
            standard,
            mcs: None,
            width_mhz: None,
            streams: None,
            guard: None,
            rate,
            symbol,
            preamble,
            control_rate: BitRate::from_bps(24_000_000),
            control_preamble: super::phy::LEGACY_PREAMBLE,
            slot: Duration::from_micros(9),
            sifs: Duration::from_micros(16),
            aifsn: if qos { 3 } else { 2 },
            cw_min: 15,
            cw_max: 1023,
            edca: qos,
            eifs_extra: Duration::from_micros(16 + 44),
            propagation: Duration::ZERO,
            retries: 7,
            rts_threshold: None,
            header: Bytes::new(if qos { 38 } else { 36 }),
            amsdu: Bytes::ZERO,
            ampdu,
            ampdu_size: Bytes::new(ampdu_size),
            ppdu_time: Duration::from_micros(5_484),
            window: ampdu,
            aggregation_queues: 1,
            acknowledge: true,
            reorder: true,
            frame_error: 0.0,
            ack_error: 0.0,
            access_point: true,
            stations: Vec::new(),
        }
    }

    /// Returns the rate of frames to or from a station.
    pub(super) fn rate_of(&self, own: &WifiStation) -> Rate {
        Rate { rate: own.rate.unwrap_or(self.rate), symbol: self.symbol, preamble: self.preamble }
    }

    /// Returns the rate of control frames.
    pub(super) fn control(&self) -> Rate {
        // Control frames use the 4 µs symbols of 802.11a. If `symbol` is zero, no duration is rounded to symbols.
        let symbol = if self.symbol.is_zero() { Duration::ZERO } else { Duration::from_micros(4) };
        Rate { rate: self.control_rate, symbol, preamble: self.control_preamble }
    }

    /// Converts the modulation settings of the channel and of its stations to rates. Returns the rate of the channel.
    pub(super) fn settle_modulation(&mut self) -> Result<Rate, Fault> {
        let usual = self.standard.usual();
        let modulation = Modulation {
            mcs: self.mcs.take().unwrap_or(usual.mcs),
            width_mhz: self.width_mhz.take().unwrap_or(usual.width_mhz),
            streams: self.streams.take().unwrap_or(usual.streams),
            guard: self.guard.take().unwrap_or(usual.guard),
        };
        for station in &mut self.stations {
            if let Some(mcs) = station.mcs.take() {
                // A station can have its own modulation and coding scheme, but not its own width, streams or guard
                // interval.
                let rate = self.standard.rate(Modulation { mcs, ..modulation });
                let rate =
                    rate.map_err(|fault| Fault::new("stations", format!("{}: {}", station.name, fault.message)))?;
                station.rate = Some(rate.rate);
            }
        }
        self.standard.rate(modulation)
    }
}

impl Part for WifiConfig {
    const NAME: &'static str = "wifi";
    const TEXT: &'static str =
        "Wi-Fi: stations that contend for a channel (IEEE 802.11 DCF and EDCA), with aggregation.";
    const EXCLUSIVE: &'static [&'static [&'static str]] =
        &[&["rate", "mcs"], &["rate", "width_mhz"], &["rate", "streams"], &["rate", "guard"]];
    const KEYS: &'static [Key<WifiConfig>] = &[
        key(
            "name",
            |wifi: &mut Self| &mut wifi.settings.name,
            "Name of the network. Each node with a link to this name is a station. The first station is the access point.",
        )
        .required("\"wifi\""),
        key(
            "queue",
            |wifi: &mut Self| &mut wifi.settings.queue,
            "Queue of each station. The access point has one queue for each station.",
        )
        .default_text("50 packets"),
        key(
            "standard",
            |wifi: &mut Self| &mut wifi.standard,
            "Wi-Fi standard in the 5 GHz band. It sets all rates, times and limits that you do not set.",
        ),
        key(
            "mcs",
            |wifi: &mut Self| &mut wifi.mcs,
            "Modulation and coding scheme of a spatial stream, as numbered in 802.11ac.",
        )
        .default_text("the standard's highest")
        .input_only(),
        key("width_mhz", |wifi: &mut Self| &mut wifi.width_mhz, "Width of the channel: 20, 40, 80 or 160 MHz.")
            .default_text("20 for 802.11a, 40 for 802.11n, else 80")
            .input_only(),
        key("streams", |wifi: &mut Self| &mut wifi.streams, "Number of spatial streams (MIMO).")
            .default_text("1 for 802.11a, else 2")
            .input_only(),
        key("guard", |wifi: &mut Self| &mut wifi.guard, "Guard interval of a symbol.")
            .default_text("400 ns for 802.11n and 802.11ac, else 800 ns")
            .input_only(),
        key("rate", |wifi: &mut Self| &mut wifi.rate, "Data rate.")
            .default_text("from standard, MCS, width, streams and guard interval"),
        key(
            "symbol",
            |wifi: &mut Self| &mut wifi.symbol,
            "Length of a symbol. The duration of a PPDU is rounded up to whole symbols. Default: no rounding.",
        )
        .default_text("of the standard"),
        key("preamble", |wifi: &mut Self| &mut wifi.preamble, "Length of the preamble of a PPDU with data.")
            .default_text("from standard and streams"),
        key("control_rate", |wifi: &mut Self| &mut wifi.control_rate, "Rate of RTS, CTS and acknowledgements."),
        key(
            "control_preamble",
            |wifi: &mut Self| &mut wifi.control_preamble,
            "Length of the preamble of RTS, CTS and acknowledgements.",
        ),
        key("slot", |wifi: &mut Self| &mut wifi.slot, "Length of a backoff slot."),
        key("sifs", |wifi: &mut Self| &mut wifi.sifs, "Time between the frames of an exchange (SIFS)."),
        key(
            "aifsn",
            |wifi: &mut Self| &mut wifi.aifsn,
            "Number of slots after SIFS before the backoff continues; 2 is DIFS.",
        )
        .default_text("2 for 802.11a, else 3"),
        key(
            "cw_min",
            |wifi: &mut Self| &mut wifi.cw_min,
            "First contention window: the first backoff is a random number of slots from 0 to this value. The window doubles with each failure.",
        ),
        key("cw_max", |wifi: &mut Self| &mut wifi.cw_max, "Largest contention window, in slots."),
        key(
            "edca",
            |wifi: &mut Self| &mut wifi.edca,
            "If true, the slot in which another station begins to send counts as a backoff slot, as in EDCA. If false, this slot does not count, as in DCF.",
        )
        .default_text("false for 802.11a, else true"),
        key(
            "eifs_extra",
            |wifi: &mut Self| &mut wifi.eifs_extra,
            "Additional wait after a transmission that a station could not decode (EIFS minus AIFS).",
        ),
        key("propagation", |wifi: &mut Self| &mut wifi.propagation, "Propagation time from station to station."),
        key("retries", |wifi: &mut Self| &mut wifi.retries, "Number of retransmissions before a frame is dropped."),
        key(
            "rts_threshold",
            |wifi: &mut Self| &mut wifi.rts_threshold,
            "A PPDU with more octets than this is sent after RTS and CTS.",
        )
        .none_word("none"),
        key(
            "header",
            |wifi: &mut Self| &mut wifi.header,
            "Octets of the MAC header, LLC, SNAP and the frame check sequence.",
        )
        .default_text("36 for 802.11a, else 38"),
        key(
            "amsdu",
            |wifi: &mut Self| &mut wifi.amsdu,
            "Largest number of octets of packets in one frame (A-MSDU). A single error loses all of them.",
        )
        .default_text("0: none"),
        key("ampdu", |wifi: &mut Self| &mut wifi.ampdu, "Largest number of frames in a PPDU (A-MPDU).")
            .default_text("256 for 802.11ax, 1 for 802.11a, else 64"),
        key("ampdu_size", |wifi: &mut Self| &mut wifi.ampdu_size, "Largest number of octets in a PPDU.")
            .default_text("of the standard"),
        key("ppdu_time", |wifi: &mut Self| &mut wifi.ppdu_time, "Longest air time of a PPDU."),
        key(
            "window",
            |wifi: &mut Self| &mut wifi.window,
            "Block-ACK window: the largest distance, in frames, from the oldest unacknowledged frame to the newest sent frame.",
        )
        .default_text("the same number as `ampdu`"),
        key(
            "aggregation_queues",
            |wifi: &mut Self| &mut wifi.aggregation_queues,
            "Number of queues to which a sender distributes its frames. Each queue has its own aggregates and window, and an equal part of the rate.",
        ),
        key(
            "acknowledge",
            |wifi: &mut Self| &mut wifi.acknowledge,
            "If true, frames are acknowledged. If false, each frame is sent only once (no-ACK policy).",
        ),
        key(
            "reorder",
            |wifi: &mut Self| &mut wifi.reorder,
            "The receiver holds frames that arrive out of order until the missing ones have arrived.",
        ),
        key(
            "frame_error",
            |wifi: &mut Self| &mut wifi.frame_error,
            "Probability that a packet is received in error, for each transmission.",
        ),
        key(
            "ack_error",
            |wifi: &mut Self| &mut wifi.ack_error,
            "Probability that an acknowledgement is received in error.",
        ),
        key(
            "access_point",
            |wifi: &mut Self| &mut wifi.access_point,
            "If true, stations reach each other through the access point. If false, stations reach each other directly.",
        ),
        key(
            "stations",
            |wifi: &mut Self| &mut wifi.stations,
            "Stations with other settings: [{ name = \"attic\", mcs = 1 }].",
        ),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        // Settings that the scenario omits have the values of the standard.
        let usual = WifiConfig::of(self.standard);
        macro_rules! unless_given {
            ($($field:ident)*) => { $( if !given.has(stringify!($field)) { self.$field = usual.$field; } )* };
        }
        unless_given!(aifsn edca header ampdu ampdu_size);
        // With aggregation, the default of the window is the maximum number of MPDUs in an aggregate. Without
        // aggregation, it is the value of the standard.
        if !given.has("window") {
            self.window = if self.ampdu > 1 { self.ampdu } else { usual.window };
        }
        let rate = self.settle_modulation()?;
        if !given.has("rate") {
            self.rate = rate.rate;
        }
        if !given.has("symbol") {
            self.symbol = rate.symbol;
        }
        if !given.has("preamble") {
            self.preamble = rate.preamble;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), Fault> {
        check_rate("rate", self.rate)?;
        check_rate("control_rate", self.control_rate)?;
        check_probability("frame_error", self.frame_error)?;
        check_probability("ack_error", self.ack_error)?;
        // With a slot length of zero, all backoffs would expire at the same time.
        if self.slot.is_zero() {
            return Err(Fault::new("slot", "a slot must be longer than 0"));
        }
        if self.cw_min == 0 || self.cw_max < self.cw_min || self.cw_max > 32_767 {
            return Err(Fault::new("cw_max", "`cw_max` must be at least `cw_min`, and both from 1 to 32767"));
        }
        if self.aifsn == 0 || self.aifsn > 15 {
            return Err(Fault::new("aifsn", "AIFS must be from 1 to 15 slots"));
        }
        if self.retries > 255 {
            return Err(Fault::new("retries", "a frame can be sent again at most 255 times"));
        }
        if !(1..=1024).contains(&self.ampdu) || !(1..=1024).contains(&self.window) {
            let key = if (1..=1024).contains(&self.ampdu) { "window" } else { "ampdu" };
            return Err(Fault::new(key, "this must be from 1 to 1024 frames"));
        }
        if !(1..=16).contains(&self.aggregation_queues) {
            return Err(Fault::new("aggregation_queues", "this must be from 1 to 16"));
        }
        if self.amsdu > Bytes::new(11_454) {
            return Err(
                Fault::new("amsdu", "a frame must have at most 11454 octets").help("3839 and 7935 octets are common")
            );
        }
        if self.ppdu_time > Duration::from_millis(100) {
            return Err(Fault::new("ppdu_time", "a PPDU must take at most 100 ms")
                .help("the limit of the standard is 5.484 ms"));
        }
        Ok(())
    }
}

fn check_rate(key: &'static str, rate: BitRate) -> Result<(), Fault> {
    match (1..=10_000_000_000_000).contains(&rate.as_bps()) {
        true => Ok(()),
        false => Err(Fault::new(key, "a medium needs at least 1 bit/s and at most 10 Tbit/s")),
    }
}

fn check_probability(key: &'static str, probability: f64) -> Result<(), Fault> {
    match (0.0..=1.0).contains(&probability) {
        true => Ok(()),
        false => Err(Fault::new(key, "a probability must be from 0 to 1")),
    }
}
