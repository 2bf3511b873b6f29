//! Writes the indexes of a segment of batches, with so many bytes between entries:
//! `cargo run --example indexes SEGMENT DIRECTORY [BYTES]`.

use kafkaspec::{Indexes, Segment, INDEX_INTERVAL};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let (segment, directory, interval) = match &given[..] {
        [segment, directory] => (segment, directory, INDEX_INTERVAL),
        [segment, directory, interval] => (segment, directory, interval.parse()?),
        _ => return Err("usage: indexes SEGMENT DIRECTORY [BYTES]".into()),
    };
    let stem = Path::new(segment).file_stem().ok_or("a segment has a name")?.to_string_lossy();
    let mut indexes = Indexes::new(stem.parse()?, interval);
    for stored in Segment::new(&std::fs::read(segment)?) {
        indexes.add(&stored?)?;
    }
    let (offsets, times) = indexes.finish()?;
    let into = Path::new(directory).join(&*stem);
    std::fs::write(into.with_extension("index"), offsets)?;
    std::fs::write(into.with_extension("timeindex"), times)?;
    Ok(())
}
