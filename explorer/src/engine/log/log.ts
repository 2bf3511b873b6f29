/**
 * The list of the entries of a log: first all headers, then all checksums. Where the log ends follows
 * Kafka's readers, as `kafkaspec/log/entries.py` has it; after damage the next entry is the first
 * place where a header is plausible and the checksum holds.
 */
import { CHECK, LARGEST, ROW, type ErrorData, type Finding, type ScanProgress, type ScanResult } from '../api';
import { Batch } from './batch';
import { finding } from './findings';
import { inOrder, spans, type Jobs } from './jobs';
import { checksum } from '../bytes/checksum';
import { FACTS, type KindFacts } from '../specification/facts';
import { HEADERS, RowTable } from './rows';
import { Refused } from '../specification/runtime';
import { cancelled, Window, type Source } from '../bytes/source';

const { framing } = FACTS;
const CHUNK = 4 << 20;
/** Bytes of checksums that a search after damage may compute before it gives up. */
const SEARCH_BUDGET = 1 << 30;
const REPORT_MS = 80;
/** Rows that are listed: 75 bytes each, and twice that while the columns grow. */
const MOST_ROWS = 1 << 21;
/** Findings that are kept; further ones are counted. */
const MOST_FINDINGS = 10_000;

export interface Control {
  signal?: AbortSignal | undefined;
}

export function stopIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw cancelled();
}

/** Where an entry cannot be read, or the end of the log. */
interface Gap {
  what: number;
  finding: Finding;
  /** Position of the next entry, if the size of this one says it; else it takes a search. */
  next: number | null;
}

export class Log {
  readonly rows = new RowTable();
  readonly findings: Finding[] = [];
  result: ScanResult | null = null;
  private budget = SEARCH_BUDGET;
  private readonly known = new Set<string>();
  private further = 0;

  constructor(readonly source: Source, private readonly jobs: Jobs) {
    let settle: typeof this.settle | undefined;
    this.listed = new Promise((done, failed) => (settle = { done, failed }));
    this.listed.catch(() => undefined); // whoever waits for it hears of it
    this.settle = settle!;
  }

  /** Settled as soon as all rows are known. */
  readonly listed: Promise<void>;
  private readonly settle: { done: () => void; failed: (error: unknown) => void };

  private listing: Promise<void> | null = null;

  /** The first pass, once. */
  list(progress: (p: ScanProgress) => void, signal?: AbortSignal): Promise<void> {
    this.listing ??= this.headers(progress, signal).then(this.settle.done, (error: unknown) => {
      this.settle.failed(error);
      throw error;
    });
    return this.listing;
  }

  /** All passes. */
  async scan(progress: (p: ScanProgress) => void, signal?: AbortSignal): Promise<ScanResult> {
    const begin = performance.now();
    await this.list(progress, signal);
    const middle = performance.now();
    const rows = this.rows;
    const kinds = rows.column('row');
    let [batches, damaged, records] = [0, 0, 0];
    let first: bigint | null = null;
    let last: bigint | null = null;
    let oldest: bigint | null = null;
    let newest: bigint | null = null;
    for (let row = 0; row < rows.count; row++) {
      if (kinds[row] !== ROW.BATCH) {
        if (kinds[row] === ROW.DAMAGED) damaged++;
        continue;
      }
      batches++;
      records += Math.max(0, rows.column('records')[row]!);
      first ??= rows.column('baseOffset')[row]!;
      last = rows.column('lastOffset')[row]!;
      const largest = rows.column('maxTimestamp')[row]!;
      const base = rows.column('baseTimestamp')[row]!;
      const smallest = base >= 0n ? base : largest;
      if (smallest >= 0n && (oldest === null || smallest < oldest)) oldest = smallest;
      if (largest >= 0n && (newest === null || largest > newest)) newest = largest;
    }
    await this.check(progress, signal);
    const checked = performance.now();
    await this.open(progress, signal);
    if (this.further) {
      const detail = `${this.further} further findings, only counted`;
      const error = { reason: 'more', detail, position: this.source.size, inner: null, path: '' };
      const more = finding('batch', error, null);
      this.findings.push(more);
      progress({ pass: 'records', position: this.source.size, size: this.source.size, findings: [more] });
    }
    this.result = {
      rows: rows.count, batches, damaged, records, firstOffset: first, lastOffset: last, oldest, newest,
      scanMs: middle - begin, checkMs: checked - middle, contentMs: performance.now() - checked,
    };
    return this.result;
  }

  // -- headers -------------------------------------------------------------------------------

  private async headers(progress: (p: ScanProgress) => void, signal?: AbortSignal): Promise<void> {
    const { source, rows } = this;
    const window = new Window(source, CHUNK);
    let position = 0;
    let sent = 0;
    let said = 0;
    let reported = 0;
    let since = performance.now();
    const report = (): void => {
      const part = rows.copy(sent, rows.count - sent);
      const found = this.findings.slice(said);
      progress({ pass: 'headers', position, size: source.size, ...(part.count ? { rows: part } : {}), ...(found.length ? { findings: found } : {}) });
      sent = rows.count;
      said = this.findings.length;
      since = performance.now();
      reported = position;
    };
    while (position < source.size) {
      stopIfAborted(signal);
      const data = await window.at(position, framing.largestHeader);
      const view = new DataView(data.buffer, data.byteOffset, data.length);
      let at = 0;
      // All headers in the window, without waiting for anything.
      while (at < data.length && rows.count < MOST_ROWS) {
        const header = HEADERS.find((each) => each.plausible(view, at) > 0);
        const size = header?.plausible(view, at) ?? 0;
        if (header === undefined || position + size > source.size) break;
        rows.addFast(header, view, at, position, size);
        at += size;
        position += size;
      }
      if (rows.count >= MOST_ROWS) {
        position = this.giveUp(position);
        break;
      }
      if (at === 0) position = await this.other(window, position);
      if (sent === 0 || performance.now() - since > REPORT_MS || position - reported > 16 * CHUNK) report();
    }
    report();
  }

  /** End the list, since it would take too much memory. */
  private giveUp(position: number): number {
    const { rows, source } = this;
    const left = source.size - position;
    const detail = `the list ends after ${rows.count} entries: ${left} bytes follow`;
    const error = { reason: 'too_large', detail, position, inner: null, path: '' };
    this.add(finding('batch', error, rows.count, 'info'));
    rows.addGap(ROW.DAMAGED, position, left);
    return source.size;
  }

  /** Take an entry that is not regular, or bytes that are none; return where the next one begins. */
  private async other(window: Window, position: number): Promise<number> {
    const { rows, source } = this;
    const found = await this.entry(window, position);
    if (found instanceof Batch) {
      rows.addBatch(found);
      return position + found.bytes.length;
    }
    const row = rows.count;
    found.finding.row = row;
    this.add(found.finding);
    if (found.next !== null) {
      rows.addGap(found.what, position, found.next - position);
      return found.next;
    }
    const end = found.what === ROW.TAIL && found.finding.reason !== 'torn_tail' ? null : await this.search(position + 1);
    if (end === null) {
      rows.addGap(found.what, position, source.size - position);
      return source.size;
    }
    rows.addGap(ROW.DAMAGED, position, end - position);
    return end;
  }

  /** Parse the entry at a position, or say why it is none. */
  private async entry(window: Window, position: number): Promise<Batch | Gap> {
    const { source } = this;
    const left = source.size - position;
    const tail = (reason: string, text: string): Gap => ({
      what: ROW.TAIL,
      finding: finding('batch', {
        reason, detail: `the last ${left} bytes ${text}`, position, inner: null, path: '',
      }, null, 'warning'),
      next: null,
    });
    if (left <= framing.upToMagic) return tail('short_tail', 'are too few for a batch');
    const head = await window.at(position, framing.upToMagic);
    const size = new DataView(head.buffer, head.byteOffset).getInt32(framing.size - 4);
    const end = position + framing.size + size;
    const torn = (): Gap => tail('torn_tail', 'are the beginning of a batch that is cut off');
    if (size >= framing.minimum && end > source.size) return torn();
    if (size >= framing.minimum && framing.size + size > LARGEST) {
      const error = { reason: 'too_large', detail: `an entry of ${framing.size + size} bytes is not read`, position, inner: null, path: '' };
      return { what: ROW.DAMAGED, finding: finding('batch', error, null), next: end };
    }
    const wanted = size >= framing.minimum ? framing.size + size : framing.upToMagic;
    const data = (await window.at(position, wanted)).slice(0, wanted);
    try {
      return new Batch(data, position);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (size >= framing.minimum) {
        return { what: ROW.DAMAGED, finding: finding('batch', error.at(position).data, null), next: end };
      }
      if (size === 0 && (await this.isZero(position))) {
        return tail('zero_tail', 'are zeros, as in a preallocated segment that was not closed');
      }
      return { what: ROW.DAMAGED, finding: finding('batch', error.at(position).data, null), next: null };
    }
  }

  private async isZero(position: number): Promise<boolean> {
    for (let at = position; at < this.source.size; at += CHUNK) {
      const data = await this.source.read(at, CHUNK);
      if (data.some((byte) => byte !== 0)) return false;
    }
    return true;
  }

  /** The first place from a position on with a plausible header and a checksum that holds. */
  private async search(from: number): Promise<number | null> {
    const { source } = this;
    const magics = new Map(Object.entries(FACTS.kinds).map(([magic, kind]) => [Number(magic), kind]));
    for (let start = from; start + framing.upToMagic < source.size; ) {
      const data = await source.read(start, CHUNK);
      const view = new DataView(data.buffer, data.byteOffset, data.length);
      const last = data.length - framing.largestHeader;
      const stop = start + data.length >= source.size ? data.length - framing.upToMagic : Math.max(1, last);
      for (let at = 0; at < stop; at++) {
        // The high bytes of offset and size are nearly always 0; this test alone is cheap.
        const kind = magics.get(view.getInt8(at + framing.upToMagic - 1));
        if (kind === undefined) continue;
        const size = view.getInt32(at + framing.size - 4);
        if (size < framing.minimum || start + at + framing.size + size > source.size) continue;
        if (view.getBigInt64(at) < 0n || framing.size + size > LARGEST) continue;
        const fast = HEADERS.find((header) => String(header.magic) in FACTS.kinds && header.key === kind.key);
        if (fast !== undefined && fast.plausible(view, at) === 0) continue;
        this.budget -= size;
        if (this.budget < 0) return null;
        if (await this.holds(start + at, size, kind)) return start + at;
      }
      start += Math.max(1, stop);
    }
    return null;
  }

  private async holds(position: number, size: number, kind: KindFacts): Promise<boolean> {
    const { start, position: at, algorithm } = kind.checksum;
    if (size < start) return false;
    const data = await this.source.read(position + framing.size, size);
    if (data.length < size) return false;
    const stored = new DataView(data.buffer, data.byteOffset).getUint32(at);
    return checksum(algorithm, data.subarray(start)) === stored;
  }

  // -- checksums -----------------------------------------------------------------------------

  private async check(progress: (p: ScanProgress) => void, signal?: AbortSignal): Promise<void> {
    const { rows, source } = this;
    const checked = rows.column('checked');
    this.looked = new Uint8Array(rows.count);
    let sent = 0;
    let said = this.findings.length;
    let since = performance.now();
    const report = (row: number, position: number): void => {
      const found = this.findings.slice(said);
      progress({
        pass: 'checksums', position, size: source.size, checked: { first: sent, values: checked.slice(sent, row) },
        ...(found.length ? { findings: found } : {}),
      });
      sent = row;
      said = this.findings.length;
      since = performance.now();
    };
    const { jobs } = this;
    await inOrder(jobs.width, spans(rows, 0, rows.count), (span) => jobs.run('checksums', source, span, undefined), (found, span) => {
      stopIfAborted(signal);
      checked.set(found.checked, span.first);
      this.looked.set(found.looked, span.first);
      found.findings.forEach((each) => this.add(each));
      if (performance.now() - since > REPORT_MS) report(span.first + span.count, span.position[span.count - 1]!);
    });
    report(rows.count, source.size);
  }

  // -- contents ------------------------------------------------------------------------------

  /** Rows whose records were read when their checksum was computed. */
  private looked = new Uint8Array(0);

  /** Read the records of all other batches whose checksum holds. */
  private async open(progress: (p: ScanProgress) => void, signal?: AbortSignal): Promise<void> {
    const { rows, source, looked } = this;
    const checked = rows.column('checked');
    let said = this.findings.length;
    let since = performance.now();
    const report = (position: number): void => {
      const found = this.findings.slice(said);
      progress({ pass: 'records', position, size: source.size, ...(found.length ? { findings: found } : {}) });
      said = this.findings.length;
      since = performance.now();
    };
    const wanted = (row: number): boolean => checked[row] === CHECK.SOUND && !looked[row] && rows.get('size', row) <= LARGEST;
    for (let row = 0; row < rows.count; row++) {
      if (checked[row] !== CHECK.SOUND || rows.get('size', row) <= LARGEST) continue;
      const detail = `the records of a batch of ${rows.get('size', row)} bytes are not read here; kafkaspec verify reads them`;
      this.note('batch', { reason: 'too_large', detail, position: rows.get('position', row), inner: null, path: '' }, row, 'warning');
    }
    const { jobs } = this;
    await inOrder(jobs.width, spans(rows, 0, rows.count, wanted), (span) => jobs.run('records', source, span, undefined), (found, span) => {
      stopIfAborted(signal);
      found.forEach((each) => this.add(each));
      if (performance.now() - since > REPORT_MS) report(span.position[span.count - 1]!);
    });
    report(source.size);
  }

  /** Keep a finding, unless it is there or there are too many. */
  private add(found: Finding): void {
    const key = `${found.row} ${found.reason} ${found.position}`;
    if (this.known.has(key)) return;
    if (this.findings.length >= MOST_FINDINGS) {
      this.further++;
      return;
    }
    this.known.add(key);
    this.findings.push(found);
  }

  /** Add a finding about the records of a row. */
  note(area: string, error: ErrorData, row: number, severity: Finding['severity']): void {
    this.add(finding(area, error, row, severity));
  }
}
