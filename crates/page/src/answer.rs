//! The format of answers to the page: one block of memory with a JSON head, followed by columns of numbers.
//!
//! ```text
//! u32, little endian   length of the head in bytes
//! head                 JSON, padded with spaces so that the columns start at a multiple of 8
//! columns              each at a multiple of 8: f32 or f64, little endian
//! ```
//!
//! In the head, `columns` lists `[width, offset, length]` of each column: 4 or 8 bytes per number, the offset in bytes
//! from the first column, and the count of numbers.

use crate::json::Json;

/// A finished block in the format of this module.
///
/// # Examples
///
/// ```
/// let answer = lopsided_page::catalogue();
/// assert!(answer.head().starts_with('{'));
/// assert_eq!(answer.bytes().len() % 8, 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer(Vec<u8>);

impl Answer {
    /// Returns the whole block.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the JSON of the head.
    ///
    /// # Panics
    /// Never panics, because every answer has a head.
    pub fn head(&self) -> &str {
        let length = u32::from_le_bytes(self.0[..4].try_into().expect("four bytes")) as usize;
        std::str::from_utf8(&self.0[4..4 + length]).expect("the head is JSON").trim_end()
    }

    /// Creates an answer without columns.
    pub(crate) fn of(head: Json) -> Answer {
        Answer::packed(head.into_string(), &[])
    }

    /// Creates an answer from bytes in another format, such as a capture file.
    pub(crate) fn raw(bytes: Vec<u8>) -> Answer {
        Answer(bytes)
    }

    fn packed(mut head: String, data: &[u8]) -> Answer {
        // The page reads the columns as typed arrays, which must be aligned.
        while (4 + head.len()) % 8 > 0 {
            head.push(' ');
        }
        let mut bytes = Vec::with_capacity(4 + head.len() + data.len());
        bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(data);
        Answer(bytes)
    }
}

/// Collects columns. The head refers to each column by its index.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    places: Vec<Json>,
    data: Vec<u8>,
}

impl Columns {
    /// Adds a column of 4-byte numbers and returns its index.
    pub fn narrow(&mut self, values: impl IntoIterator<Item = f64>) -> Json {
        let before = self.data.len();
        values.into_iter().for_each(|value| self.data.extend_from_slice(&(value as f32).to_le_bytes()));
        self.place(4, before)
    }

    /// Adds a column of 8-byte numbers, such as times, and returns its index.
    pub fn wide(&mut self, values: impl IntoIterator<Item = f64>) -> Json {
        let before = self.data.len();
        values.into_iter().for_each(|value| self.data.extend_from_slice(&value.to_le_bytes()));
        self.place(8, before)
    }

    fn place(&mut self, width: usize, offset: usize) -> Json {
        let length = (self.data.len() - offset) / width;
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.places.push(Json::list([width, offset, length].map(|number| Json::whole(number as u64))));
        Json::whole(self.places.len() as u64 - 1)
    }

    pub fn into_answer<'k>(self, head: impl IntoIterator<Item = (&'k str, Json)>) -> Answer {
        let head = Json::object(head.into_iter().chain([("columns", Json::list(self.places))]));
        Answer::packed(head.into_string(), &self.data)
    }
}
