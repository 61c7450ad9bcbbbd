//! The functions that the page calls. Each takes its input from the buffer of [`alloc`] and leaves an [`Answer`], which
//! stays until the next call.
//!
//! A call returns 0 if it did what was asked. Otherwise the answer has a list of `problems`, or, after a trap,
//! [`fault_ptr`] has the reason; the instance is of no further use then.
//!
//! Only WebAssembly has the plain names. In a native program `open` and `close` would replace those of the C library,
//! and no file would ever be closed.

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

/// The message of a panic. It is read after the trap that the panic ends in.
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

/// Keeps the answer or the problems; 0 or 1.
fn settle(state: &mut State, outcome: Result<Answer, Problems>) -> u32 {
    let failed = u32::from(outcome.is_err());
    state.answer = outcome.unwrap_or_else(|problems| problems.answer());
    failed
}

/// Room for `length` bytes of input.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    with(|state| {
        state.input.clear();
        state.input.resize(length, 0);
        state.input.as_mut_ptr()
    })
}

/// Where the answer begins.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer_ptr() -> *const u8 {
    with(|state| state.answer.bytes().as_ptr())
}

/// Length of the answer in bytes.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn answer_len() -> usize {
    with(|state| state.answer.bytes().len())
}

/// Where the message of a panic begins.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn fault_ptr() -> *const u8 {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Length of the message of a panic in bytes; 0 if there was none.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn fault_len() -> usize {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).len()
}

/// What is built in: see [`catalogue`](fn@crate::catalogue).
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn list_parts() -> u32 {
    with(|state| settle(state, Ok(catalogue())))
}

/// What the scenario in the input has: see [`describe`](fn@crate::describe).
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn describe_scenario() -> u32 {
    with(|state| {
        let outcome = describe(&Request::read(&state.input));
        settle(state, outcome)
    })
}

/// Begins a run of the scenario in the input, which ends the one before. Times are in seconds; a `to_s` of 0 is the end
/// of the run.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn open(columns: u32, from_s: f64, to_s: f64, packets_from_s: f64, packets_to_s: f64) -> u32 {
    with(|state| {
        state.session = None;
        let request = Request::read(&state.input);
        let opened = request.scenario().and_then(|scenario| {
            let whole = View::whole(&scenario, columns as usize);
            let to_s = if to_s > from_s { to_s } else { whole.to_s };
            Session::open(&request, View { from_s, to_s, packets_from_s, packets_to_s, ..whole })
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

/// Goes on until a time in seconds or a number of events. 0: more is to come; 1: problems; 2: the run is at its end.
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

/// Virtual time that the open run has reached, in seconds.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn now() -> f64 {
    with(|state| state.session.as_ref().map_or(0.0, Session::now_s))
}

/// The curves of the open run so far.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn picture() -> u32 {
    with(|state| {
        let outcome = state.session.as_ref().map(Session::picture).ok_or_else(nothing_open);
        settle(state, outcome)
    })
}

/// Runs to the end: curves, tables, verdict, digest, and the difference to the pinned run.
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
pub extern "C" fn close() {
    with(|state| state.session = None);
}

/// With 1 compares later runs with the last finished one, with 0 with none.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn pin(on: u32) {
    with(|state| state.pinned = if on == 1 { state.last.clone() } else { None });
}

/// Runs the scenario in the input and captures at a host: the answer is a pcapng file. The input's first setting is
/// `host=NAME`.
#[cfg_attr(target_family = "wasm", unsafe(no_mangle))]
pub extern "C" fn capture_host() -> u32 {
    with(|state| {
        let mut request = Request::read(&state.input);
        let host = if request.settings.is_empty() { String::new() } else { request.settings.remove(0).1 };
        let outcome = capture(&request, &host);
        settle(state, outcome)
    })
}

fn nothing_open() -> Problems {
    Problems::of("no run is open")
}
