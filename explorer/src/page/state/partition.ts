/** A partition as one list of records, across all of its segments. */
import { batch, computed, signal } from '@preact/signals';
import { CHECK, FLAG, ROW, type RecordPage, type RecordView } from '../../engine/api';
import type { Row } from './columns';
import { attempt, chooseAt, current, engine, files, record, row, RECORDS_AT_ONCE, schemaVersion, segmentsOf, type Open } from './store';

/** A line: a segment begins, a record, or a row without one. */
export interface Line {
  file: Open;
  /** -1 where a segment begins. */
  row: number;
  index: number;
}

/** Segments of the partition of the current file, in their order; of a log outside of one, itself. */
export const segments = computed<Open[]>(() => {
  const file = current.value;
  return file ? segmentsOf(file) : [];
});

// -- lines -----------------------------------------------------------------------------------

/** Lines that a segment has: it is headed if there are several. */
function headed(): number {
  return segments.value.length > 1 ? 1 : 0;
}

/** Something that changes when lines have come. */
export const version = computed(() => segments.value.reduce((sum, file) => sum + file.version.value, pagesVersion.value));

export const total = computed(() => {
  void version.value;
  return segments.value.reduce((sum, file) => sum + headed() + file.columns.lines, 0);
});

export function lineAt(line: number): Line | null {
  let left = line;
  for (const file of segments.value) {
    const own = headed() + file.columns.lines;
    if (left < own) {
      if (left < headed()) return { file, row: -1, index: 0 };
      const [found, index] = file.columns.rowOfLine(left - headed());
      return { file, row: found, index };
    }
    left -= own;
  }
  return null;
}

/** The line of a place; -1 if it is in none of the segments. */
export function lineOf(place: { file: Open; row: number; index: number }): number {
  let before = 0;
  for (const file of segments.value) {
    if (file === place.file) {
      return place.row < 0 ? -1 : before + headed() + file.columns.lineOf(place.row) + Math.max(0, place.index);
    }
    before += headed() + file.columns.lines;
  }
  return -1;
}

export const chosenLine = computed(() => {
  void version.value;
  const file = current.value;
  return file ? lineOf({ file, row: row.value, index: record.value }) : -1;
});

/** Choose what a line shows: a record, or the first one of a segment or a damaged place. */
export async function chooseLine(line: number): Promise<void> {
  let found = lineAt(line);
  // The head of a segment is no stop.
  if (found && found.row < 0) found = lineAt(line < chosenLine.value ? line - 1 : line + 1);
  if (!found || found.row < 0) return;
  const isBatch = found.file.columns.at(found.row)?.kind === ROW.BATCH;
  await chooseAt(found.file, found.row, isBatch ? found.index : -1);
}

/** Read the headers of all segments of the partition, the current one first. */
export async function listAll(): Promise<void> {
  for (const file of segments.value) await file.list();
}

// -- records of lines ------------------------------------------------------------------------

const MOST_PAGES = 400;
const MOST_COMING = 60;
const pages = new Map<string, RecordPage>();
const coming = new Set<string>();
const pagesVersion = signal(0);

/** The record of a line, if it was read; else it is asked for. */
export function recordOfLine({ file, row, index }: Line): { page: RecordPage; record: RecordView | undefined } | null {
  const first = Math.floor(index / RECORDS_AT_ONCE) * RECORDS_AT_ONCE;
  const key = `${file.info.id}:${file.info.edits}:${schemaVersion.value}:${row}:${first}`;
  const page = pages.get(key);
  if (page) return { page, record: page.records[index - first] };
  if (!coming.has(key) && coming.size < MOST_COMING) {
    coming.add(key);
    queueMicrotask(() => void attemptQuietly(() => read(key, file, row, first)));
  }
  return null;
}

async function read(key: string, file: Open, wanted: number, first: number): Promise<void> {
  try {
    const page = await engine().records(file.info.id, wanted, first, RECORDS_AT_ONCE, 512);
    batch(() => {
      pages.set(key, page);
      const oldest = pages.keys().next().value;
      if (pages.size > MOST_PAGES && oldest !== undefined) pages.delete(oldest);
      file.columns.setLines(wanted, page.total);
      pagesVersion.value += 1;
    });
  } finally {
    coming.delete(key);
  }
}

/** What goes wrong with a line is shown when it is chosen. */
async function attemptQuietly(work: () => Promise<void>): Promise<void> {
  await work().catch(() => undefined);
}

// -- where the log begins --------------------------------------------------------------------

/** The offset at which readers begin, and what says so; null if nothing does. */
export const logStart = signal<{ offset: bigint; from: string } | null>(null);

export async function readLogStart(): Promise<void> {
  const file = current.value;
  logStart.value = null;
  const first = segments.value[0];
  if (!file || !first || first.info.topic === null || first.info.baseOffset === null) return;
  const base = first.info.baseOffset;
  let found = { offset: base, from: 'the name of the first segment' };
  const above = first.dir.slice(0, Math.max(0, first.dir.lastIndexOf('/')));
  const list = files.value.find((other) => other.dir === above && other.info.name === 'log-start-offset-checkpoint');
  if (list) {
    const { rows } = await engine().table(list.info.id, 0, 100_000);
    const own = `${first.info.topic} ${first.info.partition} `;
    const line = rows.map(([text]) => text ?? '').find((text) => text.startsWith(own));
    const offset = line === undefined ? null : /^\d{1,19}$/.exec(line.slice(own.length))?.[0];
    if (offset && BigInt(offset) > base) found = { offset: BigInt(offset), from: list.info.name };
  }
  if (current.value === file) logStart.value = found;
}

// -- transactions ----------------------------------------------------------------------------

export interface Place {
  file: Open;
  row: number;
}

export interface TransactionOf {
  /** Its first batch, its last one before the marker, and the marker; null if none follows. */
  first: Place;
  last: Place;
  marker: Place | null;
  batches: number;
  records: number;
  /** Whether it may begin or end in a segment that is not open. */
  partial: boolean;
}

const MOST_STEPS = 1 << 20;

function step(place: Place, by: 1 | -1): { place: Place; held: Row } | null {
  let { file } = place;
  let next = place.row + by;
  const all = segments.value;
  for (;;) {
    const held = next >= 0 ? file.columns.at(next) : null;
    if (held) return { place: { file, row: next }, held };
    const other = all[all.indexOf(file) + by];
    if (!other) return null;
    file = other;
    next = by > 0 ? 0 : other.columns.count - 1;
    if (!other.columns.count) return null;
  }
}

/** The transaction of a batch, or of a marker, by the headers of the partition; null for others. */
export function transactionOf(at: Place): TransactionOf | null {
  const held = at.file.columns.at(at.row);
  if (!held || held.kind !== ROW.BATCH || !(held.flags & FLAG.TRANSACTIONAL) || held.producerId < 0n) return null;
  const own = (row: Row): boolean => row.kind === ROW.BATCH && row.producerId === held.producerId && (row.flags & FLAG.TRANSACTIONAL) !== 0;
  const isMarker = (row: Row): boolean => (row.flags & FLAG.CONTROL) !== 0;
  const found: TransactionOf = { first: at, last: at, marker: isMarker(held) ? at : null, batches: 0, records: 0, partial: false };
  const count = (row: Row): void => {
    found.batches += 1;
    found.records += Math.max(0, row.records);
  };
  if (!found.marker) count(held);
  let place: Place = at;
  let begun = false;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const before = step(place, -1);
    if (!before) break;
    place = before.place;
    if (!own(before.held)) continue;
    if (isMarker(before.held)) {
      begun = true;
      break;
    }
    if (found.marker && found.first === at) found.last = place;
    found.first = place;
    count(before.held);
  }
  const all = segments.value;
  found.partial = !begun && (all[0]?.info.baseOffset ?? 0n) > 0n;
  place = at;
  for (let steps = 0; !found.marker && steps < MOST_STEPS; steps += 1) {
    const after = step(place, 1);
    if (!after) break;
    place = after.place;
    if (!own(after.held)) continue;
    if (isMarker(after.held)) found.marker = place;
    else {
      found.last = place;
      count(after.held);
    }
  }
  return found;
}

/** The next row of the producer of a batch, or the one before. */
export function ofProducer(at: Place, by: 1 | -1): Place | null {
  const held = at.file.columns.at(at.row);
  if (!held || held.producerId < 0n) return null;
  let place = at;
  for (let steps = 0; steps < MOST_STEPS; steps += 1) {
    const next = step(place, by);
    if (!next) return null;
    place = next.place;
    if (next.held.kind === ROW.BATCH && next.held.producerId === held.producerId) return place;
  }
  return null;
}

export function isDamaged(held: Row): boolean {
  return held.kind === ROW.DAMAGED || held.checked === CHECK.DAMAGED;
}

/** Go one record on, or back, in the partition. */
export async function neighbour(by: 1 | -1): Promise<void> {
  for (let line = chosenLine.value + by; line >= 0 && line < total.value; line += by) {
    if ((lineAt(line)?.row ?? -1) < 0) continue;
    await attempt(() => chooseLine(line));
    return;
  }
}
