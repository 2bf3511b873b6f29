/** CRC-32 and CRC-32C, eight bytes at a time. */

function tables(polynomial: number): Int32Array[] {
  const first = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1;
    first[byte] = value;
  }
  const all = [first];
  for (let number = 1; number < 8; number++) {
    const before = all[number - 1]!;
    all.push(before.map((value) => first[value & 0xff]! ^ (value >>> 8)));
  }
  return all;
}

const TABLES = { crc32: tables(0xedb88320), crc32c: tables(0x82f63b78) };

export type Algorithm = keyof typeof TABLES;

/** Return the checksum of bytes; `before` is that of the bytes before them. */
export function checksum(algorithm: Algorithm, data: Uint8Array, before = 0): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = TABLES[algorithm] as [
    Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array,
  ];
  let crc = ~before;
  let at = 0;
  const last = data.length - 8;
  for (; at <= last; at += 8) {
    const low = crc ^ (data[at]! | (data[at + 1]! << 8) | (data[at + 2]! << 16) | (data[at + 3]! << 24));
    crc =
      t7[low & 0xff]! ^ t6[(low >>> 8) & 0xff]! ^ t5[(low >>> 16) & 0xff]! ^ t4[low >>> 24]! ^
      t3[data[at + 4]!]! ^ t2[data[at + 5]!]! ^ t1[data[at + 6]!]! ^ t0[data[at + 7]!]!;
  }
  for (; at < data.length; at++) crc = t0[(crc ^ data[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
