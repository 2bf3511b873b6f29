/** The same lines as in `dump.ts`, as UTF-8: usual records go from bytes to bytes. */
import type { Batch } from '../log/batch';
import { isWalked, reader, walk, type Columns } from '../log/walk';
import { computed, type Made } from '../specification/runtime';
import { beginning, ending, middle, producer, recordLines } from './dump';
import { bytesJson } from './json';

const PIECE = 4 << 20;
const [BLANK, QUOTE, BACKSLASH] = [0x20, 0x22, 0x5c];
const ENCODER = new TextEncoder();

/** Lines of JSON that grow, in pieces of some megabytes. */
export class Lines {
  private readonly pieces: Uint8Array[] = [];
  private data = new Uint8Array(PIECE + (1 << 16));
  private size = 0;

  constructor(private readonly file: string, private readonly topic: string | null) {}

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
    for (const line of recordLines(batch, this.file, this.topic, walked)) {
      this.text(line);
      if (this.size > PIECE) this.cut();
    }
  }

  private walk(batch: Batch): number {
    const wrong = batch.checksumError();
    if (wrong !== null) throw wrong;
    if (!batch.count) return 0;
    const payload = batch.decompressed();
    const texts = [beginning(batch, this.file), middle(batch), producer(batch), ending(batch)].map((text) => ENCODER.encode(text));
    const read = reader(batch.kind.record, batch.content);
    const { walked, whole } = walk(batch.kind.key, payload, batch.count, (columns, size) => {
      for (let at = 0; at < size; at++) {
        this.record(batch.kind.record, read(columns, at), payload, columns, at, texts);
        if (this.size > PIECE) this.cut();
      }
    });
    return whole || walked < batch.count ? walked : 0;
  }

  private record(
    record: string, made: Made, payload: Uint8Array, columns: Columns, at: number, [start, between, from, end]: Uint8Array[],
  ): void {
    const timestamp = computed(`${record}.timestamp`, made)!;
    this.bytes(start!);
    this.ascii(`${computed(`${record}.offset`, made)}, "timestamp": ${timestamp === -1n ? 'null' : timestamp}`);
    this.bytes(between!);
    this.value(payload, columns['key.start']![at]!, columns['key.size']![at]!);
    this.ascii(', "value": ');
    this.value(payload, columns['value.start']![at]!, columns['value.size']![at]!);
    this.ascii(', "headers": [');
    const header = columns['headers.first']![at]!;
    const last = header + columns['headers.count']![at]!;
    for (let item = header; item < last; item++) {
      this.ascii(item > header ? ', [' : '[');
      this.value(payload, columns['headers.key.start']![item]!, columns['headers.key.size']![item]!);
      this.ascii(', ');
      this.value(payload, columns['headers.value.start']![item]!, columns['headers.value.size']![item]!);
      this.ascii(']');
    }
    this.ascii(']');
    this.bytes(from!);
    this.ascii(String(computed(`${record}.sequence`, made)));
    this.bytes(end!);
  }

  // -- bytes ---------------------------------------------------------------------------------

  private cut(): void {
    if (this.size) this.pieces.push(this.data.slice(0, this.size));
    this.size = 0;
  }

  private room(size: number): void {
    if (this.size + size <= this.data.length) return;
    const grown = new Uint8Array(2 * (this.size + size));
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
    this.room(size + 2);
    const out = this.data;
    let to = this.size;
    out[to++] = QUOTE;
    for (let at = start, end = start + size; at < end; at++) {
      const byte = data[at]!;
      if (byte < BLANK || byte > 0x7f || byte === QUOTE || byte === BACKSLASH) {
        this.text(bytesJson(data.subarray(start, end)));
        return;
      }
      out[to++] = byte;
    }
    out[to++] = QUOTE;
    this.size = to;
  }
}
