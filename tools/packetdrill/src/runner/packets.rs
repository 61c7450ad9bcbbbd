//! Injects the arriving packets of a script, and compares the packets that the connection sends with the script.

use super::{Emitted, IRS, ISS, LOCAL, REMOTE, Runner, Step, TS_OFFSET, instant, micros};
use crate::script::{ACK, Event, FIN, Options, PSH, Packet, RST, SYN, When};
use lopsided_core::packet::{
    AccEcnOption, AccEcnOrder, Flags, SackBlock, SackBlocks, TcpHeader, TcpOptions, Timestamps,
};
use lopsided_core::{Duration, Ecn, Payload, Seq};
use lopsided_tcp::{Connection, State};

impl Runner {
    pub(super) fn inject(&mut self, packet: &Packet, text: &str) {
        self.note(&format!("<- {}", text.trim_start_matches('<').trim()));
        let syn = packet.flags & SYN != 0;
        let opens = syn && packet.flags & ACK == 0;
        let ended = self.connection.as_ref().is_none_or(|connection| opens && connection.is_finished());
        if self.server && !self.closed && ended {
            self.connection = Some(Connection::listen(self.config()));
            self.apply_options();
        }
        if syn && self.connection.as_ref().is_some_and(|c| matches!(c.state(), State::Listen | State::SynSent)) {
            self.irs_script = packet.start;
        }
        let sequence = |number: i64| Seq::new(IRS.wrapping_add((number - self.irs_script) as u32));
        // After the SYN, the script's sequence numbers are relative to the peer's initial sequence number.
        let seq = if syn { sequence(packet.start) } else { Seq::new(IRS.wrapping_add(packet.start as u32)) };
        let given = packet.options.clone().unwrap_or_default();
        let mut sack = SackBlocks::default();
        for &(start, end) in &given.sack {
            sack.push(SackBlock {
                start: Seq::new(ISS.wrapping_add(start as u32)),
                end: Seq::new(ISS.wrapping_add(end as u32)),
            });
        }
        let timestamps = given.ts.map(|(value, echo)| Timestamps { value, echo: self.live_echo(echo) });
        let header = TcpHeader {
            src_port: REMOTE.port,
            dst_port: LOCAL.port,
            seq,
            ack: Seq::new(ISS.wrapping_add(packet.ack.unwrap_or(0) as u32)),
            flags: Flags(packet.flags),
            window: packet.win.unwrap_or(0) as u16,
            options: TcpOptions::default()
                .with_mss(given.mss)
                .with_window_scale(given.wscale)
                .with_sack_permitted(given.sack_ok)
                .with_timestamps(timestamps)
                .with_sack(sack)
                .with_accurate_ecn(given.ecn.as_ref().map(|list| accurate(list))),
        };
        let ecn = match packet.ecn.as_deref() {
            Some("ect0") => Ecn::Ect0,
            Some("ect1") => Ecn::Ect1,
            Some("ce") => Ecn::Ce,
            _ => Ecn::NotEct,
        };
        let alive = self.connection.as_ref().is_some_and(|connection| !connection.is_finished());
        if alive {
            let connection = self.connection.as_mut().expect("the connection is open");
            if std::mem::take(&mut self.more) && !self.corked {
                connection.set_cork(false);
            }
            connection.handle_segment(self.now, &header, &Payload::virtual_len(packet.len), ecn);
            if packet.flags & FIN != 0 {
                self.peer_closed = true;
            }
        } else if packet.flags & RST == 0 {
            self.refuse(&header, packet.len);
        }
        self.collect();
    }

    /// Sends the reset that a host without a matching socket sends in response to a packet.
    pub(super) fn refuse(&mut self, to: &TcpHeader, len: u32) {
        let Some(segment) = lopsided_tcp::refuse(to, len) else { return };
        self.queue.push_back(Emitted { at: self.now, header: segment.header, len: 0, ecn: segment.ecn });
    }

    pub(super) fn live_echo(&self, echo: u32) -> u32 {
        if echo == 0 {
            return 0;
        }
        if let Some(live) = self.ts_seen.get(&echo) {
            return *live;
        }
        self.ts_base.map_or(echo, |(script, live)| live.wrapping_add(echo.wrapping_sub(script)))
    }

    pub(super) fn expect(
        &mut self,
        event: &Event,
        packet: &Packet,
        start: i64,
        end: Option<i64>,
        previous: Option<i64>,
    ) -> Step {
        let expected = event.text.trim_start_matches('>').trim().to_owned();
        let mut left = packet.len;
        let mut at = packet.start;
        let mut first = true;
        let mut loose = false;
        loop {
            let limit = instant(end.unwrap_or(start).max(start)) + Duration::from_secs(200);
            while self.queue.is_empty() {
                let Some(due) = self.next_timer().filter(|due| *due <= limit) else {
                    let state = self.connection.as_ref().map_or("no connection".into(), |connection| {
                        let info = connection.info(self.now);
                        format!(
                            "{}, {}, cwnd {}, in flight {}",
                            connection.state().name(),
                            info.ca_state.name(),
                            info.snd_cwnd.get(),
                            info.in_flight.get()
                        )
                    });
                    return Err((expected, format!("nothing sent ({state})")));
                };
                self.fire(due);
            }
            let sent = self.queue.pop_front().expect("a packet was sent");
            let seen = self.describe(&sent);
            self.now = self.now.max(sent.at);
            let got = |why: &str| (expected.clone(), format!("{why}: {seen}"));
            // Linux passes several segments to the interface as one packet. Here, consecutive segments must end at the
            // same sequence number.
            let flags = sent.header.flags.0;
            let last = sent.len >= left;
            let want =
                if last { packet.flags } else { packet.flags & !(FIN | PSH | 0x80) | (packet.flags & flags & 0x80) };
            if (flags ^ want) & !PSH != 0 {
                return Err(got("flags"));
            }
            if last && (flags ^ packet.flags) & PSH != 0 {
                let count = if packet.len == 0 && flags & FIN != 0 {
                    &mut self.out.psh_on_bare_fin
                } else if !first {
                    &mut self.out.psh_on_merged
                } else {
                    &mut self.out.psh_elsewhere
                };
                *count += 1;
                if first {
                    self.note(&format!("line {}: PSH differs: {seen}", event.line));
                }
            }
            let syn = flags & SYN != 0;
            let seq = i64::from(sent.header.seq.get().wrapping_sub(ISS) as i32);
            if seq != at {
                return Err(got("sequence number"));
            }
            if sent.len > left || (sent.len == 0 && left > 0) {
                return Err(got("length"));
            }
            let has_ack = flags & ACK != 0;
            let mut ack = i64::from(sent.header.ack.get().wrapping_sub(IRS) as i32);
            if syn {
                // In a script, the sequence number of a SYN is absolute.
                ack += self.irs_script;
            }
            if has_ack && packet.ack.is_some_and(|want| want != ack) {
                return Err(got("acknowledgement"));
            }
            if packet.win.is_some_and(|win| win != u32::from(sent.header.window)) {
                return Err(got("window"));
            }
            if let Some(want) = &packet.options {
                self.compare_options(want, &sent, syn).map_err(|why| got(&why))?;
            }
            match packet.ecn.as_deref() {
                Some("ect0") if sent.ecn != Ecn::Ect0 => return Err(got("ECN field")),
                Some("ect1") if sent.ecn != Ecn::Ect1 => return Err(got("ECN field")),
                Some("ce") if sent.ecn != Ecn::Ce => return Err(got("ECN field")),
                Some("noecn") if sent.ecn != Ecn::NotEct => return Err(got("ECN field")),
                Some("ect01") if sent.ecn == Ecn::NotEct => return Err(got("ECN field")),
                _ => {}
            }
            if !matches!(event.when, When::Any) {
                // packetdrill's tolerance: 4 ms, or 12.5 % of the time since the last event.
                let tolerance = previous.map_or(self.tolerance, |last| self.tolerance.max((start - last) / 8));
                let (from, to) = (start, end.unwrap_or(start));
                let at = micros(sent.at);
                if at < from - tolerance || at > to + tolerance {
                    let when = |micros: i64| format!("{:.4}", micros as f64 / 1e6);
                    let want = if from == to { when(from) } else { format!("{}~{}", when(from), when(to)) };
                    return Err(got(&format!("time {} for {want}", when(at))));
                }
                loose |= at < from - self.tolerance || at > to + self.tolerance;
            }
            if let (Some((value, _)), Some(live)) =
                (packet.options.as_ref().and_then(|options| options.ts), &sent.header.options.timestamps)
            {
                self.ts_seen.insert(value, live.value);
                self.ts_base.get_or_insert((value, live.value));
            }
            self.out.merged += u32::from(first && !last);
            first = false;
            left -= sent.len;
            at += i64::from(sent.len);
            if left == 0 {
                break;
            }
        }
        self.out.loose_times += u32::from(loose);
        self.out.packets_checked += 1;
        Ok(())
    }

    pub(super) fn compare_options(&self, want: &Options, sent: &Emitted, syn: bool) -> Result<(), String> {
        let have = &sent.header.options;
        let near = |number: Seq| i64::from(number.get().wrapping_sub(IRS) as i32);
        if syn && want.mss != have.mss() {
            return Err(format!("MSS {:?}", have.mss()));
        }
        if syn && want.wscale != have.window_scale() {
            return Err(format!("window scale {:?}", have.window_scale()));
        }
        if syn && want.sack_ok != have.sack_permitted() {
            return Err(format!("SACK-permitted {}", have.sack_permitted()));
        }
        let blocks: Vec<(i64, i64)> =
            have.sack_on_wire().iter().map(|block| (near(block.start), near(block.end))).collect();
        if want.sack != blocks {
            return Err(format!("SACK {blocks:?}"));
        }
        match (want.ts, have.timestamps) {
            (None, None) => {}
            (Some((value, echo)), Some(live)) => {
                if let Some((script, base)) = self.ts_base.filter(|_| self.ts_tick > 0) {
                    let differs = live.value.wrapping_sub(base).wrapping_sub(value.wrapping_sub(script)) as i32;
                    let tolerance = self.tolerance.max(micros(sent.at) / 8);
                    if i64::from(differs.abs()) * self.ts_tick > tolerance {
                        return Err(format!("timestamp differs by {differs}"));
                    }
                }
                if live.echo != echo {
                    return Err(format!("timestamp echo {}", live.echo));
                }
            }
            (_, live) => return Err(format!("timestamps {live:?}")),
        }
        let counters = have.accurate_ecn().map(names);
        if want.ecn != counters {
            return Err(format!("accurate ECN {counters:?}"));
        }
        Ok(())
    }

    pub(super) fn describe(&self, sent: &Emitted) -> String {
        let header = &sent.header;
        let seq = header.seq.get().wrapping_sub(ISS) as i32 as i64;
        let mut text = format!(
            "{:.4} {:?} {seq}:{}({})",
            sent.at.as_secs_f64(),
            header.flags,
            seq + i64::from(sent.len),
            sent.len
        );
        if header.flags.has(Flags::ACK) {
            text += &format!(" ack {}", header.ack.get().wrapping_sub(IRS) as i32);
        }
        text += &format!(" win {}", header.window);
        let options = &header.options;
        let mut list = Vec::new();
        if let Some(mss) = options.mss() {
            list.push(format!("mss {mss}"));
        }
        if options.sack_permitted() {
            list.push("sackOK".into());
        }
        if let Some(stamps) = options.timestamps {
            list.push(format!("TS val {} ecr {}", stamps.value.wrapping_sub(TS_OFFSET), stamps.echo));
        }
        if let Some(scale) = options.window_scale() {
            list.push(format!("wscale {scale}"));
        }
        if let Some(counters) = options.accurate_ecn() {
            let words: Vec<String> = names(counters).iter().map(|(name, count)| format!("{name} {count}")).collect();
            list.push(format!("ECN {}", words.join(" ")));
        }
        if !options.sack().is_empty() {
            let near = |number: Seq| number.get().wrapping_sub(IRS) as i32;
            let blocks: Vec<String> = options
                .sack_on_wire()
                .iter()
                .map(|block| format!("{}:{}", near(block.start), near(block.end)))
                .collect();
            list.push(format!("sack {}", blocks.join(" ")));
        }
        if !list.is_empty() {
            text += &format!(" <{}>", list.join(","));
        }
        if sent.ecn != Ecn::NotEct {
            text += &format!(" [{:?}]", sent.ecn);
        }
        text
    }
}

fn accurate(list: &[(String, u32)]) -> AccEcnOption {
    let order = if list.first().is_some_and(|(name, _)| name == "e1b") {
        AccEcnOrder::Ect1First
    } else {
        AccEcnOrder::Ect0First
    };
    let counters: Vec<u32> = list.iter().map(|(_, count)| *count).collect();
    AccEcnOption::new(order, &counters)
}

fn names(option: &AccEcnOption) -> Vec<(String, u32)> {
    let order = if option.order == AccEcnOrder::Ect1First { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
    order.iter().zip(option.counters()).map(|(name, count)| ((*name).to_owned(), *count)).collect()
}
