//! Entries and indexes as Kafka's producers and brokers write them.

use crate::compression::compress;
use crate::reader::Record;
use crate::segment::Stored;
use crate::spec::entries::{has_timestamps, header, MAGICS};
use crate::spec::index::{
    write_offset_index, write_time_index, OffsetIndex, OffsetIndexEntry, TimeIndex, TimeIndexEntry,
};
use crate::spec::recordbatch::{
    self, compression_type, write_entry, write_record_set, BatchAttributes, Entry,
    LegacyAttributes, LegacyMessage, Message, RecordBatch, RecordSet,
};
use crate::spec::runtime::{Error, Place, Reason};

/// No timestamp, producer, epoch or sequence number.
pub const NONE: i64 = -1;

/// How a batch is written.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// One of [`compression_type`].
    pub compression: i64,
    /// Epoch of the leader that appends it.
    pub leader_epoch: i64,
    /// Id of an idempotent or transactional producer.
    pub producer_id: i64,
    /// Epoch of the producer.
    pub producer_epoch: i64,
    /// Sequence number of the first record.
    pub base_sequence: i64,
    /// The records belong to a transaction.
    pub is_transactional: bool,
    /// They are control records.
    pub is_control: bool,
}

/// A batch without a producer, not compressed.
impl Default for BatchOptions {
    fn default() -> Self {
        BatchOptions {
            compression: compression_type::NONE,
            leader_epoch: NONE,
            producer_id: NONE,
            producer_epoch: NONE,
            base_sequence: NONE,
            is_transactional: false,
            is_control: false,
        }
    }
}

fn refused(detail: impl Into<String>) -> Error {
    Error::new(Reason::Unencodable, detail, 0, &Place("", ""))
}

fn fits<T: TryFrom<i64>>(what: &str, number: i64) -> Result<T, Error> {
    T::try_from(number).map_err(|_| refused(format!("there is no room for {what} {number}")))
}

/// Returns the first and the last record; offsets have to ascend.
fn ends<'a, 'r>(records: &'a [Record<'r>]) -> Result<(&'a Record<'r>, &'a Record<'r>), Error> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return Err(refused("there is no record"));
    };
    if first.offset < 0 {
        return Err(refused(format!("offset {} is negative", first.offset)));
    }
    for pair in records.windows(2) {
        if pair[1].offset <= pair[0].offset {
            let detail = format!("offset {} does not ascend from {}", pair[1].offset, pair[0].offset);
            return Err(refused(detail));
        }
    }
    Ok((first, last))
}

fn compressed(compression: i64, magic: i64, payload: Vec<u8>) -> Result<Vec<u8>, Error> {
    if compression == compression_type::NONE {
        return Ok(payload);
    }
    compress(compression, magic, &payload).map_err(|refusal| refused(refusal.detail))
}

/// Adds an entry, or leaves the bytes as they are.
fn add(to: &mut Vec<u8>, entry: &Entry<'_>) -> Result<(), Error> {
    let head = header(entry);
    if !(head.known.0..=head.known.1).contains(&head.compression) {
        let detail = format!("an entry of this magic cannot have compression {}", head.compression);
        return Err(refused(detail));
    }
    let before = to.len();
    let written = write_entry(to, entry);
    if written.is_err() {
        to.truncate(before);
    }
    written
}

/// Adds records as one batch of magic 2, as Kafka's producers and brokers write it.
///
/// Offsets ascend; the first is the base of the batch. After an error nothing was added.
pub fn write_batch(
    to: &mut Vec<u8>,
    records: &[Record<'_>],
    options: &BatchOptions,
) -> Result<(), Error> {
    let (first, last) = ends(records)?;
    let made = records.iter().map(|record| record_of(record, first));
    let mut payload = Vec::new();
    write_record_set(&mut payload, &RecordSet { records: made.collect::<Result<_, _>>()? })?;
    let newest = MAGICS[MAGICS.len() - 1].0;
    let payload = compressed(options.compression, newest, payload)?;
    let times = records.iter().map(|record| record.timestamp);
    let batch = RecordBatch {
        base_offset: first.offset,
        partition_leader_epoch: fits("the leader epoch", options.leader_epoch)?,
        attributes: BatchAttributes {
            is_control: options.is_control,
            is_transactional: options.is_transactional,
            compression: fits("the compression", options.compression)?,
            ..BatchAttributes::default()
        },
        last_offset_delta: fits("offsets over a distance of", last.offset - first.offset)?,
        base_timestamp: first.timestamp,
        max_timestamp: times.max().unwrap_or(NONE),
        producer_id: fits("the producer id", options.producer_id)?,
        producer_epoch: fits("the producer epoch", options.producer_epoch)?,
        base_sequence: fits("the sequence number", options.base_sequence)?,
        num_records: fits("records, of which there are", records.len() as i64)?,
        records: &payload,
        ..RecordBatch::default()
    };
    add(to, &entry(first.offset, Message::RecordBatch(batch)))
}

fn entry(offset: i64, message: Message<'_>) -> Entry<'_> {
    Entry { base_offset: offset, len_message: 0, message }
}

fn record_of<'r>(
    record: &Record<'r>,
    first: &Record<'_>,
) -> Result<recordbatch::Record<'r>, Error> {
    let headers = record.headers.iter().map(|&(key, value)| recordbatch::Header {
        key,
        value,
        ..recordbatch::Header::default()
    });
    Ok(recordbatch::Record {
        // Readers add it with the same wrap-around.
        timestamp_delta: record.timestamp.wrapping_sub(first.timestamp),
        offset_delta: fits("offsets over a distance of", record.offset - first.offset)?,
        key: record.key,
        value: record.value,
        headers: headers.collect(),
        ..recordbatch::Record::default()
    })
}

/// Adds records as messages of a magic before batches, or as one wrapper where they are compressed.
///
/// They have no headers, and those of a magic without timestamps no timestamp. Offsets ascend. After
/// an error nothing was added.
pub fn write_messages(
    to: &mut Vec<u8>,
    records: &[Record<'_>],
    magic: i64,
    compression: i64,
) -> Result<(), Error> {
    let (first, last) = ends(records)?;
    if !MAGICS.contains(&(magic, false)) {
        return Err(refused(format!("there is no message of magic {magic}")));
    }
    let is_timed = has_timestamps(magic);
    let is_wrapped = compression != compression_type::NONE;
    let base = if is_wrapped && is_timed { first.offset } else { 0 };
    let mut made = Vec::new();
    for record in records {
        if !record.headers.is_empty() || (!is_timed && record.timestamp != NONE) {
            let detail = format!(
                "magic {magic} has no place for a header or timestamp of offset {}",
                record.offset
            );
            return Err(refused(detail));
        }
        add_message(&mut made, record, record.offset - base, magic, compression_type::NONE)?;
    }
    if is_wrapped {
        let payload = compressed(compression, magic, std::mem::take(&mut made))?;
        let largest = records.iter().map(|record| record.timestamp).max();
        let wrapper = Record {
            offset: last.offset,
            timestamp: largest.unwrap_or(NONE),
            key: None,
            value: Some(&payload),
            headers: Vec::new(),
        };
        add_message(&mut made, &wrapper, last.offset, magic, compression)?;
    }
    to.append(&mut made);
    Ok(())
}

fn add_message(
    to: &mut Vec<u8>,
    record: &Record<'_>,
    offset: i64,
    magic: i64,
    compression: i64,
) -> Result<(), Error> {
    let message = LegacyMessage {
        offset,
        magic: fits("magic", magic)?,
        attributes: LegacyAttributes {
            compression: fits("the compression", compression)?,
            ..LegacyAttributes::default()
        },
        timestamp: has_timestamps(magic).then_some(record.timestamp),
        key: record.key,
        value: record.value,
        ..LegacyMessage::default()
    };
    add(to, &entry(offset, Message::LegacyMessage(message)))
}

/// Kafka's default of `index.interval.bytes`.
pub const INDEX_INTERVAL: u64 = 4096;

/// The offset index and the time index of a segment, as brokers since 3.9.1 make them of batches.
///
/// The offset index gets an entry for the first one of the log after more than an interval of bytes
/// since the last, with its last offset. The time index gets one with it, and at the end, where the
/// largest timestamp has grown, with the last offset of the entry that has it.
#[derive(Clone, Debug)]
pub struct Indexes {
    interval: u64,
    since: u64,
    largest: (i64, i64),
    offsets: OffsetIndex,
    times: TimeIndex,
}

impl Indexes {
    /// Returns the indexes of a segment without entries, by its base offset.
    pub fn new(base_offset: i64, interval: u64) -> Self {
        Indexes {
            interval,
            since: 0,
            largest: (NONE, base_offset),
            offsets: OffsetIndex { base_offset, entries: Vec::new() },
            times: TimeIndex { base_offset, entries: Vec::new() },
        }
    }

    /// Takes the next entry of the log.
    pub fn add(&mut self, stored: &Stored<'_>) -> Result<(), Error> {
        let head = &stored.header;
        if head.max_timestamp > self.largest.0 {
            self.largest = (head.max_timestamp, head.last_offset);
        }
        if self.since > self.interval {
            let base_offset = self.offsets.base_offset;
            let relative_offset = relative(head.last_offset, base_offset)?;
            let entries = &mut self.offsets.entries;
            if entries.last().is_some_and(|last| last.relative_offset >= relative_offset) {
                return Err(refused(format!("offset {} does not ascend", head.last_offset)));
            }
            let place = i64::try_from(stored.position).unwrap_or(i64::MAX);
            let position = fits("a position of", place)?;
            entries.push(OffsetIndexEntry { base_offset, relative_offset, position });
            self.add_time()?;
            self.since = 0;
        }
        self.since += stored.bytes.len() as u64;
        Ok(())
    }

    fn add_time(&mut self) -> Result<(), Error> {
        let (timestamp, offset) = self.largest;
        let base_offset = self.times.base_offset;
        let entries = &mut self.times.entries;
        if timestamp > entries.last().map_or(NONE, |last| last.timestamp) {
            let relative_offset = relative(offset, base_offset)?;
            entries.push(TimeIndexEntry { base_offset, timestamp, relative_offset });
        }
        Ok(())
    }

    /// Returns the bytes of the offset index and of the time index, as a broker leaves them when it
    /// closes the segment.
    pub fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>), Error> {
        self.add_time()?;
        let (mut offsets, mut times) = (Vec::new(), Vec::new());
        write_offset_index(&mut offsets, &self.offsets)?;
        write_time_index(&mut times, &self.times)?;
        Ok((offsets, times))
    }
}

fn relative<T: TryFrom<i64>>(offset: i64, base_offset: i64) -> Result<T, Error> {
    let distance = offset.wrapping_sub(base_offset);
    fits("offsets over a distance of", distance).and_then(|number| match distance {
        0.. => Ok(number),
        _ => Err(refused(format!("offset {offset} is before that of the segment, {base_offset}"))),
    })
}
