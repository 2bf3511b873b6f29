//! Control records, and what a consumer with `read_committed` gets.

use crate::ranges::whole_entries;
use crate::reader::{Options, Reader, Record};
use crate::segment::{Segment, Stored};
use crate::spec::control_record::{
    control_record_type, read_control_record_key, read_control_record_value, ControlRecordKey,
    ControlRecordValue,
};
use crate::spec::entries::Header;
use crate::spec::producer_snapshot::ProducerSnapshot;
use crate::spec::runtime::{Error, Input, Place, Reason};
use crate::spec::transaction_index::{read_aborted_transaction, AbortedTransaction};
use std::collections::{BTreeMap, BTreeSet};

/// A record of a control batch: a marker that ends a transaction, or one of KRaft's.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlRecord<'r> {
    /// Offset of the record.
    pub offset: i64,
    /// Says of which type it is, one of [`control_record_type`].
    pub key: ControlRecordKey<'r>,
    /// What the type has; `None` for a type without a description that has no value.
    pub body: Option<ControlRecordValue<'r>>,
}

impl<'r> ControlRecord<'r> {
    /// Reads a record of a control batch.
    pub fn read(record: &Record<'r>) -> Result<Self, Error> {
        let Some(key) = record.key else { return Err(missing(record, "/key")) };
        let key = read_control_record_key(&mut Input::new(key).complete())
            .map_err(|error| error.inside("/key"))?;
        let number = i64::from(key.r#type);
        let body = match record.value {
            Some(value) => {
                let found = read_control_record_value(&mut Input::new(value).complete(), number);
                Some(found.map_err(|error| error.inside("/value"))?)
            }
            None if control_record_type::name(number).is_none() => None,
            None => return Err(missing(record, "/value")),
        };
        Ok(ControlRecord { offset: record.offset, key, body })
    }
}

fn missing(record: &Record<'_>, path: &'static str) -> Error {
    let detail = format!("the control record with offset {} has none", record.offset);
    Error::new(Reason::InvalidValue, detail, 0, &Place(path, ""))
}

/// A transaction that was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aborted {
    /// Id of its producer.
    pub producer_id: i64,
    /// First offset of the transaction.
    pub first_offset: i64,
    /// Offset of the marker that ends it.
    pub marker: i64,
}

/// Follows the transactions of a log, and says what `read_committed` hides.
///
/// A transaction begins with the first batch of its producer that is [taken](Transactions::take),
/// or where a [snapshot](Transactions::begin_with) says. What transaction indexes say can be
/// [added](Transactions::list) instead.
pub struct Transactions {
    open: BTreeMap<i64, i64>,
    aborted: BTreeSet<(i64, i64, i64)>,
    markers: BTreeSet<(i64, i64)>,
    limit: Option<i64>,
    reader: Reader,
}

impl Default for Transactions {
    fn default() -> Self {
        Transactions {
            open: BTreeMap::new(),
            aborted: BTreeSet::new(),
            markers: BTreeSet::new(),
            limit: None,
            reader: Reader::new(Options::default()),
        }
    }
}

impl Transactions {
    /// Returns the transactions in the bytes of segments, one after the other, by their markers.
    pub fn of(log: &[u8]) -> Result<Self, Error> {
        let mut found = Transactions::default();
        for stored in Segment::new(log) {
            found.take(&stored?)?;
        }
        Ok(found)
    }

    /// Takes the transactions that are open in a snapshot, which is that of the first offset.
    pub fn begin_with(&mut self, snapshot: &ProducerSnapshot<'_>) {
        for producer in &snapshot.entries {
            if producer.current_txn_first_offset >= 0 {
                self.open.insert(producer.producer_id, producer.current_txn_first_offset);
            }
        }
    }

    /// Takes what a transaction index says.
    pub fn list(&mut self, entries: &[AbortedTransaction]) {
        for entry in entries {
            self.add(entry.producer_id, entry.first_offset, entry.last_offset);
        }
    }

    fn add(&mut self, producer_id: i64, first_offset: i64, marker: i64) {
        self.aborted.insert((producer_id, first_offset, marker));
        self.markers.insert((producer_id, marker));
    }

    /// Takes the last stable offset of the partition, where a broker says it.
    pub fn end_at(&mut self, last_stable_offset: i64) {
        self.limit = Some(last_stable_offset);
    }

    /// Takes the next entry of the log.
    ///
    /// The epoch does not matter: that of a marker may be larger than that of the data. Of a control
    /// batch Kafka reads the first record, and no other.
    pub fn take(&mut self, stored: &Stored<'_>) -> Result<(), Error> {
        let head = &stored.header;
        if !head.is_transactional || head.producer_id < 0 {
            return Ok(());
        }
        if !head.is_control {
            self.open.entry(head.producer_id).or_insert(head.base_offset);
            return Ok(());
        }
        let records = self.reader.control_records(stored)?;
        let Some(marker) = records.first() else { return Ok(()) }; // compaction emptied it
        let kind = i64::from(marker.key.r#type);
        let aborts = kind == control_record_type::ABORT;
        if !aborts && kind != control_record_type::COMMIT {
            return Ok(());
        }
        if let (Some(first), true) = (self.open.remove(&head.producer_id), aborts) {
            self.add(head.producer_id, first, head.last_offset);
        }
        Ok(())
    }

    /// Returns the aborted transactions, by producer and first offset.
    pub fn aborted(&self) -> impl Iterator<Item = Aborted> + '_ {
        self.aborted.iter().map(|&(producer_id, first_offset, marker)| Aborted {
            producer_id,
            first_offset,
            marker,
        })
    }

    /// Returns the first offset of the first transaction that is open, or the last stable offset
    /// that was given, if that is smaller; `None` without any.
    pub fn last_stable_offset(&self) -> Option<i64> {
        self.open.values().copied().chain(self.limit).min()
    }

    /// Returns whether a consumer with `read_committed` gets nothing of an entry: it is a control
    /// batch, belongs to an aborted transaction, or begins at the last stable offset or later.
    ///
    /// It belongs to one if a transaction of its producer begins after the last marker before it,
    /// and not after its last offset, as Kafka's consumer has it: also where a damaged index has one
    /// within another.
    pub fn hides(&self, head: &Header<'_>) -> bool {
        let base = head.base_offset;
        if head.is_control || self.last_stable_offset().is_some_and(|stable| base >= stable) {
            return true;
        }
        let producer = head.producer_id;
        let begun = (producer, i64::MIN, i64::MIN)..=(producer, head.last_offset, i64::MAX);
        let ended = (producer, i64::MIN)..(producer, base);
        head.is_transactional
            && self.aborted.range(begun).next_back().is_some_and(|&(_, first, _)| {
                self.markers.range(ended).next_back().is_none_or(|&(_, marker)| first > marker)
            })
    }
}

/// Returns the entries of a transaction index; a part of one at the end is ignored.
pub fn read_transaction_index(file: &[u8]) -> Result<Vec<AbortedTransaction>, Error> {
    whole_entries(file, read_aborted_transaction)
}
