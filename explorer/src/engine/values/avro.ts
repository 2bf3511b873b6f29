/** Avro's binary encoding as JSON: a function for each schema. */
import { quoted } from '../messages/json';
import { DEEPEST, MOST_ITEMS, NotDecoded, numberJson, textJson } from './undecoded';

/** Bytes of a decimal: the time that its digits take grows faster than they do. */
const MOST_DECIMAL = 1 << 16;

type Shape = string | Shape[] | { type: Shape; [member: string]: unknown };
type Read = (from: Reader, depth: number) => string;

class Reader {
  at = 0;
  items = 0;
  private readonly view: DataView;

  constructor(readonly data: Uint8Array) {
    this.view = new DataView(data.buffer, data.byteOffset, data.length);
  }

  take(size: number): number {
    if (size < 0 || size > this.data.length - this.at) throw new NotDecoded(`byte ${this.at}: ${size} bytes are wanted, ${this.data.length - this.at} are left`);
    this.at += size;
    return this.at - size;
  }

  long(): bigint {
    const start = this.at;
    let [found, shift] = [0n, 0n];
    for (;;) {
      const byte = this.data[this.take(1)]!;
      found |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) break;
      shift += 7n;
      if (shift > 63n) throw new NotDecoded(`byte ${start}: a number of more than 64 bits`);
    }
    if (found >> 64n) throw new NotDecoded(`byte ${start}: a number of more than 64 bits`);
    return (found >> 1n) ^ -(found & 1n);
  }

  size(): number {
    const size = this.long();
    if (size < 0n || size > BigInt(this.data.length)) throw new NotDecoded(`byte ${this.at}: a length of ${size}`);
    return Number(size);
  }

  bytes(size = this.size()): Uint8Array {
    const start = this.take(size);
    return this.data.subarray(start, start + size);
  }

  item(): void {
    if (++this.items > MOST_ITEMS) throw new NotDecoded(`more than ${MOST_ITEMS} items`);
  }

  number(size: 4 | 8): string {
    const at = this.take(size);
    const found = size === 4 ? this.view.getFloat32(at, true) : this.view.getFloat64(at, true);
    return numberJson(found);
  }
}

/** Bytes as Avro writes them in JSON: each is the character of its number. */
const latin = (bytes: Uint8Array): string => quoted(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

const PLAIN: Record<string, Read> = {
  null: () => 'null',
  boolean: (from) => {
    const byte = from.data[from.take(1)]!;
    if (byte > 1) throw new NotDecoded(`byte ${from.at - 1}: a boolean of ${byte}`);
    return String(byte === 1);
  },
  int: (from) => String(from.long()),
  long: (from) => String(from.long()),
  float: (from) => from.number(4),
  double: (from) => from.number(8),
  bytes: (from) => latin(from.bytes()),
  string: (from) => textJson(from.bytes()),
};

function decimal(bytes: Uint8Array, scale: number): string {
  if (bytes.length > MOST_DECIMAL) throw new NotDecoded(`a decimal of more than ${MOST_DECIMAL} bytes`);
  // At once, since BigInt is copied by every operation.
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const value = BigInt.asIntN(8 * bytes.length, BigInt(`0x${hex || '0'}`));
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  return `"${value < 0n ? '-' : ''}${whole}${scale ? `.${digits.slice(-scale)}` : ''}"`;
}

/** A time for people, if it is one of the calendar; else its number. */
function moment(value: bigint, perMilli: bigint, ending: string): string {
  const millis = Number(value / perMilli - (value % perMilli < 0n ? 1n : 0n));
  const date = new Date(millis);
  if (Number.isNaN(date.getTime())) return String(value);
  const rest = ((value % perMilli) + perMilli) % perMilli;
  const digits = perMilli === 1n ? '' : rest.toString().padStart(String(perMilli).length - 1, '0');
  return `"${date.toISOString().slice(0, -1)}${digits}${ending}"`;
}

const MOMENTS: Record<string, [bigint, string]> = {
  'timestamp-millis': [1n, 'Z'], 'timestamp-micros': [1000n, 'Z'], 'timestamp-nanos': [1_000_000n, 'Z'],
  'local-timestamp-millis': [1n, ''], 'local-timestamp-micros': [1000n, ''], 'local-timestamp-nanos': [1_000_000n, ''],
};

function logical(schema: Record<string, unknown>, base: string, size: number | null): Read | null {
  const name = String(schema['logicalType'] ?? '');
  const times = MOMENTS[name];
  if (base === 'long' && times) return (from) => moment(from.long(), ...times);
  if (base === 'int' && name === 'date') {
    return (from) => {
      const days = from.long();
      const date = new Date(Number(days) * 86_400_000);
      return Number.isNaN(date.getTime()) ? String(days) : `"${date.toISOString().slice(0, 10)}"`;
    };
  }
  const scale = Number(schema['scale'] ?? 0);
  if (name === 'decimal' && Number.isInteger(scale) && scale >= 0 && scale < 1000) {
    return (from) => decimal(from.bytes(size ?? undefined), scale);
  }
  return null;
}

/** Named types by their full names, those that a schema refers to too. */
export type NamedTypes = Map<string, Read>;

/** Compile a schema; what it names is added to `named`. */
export function compileAvro(schema: unknown, named: NamedTypes = new Map()): (data: Uint8Array) => string {
  let read: Read;
  try {
    read = compiled(schema as Shape, '', named);
  } catch (error) {
    throw error instanceof NotDecoded ? error : new NotDecoded('the schema has not what Avro asks for');
  }
  const isBytes = (schema as Shape) === 'bytes' || (schema as { type?: Shape } | null)?.type === 'bytes';
  return (data) => {
    const from = new Reader(data);
    // Confluent's serializer for Java leaves out the length of bytes that are all of a value.
    if (isBytes && !isWhole(data)) return latin(data);
    const found = read(from, 0);
    if (from.at < data.length) throw new NotDecoded(`${data.length - from.at} bytes follow`);
    return found;
  };
}

/** Whether bytes are exactly as long as their first number says. */
function isWhole(data: Uint8Array): boolean {
  const from = new Reader(data);
  try {
    from.bytes();
  } catch {
    return false;
  }
  return from.at === data.length;
}

function fullName(name: string, space: string): string {
  return name.includes('.') || !space ? name : `${space}.${name}`;
}

function compiled(schema: Shape, space: string, named: NamedTypes): Read {
  if (typeof schema === 'string') {
    const plain = Object.hasOwn(PLAIN, schema) ? PLAIN[schema] : undefined;
    if (plain) return plain;
    const full = named.has(fullName(schema, space)) ? fullName(schema, space) : schema;
    if (!named.has(full)) throw new NotDecoded(`there is no type ${schema}`);
    // A record may have itself in it: what it is, is known when bytes are read.
    return (from, depth) => named.get(full)!(from, depth);
  }
  if (Array.isArray(schema)) {
    const branches = schema.map((branch) => compiled(branch, space, named));
    return (from, depth) => {
      const branch = branches[Number(from.long())];
      if (!branch) throw new NotDecoded(`byte ${from.at}: a branch that the union does not have`);
      return branch(from, depth);
    };
  }
  if (typeof schema !== 'object' || schema === null) throw new NotDecoded('a schema is a name, a list or an object');
  const { type } = schema;
  if (typeof type !== 'string') return compiled(type, space, named);
  if (type === 'array' || type === 'map') {
    const item = compiled((type === 'array' ? schema['items'] : schema['values']) as Shape, space, named);
    return blocks(item, type === 'map');
  }
  if (type === 'record' || type === 'error' || type === 'enum' || type === 'fixed') return namedType(schema, type, space, named);
  return logical(schema, type, null) ?? compiled(type, space, named);
}

function blocks(item: Read, isMap: boolean): Read {
  return (from, depth) => {
    if (depth > DEEPEST) throw new NotDecoded(`more than ${DEEPEST} levels`);
    const parts: string[] = [];
    for (;;) {
      let count = from.long();
      if (count === 0n) break;
      if (count < 0n) {
        count = -count;
        from.long();
      }
      for (let done = 0n; done < count; done++) {
        from.item();
        parts.push(isMap ? `${textJson(from.bytes())}: ${item(from, depth + 1)}` : item(from, depth + 1));
      }
    }
    return isMap ? `{${parts.join(', ')}}` : `[${parts.join(', ')}]`;
  };
}

function namedType(schema: Record<string, unknown>, type: string, outer: string, named: NamedTypes): Read {
  const name = fullName(String(schema['name']), String(schema['namespace'] ?? outer));
  const space = name.slice(0, Math.max(0, name.lastIndexOf('.')));
  if (type === 'enum') {
    const symbols = (schema['symbols'] as unknown[]).map((symbol) => quoted(String(symbol)));
    named.set(name, (from) => {
      const symbol = symbols[Number(from.long())];
      if (symbol === undefined) throw new NotDecoded(`byte ${from.at}: a symbol that ${name} does not have`);
      return symbol;
    });
  } else if (type === 'fixed') {
    const size = Number(schema['size']);
    if (!Number.isSafeInteger(size) || size < 0) throw new NotDecoded(`${name} has no size`);
    named.set(name, logical(schema, 'fixed', size) ?? ((from) => latin(from.bytes(size))));
  } else {
    named.set(name, () => 'null'); // until its fields are known
    const fields = (schema['fields'] as { name: string; type: Shape }[]).map(
      (field) => [quoted(field.name), compiled(field.type, space, named)] as const,
    );
    named.set(name, (from, depth) => {
      if (depth > DEEPEST) throw new NotDecoded(`more than ${DEEPEST} levels`);
      from.item();
      return `{${fields.map(([own, read]) => `${own}: ${read(from, depth + 1)}`).join(', ')}}`;
    });
  }
  return named.get(name)!;
}
