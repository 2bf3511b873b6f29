//! A testee of `kafkaspec conform`: answers a line of JSON with a line of JSON.

use base64::{prelude::BASE64_STANDARD, Engine};
use kafkaspec::spec::control_record::ControlRecordValue;
use kafkaspec::spec::entries::{compression_id, MAGICS};
use kafkaspec::spec::index::{read_offset_index, read_time_index};
use kafkaspec::spec::producer_snapshot::read_producer_snapshot;
use kafkaspec::spec::runtime::{Argument, TypeError};
use kafkaspec::spec::types;
use kafkaspec::{
    read_transaction_index, write_batch, write_messages, BatchOptions, Error, Input, Options,
    Reader, Record, Segment, Transactions, Value, NONE,
};
use serde_json::{json, Map, Value as Json};
use std::io::{BufRead, Write};

const COMPRESSION: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

/// Most bytes of a payload: no case that has records needs more.
const MAX_OUTPUT: usize = 32 << 20;

/// What is not an answer.
enum Failure {
    Refused(Error),
    Skipped(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Refused(error)
    }
}

fn main() -> std::io::Result<()> {
    let mut to = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Json = serde_json::from_str(&line?)?;
        let mut answer = answered(&request);
        answer.insert("id".into(), request["id"].clone());
        writeln!(to, "{}", Json::Object(answer))?;
        to.flush()?;
    }
    Ok(())
}

fn answered(request: &Json) -> Map<String, Json> {
    let kind = request["kind"].as_str().unwrap_or_default();
    let data = bytes(&request["data"]);
    let found = match kind {
        "hello" => Ok(hello()),
        "log" => log(&data, None).map(|records| json!({ "records": records })),
        "control_records" => control_records(&data),
        "committed_records" => committed(&data),
        "encode" => encode(request),
        "offset_index" | "time_index" | "transaction_index" | "producer_snapshot" => {
            entries(kind, &data, request["base_offset"].as_i64().unwrap_or_default())
        }
        "type" => of_type(&data, request),
        _ => Err(Failure::Skipped(format!("does not answer {kind}"))),
    };
    let answer = match found {
        Ok(answer) => answer,
        Err(Failure::Skipped(text)) => json!({ "skipped": text }),
        Err(Failure::Refused(error)) => json!({
            "error": error.to_string(),
            "reason": error.reason.name(),
            "path": error.path,
            "position": error.position,
        }),
    };
    answer.as_object().cloned().unwrap_or_default()
}

fn hello() -> Json {
    json!({
        "protocol": 2,
        "name": "kafkaspec Rust",
        "version": env!("CARGO_PKG_VERSION"),
        "kinds": [
            "log", "control_records", "committed_records", "encode", "offset_index", "time_index",
            "transaction_index", "producer_snapshot", "type",
        ],
        "compression": COMPRESSION,
        "checksums": true,
    })
}

fn bytes(text: &Json) -> Vec<u8> {
    BASE64_STANDARD.decode(text.as_str().unwrap_or_default()).unwrap_or_default()
}

fn shown(bytes: Option<&[u8]>) -> Json {
    bytes.map_or(Json::Null, |bytes| Json::from(BASE64_STANDARD.encode(bytes)))
}

fn reader() -> Reader {
    Reader::new(Options { max_output: MAX_OUTPUT, ..Options::default() })
}

fn log(data: &[u8], transactions: Option<&Transactions>) -> Result<Vec<Json>, Failure> {
    let (mut found, mut reader) = (Vec::new(), reader());
    for stored in Segment::new(data) {
        let stored = stored?;
        if transactions.is_some_and(|known| known.hides(&stored.header)) {
            continue;
        }
        let records = reader.read(&stored)?;
        if stored.header.is_control {
            continue; // a consumer reads and verifies those too
        }
        for record in records.iter() {
            let headers: Vec<Json> = record
                .headers
                .iter()
                .map(|&(key, value)| json!([shown(Some(key)), shown(value)]))
                .collect();
            found.push(json!({
                "offset": record.offset,
                "timestamp": record.timestamp,
                "key": shown(record.key),
                "value": shown(record.value),
                "headers": headers,
            }));
        }
    }
    Ok(found)
}

fn committed(data: &[u8]) -> Result<Json, Failure> {
    let transactions = Transactions::of(data)?;
    Ok(json!({ "records": log(data, Some(&transactions))? }))
}

fn control_records(data: &[u8]) -> Result<Json, Failure> {
    let (mut found, mut reader) = (Vec::new(), reader());
    for stored in Segment::new(data) {
        for record in reader.control_records(&stored?)? {
            let mut made = json!({ "offset": record.offset, "type": record.key.r#type });
            if let Some(ControlRecordValue::EndTransactionMarker(marker)) = record.body {
                made["coordinator_epoch"] = marker.coordinator_epoch.into();
            }
            found.push(made);
        }
    }
    Ok(json!({ "control_records": found }))
}

fn entries(kind: &str, data: &[u8], base_offset: i64) -> Result<Json, Failure> {
    let mut input = Input::new(data).complete();
    let entries: Vec<Value> = match kind {
        "offset_index" => {
            let found = read_offset_index(&mut input, base_offset)?.entries;
            found.iter().map(|entry| entry.value()).collect()
        }
        "time_index" => {
            let found = read_time_index(&mut input, base_offset)?.entries;
            found.iter().map(|entry| entry.value()).collect()
        }
        "transaction_index" => {
            read_transaction_index(data)?.iter().map(|entry| entry.value()).collect()
        }
        _ => {
            let found = read_producer_snapshot(&mut input)?;
            found.verify_crc(data, 0)?;
            found.entries.iter().map(|entry| entry.value()).collect()
        }
    };
    Ok(json!({ "entries": entries.iter().map(tree).collect::<Vec<_>>() }))
}

fn encode(request: &Json) -> Result<Json, Failure> {
    let optional = |text: &Json| text.is_string().then(|| bytes(text));
    let given = request["records"].as_array().map_or(&[][..], Vec::as_slice);
    let held: Vec<_> = given
        .iter()
        .map(|item| {
            let headers = item["headers"].as_array().map_or(&[][..], Vec::as_slice).iter();
            let pairs = headers.map(|pair| (bytes(&pair[0]), optional(&pair[1])));
            (optional(&item["key"]), optional(&item["value"]), pairs.collect::<Vec<_>>())
        })
        .collect();
    let records: Vec<Record> = given
        .iter()
        .zip(&held)
        .map(|(item, (key, value, headers))| Record {
            offset: item["offset"].as_i64().unwrap_or_default(),
            timestamp: item["timestamp"].as_i64().unwrap_or(NONE),
            key: key.as_deref(),
            value: value.as_deref(),
            headers: headers.iter().map(|(key, value)| (&key[..], value.as_deref())).collect(),
        })
        .collect();
    let number = |name: &str| request[name].as_i64().unwrap_or(NONE);
    let name = request["compression"].as_str().unwrap_or_default();
    let Some(compression) = compression_id(name) else {
        return Err(Failure::Skipped(format!("does not know compression {name}")));
    };
    let (magic, mut made) = (number("magic"), Vec::new());
    if MAGICS.contains(&(magic, false)) {
        write_messages(&mut made, &records, magic, compression)?;
    } else {
        let options = BatchOptions {
            compression,
            leader_epoch: number("partition_leader_epoch"),
            producer_id: number("producer_id"),
            producer_epoch: number("producer_epoch"),
            base_sequence: number("base_sequence"),
            is_transactional: request["transactional"] == true,
            ..BatchOptions::default()
        };
        write_batch(&mut made, &records, &options)?;
    }
    Ok(json!({ "bytes": shown(Some(&made)) }))
}

/// A structure among the arguments of a type: its bytes, and its own arguments.
struct Given {
    number: i64,
    bytes: Vec<u8>,
    inner: Option<Vec<Given>>,
}

fn given(listed: &Json) -> Vec<Given> {
    let items = listed.as_array().map_or(&[][..], Vec::as_slice);
    let made = |item: &Json| Given {
        number: item.as_i64().unwrap_or_default(),
        bytes: bytes(&item["data"]),
        inner: item.is_object().then(|| given(&item["parameters"])),
    };
    items.iter().map(made).collect()
}

fn arguments(given: &[Given]) -> Vec<Argument<'_>> {
    given
        .iter()
        .map(|item| match &item.inner {
            Some(inner) => Argument::Structure(&item.bytes, arguments(inner)),
            None => Argument::Integer(item.number),
        })
        .collect()
}

fn of_type(data: &[u8], request: &Json) -> Result<Json, Failure> {
    let key = request["type"].as_str().unwrap_or_default();
    let given = given(&request["parameters"]);
    let mut input = Input::new(data);
    match types::read(key, &mut input, &arguments(&given)) {
        Ok(value) => Ok(json!({ "value": tree(&value), "end": input.position() })),
        Err(TypeError::Refused(error)) => Err(error.into()),
        Err(error) => Err(Failure::Skipped(format!("{key}: {error:?}"))),
    }
}

fn tree(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::from(i64::from(*value)),
        Value::Integer(value) => match i64::try_from(*value) {
            Ok(value) => Json::from(value),
            Err(_) => Json::from(*value as u64),
        },
        Value::Float(value) => Json::from(*value),
        Value::Bytes(value) => shown(Some(value)),
        Value::List(items) => items.iter().map(tree).collect(),
        Value::Structure(members) => {
            Json::Object(members.iter().map(|(name, value)| ((*name).into(), tree(value))).collect())
        }
    }
}
