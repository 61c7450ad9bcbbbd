//! Compares exchanges of many stacks with `exchanges.txt`: each segment, and the state of both ends after each event.
//!
//! `UPDATE_EXPECT=1 cargo test -p lopsided-tcp recorded` records the exchanges again. A change that changes no
//! behaviour changes no exchange.

use super::pair::connection_config;
use super::probe::{PROBES, WORSE, Watch};
use crate::cc::{Setup, build};
use crate::{
    AckSettings, BufferRule, ByteCounting, ConnConfig, Connection, Counters, CwndReduction, EcnRule, FastRecovery,
    KeepAlive, LossDetection, Next, Outgoing, PROFILES, Profile, Undo,
};
use expect_test::expect_file;
use lopsided_core::packet::{AccEcnOption, TcpHeader};
use lopsided_core::tcp_event::TcpEventMask;
use lopsided_core::{BitRate, Bytes, Digest, Duration, Time};
use std::fmt::Write;

/// An exchange as a number, and the counters of both ends at its end.
struct Seen {
    digest: Digest,
    counters: Counters,
    /// Number of instants that were handled.
    instants: u64,
    during: During,
}

/// Calls of the applications on the server and the client, after the given number of instants.
type During = fn(instants: u64, now: Time, ends: &mut [Connection; 2]);

impl Watch for Seen {
    fn sent(&mut self, at: Time, to_server: bool, header: &TcpHeader, outgoing: &Outgoing) {
        let TcpHeader { seq, ack, flags, window, options, .. } = header;
        let next = match outgoing.next {
            Next::Nothing => 0,
            Next::Full => 1,
            Next::Open => 2,
        };
        let first = (u64::from(seq.get()) << 32) | u64::from(ack.get());
        let second = (u64::from(flags.0) << 48) | (u64::from(*window) << 32) | u64::from(outgoing.payload.len());
        let third =
            (outgoing.ecn as u64) << 8 | next << 2 | u64::from(to_server) << 1 | u64::from(options.sack_permitted());
        [at.as_nanos(), first, second, third].iter().for_each(|word| self.digest.mix(*word));
        if let Some(stamps) = options.timestamps {
            self.digest.mix((u64::from(stamps.value) << 32) | u64::from(stamps.echo));
        }
        for block in options.sack().as_slice() {
            self.digest.mix((u64::from(block.start.get()) << 32) | u64::from(block.end.get()));
        }
        for counter in options.accurate_ecn().map_or(&[][..], AccEcnOption::counters) {
            self.digest.mix(u64::from(*counter));
        }
        self.digest.mix(options.mss().map_or(0, u64::from) << 8 | options.window_scale().map_or(0, u64::from));
    }

    fn handled(&mut self, now: Time, ends: &mut [Connection; 2]) {
        self.instants += 1;
        (self.during)(self.instants, now, ends);
        let time = |time: Option<Duration>| time.map_or(u64::MAX, Duration::as_nanos);
        for end in ends.iter_mut() {
            let info = end.info(now);
            let words = [
                end.poll_timeout().map_or(u64::MAX, Time::as_nanos),
                info.state as u64 | (info.ca_state as u64) << 8 | u64::from(info.backoff) << 16,
                u64::from(info.retransmits) << 32 | u64::from(info.probes),
                u64::from(info.unacked) << 32 | u64::from(info.sacked),
                u64::from(info.lost) << 32 | u64::from(info.retrans),
                u64::from(info.reordering) << 32 | u64::from(info.reord_seen),
                info.in_flight.get() << 32 ^ info.snd_cwnd.get(),
                info.snd_ssthresh.map_or(u64::MAX, Bytes::get) ^ info.snd_wnd.get() << 32,
                info.rcv_wnd.get() << 32 ^ info.rcv_ssthresh.get(),
                info.rcv_space.get() << 32 ^ info.delivered.get(),
                info.notsent.get() << 32 ^ info.rcv_mss.get(),
                time(Some(info.rto)) ^ time(Some(info.ato)) << 20,
                time(info.srtt) ^ time(Some(info.rttvar)) << 20,
                time(info.rcv_rtt) ^ time(info.min_rtt) << 20,
                info.pacing_rate.map_or(0, |rate| rate.as_bps()),
                info.delivery_rate.map_or(0, |rate| rate.as_bps() << 1 | u64::from(info.delivery_rate_app_limited)),
                u64::from(info.snd_wscale) << 40 | u64::from(info.rcv_wscale) << 32 | end.prediction.taken,
                time(Some(info.busy_time))
                    ^ time(Some(info.rwnd_limited)) << 20
                    ^ time(Some(info.sndbuf_limited)) << 30,
            ];
            words.iter().for_each(|word| self.digest.mix(*word));
            while let Some(event) = end.poll_trace() {
                format!("{event:?}").bytes().for_each(|byte| self.digest.mix(u64::from(byte)));
            }
        }
        self.counters = ends[0].counters() + ends[1].counters();
    }
}

/// A client and a server.
struct Ends {
    name: &'static str,
    client: Profile,
    server: Profile,
    /// The congestion control of both ends.
    cc: &'static str,
    set: fn(&mut Connection),
    during: During,
}

fn linux() -> Profile {
    Profile::linux_6_1()
}

/// Returns the profile with another acknowledgement policy.
fn acks(profile: Profile, policy: &'static str) -> Profile {
    Profile { ack: AckSettings { policy, mark_duplicates: 1, ..profile.ack }, marked_retransmit: true, ..profile }
}

/// Returns two ends with the same profile.
fn both(name: &'static str, profile: Profile) -> Ends {
    Ends { name, client: profile.clone(), server: profile, cc: "reno", set: |_| {}, during: |_, _, _| {} }
}

fn all() -> Vec<Ends> {
    let named = PROFILES.iter().map(|name| both(name, Profile::named(name).expect("a known name")));
    let plain = Profile { sack: false, timestamps: false, window_scaling: false, ..linux() };
    let fixed = |octets| BufferRule::Fixed(Bytes::new(octets));
    let small = Profile { send_buffer: fixed(20_000), receive_buffer: fixed(12_000), ..linux() };
    let ecn = |rule| Profile { ecn: rule, ..linux() };
    let detects = |loss_detection, cwnd_reduction| Profile { loss_detection, cwnd_reduction, tlp: false, ..linux() };
    let repairs = |fast_recovery| Profile { fast_recovery, cwnd_reduction: CwndReduction::Immediate, ..plain.clone() };
    let cc = |name, cc| Ends { cc, ..both(name, linux()) };
    let accurate = Profile { ecn: EcnRule::Accurate, ecn_option: false, ..linux() };
    let bursts = Profile { max_burst: 2, burst_tick: Duration::from_millis(10), ..linux() };
    let set = |name, set| Ends { set, ..both(name, linux()) };
    let during = |name, during| Ends { during, ..both(name, linux()) };
    let freebsd = Profile { timestamps: false, sack: false, ..Profile::freebsd_7() };
    let newer = Profile { ecn: EcnRule::Accurate, ..Profile::linux_6_12() };
    named
        .chain([
            Ends { server: Profile::freebsd_7(), ..both("linux to freebsd", linux()) },
            Ends { client: Profile::freebsd_7(), ..both("freebsd to linux", linux()) },
            Ends { client: Profile::windows(), ..both("windows to linux", linux()) },
            both("without options", plain.clone()),
            both("without timestamps", Profile { timestamps: false, ..linux() }),
            both("small buffers", small),
            both("rfc 6675", detects(LossDetection::Rfc6675, CwndReduction::Immediate)),
            both("fack", detects(LossDetection::Fack, CwndReduction::RateHalving)),
            both("no sack, reno", repairs(FastRecovery::Reno)),
            both("no sack, careful reno", repairs(FastRecovery::CarefulReno)),
            both("limited bursts", bursts),
            Ends { cc: "cubic", ..both("ecn", ecn(EcnRule::On)) },
            Ends { cc: "prague", ..both("accurate ecn", ecn(EcnRule::Accurate)) },
            Ends { cc: "prague", ..both("accurate ecn, no option", accurate) },
            both("acc", acks(linux(), "acc")),
            both("acc_peerwin", acks(linux(), "acc_peerwin")),
            both("rfc5690", acks(linux(), "rfc5690")),
            both("tarr", acks(linux(), "tarr")),
            both("ace", acks(linux(), "ace")),
            both("growing", acks(linux(), "growing")),
            both("tack", acks(linux(), "tack")),
            both("delayed", acks(linux(), "delayed")),
            both("placeholders", Profile { placeholders: Some(0.05), ..linux() }),
            cc("cubic", "cubic"),
            cc("bbr", "bbr"),
            cc("bbr3", "bbr3"),
            cc("cubic-hystart++", "cubic-hystart++"),
            set("events", |end| end.listen_to(TcpEventMask::ALL)),
            Ends { set: |end| end.listen_to(TcpEventMask::ALL), ..both("events of freebsd", Profile::freebsd_7()) },
            both("freebsd without sack", freebsd),
            Ends { cc: "cubic", ..both("linux 6.12, accurate ecn", newer) },
            both("no sack, rate halving", Profile { cwnd_reduction: CwndReduction::RateHalving, ..plain.clone() }),
            both(
                "no sack, newreno",
                Profile { loss_detection: LossDetection::Rfc6675, ..repairs(FastRecovery::NewReno) },
            ),
            both("no sack, per duplicate", Profile { cwnd_reduction: CwndReduction::PerDuplicate, ..plain.clone() }),
            both(
                "early retransmit, frto off",
                Profile { dup_threshold: 1, undo: Undo { frto: false, dsack: false, ..linux().undo }, ..linux() },
            ),
            both("abc", Profile { byte_counting: ByteCounting::Limited { segments: 2 }, ..linux() }),
            both("half", Profile { byte_counting: ByteCounting::Half, ..linux() }),
            both("small window", Profile { max_window: Some(Bytes::new(9_000)), ..linux() }),
            during("path mtu", |instants, now, [_, client]| {
                if [60, 300, 301].contains(&instants) {
                    let first = client.send.seq(client.send.flight.una());
                    let _ = client.handle_too_big(now, first, Bytes::new(if instants == 60 { 1_200 } else { 700 }));
                }
            }),
            during("other buffers", |instants, _, [server, client]| match instants {
                50 => server.set_receive_buffer(Bytes::new(200_000)),
                100 => client.set_send_buffer(Bytes::new(500_000)),
                250 => server.set_receive_buffer(Bytes::new(20_000)),
                300 => client.set_send_buffer(Bytes::new(9_000)),
                _ => {}
            }),
            during("other controls", |instants, now, [server, client]| {
                if instants % 90 == 0 {
                    let name = ["vegas", "bbr", "cubic"][instants as usize / 90 % 3];
                    for end in [server, client] {
                        end.set_controller(
                            now,
                            build(name, &Setup::new(&linux(), Bytes::new(1460), 1)).expect("built in"),
                        );
                    }
                }
            }),
            during("cork and nodelay", |instants, _, ends| {
                for end in ends {
                    match instants % 40 {
                        0 => end.set_cork(true),
                        10 => end.set_cork(false),
                        20 => end.set_nodelay(true),
                        30 => end.set_nodelay(false),
                        _ => {}
                    }
                }
            }),
            during("closed early", |instants, now, [server, client]| match instants {
                150 => server.close(now),
                170 => client.close(now),
                _ => {}
            }),
            during("reset", |instants, _, [server, _]| {
                if instants == 120 {
                    server.abort();
                }
            }),
            set("keepalive", |end| {
                let ms = Duration::from_millis;
                end.set_keepalive(Time::ZERO, Some(KeepAlive { idle: ms(100), interval: ms(30), probes: 3 }));
            }),
            set("user timeout", |end| end.set_user_timeout(Some(Duration::from_millis(700)))),
            set("nodelay", |end| end.set_nodelay(true)),
            set("cork", |end| end.set_cork(true)),
            set("paced", |end| end.set_max_pacing_rate(Some(BitRate::from_bps(5_000_000)))),
        ])
        .collect()
}

impl Ends {
    fn connection(&self, client: bool) -> Connection {
        let profile = if client { &self.client } else { &self.server };
        let config = connection_config(profile.clone(), client);
        let setup = Setup::new(profile, Bytes::new(1460), 1);
        let controller = build(self.cc, &setup).expect("built in");
        let config = ConnConfig { controller, ..config };
        let mut end = if client { Connection::connect(config) } else { Connection::listen(config) };
        (self.set)(&mut end);
        end
    }
}

/// Each line has the sums of both ends' counters, and a number for each of the probes.
#[test]
fn exchanges_match_the_recorded_exchanges() {
    let mut text = String::new();
    for ends in all() {
        let mut sum = Counters::default();
        let mut digests = String::new();
        for probe in PROBES.iter().chain(WORSE) {
            let (digest, counters) = (Digest::default(), Counters::default());
            let mut seen = Seen { digest, counters, instants: 0, during: ends.during };
            probe.play([ends.connection(false), ends.connection(true)], &mut seen);
            sum = sum + seen.counters;
            write!(digests, " {:04x}", seen.digest.value() & 0xffff).expect("a string");
        }
        let Counters { segments_out, pure_acks_out, retransmits, timeouts, fast_retransmits, tail_probes, .. } = sum;
        writeln!(
            text,
            "{}: {segments_out} segments, {pure_acks_out} ACKs, {retransmits} retransmissions, {fast_retransmits} fast \
             recoveries, {timeouts} timeouts, {tail_probes} tail probes, {} undos\n{digests}\n",
            ends.name, sum.undos
        )
        .expect("a string");
    }
    expect_file!["exchanges.txt"].assert_eq(&text);
}
