/**
 * Searches that may take for ever on one record, as a regular expression does that tries all ways to divide
 * a text. Whoever runs one says which record it looks at; whoever waits for it ends its thread when that
 * takes too long, leaves the record out, and goes on behind it.
 */
import { EngineError, RECORD_MS, type Place, type Rows } from '../api';
import type { Source } from '../bytes/source';
import type { Jobs } from './jobs';
import { mayHang } from './match';
import { addCounts, NONE_COUNTED, type Found, type Sought } from './passes';

/** Records that a search gives up before it ends. */
export const MOST_SLOW = 5;
/** After so many ms it says again where it is. */
const SAID_MS = 100;

/** Which records a search looks at. */
export interface Bounds {
  /** The first one, and the first one behind the last; null for none. */
  from: Place | null;
  until: Place | null;
  /** Those that are left out. */
  without: readonly Place[];
  /** Whether each record is told, since one of them takes too long. */
  each: boolean;
}

export const ALL: Bounds = { from: null, until: null, without: [], each: false };

/** Where a search is; null while it reads or decompresses. */
export type At = Place | null;

/** Says where a search is, and which records it has to look at. */
export class Watch {
  /** The batch that is searched. */
  row = 0;
  private said = 0;
  private resting = true;

  constructor(private readonly bounds: Bounds, private readonly say: (at: At) => void) {}

  /** Whether no record of the batch is to be looked at. */
  get isOver(): boolean {
    const { from, until } = this.bounds;
    return (from !== null && this.row < from.row) || (until !== null && this.row > until.row);
  }

  /** What follows may take long, and is no search. */
  rest(): void {
    if (!this.resting) this.say(null);
    this.resting = true;
  }

  /** Whether a record is to be looked at; if so, that begins. */
  begins(index: number, offset: () => bigint): boolean {
    const { row, bounds } = this;
    const { from, until } = bounds;
    if (from !== null && (row < from.row || (row === from.row && index < from.index))) return false;
    if (until !== null && (row > until.row || (row === until.row && index >= until.index))) return false;
    if (bounds.without.some((one) => one.row === row && one.index === index)) return false;
    const now = performance.now();
    if (this.resting || bounds.each || now - this.said > SAID_MS) {
      this.resting = false;
      this.said = now;
      this.say({ row, index, offset: offset() });
    }
    return true;
  }
}

/** The error of a record that takes too long. */
export class Stuck extends EngineError {
  constructor(at: Place) {
    const detail = `the record with offset ${at.offset} was searched for more than ${RECORD_MS / 1000} s`;
    super({ reason: 'unreadable', detail, position: null, inner: null, path: '' });
  }
}

export interface Looked extends Found {
  slow: Place[];
  /** The first record that it did not come to; null if it came to all. */
  rest: Place | null;
}

/** Search rows; what takes too long is left out, and what was found is kept when it is stopped. */
export async function search(jobs: Jobs, source: Source, rows: Rows, sought: Sought & { most: number }, signal: AbortSignal): Promise<Looked> {
  const all: Looked = { ...NONE_COUNTED, hits: [], slow: [], rest: null };
  const take = (found: Found): void => {
    all.hits.push(...found.hits.slice(0, sought.most - all.hits.length));
    addCounts(all, found);
  };
  const hangs = mayHang(sought.wanted, sought.schemas);
  let each = false;
  let from: Place = { row: rows.first, index: 0, offset: rows.baseOffset[0]! };
  for (;;) {
    let last = from;
    const told = (at: At, found: Found): void => {
      take(found);
      last = at ?? last;
    };
    try {
      if (signal.aborted) return { ...all, rest: from };
      take(await jobs.run('find', source, rows, { ...sought, ...ALL, from, each }, { signal, ...(hangs ? { told } : {}) }));
      return all;
    } catch (error) {
      if (signal.aborted) return { ...all, rest: last };
      if (!(error instanceof Stuck)) throw error;
      from = last;
      if (each) {
        all.slow.push(last);
        from = { row: last.row, index: last.index + 1, offset: last.offset + 1n };
      }
      each = true;
      if (all.slow.length >= MOST_SLOW) return { ...all, rest: from };
    }
  }
}
