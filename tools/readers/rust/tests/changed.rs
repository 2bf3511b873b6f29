//! Some thousand changed logs, the same ones each time, through what the fuzzer runs.

#[path = "../fuzz/check.rs"]
mod check;

use kafkaspec::spec::entries::{compression_id, MAGICS};
use kafkaspec::{write_batch, write_messages, BatchOptions, Record};

struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }
}

fn corpus() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let values: Vec<String> = (0..9).map(|number| "value ".repeat(number)).collect();
    let record = |number: usize| Record {
        offset: 100 + 2 * number as i64,
        timestamp: -1,
        key: (number % 3 != 0).then_some(b"key".as_slice()),
        value: (number % 5 != 0).then_some(values[number].as_bytes()),
        headers: Vec::new(),
    };
    for name in ["none", "gzip", "snappy", "lz4", "zstd"] {
        if name == "zstd" && cfg!(miri) {
            continue; // it is C
        }
        let compression = compression_id(name).expect("it is known");
        let mut records: Vec<Record> = (0..values.len()).map(record).collect();
        for (magic, _) in MAGICS.iter().filter(|(_, is_batch)| !is_batch && name != "zstd") {
            let mut log = Vec::new();
            write_messages(&mut log, &records, *magic, compression).expect("it can be written");
            found.push(log);
        }
        records[4].headers = vec![(b"header", None), (b"", Some(b""))];
        let mut log = Vec::new();
        for is_control in [false, true] {
            let options = BatchOptions { compression, is_control, ..BatchOptions::default() };
            write_batch(&mut log, &records, &options).expect("it can be written");
        }
        found.push(log);
    }
    found
}

#[test]
fn all_ways_to_read_changed_logs_agree() {
    let (corpus, mut chance) = (corpus(), Chance(7));
    for _ in 0..if cfg!(miri) { 100 } else { 5000 } {
        let mut data = corpus[chance.below(corpus.len())].clone();
        for _ in 0..=chance.below(3) {
            let at = chance.below(data.len());
            match chance.below(4) {
                0 => data[at] ^= 1 << chance.below(8),
                1 => data[at] = [0, 1, 0x7f, 0x80, 0xff][chance.below(5)],
                2 => data.truncate(at.max(1)),
                _ => {
                    let other = &corpus[chance.below(corpus.len())];
                    let from = chance.below(other.len());
                    data.splice(at..at, other[from..].iter().take(20).copied());
                }
            }
        }
        check::check(&data);
    }
}
