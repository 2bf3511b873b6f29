//! Entries of a log that is read by ranges, and look-ups through its indexes.

use crate::reader::{Options, Reader};
use crate::segment::{is_zero, next_at, Next, Stored, Tail, TailReason};
use crate::spec::columns::Columns;
use crate::spec::entries::{Header, UP_TO_MAGIC};
use crate::spec::index::{
    read_offset_index_entry, read_time_index_entry, OffsetIndexEntry, TimeIndexEntry,
};
use crate::spec::runtime::{Error, Input, Reason};
use std::fmt;
use std::fs::File;
use std::io;

/// Bytes that are read at once, unless an entry is larger.
const WINDOW: u64 = 1 << 20;

/// Something that is read by ranges: bytes, a file, an object in remote storage.
pub trait ReadAt {
    /// Returns the number of all bytes.
    fn size(&self) -> io::Result<u64>;

    /// Fills a buffer with the bytes from a position on; all of them are within the size.
    fn fill(&self, position: u64, buffer: &mut [u8]) -> io::Result<()>;
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn size(&self) -> io::Result<u64> {
        (**self).size()
    }

    fn fill(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        (**self).fill(position, buffer)
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn fill(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let start = usize::try_from(position).ok();
        let found = start.and_then(|start| self.get(start..)?.get(..buffer.len()));
        buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> io::Result<u64> {
        self.as_slice().size()
    }

    fn fill(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.as_slice().fill(position, buffer)
    }
}

/// Except on Unix, the position of the file moves.
impl ReadAt for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    #[cfg(unix)]
    fn fill(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, buffer, position)
    }

    #[cfg(not(unix))]
    fn fill(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek};
        let mut file = self;
        file.seek(io::SeekFrom::Start(position))?;
        file.read_exact(buffer)
    }
}

/// Why something is not read by ranges.
#[derive(Debug)]
pub enum RangeError {
    /// The bytes cannot be had.
    Source(io::Error),
    /// The bytes are refused.
    Refused(Error),
}

impl From<io::Error> for RangeError {
    fn from(error: io::Error) -> Self {
        RangeError::Source(error)
    }
}

impl From<Error> for RangeError {
    fn from(error: Error) -> Self {
        RangeError::Refused(error)
    }
}

impl fmt::Display for RangeError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RangeError::Source(error) => error.fmt(to),
            RangeError::Refused(error) => error.fmt(to),
        }
    }
}

impl std::error::Error for RangeError {}

/// The entries of a log that is read by ranges, with the errors and the end that
/// [`Segment`](crate::Segment) has.
pub struct RangeReader<R> {
    log: R,
    size: u64,
    at: u64,
    has_ended: bool,
    tail: Option<Tail>,
    window: Vec<u8>,
    start: u64,
}

impl<R: ReadAt> RangeReader<R> {
    /// Returns the entries of a log from its start on.
    pub fn new(log: R) -> io::Result<Self> {
        let size = log.size()?;
        let window = Vec::new();
        Ok(RangeReader { log, size, at: 0, has_ended: false, tail: None, window, start: 0 })
    }

    /// Goes to a position, where an entry begins.
    pub fn seek(&mut self, position: u64) {
        (self.at, self.has_ended, self.tail) = (position, false, None);
    }

    /// Returns the position of the next entry.
    pub fn reached(&self) -> u64 {
        self.at
    }

    /// Returns what follows the last entry; `None` before the end, and where nothing does.
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Returns the next entry, `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<Stored<'_>>, RangeError> {
        if self.has_ended {
            return Ok(None);
        }
        let (position, left) = (self.at, self.size.saturating_sub(self.at));
        let next = next_at(self.load(position, UP_TO_MAGIC as u64)?, left);
        match next {
            Next::Entry(size) => {
                let bytes = self.load(position, size)?.len();
                self.at += size;
                let from = self.window.len() - bytes;
                let entry = &self.window[from..from + size as usize];
                Ok(Some(Stored::read(entry, position)?))
            }
            Next::End(TailReason::Corrupt) if self.is_zero_from(position)? => {
                self.end(TailReason::Zeros);
                Ok(None)
            }
            Next::End(TailReason::Corrupt) => {
                self.end(TailReason::Corrupt);
                let rest = self.load(position, UP_TO_MAGIC as u64)?;
                Ok(Some(Stored::read(rest, position)?))
            }
            Next::End(reason) => {
                self.end(reason);
                Ok(None)
            }
        }
    }

    fn end(&mut self, reason: TailReason) {
        self.has_ended = true;
        let (position, size) = (self.at, self.size.saturating_sub(self.at));
        self.tail = (size > 0).then_some(Tail { position, size, reason });
    }

    fn is_zero_from(&mut self, mut position: u64) -> io::Result<bool> {
        while position < self.size {
            let found = self.load(position, 1)?;
            if !is_zero(found) {
                return Ok(false);
            }
            position += found.len() as u64;
        }
        Ok(true)
    }

    /// Returns the bytes from a position on: so many at least, fewer only at the end of the log.
    fn load(&mut self, position: u64, least: u64) -> io::Result<&[u8]> {
        let left = self.size.saturating_sub(position);
        let skipped = position.checked_sub(self.start).unwrap_or(u64::MAX);
        let held = (self.window.len() as u64).saturating_sub(skipped);
        if held < least.min(left) {
            self.window.clear();
            self.window.resize(least.max(WINDOW).min(left) as usize, 0);
            self.start = position;
            let filled = self.log.fill(position, &mut self.window);
            if filled.is_err() {
                self.window.clear();
            }
            filled?;
        }
        let skipped = position.saturating_sub(self.start).min(self.window.len() as u64);
        Ok(&self.window[skipped as usize..])
    }
}

/// Reads the entries of an index; a part of one at the end is ignored.
pub(crate) fn whole_entries<T>(
    file: &[u8],
    read: impl Fn(&mut Input<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let (mut input, mut found) = (Input::new(file), Vec::new());
    while !input.is_at_end() {
        match read(&mut input) {
            Ok(entry) => found.push(entry),
            Err(error) if error.reason == Reason::Truncated => break,
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Removes preallocated zeros: entries end before the first one after another whose offset is that
/// of the segment.
fn without_zeros<T>(mut entries: Vec<T>, is_padding: impl Fn(&T) -> bool) -> Vec<T> {
    let rest = entries.get(1..).unwrap_or_default();
    let used = rest.iter().position(is_padding).unwrap_or(rest.len());
    entries.truncate(1 + used);
    entries
}

/// Returns the last entry that is not beyond what is asked for, by bisection.
///
/// In an index out of order that depends on the steps, which are those of our other readers.
fn last_up_to<T>(entries: &[T], is_beyond: impl Fn(&T) -> bool) -> Option<&T> {
    let (mut low, mut high) = (0, entries.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if is_beyond(&entries[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    entries[..low].last()
}

/// A segment with its indexes, for look-ups.
pub struct IndexedSegment<R> {
    log: RangeReader<R>,
    base_offset: i64,
    offsets: Vec<OffsetIndexEntry>,
    times: Vec<TimeIndexEntry>,
    reader: Reader,
}

/// A record that a look-up found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Position of its entry in the log.
    pub position: u64,
    /// Number of the record in the entry.
    pub row: usize,
    /// Offset of the record.
    pub offset: i64,
    /// Timestamp of the record.
    pub timestamp: i64,
}

impl<R: ReadAt> IndexedSegment<R> {
    /// Returns a segment.
    ///
    /// Its base offset is in the names of its files. Of the offset index and the time index these
    /// are the bytes; without any, look-ups read the log from its start.
    pub fn new(
        log: R,
        base_offset: i64,
        offset_index: &[u8],
        time_index: &[u8],
    ) -> Result<Self, RangeError> {
        let offsets =
            whole_entries(offset_index, |input| read_offset_index_entry(input, base_offset))?;
        let times = whole_entries(time_index, |input| read_time_index_entry(input, base_offset))?;
        let wanted = Columns::OFFSET | Columns::TIMESTAMP;
        Ok(IndexedSegment {
            log: RangeReader::new(log)?,
            base_offset,
            offsets: without_zeros(offsets, |entry| entry.relative_offset == 0),
            times: without_zeros(times, |entry| entry.relative_offset == 0),
            reader: Reader::new(Options { wanted, ..Options::default() }),
        })
    }

    /// Returns the entries from a position on: that of a record that was found, or 0.
    pub fn entries(&mut self, position: u64) -> &mut RangeReader<R> {
        self.log.seek(position);
        &mut self.log
    }

    /// Returns the first record with an offset, or the next one; `None` if the segment has none.
    ///
    /// A damaged entry before it is passed over, unless it may hold the offset.
    pub fn find_offset(&mut self, offset: i64) -> Result<Option<Found>, RangeError> {
        self.start_at(offset)?;
        self.find(
            |head| head.last_offset >= offset,
            |head| !head.is_batch || head.base_offset <= offset,
            |found, _| found >= offset,
        )
    }

    /// Returns the first record whose timestamp, in ms since the Unix epoch, is at least that, as a
    /// broker finds it: from the place on that the time index has; `None` if there is none.
    pub fn find_time(&mut self, timestamp: i64) -> Result<Option<Found>, RangeError> {
        let before = last_up_to(&self.times, |entry| entry.timestamp > timestamp);
        let least = self.base_offset;
        self.start_at(before.map_or(least, |entry| entry.offset().max(least)))?;
        self.find(
            |head| head.max_timestamp >= timestamp,
            |_| false,
            |_, found| found >= timestamp,
        )
    }

    /// Goes to the entry that the offset index has for an offset.
    ///
    /// It is followed if a sound entry begins there, not after its offset; else the log is read from
    /// its start, so that a wrong index hides no records. Bytes within an entry may look like the
    /// start of one: the checksum tells.
    fn start_at(&mut self, offset: i64) -> Result<(), RangeError> {
        let entry = last_up_to(&self.offsets, |entry| entry.offset() > offset);
        let mut start = 0;
        if let Some((indexed, Ok(position))) =
            entry.map(|entry| (entry.offset(), u64::try_from(entry.position)))
        {
            self.log.seek(position);
            let is_sound = match self.log.next_entry() {
                Ok(Some(found)) => {
                    let head = &found.header;
                    (!head.is_batch || head.base_offset <= indexed) && found.verify().is_ok()
                }
                Ok(None) | Err(RangeError::Refused(_)) => false,
                Err(error) => return Err(error),
            };
            start = if is_sound { position } else { 0 };
        }
        self.log.seek(start);
        Ok(())
    }

    /// Returns the first record that is wanted in an entry that reaches it.
    fn find(
        &mut self,
        reaches: impl Fn(&Header<'_>) -> bool,
        holds: impl Fn(&Header<'_>) -> bool,
        is_wanted: impl Fn(i64, i64) -> bool,
    ) -> Result<Option<Found>, RangeError> {
        let mut damage = None;
        loop {
            let position = self.log.reached();
            let stored = match self.log.next_entry() {
                Ok(Some(stored)) => stored,
                Ok(None) => return damage.map_or(Ok(None), Err),
                Err(error @ RangeError::Refused(_)) => {
                    damage = Some(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if !reaches(&stored.header) {
                continue;
            }
            if let Some(error) = damage.take().filter(|_| !holds(&stored.header)) {
                return Err(error);
            }
            let columns = self.reader.read(&stored)?.columns;
            let mut records = columns.offset.iter().zip(&columns.timestamp);
            let row = records.position(|(&offset, &timestamp)| is_wanted(offset, timestamp));
            if let Some(row) = row {
                let (offset, timestamp) = (columns.offset[row], columns.timestamp[row]);
                return Ok(Some(Found { position, row, offset, timestamp }));
            }
        }
    }
}
