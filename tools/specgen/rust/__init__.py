"""Target `rust`: structures, parsers, value trees and columns in Rust."""
