//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation): the delivery counters, and a copy of these
//! counters for each segment.

use crate::cc::RateSample;
use lopsided_core::{BitRate, Bytes, Duration, Time};

/// The delivery counters at the time a segment was sent.
#[derive(Debug, Clone, Copy)]
pub struct RateStamp {
    /// Bytes delivered before the segment was sent, modulo 2^32.
    pub delivered: u32,
    /// Time of the last delivery before the segment was sent.
    pub delivered_at: Time,
    /// Time at which the first segment of the current sampling interval was sent.
    pub first_sent_at: Time,
    /// Bytes in flight including this segment.
    pub in_flight: u32,
    /// Total number of bytes marked lost before the segment was sent, modulo 2^32.
    pub lost: u32,
    /// True if the application had no more data when the segment was sent.
    pub app_limited: bool,
}

/// The newest segment that an ACK delivered: its counters and its send time.
#[derive(Debug, Clone, Copy)]
pub struct NewestDelivered {
    /// The segment's stamp.
    pub stamp: RateStamp,
    /// Time at which the segment was sent.
    pub sent_at: Time,
}

/// The delivery counters of a connection.
#[derive(Debug, Default)]
pub struct Delivery {
    /// Total number of delivered bytes.
    total: u64,
    /// Time of the last delivery.
    at: Time,
    /// Send time of the segment that was delivered last.
    first_sent_at: Time,
    /// Samples are app-limited until the delivered count exceeds this value.
    app_limited_until: Option<u64>,
    /// The reported sample: the last sample that is not app-limited, or a later app-limited sample with a higher rate.
    reported: Reported,
}

/// The part of a sample that is reported.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    delivered: Bytes,
    interval: Duration,
    app_limited: bool,
}

impl Delivery {
    /// Total number of delivered bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// True from the time at which the sender ran out of data until a later segment is delivered.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some_and(|until| self.total <= until)
    }

    /// Records that the sender has run out of data while `in_flight` bytes are in flight.
    pub fn set_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.total + in_flight);
    }

    /// Counts delivered bytes.
    #[inline]
    pub fn add(&mut self, now: Time, delivered: u64) {
        self.total += delivered;
        if delivered > 0 {
            self.at = now;
        }
    }

    /// Returns the counters for a segment that is sent now. `in_flight` includes this segment. `first` is true if no
    /// other segment is outstanding.
    pub fn stamp(&mut self, now: Time, first: bool, in_flight: u64, total_lost: u64) -> RateStamp {
        if first {
            // Nothing was outstanding, so start a new interval: idle time must not count as delivery time.
            self.at = now;
            self.first_sent_at = now;
        }
        RateStamp {
            delivered: self.total as u32,
            delivered_at: self.at,
            first_sent_at: self.first_sent_at,
            in_flight: in_flight as u32,
            lost: total_lost as u32,
            app_limited: self.is_app_limited(),
        }
    }

    /// Returns the rate sample of an ACK. `lost` is the number of bytes that the ACK marked as lost.
    pub fn sample(&mut self, now: Time, newest: Option<NewestDelivered>, lost: u64, total_lost: u64) -> RateSample {
        let Some(NewestDelivered { stamp, sent_at }) = newest else { return RateSample::default() };
        // Divide by the longer of the send interval and the ACK interval, so that ACK compression cannot inflate the
        // rate.
        let send_span = sent_at.saturating_since(stamp.first_sent_at);
        let ack_span = now.saturating_since(stamp.delivered_at);
        // The next sampling interval begins with this segment.
        self.first_sent_at = sent_at;
        let delivered = u64::from((self.total as u32).wrapping_sub(stamp.delivered));
        let sample = RateSample {
            delivered: Bytes::new(delivered),
            interval: send_span.max(ack_span),
            prior_delivered: Bytes::new(self.total - delivered),
            lost: Bytes::new(lost),
            tx_in_flight: Bytes::new(u64::from(stamp.in_flight)),
            lost_since_sent: Bytes::new(u64::from((total_lost as u32).wrapping_sub(stamp.lost))),
            app_limited: stamp.app_limited,
        };
        let RateSample { delivered, interval, app_limited, .. } = sample;
        let reported = Reported { delivered, interval, app_limited };
        let product = |sample: &Reported, over: &Reported| {
            u128::from(sample.delivered.get()) * u128::from(over.interval.as_nanos())
        };
        // An app-limited sample is a lower bound of the path's rate, so it replaces the reported sample only if its
        // rate is at least as high.
        if !app_limited || product(&reported, &self.reported) >= product(&self.reported, &reported) {
            self.reported = reported;
        }
        sample
    }

    /// The rate of the reported sample, and true if that sample is app-limited. `None` before the first sample.
    pub fn rate(&self) -> Option<(BitRate, bool)> {
        let Reported { delivered, interval, app_limited } = self.reported;
        let bits = u128::from(delivered.get()) * 8 * u128::from(Duration::from_secs(1).as_nanos());
        let rate = bits.checked_div(u128::from(interval.as_nanos()))?;
        Some((BitRate::from_bps(rate as u64), app_limited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// Returns the reported rate in bytes per ms, after samples of the given bytes and times in ms.
    fn reported(samples: &[(u64, u64, bool)]) -> Option<(u64, bool)> {
        let mut delivery = Delivery::default();
        let mut now = 0;
        for &(octets, ms, app_limited) in samples {
            if app_limited {
                delivery.set_app_limited(0);
            }
            let stamp = delivery.stamp(at(now), true, octets, 0);
            delivery.add(at(now + ms), octets);
            delivery.sample(at(now + ms), Some(NewestDelivered { stamp, sent_at: at(now) }), 0, 0);
            now += ms;
        }
        delivery.rate().map(|(rate, app_limited)| (rate.as_bps() / 8000, app_limited))
    }

    /// tcp_rate_gen: an app-limited sample replaces the reported one only if its rate is at least as high.
    #[test]
    fn an_app_limited_sample_is_reported_if_its_rate_is_not_lower() {
        assert_eq!(reported(&[]), None);
        assert_eq!(reported(&[(10, 1, false)]), Some((10, false)));
        assert_eq!(reported(&[(10, 1, false), (100, 20, true)]), Some((10, false)));
        assert_eq!(reported(&[(10, 1, false), (100, 10, true)]), Some((10, true)));
        assert_eq!(reported(&[(10, 1, false), (100, 5, true)]), Some((20, true)));
        assert_eq!(reported(&[(10, 1, false), (100, 20, false)]), Some((5, false)));
        assert_eq!(reported(&[(100, 5, true), (100, 20, false)]), Some((5, false)));
    }

    /// Section 3.3 of the draft: the longer of the send interval and the ACK interval.
    #[test]
    fn a_sample_covers_the_longer_of_the_two_intervals() {
        let mut delivery = Delivery::default();
        let first = delivery.stamp(at(100), true, 1000, 0);
        let second = delivery.stamp(at(130), false, 2000, 7);
        assert_eq!((first.delivered_at, first.first_sent_at), (at(100), at(100)));
        assert_eq!(
            (second.delivered_at, second.first_sent_at, second.in_flight, second.lost),
            (at(100), at(100), 2000, 7)
        );
        delivery.add(at(200), 1000);
        let sample = delivery.sample(at(200), Some(NewestDelivered { stamp: first, sent_at: at(100) }), 5, 9);
        assert_eq!((sample.delivered, sample.interval), (Bytes::new(1000), MS(100)));
        assert_eq!(
            (sample.lost, sample.lost_since_sent, sample.tx_in_flight),
            (Bytes::new(5), Bytes::new(9), Bytes::new(1000))
        );
        // The ACKs of both segments arrive together, but the segments were sent 30 ms apart.
        delivery.add(at(201), 1000);
        let sample = delivery.sample(at(201), Some(NewestDelivered { stamp: second, sent_at: at(130) }), 0, 9);
        assert_eq!((sample.delivered, sample.interval), (Bytes::new(2000), MS(101)));
        assert_eq!((sample.prior_delivered, sample.lost_since_sent), (Bytes::ZERO, Bytes::new(2)));
        // The next interval begins with the segment that was delivered last.
        let third = delivery.stamp(at(400), false, 1000, 9);
        assert_eq!((third.delivered, third.delivered_at, third.first_sent_at), (2000, at(201), at(130)));
        let sample = delivery.sample(at(402), Some(NewestDelivered { stamp: third, sent_at: at(400) }), 0, 9);
        assert_eq!(sample.interval, MS(270), "the send interval");
        delivery.add(at(500), 0);
        assert_eq!(delivery.stamp(at(501), false, 0, 0).delivered_at, at(201), "an ACK without delivered data");
    }

    #[test]
    fn samples_are_app_limited_until_the_data_in_flight_is_delivered() {
        let mut delivery = Delivery::default();
        delivery.set_app_limited(2000);
        delivery.add(at(1), 2000);
        assert!(delivery.is_app_limited());
        delivery.add(at(2), 1);
        assert!(!delivery.is_app_limited());
    }
}
