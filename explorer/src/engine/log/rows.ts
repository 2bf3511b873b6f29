/** Columns of the rows of a log, which grow. */
import { CHECK, FLAG, ROW, type Rows } from '../api';
import type { Batch } from './batch';
import { FACTS } from '../specification/facts';
import { computed, type Made } from '../specification/runtime';

type Column =
  | Uint8Array | Int8Array | Int16Array | Int32Array | Float64Array | BigInt64Array;

const TYPES = {
  row: Uint8Array, position: Float64Array, size: Float64Array, baseOffset: BigInt64Array,
  lastOffset: BigInt64Array, records: Int32Array, magic: Int8Array, codec: Int8Array, flags: Uint8Array,
  baseTimestamp: BigInt64Array, maxTimestamp: BigInt64Array, leaderEpoch: Int32Array,
  producerId: BigInt64Array, producerEpoch: Int16Array, baseSequence: Int32Array, checked: Uint8Array,
} as const;

type Name = keyof typeof TYPES;
type Columns = { [name in Name]: InstanceType<(typeof TYPES)[name]> };
const NAMES = Object.keys(TYPES) as Name[];

function made(capacity: number): Columns {
  return Object.fromEntries(NAMES.map((name) => [name, new TYPES[name](capacity)])) as unknown as Columns;
}

/** A batch by the table of headers: every kind whose header has a fixed size. */
const FAST = Object.entries(FACTS.kinds)
  .filter(([, kind]) => kind.key in FACTS.headers)
  .map(([magic, kind]) => ({ magic: Number(magic), kind, header: FACTS.headers[kind.key]! }));

type Reader = (view: DataView, at: number) => number | bigint;

function integer(place: [number, number, boolean]): Reader {
  const [position, size, signed] = place;
  if (size === 8) return (view, at) => view.getBigInt64(at + position);
  if (size === 4) return signed ? (v, at) => v.getInt32(at + position) : (v, at) => v.getUint32(at + position);
  if (size === 2) return signed ? (v, at) => v.getInt16(at + position) : (v, at) => v.getUint16(at + position);
  return signed ? (v, at) => v.getInt8(at + position) : (v, at) => v.getUint8(at + position);
}

function bits(place: [number, number, number, number]): Reader {
  const [position, size, shift, width] = place;
  const whole = integer([position, size, false]) as (view: DataView, at: number) => number;
  return (view, at) => (whole(view, at) >>> shift) & ((1 << width) - 1);
}

/** The header of a batch of a kind whose header has a fixed size. */
class FastHeader {
  private readonly read: Record<string, Reader> = {};
  readonly size: number;
  readonly least: number;

  constructor(readonly magic: number, key: string) {
    const header = FACTS.headers[key]!;
    this.size = header.size;
    this.least = header.size - FACTS.framing.size;
    for (const [name, place] of Object.entries(header.integers)) this.read[name] = integer(place);
    for (const [name, place] of Object.entries(header.bits)) this.read[name] = bits(place);
    this.key = key;
  }

  readonly key: string;

  number(view: DataView, at: number, name: string): number {
    return this.read[name]!(view, at) as number;
  }

  long(view: DataView, at: number, name: string): bigint {
    return this.read[name]!(view, at) as bigint;
  }

  /** Size of the whole entry if its header is as it has to be, else 0. */
  plausible(view: DataView, at: number): number {
    if (at + this.size > view.byteLength || this.number(view, at, 'magic') !== this.magic) return 0;
    const size = this.number(view, at, 'len_message');
    return size < this.least || this.number(view, at, 'num_records') < 0 ? 0 : FACTS.framing.size + size;
  }
}

export const HEADERS: FastHeader[] = FAST.map(({ magic, kind }) => new FastHeader(magic, kind.key));

export class RowTable {
  count = 0;
  private columns = made(1024);

  private place(): number {
    if (this.count === this.columns.row.length) {
      const grown = made(2 * this.count);
      for (const name of NAMES) (grown[name] as Column as Uint8Array).set(this.columns[name] as Column as Uint8Array);
      this.columns = grown;
    }
    return this.count++;
  }

  get(name: 'position' | 'size', row: number): number {
    return this.columns[name][row]!;
  }

  column<N extends Name>(name: N): Columns[N] {
    return this.columns[name];
  }

  /** Add a batch whose header has a fixed size. */
  addFast(header: FastHeader, view: DataView, at: number, position: number, size: number): void {
    const row = this.place();
    const c = this.columns;
    const has = header.number(view, at, 'attributes.has_delete_horizon');
    const shape: Made = {
      baseOffset: header.long(view, at, 'base_offset'),
      lastOffsetDelta: header.number(view, at, 'last_offset_delta'),
    };
    c.row[row] = ROW.BATCH;
    c.position[row] = position;
    c.size[row] = size;
    c.baseOffset[row] = shape.baseOffset;
    c.lastOffset[row] = computed(`${header.key}.last_offset`, shape)!;
    c.records[row] = header.number(view, at, 'num_records');
    c.magic[row] = header.magic;
    c.codec[row] = header.number(view, at, 'attributes.compression');
    c.flags[row] =
      (header.number(view, at, 'attributes.is_control') ? FLAG.CONTROL : 0) |
      (header.number(view, at, 'attributes.is_transactional') ? FLAG.TRANSACTIONAL : 0) |
      (header.number(view, at, 'attributes.timestamp_type') ? FLAG.LOG_APPEND_TIME : 0) |
      (has ? FLAG.DELETE_HORIZON : 0);
    c.baseTimestamp[row] = header.long(view, at, 'base_timestamp');
    c.maxTimestamp[row] = header.long(view, at, 'max_timestamp');
    c.leaderEpoch[row] = header.number(view, at, 'partition_leader_epoch');
    c.producerId[row] = header.long(view, at, 'producer_id');
    c.producerEpoch[row] = header.number(view, at, 'producer_epoch');
    c.baseSequence[row] = header.number(view, at, 'base_sequence');
  }

  /** Add any entry that is parsed. */
  addBatch(batch: Batch): void {
    const row = this.place();
    const c = this.columns;
    const { content } = batch;
    c.row[row] = ROW.BATCH;
    c.position[row] = batch.position;
    c.size[row] = batch.bytes.length;
    c.baseOffset[row] = batch.entry.baseOffset;
    c.lastOffset[row] = batch.lastOffset;
    c.records[row] = batch.isWrapper ? -1 : batch.count;
    c.magic[row] = batch.magic;
    c.codec[row] = batch.codec;
    c.flags[row] =
      (batch.isControl ? FLAG.CONTROL : 0) |
      (batch.isTransactional ? FLAG.TRANSACTIONAL : 0) |
      (batch.timestampType === FACTS.timestampTypes[1] ? FLAG.LOG_APPEND_TIME : 0) |
      (content.attributes.hasDeleteHorizon ? FLAG.DELETE_HORIZON : 0) |
      (batch.isWrapper ? FLAG.WRAPPER : 0);
    c.baseTimestamp[row] = content.baseTimestamp ?? -1n;
    c.maxTimestamp[row] = content.maxTimestamp ?? content.timestamp ?? -1n;
    c.leaderEpoch[row] = content.partitionLeaderEpoch ?? -1;
    c.producerId[row] = content.producerId ?? -1n;
    c.producerEpoch[row] = content.producerEpoch ?? -1;
    c.baseSequence[row] = content.baseSequence ?? -1;
  }

  /** Add bytes that are no entry. */
  addGap(what: number, position: number, size: number): void {
    const row = this.place();
    const c = this.columns;
    for (const name of NAMES) {
      const column = c[name] as Column;
      if (column instanceof BigInt64Array) column[row] = -1n;
      else if (column instanceof Uint8Array) column[row] = 0;
      else column[row] = -1;
    }
    c.row[row] = what;
    c.position[row] = position;
    c.size[row] = size;
    c.checked[row] = CHECK.DAMAGED;
  }

  resize(row: number, size: number): void {
    this.columns.size[row] = size;
  }

  /** A copy of some rows, to be sent. */
  copy(first: number, count: number): Rows {
    const end = Math.min(this.count, first + count);
    const cut = Object.fromEntries(NAMES.map((name) => [name, (this.columns[name] as Column).slice(first, end)]));
    return { first, count: Math.max(0, end - first), ...(cut as unknown as Columns) } as Rows;
  }

  /** The last row that begins at or before a position; -1 before the first. */
  rowAt(position: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.columns.position[middle]! <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
