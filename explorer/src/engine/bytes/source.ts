/** Bytes of a file, wherever it is. Nothing is kept but one window. */
import { EngineError, type FileInput } from '../api';

export interface Source {
  readonly name: string;
  readonly size: number;
  /** What another thread can open too; null where only this one has the bytes. */
  readonly input: FileInput | null;
  /** Bytes from an offset on: as many as were asked for, fewer only at the end of the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

export function unreadable(detail: string, reason = 'unreadable'): EngineError {
  return new EngineError({ reason, detail, position: null, inner: null, path: '' });
}

/** The error of what a person stopped. */
export function cancelled(): EngineError {
  return unreadable('it was cancelled', 'cancelled');
}

/** The error of a file that ends before it did when it was opened. */
export function shorter(): EngineError {
  return unreadable('the file became shorter since it was opened: a broker that started again may have cut it; open it again', 'changed');
}

/** What the answer of the server means for a person. */
function refusal(status: number): EngineError {
  if (status === 416) return shorter();
  if (status === 404) return unreadable('the file is gone, or may not be read any more: Kafka deletes segments after their retention', 'changed');
  if (status === 403) return unreadable('the address of this page is that of another kafkaspec explore: open the one that it printed last');
  return unreadable(`the server of the page cannot read the file (it answers ${status})`);
}

class MemorySource implements Source {
  readonly input = null;
  readonly size: number;

  constructor(readonly name: string, private readonly bytes: Uint8Array, private readonly start = 0) {
    this.size = start + bytes.length;
  }

  read(offset: number, length: number): Promise<Uint8Array> {
    const from = offset - this.start;
    return Promise.resolve(this.bytes.subarray(from, from + length));
  }
}

/** Bytes of a file as another thread can open them, of one that only this thread has too. */
export async function partOf(source: Source, start: number, end: number): Promise<FileInput> {
  return { path: source.name, size: end, bytes: (await source.read(start, end - start)).slice(), start };
}

class BlobSource implements Source {
  readonly name: string;
  readonly size: number;

  constructor(readonly input: FileInput, private readonly blob: Blob) {
    this.name = input.path;
    this.size = input.size;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(this.size, offset + length);
    if (end <= offset) return new Uint8Array(0);
    let data: ArrayBuffer;
    try {
      data = await this.blob.slice(offset, end).arrayBuffer();
    } catch {
      // What browsers say is "A requested file or directory could not be found", whatever it was.
      throw unreadable('the file was changed, moved or deleted since it was opened, and browsers then refuse to read it: open it again', 'changed');
    }
    if (data.byteLength < end - offset) throw shorter();
    return new Uint8Array(data);
  }
}

class RangeSource implements Source {
  readonly name: string;
  readonly size: number;

  constructor(readonly input: FileInput, private readonly url: string) {
    this.name = input.path;
    this.size = input.size;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(this.size, offset + length);
    const parts: Uint8Array[] = [];
    // A server may send less than was asked for.
    for (let at = offset; at < end; ) {
      const asked = { headers: { Range: `bytes=${at}-${end - 1}` }, cache: 'no-store' } as const;
      const answer = await fetch(this.url, asked).catch(() => {
        throw unreadable('kafkaspec explore does not answer: it has ended, or the connection to its machine has; start it again');
      });
      if (answer.status !== 206 && !(answer.status === 200 && at === 0)) throw refusal(answer.status);
      const part = new Uint8Array(await answer.arrayBuffer().catch(() => {
        throw shorter(); // its end did not come
      }));
      if (part.length === 0) throw shorter();
      parts.push(part);
      at += part.length;
    }
    if (parts.length === 1) return parts[0]!.subarray(0, end - offset);
    return joined(parts).subarray(0, Math.max(0, end - offset));
  }
}

/** A file of which a part has other bytes. */
export class EditedSource implements Source {
  readonly input = null;
  readonly name: string;
  readonly size: number;

  constructor(
    private readonly before: Source, private readonly start: number, private readonly end: number,
    private readonly bytes: Uint8Array,
  ) {
    this.name = before.name;
    this.size = before.size - (end - start) + bytes.length;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    const end = Math.min(this.size, offset + length);
    const last = this.start + this.bytes.length;
    const parts: Uint8Array[] = [];
    if (offset < this.start) parts.push(await this.before.read(offset, Math.min(end, this.start) - offset));
    if (offset < last && end > this.start) {
      parts.push(this.bytes.subarray(Math.max(0, offset - this.start), Math.min(end, last) - this.start));
    }
    const from = Math.max(offset, last);
    if (end > from) parts.push(await this.before.read(from - last + this.end, end - from));
    return parts.length === 1 ? parts[0]! : joined(parts);
  }
}

export function openSource(input: FileInput): Source {
  if (input.bytes) return new MemorySource(input.path, input.bytes, input.start);
  if (input.blob) return new BlobSource(input, input.blob);
  if (input.url) return new RangeSource(input, input.url);
  throw unreadable('there is neither a blob nor an address');
}

export function joined(parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A window that moves over a file: reads of a few bytes cost no system call each. */
export class Window {
  private data: Uint8Array = new Uint8Array(0);
  private start = 0;

  constructor(private readonly source: Source, private readonly most: number) {}

  /** The same without waiting, of bytes that are in the window; null if they are not. */
  held(position: number, length: number): Uint8Array | null {
    const from = position - this.start;
    return from < 0 || from + length > this.data.length ? null : this.data.subarray(from, from + length);
  }

  /** Bytes from a position on, at least `least` of them unless the file ends. Not a copy. */
  async at(position: number, least: number): Promise<Uint8Array> {
    const end = Math.min(this.source.size, position + least);
    if (position < this.start || end > this.start + this.data.length) {
      this.data = await this.source.read(position, Math.max(this.most, least));
      this.start = position;
      if (this.data.length < end - position) throw shorter();
    }
    return this.data.subarray(position - this.start);
  }
}
