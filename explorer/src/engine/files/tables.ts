/** Files that are not logs: indexes, snapshots and text files, as tables and trees. */
import { EngineError, type FieldNode, type FileKind, type Finding, type Table } from '../api';
import { checksum } from '../bytes/checksum';
import { camel, FACTS, fileFacts, typeFacts } from '../specification/facts';
import { javaText } from '../messages/json';
import { finding } from '../log/findings';
import { parse, Refused, valueOf, type Made, type Place } from '../specification/runtime';
import { unreadable, type Source } from '../bytes/source';
import { rebuilt, unencodable, type Editable } from './edit';
import { leaf, shownBytes, treeOf } from './tree';

/** Such files are small; a larger one is read to here. */
const MOST = 64 << 20;

const SNAPSHOT = 'producer_snapshot.producer_snapshot';
const MESSAGES = 'message_set.message_set';
const PRODUCER = 'producer_snapshot.producer_entry';

export function entryType(kind: FileKind): string | null {
  return fileFacts(kind)?.entry ?? null;
}

/** An index: entries of one size, and perhaps preallocated zeros after them. */
export class Index {
  readonly key: string;
  readonly size: number;
  readonly count: number;
  readonly padding: number;
  readonly findings: Finding[] = [];

  constructor(kind: FileKind, readonly data: Uint8Array, readonly base: bigint) {
    this.key = entryType(kind)!;
    this.size = typeFacts(this.key).fixed_size!;
    const whole = Math.floor(data.length / this.size);
    this.count = fileFacts(kind)!.preallocated ? this.used(whole) : whole;
    this.padding = (whole - this.count) * this.size;
    if (data.length % this.size) {
      const detail = `${data.length} bytes are no multiple of the ${this.size} bytes of an entry`;
      this.findings.push(finding(kind, { reason: 'index_size', detail, position: whole * this.size, inner: null, path: '' }, null, 'warning'));
    }
  }

  /**
   * Entries end before the first one, other than the very first, whose relative offset is 0. A file
   * that starts with two zero slots has none, one of a single zero slot has one.
   */
  private used(whole: number): number {
    let at = 0;
    for (const field of typeFacts(this.key).fields) {
      if (field.id === 'relative_offset') break;
      at += field.size ?? 0;
    }
    const view = new DataView(this.data.buffer, this.data.byteOffset, this.data.length);
    let used = 1;
    while (used < whole && view.getInt32(used * this.size + at) !== 0) used++;
    const zero = whole > 1 && this.data.subarray(0, 2 * this.size).every((byte) => byte === 0);
    return zero ? 0 : Math.min(used, whole);
  }

  entry(number: number): Made {
    return this.read(this.data.subarray(number * this.size, (number + 1) * this.size));
  }

  read(entry: Uint8Array): Made {
    return parse(this.key, entry, typeFacts(this.key).parameters ? [this.base] : []);
  }

  range(number: number): [number, number] {
    return [number * this.size, (number + 1) * this.size];
  }

  offset(number: number): bigint {
    return valueOf(this.entry(number), 'offset')!;
  }

  /** The last entry for which `test` holds; -1 if it is none. Entries for which it holds come first. */
  last(test: (entry: Made) => boolean): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (test(this.entry(middle))) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

export async function readAll(source: Source): Promise<Uint8Array> {
  if (source.size > MOST) throw unreadable(`a file of ${source.size} bytes is too large for its kind`, 'too_large');
  return source.read(0, source.size);
}

export async function openIndex(kind: FileKind, source: Source, base: bigint | null): Promise<Index> {
  return new Index(kind, await readAll(source), base ?? 0n);
}

function cells(made: Made, key: string): string[] {
  const type = typeFacts(key);
  const shown = type.fields.map((field) => String(made[camel(field.id)]));
  return [...shown, ...(type.instances ?? []).map((id) => String(valueOf(made, id)))];
}

function columns(key: string): Table['columns'] {
  const type = typeFacts(key);
  return [
    ...type.fields.map((field) => ({ name: field.id, doc: field.doc ?? null, numeric: true })),
    ...(type.instances ?? []).map((id) => ({ name: id, doc: null, numeric: true })),
  ];
}

export async function tableOf(kind: FileKind, source: Source, base: bigint | null, first: number, count: number): Promise<Table> {
  const data = await readAll(source);
  if (entryType(kind)) return indexTable(kind, new Index(kind, data, base ?? 0n), first, count);
  if (kind === 'producer_snapshot') return snapshotTable(data, first, count);
  if (kind === 'segment_0_7') return messageTable(data, base ?? 0n, first, count);
  const type = fileFacts(kind)?.type;
  if (type !== undefined) { // a file that only the specification knows, as one row
    const row = cells(parse(type, data, typeFacts(type).parameters ? [base ?? 0n] : []), type);
    return { columns: columns(type), rows: [row], ranges: [[0, data.length]], first: 0, total: 1, padding: 0, findings: [] };
  }
  const lines = linesOf(data);
  const shown = lines.slice(first, first + count);
  return {
    columns: [{ name: 'line', doc: null, numeric: false }],
    rows: shown.map(([start, end]) => [javaText(data.subarray(start, end))]),
    ranges: shown, first, total: lines.length, padding: 0, findings: [],
  };
}

function indexTable(kind: FileKind, index: Index, first: number, count: number): Table {
  const table: Table = { columns: columns(index.key), rows: [], ranges: [], first, total: index.count, padding: index.padding, findings: index.findings };
  for (let entry = first; entry < Math.min(index.count, first + count); entry++) {
    try {
      table.rows.push(cells(index.entry(entry), index.key));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const wrong = error.at(entry * index.size).data;
      table.findings.push(finding(kind, wrong, null));
      table.rows.push([wrong.detail, ...Array<string>(table.columns.length - 1).fill('')]);
    }
    table.ranges.push(index.range(entry));
  }
  return table;
}

function snapshotTable(data: Uint8Array, first: number, count: number): Table {
  const table: Table = { columns: columns(PRODUCER), rows: [], ranges: [], first, total: 0, padding: 0, findings: [] };
  const area = 'producer_snapshot';
  const made = partly(area, SNAPSHOT, data, table.findings);
  const sum = typeFacts(SNAPSHOT).checksum!;
  if (!table.findings.length && made[sum.field] !== checksum(sum.algorithm, data.subarray(sum.start))) {
    const detail = 'the checksum of the snapshot does not match its bytes';
    table.findings.push(finding(area, { reason: 'checksum_mismatch', detail, position: sum.position, inner: null, path: `/${sum.field}` }, null));
  }
  const entries: Made[] = made?.entries ?? [];
  const places = made?._debug.entries?.arr ?? [];
  table.total = entries.length;
  entries.slice(first, first + count).forEach((entry, index) => {
    const place = places[first + index];
    table.rows.push(cells(entry, PRODUCER));
    table.ranges.push([place.start, place.end ?? place.start]);
  });
  return table;
}

/** Messages of Kafka 0.7, whose offsets are their positions in the log. */
function messageTable(data: Uint8Array, base: bigint, first: number, count: number): Table {
  const names = ['offset', 'size', 'magic', 'compression', 'crc', 'payload'];
  const table: Table = {
    columns: names.map((name) => ({ name, doc: null, numeric: name !== 'payload' && name !== 'compression' })),
    rows: [], ranges: [], first, total: 0, padding: 0, findings: [],
  };
  const made = partly('message', MESSAGES, data, table.findings);
  const places: Place[] = made?._debug.messages?.arr ?? [];
  // The last one is there even if it broke off.
  const messages: Made[] = (made?.messages ?? []).slice(0, places.filter((place) => place.end !== undefined).length);
  table.total = messages.length;
  messages.slice(first, first + count).forEach((framed, index) => {
    const { start, end } = places[first + index]!;
    const { content } = framed.message;
    const codec = content.attributes?.compression ?? 0;
    const name = FACTS.enums['message_set.compression_codec']?.[String(codec)]?.[0] ?? String(codec);
    const cells = [base + BigInt(start), framed.lenMessage, content.magic, name, content.crc, shownBytes(content.payload)];
    table.rows.push(cells.map(String));
    table.ranges.push([start, end!]);
  });
  return table;
}

/** Parse a whole file, and of a damaged one what comes before the damage. */
function partly(area: string, type: string, data: Uint8Array, findings: Finding[]): Made {
  try {
    return parse(type, data);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    findings.push(finding(area, error.at(0).data, null));
    return error.made;
  }
}

function linesOf(data: Uint8Array): [number, number][] {
  const lines: [number, number][] = [];
  for (let at = 0; at < data.length; ) {
    const found = data.indexOf(10, at);
    const end = found < 0 ? data.length : found;
    lines.push([at, end]);
    at = end + 1;
  }
  return lines;
}

export async function entryTree(kind: FileKind, source: Source, base: bigint | null, number: number): Promise<FieldNode> {
  const data = await readAll(source);
  const missing = (): EngineError => unreadable(`there is no entry ${number}`, 'invalid_value');
  if (entryType(kind)) {
    const index = new Index(kind, data, base ?? 0n);
    if (number < 0 || (number + 1) * index.size > data.length) throw missing();
    const [start, end] = index.range(number);
    return treeOf(index.entry(number), data.subarray(start, end), start, `entry ${number}`);
  }
  if (kind === 'producer_snapshot') {
    const made = parse(SNAPSHOT, data);
    const place = made._debug.entries.arr[number];
    if (place === undefined) throw missing();
    return treeOf(made.entries[number], data, 0, `entry ${number}`, place.start, place.end);
  }
  if (kind === 'segment_0_7') {
    const made = partly('message', MESSAGES, data, []);
    const place: Place | undefined = made._debug.messages.arr[number];
    if (place === undefined) throw missing();
    return treeOf(made.messages[number], data, 0, `message ${number}`, place.start, place.end);
  }
  if (fileFacts(kind) !== undefined) return fileTree(kind, source, base, source.name);
  const line = linesOf(data)[number];
  if (line === undefined) throw missing();
  const node = leaf(`line ${number + 1}`, `/line ${number + 1}`, line[0], line[1]);
  node.value = javaText(data.subarray(line[0], line[1]));
  node.type = 'text';
  return node;
}

/** What an edit in a file that is not a log changes: an entry of an index, or all of a snapshot. */
export async function editableEntry(
  kind: FileKind, source: Source, base: bigint | null, target: { what: 'file' } | { what: 'entry'; index: number }, keys: string[],
): Promise<Editable> {
  const data = await readAll(source);
  const number = target.what === 'entry' ? target.index : -1;
  const editable = (start: number, read: (bytes: Uint8Array) => Made, bytes: Uint8Array, path: string[]): Editable => {
    const made = read(bytes);
    return {
      start, end: start + bytes.length, made, keys: path,
      root: (other) => treeOf(other === null ? made : read(other), other ?? bytes, 0, ''),
      write: (value) => rebuilt(made, bytes, 0, bytes.length, { path, value }),
    };
  };
  const index = entryType(kind) ? new Index(kind, data, base ?? 0n) : null;
  if (index !== null) {
    if (number < 0 || number >= index.count) throw unencodable('choose the entry that has the field');
    const [start, end] = index.range(number);
    return editable(start, (bytes) => index.read(bytes), data.subarray(start, end), keys);
  }
  if (kind === 'producer_snapshot') {
    return editable(0, (bytes) => parse(SNAPSHOT, bytes), data, number < 0 ? keys : ['entries', String(number), ...keys]);
  }
  const type = kind === 'segment_0_7' ? undefined : fileFacts(kind)?.type;
  if (type === undefined) throw unencodable('files of this kind are not edited here; kafkaspec explain --format assembly lists them');
  return editable(0, (bytes) => parse(type, bytes, typeFacts(type).parameters ? [base ?? 0n] : []), data, keys);
}

export async function fileTree(kind: FileKind, source: Source, base: bigint | null, name: string): Promise<FieldNode> {
  const data = await readAll(source);
  if (kind === 'producer_snapshot') return treeOf(parse(SNAPSHOT, data), data, 0, name);
  if (kind === 'segment_0_7') return treeOf(parse(MESSAGES, data), data, 0, name);
  const type = fileFacts(kind)?.type;
  if (type !== undefined && !entryType(kind)) {
    return treeOf(parse(type, data, typeFacts(type).parameters ? [base ?? 0n] : []), data, 0, name);
  }
  const root = leaf(name, '', 0, data.length);
  const total = entryType(kind) ? new Index(kind, data, base ?? 0n).count : linesOf(data).length;
  for (let number = 0; number < Math.min(total, 1000); number++) {
    root.children.push(await entryTree(kind, { input: null, name, size: data.length, read: () => Promise.resolve(data) }, base, number));
  }
  root.more = Math.max(0, total - 1000);
  return root;
}
