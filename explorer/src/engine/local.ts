/** The engine itself, in the thread that calls it. */
import {
  EngineError, ROW, type Comparison, type Content, type Engine, type Facts, type FieldTree, type FileId,
  type FieldNode, type FileInfo, type FileInput, type Finding, type FindProgress, type LookUp, type Options, type Place,
  type RecordChange, type RecordPage, type RecordView, type Rows, type ScanProgress, type ScanResult, type Searched, type Survey,
  type Table, type TreeTarget, type Wanted, type Writing,
} from './api';
import { Batch, type RawRecord, type Slice } from './log/batch';
import { compareIndex, compareReplicas } from './files/compare';
import { csvHead, recordLines } from './messages/dump';
import { Alone, inOrder, spans, type Jobs } from './log/jobs';
import { FACTS, fileFacts } from './specification/facts';
import { utf8 } from './messages/json';
import { Log, stopIfAborted } from './log/log';
import type { RowTable } from './log/rows';
import { Matcher, mayHang } from './log/match';
import { addCounts, NONE_COUNTED, type Written as Lined } from './log/passes';
import { ALL, MOST_SLOW, search, type Looked } from './log/watch';
import {
  difference, find, follows, isPlain, readValue, rebuilt, shapeOf, unencodable, writtenValue, type Editable, type Written,
} from './files/edit';
import { changedRecords, editedHeader, editedRecord, refuseCompressed } from './log/edit';
import { findOffset, findTime, type Segment } from './files/lookup';
import { controlJson, decodeControl, decodeRecord, messageJson } from './messages/messages';
import { byContent, byName, isLog, partitionOf, split } from './files/names';
import type { OpenFile } from './files/open_file';
import { Refused, type Made } from './specification/runtime';
import { EditedSource, openSource, shorter, unreadable, type Source } from './bytes/source';
import { editableEntry, entryTree, entryType, fileTree, openIndex, tableOf, type Index } from './files/tables';
import { leaf, treeOf } from './files/tree';
import { Schemas } from './values/schemas';
import { NotDecoded } from './values/undecoded';

const SHOWN_BYTES = 4096;
/** Batches that stay open: those that were looked at last, whose decompressed bytes fit this. */
const OPEN_BYTES = 64 << 20;
/** Bytes of batches that become text at once. */
const TEXT_BYTES = 2 << 20;
/** Findings that a survey names. */
const MOST_SURVEYED = 100;
/** Records that a search keeps; further ones are counted. */
const MOST_HITS = 10_000;
const REPORT_MS = 100;

type BatchTarget = Exclude<TreeTarget, { what: 'file' | 'entry' }>;

export class LocalEngine implements Engine {
  private readonly files = new Map<FileId, OpenFile>();
  private readonly opened = new Map<string, Batch>();
  private next = 1;

  private readonly schemas = new Schemas();

  /** @param jobs runs what takes long. */
  constructor(private readonly jobs: Jobs = new Alone()) {}

  facts(): Promise<Facts> {
    const { codecs, topics, schemasTopic, maxOutput, specification, version } = FACTS;
    return Promise.resolve({ codecs, internalTopics: topics, schemasTopic, maxOutput, specHash: specification, version });
  }

  // -- files ---------------------------------------------------------------------------------

  async open(inputs: FileInput[]): Promise<FileInfo[]> {
    const found: OpenFile[] = [];
    for (const input of inputs) {
      const source = openSource(input);
      const [folder, name] = split(input.path);
      let named = byName(name);
      let guessed = false;
      if (named.kind === 'unknown' && source.size) {
        named = byContent(await source.read(0, 4096));
        guessed = named.kind !== 'unknown';
      }
      const home = partitionOf(folder);
      const topic = named.kind === 'kraft_snapshot' ? FACTS.snapshotTopic : (home?.topic ?? null);
      const info: FileInfo = {
        id: this.next++, path: input.path, name, folder, size: source.size, kind: named.kind, byContent: guessed,
        baseOffset: named.baseOffset, topic, partition: home?.partition ?? null,
        internal: topic !== null && FACTS.topics.includes(topic), siblings: [], edits: 0, docPage: named.docPage,
      };
      const file = { info, source, log: isLog(info.kind) ? new Log(source, this.jobs) : null, scanning: null, listing: null, index: null, before: [] };
      this.files.set(info.id, file);
      found.push(file);
    }
    for (const { info } of this.files.values()) {
      info.siblings = Array.from(this.files.values(), (other) => other.info)
        .filter((other) => other.id !== info.id && other.baseOffset !== null && other.baseOffset === info.baseOffset)
        .filter((other) => other.path.slice(0, -other.name.length) === info.path.slice(0, -info.name.length))
        .map((other) => other.id);
    }
    return found.map(({ info }) => ({ ...info }));
  }

  close(files: FileId[]): Promise<void> {
    for (const id of files) {
      this.files.delete(id);
      this.forget(id);
    }
    return Promise.resolve();
  }

  private forget(id: FileId): void {
    for (const key of this.opened.keys()) if (key.startsWith(`${id}:`)) this.opened.delete(key);
  }

  private file(id: FileId): OpenFile {
    const found = this.files.get(id);
    if (found === undefined) throw unreadable(`file ${id} is not open`);
    return found;
  }

  private logOf(id: FileId): OpenFile & { log: Log } {
    const found = this.file(id);
    if (found.log === null) throw unreadable(`${found.info.name} is no log`, 'invalid_value');
    return found as OpenFile & { log: Log };
  }

  // -- batches -------------------------------------------------------------------------------

  scan(id: FileId, progress: (p: ScanProgress) => void, options: Options = {}): Promise<ScanResult> {
    return guard(async () => {
      const file = this.logOf(id);
      if (file.listing === null) file.log = new Log(file.source, this.jobs);
      file.listing = null;
      file.scanning = file.log.scan(progress, options.signal);
      return file.scanning;
    });
  }

  list(id: FileId, progress: (p: ScanProgress) => void, options: Options = {}): Promise<void> {
    return guard(async () => {
      const file = this.logOf(id);
      file.log = new Log(file.source, this.jobs);
      file.listing = file.log.list(progress, options.signal);
      await file.listing;
    });
  }

  survey(id: FileId, progress: (p: ScanProgress) => void, options: Options = {}): Promise<Survey> {
    return guard(async () => {
      const file = this.file(id);
      let result: ScanResult | null = null;
      let findings: Finding[];
      if (file.log === null) ({ findings } = await tableOf(file.info.kind, file.source, file.info.baseOffset, 0, 0));
      else if (file.scanning !== null) {
        result = await file.scanning;
        findings = file.log.findings;
      } else {
        const log = new Log(file.source, this.jobs);
        result = await log.scan(({ pass, position, size }) => progress({ pass, position, size }), options.signal);
        findings = log.findings;
      }
      const of = (severity: Finding['severity']): Finding[] => findings.filter((each) => each.severity === severity);
      const [errors, warnings] = [of('error'), of('warning')];
      return {
        result, findings: [...errors, ...warnings].slice(0, MOST_SURVEYED), errors: errors.length, warnings: warnings.length,
      };
    });
  }

  /** The file, as soon as all of its headers are known. */
  private async scanned(id: FileId): Promise<OpenFile & { log: Log }> {
    const file = this.logOf(id);
    await (file.scanning === null ? file.log.list(() => undefined) : file.log.listed);
    return file;
  }

  rows(id: FileId, first: number, count: number): Promise<Rows> {
    return guard(async () => this.logOf(id).log.rows.copy(first, count));
  }

  findings(id: FileId): Promise<Finding[]> {
    return guard(async () => {
      const file = this.file(id);
      if (file.log !== null) return file.log.findings;
      return (await tableOf(file.info.kind, file.source, file.info.baseOffset, 0, 0)).findings;
    });
  }

  rowAt(id: FileId, position: number): Promise<number> {
    return guard(async () => this.logOf(id).log.rows.rowAt(position));
  }

  /** The batch of a row, while the list still grows too. */
  private async batch(file: OpenFile, row: number): Promise<Batch> {
    const log = file.log!;
    if (row >= log.rows.count && (file.scanning ?? file.listing) !== null) await log.listed;
    if (row < 0 || row >= log.rows.count) throw unreadable(`there is no row ${row}`, 'invalid_value');
    const key = `${file.info.id}:${row}`;
    const kept = this.opened.get(key);
    if (kept !== undefined) {
      this.opened.delete(key);
      this.opened.set(key, kept);
      return kept;
    }
    const position = log.rows.get('position', row);
    const size = log.rows.get('size', row);
    if (log.rows.column('row')[row] !== ROW.BATCH) {
      const found = log.findings.find((each) => each.row === row);
      throw new EngineError({
        reason: found?.reason ?? 'invalid_value', detail: found?.detail ?? 'these bytes are no batch',
        position: found?.position ?? position, inner: null, path: found?.path ?? '',
      });
    }
    const bytes = await file.source.read(position, size);
    if (bytes.length < size) throw shorter();
    const batch = new Batch(bytes, position);
    this.keep(key, batch);
    return batch;
  }

  private keep(key: string, batch: Batch): void {
    this.opened.set(key, batch);
    let held = 0;
    for (const [name, each] of Array.from(this.opened).reverse()) {
      held += each.held;
      if (held > OPEN_BYTES && name !== key) this.opened.delete(name);
    }
  }

  // -- records -------------------------------------------------------------------------------

  records(
    id: FileId, row: number, first: number, count: number, maxBytes = SHOWN_BYTES, options: Options = {},
  ): Promise<RecordPage> {
    return guard(async () => {
      const file = this.logOf(id);
      const batch = await this.batch(file, row);
      const page: RecordPage = {
        row, first, records: [], total: 0, space: batch.isCompressed ? 'row' : 'file', payloadSize: 0, error: null,
        timestampType: batch.timestampType, compression: batch.compressionName,
      };
      try {
        page.payloadSize = batch.isSet || batch.isCompressed ? batch.decompressed().length : batch.bytes.length;
        page.total = batch.count;
        if (count > 0) {
          for (const record of batch.records(first)) {
            stopIfAborted(options.signal);
            page.records.push(this.view(file, batch, record, maxBytes));
            // The last one may be followed by bytes that do not belong there.
            if (page.records.length >= count && record.index + 1 < page.total) break;
          }
        }
      } catch (error) {
        const wrong = asEngineError(error);
        if (wrong.data.reason === 'cancelled') throw wrong;
        page.error = wrong.data;
        page.total = Math.max(first + page.records.length, 0);
        this.note(file, batch, row, wrong);
      }
      return page;
    });
  }

  /** Remember damage that only shows when records are read. */
  private note(file: OpenFile, batch: Batch, row: number, error: EngineError): void {
    if (batch.checksumError() !== null) return; // then that is the finding
    file.log!.note(batch.contentArea, error.data, row, 'error');
  }

  private view(file: OpenFile, batch: Batch, record: RawRecord, maxBytes: number): RecordView {
    const key = content(record.key, maxBytes);
    const value = content(record.value, maxBytes);
    const [keyBytes, valueBytes] = [record.key?.bytes ?? null, record.value?.bytes ?? null];
    let control: string | null = null;
    let problem: string | null = null;
    if (batch.isControl) {
      try {
        const found = decodeControl(record.offset, keyBytes, valueBytes);
        control = found.name ?? `UNKNOWN(${found.type})`;
        key.messageName = control;
        value.messageName = control;
        value.message = controlJson(found);
      } catch (error) {
        problem = asEngineError(error).data.detail;
      }
    } else if (file.info.internal) {
      const found = decodeRecord(file.info.topic!, keyBytes, valueBytes);
      for (const [shown, decoded] of [[key, found.key], [value, found.value]] as const) {
        if (decoded === null) continue;
        shown.message = messageJson(decoded);
        shown.messageName = decoded.layout.name;
      }
      problem = found.problem?.message ?? null;
    } else {
      for (const [shown, bytes] of [[key, keyBytes], [value, valueBytes]] as const) {
        const found = bytes && this.schemas.for(file.info.topic).read(bytes);
        if (!found) continue;
        shown.message = found.json;
        shown.messageName = found.name;
        problem ??= found.problem;
      }
    }
    return {
      index: record.index, offset: record.offset, timestamp: record.timestamp === -1n ? null : record.timestamp,
      sequence: record.sequence, key, value, headers: record.headers.map((h) => ({ key: h.key.slice(), value: h.value?.slice() ?? null })),
      control, problem, start: record.start, end: record.end,
    };
  }

  private record(batch: Batch, index: number): RawRecord {
    for (const record of batch.records(index)) return record;
    throw unreadable(`there is no record ${index}`, 'invalid_value');
  }

  content(id: FileId, row: number, index: number, what: 'key' | 'value'): Promise<Uint8Array | null> {
    return guard(async () => this.record(await this.batch(this.logOf(id), row), index)[what]?.bytes.slice() ?? null);
  }

  recordsJson(id: FileId, row: number, options: Options = {}): Promise<string> {
    return guard(async () => {
      const file = this.logOf(id);
      const batch = await this.batch(file, row);
      const lines: string[] = [];
      const topic = topicOf(file);
      const schemas = topic === null && this.schemas.texts !== null ? this.schemas.for(file.info.topic) : null;
      for (const line of recordLines(batch, file.info.path, topic, 0, 'jsonl', null, schemas)) {
        stopIfAborted(options.signal);
        lines.push(line);
      }
      return lines.join('');
    });
  }

  write(what: Writing, piece: (text: Uint8Array) => void | Promise<void>, options: Options = {}): Promise<void> {
    return guard(async () => {
      const { format, wanted } = what;
      // Lines of several files have the same columns.
      const schemas = what.files.some((id) => !this.file(id).info.internal) ? this.schemas.texts : null;
      if (format === 'csv') await piece(new TextEncoder().encode(csvHead(schemas !== null)));
      for (const id of what.files) {
        const file = await this.scanned(id);
        const { rows } = file.log;
        const kinds = rows.column('row');
        let end = 0;
        while (end < rows.count && (kinds[end] === ROW.BATCH || wanted !== null)) end++;
        const parts = spans(rows, 0, end, undefined, TEXT_BYTES);
        const rest = what.without?.rest ?? null;
        const given = {
          ...ALL, path: file.info.path, topic: topicOf(file), format, wanted, schemas: schemas && { ...schemas, topic: file.info.topic },
          without: what.without?.slow.filter((one) => one.file === id) ?? [], until: rest?.file === id ? rest : null,
        };
        const watching = { signal: options.signal, told: mayHang(wanted, schemas) ? () => undefined : undefined };
        const run = (part: Rows): Promise<Lined> => this.jobs.run('written', file.source, part, given, watching);
        await inOrder(this.jobs.width, parts, run, async ({ pieces, error }) => {
          for (const each of pieces) {
            stopIfAborted(options.signal);
            await piece(each);
          }
          if (error !== null) throw new EngineError(error);
        });
        if (given.until) break;
        if (kinds[end] === ROW.DAMAGED) await this.batch(file, end); // says what is wrong
      }
    });
  }

  // -- schemas -------------------------------------------------------------------------------

  useSchemas(files: FileId[]): Promise<number> {
    return guard(async () => {
      this.schemas.clear();
      for (const id of files) {
        const { log } = await this.scanned(id);
        for (let row = 0; row < log.rows.count; row++) {
          if (log.rows.column('row')[row] !== ROW.BATCH) continue;
          try {
            for (const { key, value } of (await this.batch(this.file(id), row)).records()) {
              this.schemas.add(key?.bytes ?? null, value?.bytes ?? null);
            }
          } catch (error) {
            if (!(error instanceof EngineError) || error.data.reason === 'changed') throw error; // damage is shown where it is
          }
        }
      }
      return this.schemas.count;
    });
  }

  giveSchema(text: string | null): Promise<void> {
    return guard(async () => {
      try {
        this.schemas.give(text);
      } catch (error) {
        throw error instanceof NotDecoded ? unreadable(error.message, 'invalid_value') : error;
      }
    });
  }

  // -- bytes and fields ----------------------------------------------------------------------

  bytes(id: FileId, start: number, end: number, row: number | null = null): Promise<Uint8Array> {
    return guard(async () => {
      const file = this.file(id);
      const from = Math.max(0, Math.floor(start));
      if (row !== null) return (await this.batch(file, row)).decompressed().slice(from, end);
      return (await file.source.read(from, Math.max(0, end - from))).slice();
    });
  }

  tree(id: FileId, target: TreeTarget): Promise<FieldTree> {
    return guard(async () => {
      const file = this.file(id);
      const made: FieldTree = { space: 'file', row: null, root: leaf(file.info.name, '', 0, file.info.size), error: null };
      try {
        if (target.what === 'file') made.root = await fileTree(file.info.kind, file.source, file.info.baseOffset, file.info.name);
        else if (target.what === 'entry') made.root = await entryTree(file.info.kind, file.source, file.info.baseOffset, target.index);
        else await this.batchTree(file, target, made);
      } catch (error) {
        const wrong = asEngineError(error);
        made.error = wrong.data;
        if (error instanceof Refused && error.made !== null) {
          const data = await file.source.read(0, Math.min(file.info.size, 1 << 20));
          made.root = treeOf(error.made, data, 0, file.info.name, 0, file.info.size);
        }
      }
      return made;
    });
  }

  private async batchTree(file: OpenFile, target: BatchTarget, made: FieldTree): Promise<void> {
    if (target.what === 'row' && this.logOf(file.info.id).log.rows.column('row')[target.row] !== ROW.BATCH) {
      await this.damagedTree(file, target.row, made);
      return;
    }
    const batch = await this.batch(file, target.row);
    if (target.what !== 'row' && batch.isCompressed) {
      made.space = 'row';
      made.row = target.row;
    }
    made.root = this.rootOf(file, batch, target);
  }

  private rootOf(file: OpenFile, batch: Batch, target: BatchTarget): FieldNode {
    if (target.what === 'row') return treeOf(batch.entry, batch.bytes, batch.position, 'entry');
    const record = this.record(batch, target.index);
    if (target.what === 'record') {
      const base = batch.isSet || batch.isCompressed ? batch.decompressed() : batch.bytes;
      const shift = batch.isCompressed ? 0 : batch.isSet ? batch.payloadPosition : batch.position;
      const own = batch.isWrapper ? base.subarray(record.start, record.end) : base;
      const name = batch.isSet ? `record ${target.index}` : `message ${target.index}`;
      const root = treeOf(record.made, own, batch.isWrapper ? record.start : shift, name);
      root.start = record.start;
      root.end = record.end;
      return root;
    }
    const slice = record[target.what];
    const decoded = this.decoded(file, batch, record, target.what);
    if (slice === null || decoded === null) throw unreadable('there is nothing in it that is decoded', 'invalid_value');
    return treeOf(decoded.made, slice.bytes, slice.start, decoded.name);
  }

  private decoded(file: OpenFile, batch: Batch, record: RawRecord, what: 'key' | 'value'): { made: Made; name: string } | null {
    const [key, value] = [record.key?.bytes ?? null, record.value?.bytes ?? null];
    if (batch.isControl) {
      const found = decodeControl(record.offset, key, value);
      return { made: what === 'key' ? found.key : found.body, name: found.name ?? 'control record' };
    }
    if (!file.info.internal) return null;
    const found = decodeRecord(file.info.topic!, key, value);
    const part = found[what];
    return part === null ? null : { made: part.made, name: part.layout.name };
  }

  /** What was read of an entry before it broke off. */
  private async damagedTree(file: OpenFile, row: number, made: FieldTree): Promise<void> {
    const rows = file.log!.rows;
    const position = rows.get('position', row);
    const size = Math.min(rows.get('size', row), 1 << 20);
    const data = await file.source.read(position, size);
    try {
      new Batch(data, position);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      made.error = error.at(position).data;
      if (error.made !== null) made.root = treeOf(error.made, data, position, 'entry');
      return;
    }
    made.root = leaf('bytes', '', position, position + size);
  }

  // -- edits ---------------------------------------------------------------------------------

  written(id: FileId, target: TreeTarget, path: string): Promise<string> {
    return guard(async () => {
      const file = this.file(id);
      const { made, keys } = await this.editable(file, target, path);
      const { field, value } = find(made, keys);
      if (!isPlain(field) || (field.repeated && Array.isArray(value))) {
        throw unencodable(`${field.id} is no value: edit what is in it`);
      }
      return writtenValue(field, value);
    });
  }

  edit(id: FileId, target: TreeTarget, path: string, text: string): Promise<FileInfo> {
    return guard(async () => {
      const file = this.file(id);
      const value = readValue(text);
      const part = await this.editable(file, target, path);
      const found = find(part.made, part.keys);
      if (follows(found) && !value.forced) {
        throw unencodable(`${found.field.id} follows from the rest; ! after the value forces it`);
      }
      const bytes = part.write(value);
      if (!value.forced && !value.raw) {
        let wrong: string | null;
        try {
          wrong = difference(shapeOf(part.root(null)), shapeOf(part.root(bytes)));
        } catch (error) {
          wrong = asEngineError(error).data.detail;
        }
        if (wrong !== null) throw unencodable(`a reader finds other fields then: ${wrong}; ! after the value keeps it`);
      }
      return this.put(file, part.start, part.end, bytes);
    });
  }

  changeRecords(id: FileId, row: number, index: number, change: RecordChange): Promise<FileInfo> {
    return guard(async () => {
      const file = this.logOf(id);
      if (row >= file.log.rows.count) await this.scanned(id);
      const batch = await this.batch(file, row);
      const bytes = changedRecords(batch, index, change);
      return this.put(file, batch.position, batch.position + batch.bytes.length, bytes);
    });
  }

  /** Read a part of a file from other bytes from now on. */
  private put(file: OpenFile, start: number, end: number, bytes: Uint8Array): FileInfo {
    file.before.push(file.source);
    this.replace(file, new EditedSource(file.source, start, end, bytes));
    return { ...file.info };
  }

  undo(id: FileId): Promise<FileInfo> {
    return guard(async () => {
      const file = this.file(id);
      const before = file.before.pop();
      if (before === undefined) throw unreadable('there is no edit to take back', 'invalid_value');
      this.replace(file, before);
      return { ...file.info };
    });
  }

  /** Read a file from other bytes from now on. */
  private replace(file: OpenFile, source: Source): void {
    this.forget(file.info.id);
    file.source = source;
    file.info.size = source.size;
    file.info.edits = file.before.length;
    file.log = file.log === null ? null : new Log(source, this.jobs);
    file.scanning = file.listing = null;
    file.index = null;
  }

  /** What an edit of a field changes: the bytes from `start` to `end` of the file. */
  private async editable(file: OpenFile, target: TreeTarget, path: string): Promise<Editable> {
    const keys = path.split('/').slice(1);
    if (target.what === 'file' || target.what === 'entry') {
      return editableEntry(file.info.kind, file.source, file.info.baseOffset, target, keys);
    }
    if (target.row >= this.logOf(file.info.id).log.rows.count) await this.scanned(file.info.id);
    const batch = await this.batch(file, target.row);
    const range = { start: batch.position, end: batch.position + batch.bytes.length };
    const root = (bytes: Uint8Array | null): FieldNode =>
      this.rootOf(file, bytes === null ? batch : new Batch(bytes, batch.position), target);
    if (target.what === 'row') {
      return { ...range, made: batch.entry, keys, root, write: (value) => editedHeader(batch, keys, value) };
    }
    refuseCompressed(batch);
    const record = this.record(batch, target.index);
    if (target.what === 'record') {
      return { ...range, made: record.made, keys, root, write: (value) => editedRecord(batch, record, { path: keys, value }) };
    }
    const what = target.what;
    const slice = record[what];
    const decoded = this.decoded(file, batch, record, what);
    if (slice === null || decoded === null) throw unreadable('there is nothing in it that is decoded', 'invalid_value');
    const write = (value: Written): Uint8Array => {
      const made = rebuilt(decoded.made, slice.bytes, 0, slice.bytes.length, { path: keys, value });
      return editedRecord(batch, record, { path: [what], value: { made } });
    };
    return { ...range, made: decoded.made, keys, root, write };
  }

  table(id: FileId, first: number, count: number): Promise<Table> {
    return guard(async () => {
      const { info, source } = this.file(id);
      return tableOf(info.kind, source, info.baseOffset, first, count);
    });
  }

  // -- look-ups ------------------------------------------------------------------------------

  private segments(ids: FileId[]): Segment[] {
    return ids.map((id) => {
      const log = this.logOf(id);
      const sibling = (kind: string): OpenFile | null => {
        const found = log.info.siblings.map((other) => this.files.get(other)).find((other) => other?.info.kind === kind);
        return found ?? null;
      };
      return {
        log,
        index: sibling('offset_index'),
        timeIndex: sibling('time_index'),
        indexOf: (file) => this.indexOf(file),
        batch: (file, row) => this.batch(file, row),
        listed: async () => (await this.scanned(id)).log.rows,
      };
    });
  }

  private async indexOf(file: OpenFile): Promise<Index> {
    file.index ??= await openIndex(file.info.kind, file.source, file.info.baseOffset);
    return file.index;
  }

  findOffset(segments: FileId[], offset: bigint): Promise<LookUp> {
    return guard(async () => findOffset(this.segments(segments), offset));
  }

  findTime(segments: FileId[], timestamp: bigint): Promise<LookUp> {
    return guard(async () => findTime(this.segments(segments), timestamp));
  }

  find(
    query: { files: FileId[]; wanted: Wanted }, progress: (p: FindProgress) => void, options: Options = {},
  ): Promise<Searched> {
    return guard(async () => {
      const { files, wanted } = query;
      void new Matcher(wanted, null); // says what is wrong with it
      const all: Searched = { ...NONE_COUNTED, slow: [], rest: null };
      let kept = 0;
      const own = new AbortController(); // ends what still runs when the search ends
      const stop = (): void => own.abort();
      options.signal?.addEventListener('abort', stop);
      try {
        for (const [number, id] of files.entries()) {
          const file = await this.scanned(id);
          const { rows } = file.log;
          let hits: FindProgress['hits'] = [];
          let since = performance.now();
          const report = (position: number): void => {
            progress({ file: id, position, size: file.info.size, hits, found: all.found, searched: all.searched });
            hits = [];
            since = performance.now();
          };
          const endAt = (place: Place): void => {
            const [left, others] = [recordsFrom(rows, place), files.length - number - 1];
            if (left.records || others) all.rest = { file: id, ...place, ...left, files: others };
          };
          const schemas = wanted.bytes || file.info.internal ? null : this.schemas.for(file.info.topic).texts;
          const sought = { wanted, topic: topicOf(file), schemas, most: MOST_HITS };
          const run = (part: Rows): Promise<Looked> => search(this.jobs, file.source, part, sought, own.signal);
          await inOrder(this.jobs.width, spans(rows, 0, rows.count), run, (part, { first, count, position, lastOffset }) => {
            addCounts(all, part);
            all.slow.push(...part.slow.map((place) => ({ file: id, ...place })));
            const found = part.hits.slice(0, MOST_HITS - kept);
            kept += found.length;
            hits.push(...found.map((hit) => ({ file: id, ...hit })));
            if (part.rest) endAt(part.rest);
            else if (all.slow.length >= MOST_SLOW) endAt({ row: first + count, index: 0, offset: lastOffset[count - 1]! + 1n });
            if (performance.now() - since > REPORT_MS) report(position[0]!);
            return all.rest === null;
          });
          const end = all.rest?.row ?? rows.count;
          all.damaged += rows.column('row').subarray(0, end).reduce((sum, kind) => sum + Number(kind === ROW.DAMAGED), 0);
          report(all.rest === null ? file.info.size : rows.get('position', Math.min(all.rest.row, rows.count - 1)));
          if (all.rest !== null) break;
        }
      } finally {
        options.signal?.removeEventListener('abort', stop);
        stop();
      }
      return all;
    });
  }

  compare(left: FileId, right: FileId, options: Options = {}): Promise<Comparison> {
    return guard(async () => {
      const [a, b] = [this.file(left), this.file(right)];
      const [index, log] = a.log === null ? [a, b] : [b, a];
      if (index.log === null) {
        const kind = index.info.kind;
        if (log.log === null || entryType(kind) === null || kind === 'transaction_index') {
          throw unreadable('an index is compared with its log, and a log with another', 'invalid_value');
        }
        const largest = fileFacts(kind)!.largest;
        if (largest !== null && largest[1] !== 'max_timestamp') {
          throw unreadable(`the rows of a log have no ${largest[1]} to compare with; verify compares it`, 'invalid_value');
        }
        await this.scanned(log.info.id);
        return compareIndex(await this.indexOf(index), log, largest !== null);
      }
      await this.scanned(left);
      await this.scanned(right);
      return compareReplicas(a, b, (file, row) => this.batch(file, row), options.signal);
    });
  }
}

/** How many records there are from a place on, by the headers; `least` if some do not say it. */
function recordsFrom(rows: RowTable, from: Place): { records: number; least: boolean } {
  const counts = rows.column('records');
  const kinds = rows.column('row');
  let [records, least] = [-from.index, false];
  for (let row = from.row; row < rows.count; row++) {
    if (kinds[row] !== ROW.BATCH) continue;
    records += counts[row]! < 0 ? 1 : counts[row]!;
    least ||= counts[row]! < 0;
  }
  return { records: Math.max(0, records), least };
}

function topicOf(file: OpenFile): string | null {
  return file.info.internal ? file.info.topic : null;
}

function content(slice: Slice | null, most: number): Content {
  if (slice === null) return { bytes: null, size: -1, start: 0, text: null, message: null, messageName: null };
  let bytes = slice.bytes.slice(0, most);
  let text = utf8(bytes);
  // A cut may divide a character.
  for (let less = 1; text === null && less < 4 && slice.bytes.length > most; less++) text = utf8(bytes.subarray(0, most - less));
  bytes = bytes.slice();
  return { bytes, size: slice.bytes.length, start: slice.start, text, message: null, messageName: null };
}

/** Any error as one of ours. */
export function asEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof Refused) return error.at(0);
  const detail = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const memory = error instanceof RangeError;
  return new EngineError({ reason: memory ? 'too_large' : 'internal', detail, position: null, inner: null, path: '' });
}

async function guard<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw asEngineError(error);
  }
}
