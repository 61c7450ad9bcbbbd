//! The text of HTTP requests and responses.

use std::fmt::Write;
use std::ops::Range;

/// A request for an object of `size` bytes, or for a range of this object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub size: u64,
    pub range: Option<Range<u64>>,
}

impl Request {
    /// Returns the requested range of bytes.
    pub fn octets(&self) -> Range<u64> {
        self.range.clone().unwrap_or(0..self.size)
    }

    /// Returns the text of the request. A text shorter than `wanted` bytes is padded.
    pub fn text(&self, wanted: u64) -> Vec<u8> {
        let mut text = format!("GET /{} HTTP/1.1\r\nHost: server\r\n", self.size);
        if let Some(range) = &self.range {
            let _ = write!(text, "Range: bytes={}-{}\r\n", range.start, range.end.saturating_sub(1));
        }
        // After the padding, the text still needs an empty line of 2 bytes. The padding is a header line: its name, the
        // `x` characters, and a line end of 2 bytes.
        const FILLING: &str = "X-Fill: ";
        let missing = (wanted as usize).saturating_sub(text.len() + 2);
        if let Some(filling) = missing.checked_sub(FILLING.len() + 2) {
            let _ = write!(text, "{FILLING}{}\r\n", "x".repeat(filling));
        }
        text.push_str("\r\n");
        text.into_bytes()
    }

    /// Parses a request. Returns the request with its length in bytes, or `Ok(None)` if the request is incomplete.
    pub fn parse(input: &[u8]) -> Result<Option<(Request, usize)>, BadMessage> {
        let mut fields = [httparse::EMPTY_HEADER; 32];
        let mut parsed = httparse::Request::new(&mut fields);
        let httparse::Status::Complete(len) = parsed.parse(input).map_err(|_| BadMessage)? else {
            return Ok(None);
        };
        // The path is the size of the object.
        let size = parsed.path.and_then(|path| path.strip_prefix('/')).and_then(|size| size.parse().ok());
        let size: u64 = size.ok_or(BadMessage)?;
        let range = match field(parsed.headers, "range") {
            None => None,
            Some(value) => Some(parse_range(value, size).ok_or(BadMessage)?),
        };
        Ok(Some((Request { size, range }, len)))
    }
}

fn parse_range(value: &str, size: u64) -> Option<Range<u64>> {
    parse_bounds(value.strip_prefix("bytes=")?, size)
}

fn parse_bounds(value: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = value.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < size).then_some(first..last + 1)
}

/// Returns the header of the response to `request`.
pub(crate) fn response_text(request: &Request) -> Vec<u8> {
    let octets = request.octets();
    let len = octets.end - octets.start;
    match &request.range {
        None => format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n"),
        Some(range) => format!(
            "HTTP/1.1 206 Partial Content\r\nContent-Length: {len}\r\nContent-Range: bytes {}-{}/{}\r\n\r\n",
            range.start,
            range.end - 1,
            request.size
        ),
    }
    .into_bytes()
}

/// The response to a malformed request.
pub(super) const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";

/// The header of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Length of the body in bytes.
    pub body: u64,
    /// The range of the object that the body contains; `None` if the body is the whole object.
    pub range: Option<Range<u64>>,
    /// Length of the header in bytes.
    pub len: usize,
}

/// Parses a response header at the front of `input`. Returns `Ok(None)` if the header is incomplete.
pub(crate) fn parse_response(input: &[u8]) -> Result<Option<Head>, BadMessage> {
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut parsed = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(len) = parsed.parse(input).map_err(|_| BadMessage)? else {
        return Ok(None);
    };
    let body = field(parsed.headers, "content-length").and_then(|value| value.parse().ok()).ok_or(BadMessage)?;
    let range = match parsed.code {
        Some(200) => None,
        Some(206) => Some(field(parsed.headers, "content-range").and_then(parse_content_range).ok_or(BadMessage)?),
        _ => return Err(BadMessage),
    };
    Ok(Some(Head { body, range, len }))
}

fn parse_content_range(value: &str) -> Option<Range<u64>> {
    let (range, size) = value.strip_prefix("bytes ")?.split_once('/')?;
    parse_bounds(range, size.parse().ok()?)
}

fn field<'a>(fields: &[httparse::Header<'a>], name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(found.value).ok().map(str::trim)
}

/// Error: the input is not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadMessage;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_configured_size_and_parses_to_the_same_request() {
        let whole = Request { size: 10_000, range: None };
        let part = Request { size: 10_000, range: Some(500..1000) };
        for request in [whole, part] {
            let text = request.text(500);
            assert_eq!(text.len(), 500);
            assert_eq!(Request::parse(&text), Ok(Some((request.clone(), 500))));
            assert_eq!(Request::parse(&text[..499]), Ok(None), "not whole");
            assert!(request.text(0).len() > 20, "at least the length of its text");
        }
    }

    #[test]
    fn a_response_states_the_size_of_its_body() {
        let head = response_text(&Request { size: 10, range: Some(3..7) });
        assert_eq!(parse_response(&head), Ok(Some(Head { body: 4, range: Some(3..7), len: head.len() })));
        assert_eq!(parse_response(&head[..10]), Ok(None));
        assert_eq!(parse_response(BAD_REQUEST), Err(BadMessage));
    }

    #[test]
    fn malformed_messages_are_rejected() {
        for text in [
            &b"\0\x01\x02\r\n\r\n"[..],
            b"GET /abc HTTP/1.1\r\n\r\n",
            b"GET /10 HTTP/1.1\r\nRange: bytes=5-2\r\n\r\n",
            b"GET /10 HTTP/1.1\r\nRange: bytes=0-10\r\n\r\n",
            b"GET /99999999999999999999999 HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(Request::parse(text), Err(BadMessage), "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(parse_response(b"HTTP/1.1 200 OK\r\n\r\n"), Err(BadMessage), "no length");
        let parted = b"HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\n\r\n";
        assert_eq!(parse_response(parted), Err(BadMessage), "the range is missing");
    }
}
