//! What commands that work until they are ended have in common: what may be asked of them beside their work, and their unit for systemd.

use lexopt::Arg;
use std::ffi::OsString;

/// Asked of any such command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    pub dry_run: bool,
    pub systemd: bool,
    pub undo: bool,
    pub quiet: bool,
    pub help: bool,
}

impl Wishes {
    /// Takes the option in, if it is one of these.
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
}

/// A unit for systemd.
pub(super) struct Unit<'a> {
    pub description: &'a str,
    /// Lines that say what it depends on.
    pub dependencies: &'a str,
    /// The command, and what undoes it.
    pub command: &'a str,
    pub undo: &'a [String],
    pub capabilities: &'a str,
}

impl Unit<'_> {
    /// The text, for the command line that asked for it.
    pub fn text(&self, arguments: &[OsString]) -> String {
        let program = std::env::current_exe().map_or("lopsided-live".to_owned(), |path| path.display().to_string());
        let start = arguments.iter().map(|word| word.to_string_lossy()).filter(|word| word != "--systemd");
        let start: String = start.map(|word| format!(" {}", escaped(&word))).collect();
        let undo: String = self.undo.iter().map(|word| format!(" {}", escaped(word))).collect();
        let Unit { description, dependencies, command, capabilities, .. } = self;
        format!(
            "[Unit]\nDescription={description}\n{dependencies}\n\
             [Service]\nExecStart={program} {command}{start}\nExecStopPost={program} {command}{undo} --undo\nRestart=on-failure\n\
             CapabilityBoundingSet={capabilities}\nNoNewPrivileges=yes\nProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\n\n\
             [Install]\nWantedBy=multi-user.target\n"
        )
    }
}

/// A word of a command in a unit (systemd.syntax(7)).
fn escaped(word: &str) -> String {
    let word = word.replace('%', "%%").replace('$', "$$");
    if word.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ';')) {
        format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        word
    }
}
