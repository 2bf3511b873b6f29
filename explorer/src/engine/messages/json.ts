/** JSON as Python's `json.dumps` and as Jackson write it, of values with 64-bit integers. */

/** A number with a point, which Java writes in its own way. */
export class Double {
  constructor(readonly value: number) {}
}

export type Json = null | boolean | number | bigint | string | Double | Json[] | Map<string, Json>;

/** Fields in order, as an object of JSON. */
export function fields(...pairs: [string, Json][]): Map<string, Json> {
  return new Map(pairs);
}

interface Style {
  comma: string;
  colon: string;
  text: (text: string) => string;
}

/** As `json.dumps` does: ASCII, with blanks. */
const PYTHON: Style = { comma: ', ', colon: ': ', text: ascii };
/** As Jackson does: no blanks, upper-case escapes. */
const JACKSON: Style = { comma: ',', colon: ':', text: upper };

export const pythonJson = (value: Json): string => write(value, PYTHON);
export const jacksonJson = (value: Json): string => write(value, JACKSON);

/** A text in quotes, with nothing escaped that need not be. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

function ascii(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => (unit === '\u007f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

function upper(text: string): string {
  const made = JSON.stringify(text);
  if (!made.includes('\\u')) return made;
  return made.replace(/(?<!\\)((?:\\\\)*\\u)(00[01][a-f])/g, (_, start: string, digits: string) => start + digits.toUpperCase());
}

function write(value: Json, style: Style): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return style.text(value);
  if (value instanceof Double) return javaDouble(value.value);
  if (Array.isArray(value)) return `[${value.map((item) => write(item, style)).join(style.comma)}]`;
  if (value instanceof Map) {
    const pairs = Array.from(value, ([key, item]) => style.text(key) + style.colon + write(item, style));
    return `{${pairs.join(style.comma)}}`;
  }
  return String(value);
}

/** A number as `Double.toString` writes it. */
function javaDouble(value: number): string {
  if (Number.isNaN(value)) return '"NaN"';
  if (!Number.isFinite(value)) return value > 0 ? '"Infinity"' : '"-Infinity"';
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e7) {
    const text = String(value);
    return text.includes('.') ? text : `${text}.0`;
  }
  const [digits, power] = size.toExponential().split('e') as [string, string];
  return `${value < 0 ? '-' : ''}${digits.includes('.') ? digits : `${digits}.0`}E${Number(power)}`;
}

// -- text of bytes -------------------------------------------------------------------------------

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LAX = new TextDecoder('utf-8', { ignoreBOM: true });

/** The text of bytes if they are UTF-8, else null. */
export function utf8(bytes: Uint8Array): string | null {
  try {
    return STRICT.decode(bytes);
  } catch {
    return null;
  }
}

/** The text of bytes as Java makes it: U+FFFD for what is malformed, one for a surrogate. */
export function javaText(bytes: Uint8Array): string {
  const text = utf8(bytes);
  if (text !== null) return text;
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== 0xed || (bytes[at + 1] ?? 0) < 0xa0) continue;
    let end = at + 1;
    while (end < bytes.length && end < at + 3 && (bytes[end]! & 0xc0) === 0x80) end++;
    if (end === at + 1) continue;
    parts.push(LAX.decode(bytes.subarray(from, at)), '\ufffd');
    from = end;
    at = end - 1;
  }
  parts.push(LAX.decode(bytes.subarray(from)));
  return parts.join('');
}

export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x6000) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + 0x6000)));
  }
  return text;
}

/** JSON of bytes as `dump` has it: a text if they are UTF-8, else base64. */
export function bytesJson(bytes: Uint8Array | null): string {
  if (bytes === null) return 'null';
  const text = utf8(bytes);
  return text === null ? `{"base64": "${base64(bytes)}"}` : quoted(text);
}
