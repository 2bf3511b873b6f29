/**
 * Decompression as Kafka's readers do it, with a bound on the output: the rules are those of
 * `kafkaspec/compression`, one section for each codec. README.md says which packages and why.
 */
import { Decompress } from 'fzstd';
import { Inflate } from 'pako';
import { xxHash32 } from 'js-xxhash';
import { checksum } from './checksum';
import { FACTS } from '../specification/facts';
import { joined } from './source';

/** A payload that is refused, with a reason of kafkaspec's list. */
export class PayloadError extends Error {
  constructor(readonly reason: string, readonly detail: string) {
    super(detail);
  }
}

function corrupt(codec: string, detail: string): PayloadError {
  return new PayloadError('decompression_failed', `${codec}: ${detail}`);
}

function tooLarge(codec: string, most: number): PayloadError {
  return new PayloadError('decompressed_too_large', `${codec}: the output exceeds the bound of ${most} bytes`);
}

/** Collects output, and refuses more than the bound. */
class Output {
  private readonly parts: Uint8Array[] = [];
  size = 0;

  constructor(private readonly codec: string, readonly most: number) {}

  add(part: Uint8Array): void {
    this.size += part.length;
    if (this.size > this.most) throw tooLarge(this.codec, this.most);
    if (part.length) this.parts.push(part);
  }

  get room(): number {
    return this.most - this.size;
  }

  all(): Uint8Array {
    return this.parts.length === 1 ? this.parts[0]! : joined(this.parts);
  }
}

type Decompressor = (data: Uint8Array, magic: number, out: Output) => void;

const BY_NAME: Record<string, Decompressor> = { gzip, snappy, lz4, zstd };

/** Decompress the payload of a batch or wrapper; `codec` is the number that is stored. */
export function decompress(codec: number, data: Uint8Array, magic: number, most = FACTS.maxOutput): Uint8Array {
  const name = FACTS.codecs[codec];
  if (name === 'none') return data;
  const run = name === undefined ? undefined : BY_NAME[name];
  if (name === undefined || run === undefined) {
    throw new PayloadError('unsupported_compression', `there is no codec ${codec}`);
  }
  if (name === 'zstd' && magic < 2) {
    throw new PayloadError('unsupported_compression', `zstd is not allowed in magic ${magic}`);
  }
  const out = new Output(name, most);
  try {
    run(data, magic, out);
  } catch (error) {
    if (error instanceof PayloadError) throw error;
    if (error instanceof RangeError && /alloc|length/i.test(error.message)) {
      throw new PayloadError('too_large', 'there is not enough memory to read it');
    }
    throw corrupt(name, error instanceof Error ? error.message : String(error));
  }
  return out.all();
}

const u32be = (data: Uint8Array, at: number): number =>
  ((data[at]! << 24) | (data[at + 1]! << 16) | (data[at + 2]! << 8) | data[at + 3]!) >>> 0;
const u32le = (data: Uint8Array, at: number): number =>
  (data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24)) >>> 0;

function startsWith(data: Uint8Array, bytes: readonly number[], at = 0): boolean {
  return at + bytes.length <= data.length && bytes.every((byte, index) => data[at + index] === byte);
}

// -- gzip: Java's GZIPInputStream over zlib (pako is a port of it) ------------------------------

const GZIP = { header: 10, trailer: 8, hcrc: 2, extra: 4, name: 8, comment: 16, ignoredTail: 18 };
const GZIP_ID = [0x1f, 0x8b, 8] as const;
const STEP = 16 * 1024;

function gzip(data: Uint8Array, _: number, out: Output): void {
  let start = memberStart(data, 0);
  if (start === null) throw corrupt('gzip', 'the data does not begin with a valid member header');
  while (start !== null) {
    const end = inflate(data, start, out);
    start = data.length - end > GZIP.ignoredTail ? memberStart(data, end) : null;
  }
}

function memberStart(data: Uint8Array, at: number): number | null {
  let body = at + GZIP.header;
  if (body > data.length || !startsWith(data, GZIP_ID, at)) return null;
  const flags = data[at + 3]!;
  if (flags & GZIP.extra) {
    if (body + 2 > data.length) return null;
    body += 2 + data[body]! + 256 * data[body + 1]!;
  }
  for (const flag of [GZIP.name, GZIP.comment]) {
    if (!(flags & flag)) continue;
    const zero = data.indexOf(0, body);
    body = zero < 0 ? data.length + 1 : zero + 1;
  }
  if (body > data.length) return null;
  if (flags & GZIP.hcrc) {
    if (body + 2 > data.length) return null;
    const stored = data[body]! + 256 * data[body + 1]!;
    if (stored !== (checksum('crc32', data.subarray(at, body)) & 0xffff)) return null;
    body += 2;
  }
  return body;
}

/** Inflate the member whose stream begins at a position; return where its trailer ends. */
function inflate(data: Uint8Array, start: number, out: Output): number {
  const stream = new Inflate({ raw: true, chunkSize: 64 * 1024 });
  const before = out.size;
  let crc = 0;
  stream.onData = (part: Uint8Array<ArrayBuffer>): void => {
    crc = checksum('crc32', part, crc);
    out.add(part);
  };
  let at = start;
  while (!stream.ended) {
    if (at >= data.length) throw corrupt('gzip', 'the data ends inside a member');
    const piece = data.subarray(at, at + STEP);
    at += piece.length;
    stream.push(piece as Uint8Array<ArrayBuffer>, false);
    if (stream.err) throw corrupt('gzip', `the deflate stream is broken: ${stream.msg}`);
  }
  at -= (stream as unknown as { strm: { avail_in: number } }).strm.avail_in;
  if (at + GZIP.trailer > data.length) throw corrupt('gzip', 'the data ends inside a trailer');
  if (u32le(data, at) !== crc || u32le(data, at + 4) !== (out.size - before) >>> 0) {
    throw corrupt('gzip', 'CRC or length in the trailer do not match the output');
  }
  return at + GZIP.trailer;
}

// -- snappy: xerial's SnappyInputStream, or one raw block ---------------------------------------

const XERIAL = [0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0];
const XERIAL_HEADER = XERIAL.length + 8;
const SNAPPY_RATIO = 22;

function snappy(data: Uint8Array, _: number, out: Output): void {
  if (data.length < XERIAL_HEADER || !startsWith(data, XERIAL)) {
    out.add(snappyBlock(data, out));
    return;
  }
  let at = XERIAL_HEADER;
  while (at + 4 <= data.length) {
    if (startsWith(data, XERIAL.slice(0, 4), at)) {
      if (!isXerialHeader(data, at) && !out.size) break;
      at += XERIAL_HEADER;
      continue;
    }
    const length = u32be(data, at);
    at += 4;
    if (length > data.length - at) {
      throw corrupt('snappy', `a chunk of ${length | 0} bytes reaches beyond the data`);
    }
    out.add(snappyBlock(data.subarray(at, at + length), out));
    at += length;
  }
}

function isXerialHeader(data: Uint8Array, at: number): boolean {
  if (at + XERIAL_HEADER > data.length) {
    throw corrupt('snappy', 'the data ends inside the header of a further stream');
  }
  if (!startsWith(data, XERIAL, at)) return false;
  const version = u32be(data, at + XERIAL.length) | 0;
  if (version < 1) throw corrupt('snappy', `a further stream has version ${version}`);
  return true;
}

function snappyBlock(block: Uint8Array, out: Output): Uint8Array {
  let claimed = 0;
  let at = 0;
  for (; ; at++) {
    const byte = block[at];
    if (byte === undefined || at > 4) throw corrupt('snappy', 'a block does not begin with a valid length');
    claimed += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) break;
  }
  if (claimed >= 2 ** 32) throw corrupt('snappy', 'a block does not begin with a valid length');
  if (claimed > SNAPPY_RATIO * block.length) {
    throw corrupt('snappy', `a block of ${block.length} bytes cannot hold ${claimed} bytes`);
  }
  if (claimed > out.room) throw tooLarge('snappy', out.most);
  const made = new Uint8Array(claimed);
  let size = 0;
  at++;
  while (at < block.length) {
    const tag = block[at++]!;
    let length: number;
    if ((tag & 3) === 0) {
      length = (tag >>> 2) + 1;
      if (length > 60) {
        const bytes = length - 60;
        if (at + bytes > block.length) throw corrupt('snappy', 'a block ends inside a literal');
        length = 1;
        for (let index = 0; index < bytes; index++) length += block[at + index]! * 2 ** (8 * index);
        at += bytes;
      }
      if (at + length > block.length || size + length > claimed) {
        throw corrupt('snappy', 'a literal reaches beyond the block');
      }
      made.set(block.subarray(at, at + length), size);
      at += length;
      size += length;
      continue;
    }
    const bytes = (tag & 3) === 1 ? 1 : (tag & 3) === 2 ? 2 : 4;
    if (at + bytes > block.length) throw corrupt('snappy', 'a block ends inside a copy');
    length = bytes === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    let distance = bytes === 1 ? (tag >>> 5) << 8 : 0;
    for (let index = 0; index < bytes; index++) distance += block[at + index]! * 2 ** (8 * index);
    at += bytes;
    size = copy(made, size, distance, length, 'snappy');
  }
  if (size !== claimed) throw corrupt('snappy', `a block holds ${size} bytes, not ${claimed}`);
  return made;
}

/** Repeat output; where it overlaps itself, byte by byte. Returns the new size. */
function copy(made: Uint8Array, size: number, distance: number, length: number, codec: string): number {
  if (distance === 0 || distance > size) throw corrupt(codec, 'a copy begins before the output');
  if (size + length > made.length) throw corrupt(codec, 'a copy reaches beyond the output');
  const from = size - distance;
  if (distance >= length) made.copyWithin(size, from, from + length);
  else for (let index = 0; index < length; index++) made[size + index] = made[from + index]!;
  return size + length;
}

// -- lz4: Kafka's Lz4BlockInputStream ------------------------------------------------------------

const LZ4_MAGIC = [0x04, 0x22, 0x4d, 0x18];
const FLG = { version: 0xc0, version1: 0x40, independent: 0x20, blockChecksum: 0x10, contentSize: 0x08, contentChecksum: 0x04, reserved: 0x03 };
const BD_RESERVED = 0x8f;
const SMALLEST_BLOCK = 4;
const STORED = 0x8000_0000;
const LZ4_RATIO = 255;

function lz4(data: Uint8Array, magic: number, out: Output): void {
  const start = LZ4_MAGIC.length;
  let end = start + 2;
  if (data.length < end) throw corrupt('lz4', 'the data ends inside the frame header');
  if (!startsWith(data, LZ4_MAGIC)) throw corrupt('lz4', 'the data does not begin with the magic of a frame');
  const flags = data[start]!;
  const descriptor = data[start + 1]!;
  if ((flags & FLG.version) !== FLG.version1) throw corrupt('lz4', `frame version ${flags >> 6} is not supported`);
  if (!(flags & FLG.independent)) throw corrupt('lz4', 'linked blocks are not supported');
  if (flags & FLG.reserved || descriptor & BD_RESERVED) {
    throw corrupt('lz4', 'a reserved bit of the frame header is set');
  }
  if (descriptor >> 4 < SMALLEST_BLOCK) throw corrupt('lz4', `there is no block size ${descriptor >> 4}`);
  const largest = 1 << (2 * (descriptor >> 4) + 8);
  if (flags & FLG.contentSize) end += 8;
  if (data.length <= end) throw corrupt('lz4', 'the data ends inside the frame header');
  // Writers of magic 0 hashed the magic of the frame as well: nobody checks it there (KAFKA-3160).
  if (magic !== 0 && data[end] !== ((xxHash32(data.subarray(start, end), 0) >>> 8) & 0xff)) {
    throw corrupt('lz4', 'the checksum of the frame header does not match');
  }
  let at = end + 1;
  const word = (): number => {
    if (at + 4 > data.length) throw corrupt('lz4', 'the data ends before the end mark');
    at += 4;
    return u32le(data, at - 4);
  };
  for (;;) {
    const head = word();
    const stored = head >= STORED;
    const size = stored ? head - STORED : head;
    if (size === 0) {
      if (flags & FLG.contentChecksum) word();
      return;
    }
    if (size > largest) throw corrupt('lz4', `a block of ${size} bytes exceeds the frame's ${largest}`);
    const block = data.subarray(at, at + size);
    if (block.length < size) throw corrupt('lz4', 'the data ends inside a block');
    const piece = stored ? block : lz4Block(block, Math.min(largest, LZ4_RATIO * size));
    at += size;
    if (flags & FLG.blockChecksum && word() !== xxHash32(block, 0) >>> 0) {
      throw corrupt('lz4', 'the checksum of a block does not match');
    }
    if (!piece.length) return;
    out.add(piece);
  }
}

let scratch = new Uint8Array(0);

function lz4Block(block: Uint8Array, most: number): Uint8Array {
  if (scratch.length < most) scratch = new Uint8Array(most);
  const made = scratch.subarray(0, most);
  let at = 0;
  let size = 0;
  const extended = (length: number): number => {
    if (length < 15) return length;
    for (;;) {
      const byte = block[at++];
      if (byte === undefined) throw corrupt('lz4', 'a block is broken: it ends inside a length');
      length += byte;
      if (byte < 255) return length;
    }
  };
  while (at < block.length) {
    const token = block[at++]!;
    const literals = extended(token >> 4);
    if (at + literals > block.length || size + literals > most) {
      throw corrupt('lz4', 'a block is broken: a literal reaches beyond it');
    }
    made.set(block.subarray(at, at + literals), size);
    at += literals;
    size += literals;
    if (at === block.length) return made.slice(0, size);
    if (at + 2 > block.length) throw corrupt('lz4', 'a block is broken: it ends inside a copy');
    const distance = block[at]! | (block[at + 1]! << 8);
    at += 2;
    size = copy(made, size, distance, extended(token & 15) + 4, 'lz4');
  }
  throw corrupt('lz4', 'a block is broken: it ends after a copy');
}

// -- zstd ----------------------------------------------------------------------------------------

function zstd(data: Uint8Array, _: number, out: Output): void {
  if (!data.length) return;
  const stream = new Decompress((part) => out.add(part.slice()));
  for (let at = 0; at < data.length; at += STEP) {
    stream.push(data.subarray(at, at + STEP), at + STEP >= data.length);
  }
}
