/**
 * What the page knows of the engine, and nothing else.
 *
 * The engine runs in a Web Worker (or in the same thread, in Node and tests). The page calls
 * `connect(worker)` of `client.ts` and gets an `Engine`. All data in here can be cloned between
 * threads; `bigint` stands for every 64-bit number (offsets, timestamps, producer ids), `number`
 * for positions in files and for everything that fits 32 bits.
 *
 * No method throws or rejects with anything but `EngineError` (see `ErrorData`), whatever the
 * bytes are. A method that was cancelled by its `AbortSignal` rejects with reason `cancelled`, but
 * for `find`, which then says how far it came.
 */

// -- files -----------------------------------------------------------------------------------

/** A file that the page gives: a `Blob` (or `File`), bytes, or an address that serves ranges. */
export interface FileInput {
  /** Path with `/`: `topic-0/00000000000000000000.log`. Nothing but the name is required. */
  path: string;
  size: number;
  blob?: Blob;
  bytes?: Uint8Array;
  /** Where `bytes` begin, of a part of a file. */
  start?: number;
  /** Address for `GET` with `Range: bytes=a-b`; the same origin. */
  url?: string;
}

/** Number that the engine gives to an open file. */
export type FileId = number;

export type FileKind =
  | 'segment' // .log, and .log.deleted and the like
  | 'kraft_snapshot' // .checkpoint
  | 'segment_0_7' // .kafka
  | 'offset_index'
  | 'time_index'
  | 'transaction_index'
  | 'producer_snapshot'
  | 'leader_epoch_checkpoint'
  | 'offset_checkpoint' // replication-, recovery-point-, log-start- and cleaner-offset-checkpoint
  | 'partition_metadata'
  | 'meta_properties'
  | 'quorum_state'
  | 'clean_shutdown'
  | 'unknown';

export interface FileInfo {
  id: FileId;
  path: string;
  /** Last part of the path. */
  name: string;
  /** The folder, `topic-0`; empty without one. */
  folder: string;
  size: number;
  kind: FileKind;
  /** Whether the kind was found by the content since the name did not say it. */
  byContent: boolean;
  /** Base offset in the name of the file; null if it has none. */
  baseOffset: bigint | null;
  /** Topic and number in the name of the folder; null without. */
  topic: string | null;
  partition: number | null;
  /** Topic is one of Kafka's own, whose records are decoded. */
  internal: boolean;
  /** Files of the same segment (same folder and number): its log, index, time index ... */
  siblings: FileId[];
  /** Edits of it that are not undone; the file itself is never changed. */
  edits: number;
  /** The format page of the kind in `generated/docs`, e.g. `recordbatch.md`; null without one. */
  docPage: string | null;
}

// -- batches ---------------------------------------------------------------------------------

/** What a row of the list is. */
export const ROW = {
  /** A batch, or a message of magic 0 or 1. */
  BATCH: 0,
  /** An entry that cannot be parsed; its size says where the next one is, or a search found it. */
  DAMAGED: 1,
  /** The end of the log: `torn_tail`, `short_tail`, `zero_tail`. Always the last row. */
  TAIL: 2,
} as const;

/** Bits of `Rows.flags`. */
export const FLAG = { CONTROL: 1, TRANSACTIONAL: 2, LOG_APPEND_TIME: 4, DELETE_HORIZON: 8, WRAPPER: 16 } as const;

/** What is known of the checksum, in `Rows.checked`. */
export const CHECK = { NOT_YET: 0, SOUND: 1, DAMAGED: 2 } as const;

/** Columns of rows `first` to `first + count - 1`. All arrays have `count` items. */
export interface Rows {
  first: number;
  count: number;
  row: Uint8Array; // ROW
  position: Float64Array;
  size: Float64Array;
  baseOffset: BigInt64Array; // of a wrapper of magic 0 or 1 that of the last message in it
  lastOffset: BigInt64Array;
  records: Int32Array; // -1 where only decompression would say
  magic: Int8Array; // -1 for damage
  codec: Int8Array; // index into Facts.codecs; -1 for damage
  flags: Uint8Array; // FLAG
  baseTimestamp: BigInt64Array; // -1 none
  maxTimestamp: BigInt64Array; // -1 none
  leaderEpoch: Int32Array; // -1 none
  producerId: BigInt64Array; // -1 none
  producerEpoch: Int16Array;
  baseSequence: Int32Array;
  checked: Uint8Array; // CHECK
}

/** A finding as `kafkaspec verify` reports it, about one place. */
export interface Finding {
  row: number | null;
  /** Reason of the closed list, `checksum_mismatch` for instance. */
  reason: string;
  severity: 'error' | 'warning' | 'info';
  /** `batch`, `records`, `wrapper`, `offset_index` ... : what the place is a part of. */
  area: string;
  /** Byte offset of the failing field in the file. */
  position: number;
  /** Byte offset in the decompressed bytes of the row; null if it is in the file itself. */
  inner: number | null;
  /** Path of the failing field, `/message/content/crc`. */
  path: string;
  /** One sentence. */
  detail: string;
  /** What a consumer makes of it, and what a broker does when it starts. */
  reader: string;
  broker: string;
}

export interface ScanProgress {
  /** Three passes over the file: headers, then checksums, then the records of all batches. */
  pass: 'headers' | 'checksums' | 'records';
  /** Bytes that this pass has looked at. */
  position: number;
  size: number;
  /** New rows, in order; only in the first pass. */
  rows?: Rows;
  /** Rows whose checksum is known now; only in the second pass. */
  checked?: { first: number; values: Uint8Array };
  /** New findings, of any pass; those of the third are about records. */
  findings?: Finding[];
}

export interface ScanResult {
  rows: number;
  batches: number;
  damaged: number;
  /** Sum of the header's counts; of wrappers of magic 0 and 1 only where they were opened. */
  records: number;
  firstOffset: bigint | null;
  lastOffset: bigint | null;
  /** The smallest and the largest timestamp in the headers; null without one. */
  oldest: bigint | null;
  newest: bigint | null;
  /** Milliseconds of the three passes. */
  scanMs: number;
  checkMs: number;
  contentMs: number;
}

/** What a check of a file found, without its rows. */
export interface Survey {
  /** Null for a file that is no log. */
  result: ScanResult | null;
  /** Errors and warnings, at most a hundred. */
  findings: Finding[];
  /** All of them. */
  errors: number;
  warnings: number;
}

// -- records ---------------------------------------------------------------------------------

export interface Header {
  key: Uint8Array;
  value: Uint8Array | null;
}

/** A key or value: the bytes (at most `maxBytes` of the request), and what they are. */
export interface Content {
  /** null for null; cut to the bytes asked for. */
  bytes: Uint8Array | null;
  /** Size of all of it, -1 for null. */
  size: number;
  /** Where it is: in the file, or in the decompressed bytes of the row. */
  start: number;
  /** The text if the (cut) bytes are UTF-8; null otherwise. Show it as text, never as markup. */
  text: string | null;
  /** What it is decoded, by Kafka's own messages or by a schema: JSON in one line. */
  message: string | null;
  /** Kafka's name of the message: `OffsetCommitValue`; `COMMIT` for a control record; or that of the schema. */
  messageName: string | null;
}

export interface RecordView {
  /** Number in the batch, from 0. */
  index: number;
  offset: bigint;
  /** null: none. */
  timestamp: bigint | null;
  sequence: number; // -1 none
  key: Content;
  value: Content;
  headers: Header[];
  /** Name of the type of a control record, `COMMIT`; null for others. */
  control: string | null;
  /** Why key or value could not be decoded. */
  problem: string | null;
  /** Range of the record, in the file or in the decompressed bytes (`space` of `RecordPage`). */
  start: number;
  end: number;
}

/** Where bytes are: `file`, or `row`: the decompressed bytes of that row. */
export type Space = 'file' | 'row';

export interface RecordPage {
  row: number;
  first: number;
  records: RecordView[];
  /** Number of records of the batch, as far as it is known. */
  total: number;
  space: Space;
  /** Size of the decompressed bytes; that of the stored ones if they are not compressed. */
  payloadSize: number;
  /** Set where records break off: those before it are in `records`. */
  error: ErrorData | null;
  timestampType: string;
  compression: string;
}

// -- fields ----------------------------------------------------------------------------------

export type FieldValue = number | bigint | string | boolean | null;

/** A field of a structure, with the bytes that it has. */
export interface FieldNode {
  /** Name in the specification: `base_offset`; `[3]` for an item. */
  id: string;
  /** Path from the root of the tree: `/message/content/records`, `/headers/0/key`. */
  path: string;
  /** Byte range in `FieldTree.space`; a bit field has the bytes around it. */
  start: number;
  end: number;
  /** Key of the type in the specification, `recordbatch.record_batch`; or `s8`, `bytes` ... */
  type: string;
  /** Value as text: a number, a name of an enum, a short text; null for a structure. */
  value: FieldValue;
  /** Name of the number in its enum: `gzip`. */
  enumName: string | null;
  /** Kafka's name: `baseOffset`. */
  kafkaName: string | null;
  /** Meaning, from the specification. Plain text with backticks. */
  doc: string | null;
  /** Format page and anchor in `generated/docs`: `recordbatch.md#record_batch`. */
  docLink: string | null;
  /** Number of a bit field's first bit (0 is the highest of `start`) and number of bits. */
  bits: [number, number] | null;
  /** A value that follows from fields and has no bytes of its own. */
  computed: boolean;
  /** A value of its own, which `edit` can change; not a structure or an array. */
  editable: boolean;
  /** Bytes as hex (at most 64) where the value is bytes. */
  children: FieldNode[];
  /** Items that were left out of `children` after a thousand. */
  more: number;
}

export interface FieldTree {
  space: Space;
  /** Row whose decompressed bytes the positions count in; null in the file. */
  row: number | null;
  root: FieldNode;
  /** Set where parsing broke off; `root` then has what was read. */
  error: ErrorData | null;
}

/** What is done with a record as a whole. */
export type RecordChange = 'add' | 'duplicate' | 'remove';

/** What a tree is wanted of. */
export type TreeTarget =
  | { what: 'row'; row: number } // header and, without compression, nothing of the records
  | { what: 'record'; row: number; index: number }
  | { what: 'key' | 'value'; row: number; index: number } // of internal topics, control records
  | { what: 'entry'; index: number } // of an index, snapshot, text file (line)
  | { what: 'file' }; // indexes, snapshots, text files: at most a thousand entries

// -- tables of small files -------------------------------------------------------------------

/** Entries of an index, snapshot or checkpoint, or lines of a text file, as text. */
export interface Table {
  columns: { name: string; doc: string | null; numeric: boolean }[];
  /** Rows of cells, from `first` on. */
  rows: string[][];
  /** Byte range of each row. */
  ranges: [number, number][];
  first: number;
  total: number;
  /** Bytes of preallocated zeros after the last entry. */
  padding: number;
  findings: Finding[];
}

// -- look-ups --------------------------------------------------------------------------------

/** One step of a look-up, in the order in which a broker does it. */
export interface Step {
  /** `segment`, `time index`, `index`, `log`, `records`. */
  where: string;
  /** A sentence: "entry 12: offset 400 is at position 16384". */
  text: string;
  file: FileId;
  /** Bytes to show: the entry of the index, the header of the batch, the record. */
  start: number;
  end: number;
  row: number | null;
  entry: number | null;
}

export interface LookUp {
  steps: Step[];
  /** Segment in which it was found; null if it was not. */
  file: FileId | null;
  /** Row and record that were found; null if there is none. */
  row: number | null;
  record: number | null;
  offset: bigint | null;
}

export type How = 'equals' | 'prefix' | 'contains' | 'regex' | 'json';
export type Where = 'key' | 'value' | 'headers';

/** Which records are wanted. */
export interface Wanted {
  /**
   * What is looked for: bytes or a text (UTF-8), a regular expression, or a path of JSON with what is
   * there, `$.lines[*].sku = "K7"`. Empty, unless records are to be equal to it: all records.
   */
  text: Uint8Array | string;
  how: How;
  /** In any of them; a header is its name, its value, or both as `name=value`. */
  where: Where[];
  /**
   * Whether only bytes are looked at. Else keys and values that a schema decodes are looked at as it decodes
   * them: a path in their JSON, everything else in that text, of a value that is a text in what it says.
   * Messages of Kafka's own topics are then looked at beside the bytes.
   */
  bytes: boolean;
  /** The first and the last timestamp, in ms; null for no bound. */
  from: bigint | null;
  to: bigint | null;
}

export interface Hit {
  file: FileId;
  row: number;
  index: number;
  offset: bigint;
  timestamp: bigint | null;
}

/** How long a search may look at one record, in ms: a regular expression can take for ever. */
export const RECORD_MS = 1000;

/** A record of a log, and its offset. */
export interface Place {
  row: number;
  index: number;
  offset: bigint;
}

/** What a search counts. */
export interface Counts {
  found: number;
  searched: number;
  /** Keys and values that were looked at as they are decoded; of all others, the bytes were. */
  decoded: number;
  /** Keys and values that their schema does not read: the bytes were looked at. */
  undecoded: number;
  /** Batches that are too large to be searched. */
  large: number;
  /** Places that are damaged: no record was searched from there on to the next batch. */
  damaged: number;
  /** Records of both that were not searched, as far as the headers say how many there are. */
  unread: number;
}

/** How a search ended, and what it did not look at. */
export interface Searched extends Counts {
  /** Records that it gave up, as each took longer than `RECORD_MS`. */
  slow: (Place & { file: FileId })[];
  /** The first record that it did not come to, as it was stopped or gave up too many; null if it came to all. */
  rest: (Place & { file: FileId }) & {
    /** Records of that file from there on, or `least`, as their number is not in the headers of old messages. */
    records: number;
    least: boolean;
    /** Files after it, which were not searched at all. */
    files: number;
  } | null;
}

/** Records that are written. */
export interface Writing {
  files: FileId[];
  format: 'jsonl' | 'csv';
  /** Null for all of them. */
  wanted: Wanted | null;
  /** What the search for them did not look at; null for nothing. */
  without?: Pick<Searched, 'slow' | 'rest'> | null;
}

export interface FindProgress {
  file: FileId;
  position: number;
  size: number;
  /** Records that were found since the last report, up to the first 10,000. */
  hits: Hit[];
  /** All that were found in all files. */
  found: number;
  searched: number;
}

/** Bytes of the largest batch that a search reads. */
export const LARGEST = 512 << 20;

// -- two files -------------------------------------------------------------------------------

/** An entry of an index beside the log. */
export interface IndexCheck {
  entry: number;
  /** Byte range of the entry in the index. */
  start: number;
  end: number;
  offset: bigint;
  timestamp: bigint | null;
  position: number | null;
  row: number | null;
  holds: boolean;
  reason: string | null;
  text: string;
}

export interface Comparison {
  kind: 'index' | 'replicas';
  /** Entries of an index, at most a thousand; all that do not hold come first in number. */
  entries: IndexCheck[];
  total: number;
  broken: number;
  /** Of replicas: whether they are the same up to the end of the shorter one. */
  same: boolean;
  /** First difference by offset: rows in both, and what differs. */
  difference: {
    offset: bigint | null;
    left: number | null;
    right: number | null;
    leftPosition: number | null;
    rightPosition: number | null;
    text: string;
  } | null;
  /** One sentence. */
  text: string;
}

// -- facts -----------------------------------------------------------------------------------

/** Constants from the specification, for legends and limits. */
export interface Facts {
  codecs: string[]; // none, gzip, snappy, lz4, zstd
  internalTopics: string[];
  /** The topic of a registry of schemas. */
  schemasTopic: string;
  /** Bound on the decompressed bytes of one batch. */
  maxOutput: number;
  /** SHA-256 of the specification that the page was made from. */
  specHash: string;
  version: string;
}

// -- errors ----------------------------------------------------------------------------------

export interface ErrorData {
  /** Reason of kafkaspec's closed list, or `cancelled`, `unreadable`. */
  reason: string;
  detail: string;
  position: number | null;
  inner: number | null;
  path: string;
}

export class EngineError extends Error {
  readonly data: ErrorData;

  constructor(data: ErrorData) {
    super(`${data.detail} [${data.reason}]`);
    this.name = 'EngineError';
    this.data = data;
  }
}

// -- the engine ------------------------------------------------------------------------------

export interface Options {
  signal?: AbortSignal;
}

export interface Engine {
  facts(): Promise<Facts>;

  /** Open files, of whole folders too; names and contents say what they are. Order is kept. */
  open(files: FileInput[]): Promise<FileInfo[]>;
  close(files: FileId[]): Promise<void>;

  /**
   * List the batches of a segment or KRaft snapshot: first all headers, then, in a second pass,
   * their checksums, and in a third all records, which finds what `kafkaspec verify` finds in them.
   * Progress comes several times a second. Call it once for each file; the methods below that take
   * a row wait until it is known. They may be called during all passes.
   */
  scan(file: FileId, progress: (p: ScanProgress) => void, options?: Options): Promise<ScanResult>;
  /** The first of these passes alone; `scan` then begins with the second one. */
  list(file: FileId, progress: (p: ScanProgress) => void, options?: Options): Promise<void>;
  /** Do all passes over a file, of any kind, and keep only what was found. */
  survey(file: FileId, progress: (p: ScanProgress) => void, options?: Options): Promise<Survey>;
  /** Rows again, from the memory of the engine. */
  rows(file: FileId, first: number, count: number): Promise<Rows>;
  findings(file: FileId): Promise<Finding[]>;
  /** Row at a byte of the file: the last one that begins at or before it; -1 before the first. */
  rowAt(file: FileId, position: number): Promise<number>;

  /** Records of a batch, decoded; keys and values cut to `maxBytes` (default 4096). */
  records(
    file: FileId, row: number, first: number, count: number, maxBytes?: number, options?: Options,
  ): Promise<RecordPage>;
  /** Key or value as a whole. */
  content(file: FileId, row: number, index: number, what: 'key' | 'value'): Promise<Uint8Array | null>;
  /**
   * The records of a row exactly as `kafkaspec dump --format json` prints them: a line each. Where schemas
   * are known, keys and values are decoded, with the same names beside them as of `--value decode --raw`.
   */
  recordsJson(file: FileId, row: number, options?: Options): Promise<string>;
  /**
   * All records of files, or those that are wanted, in the same way or as CSV, in pieces of UTF-8 that
   * end with a line. The next ones come when the promise of `piece` is kept. Of all records of one
   * file, damage is an error after those before it; a search goes on behind it.
   */
  write(what: Writing, piece: (text: Uint8Array) => void | Promise<void>, options?: Options): Promise<void>;

  /** Decode keys and values by the schemas in logs of a registry's topic; return how many there are. */
  useSchemas(files: FileId[]): Promise<number>;
  /** Decode what no registry has a schema for by one of Avro, or by the first message of one of Protobuf; null for by none. */
  giveSchema(text: string | null): Promise<void>;

  /** Bytes of a file, or of the decompressed bytes of a row; short at the end. */
  bytes(file: FileId, start: number, end: number, row?: number | null): Promise<Uint8Array>;
  tree(file: FileId, target: TreeTarget): Promise<FieldTree>;
  /** The value of a field, as `edit` takes it again. */
  written(file: FileId, target: TreeTarget, path: string): Promise<string>;
  /**
   * Give a field another value, written as in the text of `kafkaspec assemble`: `12`, `gzip`, `"text"`,
   * `hex 00 ff`, `raw 85 00`. What follows from it is written as `assemble` writes it; `!` after a value
   * keeps one that follows from others, or that no reader takes. All other methods then see the file as it
   * would be; `bytes` gives what to save.
   */
  edit(file: FileId, target: TreeTarget, path: string, text: string): Promise<FileInfo>;
  /**
   * Add an empty record after one (-1 for before the first), put a copy of it after it, or remove it.
   * Numbers, counts, lengths and the checksum follow as `kafkaspec assemble` writes them.
   */
  changeRecords(file: FileId, row: number, index: number, change: RecordChange): Promise<FileInfo>;
  /** Take the last edit back. */
  undo(file: FileId): Promise<FileInfo>;
  /** Entries of a file that is not a segment. */
  table(file: FileId, first: number, count: number): Promise<Table>;

  /**
   * Find an offset in the segments of a partition, in their order: in the one that a broker chooses,
   * through the `.index` beside it if it is open, else by headers.
   */
  findOffset(segments: FileId[], offset: bigint): Promise<LookUp>;
  /** Find the first record with a timestamp at or after one (ms) in them, through their `.timeindex`. */
  findTime(segments: FileId[], timestamp: bigint): Promise<LookUp>;
  /**
   * All records that are wanted, in the order of the files, as they are found. It ends by itself when an
   * expression takes too long; one that is cancelled is no error, but says what it did not come to.
   */
  find(query: { files: FileId[]; wanted: Wanted }, progress: (p: FindProgress) => void, options?: Options): Promise<Searched>;

  /** An index beside its log (in any order), or two replicas of a segment. */
  compare(left: FileId, right: FileId, options?: Options): Promise<Comparison>;
}
