//! Parses packetdrill scripts. Supports the part of the language that the suite's TCP scripts use.

/// The time of an event, in microseconds of script time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    Any,
    Absolute(i64),
    Relative(i64),
    AbsoluteRange(i64, i64),
    RelativeRange(i64, i64),
}

#[derive(Clone, Debug)]
pub struct Event {
    pub line: usize,
    pub when: When,
    /// The time at which a blocking system call returns.
    pub until: Option<i64>,
    pub text: String,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Packet(Packet),
    Call(Call),
    Command(String),
    Code(String),
}

#[derive(Clone, Debug, Default)]
pub struct Packet {
    pub inbound: bool,
    pub ecn: Option<String>,
    /// The flags of the TCP header.
    pub flags: u16,
    pub start: i64,
    pub end: i64,
    pub len: u32,
    pub ack: Option<i64>,
    pub win: Option<u32>,
    /// TCP options; `None` for `<...>`, which means that options are not compared.
    pub options: Option<Options>,
    /// The MTU of an ICMP message "fragmentation needed" for the segment that begins at `start`.
    pub too_big: Option<u64>,
    /// Name of an unsupported feature: another ICMP message, encapsulation, urgent data.
    pub foreign: Option<String>,
    /// Name of an option that the connection does not support (fast open, MD5). Arriving segments are injected without
    /// this option.
    pub unknown_option: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub mss: Option<u16>,
    pub sack_ok: bool,
    pub wscale: Option<u8>,
    pub ts: Option<(u32, u32)>,
    pub sack: Vec<(i64, i64)>,
    /// Names and counters of the accurate ECN option, in the order of their fields.
    pub ecn: Option<Vec<(String, u32)>>,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub name: String,
    pub args: Vec<String>,
    pub result: i64,
    pub errno: String,
}

#[derive(Debug, Default)]
pub struct Script {
    pub options: Vec<(String, String)>,
    pub events: Vec<Event>,
    /// All shell text before the first event with a time.
    pub setup: String,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn line(&self) -> usize {
        1 + self.text[..self.at].iter().filter(|byte| **byte == b'\n').count()
    }

    fn starts(&self, what: &str) -> bool {
        self.text[self.at..].starts_with(what.as_bytes())
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn skip_blank(&mut self) {
        loop {
            while self.at < self.text.len() && self.peek().is_ascii_whitespace() {
                self.at += 1;
            }
            if self.starts("//") || self.starts("#") {
                while self.at < self.text.len() && self.peek() != b'\n' {
                    self.at += 1;
                }
            } else if self.starts("/*") {
                while self.at < self.text.len() && !self.starts("*/") {
                    self.at += 1;
                }
                self.at += 2;
            } else {
                return;
            }
        }
    }

    fn until(&mut self, end: &str) -> String {
        let from = self.at;
        while self.at < self.text.len() && !self.starts(end) {
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.text[from..self.at]).into_owned();
        self.at = (self.at + end.len()).min(self.text.len());
        text
    }

    /// Returns the rest of the line without its comment.
    fn rest_of_line(&mut self) -> String {
        let line = self.until("\n");
        let end = line.find("//").unwrap_or(line.len());
        line[..end].trim().to_owned()
    }

    /// Reads a number of seconds, and returns it in microseconds.
    fn number(&mut self) -> Option<i64> {
        let from = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.peek() == b'.' && self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            while self.peek().is_ascii_digit() {
                self.at += 1;
            }
        }
        let text = std::str::from_utf8(&self.text[from..self.at]).ok()?;
        let seconds: f64 = if text.starts_with('.') { format!("0{text}") } else { text.to_owned() }.parse().ok()?;
        Some((seconds * 1e6).round() as i64)
    }

    fn spaces(&mut self) {
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
    }
}

pub fn parse(text: &str) -> Result<Script, String> {
    let mut scan = Scanner { text: text.as_bytes(), at: 0 };
    let mut script = Script::default();
    loop {
        scan.skip_blank();
        if scan.at >= scan.text.len() {
            return Ok(script);
        }
        let line = scan.line();
        let failed = |what: &str| format!("line {line}: {what}");
        if scan.starts("--") {
            let word = scan.rest_of_line();
            for word in word.split_whitespace() {
                let (name, value) = {
                    let word = word.trim_start_matches('-');
                    word.split_once('=').unwrap_or((word, ""))
                };
                script.options.push((name.to_owned(), value.to_owned()));
            }
            continue;
        }
        if scan.peek() == b'`' {
            scan.at += 1;
            let command = scan.until("`");
            if script.events.is_empty() {
                script.setup += &command;
                script.setup.push('\n');
            } else {
                let kind = Kind::Command(command.clone());
                script.events.push(Event { line, when: When::Relative(0), until: None, text: command, kind });
            }
            continue;
        }
        // The time of the event.
        let mut until = None;
        let when = if scan.peek() == b'*' {
            scan.at += 1;
            When::Any
        } else {
            let relative = scan.peek() == b'+';
            if relative {
                scan.at += 1;
            }
            let start = scan.number().ok_or_else(|| failed("no time"))?;
            scan.spaces();
            if scan.starts("...") {
                scan.at += 3;
                scan.spaces();
                until = Some(scan.number().ok_or_else(|| failed("no end time"))?);
                if relative { When::Relative(start) } else { When::Absolute(start) }
            } else if scan.peek() == b'~' {
                scan.at += 1;
                scan.spaces();
                if scan.peek() == b'+' {
                    scan.at += 1;
                }
                let end = scan.number().ok_or_else(|| failed("no range end"))?;
                if relative { When::RelativeRange(start, end) } else { When::AbsoluteRange(start, end) }
            } else if relative {
                When::Relative(start)
            } else {
                When::Absolute(start)
            }
        };
        scan.skip_blank();
        let (kind, text) = if scan.peek() == b'`' {
            scan.at += 1;
            let command = scan.until("`");
            (Kind::Command(command.clone()), command)
        } else if scan.starts("%{") {
            scan.at += 2;
            let code = scan.until("}%");
            (Kind::Code(code.clone()), code)
        } else if matches!(scan.peek(), b'<' | b'>') {
            let text = scan.rest_of_line();
            (Kind::Packet(packet(&text).map_err(|why| failed(&why))?), text)
        } else {
            let (call, text) = call(&mut scan).map_err(|why| failed(&why))?;
            (Kind::Call(call), text)
        };
        script.events.push(Event { line, when, until, text, kind });
    }
}

fn call(scan: &mut Scanner<'_>) -> Result<(Call, String), String> {
    let from = scan.at;
    let name = scan.until("(");
    let mut args = vec![String::new()];
    let mut depth = 0;
    loop {
        let byte = scan.peek();
        if scan.at >= scan.text.len() {
            return Err("a call without end".into());
        }
        scan.at += 1;
        match byte {
            b'(' | b'{' | b'[' => depth += 1,
            b')' if depth == 0 => break,
            b')' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                args.push(String::new());
                continue;
            }
            _ => {}
        }
        args.last_mut().expect("there is at least one argument").push(byte as char);
    }
    scan.skip_blank();
    if scan.peek() != b'=' {
        return Err(format!("no result of {name}"));
    }
    scan.at += 1;
    let rest = scan.rest_of_line();
    let mut words = rest.split_whitespace();
    let result = words.next().unwrap_or("0");
    let result = match result.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).unwrap_or(0),
        None => result.parse().map_err(|_| format!("result {result:?}"))?,
    };
    let errno = words.next().unwrap_or("").split('(').next().unwrap_or("").to_owned();
    let text = String::from_utf8_lossy(&scan.text[from..scan.at]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let args = args.into_iter().map(|arg| arg.trim().to_owned()).collect();
    Ok((Call { name: name.trim().to_owned(), args, result, errno }, text))
}

pub const FIN: u16 = 0x01;
pub const SYN: u16 = 0x02;
pub const RST: u16 = 0x04;
pub const PSH: u16 = 0x08;
pub const ACK: u16 = 0x10;

fn packet(text: &str) -> Result<Packet, String> {
    let mut packet = Packet { inbound: text.starts_with('<'), options: Some(Options::default()), ..Packet::default() };
    let body = text[1..].trim();
    let (head, options) = match body.find('<') {
        Some(at) => (&body[..at], Some(body[at + 1..].trim_end_matches(['>', ' ']))),
        None => (body, None),
    };
    let mut words = head.split_whitespace().peekable();
    if let Some(word) = words.next_if(|word| word.starts_with('[')) {
        packet.ecn = Some(word.trim_matches(['[', ']']).to_owned());
    }
    let flags = words.next().ok_or("no flags")?;
    if ["icmp", "encap", "udp", "sctp", "ipv4", "gre"].contains(&flags) {
        let words: Vec<&str> = words.collect();
        if let ["unreachable", "frag_needed", "mtu", mtu] = words.as_slice() {
            // The quoted segment, `[1:1461(1460)]`, was read as an ECN field above.
            let quoted = packet.ecn.take().unwrap_or_default();
            packet.start = quoted.split(':').next().and_then(|start| start.parse().ok()).unwrap_or(0);
            packet.too_big = mtu.parse().ok();
            return Ok(packet);
        }
        packet.foreign = Some(flags.to_owned());
        return Ok(packet);
    }
    for letter in flags.chars() {
        packet.flags |= match letter {
            'F' => FIN,
            'S' => SYN,
            'R' => RST,
            'P' => PSH,
            '.' => ACK,
            'U' => {
                packet.foreign = Some("urgent data".into());
                0
            }
            'E' => 0x40,
            'W' => 0x80,
            'A' => 0x100,
            // AE, CWR and ECE as a number of three bits (RFC 9768).
            '0'..='7' => (letter as u16 - '0' as u16) << 6,
            '-' => 0,
            other => return Err(format!("flag {other:?} in {text:?}")),
        };
    }
    let sequence = words.next().ok_or("no sequence numbers")?;
    let (start, rest) = sequence.split_once(':').ok_or_else(|| format!("sequence {sequence:?}"))?;
    let (end, len) = rest.split_once('(').ok_or_else(|| format!("sequence {sequence:?}"))?;
    packet.start = start.parse().map_err(|_| format!("sequence {sequence:?}"))?;
    packet.end = end.parse().map_err(|_| format!("sequence {sequence:?}"))?;
    packet.len = len.trim_end_matches(')').parse().map_err(|_| format!("length {sequence:?}"))?;
    while let Some(word) = words.next() {
        let mut value = || words.next().and_then(|value| value.parse::<i64>().ok());
        match word {
            "ack" => packet.ack = value(),
            "win" => packet.win = value().map(|window| window as u32),
            "urg" => packet.foreign = Some("urgent data".into()),
            other => return Err(format!("{other:?} in {text:?}")),
        }
    }
    match options.map(str::trim) {
        None => {}
        Some("...") => packet.options = None,
        Some(list) => {
            let mut parsed = Options::default();
            for option in list.split(',').map(str::trim) {
                let words: Vec<&str> = option.split_whitespace().collect();
                match words.as_slice() {
                    ["mss", value] => match value.parse() {
                        Ok(value) => parsed.mss = Some(value),
                        Err(_) => packet.foreign = Some(format!("symbol {value}")),
                    },
                    ["nop"] | ["eol"] | [] => {}
                    ["sackOK"] => parsed.sack_ok = true,
                    ["wscale", value] => parsed.wscale = value.parse().ok(),
                    ["TS", "val", value, "ecr", echo] => match (value.parse(), echo.parse()) {
                        (Ok(value), Ok(echo)) => parsed.ts = Some((value, echo)),
                        _ => packet.foreign = Some(format!("timestamps {option:?}")),
                    },
                    ["sack", blocks @ ..] => {
                        for block in blocks {
                            let (start, end) = block.split_once(':').ok_or_else(|| format!("sack {block:?}"))?;
                            parsed.sack.push((
                                start.parse().map_err(|_| format!("sack {block:?}"))?,
                                end.parse().map_err(|_| format!("sack {block:?}"))?,
                            ));
                        }
                    }
                    ["ECN", pairs @ ..] => {
                        let pairs = pairs.chunks(2).filter(|pair| pair.len() == 2);
                        parsed.ecn =
                            Some(pairs.map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap_or(0))).collect());
                    }
                    _ => packet.unknown_option = Some(format!("option {option:?}")),
                }
            }
            packet.options = Some(parsed);
        }
    }
    Ok(packet)
}
