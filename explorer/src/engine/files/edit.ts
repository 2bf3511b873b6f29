/**
 * A field with another value, and what follows from it, as `kafkaspec assemble` writes it: lengths,
 * checksums and the numbers of records. Those that did not follow before stay as they are.
 */
import { EngineError, type FieldNode } from '../api';
import { joined } from '../bytes/source';
import { checksum } from '../bytes/checksum';
import { utf8 } from '../messages/json';
import { camel, FACTS, typeFacts, type FieldFacts } from '../specification/facts';
import { keyOf, type Made, type Place } from '../specification/runtime';

/** A value as a person writes it. */
export interface Written {
  /** Of a text, `hex` or `raw`; null for a word or number. */
  bytes: Uint8Array | null;
  word: string;
  /** The bytes of the field as they are stored. */
  raw: boolean;
  /** Whether it holds although another one follows from other fields, or no reader takes it. */
  forced: boolean;
}

export function unencodable(detail: string): EngineError {
  return new EngineError({ reason: 'unencodable', detail, position: null, inner: null, path: '' });
}

const TEXT = /^("(?:[^"\\]|\\.)*")\s*(!)?$/su;
const BYTES = /^(hex|raw)((?:\s+[0-9a-fA-F]+)*)\s*(!)?$/u;
const WORD = /^([^\s"#!]+)\s*(!)?$/u;
/** What a terminal cannot show, so that bytes with it are written as hex. */
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** Read what a person wrote: `12`, `gzip`, `"text"`, `hex 00 ff`, `raw 85 00`, each perhaps with `!`. */
export function readValue(given: string): Written {
  const text = given.trim();
  let found = TEXT.exec(text);
  if (found) {
    try {
      const bytes = new TextEncoder().encode(JSON.parse(found[1]!) as string);
      return { bytes, word: '', raw: false, forced: found[2] === '!' };
    } catch {
      throw unencodable(`not a text in quotes as JSON writes it: ${text}`);
    }
  }
  found = BYTES.exec(text);
  if (found) {
    const digits = found[2]!.replace(/\s+/gu, '');
    if (digits.length % 2) throw unencodable('an odd number of hexadecimal digits');
    const bytes = Uint8Array.from(digits.match(/../gu) ?? [], (pair) => parseInt(pair, 16));
    return { bytes, word: '', raw: found[1] === 'raw', forced: found[3] === '!' };
  }
  found = WORD.exec(text);
  if (found) return { bytes: null, word: found[1]!, raw: false, forced: found[2] === '!' };
  throw unencodable('a value is a number, a name, "text" in quotes, hex 00 ff or raw 85 00; ! after it forces it');
}

/** The value of a field as a person may write it again. */
export function writtenValue(field: FieldFacts, given: Made): string {
  const value = typeof given === 'object' && given !== null && '_io' in given ? given.value : given;
  if (value === undefined || value === null) return 'null';
  if (value instanceof Uint8Array) {
    const text = utf8(value);
    if (text !== null && !UNSHOWN.test(text)) return JSON.stringify(text);
    return ['hex', ...Array.from(value, (byte) => byte.toString(16).padStart(2, '0'))].join(' ');
  }
  const name = field.enum && FACTS.enums[field.enum]?.[String(Number(value))]?.[0];
  return name || String(value);
}

function scalarOf(field: FieldFacts): string | undefined {
  return field.type ? FACTS.types[field.type]?.scalar : undefined;
}

function holdsBytes(field: FieldFacts): boolean {
  return field.kind === 'bytes' || ['bytes', 'nullable_bytes'].includes(scalarOf(field) ?? '');
}

/** Whether a field, or an item of it, is one value and not a structure. */
export function isPlain(field: FieldFacts): boolean {
  return !['type', 'choice', 'guard'].includes(field.kind) || scalarOf(field) !== undefined;
}

// -- values to bytes ---------------------------------------------------------------------------

/** Bits of a field that holds an integer, and whether it has a sign. */
function widthOf(field: FieldFacts): [number, boolean] {
  if (field.kind === 'bits') return [field.width ?? 1, false];
  return FACTS.varints[scalarOf(field) ?? ''] ?? [8 * (field.size ?? 0), field.signed ?? false];
}

function takes(field: FieldFacts): string {
  if (holdsBytes(field)) return scalarOf(field) === 'nullable_bytes' ? 'a "text", hex or null' : 'a "text" or hex';
  if (field.kind === 'float') return 'a number';
  if (field.boolean) return 'true or false';
  const [bits, signed] = widthOf(field);
  const high = (1n << BigInt(bits - (signed ? 1 : 0))) - 1n;
  const names = Object.values(FACTS.enums[field.enum ?? ''] ?? {}).map(([name]) => name);
  return `${names.length ? `${names.join(', ')}, or ` : ''}a number from ${signed ? -high - 1n : 0} to ${high}`;
}

const INTEGER = new RegExp(`^(?:${FACTS.numerals.integer})$`, 'u');
const DECIMAL = new RegExp(`^(?:${FACTS.numerals.decimal})$`, 'u');

/** A number with a point, as Python writes it; null for none. */
function decimalOf(word: string): number | null {
  if (!DECIMAL.test(word)) return null;
  const plain = word.toLowerCase().replaceAll('_', '');
  return Number(plain.replace(/inf(?:inity)?/u, 'Infinity').replace(/^nan$/u, 'NaN'));
}

export function numberOf(field: FieldFacts, word: string): bigint | null {
  if (field.boolean && (word === 'true' || word === 'false')) return word === 'true' ? 1n : 0n;
  for (const [number, [name]] of Object.entries(FACTS.enums[field.enum ?? ''] ?? {})) {
    if (name === word) return BigInt(number);
  }
  if (!INTEGER.test(word)) return null;
  const size = BigInt(word.replace(/[-+_]/gu, ''));
  return word.startsWith('-') ? -size : size;
}

function fits(field: FieldFacts, number: bigint): boolean {
  const [bits, signed] = widthOf(field);
  return (signed ? BigInt.asIntN(bits, number) : BigInt.asUintN(bits, number)) === number;
}

/** Bytes of an integer: of one size, or a varint. */
function integer(field: FieldFacts, number: bigint): Uint8Array {
  if (!fits(field, number)) throw unencodable(`${field.id} would be ${number}, for which it has no place; force it with !`);
  const [bits, signed] = widthOf(field);
  const scalar = scalarOf(field);
  const found: number[] = [];
  if (scalar === undefined) {
    for (let shift = bits - 8; shift >= 0; shift -= 8) found.push(Number((number >> BigInt(shift)) & 0xffn));
    return Uint8Array.from(found);
  }
  let rest = BigInt.asUintN(bits, signed ? (number << 1n) ^ (number >> BigInt(bits - 1)) : number);
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    found.push(rest ? low | 0x80 : low);
  } while (rest);
  return Uint8Array.from(found);
}

/** Bytes of a field that holds bytes: with their length before them, where it has one. */
export function bytesField(field: FieldFacts, bytes: Uint8Array | null): Uint8Array {
  if (field.kind === 'bytes') return bytes ?? new Uint8Array(0);
  const size = typeFacts(field.type!).fields.find((each) => each.derive === 'len')!;
  const plus = BigInt(size.derive_plus ?? 0);
  const length = integer(size, bytes === null ? plus - 1n : BigInt(bytes.length) + plus);
  return joined(bytes === null ? [length] : [length, bytes]);
}

/** A structure of zeros, nulls and no items, with the lengths that follow. */
export function blank(key: string): Uint8Array {
  const { fields } = typeFacts(key);
  const made = new Map<string, Uint8Array>();
  let bits = 0;
  const own = fields.filter((field) => field.kind !== 'guard' && !field.repeated);
  for (const field of own) {
    if (field.kind === 'bits') {
      bits += field.width ?? 1;
      made.set(field.id, new Uint8Array(bits % 8 ? 0 : bits / 8));
      if (bits % 8 === 0) bits = 0;
    } else if (!isPlain(field)) made.set(field.id, blank(field.type!));
    else if (holdsBytes(field)) made.set(field.id, bytesField(field, scalarOf(field) === 'nullable_bytes' ? null : new Uint8Array(0)));
    else if (field.kind === 'float') made.set(field.id, new Uint8Array(field.size!));
    else made.set(field.id, integer(field, BigInt(field.constant ?? 0)));
  }
  for (const field of own) {
    if (field.derive !== 'len') continue;
    made.set(field.id, integer(field, BigInt(made.get(field.derive_from!)!.length + (field.derive_plus ?? 0))));
  }
  return joined([...made.values()]);
}

/** The bytes that a person's value is in a field that is not in bits. */
function encoded(field: FieldFacts, value: Written): Uint8Array {
  const refused = (): EngineError => {
    const hex = value.bytes && Array.from(value.bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    return unencodable(`${field.id} takes ${takes(field)}, not ${value.word || hex || 'nothing'}`);
  };
  if (value.raw) return value.bytes!;
  if (holdsBytes(field)) {
    if (value.bytes !== null) {
      if (field.size && value.bytes.length !== field.size && !value.forced) throw refused();
      return bytesField(field, value.bytes);
    }
    if (value.word !== 'null' || scalarOf(field) !== 'nullable_bytes') throw refused();
    return bytesField(field, null);
  }
  if (field.kind === 'float') {
    const number = value.bytes === null ? decimalOf(value.word) : null;
    if (number === null) throw refused();
    const view = new DataView(new ArrayBuffer(field.size!));
    if (field.size === 4) view.setFloat32(0, number);
    else view.setFloat64(0, number);
    return new Uint8Array(view.buffer);
  }
  const number = value.bytes === null ? numberOf(field, value.word) : null;
  if (number === null || !fits(field, number)) throw refused();
  return integer(field, number);
}

// -- structures ----------------------------------------------------------------------------------

/** What stands in the place of a field: a person's value, or bytes that were made before. */
export interface Edit {
  /** Ids of the fields from the structure on, and numbers of items. */
  path: string[];
  value: Written | { made: Uint8Array };
}

/** A structure whose fields can be edited, and the part of the file that changes with it. */
export interface Editable {
  start: number;
  end: number;
  made: Made;
  /** Path of the field in it. */
  keys: string[];
  /** The tree of its fields, in other bytes of that part too. */
  root(bytes: Uint8Array | null): FieldNode;
  /** That part after an edit. */
  write(value: Written): Uint8Array;
}

/** What is at a path: the field, its value, and the structure that has it. */
export interface Found {
  field: FieldFacts;
  value: Made;
  owner: Made;
}

/** Find a field of a structure. */
export function find(made: Made, path: string[]): Found {
  const [id, ...rest] = path;
  const field = FACTS.types[keyOf(made)]?.fields.find((each) => each.id === id);
  const value = field && made._debug[camel(field.id)] !== undefined ? made[camel(field.id)] : undefined;
  const item = field?.repeated && rest.length ? value?.[Number(rest.shift())] : value;
  if (field === undefined || value === undefined) throw unencodable(`there is no field /${path.join('/')}`);
  if (rest.length) return find(item, rest);
  return { field, value: item, owner: made };
}

/** Whether a field follows from others: it is only edited by force. */
export function follows({ field, owner }: Found): boolean {
  const key = keyOf(owner);
  const numbers = Object.values(FACTS.kinds).some((kind) => kind.recordSet && [kind.key, kind.record].includes(key));
  return Boolean(field.derive) || typeFacts(key).checksum?.field === field.id || (numbers && FACTS.numbered.includes(field.id));
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

/** A structure with its bytes after an edit. Positions count in `base`, which has it from `start` to `end`. */
export function rebuilt(made: Made, base: Uint8Array, start: number, end: number, edit: Edit): Uint8Array {
  const type = typeFacts(keyOf(made));
  const placed = (place: Place): [number, number] => {
    const from = place.ioOffset - base.byteOffset;
    return [from + place.start, from + (place.end ?? place.start)];
  };
  const pieces: Uint8Array[] = [];
  const before = new Map<string, Uint8Array>();
  const place = new Map<string, number>();
  const [wanted, ...rest] = edit.path;
  let at = start;
  let bits: { fields: FieldFacts[]; start: number } | null = null;
  const add = (id: string, from: number, to: number, piece: Uint8Array): void => {
    pieces.push(base.subarray(at, from));
    place.set(id, pieces.push(piece) - 1);
    before.set(id, base.subarray(from, to));
    at = to;
  };
  for (const field of type.fields) {
    const found: Place | undefined = made._debug[camel(field.id)];
    if (found === undefined || field.kind === 'guard') continue;
    const [from, to] = placed(found);
    if (field.kind === 'bits') {
      bits ??= { fields: [], start: from };
      bits.fields.push(field);
      const width = bits.fields.reduce((sum, each) => sum + (each.width ?? 1), 0);
      if (width % 8) continue;
      const stored = base.subarray(bits.start, bits.start + width / 8);
      const changed = bits.fields.some((each) => each.id === wanted);
      add(field.id, bits.start, bits.start + width / 8, changed ? packed(bits.fields, stored, wanted!, edit) : stored);
      bits = null;
      continue;
    }
    const stored = base.subarray(from, to);
    const value = made[camel(field.id)];
    if (field.id !== wanted) add(field.id, from, to, stored);
    else if (Array.isArray(value) && rest.length) {
      const index = Number(rest[0]);
      const [first, last] = placed(found.arr![index]!);
      const inside = { path: rest.slice(1), value: edit.value };
      const item = inside.path.length ? rebuilt(value[index], base, first, last, inside) : leaf(field, edit);
      add(field.id, from, to, joined([base.subarray(from, first), item, base.subarray(last, to)]));
    } else if (rest.length) add(field.id, from, to, rebuilt(value, base, from, to, { path: rest, value: edit.value }));
    else add(field.id, from, to, leaf(field, edit));
  }
  pieces.push(base.subarray(at, end));
  for (const field of type.fields) {
    const own = place.get(field.id);
    const source = field.derive_from ?? '';
    // An edit of a value changes no count, and no field begins or ceases to be there.
    if (field.derive !== 'len' || own === undefined || field.id === wanted || !before.has(source)) continue;
    const plus = BigInt(field.derive_plus ?? 0);
    const followed = integer(field, BigInt(before.get(source)!.length) + plus);
    if (!same(followed, before.get(field.id)!)) continue; // it was forced
    pieces[own] = integer(field, BigInt(pieces[place.get(source)!]!.length) + plus);
  }
  const data = joined(pieces);
  const sum = type.checksum;
  if (sum !== undefined && wanted !== sum.field) {
    const field = type.fields.find((each) => each.id === sum.field)!;
    const of = (bytes: Uint8Array): Uint8Array => integer(field, BigInt(checksum(sum.algorithm, bytes.subarray(sum.start))));
    const followed = same(of(base.subarray(start, end)), before.get(sum.field) ?? new Uint8Array(0));
    if (followed) data.set(of(data), sum.position);
  }
  return data;
}

function leaf(field: FieldFacts, { value }: Edit): Uint8Array {
  if ('made' in value) return holdsBytes(field) ? bytesField(field, value.made) : value.made;
  if (!isPlain(field)) throw unencodable(`${field.id} is a structure: edit a field of it`);
  return encoded(field, value);
}

/** The bytes of fields in bits, of which one has another value. */
function packed(fields: FieldFacts[], stored: Uint8Array, wanted: string, { value }: Edit): Uint8Array {
  let number = stored.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  let shift = BigInt(8 * stored.length);
  for (const field of fields) {
    shift -= BigInt(field.width ?? 1);
    if (field.id !== wanted) continue;
    const given = 'word' in value ? numberOf(field, value.word) : null;
    if (given === null || !fits(field, given)) {
      throw unencodable(`${field.id} takes ${takes(field)}, not ${'word' in value && value.word ? value.word : 'bytes'}`);
    }
    const mask = ((1n << BigInt(field.width ?? 1)) - 1n) << shift;
    number = (number & ~mask) | (given << shift);
  }
  return Uint8Array.from(stored, (_, index) => Number((number >> BigInt(8 * (stored.length - 1 - index))) & 0xffn));
}

/** The paths and types of all that a reader finds in a tree. */
export function shapeOf(node: FieldNode): Map<string, string> {
  const found = new Map<string, string>();
  const visit = (each: FieldNode): void => {
    if (each.computed) return;
    found.set(each.path, each.type);
    if (FACTS.types[each.type]?.scalar === undefined) each.children.forEach(visit);
  };
  visit(node);
  return found;
}

/** What differs between the fields that were there, and those that a reader finds now; null for nothing. */
export function difference(was: Map<string, string>, is: Map<string, string>): string | null {
  const name = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  for (const path of is.keys()) if (!was.has(path)) return `this has ${name(path)}`;
  for (const [path, type] of was) {
    if (!is.has(path)) return `this has no ${name(path)}`;
    if (is.get(path) !== type) return `${name(path)} is ${is.get(path)}`;
  }
  return null;
}
