//! The records of entries in columns.

use crate::compression::{Decompressor, Refusal};
use crate::segment::{verify, Stored};
use crate::spec::columns::{Columns, Span, ABSENT};
use crate::spec::entries::{header, Header, MAGICS, UP_TO_MAGIC};
use crate::spec::recordbatch::{compression_type, read_entry};
use crate::spec::runtime::{Error, Input, Reason};
use crate::transactions::ControlRecord;

/// How records are read.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The columns that are filled, of [`Columns`]; those that [`Records::iter`] shows by default.
    pub wanted: u64,
    /// Most bytes that a payload may decompress to: 256 MiB by default.
    pub max_output: usize,
    /// Whether checksums are verified.
    pub checksums: bool,
}

impl Default for Options {
    fn default() -> Self {
        let wanted = Columns::OFFSET
            | Columns::TIMESTAMP
            | Columns::KEY
            | Columns::VALUE
            | Columns::HEADERS;
        Options { wanted, max_output: 256 << 20, checksums: true }
    }
}

/// Reads the records of entries, and keeps the memory that it needs from one to the next.
pub struct Reader {
    options: Options,
    columns: Columns,
    payload: Vec<u8>,
    decompressor: Decompressor,
}

/// The records of an entry in columns, and the buffer that they lie in.
#[derive(Clone, Copy, Debug)]
pub struct Records<'r> {
    /// The columns; spans are places in the buffer.
    pub columns: &'r Columns,
    /// The bytes of the entry, or its payload after decompression.
    pub buffer: &'r [u8],
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record<'r> {
    /// Offset in the log.
    pub offset: i64,
    /// Milliseconds since the Unix epoch, -1 for none.
    pub timestamp: i64,
    /// Key, or null.
    pub key: Option<&'r [u8]>,
    /// Value, or null.
    pub value: Option<&'r [u8]>,
    /// Headers in order: keys, and values or null.
    pub headers: Vec<(&'r [u8], Option<&'r [u8]>)>,
}

impl<'r> Records<'r> {
    /// Returns the records; what their columns lack has no value.
    pub fn iter(&self) -> impl Iterator<Item = Record<'r>> + 'r {
        let (columns, buffer) = (self.columns, self.buffer);
        let number = |column: &[i64], row: usize| column.get(row).copied().unwrap_or(ABSENT);
        let bytes = move |column: &[Span], row: usize| column.get(row)?.get(buffer);
        (0..columns.rows()).map(move |row| Record {
            offset: number(&columns.offset, row),
            timestamp: number(&columns.timestamp, row),
            key: bytes(&columns.key, row),
            value: bytes(&columns.value, row),
            headers: columns
                .headers_of(row)
                .map(|item| {
                    let key = bytes(&columns.headers_key, item).unwrap_or_default();
                    (key, bytes(&columns.headers_value, item))
                })
                .collect(),
        })
    }
}

impl Reader {
    /// Returns a reader.
    pub fn new(options: Options) -> Self {
        Reader {
            options,
            columns: Columns::new(options.wanted),
            payload: Vec::new(),
            decompressor: Decompressor::new(),
        }
    }

    /// Reads all records of an entry, control records included.
    pub fn read<'r>(&'r mut self, stored: &Stored<'r>) -> Result<Records<'r>, Error> {
        self.columns.clear();
        if self.options.checksums {
            stored.verify()?;
        }
        let head = &stored.header;
        if head.is_batch && head.num_records == Some(0) {
            return Ok(Records { columns: &self.columns, buffer: stored.bytes });
        }
        if head.compression == compression_type::NONE {
            self.plain(stored)?;
            return Ok(Records { columns: &self.columns, buffer: stored.bytes });
        }
        self.decompress(stored)?;
        if head.is_batch {
            let mut input = Input::new(&self.payload).complete();
            self.columns
                .read_records(&self.payload, &mut input, &stored.entry)
                .map_err(|error| decompressed(stored, error))?;
        } else {
            self.wrapped(stored)?;
        }
        Ok(Records { columns: &self.columns, buffer: &self.payload })
    }

    /// Reads the control records of an entry; there are none without the control attribute.
    ///
    /// The columns of offsets, keys and values have to be wanted, as they are by default.
    pub fn control_records<'r>(
        &'r mut self,
        stored: &Stored<'r>,
    ) -> Result<Vec<ControlRecord<'r>>, Error> {
        if !stored.header.is_control {
            return Ok(Vec::new());
        }
        let records = self.read(stored)?.iter();
        let placed = |error: Error| {
            error.inside(stored.header.payload_place.0).at(stored.payload_position())
        };
        records.map(|record| ControlRecord::read(&record).map_err(placed)).collect()
    }

    fn plain(&mut self, stored: &Stored<'_>) -> Result<(), Error> {
        if !stored.header.is_batch {
            self.columns.push_message(stored.bytes, &stored.entry);
            return Ok(());
        }
        let payload = stored.header.payload.unwrap_or_default();
        let mut input = Input::at(payload, stored.payload_position()).complete();
        self.columns
            .read_records(stored.bytes, &mut input, &stored.entry)
            .map_err(|error| error.inside(stored.header.payload_place.0))
    }

    fn decompress(&mut self, stored: &Stored<'_>) -> Result<(), Error> {
        let head = &stored.header;
        let Some(payload) = head.payload else {
            let detail = "a compressed message without a value";
            return Err(about(stored, Reason::NullWrapperValue, detail));
        };
        let (first, last) = head.known;
        if !(first..=last).contains(&head.compression) {
            let detail = format!("compression {} is not one of magic {}", head.compression, head.magic);
            return Err(about(stored, Reason::UnsupportedCompression, detail));
        }
        self.decompressor
            .decompress(head.compression, head.magic, payload, &mut self.payload, self.options.max_output)
            .map_err(|Refusal { reason, detail }| about(stored, reason, detail))
    }

    /// Reads the messages in a wrapper, whose payload is decompressed.
    fn wrapped(&mut self, stored: &Stored<'_>) -> Result<(), Error> {
        let Reader { options, columns, payload, .. } = self;
        let head = &stored.header;
        let newest = newest_message();
        let (mut position, mut last) = (0, 0);
        let mut refused = None;
        while position < payload.len() {
            let magic_at = position + UP_TO_MAGIC - 1;
            let stated = payload.get(magic_at).copied();
            let known = stated.is_none_or(is_message);
            if !known {
                payload[magic_at] = newest; // any unknown magic has the layout of the newest
            }
            let mut input = Input::at(&payload[position..], position as u64);
            let found = read_entry(&mut input);
            let stop = position + input.position();
            let inner = found.map(|entry| {
                let found = Inner::of(&header(&entry));
                if found.compression == compression_type::NONE {
                    columns.push_message(payload, &entry);
                }
                found
            });
            if let (false, Some(stated)) = (known, stated) {
                payload[magic_at] = stated;
            }
            let inner = match inner {
                Ok(inner) => inner,
                Err(error) if error.reason == Reason::Truncated => break, // dropped, as by Kafka
                Err(error) => {
                    columns.clear();
                    return Err(decompressed(stored, error));
                }
            };
            if head.log_append_time && known && inner.has_timestamps {
                if let Some(time) = columns.timestamps_mut().last_mut() {
                    *time = head.max_timestamp;
                }
            }
            if refused.is_none() {
                refused = refusal(stored, &inner, &payload[position..stop], position, options);
            }
            last = inner.offset;
            position = stop;
            if refused.is_some() {
                columns.clear(); // they are not shown, and need no memory
            }
        }
        if position == 0 {
            let detail = "a compressed message that holds no message";
            return Err(about(stored, Reason::EmptyWrapper, detail));
        }
        let shifted = shift(stored, last);
        match (shifted, refused) {
            (Ok(by), None) => {
                for offset in columns.offsets_mut() {
                    *offset = offset.wrapping_add(by);
                }
                Ok(())
            }
            (Err(error), _) | (Ok(_), Some(error)) => {
                columns.clear();
                Err(error)
            }
        }
    }
}

/// What matters of a message in a wrapper.
struct Inner {
    offset: i64,
    compression: i64,
    has_timestamps: bool,
    checksum: crate::spec::entries::Checksum,
}

impl Inner {
    fn of(head: &Header<'_>) -> Self {
        Inner {
            offset: head.base_offset,
            compression: head.compression,
            has_timestamps: head.has_timestamps,
            checksum: head.checksum,
        }
    }
}

/// Returns why a wrapper may not hold a message.
fn refusal(
    stored: &Stored<'_>,
    inner: &Inner,
    bytes: &[u8],
    position: usize,
    options: &Options,
) -> Option<Error> {
    if inner.compression != compression_type::NONE {
        let detail = "a compressed message inside a compressed message";
        let mut error = about(stored, Reason::NestedCompression, detail);
        error.inner_position = Some(position as u64);
        return Some(error);
    }
    let wrong = options.checksums.then(|| verify(bytes, &inner.checksum, position as u64));
    wrong?.err().map(|error| decompressed(stored, error))
}

/// Returns the number to add to the offsets of the messages in a wrapper.
fn shift(stored: &Stored<'_>, last: i64) -> Result<i64, Error> {
    let head = &stored.header;
    if !head.has_timestamps || head.base_offset == 0 {
        return Ok(0);
    }
    if head.base_offset < last {
        let detail = format!("the wrapper has offset {}, its last message {last}", head.base_offset);
        return Err(about(stored, Reason::WrapperOffset, detail));
    }
    Ok(head.base_offset.wrapping_sub(last))
}

fn is_message(magic: u8) -> bool {
    MAGICS.iter().any(|&(known, batch)| !batch && known == i64::from(magic as i8))
}

fn newest_message() -> u8 {
    MAGICS.iter().rev().find(|(_, batch)| !batch).map_or(0, |&(magic, _)| magic as u8)
}

/// Returns an error about the payload of an entry as a whole.
fn about(stored: &Stored<'_>, reason: Reason, detail: impl Into<String>) -> Error {
    Error::new(reason, detail, stored.payload_position(), &stored.header.payload_place)
}

/// Returns an error about decompressed bytes.
fn decompressed(stored: &Stored<'_>, error: Error) -> Error {
    let inner = Some(error.position);
    let mut error = error.inside(stored.header.payload_place.0).at(stored.payload_position());
    error.inner_position = inner;
    error
}
