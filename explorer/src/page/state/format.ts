/** Short forms of numbers, times and bytes, for people. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const GROUPS = new Intl.NumberFormat('en');

export function count(value: number | bigint): string {
  return GROUPS.format(value);
}

export function many(value: number | bigint, what: string, plural = `${what}s`): string {
  return `${count(value)} ${value == 1 ? what : plural}`;
}

export function bytes(size: number): string {
  let scaled = size;
  let unit = 0;
  while (scaled >= 1024 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${unit ? scaled.toFixed(1) : scaled} ${UNITS[unit]}`;
}

export function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** Milliseconds since 1970 as ISO 8601 in UTC; a time outside of the calendar stays a number. */
export function time(timestamp: bigint | null): string {
  if (timestamp === null || timestamp < 0n) return '–';
  const date = new Date(Number(timestamp));
  return Number.isNaN(date.getTime()) ? `${timestamp} ms` : date.toISOString().replace('T', ' ').replace('Z', '');
}

/** What a person typed as a time: milliseconds, or ISO 8601 (UTC without a zone). */
export function parseTime(text: string): bigint | null {
  const typed = text.trim();
  if (/^-?\d{5,}$/.test(typed)) return BigInt(typed);
  const zoned = /([zZ]|[+-]\d\d:?\d\d)$/.test(typed) || !typed.includes(':') ? typed : `${typed}Z`;
  const found = Date.parse(zoned.replace(' ', 'T'));
  return Number.isNaN(found) ? null : BigInt(found);
}

/** A number in decimal, or in hex with 0x. */
export function parseNumber(text: string): bigint | null {
  const typed = text.trim().replace(/[,_ ]/g, '');
  return /^(0x[0-9a-f]{1,16}|\d{1,19})$/i.test(typed) ? BigInt(typed) : null;
}

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text in one line, in which nothing turns text around, ends a line or is invisible. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (one) => {
    const code = one.codePointAt(0) ?? 0;
    if (code === 10) return '⏎';
    if (code === 9) return '⇥';
    return code < 256 ? `\\x${hex(code, 2)}` : `\\u{${hex(code, 4)}}`;
  });
}

/** Text that keeps its lines, in which nothing else is invisible. */
export function lines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Bytes as hex, sixteen in a line. */
export function hexLines(data: Uint8Array): string {
  const rows: string[] = [];
  for (let start = 0; start < data.length; start += 16) {
    const row = data.subarray(start, start + 16);
    const codes = Array.from(row, (byte) => hex(byte, 2)).join(' ');
    rows.push(`${hex(start, 6)}  ${codes.padEnd(47)}  ${ascii(row)}`);
  }
  return rows.join('\n');
}

export function ascii(data: Uint8Array): string {
  return Array.from(data, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('');
}
