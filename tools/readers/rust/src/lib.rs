//! Reads the files that Apache Kafka keeps on disk.
//!
//! [`spec`] has every type of the specification of kafkaspec, generated from it. Above it,
//! [`Segment`] finds the entries of a log, and [`Reader`] turns their records into columns:
//! it verifies checksums, decompresses with a bound on the output, and opens wrappers of old
//! messages. [`Transactions`] says what a consumer with `read_committed` gets, and
//! [`IndexedSegment`] finds offsets and times through indexes, over anything that [reads by
//! ranges](ReadAt). [`write_batch`] and [`Indexes`] write. Bytes are checked before they are used; an [`Error`] has the position, the path of
//! the field and a reason from a closed list.
//!
//! ```
//! # fn main() -> Result<(), kafkaspec::Error> {
//! # let bytes: Vec<u8> = Vec::new();
//! let mut reader = kafkaspec::Reader::new(kafkaspec::Options::default());
//! for stored in kafkaspec::Segment::new(&bytes) {
//!     let stored = stored?;
//!     for record in reader.read(&stored)?.iter() {
//!         println!("{} {:?}", record.offset, record.key);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;

pub mod checksum;
pub mod compression;
mod ranges;
mod reader;
mod segment;
#[rustfmt::skip]
pub mod spec;
mod transactions;
mod writer;

pub use ranges::{Found, IndexedSegment, RangeError, RangeReader, ReadAt};
pub use reader::{Options, Reader, Record, Records};
pub use segment::{Segment, Stored, Tail, TailReason};
pub use spec::columns::{Columns, Span};
pub use spec::runtime::{Error, Input, Place, Reason, Value};
pub use transactions::{read_transaction_index, Aborted, ControlRecord, Transactions};
pub use writer::{write_batch, write_messages, BatchOptions, Indexes, INDEX_INTERVAL, NONE};
