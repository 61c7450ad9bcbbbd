//! A scenario's words about a stack, made into a profile.

use crate::error::BuildError;
use lopsided_core::{Bytes, Duration};
use lopsided_scenario::{Buffer, DelayedAck, EcnSpec, FlowSpec, StackSpec, Window};
use lopsided_tcp::cc::ControllerFactory;
use lopsided_tcp::{
    AckSettings, BufferRule, ByteCounting, Controllers, CwndReduction, EcnRule, LossDetection, Profile,
};
use std::fmt;

/// Ethernet's, where the scenario gives no MSS.
const MTU: u64 = 1500;
/// The MSS option counts IPv4 and TCP headers without options (RFC 6691).
const HEADERS: u64 = 40;
/// Octets of the timestamps option with its padding (RFC 7323 appendix A), which the payload loses.
const TIMESTAMPS: u64 = 12;
/// Linux's usual bound of a receive buffer (tcp_rmem), less its overhead.
const LARGEST_BUFFER: Bytes = Bytes::new(3 << 20);
/// What 4.4BSD's descendants and RFC 1122 section 4.2.3.2 allow for, where a profile that never delays is told to.
const USUAL_DELAY: (u32, Duration) = (2, Duration::from_millis(100));

/// One end's stack, ready for any number of connections.
#[derive(Clone)]
pub(crate) struct Stack {
    pub profile: Profile,
    pub make_controller: ControllerFactory,
    pub mtu: Bytes,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("profile", &self.profile).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}

impl Stack {
    pub fn new(flow: &FlowSpec, spec: &StackSpec, controllers: &Controllers) -> Result<Stack, BuildError> {
        let Some(base) = Profile::named(&spec.profile) else {
            return Err(BuildError::UnknownProfile { flow: flow.name.clone(), profile: spec.profile.clone() });
        };
        let Some(make_controller) = controllers.get(&spec.cc) else {
            return Err(BuildError::UnknownController { flow: flow.name.clone(), cc: spec.cc.clone() });
        };
        let mtu = spec.mss.map_or(MTU, |mss| u64::from(mss) + HEADERS);
        let mut profile = adjust(base, spec);
        let payload = mtu - HEADERS - if profile.timestamps { TIMESTAMPS } else { 0 };
        let octets = |window| match window {
            Window::Bytes(bytes) => bytes,
            Window::Segments(count) => Bytes::new(u64::from(count) * payload),
        };
        profile.max_window = spec.max_window.map(octets);
        profile.remembered_threshold = spec.remembered_threshold.map(octets);
        Ok(Stack { profile, make_controller, mtu: Bytes::new(mtu) })
    }
}

fn adjust(mut profile: Profile, spec: &StackSpec) -> Profile {
    let switches = [
        (&mut profile.sack, spec.sack),
        (&mut profile.dsack, spec.dsack),
        (&mut profile.timestamps, spec.timestamps),
        (&mut profile.window_scaling, spec.window_scaling),
        (&mut profile.abe, spec.abe),
        (&mut profile.tlp, spec.tlp),
        (&mut profile.undo.frto, spec.frto),
        (&mut profile.limited_transmit, spec.limited_transmit),
    ];
    for (field, wanted) in switches {
        *field = wanted.unwrap_or(*field);
    }
    profile.ecn = match spec.ecn {
        None => profile.ecn,
        Some(EcnSpec::Off) => EcnRule::Off,
        Some(EcnSpec::Accept) => EcnRule::Accept,
        Some(EcnSpec::On) => EcnRule::On,
        Some(EcnSpec::Accurate) => EcnRule::Accurate,
    };
    profile.loss_detection = match (spec.rack, spec.fack, profile.loss_detection) {
        (Some(true), _, _) => LossDetection::Rack,
        (_, Some(true), _) => LossDetection::Fack,
        (Some(false), _, LossDetection::Rack) | (_, Some(false), LossDetection::Fack | LossDetection::FreeBsdSack) => {
            LossDetection::Rfc6675
        }
        (_, _, as_it_is) => as_it_is,
    };
    profile.cwnd_reduction = match (spec.prr, spec.rate_halving, profile.cwnd_reduction) {
        (Some(true), _, _) => CwndReduction::Prr,
        (_, Some(true), _) => CwndReduction::RateHalving,
        (Some(false), _, CwndReduction::Prr) | (_, Some(false), CwndReduction::RateHalving) => CwndReduction::Immediate,
        (_, _, as_it_is) => as_it_is,
    };
    profile.byte_counting = match spec.abc {
        Some(0) => ByteCounting::Acks,
        Some(segments) => ByteCounting::Limited { segments },
        None => profile.byte_counting,
    };
    profile.ack = spec.delayed_ack.map_or(profile.ack, |wanted| ack_settings(profile.ack, wanted));
    match spec.initial_window {
        Some(Window::Segments(segments)) => {
            profile.initial_window_segments = segments;
            profile.initial_window_cap = None;
        }
        Some(Window::Bytes(bytes)) => {
            profile.initial_window_segments = u32::MAX;
            profile.initial_window_cap = Some(bytes);
        }
        None => {}
    }
    profile.rto = spec.min_rto.map_or(profile.rto, |min| profile.rto.with_min(min));
    profile.send_buffer = buffer(profile.send_buffer, spec.send_buffer);
    profile.receive_buffer = buffer(profile.receive_buffer, spec.receive_buffer);
    profile
}

fn ack_settings(base: AckSettings, wanted: DelayedAck) -> AckSettings {
    let DelayedAck::On { segments, timeout } = wanted else { return AckSettings { policy: "immediate", ..base } };
    let delayed = |segments, timeout| AckSettings { policy: "delayed", segments, max_delay: timeout, ..base };
    match (base.policy, segments, timeout) {
        ("immediate", _, _) => delayed(segments.unwrap_or(USUAL_DELAY.0), timeout.unwrap_or(USUAL_DELAY.1)),
        ("linux", Some(segments), _) => delayed(segments, timeout.unwrap_or(base.min_delay)),
        ("linux", None, Some(timeout)) => AckSettings { min_delay: timeout, max_delay: timeout, ..base },
        ("linux", None, None) => base,
        _ => AckSettings {
            segments: segments.unwrap_or(base.segments),
            max_delay: timeout.unwrap_or(base.max_delay),
            ..base
        },
    }
}

fn buffer(base: BufferRule, wanted: Option<Buffer>) -> BufferRule {
    match (wanted, base) {
        (Some(Buffer::Fixed(size)), _) => BufferRule::Fixed(size),
        // A stack of fixed buffers that is told to let them grow starts from its own and goes as far as Linux does.
        (Some(Buffer::Auto), BufferRule::Fixed(initial)) => {
            BufferRule::Auto { initial, max: LARGEST_BUFFER.max(initial) }
        }
        (Some(Buffer::Auto) | None, _) => base,
    }
}
