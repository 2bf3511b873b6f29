/** One entry of a log, and its records by Kafka's rules for magic 0, 1 and 2. */
import { EngineError, type ErrorData } from '../api';
import { checksum } from '../bytes/checksum';
import { decompress, PayloadError } from '../bytes/compression';
import { FACTS, type KindFacts } from '../specification/facts';
import { computed, endOf, parse, prepare, read, Refused, valueOf, type Made } from '../specification/runtime';

const { framing } = FACTS;
const ENTRY = 'recordbatch.entry';
const NONE = -1n;

/** Bytes somewhere: a view, and where it begins in the file or in the decompressed bytes. */
export interface Slice {
  bytes: Uint8Array;
  start: number;
}

export interface RawRecord {
  index: number;
  offset: bigint;
  timestamp: bigint; // -1 none
  sequence: number;
  key: Slice | null;
  value: Slice | null;
  headers: { key: Uint8Array; value: Uint8Array | null }[];
  start: number;
  end: number;
  /** The parsed record or message, and the type of it. */
  made: Made;
  /** What has it and its size, null for a message. */
  framed: Made | null;
}

interface Wrapped {
  starts: number[];
  shift: bigint;
  /** Bytes after the last message that readers drop. */
  dropped: number;
  /** Magic of a message that does not exist. */
  unknownMagic: number | null;
}

/** What a reader skips or takes in silence. */
export interface Remark {
  severity: 'error' | 'warning';
  area: string;
  error: ErrorData;
}

/** Range of a member in the bytes that were parsed, of which `base` is the first. */
export function rangeOf(made: Made, member: string, base: Uint8Array): [number, number] {
  const place = made._debug[member];
  return [place.ioOffset - base.byteOffset + place.start, place.ioOffset - base.byteOffset + place.end];
}

function nullable(made: Made, base: Uint8Array, shift: number): Slice | null {
  if (made.value === undefined || made.value === null) return null;
  return { bytes: made.value, start: shift + rangeOf(made, 'value', base)[0] };
}

/** Parse an entry whose bytes are complete. Throws `Refused` with positions in these bytes. */
export class Batch {
  readonly entry: Made;
  readonly content: Made;
  readonly kind: KindFacts;
  readonly magic: number;
  readonly codec: number;
  /** What may be compressed; null for a message without a value. */
  readonly payload: Uint8Array | null;
  /** Byte offset of it in the file. */
  readonly payloadPosition: number;
  private opened: Uint8Array | null = null;
  /** Where each inner message of a wrapper begins, and what to add to its offset. */
  private inner: Wrapped | null = null;
  /** Where every 64th record begins. */
  private readonly marks: number[] = [0];

  constructor(readonly bytes: Uint8Array, readonly position: number) {
    this.entry = parse(ENTRY, bytes);
    this.content = this.entry.message.content;
    this.magic = this.content.magic;
    this.kind = FACTS.kinds[String(this.magic)]!;
    this.codec = this.content.attributes.compression;
    const holder = this.isSet ? this.content : this.content.value;
    const member = this.isSet ? this.kind.payload : 'value';
    this.payload = holder[member] ?? null;
    this.payloadPosition = position + bytes.length - (this.content.unused?.length ?? 0) - (this.payload?.length ?? 0);
  }

  get isSet(): boolean {
    return this.kind.recordSet !== '';
  }

  get isCompressed(): boolean {
    return FACTS.codecs[this.codec] !== 'none';
  }

  get isWrapper(): boolean {
    return this.isCompressed && !this.isSet;
  }

  get compressionName(): string {
    return FACTS.codecs[this.codec] ?? `unknown(${this.codec})`;
  }

  get timestampType(): string {
    if (!this.kind.timestamps) return FACTS.noTimestampType;
    return FACTS.timestampTypes[this.content.attributes.timestampType]!;
  }

  get isControl(): boolean {
    return this.content.attributes.isControl === true;
  }

  get isTransactional(): boolean {
    return this.content.attributes.isTransactional === true;
  }

  get lastOffset(): bigint {
    return this.isSet ? valueOf(this.content, 'last_offset')! : this.entry.baseOffset;
  }

  get payloadPath(): string {
    return `${framing.path}/${this.isSet ? this.kind.payload : 'value'}`;
  }

  get storedChecksum(): number {
    return this.content[this.kind.checksum.field];
  }

  get computedChecksum(): number {
    const { algorithm, start } = this.kind.checksum;
    return checksum(algorithm, this.bytes.subarray(framing.size + start));
  }

  /** The error of a checksum that does not match; null if it does. */
  checksumError(): EngineError | null {
    const stored = this.storedChecksum;
    const found = this.computedChecksum;
    return stored === found ? null : checksumError(this.kind, this.position, stored, found);
  }

  private error(reason: string, detail: string, inner: number | null = null, path = ''): EngineError {
    return new EngineError({
      reason, detail, position: this.payloadPosition, inner, path: this.payloadPath + path,
    });
  }

  /** The payload after decompression; itself if it is not compressed. */
  decompressed(): Uint8Array {
    if (this.opened !== null) return this.opened;
    if (this.payload === null) throw this.error('null_wrapper_value', 'a compressed message without a value');
    try {
      this.opened = decompress(this.codec, this.payload, this.magic);
    } catch (error) {
      if (error instanceof PayloadError) throw this.error(error.reason, error.detail);
      throw error;
    }
    return this.opened;
  }

  /** Where positions of records count from: 0 in decompressed bytes, else a place in the file. */
  private get shift(): number {
    return this.isCompressed ? 0 : this.payloadPosition;
  }

  private refused(given: unknown, path: string): unknown {
    if (!(given instanceof Refused)) return given;
    let error = given;
    const place = this.payloadPath + path;
    // The payload is complete: what reaches beyond it is no end of a log.
    if (error.reason === 'truncated') {
      error = new Refused('overrun', error.detail, error.position, error.path, null);
    }
    return this.isCompressed ? error.inside(this.payloadPosition, place) : error.at(this.payloadPosition, place);
  }

  /** Bytes that it keeps in memory. */
  get held(): number {
    return this.bytes.length + (this.isCompressed ? (this.opened?.length ?? 0) : 0);
  }

  /** Number of records; of a wrapper it takes decompression. */
  get count(): number {
    if (this.isSet) return this.content.numRecords;
    return this.isWrapper ? this.wrapped().starts.length : 1;
  }

  /**
   * Records from a number on, one after the other. Throws `EngineError` where they break off, after
   * those before it.
   */
  *records(first = 0): Generator<RawRecord> {
    if (this.isSet) yield* this.recordSet(first);
    else if (this.isWrapper) yield* this.messages(first);
    else if (first === 0) yield this.message(this.content, this.bytes, 0, this.entry.baseOffset, this.position, null);
  }

  // -- magic 2 -------------------------------------------------------------------------------

  private *recordSet(first: number): Generator<RawRecord> {
    const count: number = this.content.numRecords;
    if (count === 0) return; // Kafka does not look at the payload either (Q9)
    const payload = this.decompressed();
    const mark = Math.min(first >> 6, this.marks.length - 1);
    let at = this.marks[mark]!;
    let index = mark << 6;
    for (; index < count; index++) {
      if ((index & 63) === 0) this.marks[index >> 6] = at;
      const framed = prepare(this.kind.framed, payload, [this.content], at);
      try {
        read(framed, payload);
      } catch (error) {
        throw this.refused(error, `/records/${index}`);
      }
      const start = at;
      at = endOf(framed);
      if (index >= first) yield this.record(framed, payload, index, start, at);
    }
    if (at !== payload.length) {
      const error = new Refused('trailing_bytes', `${payload.length - at} bytes are left after the last record`, at, '/end', null);
      throw this.refused(error, '');
    }
  }

  private record(framed: Made, payload: Uint8Array, index: number, start: number, end: number): RawRecord {
    const made = framed.body;
    return {
      index,
      offset: valueOf(made, 'offset')!,
      timestamp: valueOf(made, 'timestamp')!,
      sequence: Number(valueOf(made, 'sequence')!),
      key: nullable(made.key, payload, this.shift),
      value: nullable(made.value, payload, this.shift),
      headers: made.headers.map((header: Made) => ({ key: header.key, value: header.value.value ?? null })),
      start: this.shift + start,
      end: this.shift + end,
      made,
      framed,
    };
  }

  // -- magic 0 and 1 -------------------------------------------------------------------------

  private message(
    content: Made, data: Uint8Array, index: number, offset: bigint, shift: number, wrapper: Batch | null,
    start = 0, end = data.length, inner = this.magic,
  ): RawRecord {
    let timestamp: bigint = content.timestamp ?? NONE;
    const appended = wrapper !== null && wrapper.timestampType === FACTS.timestampTypes[1];
    if (content.timestamp !== undefined && appended && inner in FACTS.kinds && FACTS.kinds[inner]!.recordSet === '') {
      timestamp = wrapper.content.timestamp ?? NONE;
    }
    return {
      index, offset, timestamp, sequence: -1,
      key: nullable(content.key, data, shift), value: nullable(content.value, data, shift),
      headers: [], start: shift + start, end: shift + end, made: content, framed: null,
    };
  }

  /** The inner entry at a position; null where what is left is cut, which Kafka drops (Q13). */
  private innerEntry(payload: Uint8Array, at: number): { entry: Made; data: Uint8Array; magic: number } | null {
    let data = payload.subarray(at);
    let magic = this.magic;
    if (data.length >= framing.upToMagic) {
      magic = (data[framing.upToMagic - 1]! << 24) >> 24;
      const known = FACTS.kinds[String(magic)];
      if (known === undefined || known.recordSet !== '') {
        // Readers take a magic that does not exist for that of the newest messages (Q21).
        const size = new DataView(data.buffer, data.byteOffset).getInt32(8);
        data = data.slice(0, Math.max(framing.size + size, framing.upToMagic));
        data[framing.upToMagic - 1] = 1;
      }
    }
    try {
      return { entry: parse(ENTRY, data), data, magic };
    } catch (error) {
      if (error instanceof Refused && error.reason === 'truncated') return null;
      if (error instanceof Refused) {
        throw new Refused(error.reason, error.detail, at + error.position, error.path, null).inside(this.payloadPosition, this.payloadPath);
      }
      throw error;
    }
  }

  private wrapped(): Wrapped {
    if (this.inner !== null) return this.inner;
    const payload = this.decompressed();
    const starts: number[] = [];
    let last = 0n;
    let refused: EngineError | null = null;
    let unknownMagic: number | null = null;
    let at = 0;
    while (at < payload.length) {
      const found = this.innerEntry(payload, at);
      if (found === null) break;
      if (!(String(found.magic) in FACTS.kinds) || FACTS.kinds[String(found.magic)]!.recordSet !== '') {
        unknownMagic = found.magic;
      }
      starts.push(at);
      last = found.entry.baseOffset;
      const content = found.entry.message.content;
      if (refused === null && FACTS.codecs[content.attributes.compression] !== 'none') {
        refused = this.error('nested_compression', 'a compressed message inside a compressed message', at);
      }
      refused ??= this.innerChecksum(found, content, at);
      at += endOf(found.entry);
    }
    if (!starts.length) throw this.error('empty_wrapper', 'a compressed message that holds no message');
    let shift = 0n;
    const own: bigint = this.entry.baseOffset;
    if (this.kind.relativeOffsets && own !== 0n) {
      if (own < last) {
        throw this.error('wrapper_offset', `the wrapper has offset ${own}, its last message ${last}`);
      }
      shift = own - last;
    }
    if (refused !== null) throw refused;
    this.inner = { starts, shift, dropped: payload.length - at, unknownMagic };
    return this.inner;
  }

  /** What readers of magic 0 and 1 skip (Q13) or accept (Q21) in silence; call it after `records`. */
  remarks(): Remark[] {
    const found: Remark[] = [];
    const remark = (severity: Remark['severity'], area: string, reason: string, position: number, detail: string): void => {
      found.push({ severity, area, error: { reason, detail, position, inner: null, path: '' } });
    };
    const left: number = this.isSet ? 0 : this.content.unused.length;
    if (left) {
      remark('warning', 'batch', 'trailing_bytes', this.position + this.bytes.length - left, `${left} bytes after the value are ignored`);
    }
    if (this.isSet && this.content.numRecords === 0 && this.payload!.length) {
      remark('warning', 'records', 'ignored_payload', this.payloadPosition, `a batch without records has ${this.payload!.length} bytes after its header`);
    }
    if (this.inner === null) return found;
    const { dropped, unknownMagic } = this.inner;
    if (unknownMagic !== null) {
      remark('warning', 'wrapper', 'inner_magic', this.position, `a message has magic ${unknownMagic}, and is read as magic 1`);
    }
    if (dropped >= framing.size) {
      const moved = this.kind.relativeOffsets ? ', which moves the offsets of all others up by one' : '';
      remark('error', 'wrapper', 'trailing_bytes', this.position, `the last message is cut after ${dropped} bytes and silently dropped${moved}`);
    } else if (dropped) {
      remark('warning', 'wrapper', 'trailing_bytes', this.position, `${dropped} bytes after the last message are ignored`);
    }
    return found;
  }

  /** Area of errors in its content, as `verify` names it. */
  get contentArea(): string {
    if (this.isSet) return 'records';
    return this.isCompressed ? 'wrapper' : 'batch';
  }

  private innerChecksum(found: { entry: Made; data: Uint8Array; magic: number }, content: Made, at: number): EngineError | null {
    const facts = FACTS.kinds[String(content.magic)]!.checksum;
    const data = found.data.slice(framing.size + facts.start, endOf(found.entry));
    if (data.length) data[framing.upToMagic - 1 - framing.size - facts.start] = found.magic & 0xff;
    const computed = checksum(facts.algorithm, data);
    if (computed === content[facts.field]) return null;
    const detail = `stored ${facts.algorithm} of the message with offset ${found.entry.baseOffset} is ${hex(content[facts.field])}, of its bytes it is ${hex(computed)}`;
    return this.error('checksum_mismatch', detail, at + framing.size + facts.position, `${framing.path}/${facts.field}`);
  }

  private *messages(first: number): Generator<RawRecord> {
    const { starts, shift } = this.wrapped();
    const payload = this.decompressed();
    for (let index = first; index < starts.length; index++) {
      const at = starts[index]!;
      const { entry, data, magic } = this.innerEntry(payload, at)!;
      const offset = BigInt.asIntN(64, entry.baseOffset + shift);
      yield this.message(entry.message.content, data, index, offset, at, this, 0, endOf(entry), magic);
    }
  }

  /** Base offset: of a wrapper that of its first message. */
  get baseOffset(): bigint {
    if (!this.isWrapper) return this.entry.baseOffset;
    for (const record of this.messages(0)) return record.offset;
    return this.entry.baseOffset;
  }
}

export function checksumError(kind: KindFacts, position: number, stored: number, found: number): EngineError {
  const { algorithm, field, position: at } = kind.checksum;
  return new EngineError({
    reason: 'checksum_mismatch',
    detail: `stored ${algorithm} is ${hex(stored)}, of the bytes it is ${hex(found)}`,
    position: position + framing.size + at,
    inner: null,
    path: `${framing.path}/${field}`,
  });
}

function hex(value: number): string {
  return `0x${value.toString(16).padStart(8, '0')}`;
}

/** `last_offset` and the like of columns. */
export const lastOffset = (header: Made): bigint => computed('recordbatch.record_batch.last_offset', header)!;
