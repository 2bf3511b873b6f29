//! rskafka as a testee. Its door: `protocol::record::RecordBatch::read`, public with the feature
//! `unstable-fuzzing`; then as `extract_records` of its client does.

use rskafka::protocol::record::{ControlBatchOrRecords, RecordBatch};
use rskafka::protocol::traits::ReadType;
use std::io::Cursor;
use testees::{Decoded, record, serve};

fn main() {
    serve("rskafka", "0.6.0", log, None); // of a marker it keeps no offset and no epoch
}

fn log(data: &[u8]) -> Decoded {
    let mut found = Vec::new();
    let mut cursor = Cursor::new(data);
    while (cursor.position() as usize) < data.len() {
        let batch = RecordBatch::read(&mut cursor).map_err(|error| error.to_string())?;
        let ControlBatchOrRecords::Records(items) = &batch.records else {
            continue;
        };
        for item in items {
            let timestamp = batch
                .first_timestamp
                .checked_add(item.timestamp_delta)
                .ok_or("the timestamp overflows")?;
            found.push(record(
                batch.base_offset + i64::from(item.offset_delta),
                timestamp,
                item.key.as_deref(),
                item.value.as_deref(),
                item.headers.iter().map(|each| (each.key.as_bytes(), Some(each.value.as_slice()))),
            ));
        }
    }
    Ok(found)
}
