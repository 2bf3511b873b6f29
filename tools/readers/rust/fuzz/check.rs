//! What has to hold for any bytes: nothing panics, and all ways to read them agree.

use kafkaspec::spec::recordbatch::{compression_type, read_record_set, Message};
use kafkaspec::spec::runtime::TypeError;
use kafkaspec::spec::types;
use kafkaspec::{
    read_transaction_index, Error, IndexedSegment, Input, Options, RangeError, RangeReader, Reader,
    Segment, Stored, Transactions,
};

/// Reads some bytes in every way.
pub fn check(data: &[u8]) {
    let options = Options { checksums: false, max_output: 1 << 20, ..Options::default() };
    let mut reader = Reader::new(options);
    let mut segment = Segment::new(data);
    let mut ranges = RangeReader::new(data).expect("bytes have a size");
    loop {
        let found = segment.next();
        let other = match ranges.next_entry() {
            Ok(stored) => stored.map(Ok),
            Err(RangeError::Refused(error)) => Some(Err(error)),
            Err(RangeError::Source(error)) => panic!("{error}"),
        };
        assert_eq!(found.as_ref().map(outline), other.as_ref().map(outline));
        match found {
            Some(Ok(stored)) => entry(&mut reader, &stored),
            Some(Err(_)) => (),
            None => break,
        }
    }
    assert_eq!(segment.tail(), ranges.tail());
    let _ = Transactions::of(data);
    let _ = read_transaction_index(data);
    let mut indexed = IndexedSegment::new(data, 0, data, data).expect("entries have no checks");
    for number in [0, 1, i64::MAX] {
        let _ = indexed.find_offset(number);
        let _ = indexed.find_time(number);
    }
    for key in ["control_record.control_record", "index.index", "producer_snapshot.producer_snapshot"]
    {
        let found = types::read(key, &mut Input::new(data), &[]);
        assert!(matches!(found, Ok(_) | Err(TypeError::Refused(_))), "{key}: {found:?}");
    }
}

fn outline<'a>(found: &'a Result<Stored<'_>, Error>) -> Result<(u64, &'a [u8]), &'a Error> {
    found.as_ref().map(|stored| (stored.position, stored.bytes))
}

/// Reads the records of an entry in columns, and as structures.
fn entry(reader: &mut Reader, stored: &Stored<'_>) {
    let _ = reader.control_records(stored);
    let rows = reader.read(stored).map(|records| records.iter().count());
    let Message::RecordBatch(batch) = &stored.entry.message else { return };
    if stored.header.compression != compression_type::NONE || batch.num_records == 0 {
        return;
    }
    let structures = read_record_set(&mut Input::new(batch.records).complete(), batch);
    assert_eq!(rows.ok(), structures.ok().map(|set| set.records.len()));
}
