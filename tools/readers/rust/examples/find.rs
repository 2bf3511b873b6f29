//! Prints where a segment has offsets or times, by its indexes:
//! `cargo run --example find SEGMENT (offset|time) NUMBER...`.

use kafkaspec::IndexedSegment;
use std::fs::{read, File};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let [log, how, numbers @ ..] = &given[..] else {
        return Err("usage: find SEGMENT (offset|time) NUMBER...".into());
    };
    let path = Path::new(log);
    let base_offset = path.file_stem().ok_or("a segment has a name")?.to_string_lossy().parse()?;
    let index = |kind| read(path.with_extension(kind)).unwrap_or_default();
    let (offsets, times) = (index("index"), index("timeindex"));
    let mut segment = IndexedSegment::new(File::open(path)?, base_offset, &offsets, &times)?;
    for number in numbers {
        let number = number.parse()?;
        let found = match how.as_str() {
            "time" => segment.find_time(number),
            _ => segment.find_offset(number),
        };
        match found {
            Ok(Some(found)) => println!("{} {} {}", found.offset, found.timestamp, found.position),
            Ok(None) => println!("-"),
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}
