/** Passes over the rows of a log, in this thread or in others, with results in the order of the rows. */
import { EngineError, RECORD_MS, ROW, type ErrorData, type FileInput, type Rows } from '../api';
import { cancelled, openSource, partOf, type Source } from '../bytes/source';
import { checksums, find, records, written, type Found, type Tell } from './passes';
import type { RowTable } from './rows';
import { Stuck, type At } from './watch';

export const PASSES = { checksums, records, find, written };
export type Pass = keyof typeof PASSES;
/** What a pass takes after its rows; nothing for some. */
export type Given<P extends Pass> = Parameters<(typeof PASSES)[P]> extends [Source, Rows, infer More, ...unknown[]] ? More : undefined;
export type Result<P extends Pass> = Awaited<ReturnType<(typeof PASSES)[P]>>;

/** How a pass is watched. */
export interface Watching {
  /** Ends it. */
  signal?: AbortSignal | undefined;
  /** Hears where it is. One that looks at a record for too long is ended then, with an error of `Stuck`. */
  told?: Tell | undefined;
}

/** Whatever runs passes. */
export interface Jobs {
  /** How many may be under way. */
  readonly width: number;
  run<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>, watching?: Watching): Promise<Result<P>>;
}

/** Bytes of the batches of one job, if they are not larger, and its rows. */
const JOB_BYTES = 8 << 20;
const JOB_ROWS = 1 << 15;
const PAUSE_MS = 80;

/** Let other messages of the worker in, a cancellation for instance. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Run a pass; errors that may reach others are those of the engine. */
export function runPass<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>, tell?: Tell): Promise<Result<P>> {
  return (PASSES[pass] as (source: Source, rows: Rows, given: unknown, tell?: Tell) => Promise<Result<P>>)(source, rows, given, tell);
}

/** Runs passes in this thread, which nobody can end. */
export class Alone implements Jobs {
  readonly width = 1;
  private since = 0;

  async run<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>): Promise<Result<P>> {
    if (performance.now() - this.since > PAUSE_MS) {
      await pause();
      this.since = performance.now();
    }
    return runPass(pass, source, rows, given);
  }
}

/**
 * Rows in parts of some megabytes each, of batches that follow each other without a gap. Those that
 * are not wanted look like damage.
 */
export function* spans(
  rows: RowTable, first: number, end: number, wanted: (row: number) => boolean = () => true, most = JOB_BYTES,
): Generator<Rows> {
  const kinds = rows.column('row');
  let [from, bytes] = [first, 0];
  const part = function* (to: number): Generator<Rows> {
    let [start, stop] = [from, to];
    while (start < stop && !wanted(start)) start++;
    while (start < stop && !wanted(stop - 1)) stop--;
    if (start === stop) return;
    const made = rows.copy(start, stop - start);
    for (let i = 0; i < made.count; i++) if (!wanted(start + i)) made.row[i] = ROW.DAMAGED;
    yield made;
  };
  for (let row = first; row < end; row++) {
    const isBatch = kinds[row] === ROW.BATCH;
    const size = isBatch ? rows.get('size', row) : 0;
    if (row > from && (!isBatch || bytes + size > most || row - from >= JOB_ROWS)) {
      yield* part(row);
      [from, bytes] = [row, 0];
    }
    if (!isBatch) from = row + 1;
    bytes += size;
  }
  yield* part(end);
}

/** Run something over parts of the rows, some at once; `each` gets the results one after the other, and ends it with false. */
export async function inOrder<R>(
  width: number, parts: Iterable<Rows>, run: (part: Rows) => Promise<R>, each: (result: R, part: Rows) => unknown,
): Promise<void> {
  const running: { part: Rows; result: Promise<R> }[] = [];
  const first = async (): Promise<boolean> => {
    const { part, result } = running.shift()!;
    return (await each(await result, part)) !== false;
  };
  for (const part of parts) {
    const result = run(part);
    result.catch(() => undefined); // whoever waits for it hears of it
    running.push({ part, result });
    if (running.length >= width && !(await first())) return;
  }
  while (running.length && (await first()));
}

// -- other threads -------------------------------------------------------------------------------

/** Passes that someone waits for come before those that run by themselves. */
const URGENT: readonly Pass[] = ['find', 'written'];
/** Files below it are read in this thread. */
const LEAST = 4 * JOB_BYTES;
/** So long a helper may say nothing after its time, in ms: what it said may not have been heard yet. */
const HEARD_MS = 50;

export interface Job {
  pass: Pass;
  input: FileInput;
  rows: Rows;
  given: unknown;
}
/** What a helper says of a job: where it is, what came of it, or what went wrong. */
export type Said = { at: At; found: Found } | { result: unknown } | { error: ErrorData };

interface Waiting {
  pass: Pass;
  source: Source;
  rows: Rows;
  given: unknown;
  told: Tell | undefined;
  done: (result: unknown) => void;
  failed: (error: unknown) => void;
  /** Who does it; null before, and after. */
  helper: Helper | null;
  over: boolean;
}

interface Helper {
  number: number;
  port: MessagePort;
}

/** Runs passes over large files, and those that may take for ever, in helpers: other workers, at the other ends of ports. */
export class Helpers implements Jobs {
  private readonly alone = new Alone();
  private readonly waiting: Waiting[] = [];
  private readonly idle: Helper[] = [];
  private asked = false;
  private count = 0;
  /** How many were asked for and have not come. */
  private coming = 0;

  /**
   * @param ask asks for helpers, and ends another one by its number.
   * @param helpers how many there shall be.
   */
  constructor(private readonly ask: (count: number, ended: number | null) => void, private readonly helpers: number) {}

  get width(): number {
    return 2 * this.helpers;
  }

  /** Take helpers, with their numbers from `first` on; fewer than were asked for where there are no more to be had. */
  take(ports: MessagePort[], first: number, asked: number): void {
    this.coming -= asked;
    this.count += ports.length;
    this.idle.push(...ports.map((port, at) => ({ port, number: first + at })));
    this.next();
  }

  private want(count: number, ended: number | null): void {
    this.coming += count;
    this.ask(count, ended);
  }

  private get isAlone(): boolean {
    return this.asked && this.coming === 0 && this.count === 0;
  }

  run<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>, { told, signal }: Watching = {}): Promise<Result<P>> {
    const small = told === undefined && (source.input === null || source.size < LEAST);
    if (small || this.isAlone) return this.alone.run(pass, source, rows, given);
    if (!this.asked) {
      this.asked = true;
      this.want(this.helpers, null);
    }
    return new Promise((done, failed) => {
      const one: Waiting = {
        pass, source, rows, given, told, done: done as (result: unknown) => void, failed, helper: null, over: false,
      };
      const before = URGENT.includes(pass) ? this.waiting.findIndex((other) => !URGENT.includes(other.pass)) : -1;
      this.waiting.splice(before < 0 ? this.waiting.length : before, 0, one);
      signal?.addEventListener('abort', () => this.abandon(one, cancelled()), { once: true });
      this.next();
    });
  }

  private next(): void {
    if (this.isAlone) {
      for (const { pass, source, rows, given, done, failed } of this.waiting.splice(0)) {
        this.alone.run(pass, source, rows, given as never).then(done, failed);
      }
    }
    while (this.idle.length && this.waiting.length) void this.give(this.idle.shift()!, this.waiting.shift()!);
  }

  private async give(helper: Helper, one: Waiting): Promise<void> {
    const { pass, source, rows, given } = one;
    const last = rows.count - 1;
    let input: FileInput;
    try {
      input = source.input ?? (await partOf(source, rows.position[0]!, rows.position[last]! + rows.size[last]!));
    } catch (error) {
      this.free(helper, one);
      one.failed(error);
      return;
    }
    if (one.over) {
      this.free(helper, one);
      return;
    }
    one.helper = helper;
    let timer: ReturnType<typeof setTimeout> | undefined;
    helper.port.onmessage = ({ data }: MessageEvent<Said>): void => {
      clearTimeout(timer);
      if ('at' in data) {
        const { at, found } = data;
        if (one.over) return;
        one.told?.(at, found);
        const late = (): void => this.abandon(one, new Stuck(at!));
        if (at !== null) timer = setTimeout(() => (timer = setTimeout(late, HEARD_MS)), RECORD_MS);
        return;
      }
      this.free(helper, one);
      if ('error' in data) one.failed(new EngineError(data.error));
      else one.done(data.result);
    };
    const job: Job = { pass, input, rows, given };
    helper.port.postMessage(job, input.bytes ? [input.bytes.buffer as ArrayBuffer] : []);
  }

  private free(helper: Helper, one: Waiting): void {
    one.over = true;
    one.helper = null;
    this.idle.push(helper);
    this.next();
  }

  /** Give up what waits, or is done; whoever does it is ended, and another one takes its place. */
  private abandon(one: Waiting, error: EngineError): void {
    if (one.over) return;
    one.over = true;
    const { helper } = one;
    if (helper !== null) {
      one.helper = null;
      helper.port.onmessage = null;
      helper.port.close();
      this.count -= 1;
      this.want(1, helper.number);
    } else if (this.waiting.includes(one)) this.waiting.splice(this.waiting.indexOf(one), 1);
    one.failed(error);
  }
}

/** Memory that goes with a result, so that it is not copied: that of pieces of text. */
function given(result: unknown): ArrayBuffer[] {
  const { pieces = [] } = result as { pieces?: Uint8Array<ArrayBuffer>[] };
  return pieces.map(({ buffer }) => buffer);
}

/** Be a helper: run the jobs that come through a port. */
export function help(port: MessagePort, wrong: (error: unknown) => EngineError): void {
  port.onmessage = async ({ data }: MessageEvent<Job>): Promise<void> => {
    let done: Said;
    const tell: Tell = (at, found) => port.postMessage({ at, found });
    try {
      done = { result: await runPass(data.pass, openSource(data.input), data.rows, data.given as never, tell) };
    } catch (error) {
      done = { error: wrong(error).data };
    }
    port.postMessage(done, 'result' in done ? given(done.result) : []);
  };
}
