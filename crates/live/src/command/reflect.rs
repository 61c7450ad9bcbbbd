//! The command `lopsided-live reflect`: its arguments, dry run, systemd unit and undo.

use super::service::{Unit, Wishes};
use super::{complain, mistaken, say};
use crate::reflect::{MOST, ReflectError, Reflection, reflect};
use crate::shape::rules::{Rules, check_interface};
use lexopt::prelude::*;
use std::ffi::OsString;

const HELP: &str = "\
Return the sensing packets of asqm and bdp. Run this at the far end of a line whose near end runs `shape`.

Usage: lopsided-live reflect [OPTIONS]

  lopsided-live reflect --sender 198.51.100.0/24
  lopsided-live reflect --interface eth1 --systemd > /etc/systemd/system/lopsided-reflect.service

  --interface IFACE    return only packets that arrive at this interface [any]
  --sender ADDRESS     return only packets from these addresses, such as 192.0.2.0/24; may be repeated [any]
  --most NUMBER        maximum number of packets returned per second [10000]
  --dry-run            print the rules, and change nothing
  --systemd            print a unit for systemd
  --undo               remove the rule that a killed process left behind
  --quiet              print no summary at the end

Each sensing packet causes one reply of the same size, to its source address. All other packets pass.
It runs until Ctrl-C or SIGTERM. It needs root, the kernel's NFQUEUE, and nft or iptables.
";

#[derive(Debug)]
struct Arguments {
    reflection: Reflection,
    wishes: Wishes,
}

fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, lexopt::Error> {
    let reflection = Reflection { interface: None, from: Vec::new(), most: MOST };
    let mut found = Arguments { reflection, wishes: Wishes::default() };
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        if found.wishes.take(&argument) {
            continue;
        }
        match argument {
            Long("interface") => {
                let name = parser.value()?.string()?;
                check_interface(&name)?;
                found.reflection.interface = Some(name);
            }
            Long("sender") => {
                let text = parser.value()?.string()?;
                found.reflection.from.push(text.parse().map_err(|error| format!("--sender {error}"))?);
            }
            Long("most") => found.reflection.most = parser.value()?.parse()?,
            other => return Err(other.unexpected()),
        }
    }
    found.wishes.check()?;
    if found.reflection.most == 0 {
        return Err("--most 0: no packet would be returned; the minimum is 1".into());
    }
    Ok(found)
}

pub(super) fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let found = match read(arguments.clone()) {
        Ok(found) => found,
        Err(error) => return mistaken("reflect", &error),
    };
    carry_out(&found, &arguments).unwrap_or_else(|error| complain(error, 1))
}

fn carry_out(found: &Arguments, arguments: &[OsString]) -> Result<u8, ReflectError> {
    if found.wishes.help {
        return Ok(say(HELP));
    }
    if found.wishes.systemd {
        return Ok(say(&unit(arguments)));
    }
    let rules = Rules::of_sensing(found.reflection.interface.as_deref()).map_err(ReflectError::Rules)?;
    if found.wishes.undo {
        // This also removes the rule of a process that was killed. The queue number of the rule depends only on the
        // rule's purpose.
        let removed = rules.undo().map_err(ReflectError::Rules)?;
        return Ok(found.wishes.say_undone("reflect", removed));
    }
    if found.wishes.dry_run {
        let Reflection { from, most, .. } = &found.reflection;
        let from = from.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let from = if from.is_empty() { from } else { format!(" from {from}") };
        return Ok(say(&format!(
            "This rule, or the equivalent rule of iptables, would return sensing packets{from} to their senders, at most {most} per second:\n\n{}",
            rules.nftables()
        )));
    }
    let reflected = reflect(&found.reflection)?;
    if !found.wishes.quiet {
        eprintln!(
            "{} packets returned, {} passed on, {} dropped",
            reflected.returned, reflected.passed, reflected.dropped
        );
    }
    Ok(0)
}

fn unit(arguments: &[OsString]) -> String {
    let own = arguments.iter().map(|word| word.to_string_lossy().into_owned()).filter(|word| word != "--systemd");
    let unit = Unit {
        description: "lopsided returns sensing packets",
        dependencies: "After=network-pre.target\n",
        command: "reflect",
        undo: &own.collect::<Vec<String>>(),
        capabilities: "CAP_NET_ADMIN CAP_NET_RAW",
    };
    unit.text(arguments)
}
