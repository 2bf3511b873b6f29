//! Prints what a consumer with `read_committed` gets of segments, by their transaction indexes, a
//! line of offsets for each: `cargo run --example committed SEGMENT...`.

use kafkaspec::{read_transaction_index, Options, Reader, Segment, Transactions};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut reader = Reader::new(Options::default());
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let index = std::fs::read(path.with_extension("txnindex"))?;
        let mut transactions = Transactions::default();
        transactions.list(&read_transaction_index(&index)?);
        let mut offsets = Vec::new();
        for stored in Segment::new(&std::fs::read(&path)?) {
            let stored = stored?;
            if !transactions.hides(&stored.header) {
                offsets.extend(reader.read(&stored)?.iter().map(|record| record.offset.to_string()));
            }
        }
        println!("{}", offsets.join(" "));
    }
    Ok(())
}
