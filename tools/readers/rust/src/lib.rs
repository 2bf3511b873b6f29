//! Reads the files that Apache Kafka keeps on disk.
//!
//! [`spec`] has every type of the specification of kafkaspec, generated from it. Above it,
//! [`Segment`] finds the entries of a log, and [`Reader`] turns their records into columns:
//! it verifies checksums, decompresses with a bound on the output, and opens wrappers of old
//! messages. Bytes are checked before they are used; an [`Error`] has the position, the path of
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
mod reader;
mod segment;
#[rustfmt::skip]
pub mod spec;

pub use reader::{Options, Reader, Record, Records};
pub use segment::{Segment, Stored, Tail, TailReason};
pub use spec::columns::{Columns, Span};
pub use spec::runtime::{Error, Input, Place, Reason, Value};
