/**
 * The classes of the official compiler, on its runtime of npm, with three changes to that runtime:
 * 64-bit integers are BigInt, scalars of variable length are read in one go, and every error says
 * which field it is about.
 */
import KaitaiStream from 'kaitai-struct/KaitaiStream';
import { CLASSES as UNTYPED } from '../../../gen/classes';
import { VALUES } from '../../../gen/values';
import { EngineError } from '../api';
import { camel, FACTS, typeFacts, type FieldFacts } from './facts';

/** Position of a field in its stream, as code compiled with `--debug` notes it. */
export interface Place {
  start: number;
  end?: number;
  ioOffset: number;
  arr?: Place[];
  validationError?: Error;
}

/** An object of a compiled class. Members have the names of the specification, in camel case. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Made = any;

type Made_ = { _io: KaitaiStream; _debug: Record<string, Place>; [member: string]: unknown };
type Class = new (io: KaitaiStream, parent: unknown, root: unknown, ...parameters: unknown[]) => Made;

const CLASSES = UNTYPED as unknown as Record<string, Class>;
const KEYS = new Map<unknown, string>(Object.entries(CLASSES).map(([key, made]) => [made, key]));

// -- the runtime -----------------------------------------------------------------------------

interface Stream {
  _dataView: DataView;
  pos: number;
  size: number;
  ensureBytesLeft(length: number): void;
}

const prototype = KaitaiStream.prototype as unknown as Record<string, unknown>;

prototype['readS8be'] = function (this: Stream): bigint {
  this.ensureBytesLeft(8);
  const value = this._dataView.getBigInt64(this.pos);
  this.pos += 8;
  return value;
};
prototype['readU8be'] = function (this: Stream): bigint {
  this.ensureBytesLeft(8);
  const value = this._dataView.getBigUint64(this.pos);
  this.pos += 8;
  return value;
};

class TooLong extends Error {}

/** Read a varint of at most so many bits; what does not fit into them is dropped, as the spec says. */
function readGroups(io: Stream, bits: 32 | 64): [number, number] {
  const view = io._dataView;
  const most = bits === 32 ? 5 : 10;
  let low = 0;
  let high = 0;
  for (let group = 0; group < most; group++) {
    io.ensureBytesLeft(1);
    const byte = view.getUint8(io.pos++);
    const shift = 7 * group;
    if (shift < 28) low |= (byte & 0x7f) << shift;
    else if (shift === 28) {
      low |= (byte & 0x0f) << 28;
      high = (byte & 0x7f) >>> 4;
    } else high |= (byte & 0x7f) << (shift - 32);
    if (byte < 0x80) return [low >>> 0, high >>> 0];
  }
  io.pos -= 1;
  throw new TooLong(`a varint of more than ${most} bytes`);
}

const READ_SCALAR: Record<string, (io: Stream) => number | bigint> = {
  varint32: (io) => {
    const [low] = readGroups(io, 32);
    return (low >>> 1) ^ -(low & 1);
  },
  unsigned_varint32: (io) => readGroups(io, 32)[0],
  varint64: (io) => {
    const [low, high] = readGroups(io, 64);
    const code = (BigInt(high) << 32n) | BigInt(low);
    return BigInt.asIntN(64, (code >> 1n) ^ -(code & 1n));
  },
};

/** Take the place of a compiled class of a varint: an object with a `value`, without its groups. */
function replaceScalar(key: string, read: (io: Stream) => number | bigint): void {
  const made = CLASSES[key] as unknown as { prototype: Record<string, unknown> };
  // Where compiled code keeps the value once it is computed.
  made.prototype['_m_value'] = null;
  made.prototype['_read'] = function (this: Made_): void {
    this['_m_value'] = read(this._io as unknown as Stream);
  };
}

for (const [key, type] of Object.entries(FACTS.types)) {
  const read = type.scalar === undefined ? undefined : READ_SCALAR[type.scalar];
  if (read !== undefined) replaceScalar(key, read);
}

// -- parsing ---------------------------------------------------------------------------------

/** Why bytes are not what the specification says, and which field it is about. */
export class Refused extends Error {
  constructor(
    readonly reason: string,
    readonly detail: string,
    /** Position in the bytes that were given. */
    readonly position: number,
    readonly path: string,
    /** What was read before. */
    readonly made: Made | null,
  ) {
    super(`${detail} [${reason}]`);
  }

  /** The error for the page, with positions in a file. */
  at(base: number, path = ''): EngineError {
    return new EngineError({
      reason: this.reason, detail: this.detail, position: base + this.position, inner: null,
      path: path + this.path,
    });
  }

  /** The error for the page, with positions in decompressed bytes. */
  inside(payload: number, path = ''): EngineError {
    return new EngineError({
      reason: this.reason, detail: this.detail, position: payload, inner: this.position,
      path: path + this.path,
    });
  }
}

/** An object of a compiled class, which is not read yet. */
export function prepare(key: string, data: Uint8Array, parameters: unknown[] = [], at = 0): Made {
  const made = CLASSES[key];
  if (made === undefined) throw new Error(`no type ${key}`);
  const io = new KaitaiStream(data as unknown as ArrayBuffer);
  io.pos = at;
  return new made(io, null, null, ...parameters);
}

/**
 * Parse a type at the beginning of `data`.
 *
 * @param complete whether nothing may follow; whether the bytes are all there are.
 */
export function parse(key: string, data: Uint8Array, parameters: unknown[] = [], at = 0): Made {
  const made = prepare(key, data, parameters, at);
  read(made, data);
  return made;
}

/** Read an object that `prepare` made. */
export function read(made: Made, data: Uint8Array): void {
  try {
    made._read();
  } catch (error) {
    throw refusal(made, data, error);
  }
}

/** Where the object ends: the position after the last byte that it read. */
export function endOf(made: Made): number {
  return (made as Made_)._io.pos;
}

export function keyOf(made: Made): string {
  return KEYS.get(Object.getPrototypeOf(made).constructor) ?? '';
}

/** A value that follows from fields, exactly; null where its condition does not hold. */
export function valueOf(made: Made, id: string): bigint | null {
  return computed(`${keyOf(made)}.${id}`, made);
}

/** A value that follows from fields, by the key of its type; `made` only has to look like it. */
export function computed(key: string, made: Made): bigint | null {
  return computer(key)(made);
}

/** What computes a value, for many objects. */
export function computer(key: string): (made: Made) => bigint | null {
  const compute = VALUES[key];
  if (compute === undefined) throw new Error(`no value ${key}`);
  return compute;
}

// -- which field failed ----------------------------------------------------------------------

function isMade(value: unknown): value is Made_ {
  return typeof value === 'object' && value !== null && '_io' in value && '_debug' in value;
}

function refusal(root: Made, data: Uint8Array, error: unknown): Refused {
  const place = failing(root as Made_, data.byteOffset, '', null);
  const name = error instanceof Error ? error.name : '';
  const outer = place.stream === (root as Made_)._io;
  const what = place.field === null ? 'the structure' : `${place.field.id}`;
  if (error instanceof TooLong) {
    return new Refused('varint_too_long', `${what}: ${error.message}`, place.position, place.path, root);
  }
  if (name === 'EOFError' || error instanceof RangeError) {
    const reason = outer ? 'truncated' : 'overrun';
    const text = outer ? 'the data ends inside' : 'it reaches beyond the end of what holds it:';
    return new Refused(reason, `${text} ${what}`, place.position, place.path, root);
  }
  if (place.field?.kind === 'guard') {
    const text = 'bytes are left after the last field';
    return new Refused('trailing_bytes', text, place.position, place.path, root);
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new Refused('invalid_value', `${what} is not valid: ${detail}`, place.position, place.path, root);
}

interface Failing {
  position: number;
  path: string;
  field: FieldFacts | null;
  stream: unknown;
}

/** Follow the fields that have no end to the one that was being read. */
function failing(made: Made_, base: number, path: string, outer: FieldFacts | null): Failing {
  const type = FACTS.types[keyOf(made)];
  const pending = Object.entries(made._debug).filter(
    ([, place]) => place.end === undefined || place.validationError !== undefined,
  );
  const last = pending[pending.length - 1];
  if (type === undefined || last === undefined) {
    return { position: positionOf(made), path, field: outer, stream: made._io };
  }
  const [member, place] = last;
  if (type.scalar !== undefined) {
    const first = Object.values(made._debug)[0]!;
    return { position: first.ioOffset - base + first.start, path, field: outer, stream: made._io };
  }
  const id = member.replace(/^_m_/, '');
  const field = type.fields.find((item) => camel(item.id) === id);
  // A frame and a choice are no level of their own: the path names what they hold.
  const here = `${path}/${field?.id ?? snake(id)}`;
  let value = made[member];
  let at = place;
  let deep = here;
  if (Array.isArray(value) && place.arr) {
    const index = place.arr.length - 1;
    if (index >= 0 && place.end === undefined) {
      value = value[index];
      at = place.arr[index] ?? place;
      deep = `${here}/${index}`;
    }
  }
  // Where the bytes end before a field that is read ahead, the runtime does not go to its place.
  const peek = type.peeks?.find(([name]) => camel(name) === id)?.[1];
  const found = { position: at.ioOffset - base + (peek ?? at.start), path: deep, field: field ?? outer, stream: made._io };
  if (place.validationError !== undefined || !isMade(value)) return found;
  // A scalar is one value: its size is no field of its own.
  if (typeFacts(keyOf(value)).scalar !== undefined) return found;
  return failing(value, base, deep, field ?? outer);

  function positionOf(item: Made_): number {
    return (item._io as unknown as { byteOffset: number }).byteOffset - base + item._io.pos;
  }
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
