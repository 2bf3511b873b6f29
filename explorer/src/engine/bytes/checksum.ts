/** CRC-32 and CRC-32C, sixteen bytes at a time. */

const WIDTH = 16;

/** Tables for each byte of sixteen, one after the other: the last one is for the byte before the end. */
function tables(polynomial: number): Int32Array {
  const all = new Int32Array(WIDTH << 8);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1;
    all[byte] = value;
  }
  for (let at = 256; at < all.length; at++) {
    const before = all[at - 256]!;
    all[at] = all[before & 0xff]! ^ (before >>> 8);
  }
  return all;
}

const TABLES = { crc32: tables(0xedb88320), crc32c: tables(0x82f63b78) };

export type Algorithm = keyof typeof TABLES;

/** Return the checksum of bytes; `before` is that of the bytes before them. */
export function checksum(algorithm: Algorithm, data: Uint8Array, before = 0): number {
  const t = TABLES[algorithm];
  const view = new DataView(data.buffer, data.byteOffset, data.length);
  let crc = ~before;
  let at = 0;
  for (const last = data.length - WIDTH; at <= last; at += WIDTH) {
    const a = crc ^ view.getInt32(at, true);
    const b = view.getInt32(at + 4, true);
    const c = view.getInt32(at + 8, true);
    const d = view.getInt32(at + 12, true);
    crc =
      t[0xf00 | (a & 0xff)]! ^ t[0xe00 | ((a >>> 8) & 0xff)]! ^ t[0xd00 | ((a >>> 16) & 0xff)]! ^ t[0xc00 | (a >>> 24)]! ^
      t[0xb00 | (b & 0xff)]! ^ t[0xa00 | ((b >>> 8) & 0xff)]! ^ t[0x900 | ((b >>> 16) & 0xff)]! ^ t[0x800 | (b >>> 24)]! ^
      t[0x700 | (c & 0xff)]! ^ t[0x600 | ((c >>> 8) & 0xff)]! ^ t[0x500 | ((c >>> 16) & 0xff)]! ^ t[0x400 | (c >>> 24)]! ^
      t[0x300 | (d & 0xff)]! ^ t[0x200 | ((d >>> 8) & 0xff)]! ^ t[0x100 | ((d >>> 16) & 0xff)]! ^ t[d >>> 24]!;
  }
  for (; at < data.length; at++) crc = t[(crc ^ data[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
