//! kafka-protocol as a testee. Its door: `RecordBatchDecoder::decode_all`.

use bytes::Bytes;
use kafka_protocol::records::{Record, RecordBatchDecoder};
use testees::{Decoded, marker, record, serve};

fn main() {
    serve("kafka-protocol", "0.18.0", log, Some(control));
}

fn records(data: &[u8]) -> Result<Vec<Record>, String> {
    let sets = RecordBatchDecoder::decode_all(&mut Bytes::copy_from_slice(data));
    let sets = sets.map_err(|error| format!("{error:#}"))?;
    Ok(sets.into_iter().flat_map(|set| set.records).collect())
}

fn log(data: &[u8]) -> Decoded {
    let found = records(data)?;
    Ok(found
        .iter()
        .filter(|item| !item.control)
        .map(|item| {
            let headers =
                item.headers.iter().map(|(key, value)| (key.as_bytes(), value.as_deref()));
            record(item.offset, item.timestamp, item.key.as_deref(), item.value.as_deref(), headers)
        })
        .collect())
}

fn control(data: &[u8]) -> Decoded {
    let found = records(data)?;
    Ok(found
        .iter()
        .filter(|item| item.control)
        .map(|item| marker(item.offset, item.key.as_deref(), item.value.as_deref()))
        .collect())
}
