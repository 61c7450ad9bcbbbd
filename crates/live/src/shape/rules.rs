//! The kernel's rules that divert packets to a queue. They are set with nftables in a separate table, or with iptables.
//! The purpose of a rule determines its name and its queue number.
//!
//! | purpose | diverts | queue numbers |
//! |---|---|---|
//! | `shape` | packets that leave an interface, and arriving packets if the discipline reads them | 21,000 + |
//! | `reflect` | sensing packets of any sender | 20,999 |
//! | TCP endpoint | packets arriving for some ports of an address | 62,000 + |

use lopsided_queue::SENSING_PROTOCOL;
use nix::net::if_::if_nametoindex;
use std::fmt;
use std::io::Write;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};

/// First queue number of `shape`. The interface's index is added to it.
const FIRST_QUEUE: u16 = 21_000;
const QUEUES: u32 = 40_000;
const REFLECTOR_QUEUE: u16 = 20_999;
/// First queue number of TCP endpoints. The first port number is added to it.
const FIRST_PORT_QUEUE: u16 = 62_000;
const PORT_QUEUES: u16 = 3000;

/// Firewall mark of the packets that this process itself sends. The rules do not divert packets with this mark.
pub const OWN_MARK: u32 = 0x6c6f_7073;

/// The arriving packets that a discipline must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayIn {
    /// No arriving packets.
    Nothing,
    /// Only the discipline's own probes (sensing packets), which the other end has sent back.
    Sensing,
    /// All arriving packets.
    All,
}

/// One rule: a netfilter hook and the packets that match.
#[derive(Clone, Debug)]
struct Rule {
    /// The hook's name in nftables. iptables has the same names in capital letters.
    hook: &'static str,
    nft: String,
    iptables: Vec<String>,
    /// True if the rule applies to IPv4.
    v4: bool,
    /// True if the rule applies to IPv6.
    v6: bool,
}

/// Checks that `name` can be the name of an interface, like Linux's `dev_valid_name`. Quotes and backslashes are
/// rejected too, because they end a word in rules and systemd units.
///
/// # Errors
/// Returns a message if the name is empty, has 16 bytes or more, or contains a forbidden character.
pub fn check_interface(name: &str) -> Result<(), String> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || "/:\"'\\".contains(c);
    if name.is_empty() || name.len() > 15 || name == "." || name == ".." || name.contains(bad) {
        return Err(format!("{name:?} cannot be the name of a network interface; `ip link` lists them"));
    }
    Ok(())
}

/// The rules for one purpose. All rules divert packets to the same queue.
#[derive(Clone, Debug)]
pub struct Rules {
    queue: u16,
    rules: Vec<Rule>,
}

/// The reason why the rules could not be set.
#[derive(Debug)]
pub enum RulesError {
    /// There is no interface with this name.
    NoInterface(String),
    /// No tool could set the rules. Contains each tool that was tried, with its error message.
    Refused(Vec<(String, String)>),
    /// No tool could list the rules, so rules that should be removed may remain. Contains the same as `Refused`.
    Unreadable(Vec<(String, String)>),
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RulesError::NoInterface(name) => {
                write!(f, "there is no interface {name:?}; `ip link` lists the interfaces")
            }
            RulesError::Refused(tried) => {
                f.write_str("no rule could be set (this needs root, and nft or iptables with NFQUEUE):")?;
                lines(tried, f)
            }
            RulesError::Unreadable(tried) => {
                f.write_str("the firewall's rules cannot be read (this needs root, and nft or iptables):")?;
                lines(tried, f)
            }
        }
    }
}

impl std::error::Error for RulesError {}

fn lines(tried: &[(String, String)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    tried.iter().try_for_each(|(tool, tool_error)| write!(f, "\n  {tool}: {tool_error}"))
}

/// Programs that set iptables rules for IPv4 and IPv6, in pairs. The first pair that works is used.
const IPTABLES: [[&str; 2]; 2] = [["iptables", "ip6tables"], ["iptables-legacy", "ip6tables-legacy"]];

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Rules {
    /// Creates the rules for packets that leave an interface, and for arriving packets that the discipline must see.
    ///
    /// # Errors
    /// Returns an error if there is no such interface.
    pub fn of(interface: &str, way_in: WayIn) -> Result<Rules, RulesError> {
        let missing = |_| RulesError::NoInterface(interface.to_owned());
        let number = if_nametoindex(interface).map_err(missing)?;
        // Packets that lopsided itself sends must not be diverted into its queue again.
        let own = format!("meta mark != {OWN_MARK:#x} ");
        let mut rules = vec![Rule {
            hook: "postrouting",
            nft: format!("oifname \"{interface}\" {}", if way_in == WayIn::Nothing { "" } else { &own })
                .trim_end()
                .to_owned(),
            iptables: match way_in {
                WayIn::Nothing => words(&format!("-o {interface}")),
                _ => words(&format!("-o {interface} -m mark ! --mark {OWN_MARK:#x}")),
            },
            v4: true,
            v6: true,
        }];
        let (nft, iptables) = match way_in {
            WayIn::Nothing => return Ok(Rules { queue: FIRST_QUEUE + (number % QUEUES) as u16, rules }),
            WayIn::Sensing => (format!(" meta l4proto {SENSING_PROTOCOL}"), format!(" -p {SENSING_PROTOCOL}")),
            WayIn::All => (String::new(), String::new()),
        };
        rules.push(Rule {
            hook: "prerouting",
            nft: format!("iifname \"{interface}\"{nft}"),
            iptables: words(&format!("-i {interface}{iptables}")),
            v4: true,
            v6: true,
        });
        Ok(Rules { queue: FIRST_QUEUE + (number % QUEUES) as u16, rules })
    }

    /// Creates the rules for arriving probes (sensing packets), on one interface or on all interfaces.
    ///
    /// # Errors
    /// Returns an error if there is no such interface.
    pub fn of_sensing(interface: Option<&str>) -> Result<Rules, RulesError> {
        if let Some(name) = interface {
            if_nametoindex(name).map_err(|_| RulesError::NoInterface(name.to_owned()))?;
        }
        let by =
            |word: &str, quote: &str| interface.map_or(String::new(), |name| format!("{word} {quote}{name}{quote} "));
        let rule = Rule {
            hook: "prerouting",
            nft: format!("{}meta l4proto {SENSING_PROTOCOL}", by("iifname", "\"")),
            iptables: words(&format!("{}-p {SENSING_PROTOCOL}", by("-i", ""))),
            v4: true,
            v6: true,
        };
        Ok(Rules { queue: REFLECTOR_QUEUE, rules: vec![rule] })
    }

    /// Creates the rules for TCP packets that arrive for these ports of a local address.
    pub fn of_ports(address: IpAddr, ports: &RangeInclusive<u16>) -> Rules {
        let (first, last) = (ports.start(), ports.end());
        let kind = if address.is_ipv4() { "ip" } else { "ip6" };
        let rule = Rule {
            hook: "input",
            nft: format!("{kind} daddr {address} tcp dport {first}-{last}"),
            iptables: words(&format!("-d {address} -p tcp --dport {first}:{last}")),
            v4: address.is_ipv4(),
            v6: address.is_ipv6(),
        };
        Rules { queue: FIRST_PORT_QUEUE + first % PORT_QUEUES, rules: vec![rule] }
    }

    /// Returns the number of the queue to which the rules divert packets.
    pub fn queue(&self) -> u16 {
        self.queue
    }

    fn table(&self) -> String {
        format!("lopsided_{}", self.queue)
    }

    /// Formats the rules as input for `nft`.
    pub fn nftables(&self) -> String {
        let chain = |rule: &Rule| {
            format!(
                "  chain {hook} {{\n    type filter hook {hook} priority mangle; policy accept;\n    \
                 {matches} queue flags bypass to {queue}\n  }}\n",
                hook = rule.hook,
                matches = rule.nft,
                queue = self.queue
            )
        };
        format!("table inet {} {{\n{}}}\n", self.table(), self.rules.iter().map(chain).collect::<String>())
    }

    /// Returns the arguments of iptables for one rule; `action` is `-A` to add the rule and `-D` to delete it.
    fn rule(&self, action: &str, rule: &Rule) -> Vec<String> {
        let mut iptables_arguments = words(&format!("-w -t mangle {action} {}", rule.hook.to_uppercase()));
        iptables_arguments.extend(rule.iptables.iter().cloned());
        iptables_arguments.extend(words(&format!("-j NFQUEUE --queue-num {} --queue-bypass", self.queue)));
        iptables_arguments
    }

    /// Sets the rules. Replaces earlier rules of the same purpose.
    ///
    /// # Errors
    /// Returns an error if no tool succeeds.
    pub fn add(&self) -> Result<(), RulesError> {
        self.remove();
        let mut tried = Vec::new();
        match run("nft", &["-f".to_owned(), "-".to_owned()], &self.nftables()) {
            Ok(()) => return Ok(()),
            Err(tool_error) => tried.push(("nft".to_owned(), tool_error)),
        }
        for tools in IPTABLES {
            match self.add_by(tools) {
                Ok(()) => return Ok(()),
                Err((tool, tool_error)) => {
                    // Remove the rules that the failed tool set before its failure.
                    self.remove();
                    tried.push((tool.to_owned(), tool_error));
                }
            }
        }
        Err(RulesError::Refused(tried))
    }

    fn add_by(&self, [v4, v6]: [&'static str; 2]) -> Result<(), (&'static str, String)> {
        for rule in &self.rules {
            let iptables_arguments = self.rule("-A", rule);
            if rule.v4 {
                run(v4, &iptables_arguments, "").map_err(|tool_error| (v4, tool_error))?;
            }
            if rule.v6 {
                let done = run(v6, &iptables_arguments, "");
                // A failure of the IPv6 rule is not an error, because the machine may have no IPv6.
                if !rule.v4 {
                    done.map_err(|tool_error| (v6, tool_error))?;
                }
            }
        }
        Ok(())
    }

    /// Removes all rules of this purpose. Returns true if there were any.
    pub fn remove(&self) -> bool {
        let table = self.table();
        let mut removed = run("nft", &["delete", "table", "inet", &table].map(str::to_owned), "").is_ok();
        for tool in IPTABLES.iter().flatten() {
            for rule in &self.rules {
                // Processes that were killed may have left several copies of the rule.
                for _ in 0..8 {
                    if run(tool, &self.rule("-D", rule), "").is_err() {
                        break;
                    }
                    removed = true;
                }
            }
        }
        removed
    }

    /// Removes all rules of this purpose. Returns true if there were any.
    ///
    /// # Errors
    /// Returns an error if no rule was removed and no tool can list the rules.
    pub fn undo(&self) -> Result<bool, RulesError> {
        if self.remove() {
            return Ok(true);
        }
        let mut tried = Vec::new();
        let iptables = IPTABLES.iter().flatten().map(|tool| (*tool, "-w -t mangle -S"));
        for (tool, list) in std::iter::once(("nft", "list tables")).chain(iptables) {
            match run(tool, &words(list), "") {
                Ok(()) => return Ok(false),
                Err(tool_error) => tried.push((tool.to_owned(), tool_error)),
            }
        }
        Err(RulesError::Unreadable(tried))
    }
}

/// Runs a tool. Returns the first line of its error output if it fails.
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
    let tool_error = String::from_utf8_lossy(&output.stderr);
    Err(tool_error.lines().find(|line| !line.trim().is_empty()).unwrap_or("failed").to_owned())
}
