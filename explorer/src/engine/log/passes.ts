/**
 * What is done with many batches: each pass takes some rows that follow each other, and runs in any
 * thread. Usual records are walked in columns; `Batch` reads all others, and says what is wrong.
 */
import {
  CHECK, EngineError, LARGEST, ROW, type Counts, type ErrorData, type Finding, type Hit, type Rows, type Wanted, type Writing,
} from '../api';
import { checksum } from '../bytes/checksum';
import { decompress, PayloadError } from '../bytes/compression';
import { shorter, Window, type Source } from '../bytes/source';
import { Lines } from '../messages/lines';
import { FACTS, type KindFacts } from '../specification/facts';
import { Schemas, type SchemaTexts } from '../values/schemas';
import { computer, type Made } from '../specification/runtime';
import { Batch, checksumError } from './batch';
import { finding } from './findings';
import { Matcher, mayHang } from './match';
import { HEADERS } from './rows';
import { isWalked, reader, walk, type Columns } from './walk';
import { Watch, type At, type Bounds } from './watch';

/** Bytes that are read at once, more only for a batch that is larger. */
const CHUNK = 16 << 20;

const { framing } = FACTS;
const NONE = FACTS.codecs.indexOf('none');
/** Size of the header by magic, of kinds whose records can be walked. */
const WALKED = new Map(HEADERS.filter(({ key }) => isWalked(key)).map(({ magic, size }) => [magic, size]));

function kindOf(rows: Rows, i: number): KindFacts {
  return FACTS.kinds[String(rows.magic[i])]!;
}

function windowOf(source: Source, rows: Rows): Window {
  const last = rows.count - 1;
  return new Window(source, Math.min(CHUNK, rows.position[last]! + rows.size[last]! - rows.position[0]!));
}

async function bytesOf(window: Window, rows: Rows, i: number): Promise<Uint8Array> {
  const [position, size] = [rows.position[i]!, rows.size[i]!];
  return window.held(position, size) ?? (await window.at(position, size)).subarray(0, size);
}

// -- checksums -----------------------------------------------------------------------------------

export interface Checked {
  /** CHECK of each row. */
  checked: Uint8Array;
  /** 1 for rows whose records are read too, and are as they have to be. */
  looked: Uint8Array;
  findings: Finding[];
}

/** Compute checksums; read the records of what is in memory and not compressed. */
export async function checksums(source: Source, rows: Rows): Promise<Checked> {
  const window = windowOf(source, rows);
  const checked = rows.checked.slice();
  const looked = new Uint8Array(rows.count);
  const findings: Finding[] = [];
  for (let i = 0; i < rows.count; i++) {
    if (rows.row[i] !== ROW.BATCH) continue;
    const [position, size] = [rows.position[i]!, rows.size[i]!];
    const kind = kindOf(rows, i);
    const { stored, found } = await sums(window, position, size, kind);
    checked[i] = stored === found ? CHECK.SOUND : CHECK.DAMAGED;
    if (stored !== found) {
      const wrapper = kind.recordSet === '' && rows.codec[i] !== NONE;
      findings.push(finding(wrapper ? 'wrapper' : 'batch', checksumError(kind, position, stored, found).data, rows.first + i));
      continue;
    }
    const header = WALKED.get(rows.magic[i]!);
    const data = header !== undefined && rows.codec[i] === NONE ? window.held(position, size) : null;
    if (data !== null) looked[i] = Number(isSound(kind.key, data.subarray(header), rows.records[i]!));
  }
  return { checked, looked, findings };
}

async function sums(window: Window, position: number, size: number, kind: KindFacts): Promise<{ stored: number; found: number }> {
  const { start, position: at, algorithm } = kind.checksum;
  const first = framing.size + start;
  const whole = window.held(position, size);
  if (whole !== null && size >= first) {
    const stored = new DataView(whole.buffer, whole.byteOffset).getUint32(framing.size + at);
    return { stored, found: checksum(algorithm, whole.subarray(first)) };
  }
  const head = await window.at(position, Math.min(size, first));
  const stored = new DataView(head.buffer, head.byteOffset).getUint32(framing.size + at);
  let found = 0;
  for (let done = first; done < size; ) {
    const data = await window.at(position + done, Math.min(size - done, CHUNK));
    const piece = data.subarray(0, Math.min(data.length, size - done));
    if (!piece.length) throw shorter();
    found = checksum(algorithm, piece, found);
    done += piece.length;
  }
  return { stored, found };
}

/** Whether records are as they have to be; there is nothing to say about them then. */
function isSound(key: string, payload: Uint8Array, count: number): boolean {
  return count > 0 ? walk(key, payload, count).whole : payload.length === 0;
}

// -- contents ------------------------------------------------------------------------------------

/** The records of a batch as bytes; null for a kind that is not walked, or if they cannot be decompressed. */
function payloadOf(rows: Rows, i: number, bytes: Uint8Array): Uint8Array | null {
  const header = WALKED.get(rows.magic[i]!);
  if (header === undefined) return null;
  const payload = bytes.subarray(header);
  if (rows.codec[i] === NONE) return payload;
  try {
    return decompress(rows.codec[i]!, payload, rows.magic[i]!);
  } catch (error) {
    if (error instanceof PayloadError) return null;
    throw error;
  }
}

/** Read all records of batches, and note what is wrong with them. */
export async function records(source: Source, rows: Rows): Promise<Finding[]> {
  const window = windowOf(source, rows);
  const findings: Finding[] = [];
  for (let i = 0; i < rows.count; i++) {
    if (rows.row[i] !== ROW.BATCH) continue;
    const bytes = await bytesOf(window, rows, i);
    const count = rows.records[i]!;
    const payload = count > 0 ? payloadOf(rows, i, bytes) : null;
    if (payload === null || !isSound(kindOf(rows, i).key, payload, count)) {
      findings.push(...look(new Batch(bytes, rows.position[i]!), rows.first + i));
    }
  }
  return findings;
}

function look(batch: Batch, row: number): Finding[] {
  try {
    for (const _ of batch.records()) void _;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return [finding(batch.contentArea, error.data, row)];
  }
  return batch.remarks().map((remark) => finding(remark.area, remark.error, row, remark.severity));
}

// -- searches ------------------------------------------------------------------------------------

/** What a search, or what is written, is of. */
export interface Sought {
  /** One of Kafka's own topics, whose messages are decoded; null for others. */
  topic: string | null;
  wanted: Wanted;
  /** What decodes keys and values; null for nothing. */
  schemas: SchemaTexts | null;
}

export interface Found extends Counts {
  /** Not more than are wanted; `found` counts all. */
  hits: Omit<Hit, 'file'>[];
}

/** Takes where a search is, and what it has found since it said so last. */
export type Tell = (at: At, found: Found) => void;

export const NONE_COUNTED: Counts = { found: 0, searched: 0, decoded: 0, undecoded: 0, large: 0, damaged: 0, unread: 0 };
const nothing = (): Found => ({ ...NONE_COUNTED, hits: [] });

/** Add what was counted to other counts. */
export function addCounts(to: Counts, more: Counts): void {
  for (const name of Object.keys(NONE_COUNTED) as (keyof Counts)[]) to[name] += more[name];
}

/** Find records; damaged batches are searched up to their damage. What was told is not returned again. */
export async function find(
  source: Source, rows: Rows, sought: Sought & Bounds & { most: number }, tell: Tell | null = null,
): Promise<Found> {
  const window = windowOf(source, rows);
  let all = nothing();
  const taken = (): Found => {
    const found = { ...all, ...matcher.taken() };
    all = nothing();
    return found;
  };
  const watch = mayHang(sought.wanted, sought.schemas) ? new Watch(sought, (at) => tell?.(at, taken())) : null;
  const matcher = new Matcher(sought.wanted, sought.topic, watch, sought.schemas && Schemas.of(sought.schemas));
  const add = (i: number, index: number, offset: bigint, timestamp: bigint): void => {
    all.found++;
    if (all.hits.length >= sought.most) return;
    all.hits.push({ row: rows.first + i, index, offset, timestamp: timestamp === -1n ? null : timestamp });
  };
  for (let i = 0; i < rows.count; i++) {
    if (rows.row[i] !== ROW.BATCH || !matcher.inBatch(rows.maxTimestamp[i]!)) continue;
    if (watch !== null && !enters(watch, window, rows, i)) continue;
    const count = rows.records[i]!;
    if (rows.size[i]! > LARGEST) {
      all.large++;
      all.unread += Math.max(0, count);
      continue;
    }
    const bytes = await bytesOf(window, rows, i);
    const kind = kindOf(rows, i);
    const payload = matcher.byColumns ? payloadOf(rows, i, bytes) : null;
    let walked = 0;
    let batch: Batch | null = null;
    if (payload !== null && isWalked(kind.key)) {
      if (!matcher.inBytes(payload)) {
        all.searched += Math.max(0, count);
        continue;
      }
      let read: ReturnType<typeof reader> | null = null;
      const made = (columns: Columns, at: number): Made => {
        batch ??= new Batch(bytes, rows.position[i]!);
        read ??= reader(kind.record, batch.content);
        return read(columns, at);
      };
      const [offset, timestamp] = [computer(`${kind.record}.offset`), computer(`${kind.record}.timestamp`)];
      ({ walked } = walk(kind.key, payload, count, (columns, size, first) => {
        for (let at = 0; at < size; at++) {
          if (!matcher.begins(first + at, () => offset(made(columns, at))!)) continue;
          all.searched++;
          if (!matcher.columns(payload, columns, at, () => timestamp(made(columns, at))!)) continue;
          const one = made(columns, at);
          add(i, first + at, offset(one)!, timestamp(one)!);
        }
      }));
      if (walked === count) continue;
    }
    let read = walked;
    try {
      batch ??= new Batch(bytes, rows.position[i]!);
      for (const record of batch.records(walked)) {
        read = record.index + 1;
        if (!matcher.begins(record.index, () => record.offset)) continue;
        all.searched++;
        if (matcher.record(record, batch.isControl)) add(i, record.index, record.offset, record.timestamp);
      }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error; // it is shown where it is
      all.damaged++;
      all.unread += Math.max(0, count - read);
    }
  }
  return taken();
}

/** Whether a batch has records to look at; what is done before that may take as long as it takes. */
function enters(watch: Watch, window: Window, rows: Rows, i: number): boolean {
  watch.row = rows.first + i;
  if (watch.isOver) return false;
  if (rows.codec[i] !== NONE || window.held(rows.position[i]!, rows.size[i]!) === null) watch.rest();
  return true;
}

// -- records as text -----------------------------------------------------------------------------

export interface Written {
  pieces: Uint8Array[];
  /** Where the records break off, after those in the pieces. */
  error: ErrorData | null;
}

/** Records of batches as lines; of wanted ones, damage is passed over. */
export async function written(
  source: Source, rows: Rows,
  of: Bounds & { path: string; topic: string | null; format: Writing['format']; wanted: Wanted | null; schemas: SchemaTexts | null },
  tell: Tell = () => undefined,
): Promise<Written> {
  const window = windowOf(source, rows);
  const schemas = of.schemas && Schemas.of(of.schemas);
  const watch = mayHang(of.wanted, of.schemas) || of.until !== null ? new Watch(of, (at) => tell(at, nothing())) : null;
  const matcher = of.wanted === null ? null : new Matcher(of.wanted, of.topic, watch, schemas);
  const lines = new Lines(of.path, of.topic, of.format, matcher, schemas);
  for (let i = 0; i < rows.count; i++) {
    if (matcher !== null && (rows.row[i] !== ROW.BATCH || rows.size[i]! > LARGEST || !matcher.inBatch(rows.maxTimestamp[i]!))) continue;
    if (watch !== null && !enters(watch, window, rows, i)) continue;
    try {
      lines.add(new Batch(await bytesOf(window, rows, i), rows.position[i]!));
    } catch (error) {
      if (!(error instanceof EngineError) || error.data.reason === 'changed') throw error;
      if (matcher === null) return { pieces: lines.end(), error: error.data };
    }
  }
  return { pieces: lines.end(), error: null };
}
