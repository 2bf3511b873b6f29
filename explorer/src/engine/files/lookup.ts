/** Look-ups as a broker does them, with their steps. */
import { ROW, type LookUp, type Step } from '../api';
import { unreadable } from '../bytes/source';
import type { OpenFile } from './open_file';
import { Index } from './tables';
import type { Batch, RawRecord } from '../log/batch';

type Rows = NonNullable<OpenFile['log']>['rows'];

/** A segment with what lies beside it. */
export interface Segment {
  log: OpenFile;
  index: OpenFile | null;
  timeIndex: OpenFile | null;
  indexOf(file: OpenFile): Promise<Index>;
  batch(log: OpenFile, row: number): Promise<Batch>;
  /** Its rows, as soon as all of them are known. */
  listed(): Promise<Rows>;
}

const NOTHING = { file: null, row: null, record: null, offset: null };

function chosen(steps: Step[], segment: Segment, text: string): void {
  steps.push({ where: 'segment', text, file: segment.log.info.id, start: 0, end: 0, row: null, entry: null });
}

const base = (segment: Segment): bigint => segment.log.info.baseOffset ?? 0n;

/** Find the first record at or after an offset, in segments in their order. */
export async function findOffset(segments: Segment[], offset: bigint): Promise<LookUp> {
  const steps: Step[] = [];
  let number = segments.filter((each) => base(each) <= offset).length - 1;
  if (segments.length > 1) {
    const first = segments[Math.max(0, number)]!;
    chosen(steps, first, number < 0
      ? `no segment begins at or below offset ${offset}; the first one is ${first.log.info.name}`
      : `${first.log.info.name} is the last of ${segments.length} segments that begins at or below offset ${offset}`);
  }
  for (number = Math.max(0, number); number < segments.length; number++) {
    const segment = segments[number]!;
    const start = segment.index === null ? 0 : await throughIndex(segment, segment.index, offset, steps);
    const found = await inLog(segment, start, steps, `offset ${offset}`, (rows, row) => rows.column('lastOffset')[row]! >= offset,
      (record) => record.offset >= offset);
    if (found !== null) return found;
    if (number + 1 < segments.length) chosen(steps, segments[number + 1]!, `the next segment is ${segments[number + 1]!.log.info.name}`);
  }
  return { steps, ...NOTHING };
}

async function throughIndex(beside: Segment, file: OpenFile, offset: bigint, steps: Step[]): Promise<number> {
  const index = await beside.indexOf(file);
  const entry = index.last((made) => BigInt(made.relativeOffset) + index.base <= offset);
  const step = (text: string, at: number | null): void => {
    const [start, end] = at === null ? [0, 0] : index.range(at);
    steps.push({ where: 'index', text, file: file.info.id, start, end, row: null, entry: at });
  };
  if (entry < 0) {
    step(`no entry at or below offset ${offset}: begin at position 0`, null);
    return 0;
  }
  const made = index.entry(entry);
  step(`entry ${entry} is the last one at or below: offset ${index.offset(entry)} is at position ${made.position}`, entry);
  return made.position;
}

/**
 * The largest timestamp of a segment as a broker knows it, and from where. Batches may follow the time index of the
 * last segment: while a broker runs it has their timestamps in memory, and if it was killed it rebuilds the index.
 */
async function largestOf(segment: Segment, isLast: boolean): Promise<{ largest: bigint; from: string }> {
  let indexed = -1n;
  if (segment.index !== null && segment.timeIndex !== null) {
    const index = await segment.indexOf(segment.timeIndex);
    indexed = index.count === 0 ? -1n : (index.entry(index.count - 1).timestamp as bigint);
  }
  if (indexed >= 0n && !isLast) return { largest: indexed, from: 'its time index' };
  const rows = await segment.listed();
  const largest = rows.column('maxTimestamp').subarray(0, rows.count).reduce((most, each) => (each > most ? each : most), -1n);
  return largest > indexed ? { largest, from: 'its batches' } : { largest: indexed, from: 'its time index' };
}

/** Find the first record with a timestamp at or after one, in segments in their order. */
export async function findTime(segments: Segment[], timestamp: bigint): Promise<LookUp> {
  const steps: Step[] = [];
  let passed = 0;
  for (const segment of segments) {
    if (segments.length > 1) {
      const { largest, from } = await largestOf(segment, segment === segments.at(-1));
      if (largest < timestamp) {
        passed++;
        continue;
      }
      const before = passed === 0 ? '' : `, after ${passed} whose largest timestamp is below`;
      chosen(steps, segment, `${segment.log.info.name} is the first segment that reaches timestamp ${timestamp}${before}: ${largest} by ${from}`);
    }
    // A broker looks no further, even if it finds nothing.
    return (await inSegment(segment, timestamp, steps)) ?? { steps, ...NOTHING };
  }
  const last = segments.at(-1);
  if (last === undefined) throw unreadable('there is no segment', 'invalid_value');
  chosen(steps, last, `no segment reaches timestamp ${timestamp}`);
  return { steps, ...NOTHING };
}

async function inSegment(beside: Segment, timestamp: bigint, steps: Step[]): Promise<LookUp | null> {
  let start = 0;
  if (beside.timeIndex !== null) {
    const index = await beside.indexOf(beside.timeIndex);
    const entry = index.last((made) => made.timestamp < timestamp);
    const [from, to] = entry < 0 ? [0, 0] : index.range(entry);
    const text = entry < 0
      ? `no entry below timestamp ${timestamp}: begin at the first offset`
      : `entry ${entry} is the last one below: timestamp ${index.entry(entry).timestamp} up to offset ${index.offset(entry)}`;
    steps.push({ where: 'time index', text, file: beside.timeIndex.info.id, start: from, end: to, row: null, entry: entry < 0 ? null : entry });
    if (entry >= 0 && beside.index !== null) start = await throughIndex(beside, beside.index, index.offset(entry), steps);
  }
  return inLog(beside, start, steps, `timestamp ${timestamp}`, (rows, row) => rows.column('maxTimestamp')[row]! >= timestamp,
    (record) => record.timestamp >= timestamp);
}

async function inLog(
  beside: Segment, position: number, steps: Step[], wanted: string,
  fits: (rows: Rows, row: number) => boolean, found: (record: RawRecord) => boolean,
): Promise<LookUp | null> {
  const { log } = beside;
  const rows = await beside.listed();
  const at = (row: number | null, text: string, start: number, end: number, where = 'log'): void => {
    steps.push({ where, text, file: log.info.id, start, end, row, entry: null });
  };
  let row = Math.max(0, rows.rowAt(position));
  let passed = 0;
  for (; row < rows.count; row++, passed++) {
    if (rows.column('row')[row] !== ROW.BATCH || !fits(rows, row)) continue;
    const start = rows.get('position', row);
    at(row, `batch at position ${start} is the first that reaches ${wanted}; ${passed} passed by their headers`, start, start + rows.get('size', row));
    const batch = await beside.batch(log, row);
    for (const record of batch.records()) {
      if (!found(record)) continue;
      at(row, `record ${record.index} has offset ${record.offset} and timestamp ${record.timestamp}`,
        batch.isCompressed ? start : record.start, batch.isCompressed ? start + batch.bytes.length : record.end, 'records');
      return { steps, file: log.info.id, row, record: record.index, offset: record.offset };
    }
  }
  at(null, `no batch from position ${position} on reaches ${wanted}`, log.info.size, log.info.size);
  return null;
}

