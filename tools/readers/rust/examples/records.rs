//! Prints the records of a segment: `cargo run --example records 00000000000000000000.log`.

use kafkaspec::{Options, Reader, Segment};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: records SEGMENT")?;
    let bytes = std::fs::read(path)?;
    let mut reader = Reader::new(Options::default());
    for stored in Segment::new(&bytes) {
        for record in reader.read(&stored?)?.iter() {
            let text = |bytes: Option<&[u8]>| match bytes {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "null".to_owned(),
            };
            let (key, value) = (text(record.key), text(record.value));
            println!("{} {} key={key} value={value}", record.offset, record.timestamp);
        }
    }
    Ok(())
}
