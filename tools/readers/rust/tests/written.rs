//! What is written comes back, and what cannot be written is refused.

use kafkaspec::spec::entries::{compression_id, compression_name, MAGICS};
use kafkaspec::{
    write_batch, write_messages, BatchOptions, Error, IndexedSegment, Indexes, Options, RangeReader,
    Reader, Reason, Record, Segment,
};

const COMPRESSION: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

fn sample(texts: &[String]) -> Vec<Record<'_>> {
    let of = |number: usize, text: &'_ String| number % 3 != 0 && !text.is_empty();
    texts
        .iter()
        .enumerate()
        .map(|(number, text)| Record {
            offset: 100 + 2 * number as i64,
            timestamp: 1_700_000_000_000 + number as i64 % 7,
            key: of(number, text).then_some(text.as_bytes()),
            value: (number % 5 != 0).then_some(text.as_bytes()),
            headers: match number % 4 {
                0 => vec![(b"h", None), (b"", Some(b""))],
                _ => Vec::new(),
            },
        })
        .collect()
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| "text ".repeat(number % 50)).collect()
}

fn same(log: &[u8], records: &[Record<'_>]) -> Result<bool, Error> {
    let (mut reader, mut left) = (Reader::new(Options::default()), records);
    for stored in Segment::new(log) {
        for found in reader.read(&stored?)?.iter() {
            let Some((wanted, rest)) = left.split_first() else { return Ok(false) };
            if found != *wanted {
                return Ok(false);
            }
            left = rest;
        }
    }
    Ok(left.is_empty())
}

#[test]
fn batches_and_messages_come_back() -> Result<(), Error> {
    let texts = texts(1000);
    for name in COMPRESSION {
        let compression = compression_id(name).unwrap_or_default();
        assert_eq!(compression_name(compression), Some(name));
        let (mut records, mut log) = (sample(&texts), Vec::new());
        let options = BatchOptions { compression, ..BatchOptions::default() };
        write_batch(&mut log, &records, &options)?;
        assert!(same(&log, &records)?, "{name}");
        for record in &mut records {
            (record.headers, record.timestamp) = (Vec::new(), -1);
        }
        for (magic, _) in MAGICS.iter().filter(|(_, is_batch)| !is_batch) {
            let mut log = Vec::new();
            let written = write_messages(&mut log, &records, *magic, compression);
            if name == "zstd" {
                assert_eq!(written.map_err(|error| error.reason), Err(Reason::Unencodable));
                continue;
            }
            assert!(written.is_ok() && same(&log, &records)?, "magic {magic}, {name}");
        }
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_added() {
    let plain = |offset| Record { offset, timestamp: 0, key: None, value: None, headers: vec![] };
    let mut log = vec![7];
    for offsets in [&[][..], &[5, 5], &[5, 7, 6, 8], &[8, 5], &[-1, 0], &[0, 1 << 31]] {
        let records: Vec<_> = offsets.iter().copied().map(plain).collect();
        let refused = write_batch(&mut log, &records, &BatchOptions::default());
        assert_eq!(refused.map_err(|error| error.reason), Err(Reason::Unencodable), "{offsets:?}");
        let compression = compression_id("none").unwrap_or_default();
        if offsets != &[0, 1 << 31][..] {
            assert!(write_messages(&mut log, &records, 1, compression).is_err(), "{offsets:?}");
        }
    }
    for options in [
        BatchOptions { compression: 5, ..BatchOptions::default() },
        BatchOptions { compression: 8, ..BatchOptions::default() },
        BatchOptions { compression: -1, ..BatchOptions::default() },
        BatchOptions { producer_epoch: 1 << 15, ..BatchOptions::default() },
        BatchOptions { base_sequence: 1 << 31, ..BatchOptions::default() },
        BatchOptions { leader_epoch: 1 << 31, ..BatchOptions::default() },
    ] {
        assert!(write_batch(&mut log, &[plain(0)], &options).is_err(), "{options:?}");
    }
    assert_eq!(log, [7]);
}

#[test]
fn every_cut_and_every_changed_byte_is_found() -> Result<(), Error> {
    let (texts, mut log) = (texts(5), Vec::new());
    let records = sample(&texts);
    write_batch(&mut log, &records, &BatchOptions::default())?;
    for size in 1..log.len() {
        let mut segment = Segment::new(&log[..size]);
        assert!(segment.next().is_none() && segment.tail().is_some(), "{size}");
    }
    let covered = match Segment::new(&log).next() {
        Some(Ok(stored)) => stored.header.checksum.position,
        other => panic!("{other:?}"),
    };
    for at in covered..log.len() {
        let mut changed = log.clone();
        changed[at] ^= 0x40;
        assert!(same(&changed, &records).is_err(), "{at}");
    }
    Ok(())
}

#[test]
fn ranges_and_indexes_find_what_is_there() -> Result<(), Box<dyn std::error::Error>> {
    let texts = texts(3000);
    let (records, mut log) = (sample(&texts), Vec::new());
    for some in records.chunks(100) {
        write_batch(&mut log, some, &BatchOptions::default())?;
    }
    let mut indexes = Indexes::new(records[0].offset, 1000);
    for stored in Segment::new(&log) {
        indexes.add(&stored?)?;
    }
    let (offsets, times) = indexes.finish()?;
    let (mut reader, mut count) = (Reader::new(Options::default()), 0);
    let mut ranges = RangeReader::new(&log)?;
    while let Some(stored) = ranges.next_entry()? {
        count += reader.read(&stored)?.columns.rows();
    }
    assert_eq!((count, ranges.tail()), (records.len(), None));
    for index in [offsets.as_slice(), &[]] {
        let mut segment = IndexedSegment::new(&log, records[0].offset, index, &times)?;
        for (number, record) in records.iter().enumerate() {
            let found = segment.find_offset(record.offset - 1)?.map(|found| found.offset);
            assert_eq!(found, Some(record.offset), "{number}");
        }
        assert_eq!(segment.find_offset(records[2999].offset + 1)?, None);
        let position = segment.find_time(records[6].timestamp)?.map(|found| found.position);
        assert_eq!(position, Some(0));
        assert_eq!(segment.find_time(records[6].timestamp + 1)?, None);
        let stored = segment.entries(0).next_entry()?;
        assert_eq!(stored.map(|stored| stored.header.base_offset), Some(records[0].offset));
    }
    Ok(())
}
