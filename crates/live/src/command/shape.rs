//! The command `lopsided-live shape`: its arguments, dry run, systemd unit and undo.

use super::service::{Unit, Wishes, in_unit_name};
use super::{USAGE, complain, say, summary};
use crate::shape::rules::{Rules, WayIn, check_interface};
use crate::shape::{ShapeError, Shaped, Shaping, shape};
use lexopt::prelude::*;
use std::ffi::OsString;

const HELP: &str = "\
Put a queue of lopsided's on the way out of a network interface.

Usage: lopsided-live shape IFACE --up RATE [OPTIONS]
       lopsided-live shape IFACE --undo

  lopsided-live shape eth0 --up 9500k --queue fq_codel --ack-filter
  lopsided-live shape eth0 --up 9500k --queue asqm          # and `reflect` behind the line
  lopsided-live shape eth0 --up 9500k --queue cake --systemd > /etc/systemd/system/lopsided-eth0.service

  --up RATE            of the line behind the interface, a little below what it really has
  --queue QUEUE        a discipline such as fq_codel, a limit such as '100 packets', or a table as in a scenario [fq_codel]
  --ack-filter         ACKs that later ones replace do not go out
  --acks-first         ACKs go before everything else
  --framing KIND       how the line counts octets, such as ethernet or pppoe-llcsnap [none]
  --seed NUMBER        of what the discipline draws at random [1]
  --dry-run            say what would be done, and do nothing
  --systemd            print a unit for systemd
  --undo               take away the rule, where a killed process left it
  --quiet              no summary at the end

It works until it is ended (Ctrl-C, SIGTERM), and then takes its rules away. Where it is killed, traffic flows past it.
asqm and bdp send packets of their own to sense the line; `lopsided-live reflect` on a machine behind it returns them.
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
    if found.shaping.interface.is_empty() {
        return Err("which interface? `shape eth0 --up 10M`".into());
    }
    check_interface(&found.shaping.interface)?;
    if found.shaping.up.is_empty() && !found.wishes.undo {
        return Err("--up is missing: the rate of the line, such as 10M".into());
    }
    Ok(found)
}

pub(super) fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let found = match read(arguments.clone()) {
        Ok(found) => found,
        Err(error) => return complain(format!("{error}\n`lopsided-live shape --help` lists the options"), USAGE),
    };
    match carry_out(&found, &arguments) {
        Ok(code) => code,
        Err(ShapeError::Scenario(errors)) => {
            eprintln!("{errors}");
            USAGE
        }
        Err(error @ (ShapeError::Usage(_) | ShapeError::Build(_))) => complain(error, USAGE),
        Err(error) => complain(error, 1),
    }
}

fn carry_out(found: &Arguments, arguments: &[OsString]) -> Result<u8, ShapeError> {
    if found.wishes.help {
        return Ok(say(HELP));
    }
    if found.wishes.undo {
        // The rules of an interface have the same names and queue number for every discipline, so `WayIn::Nothing`
        // removes them all.
        Rules::of(&found.shaping.interface, WayIn::Nothing)
            .and_then(|rules| rules.remove())
            .map_err(ShapeError::Rules)?;
        return Ok(0);
    }
    let scenario = found.shaping.scenario()?;
    // Report an invalid setting now, not when systemd starts the unit.
    found.shaping.way_in()?;
    if found.wishes.systemd {
        return Ok(say(&unit(&found.shaping.interface, arguments)));
    }
    let rules = found.shaping.rules()?;
    if found.wishes.dry_run {
        let line = format!("{:?}", scenario.graph.links[0].up.queue.kind());
        return Ok(say(&format!(
            "queue {line} at {} on the way out of {}, by these rules, or the same of iptables:\n\n{}",
            found.shaping.up,
            found.shaping.interface,
            rules.nftables()
        )));
    }
    let Shaped { result, pumped, sensed } = shape(&found.shaping, found.seed)?;
    if !found.wishes.quiet {
        eprint!("{}", summary::of_line(&result, &pumped));
        if let Some((sent, home)) = sensed {
            eprintln!("{sent} sensing packets sent, {home} came home");
        }
    }
    Ok(0)
}

fn unit(interface: &str, arguments: &[OsString]) -> String {
    let device = format!("sys-subsystem-net-devices-{}.device", in_unit_name(interface));
    let unit = Unit {
        description: &format!("lopsided on the way out of {interface}"),
        dependencies: &format!("BindsTo={device}\nAfter={device} network-pre.target\n"),
        command: "shape",
        undo: &[interface.to_owned()],
        capabilities: "CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_NICE",
    };
    unit.text(arguments)
}
