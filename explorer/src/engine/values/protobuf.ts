/** Messages of Protobuf as JSON, as `kafkaspec dump --value decode` has them. */
import { bytesJson } from '../messages/json';
import { entryName, type ProtoEnum, type ProtoField, type ProtoFile, type ProtoMessage } from './proto_text';
import { DEEPEST, MOST_ITEMS, MOST_SCHEMAS, NotDecoded, numberJson, textJson } from './undecoded';

/** Ways to lay out a value. */
const [VARINT, I64, LEN, START, END, I32] = [0, 1, 2, 3, 4, 5] as const;
const TAG_BYTES = 5;
const LENGTH_BYTES = 5;
const VARINT_BYTES = 10;
const LONGEST = (1n << 31n) - 1n;
/** Indexes of a list: one for each level of messages. */
const LONGEST_LIST = 64;

class Wire {
  at = 0;
  items = 0;
  /** Whether a field was there that the message has. */
  knows = false;
  private readonly view: DataView;

  constructor(readonly data: Uint8Array, readonly end = data.length) {
    this.view = new DataView(data.buffer, data.byteOffset, data.length);
  }

  wrong(what: string, at = this.at): never {
    throw new NotDecoded(`byte ${at}: ${what}`);
  }

  item(count = 1): void {
    this.items += count;
    if (this.items > MOST_ITEMS) this.wrong(`more than ${MOST_ITEMS} items`);
  }

  varint(end: number, most = VARINT_BYTES): bigint {
    const start = this.at;
    let [found, shift] = [0n, 0n];
    for (let size = 1; ; size++) {
      if (this.at >= end) this.wrong('the end is within a number', start);
      const byte = this.data[this.at++]!;
      if (byte < 0x80 && size === 1) return BigInt(byte);
      found |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, found);
      if (size === most) this.wrong(`a number of more than ${most} bytes`, start);
      shift += 7n;
    }
  }

  /** A tag: number of the field, and how its value is laid out. */
  tag(end: number): [number, number] {
    const start = this.at;
    const tag = this.varint(end, TAG_BYTES);
    if (tag >> 32n || tag < 8n) this.wrong(`no field has the number ${tag >> 3n}`, start);
    return [Number(tag >> 3n), Number(tag & 7n)];
  }

  fixed(size: 4 | 8, end: number): number {
    if (this.at + size > end) this.wrong(`a value of ${size} bytes is cut off`);
    this.at += size;
    return this.at - size;
  }

  /** Where a value ends that says how long it is. */
  sized(end: number): number {
    const start = this.at;
    const size = this.varint(end, LENGTH_BYTES);
    if (size > LONGEST || this.at + Number(size) > end) this.wrong(`a value of ${size} bytes goes beyond the end`, start);
    return this.at + Number(size);
  }

  u32 = (end: number): number => this.view.getUint32(this.fixed(4, end), true);
  i32 = (end: number): number => this.view.getInt32(this.fixed(4, end), true);
  f32 = (end: number): number => this.view.getFloat32(this.fixed(4, end), true);
  u64 = (end: number): bigint => this.view.getBigUint64(this.fixed(8, end), true);
  i64 = (end: number): bigint => this.view.getBigInt64(this.fixed(8, end), true);
  f64 = (end: number): number => this.view.getFloat64(this.fixed(8, end), true);

  rest(end: number): Uint8Array {
    const start = this.at;
    this.at = end;
    return this.data.subarray(start, end);
  }

  /** Pass over a value. */
  skip(number: number, wire: number, end: number, depth: number): void {
    if (wire === VARINT) this.varint(end);
    else if (wire === I64 || wire === I32) this.fixed(wire === I64 ? 8 : 4, end);
    else if (wire === LEN) this.at = this.sized(end);
    else if (wire === START) this.group(number, end, depth + 1);
    else this.wrong(wire === END ? `group ${number} ends, which has no begin` : `no value has the wire type ${wire}`);
  }

  /** Pass over a group; return where what is in it ends. */
  group(number: number, end: number, depth: number): number {
    if (depth > DEEPEST) this.wrong(`messages are nested more than ${DEEPEST} levels`);
    for (;;) {
      const before = this.at;
      if (before === end) this.wrong(`group ${number} has no end`);
      const [inner, wire] = this.tag(end);
      if (wire === END && inner === number) return before;
      this.skip(inner, wire, end, depth);
    }
  }
}

// -- types ---------------------------------------------------------------------------------------

interface Scalar {
  wire: number;
  /** What a field has that is not there. */
  usual: string;
  read: (from: Wire, end: number) => string | null;
}

const number = (wire: number, read: (from: Wire, end: number) => number | bigint): Scalar => ({
  wire, usual: '0', read: (from, end) => String(read(from, end)),
});
const zigzag = (value: bigint): bigint => (value >> 1n) ^ -(value & 1n);

const SCALARS: Record<string, Scalar> = {
  double: { wire: I64, usual: '0', read: (from, end) => numberJson(from.f64(end)) },
  float: { wire: I32, usual: '0', read: (from, end) => numberJson(from.f32(end)) },
  int32: number(VARINT, (from, end) => BigInt.asIntN(32, from.varint(end))),
  int64: number(VARINT, (from, end) => BigInt.asIntN(64, from.varint(end))),
  uint32: number(VARINT, (from, end) => BigInt.asUintN(32, from.varint(end))),
  uint64: number(VARINT, (from, end) => from.varint(end)),
  sint32: number(VARINT, (from, end) => zigzag(BigInt.asUintN(32, from.varint(end)))),
  sint64: number(VARINT, (from, end) => zigzag(from.varint(end))),
  fixed32: number(I32, (from, end) => from.u32(end)),
  fixed64: number(I64, (from, end) => from.u64(end)),
  sfixed32: number(I32, (from, end) => from.i32(end)),
  sfixed64: number(I64, (from, end) => from.i64(end)),
  bool: { wire: VARINT, usual: 'false', read: (from, end) => String(from.varint(end) !== 0n) },
  string: { wire: LEN, usual: '""', read: (from, end) => textJson(from.rest(from.sized(end))) },
  bytes: { wire: LEN, usual: '""', read: (from, end) => bytesJson(from.rest(from.sized(end))) },
};

function enumeration({ names, features }: ProtoEnum): Scalar {
  const isClosed = features.enum_type === 'CLOSED';
  const texts = new Map(Array.from(names, ([at, name]) => [at, `"${name}"`]));
  const read = (from: Wire, end: number): string | null => {
    const found = Number(BigInt.asIntN(32, from.varint(end)));
    return texts.get(found) ?? (isClosed ? null : `"${found}"`);
  };
  const first = [...texts.values()][0]!;
  return { wire: VARINT, usual: isClosed ? first : (texts.get(0) ?? first), read };
}

type Shape = 'plain' | 'optional' | 'required' | 'list' | 'map';

interface Field {
  /** Its name, in quotes. */
  name: string;
  at: number;
  shape: Shape;
  wire: number;
  /** One of both. */
  scalar: Scalar | null;
  message: Message | null;
  /** Places of the other members of its `oneof`. */
  others: number[];
}

interface Message {
  name: string;
  fields: Field[];
  byNumber: Map<number, Field>;
  /** What stands for its fields; null where they stand for themselves. */
  special: ((slots: string[]) => string) | null;
}

/** What is read of a field: a value, those of a list, those of a map, or where parts of a message are. */
type Slot = string | string[] | Map<string, string> | Uint8Array[] | undefined;

function slotsOf(from: Wire, message: Message, end: number, depth: number): string[] {
  if (depth > DEEPEST) from.wrong(`messages are nested more than ${DEEPEST} levels`);
  from.item(message.fields.length + 1);
  const slots = new Array<Slot>(message.fields.length);
  while (from.at < end) {
    const [numbered, wire] = from.tag(end);
    const field = message.byNumber.get(numbered);
    const packed = field?.shape === 'list' && wire === LEN && field.scalar !== null && field.wire !== LEN;
    if (field === undefined || (wire !== field.wire && !packed)) {
      from.skip(numbered, wire, end, depth);
      continue;
    }
    from.knows = true;
    const { at, scalar } = field;
    if (scalar !== null && field.shape !== 'list') {
      const value = scalar.read(from, end);
      if (value !== null) slots[at] = value;
    } else if (scalar !== null) {
      const list = (slots[at] ??= []) as string[];
      const stop = packed ? from.sized(end) : 0;
      do {
        if (packed && from.at >= stop) break;
        const value = scalar.read(from, packed ? stop : end);
        from.item();
        if (value !== null) list.push(value);
      } while (packed);
    } else {
      const begin = wire === START ? from.at : null;
      const stop = wire === START ? from.group(numbered, end, depth + 1) : from.sized(end);
      const after = wire === START ? from.at : stop;
      from.at = begin ?? from.at;
      if (field.shape === 'list') {
        from.item();
        ((slots[at] ??= []) as string[]).push(jsonOf(from, field.message!, stop, depth + 1));
      } else if (field.shape === 'map') {
        const [key, value] = slotsOf(from, field.message!, stop, depth + 1) as [string, string];
        ((slots[at] ??= new Map<string, string>()) as Map<string, string>).set(key, value);
      } else ((slots[at] ??= []) as Uint8Array[]).push(from.data.subarray(from.at, stop));
      from.at = after;
    }
    if (slots[at] !== undefined) for (const other of field.others) slots[other] = undefined;
  }
  if (from.at > end) from.wrong('a value goes beyond the end');
  return message.fields.map((field) => slotJson(from, field, slots[field.at], depth));
}

function slotJson(from: Wire, { name, shape, scalar, message }: Field, slot: Slot, depth: number): string {
  if (shape === 'list') return `[${((slot ?? []) as string[]).join(', ')}]`;
  if (shape === 'map') {
    const pairs = Array.from((slot ?? []) as Map<string, string>);
    const texts = message!.fields[0]!.scalar === SCALARS['string'];
    return texts ? `{${pairs.map((pair) => pair.join(': ')).join(', ')}}` : `[${pairs.map((pair) => `[${pair.join(', ')}]`).join(', ')}]`;
  }
  if (slot === undefined) {
    if (shape === 'required') throw new NotDecoded(`the field ${name} is missing`);
    if (shape === 'optional') return 'null';
    return scalar?.usual ?? jsonOf(from, message!, from.at, depth + 1);
  }
  if (message === null) return slot as string;
  const [first, ...more] = slot as Uint8Array[];
  // A message that is there more than once is read as one that has all fields of them.
  const parts = more.length ? joined([first!, ...more]) : first!;
  const inner = new Wire(parts);
  inner.items = from.items;
  const json = jsonOf(inner, message, parts.length, depth + 1);
  from.items = inner.items;
  return json;
}

function joined(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((at, part) => {
    whole.set(part, at);
    return at + part.length;
  }, 0);
  return whole;
}

function jsonOf(from: Wire, message: Message, end: number, depth: number): string {
  const slots = slotsOf(from, message, end, depth);
  if (message.special !== null) return message.special(slots);
  return `{${message.fields.map(({ name }, at) => `${name}: ${slots[at]}`).join(', ')}}`;
}

// -- messages that Google has defined ------------------------------------------------------------

/** First and last second of a timestamp, the years 1 and 9999, and of a duration, 10,000 years. */
const SECONDS = { timestamp: [-62135596800n, 253402300799n], duration: [-315576000000n, 315576000000n] } as const;
const BILLION = 1_000_000_000n;

function within(what: keyof typeof SECONDS, [seconds, nanos]: string[]): [bigint, bigint] {
  const [whole, rest] = [BigInt(seconds!), BigInt(nanos!)];
  const [first, last] = SECONDS[what];
  const signed = what === 'duration' ? (rest < 0n && whole > 0n) || (rest > 0n && whole < 0n) || rest <= -BILLION : rest < 0n;
  if (whole < first || whole > last || rest >= BILLION || signed) throw new NotDecoded(`no ${what}: ${whole} s and ${rest} ns`);
  return [whole, rest];
}

const micros = (nanos: bigint): string => String(nanos / 1000n).padStart(6, '0');

function timestamp(slots: string[]): string {
  const [seconds, nanos] = within('timestamp', slots);
  return `"${new Date(Number(seconds) * 1000).toISOString().slice(0, -5)}.${micros(nanos)}Z"`;
}

function duration(slots: string[]): string {
  const [seconds, nanos] = within('duration', slots);
  const rest = micros(nanos < 0n ? -nanos : nanos).replace(/0+$/, '');
  const isNegative = seconds < 0n || (nanos < 0n && rest !== '');
  return `"${isNegative ? '-' : ''}${seconds < 0n ? -seconds : seconds}${rest && `.${rest}`}s"`;
}

/** The member of a `Value` that is set. */
const someValue = (slots: string[]): string => slots.slice(1).find((slot) => slot !== 'null') ?? 'null';
const only = ([slot]: string[]): string => slot!;

const SPECIAL: Record<string, Message['special']> = {
  Timestamp: timestamp, Duration: duration, FieldMask: only, Struct: only, ListValue: only, Value: someValue,
  ...Object.fromEntries(
    ['Double', 'Float', 'Int64', 'UInt64', 'Int32', 'UInt32', 'Bool', 'String', 'Bytes'].map((name) => [`${name}Value`, only]),
  ),
};
const GOOGLE = 'google.protobuf.';

// -- schemas -------------------------------------------------------------------------------------

/** Types of a schema and of all that it imports, linked when they are asked for. */
class Types {
  private readonly messages = new Map<string, ProtoMessage>();
  private readonly enums = new Map<string, Scalar>();
  private readonly added = new Map<string, ProtoField[]>();
  private readonly linked = new Map<string, Message>();

  constructor(files: ProtoFile[]) {
    for (const { messages, enums } of files) {
      for (const waiting = [...messages]; waiting.length; ) {
        const message = waiting.pop()!;
        this.messages.set(message.name, message);
        waiting.push(...message.nested);
      }
      for (const one of enums) this.enums.set(one.name, enumeration(one));
    }
    for (const { extensions } of files) {
      for (const { extended, scope, field } of extensions) {
        const name = this.find(extended, scope);
        if (name !== null) this.added.set(name, [...(this.added.get(name) ?? []), field]);
      }
    }
  }

  /** The full name of a type that is named in a scope; null if there is none. */
  private find(name: string, scope: string): string | null {
    if (name.startsWith('.')) return this.has(name.slice(1));
    for (let around = scope; around; around = around.slice(0, Math.max(0, around.lastIndexOf('.')))) {
      const found = this.has(`${around}.${name}`);
      if (found !== null) return found;
    }
    return this.has(name);
  }

  private has(name: string): string | null {
    return this.messages.has(name) || this.enums.has(name) ? name : null;
  }

  message(name: string): Message {
    const known = this.linked.get(name);
    if (known) return known;
    const made: Message = { name, fields: [], byNumber: new Map(), special: null };
    this.linked.set(name, made); // a message may have itself in it
    const own = this.messages.get(name)!;
    if (name.startsWith(GOOGLE)) made.special = SPECIAL[name.slice(GOOGLE.length)] ?? null;
    const added = (this.added.get(name) ?? []).sort((a, b) => a.number - b.number);
    const fields = [...own.fields, ...added];
    try {
      made.fields = fields.map((field, at) => this.field(field, at, fields, own));
    } catch (error) {
      this.linked.clear(); // others have it in them
      throw error;
    }
    fields.forEach((field, at) => made.byNumber.set(field.number, made.fields[at]!));
    return made;
  }

  private field(field: ProtoField, at: number, all: ProtoField[], home: ProtoMessage): Field {
    const { type, oneof, features } = field;
    const label = field.label || (features.field_presence === 'LEGACY_REQUIRED' && !home.isEntry ? 'required' : '');
    const made = { name: JSON.stringify(field.name), at, others: all.flatMap((one, other) => (oneof >= 0 && other !== at && one.oneof === oneof ? [other] : [])) };
    const plain = Object.hasOwn(SCALARS, type) ? SCALARS[type]! : null;
    const found = plain === null ? this.find(type, field.scope) : null;
    if (plain === null && found === null) throw new NotDecoded(`there is no type ${type}`);
    const scalar = plain ?? this.enums.get(found!) ?? null;
    const repeated = label === 'repeated';
    if (scalar !== null) {
      const present = oneof >= 0 || label === 'optional' || features.field_presence !== 'IMPLICIT';
      const shape: Shape = repeated ? 'list' : label === 'required' ? 'required' : present && !home.isEntry ? 'optional' : 'plain';
      return { ...made, shape, wire: scalar.wire, scalar, message: null };
    }
    const isMap = repeated && this.isEntry(found!, field, home);
    const inner = this.message(found!);
    if (isMap) inner.fields.forEach((part) => (part.shape = 'plain'));
    const shape: Shape = isMap ? 'map' : repeated ? 'list' : home.isEntry ? 'plain' : label === 'required' ? 'required' : 'optional';
    return { ...made, shape, wire: features.message_encoding === 'DELIMITED' && !isMap && !home.isEntry ? START : LEN, scalar: null, message: inner };
  }

  /** Whether a message is the entry of a map, or was one before Karapace rewrote the text. */
  private isEntry(name: string, field: ProtoField, home: ProtoMessage): boolean {
    const { isEntry, fields, nested } = this.messages.get(name)!;
    if (isEntry) return true;
    const [key, value] = [fields.find((one) => one.number === 1), fields.find((one) => one.number === 2)];
    return (
      name === `${home.name}.${entryName(field.name)}` && fields.length === 2 && nested.length === 0 &&
      key?.name === 'key' && value?.name === 'value' && [key, value].every(({ label, oneof }) => (label === '' || label === 'optional') && oneof < 0) &&
      Object.hasOwn(SCALARS, key.type) && !['double', 'float', 'bytes'].includes(key.type)
    );
  }
}

/** A value, and the name of its message. */
export interface ProtoValue {
  json: string;
  message: string;
}

/** Reads messages of a schema. */
export class ProtoSchema {
  private readonly own: ProtoFile;
  private readonly types: Types;
  private readonly chosen = new Map<string, Message[]>();

  /**
   * Of the files of a schema, its own at the end.
   *
   * @throws NotDecoded if it has no message.
   */
  constructor(files: ProtoFile[]) {
    this.own = files.at(-1)!;
    this.types = new Types(files);
    if (!this.own.messages.length) throw new NotDecoded('the schema has no message');
  }

  /** Read a message that follows the list of indexes of its type. */
  framed(data: Uint8Array): ProtoValue {
    const from = new Wire(data);
    const count = Number(zigzag(from.varint(data.length)));
    if (count < 0 || count > LONGEST_LIST) from.wrong(`a list of ${count} indexes`, 0);
    const indexes = Array.from({ length: count }, () => Number(zigzag(from.varint(data.length))));
    return this.read(data.subarray(from.at), count ? indexes : [0]);
  }

  /** Read a message of the type that a list of indexes means: the first way to count whose message knows a field. */
  read(data: Uint8Array, indexes: number[] = [0]): ProtoValue {
    const candidates = this.candidates(indexes);
    let [first, wrong]: [ProtoValue | null, NotDecoded | null] = [null, null];
    for (const message of candidates) {
      try {
        const from = new Wire(data);
        const found = { json: jsonOf(from, message, data.length, 1), message: message.name };
        if (from.knows || !data.length) return found;
        first ??= found;
      } catch (error) {
        if (!(error instanceof NotDecoded)) throw error;
        wrong ??= error;
      }
    }
    if (first !== null) return first;
    throw wrong ?? new NotDecoded(`the schema has no message with the indexes ${indexes.join(', ')}`);
  }

  private candidates(indexes: number[]): Message[] {
    const key = indexes.join();
    let found = this.chosen.get(key);
    if (found === undefined) {
      const ways = [this.at(indexes, false), this.at(indexes, true), this.at([...indexes].reverse(), false)];
      const names = new Set(ways.flatMap((one) => (one === null || one.isEntry ? [] : [one.name])));
      found = [...names].map((name) => this.types.message(name));
      if (this.chosen.size < MOST_SCHEMAS) this.chosen.set(key, found);
    }
    return found;
  }

  /** As descriptors have them, or as the text does, in which entries of maps are not. */
  private at(indexes: number[], isText: boolean): ProtoMessage | null {
    let found: ProtoMessage | null = null;
    let inner = this.own.messages;
    for (const index of indexes) {
      const one = (isText ? inner.filter(({ isEntry }) => !isEntry) : inner)[index];
      if (one === undefined) return null;
      found = one;
      inner = one.nested;
    }
    return found;
  }
}
