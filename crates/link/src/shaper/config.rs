//! The settings of a token bucket.

use lopsided_core::{BitRate, Bytes, Duration};
use lopsided_spec::{Fault, Given, Key, Part, key, part_value};

/// Settings of a token bucket. Tokens are added at the link's rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShaperConfig {
    /// Depth of the bucket (Bc) in bytes on the wire.
    pub burst: Bytes,
    /// Interval between refills (Tc). Each refill adds rate times interval. `None`: tokens are added continuously.
    pub interval: Option<Duration>,
    /// Rate of the physical line behind the bucket. `None`: infinitely fast.
    pub line_rate: Option<BitRate>,
}

/// Maximum rate of a link in bit/s (10 Tbit/s). Up to this rate, no sum in this crate overflows.
pub(crate) const MOST_RATE: u64 = 10_000_000_000_000;
/// Maximum depth of a bucket in bytes. The tokens of a deeper bucket might not fit into 64 bits.
const MOST_BURST: Bytes = Bytes::new(1 << 30);

impl ShaperConfig {
    /// Checks the settings for a link with this rate.
    pub(crate) fn check_at(&self, rate: BitRate) -> Result<(), Fault> {
        if self.burst == Bytes::ZERO || self.burst > MOST_BURST {
            return Err(Fault::new("burst", format!("a burst of {:?}: it must be from 1 B to 1 GiB", self.burst)));
        }
        if self.line_rate.is_some_and(|line| !(rate.as_bps()..=MOST_RATE).contains(&line.as_bps())) {
            let fault = Fault::new("line_rate", "the line_rate is below the shaper's own rate, or above 10 Tbit/s");
            return Err(fault.help("it is the physical rate at which a burst leaves, such as \"100 Mbit/s\""));
        }
        let Some(interval) = self.interval else { return Ok(()) };
        if interval.is_zero() {
            let fault = Fault::new("refill_interval", "the interval is zero");
            return Err(fault.help("leave it out to add tokens continuously"));
        }
        let refill = refill(rate, interval);
        // A refill that exceeds the burst overflows the bucket, so the long-run rate would be below the configured
        // rate.
        if refill > self.burst {
            let message = format!(
                "a bucket of {} B is smaller than one refill: it must be at least {} B",
                self.burst.get(),
                refill.get()
            );
            return Err(Fault::new("burst", message).help("leave `burst` out to use the size of one refill"));
        }
        Ok(())
    }
}

/// Returns the tokens of one refill in bytes, rounded up.
fn refill(rate: BitRate, interval: Duration) -> Bytes {
    let bits_e9 = u128::from(rate.as_bps()) * u128::from(interval.as_nanos());
    Bytes::new(u64::try_from(bits_e9.div_ceil(8_000_000_000)).unwrap_or(u64::MAX))
}

impl Part for ShaperConfig {
    const NAME: &'static str = "shaper";
    const TEXT: &'static str = "A token bucket that fills at the direction's rate.";
    const SHORTHAND: Option<&'static str> = Some("burst");
    const KEYS: &'static [Key<ShaperConfig>] = &[
        key(
            "burst",
            |shaper: &mut Self| &mut shaper.burst,
            "Depth of the token bucket (Bc), in octets on the wire. Required without a refill_interval. With a refill_interval, the bucket may be smaller than a packet.",
        )
        .default_text("rate x refill_interval"),
        key(
            "refill_interval",
            |shaper| &mut shaper.interval,
            "Time between two refills (Tc). Each refill adds rate x refill_interval. Default: the bucket is filled continuously.",
        ),
        key("line_rate", |shaper: &mut Self| &mut shaper.line_rate, "Physical rate of the line, at which a burst leaves.")
            .none_word("unlimited"),
    ];

    fn complete(&mut self, given: &Given<'_>) -> Result<(), Fault> {
        let Some(rate) = given.line_rate else {
            return Err(Fault::new("", "a shaper needs a rate").help("the bucket fills at the direction's rate"));
        };
        // As in IOS, the default of Bc is CIR times Tc.
        if !given.has("burst") {
            let Some(interval) = self.interval else {
                return Err(Fault::new("", "`burst` is missing in the shaper").help("add burst = \"1600 B\""));
            };
            self.burst = refill(rate, interval);
        }
        self.check_at(rate)
    }
}

part_value!(ShaperConfig);
