/** The same lines as in `dump.ts`, as UTF-8: usual records go from bytes to bytes. */
import type { Writing } from '../api';
import type { Batch } from '../log/batch';
import { isWalked, reader, walk, type Columns } from '../log/walk';
import { computer } from '../specification/runtime';
import type { Matcher } from '../log/match';
import type { Schemas } from '../values/schemas';
import { batchCells, beginning, besides, csvLine, decoded, ending, middle, producer, recordLines } from './dump';
import { bytesJson, utf8 } from './json';

const PIECE = 4 << 20;
const [BLANK, QUOTE, BACKSLASH, ASCII] = [0x20, 0x22, 0x5c, 0x7f];
type Computer = ReturnType<typeof computer>;
const ENCODER = new TextEncoder();

function bytesOf(data: Uint8Array, start: number, size: number): Uint8Array | null {
  return size < 0 ? null : data.subarray(start, start + size);
}

/** Lines of JSON or CSV that grow, in pieces of some megabytes. */
export class Lines {
  private readonly pieces: Uint8Array[] = [];
  private data = new Uint8Array(PIECE + (1 << 16));
  private size = 0;

  /**
   * @param matcher says which records are wanted; null for all of them.
   * @param schemas decode keys and values; null for none, and then nothing stands beside them.
   */
  constructor(
    private readonly file: string, private readonly topic: string | null,
    private readonly format: Writing['format'] = 'jsonl', private readonly matcher: Matcher | null = null,
    private readonly schemas: Schemas | null = null,
  ) {}

  /** All pieces; nothing is added after it. */
  end(): Uint8Array[] {
    this.cut();
    return this.pieces;
  }

  /** Add the records of a batch. Throws `EngineError` where they break off, after those before it. */
  add(batch: Batch): void {
    let walked = 0;
    if (this.topic === null && !batch.isControl && !batch.kind.own.length && isWalked(batch.kind.key)) {
      walked = this.walk(batch);
      if (walked === batch.count && batch.count) return;
    }
    for (const line of recordLines(batch, this.file, this.topic, walked, this.format, this.matcher, this.schemas)) {
      this.text(line);
      if (this.size > PIECE) this.cut();
    }
  }

  private walk(batch: Batch): number {
    const { matcher } = this;
    const wrong = matcher === null ? batch.checksumError() : null;
    if (wrong !== null) throw wrong;
    if (!batch.count) return 0;
    const payload = batch.decompressed();
    if (matcher !== null && !matcher.inBytes(payload)) return batch.count;
    const csv = this.format === 'csv' ? batchCells(batch, this.file) : null;
    const [start, between, from, end] = [beginning(batch, this.file), middle(batch), producer(batch), ending(batch)].map(
      (text) => ENCODER.encode(text),
    ) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const { record } = batch.kind;
    const [offset, timestamp, sequence] = ['offset', 'timestamp', 'sequence'].map((id) => computer(`${record}.${id}`)) as [
      Computer, Computer, Computer,
    ];
    const read = reader(record, batch.content);
    const { walked, whole } = walk(batch.kind.key, payload, batch.count, (columns, size, first) => {
      for (let at = 0; at < size; at++) {
        if (matcher !== null && !matcher.begins(first + at, () => offset(read(columns, at))!)) continue;
        if (matcher !== null && !matcher.columns(payload, columns, at, () => timestamp(read(columns, at))!)) continue;
        const made = read(columns, at);
        const time = timestamp(made);
        if (csv !== null) {
          const part = (name: string): string[] => decoded(this.schemas, bytesOf(payload, columns[`${name}.start`]![at]!, columns[`${name}.size`]![at]!));
          this.text(csvLine([
            ...csv.before, String(offset(made)), time === -1n ? 'null' : String(time), ...csv.type, ...part('key'), ...part('value'),
            this.headerText(payload, columns, at), ...csv.producer, String(sequence(made)), ...csv.after, 'null',
          ]));
          if (this.size > PIECE) this.cut();
          continue;
        }
        this.bytes(start);
        this.ascii(String(offset(made)));
        this.ascii(', "timestamp": ');
        this.ascii(time === -1n ? 'null' : String(time));
        this.bytes(between);
        this.side('key', payload, columns, at);
        this.ascii(', "value": ');
        this.side('value', payload, columns, at);
        this.headers(payload, columns, at);
        this.bytes(from);
        this.ascii(String(sequence(made)));
        this.bytes(end);
        if (this.size > PIECE) this.cut();
      }
    });
    return whole || walked < batch.count ? walked : 0;
  }

  private side(name: 'key' | 'value', payload: Uint8Array, columns: Columns, at: number): void {
    const [start, size] = [columns[`${name}.start`]![at]!, columns[`${name}.size`]![at]!];
    if (this.schemas === null) this.value(payload, start, size);
    else this.text(besides(name, decoded(this.schemas, bytesOf(payload, start, size))));
  }

  private headerText(payload: Uint8Array, columns: Columns, at: number): string {
    const first = columns['headers.first']![at]!;
    const found = Array.from({ length: columns['headers.count']![at]! }, (_, item) => {
      const part = (name: string): string =>
        bytesJson(bytesOf(payload, columns[`headers.${name}.start`]![first + item]!, columns[`headers.${name}.size`]![first + item]!));
      return `[${part('key')}, ${part('value')}]`;
    });
    return `[${found.join(', ')}]`;
  }

  private headers(payload: Uint8Array, columns: Columns, at: number): void {
    this.ascii(', "headers": [');
    const first = columns['headers.first']![at]!;
    const last = first + columns['headers.count']![at]!;
    for (let item = first; item < last; item++) {
      this.ascii(item > first ? ', [' : '[');
      this.value(payload, columns['headers.key.start']![item]!, columns['headers.key.size']![item]!);
      this.ascii(', ');
      this.value(payload, columns['headers.value.start']![item]!, columns['headers.value.size']![item]!);
      this.ascii(']');
    }
    this.ascii(']');
  }

  // -- bytes ---------------------------------------------------------------------------------

  private cut(): void {
    if (this.size) this.pieces.push(this.data.slice(0, this.size));
    this.size = 0;
  }

  private room(size: number): void {
    if (this.size + size <= this.data.length) return;
    const grown = new Uint8Array(Math.max(2 * this.data.length, this.size + size));
    grown.set(this.data.subarray(0, this.size));
    this.data = grown;
  }

  private bytes(given: Uint8Array): void {
    this.room(given.length);
    this.data.set(given, this.size);
    this.size += given.length;
  }

  private text(given: string): void {
    this.bytes(ENCODER.encode(given));
  }

  private ascii(given: string): void {
    this.room(given.length);
    for (let at = 0; at < given.length; at++) this.data[this.size++] = given.charCodeAt(at);
  }

  /** JSON of bytes, as `bytesJson` has it. */
  private value(data: Uint8Array, start: number, size: number): void {
    if (size < 0) {
      this.ascii('null');
      return;
    }
    this.room(2 * size + 2);
    const out = this.data;
    const end = start + size;
    let to = this.size;
    let isText = false;
    out[to++] = QUOTE;
    for (let at = start; at < end; at++) {
      const byte = data[at]!;
      if (byte < BLANK || (byte > ASCII && !isText)) {
        isText = byte > ASCII && utf8(data.subarray(start, end)) !== null;
        if (!isText) {
          this.text(bytesJson(data.subarray(start, end)));
          return;
        }
      } else if (byte === QUOTE || byte === BACKSLASH) out[to++] = BACKSLASH;
      out[to++] = byte;
    }
    out[to++] = QUOTE;
    this.size = to;
  }
}
