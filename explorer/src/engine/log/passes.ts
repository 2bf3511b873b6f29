/**
 * What is done with many batches: each pass takes some rows that follow each other, and runs in any
 * thread. Usual records are walked in columns; `Batch` reads all others, and says what is wrong.
 */
import { CHECK, EngineError, ROW, type ErrorData, type Finding, type KeyHit, type KeyQuery, type Rows } from '../api';
import { checksum } from '../bytes/checksum';
import { decompress, PayloadError } from '../bytes/compression';
import { unreadable, Window, type Source } from '../bytes/source';
import { Lines } from '../messages/lines';
import { FACTS, type KindFacts } from '../specification/facts';
import { computed } from '../specification/runtime';
import { Batch, checksumError } from './batch';
import { finding } from './findings';
import { HEADERS } from './rows';
import { isWalked, reader, walk } from './walk';

/** Entries beyond it are not read into memory to look at them. */
export const LARGEST = 512 << 20;
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
    if (!piece.length) throw unreadable('the file became shorter', 'changed');
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

// -- keys ----------------------------------------------------------------------------------------

export interface Found {
  hits: Omit<KeyHit, 'file'>[];
  /** All that were found, those that are not in `hits` too. */
  found: number;
  searched: number;
}

/** Find records by their keys; damaged batches are searched up to their damage. */
export async function keys(
  source: Source, rows: Rows, query: { key: Uint8Array; how: KeyQuery['how']; most: number },
): Promise<Found> {
  const window = windowOf(source, rows);
  const all: Found = { hits: [], found: 0, searched: 0 };
  const { key, how, most } = query;
  const add = (i: number, index: number, offset: bigint, timestamp: bigint): void => {
    all.found++;
    if (all.hits.length >= most) return;
    all.hits.push({ row: rows.first + i, index, offset, timestamp: timestamp === -1n ? null : timestamp });
  };
  for (let i = 0; i < rows.count; i++) {
    if (rows.row[i] !== ROW.BATCH || rows.size[i]! > LARGEST) continue;
    const bytes = await bytesOf(window, rows, i);
    const count = rows.records[i]!;
    const kind = kindOf(rows, i);
    const payload = payloadOf(rows, i, bytes);
    let walked = 0;
    let batch: Batch | null = null;
    let read: ReturnType<typeof reader> | null = null;
    if (payload !== null && isWalked(kind.key)) {
      ({ walked } = walk(kind.key, payload, count, (columns, size, first) => {
        const [starts, sizes] = [columns['key.start']!, columns['key.size']!];
        for (let at = 0; at < size; at++) {
          if (!matches(payload, starts[at]!, sizes[at]!, key, how)) continue;
          batch ??= new Batch(bytes, rows.position[i]!);
          read ??= reader(kind.record, batch.content);
          const made = read(columns, at);
          add(i, first + at, computed(`${kind.record}.offset`, made)!, computed(`${kind.record}.timestamp`, made)!);
        }
      }));
      all.searched += walked;
      if (walked === count) continue;
    }
    try {
      for (const record of (batch ?? new Batch(bytes, rows.position[i]!)).records(walked)) {
        all.searched++;
        const found = record.key?.bytes;
        if (found && matches(found, 0, found.length, key, how)) add(i, record.index, record.offset, record.timestamp);
      }
    } catch (error) {
      if (!(error instanceof EngineError)) throw error; // it is shown where it is
    }
  }
  return all;
}

function matches(data: Uint8Array, from: number, size: number, wanted: Uint8Array, how: KeyQuery['how']): boolean {
  const length = wanted.length;
  if (size < length || (how === 'equals' && size !== length)) return false;
  const last = how === 'contains' ? from + size - length : from;
  for (let start = from; start <= last; start++) {
    let at = 0;
    while (at < length && data[start + at] === wanted[at]) at++;
    if (at === length) return true;
  }
  return false;
}

// -- JSON ----------------------------------------------------------------------------------------

export interface Written {
  pieces: Uint8Array[];
  /** Where the records break off, after those in the pieces. */
  error: ErrorData | null;
}

/** The records of batches as lines of JSON. */
export async function json(source: Source, rows: Rows, of: { path: string; topic: string | null }): Promise<Written> {
  const window = windowOf(source, rows);
  const lines = new Lines(of.path, of.topic);
  try {
    for (let i = 0; i < rows.count; i++) lines.add(new Batch(await bytesOf(window, rows, i), rows.position[i]!));
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    return { pieces: lines.end(), error: error.data };
  }
  return { pieces: lines.end(), error: null };
}
