//! Reads any bytes in every way: `cargo +nightly fuzz run read`.

#![no_main]

#[path = "../check.rs"]
mod check;

libfuzzer_sys::fuzz_target!(|data: &[u8]| check::check(data));
