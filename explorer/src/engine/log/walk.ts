/** Records of a batch in columns: no object for a record, and for usual bytes only. */
import { WALKERS } from '../../../gen/walkers';
import { camel, typeFacts } from '../specification/facts';
import type { Made } from '../specification/runtime';

export type Column = Int32Array | Float64Array;
export type Columns = Record<string, Column>;
type Names = Record<string, typeof Int32Array | typeof Float64Array>;

/** Code that was made from the layout of a record. */
export interface Walker {
  columns: Names;
  /** Columns of what a record has several of. */
  items: Names;
  /** Fill columns with at most so many records; return how many. It stops before what is unusual. */
  walk(data: Uint8Array, at: number, stop: number, most: number, columns: Columns): number;
}

const AT_ONCE = 4096;
const made = new Map<string, Columns>();

/** Columns for a kind of batch, which every walk fills again. */
function columnsOf(key: string, walker: Walker): Columns {
  let found = made.get(key);
  if (found === undefined) {
    const names = Object.entries({ end: Int32Array, ...walker.columns, ...walker.items });
    found = Object.fromEntries(names.map(([name, Type]) => [name, new Type(AT_ONCE)]));
    made.set(key, found);
  }
  return found;
}

/** Whether records of this kind of batch can be walked. */
export function isWalked(key: string): boolean {
  return key in WALKERS;
}

/**
 * Walk over all records of a batch, some thousands at a time.
 *
 * @param each gets the columns, the number of records in them, and that of the first one.
 * @returns how many records were walked, and whether that is all of them and nothing is left.
 */
export function walk(
  key: string, data: Uint8Array, count: number, each?: (columns: Columns, size: number, first: number) => void,
): { walked: number; whole: boolean } {
  const walker = WALKERS[key]!;
  const columns = columnsOf(key, walker);
  let [at, walked] = [0, 0];
  while (walked < count) {
    const size = walker.walk(data, at, data.length, Math.min(AT_ONCE, count - walked), columns);
    if (size === 0) return { walked, whole: false };
    each?.(columns, size, walked);
    walked += size;
    at = columns['end']![size - 1]!;
  }
  return { walked, whole: at === data.length };
}

/** Reads, of a record in columns, what computed values of it ask for; each time into the same object. */
export function reader(record: string, batch: Made): (columns: Columns, at: number) => Made {
  const made: Made = { batch };
  const named = typeFacts(record).fields.map(({ id, kind }) => [id, camel(id), kind === 'scalar'] as const);
  for (const [, member, scalar] of named) made[member] = scalar ? { value: 0 } : 0;
  return (columns, at) => {
    for (const [id, member, scalar] of named) {
      const value = columns[id]?.[at];
      if (value === undefined) continue;
      if (scalar) made[member].value = value;
      else made[member] = value;
    }
    return made;
  };
}
