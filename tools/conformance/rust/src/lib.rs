//! The protocol of kafkaspec conform, for testees in Rust.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::io::{BufRead, Write, stdin, stdout};

pub type Decoded = Result<Vec<Value>, String>;

/// Returns base64, null for none.
pub fn bytes(data: Option<&[u8]>) -> Value {
    data.map_or(Value::Null, |data| Value::String(STANDARD.encode(data)))
}

/// Returns a data record as the protocol wants it.
pub fn record<'a>(
    offset: i64,
    timestamp: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
) -> Value {
    let headers: Vec<Value> =
        headers.map(|(key, value)| json!([bytes(Some(key)), bytes(value)])).collect();
    json!({"offset": offset, "timestamp": timestamp, "key": bytes(key), "value": bytes(value),
           "headers": headers})
}

/// Returns a control record of a key and a value; the libraries give their bytes.
pub fn marker(offset: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> Value {
    let type_ = key.filter(|key| key.len() >= 4).map(|key| i16::from_be_bytes([key[2], key[3]]));
    let epoch = value
        .filter(|value| value.len() >= 6)
        .map(|value| i32::from_be_bytes([value[2], value[3], value[4], value[5]]));
    json!({"offset": offset, "type": type_, "coordinator_epoch": epoch})
}

/// Answers requests until the input ends. A panic is not caught: it ends a program that uses the
/// library.
pub fn serve(
    name: &str,
    version: &str,
    log: fn(&[u8]) -> Decoded,
    control: Option<fn(&[u8]) -> Decoded>,
) {
    let mut kinds = vec!["log"];
    if control.is_some() {
        kinds.push("control_records");
    }
    for line in stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let data = request["data"].as_str().map(|text| STANDARD.decode(text).unwrap());
        let kind = request["kind"].as_str().unwrap();
        let mut answer = match (kind, data) {
            ("log", Some(data)) => answer("records", log(&data)),
            ("control_records", Some(data)) => answer(kind, control.unwrap()(&data)),
            _ => json!({"protocol": 1, "name": name, "version": version, "kinds": kinds,
                "checksums": true, "compression": ["none", "gzip", "snappy", "lz4", "zstd"]}),
        };
        answer["id"] = request["id"].clone();
        let mut output = stdout().lock();
        writeln!(output, "{answer}").unwrap();
        output.flush().unwrap();
    }
}

fn answer(member: &str, found: Decoded) -> Value {
    match found {
        Ok(items) => json!({member: items}),
        Err(text) => json!({"error": text}),
    }
}
