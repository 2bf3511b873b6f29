/** Passes over the rows of a log, in this thread or in others, with results in the order of the rows. */
import { EngineError, ROW, type ErrorData, type FileInput, type Rows } from '../api';
import { openSource, type Source } from '../bytes/source';
import { checksums, find, records, written } from './passes';
import type { RowTable } from './rows';

export const PASSES = { checksums, records, find, written };
export type Pass = keyof typeof PASSES;
/** What a pass takes after its rows; nothing for some. */
export type Given<P extends Pass> = Parameters<(typeof PASSES)[P]> extends [Source, Rows, infer More] ? More : undefined;
export type Result<P extends Pass> = Awaited<ReturnType<(typeof PASSES)[P]>>;

/** Whatever runs passes. */
export interface Jobs {
  /** How many may be under way. */
  readonly width: number;
  run<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>): Promise<Result<P>>;
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
export function runPass<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>): Promise<Result<P>> {
  return (PASSES[pass] as (source: Source, rows: Rows, given: unknown) => Promise<Result<P>>)(source, rows, given);
}

/** Runs passes in this thread. */
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

/** Run a pass over parts of the rows, some at once; `each` gets the results one after the other. */
export async function inOrder<P extends Pass>(
  jobs: Jobs, pass: P, source: Source, parts: Iterable<Rows>, each: (result: Result<P>, part: Rows) => void | Promise<void>,
  ...given: Given<P> extends undefined ? [] : [Given<P>]
): Promise<void> {
  const running: { part: Rows; result: Promise<Result<P>> }[] = [];
  const first = async (): Promise<void> => {
    const { part, result } = running.shift()!;
    await each(await result, part);
  };
  for (const part of parts) {
    const result = jobs.run(pass, source, part, given[0] as Given<P>);
    result.catch(() => undefined); // whoever waits for it hears of it
    running.push({ part, result });
    if (running.length >= jobs.width) await first();
  }
  while (running.length) await first();
}

// -- other threads -------------------------------------------------------------------------------

/** Passes that someone waits for come before those that run by themselves. */
const URGENT: readonly Pass[] = ['find', 'written'];
/** Files below it are read in this thread. */
const LEAST = 4 * JOB_BYTES;

export interface Job {
  pass: Pass;
  input: FileInput;
  rows: Rows;
  given: unknown;
}
export type Done = { result: unknown } | { error: ErrorData };

interface Waiting {
  job: Job;
  source: Source;
  done: (result: unknown) => void;
  failed: (error: unknown) => void;
}

/** Runs passes over large files in helpers: other workers, at the other ends of ports. */
export class Helpers implements Jobs {
  private readonly alone = new Alone();
  private readonly waiting: Waiting[] = [];
  private readonly idle: MessagePort[] = [];
  private asked = false;
  /** How many there are; null until they have come. */
  private count: number | null = null;

  /** @param ask asks for helpers, once. */
  constructor(private readonly ask: () => void, readonly width: number) {}

  /** Take helpers; none where there are none to be had. */
  take(ports: MessagePort[]): void {
    this.count = ports.length;
    this.idle.push(...ports);
    this.next();
  }

  run<P extends Pass>(pass: P, source: Source, rows: Rows, given: Given<P>): Promise<Result<P>> {
    const { input } = source;
    if (input === null || source.size < LEAST || this.count === 0) return this.alone.run(pass, source, rows, given);
    if (!this.asked) {
      this.asked = true;
      this.ask();
    }
    return new Promise((done, failed) => {
      const one = { job: { pass, input, rows, given }, source, done: done as (result: unknown) => void, failed };
      const before = URGENT.includes(pass) ? this.waiting.findIndex(({ job }) => !URGENT.includes(job.pass)) : -1;
      this.waiting.splice(before < 0 ? this.waiting.length : before, 0, one);
      this.next();
    });
  }

  private next(): void {
    if (this.count === 0) {
      for (const { job, source, done, failed } of this.waiting.splice(0)) {
        this.alone.run(job.pass, source, job.rows, job.given as never).then(done, failed);
      }
    }
    while (this.idle.length && this.waiting.length) {
      const port = this.idle.shift()!;
      const { job, done, failed } = this.waiting.shift()!;
      port.onmessage = ({ data }: MessageEvent<Done>): void => {
        this.idle.push(port);
        this.next();
        if ('error' in data) failed(new EngineError(data.error));
        else done(data.result);
      };
      port.postMessage(job);
    }
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
    let done: Done;
    try {
      done = { result: await runPass(data.pass, openSource(data.input), data.rows, data.given as never) };
    } catch (error) {
      done = { error: wrong(error).data };
    }
    port.postMessage(done, 'result' in done ? given(done.result) : []);
  };
}
