//! A testee of `kafkaspec conform`: answers a line of JSON with a line of JSON.

use base64::{prelude::BASE64_STANDARD, Engine};
use kafkaspec::spec::runtime::{Argument, TypeError};
use kafkaspec::spec::types;
use kafkaspec::{Error, Input, Options, Reader, Segment, Value};
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
        "log" => log(&data).map(|records| json!({ "records": records })),
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
        "kinds": ["log", "type"],
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

fn log(data: &[u8]) -> Result<Vec<Json>, Failure> {
    let mut found = Vec::new();
    let mut reader = Reader::new(Options { max_output: MAX_OUTPUT, ..Options::default() });
    for stored in Segment::new(data) {
        let stored = stored?;
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
