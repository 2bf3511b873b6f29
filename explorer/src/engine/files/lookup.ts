/** Look-ups as a broker does them, with their steps. */
import { ROW, type LookUp, type Step } from '../api';
import type { OpenFile } from './open_file';
import { Index } from './tables';
import type { Batch, RawRecord } from '../log/batch';

interface Beside {
  log: OpenFile;
  index: OpenFile | null;
  timeIndex: OpenFile | null;
  indexOf(file: OpenFile): Promise<Index>;
  batch(log: OpenFile, row: number): Promise<Batch>;
}

const NOTHING = { row: null, record: null, offset: null };

/** Find the first record at or after an offset. */
export async function findOffset(beside: Beside, offset: bigint): Promise<LookUp> {
  const steps: Step[] = [];
  const start = beside.index === null ? 0 : await throughIndex(beside, beside.index, offset, steps);
  return inLog(beside, start, steps, `offset ${offset}`, (rows, row) => rows.column('lastOffset')[row]! >= offset,
    (record) => record.offset >= offset);
}

async function throughIndex(beside: Beside, file: OpenFile, offset: bigint, steps: Step[]): Promise<number> {
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

/** Find the first record with a timestamp at or after one. */
export async function findTime(beside: Beside, timestamp: bigint): Promise<LookUp> {
  const steps: Step[] = [];
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

type Rows = NonNullable<OpenFile['log']>['rows'];

async function inLog(
  beside: Beside, position: number, steps: Step[], wanted: string,
  fits: (rows: Rows, row: number) => boolean, found: (record: RawRecord) => boolean,
): Promise<LookUp> {
  const { log } = beside;
  const rows = log.log!.rows;
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
      return { steps, row, record: record.index, offset: record.offset };
    }
  }
  at(null, `no batch from position ${position} on reaches ${wanted}`, log.info.size, log.info.size);
  return { steps, ...NOTHING };
}

