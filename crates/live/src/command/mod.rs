//! The commands of `lopsided-live`. The Python program `lopsided` has the same commands.
//!
//! Exit codes: the emulated command's own exit code; 1 if the work failed; 2 if the arguments are invalid.

mod emulate;
mod reflect;
mod service;
mod shape;
mod summary;

pub use emulate::{EmulateArguments, Ran, emulate_arguments, emulate_line};
pub use shape::shape;

use std::ffi::OsString;

const HELP: &str = "\
Emulate lines for real packets.

Usage: lopsided-live COMMAND [OPTIONS]

Commands:
  emulate   run a command, or a shell, behind an emulated line
  shape     apply a queue discipline to the packets that leave a network interface
  reflect   return the sensing packets of `shape`, at the far end of a line

`lopsided-live COMMAND --help` lists the options of a command.
";

/// Exit code for wrong arguments.
const USAGE: u8 = 2;

/// Runs a command line, without the program's name as its first word. Returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut arguments = arguments.into_iter();
    let name = arguments.next().unwrap_or_default();
    match name.to_str() {
        Some("emulate") => emulate::run(arguments),
        Some("shape") => shape(arguments, None),
        Some("reflect") => reflect::run(arguments),
        Some("help") => match arguments.next() {
            Some(command) => run(vec![command, "--help".into()]),
            None => say(HELP),
        },
        Some("--help" | "-h") => say(HELP),
        Some("--version") => say(concat!("lopsided-live ", env!("CARGO_PKG_VERSION"), "\n")),
        _ => {
            // An unknown command is an error, so the help text is written to standard error.
            eprint!("{HELP}");
            USAGE
        }
    }
}

/// Prints text that the user requested. A closed pipe is not an error, because `head` closes its pipe early.
fn say(text: &str) -> u8 {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
    0
}

/// Reports invalid arguments. Returns the exit code.
fn mistaken(command: &str, error: &impl std::fmt::Display) -> u8 {
    // The Python program `lopsided` runs these commands too.
    let program = std::env::current_exe().ok();
    let is_live = program.is_some_and(|path| path.file_stem().is_some_and(|name| name == "lopsided-live"));
    let name = if is_live { "lopsided-live" } else { "lopsided" };
    complain(format!("{error}\n`{name} {command} --help` lists the options"), USAGE)
}

fn complain(what: impl std::fmt::Display, code: u8) -> u8 {
    eprintln!("error: {what}");
    code
}
