/** All that the page knows, as signals; and what changes it. */
import { batch, computed, effect, signal, type Signal } from '@preact/signals';
import {
  EngineError,
  type Comparison,
  type Engine,
  type ErrorData,
  type Facts,
  type FieldNode,
  type FieldTree,
  type FileId,
  type FileInfo,
  type FileInput,
  type Finding,
  type Hit,
  type LookUp,
  type RecordChange,
  type RecordPage,
  type RecordView,
  type ScanProgress,
  type ScanResult,
  type Searched,
  type Space,
  type Survey,
  type Table,
  type TreeTarget,
  type Wanted,
} from '../../engine/api';
import { Columns } from './columns';
import { bytes, many, parseNumber, parseTime } from './format';
import { parse, write, type View } from './link';

export const MODES = ['auto', 'text', 'json', 'hex', 'message'] as const;
export type Mode = (typeof MODES)[number];

/** What the tree and the bytes are of. */
export type Part = 'batch' | 'record' | 'key' | 'value';

export const RECORDS_AT_ONCE = 100;
const ENTRIES_AT_ONCE = 500;

/** A file with what is known of it. */
export class Open {
  readonly columns = new Columns();
  readonly version = signal(0);
  readonly scanned = signal(0);
  /** What the later passes are at, for people. */
  readonly checking = signal('');
  readonly result = signal<ScanResult | null>(null);
  readonly findings = signal<Finding[]>([]);
  readonly error = signal<ErrorData | null>(null);
  readonly table: Signal<Table | null> = signal(null);
  /** What a check in the background found; null before it. */
  readonly survey = signal<Survey | null>(null);
  /** Its folder, with all folders above it; empty without one. */
  readonly dir: string;
  private readonly tables = new Map<number, Table>();
  private ended: Promise<void> | null = null;
  private listing: Promise<void> | null = null;

  constructor(readonly info: FileInfo) {
    this.dir = info.path.slice(0, Math.max(0, info.path.lastIndexOf('/')));
  }

  /** Whether all of it that is shown at first was read, or cannot be. */
  get isRead(): boolean {
    return (this.isLog ? this.result.value : this.table.value) !== null || this.error.value !== null;
  }

  get isLog(): boolean {
    return ['segment', 'kraft_snapshot'].includes(this.info.kind);
  }

  /** What is wrong with it, as far as it is known. */
  get known(): Finding[] {
    return this.findings.value.length ? this.findings.value : (this.survey.value?.findings ?? []);
  }

  /** Read its headers, so that its records can be listed; what is wrong is said when it is chosen. */
  list(): Promise<void> {
    if (!this.isLog || this.ended) return this.until(() => this.result.value !== null || this.scanned.value >= this.info.size);
    this.listing ??= engine()
      .list(this.info.id, (progress) => this.hear(progress))
      .catch((error: unknown) => void (this.error.value = problem(error)));
    return this.listing;
  }

  private hear(progress: ScanProgress): void {
    batch(() => {
      if (progress.rows) this.columns.add(progress.rows);
      if (progress.checked) this.columns.check(progress.checked.first, progress.checked.values);
      if (progress.findings?.length) this.findings.value = [...this.findings.value, ...progress.findings];
      if (progress.pass === 'headers') this.scanned.value = progress.position;
      else this.checking.value = `${progress.pass} ${Math.floor((progress.position / Math.max(1, progress.size)) * 100)} %`;
      this.version.value += 1;
    });
  }

  /** Read it, once; the promise is kept when all of it was read, and never broken. */
  begin(): Promise<void> {
    this.ended ??= (this.isLog ? this.scan() : this.entries(0)).catch((error: unknown) => {
      this.error.value = problem(error);
    });
    return this.ended;
  }

  /** Wait until this much of it is known, or all that there will be. */
  async until(known: () => boolean): Promise<void> {
    let stop = (): void => {};
    const enough = new Promise<void>((done) => {
      stop = effect(() => {
        void this.version.value;
        if (known()) done();
      });
    });
    await Promise.race([enough, this.begin()]);
    stop();
  }

  private async scan(): Promise<void> {
    await this.listing;
    const result = await engine().scan(this.info.id, (progress) => this.hear(progress));
    this.result.value = result;
    this.checking.value = '';
    this.findings.value = await engine().findings(this.info.id);
  }

  /** Read an entry of a small file, and those about it. */
  async entries(entry: number): Promise<void> {
    const first = Math.floor(entry / ENTRIES_AT_ONCE) * ENTRIES_AT_ONCE;
    if (this.tables.has(first) || this.coming.has(first)) return;
    this.coming.add(first);
    try {
      const found = await engine().table(this.info.id, first, ENTRIES_AT_ONCE);
      this.tables.set(first, found);
      this.table.value = found;
      this.findings.value = found.findings;
    } finally {
      this.coming.delete(first);
    }
  }

  private readonly coming = new Set<number>();

  /** The cells of an entry, if it was read. */
  cells(entry: number): string[] | undefined {
    const first = Math.floor(entry / ENTRIES_AT_ONCE) * ENTRIES_AT_ONCE;
    return this.tables.get(first)?.rows[entry - first];
  }
}

let made: Engine | null = null;

export function engine(): Engine {
  if (!made) throw new Error('the engine has not begun');
  return made;
}

export const facts = signal<Facts | null>(null);
export const files = signal<Open[]>([]);
export const current = signal<Open | null>(null);
export const row = signal(-1);
export const record = signal(-1);
export const entry = signal(-1);
export const part = signal<Part>('batch');
export const mode = signal<Mode>('auto');
export const page = signal<RecordPage | null>(null);
/** Records of the batch that were read, by the number of the first of each hundred. */
const pages = new Map<number, RecordPage>();
const MOST_PAGES = 50;
export const tree = signal<FieldTree | null>(null);
/** Field under the pointer, and the field that was chosen. */
export const lit = signal<FieldNode | null>(null);
export const pinned = signal<FieldNode | null>(null);
/** Byte under the cursor of the hex view; null for none. */
export const caret = signal<number | null>(null);
export const said = signal('');
export const trouble = signal('');
export const lookUp = signal<LookUp | null>(null);
export const beside = signal<FileId | null>(null);
export const comparison = signal<Comparison | null>(null);
export const busy = signal('');
/** A search: what it is for, and what it has found so far. */
export interface Search {
  wanted: Wanted;
  files: FileId[];
  hits: Hit[];
  found: number;
  /** Bytes that were searched, and those to search. */
  position: number;
  size: number;
  done: boolean;
  /** What it did not look at; null until it has ended. */
  left: Searched | null;
  /** Whether a person stopped it. */
  stopped: boolean;
}
export const search = signal<Search | null>(null);
/** What a log is shown as: its records, or its batches and their bytes. */
export type Layout = 'records' | 'bytes';
export const layout = signal<Layout>('bytes');
/** What a path has to have in it to be listed. */
export const filter = signal('');
export const listedFiles = computed(() => {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  return files.value.filter(({ info }) => words.every((word) => info.path.toLowerCase().includes(word)));
});
/** How many signs all folders begin with: that of the folders above all of them. */
const above = computed(() => {
  let [first = '', ...others] = files.value.map(({ dir }) => dir.slice(0, dir.lastIndexOf('/') + 1));
  for (const dir of others) while (!dir.startsWith(first)) first = first.slice(0, first.lastIndexOf('/', first.length - 2) + 1);
  return first.length;
});

/** The name of a folder without what it has in common with all others. */
export function ownName(dir: string): string {
  return dir.slice(above.value);
}

export const opened = computed(() => files.value.length > 0);

export function problem(error: unknown): ErrorData {
  if (error instanceof EngineError) return error.data;
  const detail = error instanceof Error ? error.message : String(error);
  return { reason: 'unreadable', detail, position: null, inner: null, path: '' };
}

/** Run something that a person asked for; what goes wrong is said, and nothing is thrown. */
export async function attempt(work: () => Promise<void>): Promise<void> {
  trouble.value = '';
  try {
    await work();
  } catch (error) {
    const found = problem(error);
    if (found.reason !== 'cancelled') trouble.value = inWords(found);
  }
}

/** An error in words; the reason is said where it is one of `verify`'s. */
export function inWords({ reason, detail }: ErrorData): string {
  const text = detail.charAt(0).toUpperCase() + detail.slice(1);
  return ['changed', 'unreadable', 'invalid_value'].includes(reason) ? `${text}.` : `${text} (${reason})`;
}

export async function start(connected: Engine): Promise<void> {
  made = connected;
  facts.value = await connected.facts();
}

// -- files -----------------------------------------------------------------------------------

export async function openFiles(inputs: FileInput[]): Promise<void> {
  if (!inputs.length) return;
  const known = new Set(inputs.map((input) => input.path));
  const replaced = files.value.filter((file) => known.has(file.info.path));
  if (replaced.length) {
    const currentGone = current.value && replaced.includes(current.value);
    files.value = files.value.filter((file) => !replaced.includes(file));
    if (currentGone) show(null);
    await engine().close(replaced.map((file) => file.info.id));
  }
  const infos = await engine().open(inputs);
  const all = [...files.value, ...infos.map((info) => new Open(info))];
  files.value = all.sort((a, b) => (a.info.path < b.info.path ? -1 : 1));
  said.value = `${many(inputs.length, 'file')} opened`;
  await attempt(useSchemas);
  const wanted = parse(location.hash);
  const target = files.value.find((file) => file.info.path === wanted.file);
  if (target) await restore(wanted, target);
  else if (!current.value && new Set(files.value.map((file) => file.dir)).size < 2) {
    const first = files.value.find((file) => file.isLog && file.info.size > 0) ?? files.value[0];
    if (first) await choose(first);
  }
  stopSurvey();
  if (files.value.length > 1) void surveyAll();
}

/** Decode by the schemas of a registry whose topic is open. */
async function useSchemas(): Promise<void> {
  const topic = facts.value?.schemasTopic;
  const logs = files.value.filter(({ info, isLog }) => isLog && info.topic === topic);
  if (!logs.length) return;
  registered.value = await engine().useSchemas(logs.map(({ info }) => info.id));
  said.value = `${said.value}, ${many(registered.value, 'schema')} read`;
}

/** The schema that a person gave; empty for none. */
export const schema = signal('');
/** How many schemas the registries have whose topics are open. */
export const registered = signal(0);
/** Whether keys and values of some open file may be decoded. */
export const decodes = computed(() => registered.value > 0 || schema.value.trim() !== '' || files.value.some(({ info }) => info.internal));

export async function giveSchema(text: string): Promise<void> {
  await attempt(async () => {
    await engine().giveSchema(text.trim() || null);
    schema.value = text;
    pages.clear();
    schemaVersion.value += 1;
    if (row.value >= 0) await chooseRow(row.value, record.value);
    said.value = text.trim() ? 'Keys and values are decoded by the schema.' : 'No schema is used.';
  });
}

/** Changes when records are decoded in another way. */
export const schemaVersion = signal(0);

/** Close all files: the page is as it was at its beginning. */
export async function closeAll(): Promise<void> {
  const ids = files.value.map((file) => file.info.id);
  closeSearch();
  stopSurvey();
  batch(() => {
    show(null);
    files.value = [];
    mode.value = 'auto';
    where.value = 'offset';
    filter.value = '';
    layout.value = 'bytes';
    said.value = trouble.value = '';
  });
  history.replaceState(null, '', location.pathname);
  await engine().close(ids);
}

function show(file: Open | null): void {
  if (surveying) {
    stopSurvey();
    queueMicrotask(() => void surveyAll());
  }
  newest += 1;
  batch(() => {
    if (current.value?.dir !== file?.dir) lookUp.value = search.value = null;
    current.value = file;
    row.value = record.value = entry.value = -1;
    part.value = 'batch';
    pages.clear();
    page.value = tree.value = comparison.value = null;
    lit.value = pinned.value = caret.value = beside.value = editing.value = null;
  });
}

/** Show the overview of all files. */
export function toOverview(): void {
  closeSearch();
  show(null);
  history.replaceState(null, '', location.pathname);
}

/** Choose a record or batch of any file. */
export async function chooseAt(file: Open, wanted: number, index: number): Promise<void> {
  if (current.value !== file) {
    show(file);
    row.value = wanted;
    await file.until(() => file.columns.count > wanted);
    if (current.value !== file) return;
  }
  await chooseRow(wanted, index);
}

export async function choose(file: Open): Promise<void> {
  if (current.value === file) return;
  show(file);
  await file.until(() => file.columns.count > 0);
  if (current.value !== file) return;
  if (file.isLog) {
    if (row.value < 0 && file.columns.count) await chooseRow(0);
  } else if (entry.value < 0) await chooseEntry(-1);
}

export function byId(id: FileId): Open | undefined {
  return files.value.find((file) => file.info.id === id);
}

// -- batches, records, fields -----------------------------------------------------------------

/** A number of the newest request: what an older one answers is dropped. */
let newest = 0;
const asked = signal(0);
/** Whether something that was chosen is still to come. */
export const reading = computed(() => asked.value > 0);

/** Ask for what was chosen; what goes wrong is said. */
async function ask(work: (own: number) => Promise<void>): Promise<void> {
  const own = ++newest;
  asked.value += 1;
  await attempt(() => work(own));
  asked.value -= 1;
}

export async function chooseRow(wanted: number, index = -1): Promise<void> {
  const file = current.value;
  if (!file) return;
  batch(() => {
    if (row.value !== wanted) {
      page.value = null;
      pages.clear();
    }
    row.value = wanted;
    record.value = index;
    part.value = index < 0 ? 'batch' : 'record';
    lit.value = pinned.value = caret.value = null;
  });
  await ask(async (own) => {
    const first = Math.max(0, Math.floor(index / RECORDS_AT_ONCE) * RECORDS_AT_ONCE);
    const [records] = await Promise.all([readPage(file, wanted, first), readTree(file, own)]);
    if (row.value === wanted && current.value === file && records) keep(records);
  });
}

async function readPage(file: Open, wanted: number, first: number): Promise<RecordPage | null> {
  const known = pages.get(first);
  if (known?.row === wanted && current.value === file) return known;
  if (file.columns.at(wanted)?.kind !== 0) return null;
  return engine().records(file.info.id, wanted, first, RECORDS_AT_ONCE);
}

/** Keep records that came, unless another batch was chosen meanwhile. */
function keep(records: RecordPage): void {
  if ([...pages.values()].some((one) => one.row !== records.row)) pages.clear();
  pages.delete(records.first);
  pages.set(records.first, records);
  const oldest = pages.keys().next().value;
  if (pages.size > MOST_PAGES && oldest !== undefined) pages.delete(oldest);
  page.value = records;
}

/** A record of the batch, if it was read. */
export function recordAt(index: number): RecordView | undefined {
  const first = Math.floor(index / RECORDS_AT_ONCE) * RECORDS_AT_ONCE;
  return page.value?.row === row.value ? pages.get(first)?.records[index - first] : undefined;
}

export async function chooseRecord(index: number): Promise<void> {
  await chooseRow(row.value, index);
}

/** Show another hundred records of the batch. */
export async function turnTo(index: number): Promise<void> {
  const file = current.value;
  const wanted = row.value;
  const first = Math.floor(index / RECORDS_AT_ONCE) * RECORDS_AT_ONCE;
  if (!file || wanted < 0 || coming.has(first)) return;
  coming.add(first);
  await attempt(async () => {
    try {
      const records = await readPage(file, wanted, first);
      if (row.value === wanted && current.value === file && records) keep(records);
    } finally {
      coming.delete(first);
    }
  });
}

/** Hundreds of records that were asked for. */
const coming = new Set<number>();

export async function choosePart(wanted: Part): Promise<void> {
  const file = current.value;
  if (!file) return;
  part.value = wanted;
  caret.value = null;
  await ask((own) => readTree(file, own));
}

export async function chooseEntry(wanted: number): Promise<void> {
  const file = current.value;
  if (!file) return;
  batch(() => {
    entry.value = wanted;
    lit.value = pinned.value = caret.value = null;
  });
  await ask(async (own) => {
    if (wanted >= 0) await file.entries(wanted);
    await readTree(file, own);
  });
}

/** The field that is being edited, with the text that it has; null for none. */
export const editing = signal<{ path: string; text: string } | null>(null);

/** Begin to edit a field of the tree. */
export async function beginEdit(node: FieldNode): Promise<void> {
  const file = current.value;
  if (!file || !node.editable) return;
  await attempt(async () => {
    const text = await engine().written(file.info.id, target(file), node.path);
    if (current.value === file && tree.value) editing.value = { path: node.path, text };
  });
}

/** Give a field another value, and show the file as it then is. What is wrong with it is said. */
export async function edit(path: string, text: string): Promise<void> {
  const file = current.value;
  if (!file) return;
  await attempt(async () => {
    await showEdited(file, await engine().edit(file.info.id, target(file), path, text));
    said.value = 'Edited: lengths and checksums follow. The file itself stays as it is.';
  });
}

/** Add an empty record after the chosen one (or the last), copy it, or remove it. */
export async function changeRecord(change: RecordChange): Promise<void> {
  const file = current.value;
  const held = page.value;
  if (!file?.isLog || row.value < 0 || !held) return;
  const index = record.value >= 0 || change !== 'add' ? record.value : held.total - 1;
  await attempt(async () => {
    const info = await engine().changeRecords(file.info.id, row.value, index, change);
    record.value = change === 'remove' ? Math.min(index, held.total - 2) : index + 1;
    await showEdited(file, info);
    said.value = 'Edited: numbers, lengths and checksums follow. The file itself stays as it is.';
  });
}

export async function undo(): Promise<void> {
  const file = current.value;
  if (!file?.info.edits) return;
  await attempt(async () => {
    await showEdited(file, await engine().undo(file.info.id));
    said.value = 'The last edit is undone.';
  });
}

/** Read a file again, and show the place that was shown. */
async function showEdited(file: Open, info: FileInfo): Promise<void> {
  const [at, index, wanted, entryAt] = [row.value, record.value, part.value, entry.value];
  const again = new Open(info);
  batch(() => {
    files.value = files.value.map((one) => (one === file ? again : one));
    show(again);
    editing.value = null;
  });
  await again.until(() => again.columns.count > at);
  if (current.value !== again) return;
  if (!again.isLog) await chooseEntry(entryAt);
  else if (at >= 0 && at < again.columns.count) {
    await chooseRow(at, index);
    if (index >= 0 && wanted !== 'record') await choosePart(wanted);
  }
}

function target(file: Open): TreeTarget {
  if (!file.isLog) return entry.value < 0 ? { what: 'file' } : { what: 'entry', index: entry.value };
  if (record.value < 0 || part.value === 'batch') return { what: 'row', row: row.value };
  return { what: part.value, row: row.value, index: record.value };
}

async function readTree(file: Open, own: number): Promise<void> {
  const found = await engine().tree(file.info.id, target(file));
  if (own !== newest) return;
  batch(() => {
    tree.value = found;
    lit.value = pinned.value = editing.value = null;
  });
}

export const chosen = computed<RecordView | null>(() => {
  void page.value;
  return recordAt(record.value) ?? null;
});

/** Bytes that the hex view shows: those of the row, of its records decompressed, or of a file. */
export const shown = computed<{ space: Space; row: number | null; start: number; end: number } | null>(() => {
  const file = current.value;
  const fields = tree.value;
  if (!file) return null;
  if (fields?.space === 'row' && fields.row !== null) {
    const size = page.value?.row === fields.row ? page.value.payloadSize : fields.root.end;
    return { space: 'row', row: fields.row, start: 0, end: Math.max(size, fields.root.end) };
  }
  if (!file.isLog) return { space: 'file', row: null, start: 0, end: file.info.size };
  void file.version.value;
  const held = file.columns.at(row.value);
  return held && { space: 'file', row: null, start: held.position, end: held.position + held.size };
});

// -- going somewhere -------------------------------------------------------------------------

export type Where = 'offset' | 'time' | 'byte';
export const where = signal<Where>('offset');

export async function goTo(how: Where, text: string): Promise<void> {
  await attempt(async () => {
    const file = current.value;
    if (!file) return;
    const wanted = how === 'time' ? parseTime(text) : parseNumber(text);
    if (wanted === null) {
      trouble.value = `“${text}” is not ${how === 'time' ? 'a time (milliseconds, or ISO 8601)' : `a ${how}`}.`;
      return;
    }
    if (how === 'byte') {
      await goToByte(file, Number(wanted));
      return;
    }
    const all = segmentsOf(file);
    if (!all.length) throw new Error('no log lies beside this file');
    const ids = all.map(({ info }) => info.id);
    const answer = await (how === 'offset' ? engine().findOffset(ids, wanted) : engine().findTime(ids, wanted));
    const home = answer.file === null ? undefined : byId(answer.file);
    if (!home || answer.row === null) said.value = 'Nothing was found.';
    else {
      await chooseAt(home, answer.row, answer.record ?? -1);
      said.value = answer.offset === null ? 'Found.' : `Found offset ${answer.offset}.`;
    }
    lookUp.value = answer;
  });
}

/** Segments of the partition of a file, in their order; of another log, itself. */
export function segmentsOf(file: Open): Open[] {
  const alike = files.value.filter(
    (other) => other.dir === file.dir && other.info.kind === 'segment' && other.info.baseOffset !== null && other.info.name.endsWith('.log'),
  );
  if (file.isLog && !alike.includes(file)) return [file];
  return alike.sort((a, b) => ((a.info.baseOffset ?? 0n) < (b.info.baseOffset ?? 0n) ? -1 : 1));
}

export async function goToByte(file: Open, position: number): Promise<void> {
  if (position >= file.info.size) {
    trouble.value = `The file ends at byte ${file.info.size} (${bytes(file.info.size)}).`;
    return;
  }
  if (file.isLog) {
    await file.until(() => file.scanned.value > position);
    const wanted = file.columns.rowAt(position);
    if (wanted >= 0 && wanted !== row.value) await chooseRow(wanted);
  } else await chooseEntry(-1);
  caret.value = position;
}

export async function nextDamage(step: 1 | -1): Promise<void> {
  const file = current.value;
  const found = file ? file.columns.damaged(row.value, step) : -1;
  if (found >= 0) await chooseRow(found);
  else said.value = step > 0 ? 'No damage after this.' : 'No damage before this.';
}

// -- searches --------------------------------------------------------------------------------

/** Where a search looks: in the current file, in its partition, or everywhere. */
export type Scope = 'file' | 'partition' | 'all';

let searching: AbortController | null = null;

/** End a search; what it found so far stays. */
export function stopSearch(): void {
  searching?.abort();
}

/** End a search, and show nothing of it. */
export function closeSearch(): void {
  stopSearch();
  searching = null;
  search.value = null;
}

export async function find(wanted: Wanted, scope: Scope): Promise<void> {
  closeSearch();
  const file = current.value;
  if (!file && scope !== 'all') return;
  const own = (searching = new AbortController());
  const within = scope === 'file' || !file ? [file] : segmentsOf(file);
  const looked = (scope === 'all' ? files.value : within).filter((one) => one?.isLog === true) as Open[];
  const ids = looked.map(({ info }) => info.id);
  const before = new Map<FileId, number>();
  let size = 0;
  for (const { info } of looked) {
    before.set(info.id, size);
    size += info.size;
  }
  const all = Math.max(1, size);
  search.value = { wanted, files: ids, hits: [], found: 0, position: 0, size: all, done: false, left: null, stopped: false };
  await attempt(async () => {
    let ended: Searched;
    try {
      ended = await engine().find(
        { files: ids, wanted },
        (progress) => {
          if (searching !== own || !search.value) return;
          const hits = progress.hits.length ? [...search.value.hits, ...progress.hits] : search.value.hits;
          const position = (before.get(progress.file) ?? 0) + progress.position;
          search.value = { ...search.value, hits, found: progress.found, position };
        },
        { signal: own.signal },
      );
    } catch (error) {
      if (searching === own) search.value = null;
      throw error;
    }
    if (searching !== own || !search.value) return;
    const { found, slow, rest, large, damaged } = ended;
    search.value = { ...search.value, found, done: true, left: ended, stopped: own.signal.aborted };
    said.value = `${many(found, 'record')} found${slow.length || rest || large || damaged ? ', but not all were searched' : ''}`;
  });
}

export async function openHit(hit: Pick<Hit, 'file' | 'row' | 'index'>): Promise<void> {
  const file = byId(hit.file);
  if (!file) return;
  const kept = search.value;
  await chooseAt(file, hit.row, hit.index);
  search.value = kept;
}

// -- checks in the background ----------------------------------------------------------------

/** Changes when files were checked, some times a second. */
export const surveyed = signal(0);
const SHOWN_MS = 100;
let surveying: AbortController | null = null;

/** Check every file, one after the other, while nothing else is read; what a person opens comes first. */
export async function surveyAll(): Promise<void> {
  if (surveying) return;
  const own = (surveying = new AbortController());
  let since = performance.now();
  for (const next of files.value) {
    if (next.survey.value !== null || next.error.value !== null) continue;
    await current.value?.begin();
    if (own.signal.aborted) return;
    try {
      next.survey.value = await engine().survey(next.info.id, () => undefined, { signal: own.signal });
    } catch (error) {
      if (own.signal.aborted) return;
      next.error.value = problem(error);
    }
    if (performance.now() - since > SHOWN_MS) {
      surveyed.value += 1;
      since = performance.now();
    }
  }
  surveying = null;
  surveyed.value += 1;
}

function stopSurvey(): void {
  surveying?.abort();
  surveying = null;
}

// -- two files -------------------------------------------------------------------------------

export async function compareWith(other: FileId | null): Promise<void> {
  const file = current.value;
  beside.value = other;
  comparison.value = null;
  const second = other === null ? undefined : byId(other);
  if (!file || !second) return;
  await attempt(async () => {
    await Promise.all([file.begin(), second.begin()]);
    const found = await engine().compare(file.info.id, second.info.id);
    if (beside.value === other) {
      comparison.value = found;
      said.value = found.text;
    }
  });
}

// -- the address -----------------------------------------------------------------------------

export const view = computed<View>(() => ({
  file: current.value?.info.path ?? '',
  at: current.value?.isLog ? (current.value.columns.at(row.value)?.position ?? null) : null,
  record: record.value < 0 ? null : record.value,
  entry: entry.value < 0 ? null : entry.value,
  mode: mode.value,
  layout: layout.value,
  beside: beside.value === null ? '' : (byId(beside.value)?.info.path ?? ''),
}));

let restoring = false;

async function restore(wanted: View, file: Open): Promise<void> {
  restoring = true;
  try {
    if ((MODES as readonly string[]).includes(wanted.mode)) mode.value = wanted.mode as Mode;
    if (wanted.layout === 'records') layout.value = 'records';
    if (current.value !== file) await choose(file);
    const { at } = wanted;
    if (at !== null) await file.until(() => file.scanned.value > at);
    if (at !== null && file.isLog) await chooseRow(file.columns.rowAt(at), wanted.record ?? -1);
    if (wanted.entry !== null && !file.isLog) await chooseEntry(wanted.entry);
    const other = wanted.beside ? files.value.find((one) => one.info.path === wanted.beside) : undefined;
    if (other) await compareWith(other.info.id);
  } finally {
    restoring = false;
  }
}

export function keepAddress(): void {
  effect(() => {
    const text = write(view.value);
    if (!restoring && current.value && text !== location.hash) history.replaceState(null, '', text || '#');
  });
  addEventListener('hashchange', () => {
    const wanted = parse(location.hash);
    const file = files.value.find((one) => one.info.path === wanted.file);
    if (file) void attempt(() => restore(wanted, file));
  });
}
