//! A QUIC transfer uses neither the machine's clock nor its random generator.
//!
//! This test has its own binary, because it replaces the C library's `clock_gettime` and `getrandom`. The replacements
//! count calls, and forward them to the kernel.
//!
//! Not covered: the random keys of quinn's hash maps, which are used only for look-ups (see `all/repeat.rs`).

#![cfg(target_os = "linux")]

#[path = "all/pair.rs"]
mod pair;

use lopsided_app::TransportEnd;
use lopsided_core::{Duration, Rng, Time};
use lopsided_quic::{CcSource, Clock, QuicConfig, QuicEndpoint};
use lopsided_tcp::{RunControllers, StackConfig};
use pair::{Pair, addr, pattern};
use std::cell::Cell;
use std::collections::hash_map::RandomState;

thread_local! {
    /// Number of this thread's calls for the time and for random bytes.
    static CALLS: Cell<(u32, u32)> = const { Cell::new((0, 0)) };
}

#[expect(unsafe_code, reason = "replaces two functions of the C library by calls of the kernel")]
mod replaced {
    use super::CALLS;
    use std::ffi::{c_int, c_long, c_uint, c_void};

    #[unsafe(no_mangle)]
    extern "C" fn clock_gettime(clock: c_int, time: *mut c_void) -> c_int {
        let _ = CALLS.try_with(|calls| calls.set((calls.get().0 + 1, calls.get().1)));
        // SAFETY: the caller passes a valid `timespec`, as the replaced function requires.
        unsafe { libc::syscall(libc::SYS_clock_gettime, c_long::from(clock), time) as c_int }
    }

    #[unsafe(no_mangle)]
    extern "C" fn getrandom(buffer: *mut c_void, len: usize, flags: c_uint) -> isize {
        let _ = CALLS.try_with(|calls| calls.set((calls.get().0, calls.get().1 + 1)));
        // SAFETY: the caller passes a buffer of `len` bytes, as the replaced function requires.
        unsafe { libc::syscall(libc::SYS_getrandom, buffer, len, flags) as isize }
    }
}

/// Returns the number of calls for the time and for random bytes during `work`.
fn calls(work: impl FnOnce()) -> (u32, u32) {
    // Draw the keys of this thread's hash maps first, so that this call is not counted.
    std::hint::black_box(RandomState::new());
    CALLS.set((0, 0));
    work();
    CALLS.get()
}

#[test]
fn a_transfer_reads_no_system_clock_and_no_system_random_bytes() {
    // Read the clock's base first. The base is read only once per process.
    let clock = Clock::default();
    for ecn in [true, false] {
        let during = calls(|| {
            let mut rng = Rng::for_role(7, "line");
            let fate = Box::new(move |_: &_| if rng.chance(0.05) { vec![] } else { vec![15_000_000] });
            let config = QuicConfig { ecn, ..QuicConfig::default() };
            let mut pair = Pair::new(&config, 1, clock, pattern(300_000), fate);
            pair.run(Time::ZERO + Duration::from_secs(120));
            assert!(pair.closed);
        });
        assert_eq!(during, (0, 0), "calls for the time and for random bytes");
    }
}

/// The replacement functions count their calls.
#[test]
fn a_system_clock_and_an_unseeded_generator_are_detected() {
    #[expect(clippy::disallowed_methods, reason = "this test must read a clock")]
    let (of_time, _) = calls(|| {
        std::hint::black_box(std::time::Instant::now());
    });
    assert!(of_time > 0, "Instant::now calls clock_gettime");
    // quinn's BBR uses the thread's random generator, so its calls must be counted here. Scenarios cannot choose this
    // control.
    let config = QuicConfig { cc_source: CcSource::Quinn, ..QuicConfig::default() };
    let (_, of_random) = calls(|| {
        let end = TransportEnd {
            opens: true,
            sends: false,
            drains: false,
            local: addr(true),
            remote: Some(addr(false)),
            rng: Rng::for_role(1, "client"),
            cc: "bbr".to_owned(),
            make_controller: RunControllers::default().get("cubic").expect("built in"),
            stack: StackConfig::new("linux-6.1", "cubic"),
        };
        let mut endpoint = QuicEndpoint::new(&config, &end, Clock::default()).expect("quinn has BBR");
        lopsided_app::Transport::connect(&mut endpoint, Time::ZERO).expect("a client");
    });
    assert!(of_random > 0, "an unseeded generator of quinn calls getrandom");
}
