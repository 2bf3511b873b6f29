//! Reads a segment once for each line of standard input. The answer is the number of records, and
//! a sum of what was touched, as in ReadRecords.java.

use kafkaspec::{Columns, Options, Reader, Segment, Span};
use std::io::BufRead;

fn touched(span: &Span, buffer: &[u8]) -> i64 {
    match span.get(buffer) {
        Some(part @ [first, ..]) => part.len() as i64 + i64::from(*first as i8),
        _ => 0,
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: read_records SEGMENT")?;
    let bytes = std::fs::read(path)?;
    let wanted = Columns::OFFSET | Columns::TIMESTAMP | Columns::KEY | Columns::VALUE;
    for line in std::io::stdin().lock().lines() {
        line?;
        let mut reader = Reader::new(Options { wanted, ..Options::default() });
        let (mut records, mut sum) = (0, 0i64);
        for stored in Segment::new(&bytes) {
            let found = reader.read(&stored?)?;
            let columns = found.columns;
            records += columns.rows();
            let numbers = columns.offset.iter().zip(&columns.timestamp);
            let strings = columns.key.iter().zip(&columns.value);
            for ((offset, timestamp), (key, value)) in numbers.zip(strings) {
                sum += offset + timestamp;
                sum += touched(key, found.buffer) + touched(value, found.buffer);
            }
        }
        println!("{records} {sum}");
    }
    Ok(())
}
