//! The kernel's rule that hands an interface's outgoing packets to a queue: by nftables in a table of its own, or by iptables where that
//! cannot. Either way the rule lets packets pass where nobody listens at the queue, and it can be found again by the interface alone.

use nix::net::if_::if_nametoindex;
use std::fmt;
use std::io::Write;
use std::process::{Command, Stdio};

/// Queues of ours are numbered from here by the interface's number.
const FIRST_QUEUE: u16 = 21_000;
const QUEUES: u32 = 40_000;

/// The rule of one interface.
#[derive(Clone, Debug)]
pub struct Rules {
    interface: String,
    queue: u16,
}

/// Why the rule could not be set.
#[derive(Debug)]
pub enum RulesError {
    NoInterface(String),
    /// The tools that were tried, and what each said.
    Refused(Vec<(String, String)>),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::NoInterface(name) => {
                write!(f, "there is no interface {name:?} here; `ip link` lists those that there are")
            }
            RulesError::Refused(tried) => {
                f.write_str("no rule could be set (it takes root, and nft or iptables with NFQUEUE):")?;
                tried.iter().try_for_each(|(tool, said)| write!(f, "\n  {tool}: {said}"))
            }
        }
    }
}

impl std::error::Error for RulesError {}

/// The programs that set rules for iptables, for IPv4 and IPv6; the first pair that works is taken.
const IPTABLES: [[&str; 2]; 2] = [["iptables", "ip6tables"], ["iptables-legacy", "ip6tables-legacy"]];

impl Rules {
    /// # Errors
    /// If there is no such interface.
    pub fn of(interface: &str) -> Result<Rules, RulesError> {
        let missing = |_| RulesError::NoInterface(interface.to_owned());
        let number = if_nametoindex(interface).map_err(missing)?;
        Ok(Rules { interface: interface.to_owned(), queue: FIRST_QUEUE + (number % QUEUES) as u16 })
    }

    pub fn queue(&self) -> u16 {
        self.queue
    }

    fn table(&self) -> String {
        format!("lopsided_{}", self.queue)
    }

    /// What nftables is told.
    pub fn nftables(&self) -> String {
        format!(
            "table inet {table} {{\n  chain out {{\n    type filter hook postrouting priority mangle; policy accept;\n    \
             oifname \"{interface}\" queue flags bypass to {queue}\n  }}\n}}\n",
            table = self.table(),
            interface = self.interface,
            queue = self.queue
        )
    }

    /// What iptables is told: the rule, which `-A` adds and `-D` takes away.
    fn rule(&self, action: &str) -> Vec<String> {
        let queue = self.queue.to_string();
        let words = [
            "-w",
            "-t",
            "mangle",
            action,
            "POSTROUTING",
            "-o",
            &self.interface,
            "-j",
            "NFQUEUE",
            "--queue-num",
            &queue,
            "--queue-bypass",
        ];
        words.map(str::to_owned).to_vec()
    }

    /// Sets the rule. One that is there from before is replaced.
    ///
    /// # Errors
    /// If no tool can.
    pub fn add(&self) -> Result<(), RulesError> {
        self.remove()?;
        let mut tried = Vec::new();
        match run("nft", &["-f".to_owned(), "-".to_owned()], &self.nftables()) {
            Ok(()) => return Ok(()),
            Err(said) => tried.push(("nft".to_owned(), said)),
        }
        for [v4, v6] in IPTABLES {
            match run(v4, &self.rule("-A"), "") {
                Ok(()) => {
                    // A machine without IPv6 has nothing to shape there.
                    let _ = run(v6, &self.rule("-A"), "");
                    return Ok(());
                }
                Err(said) => tried.push((v4.to_owned(), said)),
            }
        }
        Err(RulesError::Refused(tried))
    }

    /// Takes away every rule that was set for the interface.
    ///
    /// # Errors
    /// Never today: what cannot be taken away is not there.
    pub fn remove(&self) -> Result<(), RulesError> {
        let table = self.table();
        let _ = run("nft", &["delete", "table", "inet", &table].map(str::to_owned), "");
        for tool in IPTABLES.iter().flatten() {
            // One of an earlier run may stand beside it.
            for _ in 0..8 {
                if run(tool, &self.rule("-D"), "").is_err() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Runs a tool; what it complains of, where it fails.
fn run(tool: &str, arguments: &[String], input: &str) -> Result<(), String> {
    let spawned =
        Command::new(tool).args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| error.to_string())?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().find(|line| !line.trim().is_empty()).unwrap_or("failed").to_owned())
}
