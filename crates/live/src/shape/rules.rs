//! The kernel's rules that hand packets to a queue: by nftables in a table of its own, or by iptables where that
//! cannot. Either way a rule lets packets pass where nobody listens at the queue, and it can be found again by what it
//! is for.
//!
//! | for | hands over | queues |
//! |---|---|---|
//! | `shape` | what leaves by an interface, and where the discipline looks at it, what comes in there | 21,000 + |
//! | `reflect` | sensing packets of anybody | 20,999 |
//! | our TCP | what comes in for some ports of an address | 62,000 + |

use lopsided_queue::SENSING_PROTOCOL;
use nix::net::if_::if_nametoindex;
use std::fmt;
use std::io::Write;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};

/// Queues of ours are numbered from here by the interface's number.
const FIRST_QUEUE: u16 = 21_000;
const QUEUES: u32 = 40_000;
const REFLECTOR_QUEUE: u16 = 20_999;
/// Those of ports, by the first of them.
const FIRST_PORT_QUEUE: u16 = 62_000;
const PORT_QUEUES: u16 = 3000;

/// What packets that we send ourselves are marked with inside of the kernel, so that no rule hands them to us again.
pub const OWN_MARK: u32 = 0x6c6f_7073;

/// Which packets of an interface's way in a discipline looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayIn {
    /// None.
    Nothing,
    /// Sensing packets that come home.
    Sensing,
    /// All of them.
    All,
}

/// One rule: where packets are looked at, and which are meant.
#[derive(Clone, Debug)]
struct Rule {
    /// A hook as nftables calls it; iptables has it in capital letters.
    hook: &'static str,
    nft: String,
    iptables: Vec<String>,
    /// The versions of IP that it is for.
    v4: bool,
    v6: bool,
}

/// Checks that this can be the name of an interface, as Linux's `dev_valid_name` does. Names with quotes or
/// backslashes, which Linux allows, are refused too: they would end a word of a rule or of a unit.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn check_interface(name: &str) -> Result<(), String> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || "/:\"'\\".contains(c);
    if name.is_empty() || name.len() > 15 || name == "." || name == ".." || name.contains(bad) {
        return Err(format!("{name:?} cannot be the name of a network interface; `ip link` lists them"));
    }
    Ok(())
}

/// The rules of one purpose, which go to one queue.
#[derive(Clone, Debug)]
pub struct Rules {
    queue: u16,
    rules: Vec<Rule>,
}

/// Why the rules could not be set.
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

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl Rules {
    /// What leaves by an interface, and what of its way in is to be seen.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn of(interface: &str, way_in: WayIn) -> Result<Rules, RulesError> {
        let missing = |_| RulesError::NoInterface(interface.to_owned());
        let number = if_nametoindex(interface).map_err(missing)?;
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

    /// Sensing packets on their way through this machine or to it, of one interface or of all.
    ///
    /// # Errors
    /// If there is no such interface.
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

    /// TCP that arrives for these ports of an own address.
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

    pub fn queue(&self) -> u16 {
        self.queue
    }

    fn table(&self) -> String {
        format!("lopsided_{}", self.queue)
    }

    /// What nftables is told.
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

    /// What iptables is told: a rule, which `-A` adds and `-D` takes away.
    fn rule(&self, action: &str, rule: &Rule) -> Vec<String> {
        let mut told = words(&format!("-w -t mangle {action} {}", rule.hook.to_uppercase()));
        told.extend(rule.iptables.iter().cloned());
        told.extend(words(&format!("-j NFQUEUE --queue-num {} --queue-bypass", self.queue)));
        told
    }

    /// Sets the rules. Those that are there from before are replaced.
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
        for tools in IPTABLES {
            match self.add_by(tools) {
                Ok(()) => return Ok(()),
                Err((tool, said)) => {
                    // What it had set already.
                    self.remove()?;
                    tried.push((tool.to_owned(), said));
                }
            }
        }
        Err(RulesError::Refused(tried))
    }

    fn add_by(&self, [v4, v6]: [&'static str; 2]) -> Result<(), (&'static str, String)> {
        for rule in &self.rules {
            let told = self.rule("-A", rule);
            if rule.v4 {
                run(v4, &told, "").map_err(|said| (v4, said))?;
            }
            if rule.v6 {
                let done = run(v6, &told, "");
                // A machine without IPv6 has nothing to do there.
                if !rule.v4 {
                    done.map_err(|said| (v6, said))?;
                }
            }
        }
        Ok(())
    }

    /// Takes away every rule that was set for the purpose.
    ///
    /// # Errors
    /// Never today: what cannot be taken away is not there.
    pub fn remove(&self) -> Result<(), RulesError> {
        let table = self.table();
        let _ = run("nft", &["delete", "table", "inet", &table].map(str::to_owned), "");
        for tool in IPTABLES.iter().flatten() {
            for rule in &self.rules {
                // One of an earlier run may stand beside it.
                for _ in 0..8 {
                    if run(tool, &self.rule("-D", rule), "").is_err() {
                        break;
                    }
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
