//! The entries of a log in order, and its end, as Kafka's reader of files finds them.

use crate::checksum;
use crate::spec::entries::{
    header, stored_size, Checksum, ChecksumFunction, Header, FRAMING, LEAST_MESSAGE, UP_TO_MAGIC,
};
use crate::spec::recordbatch::{read_entry, Entry};
use crate::spec::runtime::{Error, Input};

/// Why bytes at the end of a log are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailReason {
    /// Fewer bytes than reach up to a magic.
    Short,
    /// An entry that reaches beyond the end.
    Torn,
    /// Zeros, as in a file that was preallocated.
    Zeros,
    /// A size that no entry can have, so that nothing after it can be found.
    Corrupt,
}

/// Bytes at the end of a log that are no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Position of the first of them.
    pub position: u64,
    /// Their number.
    pub size: u64,
    /// What they are.
    pub reason: TailReason,
}

/// An entry of a log: a batch of records, or an old message.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    /// Position of the entry in the log.
    pub position: u64,
    /// The bytes of the entry.
    pub bytes: &'a [u8],
    /// The entry by the specification.
    pub entry: Entry<'a>,
    /// What readers ask of it.
    pub header: Header<'a>,
}

impl<'a> Stored<'a> {
    /// Reads the entry at the beginning of some bytes, which lie at a position of a log.
    pub fn read(bytes: &'a [u8], position: u64) -> Result<Self, Error> {
        let mut input = Input::at(bytes, position);
        let entry = read_entry(&mut input)?;
        let header = header(&entry);
        Ok(Stored { position, bytes: &bytes[..input.position()], entry, header })
    }

    /// Verifies the checksum.
    pub fn verify(&self) -> Result<(), Error> {
        verify(self.bytes, &self.header.checksum, self.position)
    }

    /// Returns the position of the payload in the log, that of the entry where there is none.
    pub fn payload_position(&self) -> u64 {
        let Some(payload) = self.header.payload else { return self.position };
        let before = (payload.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        self.position + before as u64
    }
}

/// Verifies the checksum of an entry at a position.
pub(crate) fn verify(entry: &[u8], expected: &Checksum, position: u64) -> Result<(), Error> {
    let covered = entry.get(expected.start..).unwrap_or_default();
    let computed = match expected.function {
        ChecksumFunction::Crc32 => checksum::crc32(covered),
        ChecksumFunction::Crc32c => checksum::crc32c(covered),
    };
    if computed == expected.stored {
        return Ok(());
    }
    let at = position + expected.position as u64;
    Err(Error::mismatch(at, expected.stored, computed, &expected.place))
}

/// What begins at a place of a log.
pub(crate) enum Next {
    /// An entry of so many bytes.
    Entry(u64),
    /// The end; zeros are not told here from other sizes that no entry can have.
    End(TailReason),
}

/// Returns what begins where some bytes do.
///
/// They may be fewer than the `left` bytes up to the end of the log, but not fewer than up to a
/// magic.
pub(crate) fn next_at(bytes: &[u8], left: u64) -> Next {
    let size = match stored_size(bytes) {
        Some(size) if left >= UP_TO_MAGIC as u64 => size,
        _ => return Next::End(TailReason::Short),
    };
    if size < LEAST_MESSAGE {
        return Next::End(TailReason::Corrupt);
    }
    if size as u64 > left - FRAMING as u64 {
        return Next::End(TailReason::Torn);
    }
    Next::Entry(FRAMING as u64 + size as u64)
}

pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// The entries of a log.
///
/// After the error of an entry whose size is sound, the entries after it follow. The log ends
/// without an error before an entry that is cut, and before zeros; [`Segment::tail`] tells which.
#[derive(Clone, Debug)]
pub struct Segment<'a> {
    bytes: &'a [u8],
    at: usize,
    origin: u64,
    tail: Option<Tail>,
}

impl<'a> Segment<'a> {
    /// Returns the entries in some bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Segment::at(bytes, 0)
    }

    /// Returns the entries in a part of a log that begins at a position.
    pub fn at(bytes: &'a [u8], origin: u64) -> Self {
        Segment { bytes, at: 0, origin, tail: None }
    }

    /// Returns what follows the last entry; `None` before the end, and where nothing does.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Returns the position of the next entry.
    pub fn reached(&self) -> u64 {
        self.origin + self.at as u64
    }

    fn end(&mut self, reason: TailReason) {
        let size = (self.bytes.len() - self.at) as u64;
        if size > 0 {
            self.tail = Some(Tail { position: self.reached(), size, reason });
        }
        self.bytes = &self.bytes[..self.at];
    }
}

impl<'a> Iterator for Segment<'a> {
    type Item = Result<Stored<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.bytes[self.at..];
        let position = self.reached();
        match next_at(rest, rest.len() as u64) {
            Next::Entry(size) => {
                let size = size as usize;
                self.at += size;
                Some(Stored::read(&rest[..size], position))
            }
            Next::End(TailReason::Corrupt) if !is_zero(rest) => {
                self.end(TailReason::Corrupt);
                Some(Stored::read(rest, position))
            }
            Next::End(TailReason::Corrupt) => {
                self.end(TailReason::Zeros);
                None
            }
            Next::End(reason) => {
                self.end(reason);
                None
            }
        }
    }
}
