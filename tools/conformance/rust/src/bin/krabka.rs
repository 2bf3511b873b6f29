//! krabka-protocol as a testee. Its door: `records::RecordBatch::decode_batch`.

use bytes::Bytes;
use krabka_protocol::records::{RecordBatch, TimestampType};
use testees::{Decoded, marker, record, serve};

fn main() {
    serve("krabka-protocol", "0.8.0", log, Some(control));
}

fn batches(data: &[u8]) -> Result<Vec<RecordBatch>, String> {
    let mut rest = Bytes::copy_from_slice(data);
    let mut found = Vec::new();
    while !rest.is_empty() {
        found.push(RecordBatch::decode_batch(&mut rest).map_err(|error| error.to_string())?);
    }
    Ok(found)
}

fn log(data: &[u8]) -> Decoded {
    let mut found = Vec::new();
    for batch in batches(data)?.iter().filter(|batch| !batch.attributes.is_control_batch()) {
        let appended = batch.attributes.timestamp_type() == TimestampType::LogAppendTime;
        for item in &batch.records {
            let created = batch.base_timestamp.wrapping_add(item.timestamp_delta);
            found.push(record(
                batch.base_offset + i64::from(item.offset_delta),
                if appended { batch.max_timestamp } else { created },
                item.key.as_deref(),
                item.value.as_deref(),
                item.headers.iter().map(|header| (header.key.as_bytes(), header.value.as_deref())),
            ));
        }
    }
    Ok(found)
}

fn control(data: &[u8]) -> Decoded {
    let mut found = Vec::new();
    for batch in batches(data)?.iter().filter(|batch| batch.attributes.is_control_batch()) {
        for item in &batch.records {
            let offset = batch.base_offset + i64::from(item.offset_delta);
            found.push(marker(offset, item.key.as_deref(), item.value.as_deref()));
        }
    }
    Ok(found)
}
