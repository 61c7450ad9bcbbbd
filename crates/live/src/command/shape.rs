//! The command `lopsided-live shape`: its arguments, dry run, systemd unit and undo.

use super::service::{Unit, Wishes, in_unit_name};
use super::{USAGE, complain, mistaken, say, summary};
use crate::shape::rules::{Rules, WayIn, check_interface};
use crate::shape::{self, ShapeError, Shaped, Shaping};
use lexopt::prelude::*;
use std::ffi::OsString;

const HELP: &str = "\
Apply a queue discipline of lopsided to the packets that leave a network interface.

Usage: lopsided-live shape IFACE --up RATE [OPTIONS]
       lopsided-live shape IFACE --undo

  lopsided-live shape eth0 --up 9500k --queue fq_codel --ack-filter
  lopsided-live shape eth0 --up 9500k --queue asqm          # and `reflect` behind the line
  lopsided-live shape eth0 --up 9500k --queue cake --systemd > /etc/systemd/system/lopsided-eth0.service

  --up RATE            rate of the shaper, slightly below the rate of the line behind the interface
  --queue QUEUE        a discipline such as fq_codel, a limit such as '100 packets', or a table as in a scenario [fq_codel]
  --ack-filter         drop ACKs that later ACKs make redundant
  --acks-first         send ACKs before all other packets
  --framing KIND       the line's overhead per packet, such as ethernet or pppoe-llcsnap [none]
  --seed NUMBER        seed of the discipline's random numbers [1]
  --dry-run            print the rules, and change nothing
  --systemd            print a unit for systemd
  --undo               remove the rule that a killed process left behind; settings of the queue have no effect
  --quiet              print no summary at the end

It runs until Ctrl-C or SIGTERM, and then removes its rules. If it is killed, packets pass without the queue discipline.
asqm and bdp send sensing packets over the line; `lopsided-live reflect` on a machine behind the line returns them.
It needs root, the kernel's NFQUEUE, and nft or iptables.
";

#[derive(Debug, Default)]
struct Arguments {
    shaping: Shaping,
    seed: u64,
    wishes: Wishes,
}

fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, lexopt::Error> {
    let mut found = Arguments { seed: 1, ..Arguments::default() };
    found.shaping.queue = "fq_codel".to_owned();
    let mut parser = lexopt::Parser::from_args(arguments);
    while let Some(argument) = parser.next()? {
        if found.wishes.take(&argument) {
            continue;
        }
        match argument {
            Long("up") => found.shaping.up = parser.value()?.string()?,
            Long("queue") => found.shaping.queue = parser.value()?.string()?,
            Long("framing") => found.shaping.framing = Some(parser.value()?.string()?),
            Long("ack-filter") => found.shaping.ack_filter = true,
            Long("acks-first") => found.shaping.acks_first = true,
            Long("seed") => found.seed = parser.value()?.parse()?,
            Value(interface) if found.shaping.interface.is_empty() => found.shaping.interface = interface.string()?,
            other => return Err(other.unexpected()),
        }
    }
    // The help is printed even if required arguments are missing.
    if found.wishes.help {
        return Ok(found);
    }
    found.wishes.check()?;
    if found.shaping.interface.is_empty() {
        return Err("the interface is missing, such as `shape eth0 --up 10M`".into());
    }
    check_interface(&found.shaping.interface)?;
    if found.shaping.up.is_empty() && !found.wishes.undo {
        return Err("--up is missing: the rate of the line, such as 10M".into());
    }
    Ok(found)
}

/// Carries out the command, and returns its exit code. Prints `note` if the settings are valid, before packets are
/// diverted.
pub fn shape(arguments: impl IntoIterator<Item = OsString>, note: Option<&str>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let found = match read(arguments.clone()) {
        Ok(found) => found,
        Err(error) => return mistaken("shape", &error),
    };
    match carry_out(&found, &arguments, note) {
        Ok(code) => code,
        Err(ShapeError::Scenario(errors)) => {
            eprintln!("{errors}");
            USAGE
        }
        Err(error @ (ShapeError::Usage(_) | ShapeError::Build(_))) => complain(error, USAGE),
        Err(error) => complain(error, 1),
    }
}

fn carry_out(found: &Arguments, arguments: &[OsString], note: Option<&str>) -> Result<u8, ShapeError> {
    if found.wishes.help {
        return Ok(say(HELP));
    }
    if found.wishes.undo {
        // For every discipline, the rules of an interface have the same names and queue number. `WayIn::Nothing`
        // therefore removes all of them.
        let removed = Rules::of(&found.shaping.interface, WayIn::Nothing)
            .and_then(|rules| rules.undo())
            .map_err(ShapeError::Rules)?;
        return Ok(found.wishes.say_undone(&format!("shape {}", found.shaping.interface), removed));
    }
    found.shaping.scenario()?;
    // Report an invalid setting now, not when systemd starts the unit.
    found.shaping.way_in()?;
    if found.wishes.systemd {
        return Ok(say(&unit(&found.shaping.interface, arguments)));
    }
    let rules = found.shaping.rules()?;
    if let Some(note) = note {
        eprintln!("{note}");
    }
    if found.wishes.dry_run {
        let Shaping { interface, up, queue, ack_filter, acks_first, framing } = &found.shaping;
        let with = [
            ack_filter.then(|| "an ACK filter".to_owned()),
            acks_first.then(|| "ACKs first".to_owned()),
            framing.as_ref().map(|framing| format!("framing {framing}")),
        ];
        let with = with.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let with = if with.is_empty() { with } else { format!(" with {with},") };
        return Ok(say(&format!(
            "Queue {queue}{with} at {up} would be applied to packets that leave {interface}, with these rules or those of iptables:\n\n{}",
            rules.nftables()
        )));
    }
    let Shaped { result, pumped, sensed } = shape::shape(&found.shaping, found.seed)?;
    if !found.wishes.quiet {
        eprint!("{}", summary::of_line(&result, &pumped));
        if let Some((sent, home)) = sensed {
            eprintln!("{sent} sensing packets sent, {home} returned");
        }
    }
    Ok(0)
}

fn unit(interface: &str, arguments: &[OsString]) -> String {
    let device = format!("sys-subsystem-net-devices-{}.device", in_unit_name(interface));
    let unit = Unit {
        description: &format!("queue discipline of lopsided for packets that leave {interface}"),
        dependencies: &format!("BindsTo={device}\nAfter={device} network-pre.target\n"),
        command: "shape",
        undo: &[interface.to_owned()],
        capabilities: "CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_NICE",
    };
    unit.text(arguments)
}
