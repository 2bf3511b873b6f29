//! Payloads after decompression, as Kafka's reader makes them, with a bound on the output, and
//! compressed as Kafka's writers make them.

use crate::spec::entries::{compression_name, MAGICS};
use crate::spec::runtime::Reason;
use std::fmt;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

/// Why a payload is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// One sentence for people.
    pub detail: String,
}

const SNAPPY_MAGIC: &[u8] = b"\x82SNAPPY\0";

type Result<T> = std::result::Result<T, Refusal>;

fn corrupt(codec: &str, detail: impl fmt::Display) -> Refusal {
    Refusal { reason: Reason::DecompressionFailed, detail: format!("{codec}: {detail}") }
}

fn too_large(codec: &str, most: usize) -> Refusal {
    let detail = format!("{codec}: the output has more than {most} bytes");
    Refusal { reason: Reason::DecompressedTooLarge, detail }
}

fn unsupported(compression: i64) -> Refusal {
    let detail = format!("there is no compression {compression} here");
    Refusal { reason: Reason::UnsupportedCompression, detail }
}

/// Decompresses payloads, and keeps what the libraries need from one to the next.
pub struct Decompressor {
    zstd: Option<Decoder<'static>>,
    inflate: flate2::Decompress,
    snappy: snap::raw::Decoder,
    block: Vec<u8>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Decompressor::new()
    }
}

impl Decompressor {
    /// Returns a decompressor.
    pub fn new() -> Self {
        Decompressor {
            zstd: None,
            inflate: flate2::Decompress::new(false),
            snappy: snap::raw::Decoder::new(),
            block: Vec::new(),
        }
    }

    /// Decompresses a payload into a vector, which it empties first.
    ///
    /// The bound is checked while bytes are made; a size that the payload claims is never trusted.
    pub fn decompress(
        &mut self,
        compression: i64,
        magic: i64,
        payload: &[u8],
        into: &mut Vec<u8>,
        most: usize,
    ) -> Result<()> {
        into.clear();
        match compression_name(compression) {
            Some("none") if payload.len() > most => Err(too_large("none", most)),
            Some("none") => {
                into.extend_from_slice(payload);
                Ok(())
            }
            Some("gzip") => self.gzip(payload, into, most),
            Some("snappy") => self.snappy(payload, into, most),
            Some("lz4") => lz4(payload, magic != MAGICS[0].0, &mut self.block, into, most),
            Some("zstd") if !cfg!(miri) => self.zstd(payload, into, most), // Miri runs no C
            _ => Err(unsupported(compression)),
        }
    }

    // Members follow one another; what follows the last one is ignored.

    fn gzip(&mut self, data: &[u8], into: &mut Vec<u8>, most: usize) -> Result<()> {
        const TRAILER: usize = 8;
        const IGNORED_TAIL: usize = 18;
        let mut next = member_start(data, 0);
        if next.is_none() {
            return Err(corrupt("gzip", "the data does not begin with a valid member header"));
        }
        while let Some(start) = next {
            let made = into.len();
            let stop = start + self.inflate(&data[start..], into, most)?;
            let Some(trailer) = data.get(stop..).and_then(<[u8]>::first_chunk::<TRAILER>) else {
                return Err(corrupt("gzip", "the data ends inside a trailer"));
            };
            let output = &into[made..];
            let mut expected = [0; TRAILER];
            expected[..4].copy_from_slice(&crc32fast::hash(output).to_le_bytes());
            expected[4..].copy_from_slice(&(output.len() as u32).to_le_bytes());
            if *trailer != expected {
                return Err(corrupt("gzip", "CRC or length in the trailer do not match the output"));
            }
            let position = stop + TRAILER;
            let follows = data.len() - position > IGNORED_TAIL;
            next = if follows { member_start(data, position) } else { None };
        }
        Ok(())
    }

    /// Adds the output of one stream, and returns the number of bytes that it has.
    fn inflate(&mut self, data: &[u8], into: &mut Vec<u8>, most: usize) -> Result<usize> {
        self.inflate.reset(false);
        loop {
            let used = self.inflate.total_in() as usize;
            make_room(into, data.len() - used, most);
            let before = (self.inflate.total_in(), into.len());
            let status = self
                .inflate
                .decompress_vec(&data[used..], into, flate2::FlushDecompress::None)
                .map_err(|error| corrupt("gzip", format!("the deflate stream is broken: {error}")))?;
            if into.len() > most {
                return Err(too_large("gzip", most));
            }
            if status == flate2::Status::StreamEnd {
                return Ok(self.inflate.total_in() as usize);
            }
            if (self.inflate.total_in(), into.len()) == before && into.len() < into.capacity() {
                return Err(corrupt("gzip", "the data ends inside a member"));
            }
        }
    }

    // A stream of snappy-java, or one raw block.

    fn snappy(&mut self, data: &[u8], into: &mut Vec<u8>, most: usize) -> Result<()> {
        const HEADER: usize = 16;
        const LENGTH: usize = 4;
        if data.len() < HEADER || !data.starts_with(SNAPPY_MAGIC) {
            return self.block(data, into, most);
        }
        let mut position = HEADER;
        while let Some(word) = data.get(position..).and_then(<[u8]>::first_chunk::<LENGTH>) {
            if word[..] == SNAPPY_MAGIC[..LENGTH] {
                let Some(head) = data.get(position..position + HEADER) else {
                    let detail = "the data ends inside the header of a further stream";
                    return Err(corrupt("snappy", detail));
                };
                if !head.starts_with(SNAPPY_MAGIC) {
                    if into.is_empty() {
                        return Ok(());
                    }
                } else if i32::from_be_bytes([head[8], head[9], head[10], head[11]]) < 1 {
                    return Err(corrupt("snappy", "a further stream has a version below 1"));
                }
                position += HEADER;
                continue;
            }
            position += LENGTH;
            let length = i32::from_be_bytes(*word);
            let chunk = usize::try_from(length)
                .ok()
                .and_then(|length| data.get(position..position.checked_add(length)?));
            let Some(chunk) = chunk else {
                let detail = format!("a chunk of {length} bytes reaches beyond the data");
                return Err(corrupt("snappy", detail));
            };
            self.block(chunk, into, most)?;
            position += chunk.len();
        }
        Ok(())
    }

    fn block(&mut self, block: &[u8], into: &mut Vec<u8>, most: usize) -> Result<()> {
        const MAX_RATIO: usize = 22; // a copy of three bytes makes 64 at most
        let claimed = snap::raw::decompress_len(block).map_err(|error| corrupt("snappy", error))?;
        if block.is_empty() {
            return Err(corrupt("snappy", "a block of no bytes"));
        }
        if claimed > MAX_RATIO * block.len() {
            let detail = format!("a block of {} bytes cannot hold {claimed} bytes", block.len());
            return Err(corrupt("snappy", detail));
        }
        let start = into.len();
        if claimed > most - start {
            return Err(too_large("snappy", most));
        }
        into.resize(start + claimed, 0);
        self.snappy
            .decompress(block, &mut into[start..])
            .map_err(|error| corrupt("snappy", error))?;
        Ok(())
    }

    // Frames and skippable frames up to the end.

    fn zstd(&mut self, data: &[u8], into: &mut Vec<u8>, most: usize) -> Result<()> {
        const MAX_WINDOW_LOG: u32 = 27;
        let failed = |error: std::io::Error| corrupt("zstd", error);
        if self.zstd.is_none() {
            let mut made = Decoder::new().map_err(failed)?;
            made.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG)).map_err(failed)?;
            self.zstd = Some(made);
        }
        let Some(decoder) = self.zstd.as_mut() else { return Ok(()) };
        let (mut position, mut frame) = (0, 0);
        while position < data.len() {
            decoder.reinit().map_err(failed)?;
            loop {
                make_room(into, data.len() - position, most);
                let start = into.len();
                into.resize(into.capacity().min(most.saturating_add(1)), 0);
                let mut input = InBuffer::around(&data[position..]);
                let mut output = OutBuffer::around(&mut into[start..]);
                let hint = decoder.run(&mut input, &mut output).map_err(failed)?;
                let (read, made) = (input.pos(), output.pos());
                let full = start + made == into.len();
                into.truncate(start + made);
                position += read;
                if into.len() > most {
                    return Err(too_large("zstd", most));
                }
                if hint == 0 {
                    break;
                }
                if position == data.len() && !full {
                    if frame > 0 && overlooked(frame, data.len()) {
                        return Ok(());
                    }
                    return Err(corrupt("zstd", "the data ends inside a frame"));
                }
            }
            frame = position;
        }
        Ok(())
    }
}

/// Returns whether Kafka's reader overlooks that the last frame is cut: it does if the frame before
/// it ended within the last piece that it took.
fn overlooked(frame: usize, size: usize) -> bool {
    const PIECE: usize = 128 * 1024 + 3;
    frame > size.saturating_sub(1) / PIECE * PIECE
}

/// Makes room for more output: a multiple of the input, no more than the bound and a byte.
fn make_room(into: &mut Vec<u8>, left: usize, most: usize) {
    const LEAST: usize = 1 << 14;
    const USUAL: usize = 4;
    if into.len() < into.capacity() {
        return;
    }
    let wanted = left.saturating_mul(USUAL).max(into.len()).max(LEAST);
    let allowed = most.saturating_add(1).saturating_sub(into.len()).max(1);
    into.reserve_exact(wanted.min(allowed));
}

/// Returns where the deflate stream of a member begins, `None` where there is no valid header.
fn member_start(data: &[u8], position: usize) -> Option<usize> {
    const PLAIN: [u8; 3] = [0x1f, 0x8b, 8];
    const HEADER: usize = 10;
    let [fhcrc, fextra, fname, fcomment] = [2, 4, 8, 16];
    let head = data.get(position..position + HEADER)?;
    if !head.starts_with(&PLAIN) {
        return None;
    }
    let flags = head[3];
    let mut body = position + HEADER;
    if flags & fextra != 0 {
        let size = data.get(body..)?.first_chunk::<2>()?;
        body += 2 + usize::from(u16::from_le_bytes(*size));
    }
    for flag in [fname, fcomment] {
        if flags & flag != 0 {
            body += 1 + data.get(body..)?.iter().position(|&byte| byte == 0)?;
        }
    }
    if body > data.len() {
        return None;
    }
    if flags & fhcrc != 0 {
        let stored = u16::from_le_bytes(*data.get(body..)?.first_chunk::<2>()?);
        if crc32fast::hash(&data[position..body]) as u16 != stored {
            return None;
        }
        body += 2;
    }
    Some(body)
}

/// The frame as Kafka reads it: it implements the frame itself, and differs from the standard.
///
/// Blocks are decompressed into room that is cleared once, since few fill what they may.
fn lz4(
    data: &[u8],
    checked: bool,
    room: &mut Vec<u8>,
    into: &mut Vec<u8>,
    most: usize,
) -> Result<()> {
    const MAX_RATIO: usize = 255; // one more byte of a length adds so many bytes of output
    let ended = || corrupt("lz4", "the data ends before the end mark");
    let (flags, largest, mut position) = frame_header(data, checked)?;
    let word_at = |position: usize| {
        let found = data.get(position..).and_then(<[u8]>::first_chunk::<4>);
        found.map(|word| u32::from_le_bytes(*word)).ok_or_else(ended)
    };
    loop {
        let word = word_at(position)?;
        position += 4;
        let size = (word & !STORED) as usize;
        if size == 0 {
            if flags & CONTENT_CHECKSUM != 0 {
                word_at(position)?;
            }
            return Ok(());
        }
        if size > largest {
            let detail = format!("a block of {size} bytes exceeds the frame's {largest}");
            return Err(corrupt("lz4", detail));
        }
        let Some(block) = data.get(position..position + size) else {
            return Err(corrupt("lz4", "the data ends inside a block"));
        };
        position += size;
        let start = into.len();
        if word & STORED != 0 {
            into.extend_from_slice(block);
        } else {
            let allowed = largest.min(MAX_RATIO * size);
            room.resize(room.len().max(allowed), 0);
            let made = lz4_flex::block::decompress_into(block, &mut room[..allowed])
                .map_err(|error| corrupt("lz4", format!("a block is broken: {error}")))?;
            into.extend_from_slice(&room[..made]);
        }
        if flags & BLOCK_CHECKSUM != 0 {
            if word_at(position)? != twox_hash::XxHash32::oneshot(0, block) {
                return Err(corrupt("lz4", "the checksum of a block does not match"));
            }
            position += 4;
        }
        if into.len() == start {
            return Ok(());
        }
        if into.len() > most {
            return Err(too_large("lz4", most));
        }
    }
}

const LZ4_MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const VERSION: u8 = 0x40;
const INDEPENDENT: u8 = 0x20;
const BLOCK_CHECKSUM: u8 = 0x10;
const CONTENT_CHECKSUM: u8 = 0x04;
const STORED: u32 = 0x8000_0000;

/// Returns the flags of a frame, the largest size of a block, and where the first block begins.
fn frame_header(data: &[u8], checked: bool) -> Result<(u8, usize, usize)> {
    const VERSION_MASK: u8 = 0xc0;
    const CONTENT_SIZE: u8 = 0x08;
    const RESERVED: u8 = 0x03;
    let cut = || corrupt("lz4", "the data ends inside the frame header");
    let head = data.first_chunk::<6>().ok_or_else(cut)?;
    if head[..4] != LZ4_MAGIC {
        return Err(corrupt("lz4", "the data does not begin with the magic of a frame"));
    }
    let (flags, descriptor) = (head[4], head[5]);
    if flags & VERSION_MASK != VERSION {
        return Err(corrupt("lz4", format!("frame version {} is not supported", flags >> 6)));
    }
    if flags & INDEPENDENT == 0 {
        return Err(corrupt("lz4", "linked blocks are not supported"));
    }
    if flags & RESERVED != 0 || descriptor & 0x8f != 0 {
        return Err(corrupt("lz4", "a reserved bit of the frame header is set"));
    }
    let size_id = descriptor >> 4;
    if size_id < 4 {
        return Err(corrupt("lz4", format!("there is no block size {size_id}")));
    }
    let end = 6 + if flags & CONTENT_SIZE == 0 { 0 } else { 8 };
    let stored = *data.get(end).ok_or_else(cut)?;
    if checked && (twox_hash::XxHash32::oneshot(0, &data[4..end]) >> 8) as u8 != stored {
        return Err(corrupt("lz4", "the checksum of the frame header does not match"));
    }
    Ok((flags, 1 << (2 * size_id + 8), end + 1))
}

/// Compresses a payload as Kafka's writers do, those of a magic.
pub fn compress(compression: i64, magic: i64, payload: &[u8]) -> Result<Vec<u8>> {
    match compression_name(compression) {
        Some("none") => Ok(payload.to_vec()),
        Some("gzip") => {
            let made = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
            written("gzip", made, payload)?.finish().map_err(|error| corrupt("gzip", error))
        }
        Some("snappy") => to_snappy(payload),
        Some("lz4") => Ok(to_lz4(payload, magic != MAGICS[0].0)),
        Some("zstd") => {
            let usual = zstd::DEFAULT_COMPRESSION_LEVEL;
            zstd::stream::encode_all(payload, usual).map_err(|error| corrupt("zstd", error))
        }
        _ => Err(unsupported(compression)),
    }
}

fn written<W: std::io::Write>(codec: &str, mut to: W, payload: &[u8]) -> Result<W> {
    to.write_all(payload).map_err(|error| corrupt(codec, error))?;
    Ok(to)
}

fn to_snappy(payload: &[u8]) -> Result<Vec<u8>> {
    const CHUNK: usize = 32 << 10;
    const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
    let mut encoder = snap::raw::Encoder::new();
    let mut made = [SNAPPY_MAGIC, &VERSIONS].concat();
    for chunk in payload.chunks(CHUNK) {
        let block = encoder.compress_vec(chunk).map_err(|error| corrupt("snappy", error))?;
        made.extend_from_slice(&(block.len() as u32).to_be_bytes());
        made.extend_from_slice(&block);
    }
    Ok(made)
}

/// Returns a frame of independent blocks, without checksums but that of its header, which of magic
/// 0 covers the magic of the frame too.
fn to_lz4(payload: &[u8], correct: bool) -> Vec<u8> {
    const BLOCK: usize = 64 << 10;
    const SIZE_ID: u8 = 4; // that of such blocks
    let mut made = [&LZ4_MAGIC[..], &[VERSION | INDEPENDENT, SIZE_ID << 4]].concat();
    let covered = if correct { &made[LZ4_MAGIC.len()..] } else { &made };
    let sum = twox_hash::XxHash32::oneshot(0, covered);
    made.push((sum >> 8) as u8);
    for chunk in payload.chunks(BLOCK) {
        let block = lz4_flex::block::compress(chunk);
        let (word, bytes) = if block.len() < chunk.len() {
            (block.len() as u32, block.as_slice())
        } else {
            (chunk.len() as u32 | STORED, chunk)
        };
        made.extend_from_slice(&word.to_le_bytes());
        made.extend_from_slice(bytes);
    }
    made.extend_from_slice(&0_u32.to_le_bytes());
    made
}
