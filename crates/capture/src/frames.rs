//! Reads the frames of a capture file: pcap or pcapng, plain or compressed with gzip or zstd.
//!
//! The input is a stream, so a pipe from `tcpdump -w -` works. Left out: captures inside archives, and pcapng blocks
//! for secrets, names and statistics.

use flate2::read::MultiGzDecoder;
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, EPB_MAGIC, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader};
use ruzstd::decoding::StreamingDecoder;
use std::fmt;
use std::io::{self, BufReader, Cursor, Read};

/// Initial size of the read buffer in bytes. The buffer grows for longer records.
const FIRST_ROOM: usize = 1 << 18;
/// Maximum length of an error's reason, in characters.
const LONGEST_REASON: usize = 200;
/// Longest accepted record in bytes. A longer record is treated as damage.
const LARGEST_RECORD: usize = 1 << 24;
/// Size of a pcap record's header in bytes.
const RECORD_HEADER: usize = 16;
/// Position of the captured bytes in an enhanced packet block of pcapng, and the size of the block's other fields.
const BLOCK_DATA: usize = 28;
const BLOCK_FIELDS: usize = 32;
/// Number of bytes that are read first. They are sufficient to recognize the compression and to parse all headers.
const HEAD: u64 = 4096;

/// One frame of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Number of the frame in the file, counted from 1 as in Wireshark.
    pub number: u64,
    /// Capture time in nanoseconds since the epoch of the file's clock, usually 1970.
    pub at: u64,
    /// Link type, which determines the format of the outermost header.
    pub link: Linktype,
    /// The captured bytes, up to the snap length.
    pub data: &'a [u8],
    /// Length of the frame on the network, in bytes.
    pub original_len: u32,
}

/// Number of frames read, and damage to the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FramesRead {
    /// Number of frames read.
    pub frames: u64,
    /// Number of frames that were cut to the snap length.
    pub snapped: u64,
    /// True if the file ends inside a record or is damaged. All frames before the damage were read.
    pub cut: bool,
}

impl FramesRead {
    fn count(&mut self, frame: &Frame<'_>) {
        self.frames += 1;
        self.snapped += u64::from((frame.data.len() as u64) < u64::from(frame.original_len));
    }
}

/// The reason why no frame of a capture could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError(String);

// Control characters are removed, because a hostile file must not be able to write escape sequences to the terminal.
impl ReadError {
    /// Creates an error from a reason. Removes control characters and truncates the reason to 200 characters.
    pub fn new(reason: impl fmt::Display) -> ReadError {
        let text = reason.to_string();
        ReadError(text.chars().filter(|letter| !letter.is_control()).take(LONGEST_REASON).collect())
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a readable capture: {}", self.0)
    }
}

impl std::error::Error for ReadError {}

/// Calls `each` with every frame of the capture, until `each` returns false.
///
/// # Errors
/// Returns an error if not a single frame can be read.
pub fn frames<'a>(
    input: impl Read + Send + 'a,
    mut each: impl FnMut(Frame<'_>) -> bool,
) -> Result<FramesRead, ReadError> {
    let input = decompressed(input).map_err(ReadError::new)?;
    let mut room = FIRST_ROOM;
    let mut reader = create_reader(room, input).map_err(|error| ReadError::new(reason(&error)))?;
    let mut source = Source::default();
    let mut done = FramesRead::default();
    let mut stuck = false;
    loop {
        if let Some((len, frame)) = source.plain(reader.data(), done.frames + 1) {
            done.count(&frame);
            if !each(frame) {
                return Ok(done);
            }
            reader.consume_noshift(len);
            stuck = false;
            continue;
        }
        match reader.next() {
            Ok((consumed, block)) => {
                stuck = false;
                let frame = source.take(&block, done.frames + 1);
                if let Some(frame) = frame {
                    done.count(&frame);
                    if !each(frame) {
                        return Ok(done);
                    }
                }
                // `refill` moves the unread bytes to the start of the buffer. `consume` would move them more often:
                // each time half of the buffer is consumed.
                reader.consume_noshift(consumed);
            }
            Err(PcapError::Eof) => return Ok(done),
            // Pipes and buffered readers deliver a long record in several reads.
            Err(PcapError::Incomplete(_)) if !stuck => {
                // If a refill adds no bytes, the input has ended inside a record.
                let held = reader.data().len();
                stuck = reader.refill().is_err() || reader.data().len() == held;
            }
            // With segmentation offload, a record can be longer than any packet on the network.
            Err(PcapError::BufferTooSmall) if room < LARGEST_RECORD => {
                room *= 2;
                reader.grow(room);
                stuck = reader.refill().is_err();
            }
            // A killed tcpdump or a full disk leaves a file that ends inside a record.
            Err(_) if done.frames > 0 => return Ok(FramesRead { cut: true, ..done }),
            Err(error) => return Err(ReadError::new(reason(&error))),
        }
    }
}

/// Describes an error of the parser briefly, because the parser's own message can contain the whole input.
fn reason(error: &PcapError<&[u8]>) -> String {
    match error {
        PcapError::HeaderNotRecognized => "it begins neither as pcap nor as pcapng".into(),
        PcapError::Eof => "the file is empty".into(),
        PcapError::Incomplete(_) | PcapError::UnexpectedEof => "it ends before its first packet".into(),
        PcapError::BufferTooSmall => "a record is longer than 16 MiB".into(),
        PcapError::ReadError => "the file could not be read, or its compression is damaged".into(),
        _ => "a record is damaged".into(),
    }
}

/// Returns the decompressed input. Returns the input itself if it is neither gzip nor zstd.
fn decompressed<'a>(mut input: impl Read + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
    let head = head(&mut input)?;
    let magic = head.get(..4).unwrap_or_default().to_vec();
    let whole = Cursor::new(head).chain(input);
    let mut plain: Box<dyn Read + Send + 'a> = match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(BufReader::new(whole))),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Box::new(StreamingDecoder::new(BufReader::new(whole)).map_err(|error| io::Error::other(error.to_string()))?)
        }
        _ => return Ok(Box::new(whole)),
    };
    let head = self::head(&mut plain)?;
    Ok(Box::new(Cursor::new(head).chain(plain)))
}

/// Reads the first `HEAD` bytes of an input.
fn head(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(HEAD).read_to_end(&mut head)?;
    Ok(head)
}

/// Headers of the file that are needed to interpret its records.
#[derive(Default)]
struct Source {
    /// File header of pcap.
    legacy: Option<PcapHeader>,
    /// Interfaces of the current pcapng section.
    interfaces: Vec<Interface>,
    /// True if the numbers of the file or of the current section are big-endian.
    is_big_endian: bool,
}

/// An interface description of pcapng: link type, and resolution and offset of timestamps.
struct Interface {
    link: Linktype,
    ticks_per_second: u64,
    offset_seconds: i64,
}

impl Source {
    /// Returns the length and the frame of the record at the start of `data`, if it is complete. Skips its options. The
    /// parser, which takes twice as long, reads all other records and headers.
    fn plain<'a>(&self, data: &'a [u8], number: u64) -> Option<(usize, Frame<'a>)> {
        let word = |at: usize| {
            let bytes = *data.get(at..)?.first_chunk()?;
            Some(if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
        };
        if let Some(header) = self.legacy.as_ref().filter(|header| !header.is_modified_format()) {
            let len = RECORD_HEADER.checked_add(word(8)? as usize)?;
            let at = legacy_time(header, word(0)?, word(4)?);
            let body = data.get(RECORD_HEADER..len)?;
            return Some((len, Frame { number, at, link: header.network, data: body, original_len: word(12)? }));
        }
        let (len, captured) = (word(4)? as usize, word(20)? as usize);
        let is_plain = word(0)? == EPB_MAGIC
            && len >= captured.checked_next_multiple_of(4)?.checked_add(BLOCK_FIELDS)?
            && len % 4 == 0;
        if !is_plain || word(len - 4)? as usize != len {
            return None;
        }
        let interface = self.interfaces.get(word(8)? as usize)?;
        let at = interface.time(u64::from(word(12)?) << 32 | u64::from(word(16)?));
        let body = &data[BLOCK_DATA..BLOCK_DATA + captured];
        Some((len, Frame { number, at, link: interface.link, data: body, original_len: word(24)? }))
    }

    /// Stores a header block. Returns the frame if the block is a packet.
    fn take<'a>(&mut self, block: &'a PcapBlockOwned<'_>, number: u64) -> Option<Frame<'a>> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.legacy = Some(header.clone());
                self.is_big_endian = header.is_bigendian();
                None
            }
            PcapBlockOwned::Legacy(frame) => {
                let header = self.legacy.as_ref()?;
                let at = legacy_time(header, frame.ts_sec, frame.ts_usec);
                Some(Frame { number, at, link: header.network, data: frame.data, original_len: frame.origlen })
            }
            // Interface numbers restart at 0 in each section.
            PcapBlockOwned::NG(Block::SectionHeader(section)) => {
                self.interfaces.clear();
                self.is_big_endian = section.big_endian();
                None
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                self.interfaces.push(Interface {
                    link: interface.linktype,
                    ticks_per_second: interface.ts_resolution().unwrap_or(1_000_000),
                    offset_seconds: interface.ts_offset(),
                });
                None
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(frame)) => {
                let interface = self.interfaces.get(frame.if_id as usize)?;
                let ticks = (u64::from(frame.ts_high) << 32) | u64::from(frame.ts_low);
                let at = interface.time(ticks);
                Some(Frame { number, at, link: interface.link, data: frame.packet_data(), original_len: frame.origlen })
            }
            PcapBlockOwned::NG(_) => None,
        }
    }
}

/// Returns the time of a pcap record in nanoseconds, from the record's seconds and their fraction.
fn legacy_time(header: &PcapHeader, seconds: u32, fraction: u32) -> u64 {
    let nanos = u64::from(fraction) * if header.is_nanosecond_precision() { 1 } else { 1_000 };
    u64::from(seconds) * 1_000_000_000 + nanos
}

impl Interface {
    /// Converts a timestamp of the interface to nanoseconds.
    fn time(&self, ticks: u64) -> u64 {
        // Most files count microseconds or nanoseconds, and need no division.
        if self.offset_seconds == 0 && matches!(self.ticks_per_second, 1_000_000 | 1_000_000_000) {
            return ticks.saturating_mul(1_000_000_000 / self.ticks_per_second);
        }
        // Use 128 bits, because the resolution and the offset come from the file and may have any value.
        let nanos = i128::from(ticks) * 1_000_000_000 / i128::from(self.ticks_per_second.max(1));
        let nanos = nanos + i128::from(self.offset_seconds) * 1_000_000_000;
        nanos.clamp(0, i128::from(u64::MAX)) as u64
    }
}
