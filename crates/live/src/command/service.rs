//! Common options of all long-running commands, and the systemd units that run these commands.

use super::say;
use lexopt::Arg;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options of every long-running command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    pub dry_run: bool,
    pub systemd: bool,
    pub undo: bool,
    pub quiet: bool,
    pub help: bool,
}

impl Wishes {
    /// Sets the option and returns true if the argument is one of these options. Otherwise returns false.
    pub fn take(&mut self, argument: &Arg<'_>) -> bool {
        let wish = match argument {
            Arg::Long("dry-run") => &mut self.dry_run,
            Arg::Long("systemd") => &mut self.systemd,
            Arg::Long("undo") => &mut self.undo,
            Arg::Long("quiet") | Arg::Short('q') => &mut self.quiet,
            Arg::Long("help") | Arg::Short('h') => &mut self.help,
            _ => return false,
        };
        *wish = true;
        true
    }

    /// Rejects more than one of the options that replace the command's work.
    pub fn check(&self) -> Result<(), String> {
        let alternatives = [("--dry-run", self.dry_run), ("--systemd", self.systemd), ("--undo", self.undo)];
        let given: Vec<&str> = alternatives.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
        match given[..] {
            [first, second, ..] => Err(format!("{first} and {second} exclude each other")),
            _ => Ok(()),
        }
    }

    /// Prints whether `--undo` removed rules of the command. Returns the exit code 0.
    pub fn say_undone(&self, command: &str, removed: bool) -> u8 {
        match (self.quiet, removed) {
            (true, _) => 0,
            (false, true) => say(&format!("removed the rules of `{command}`\n")),
            (false, false) => say(&format!("there is nothing to undo: no rules of `{command}` were found\n")),
        }
    }
}

/// The contents of a systemd unit.
pub(super) struct Unit<'a> {
    pub description: &'a str,
    /// Lines of the unit's section `[Unit]` that declare dependencies.
    pub dependencies: &'a str,
    /// Name of the command that the unit runs.
    pub command: &'a str,
    /// Arguments to which `--undo` is added, so that the same command removes its rules when the unit stops.
    pub undo: &'a [String],
    pub capabilities: &'a str,
}

impl Unit<'_> {
    /// Returns the text of the unit file. The unit runs the command with these arguments.
    pub fn text(&self, arguments: &[OsString]) -> String {
        let program: Vec<String> = program(self.command).iter().map(|word| escaped(word)).collect();
        let program = program.join(" ");
        // Remove `--systemd`: the unit must run the command, not print another unit.
        let start = arguments.iter().map(|word| word.to_string_lossy()).filter(|word| word != "--systemd");
        let start: String = start.map(|word| format!(" {}", escaped(&word))).collect();
        let undo: String = self.undo.iter().map(|word| format!(" {}", escaped(word))).collect();
        let Unit { description, dependencies, command, capabilities, .. } = self;
        format!(
            "[Unit]\nDescription={description}\n{dependencies}\n\
             [Service]\nExecStart={program} {command}{start}\nExecStopPost={program} {command}{undo} --undo\nRestart=on-failure\n\
             CapabilityBoundingSet={capabilities}\nNoNewPrivileges=yes\nProtectSystem=strict\n\
             ReadWritePaths=/run\nProtectHome=read-only\nPrivateTmp=yes\n\n\
             [Install]\nWantedBy=multi-user.target\n"
        )
    }
}

/// Returns this process's command line before `command`, with absolute paths.
fn program(command: &str) -> Vec<String> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let Some(count) = words.iter().position(|word| word == command).filter(|count| *count > 0) else {
        return vec!["lopsided".to_owned()];
    };
    let whole = |(place, word): (usize, &OsString)| match Path::new(word) {
        path if place == 0 && path.components().count() == 1 => std::env::current_exe().unwrap_or(path.into()),
        path if path.is_file() => from_anywhere(path).unwrap_or(path.into()),
        path => path.into(),
    };
    words[..count].iter().enumerate().map(whole).map(|path| path.display().to_string()).collect()
}

/// Returns the absolute path of a file, without `..`. Symbolic links are kept, because Python locates its packages
/// through the link.
fn from_anywhere(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
}

/// Escapes an interface's name for use in the name of a unit (systemd.unit(5)).
pub(super) fn in_unit_name(interface: &str) -> String {
    let plain = |place: usize, octet: u8| {
        octet.is_ascii_alphanumeric() || b":_".contains(&octet) || (octet == b'.' && place > 0)
    };
    let octets = interface.bytes().enumerate();
    octets
        .map(
            |(place, octet)| {
                if plain(place, octet) { char::from(octet).to_string() } else { format!("\\x{octet:02x}") }
            },
        )
        .collect()
}

/// Escapes a word for a command in a unit (systemd.syntax(7)), including line breaks.
fn escaped(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    if word.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '\\' | ';')) {
        let letters = word.chars().map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if c.is_control() => c.to_string().bytes().map(|octet| format!("\\x{octet:02x}")).collect(),
            c => c.to_string(),
        });
        format!("\"{}\"", letters.collect::<String>())
    } else {
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_cannot_add_a_line_to_the_systemd_unit() {
        assert_eq!(escaped("9500k"), "9500k");
        assert_eq!(escaped("a\nExecStartPre=/bin/id"), "\"a\\x0aExecStartPre=/bin/id\"");
        assert_eq!(escaped("50 \"%\" \u{9b}"), "\"50 \\\"%%\\\" \\xc2\\x9b\"");
    }
}
