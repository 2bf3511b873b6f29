/** Two files side by side: an index and its log, or two replicas of a segment. */
import { ROW, type Comparison, type IndexCheck } from '../api';
import type { Batch } from '../log/batch';
import type { OpenFile } from './open_file';
import { stopIfAborted } from '../log/log';
import type { Index } from './tables';

const MOST = 1000;

/** Check each entry of an index against the rows of its log. */
export function compareIndex(index: Index, log: OpenFile, isTime: boolean): Comparison {
  const { rows } = log.log!;
  const entries: IndexCheck[] = [];
  let broken = 0;
  let largest = -1n;
  let seen = 0;
  for (let entry = 0; entry < index.count; entry++) {
    const made = index.entry(entry);
    const offset = index.offset(entry);
    const [start, end] = index.range(entry);
    const check: IndexCheck = {
      entry, start, end, offset, timestamp: isTime ? made.timestamp : null,
      position: isTime ? null : made.position, row: null, holds: true, reason: null, text: '',
    };
    const fail = (reason: string, text: string): void => {
      check.holds = false;
      check.reason = reason;
      check.text = text;
    };
    if (isTime) {
      const row = rowOfOffset(log, offset);
      check.row = row;
      check.text = `up to offset ${offset} no timestamp is larger`;
      // Every record with a larger timestamp has a larger offset.
      for (; seen < rows.count && rows.column('row')[seen] === ROW.BATCH && rows.column('lastOffset')[seen]! <= offset; seen++) {
        const most = rows.column('maxTimestamp')[seen]!;
        if (most > largest) largest = most;
      }
      if (largest > made.timestamp) fail('time_index_meaning', `a batch at or before offset ${offset} has timestamp ${largest}`);
      else if (row === null) fail('index_beyond_log', `the log has no batch with offset ${offset}`);
    } else {
      const row = rows.rowAt(made.position);
      const hit = row >= 0 && rows.get('position', row) === made.position && rows.column('row')[row] === ROW.BATCH;
      check.row = hit ? row : null;
      if (made.position < 0 || made.position >= log.info.size) fail('index_beyond_log', `position ${made.position} is after the end of the log`);
      else if (!hit) fail('index_position', `no batch begins at position ${made.position}`);
      else {
        const first = rows.column('baseOffset')[row]!;
        const last = rows.column('lastOffset')[row]!;
        check.text = `batch ${row}: offsets ${first} to ${last}`;
        if (offset < first) fail('index_offset', `the batch at position ${made.position} begins at offset ${first}`);
        else if (offset > last) fail('index_offset', `the batch at position ${made.position} ends at offset ${last}`);
      }
    }
    if (!check.holds) broken++;
    if (entries.length < MOST || !check.holds) entries.push(check);
  }
  entries.sort((a, b) => Number(a.holds) - Number(b.holds) || a.entry - b.entry);
  entries.length = Math.min(entries.length, MOST);
  const text = broken ? `${broken} of ${index.count} entries do not hold` : `all ${index.count} entries hold`;
  return { kind: 'index', entries, total: index.count, broken, same: broken === 0, difference: null, text };
}

function rowOfOffset(log: OpenFile, offset: bigint): number | null {
  const { rows } = log.log!;
  for (let row = 0; row < rows.count; row++) {
    if (rows.column('row')[row] === ROW.BATCH && rows.column('lastOffset')[row]! >= offset) return row;
  }
  return null;
}

/** Find the first difference of two replicas by offset. */
export async function compareReplicas(
  left: OpenFile, right: OpenFile, batch: (file: OpenFile, row: number) => Promise<Batch>, signal?: AbortSignal,
): Promise<Comparison> {
  const found: Comparison = { kind: 'replicas', entries: [], total: 0, broken: 0, same: true, difference: null, text: '' };
  const [a, b] = [left.log!.rows, right.log!.rows];
  const differ = (l: number | null, r: number | null, text: string): Comparison => {
    const offset = l === null ? null : a.column('baseOffset')[l]!;
    const other = r === null ? null : b.column('baseOffset')[r]!;
    found.same = false;
    found.difference = {
      offset: offset === null ? other : other === null || offset < other ? offset : other,
      left: l, right: r,
      leftPosition: l === null ? null : a.get('position', l),
      rightPosition: r === null ? null : b.get('position', r),
      text,
    };
    found.text = text;
    return found;
  };
  let [l, r] = [0, 0];
  // A replica may begin later; both are compared from the first offset that both can have.
  const begin = (rows: typeof a, from: bigint): number => {
    let row = 0;
    while (row < rows.count && rows.column('row')[row] === ROW.BATCH && rows.column('lastOffset')[row]! < from) row++;
    return row;
  };
  if (a.count && b.count && a.column('row')[0] === ROW.BATCH && b.column('row')[0] === ROW.BATCH) {
    const [x, y] = [a.column('baseOffset')[0]!, b.column('baseOffset')[0]!];
    [l, r] = [begin(a, y), begin(b, x)];
  }
  for (; l < a.count && r < b.count; l++, r++, found.total++) {
    stopIfAborted(signal);
    const [kindL, kindR] = [a.column('row')[l], b.column('row')[r]];
    if (kindL !== ROW.BATCH || kindR !== ROW.BATCH) {
      if (kindL === ROW.TAIL || kindR === ROW.TAIL) break;
      return differ(l, r, `${kindL === ROW.BATCH ? 'the right' : 'the left'} file is damaged here`);
    }
    const [offsetL, offsetR] = [a.column('baseOffset')[l]!, b.column('baseOffset')[r]!];
    if (offsetL !== offsetR) return differ(l, r, `the left has a batch at offset ${offsetL}, the right at ${offsetR}`);
    for (const name of ['lastOffset', 'records', 'leaderEpoch', 'producerId', 'producerEpoch', 'baseSequence', 'maxTimestamp', 'codec', 'flags', 'size'] as const) {
      if (a.column(name)[l] !== b.column(name)[r]) {
        return differ(l, r, `${name} of the batch at offset ${offsetL}: ${a.column(name)[l]} and ${b.column(name)[r]}`);
      }
    }
    const [x, y] = [await batch(left, l), await batch(right, r)];
    const at = x.bytes.findIndex((byte, index) => byte !== y.bytes[index]);
    if (at >= 0) return differ(l, r, `the batches at offset ${offsetL} differ at their byte ${at}`);
  }
  const more = (rows: typeof a, row: number): boolean => row < rows.count && rows.column('row')[row] === ROW.BATCH;
  const longer = more(a, l) ? 'the left goes on' : more(b, r) ? 'the right goes on' : 'both end there';
  found.text = `${found.total} batches are the same; ${longer}`;
  return found;
}
