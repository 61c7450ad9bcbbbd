//! The functions that the page calls. Each function reads its input from the buffer of [`alloc`] and stores an
//! [`Answer`], which remains valid until the next call.
//!
//! A call returns 0 on success. Otherwise the answer contains a list of `problems`. After a trap, [`fault_ptr`] points
//! to the reason, and the instance is unusable.
//!
//! Only WebAssembly exports the plain names, because a native program could have other functions with these names. `open`
//! and `close` are functions of WASI's C library.

#![cfg_attr(
    target_family = "wasm",
    expect(unsafe_code, reason = "a function is exported under its own name; nothing else here is unsafe")
)]

use crate::answer::Answer;
use crate::request::{Problems, Request};
use crate::session::{Session, capture};
use crate::view::View;
use crate::{catalogue, describe};
use lopsided_verdict::Account;
use std::cell::RefCell;
use std::sync::{Mutex, Once, PoisonError};

#[derive(Default)]
struct State {
    input: Vec<u8>,
    answer: Answer,
    session: Option<Session>,
    last: Option<Account>,
    pinned: Option<Account>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Message of a panic. The page reads it after the trap that the panic causes.
static FAULT: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

fn with<T>(act: impl FnOnce(&mut State) -> T) -> T {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
        }));
    });
    STATE.with_borrow_mut(act)
}

/// Stores the answer or the problems. Returns 0 or 1.
fn settle(state: &mut State, outcome: Result<Answer, Problems>) -> u32 {
    let failed = u32::from(outcome.is_err());
    state.answer = outcome.unwrap_or_else(|problems| problems.answer());
    failed
}

/// Returns a buffer for `length` bytes of input.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    with(|state| {
        state.input.clear();
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

/// Returns the address of the answer.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer_ptr() -> *const u8 {
    with(|state| state.answer.bytes().as_ptr())
}

/// Returns the length of the answer in bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer_len() -> usize {
    with(|state| state.answer.bytes().len())
}

/// Returns the address of a panic's message.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn fault_ptr() -> *const u8 {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Returns the length of a panic's message in bytes; 0 if there was no panic.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn fault_len() -> usize {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// Lists the built-in parts: see [`catalogue`](fn@crate::catalogue).
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn list_parts() -> u32 {
    with(|state| settle(state, Ok(catalogue())))
}

/// Describes the scenario in the input: see [`describe`](fn@crate::describe).
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn describe_scenario() -> u32 {
    with(|state| {
        let outcome = describe(&Request::read(&state.input));
        settle(state, outcome)
    })
}

/// Starts a run of the scenario in the input, and ends the previous run. Times are in seconds. If `to_s` is 0, the
/// displayed time lasts until the end of the run.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn open_run(columns: u32, from_s: f64, to_s: f64, packets_from_s: f64, packets_to_s: f64) -> u32 {
    with(|state| {
        // Free the memory of the previous run before the next run starts.
        state.session = None;
        let request = Request::read(&state.input);
        let opened = request.scenario().and_then(|scenario| {
            let whole = View::whole(&scenario, columns as usize);
            let to_s = if to_s > from_s { to_s } else { whole.to_s };
            Session::open(scenario, View { from_s, to_s, packets_from_s, packets_to_s, ..whole })
        });
        match opened {
            Ok(session) => {
                state.session = Some(session);
                0
            }
            Err(problems) => settle(state, Err(problems)),
        }
    })
}

/// Continues the run up to a time in seconds or a number of events. Returns 0 if the run can continue, 1 on problems,
/// and 2 at the end of the run.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn advance(until_s: f64, budget: u32) -> u32 {
    with(|state| {
        let Some(session) = &mut state.session else { return settle(state, Err(nothing_open())) };
        match session.advance(until_s, u64::from(budget)) {
            Ok(ended) => 2 * u32::from(ended),
            Err(problems) => settle(state, Err(problems)),
        }
    })
}

/// Returns the current virtual time of the open run, in seconds; 0 if no run is open.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn now() -> f64 {
    with(|state| state.session.as_ref().map_or(0.0, Session::now_s))
}

/// Stores an answer with the curves of the open run up to now.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn picture() -> u32 {
    with(|state| {
        let outcome = state.session.as_ref().map(Session::picture).ok_or_else(nothing_open);
        settle(state, outcome)
    })
}

/// Runs to the end. The answer contains curves, tables, verdict, digest, and the differences from the pinned run.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn finish() -> u32 {
    with(|state| {
        let Some(session) = state.session.take() else { return settle(state, Err(nothing_open())) };
        let finished = session.finish(state.pinned.as_ref());
        let outcome = finished.map(|(answer, account)| {
            state.last = Some(account);
            answer
        });
        settle(state, outcome)
    })
}

/// Ends the open run without an answer.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn close_run() {
    with(|state| state.session = None);
}

/// Pins the last finished run if `on` is 1: later runs are compared with it. Ends the comparison if `on` is 0.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn pin(on: u32) {
    with(|state| state.pinned = if on == 1 { state.last.clone() } else { None });
}

/// Runs the scenario in the input and captures the packets at a host, named by the first setting `host=NAME`. The
/// answer is a pcapng file.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn capture_host() -> u32 {
    with(|state| {
        let mut request = Request::read(&state.input);
        // `host` is not a setting of the scenario, so remove it.
        let host = if request.settings.is_empty() { String::new() } else { request.settings.remove(0).1 };
        let outcome = capture(&request, &host);
        settle(state, outcome)
    })
}

fn nothing_open() -> Problems {
    Problems::of("no run is open")
}
