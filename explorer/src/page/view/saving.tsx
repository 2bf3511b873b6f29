/** Edited files, and records as JSON lines, as `kafkaspec dump --format json` prints them, or CSV: to see, copy or save. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { bytes, lines } from '../state/format';
import type { Wanted, Writing } from '../../engine/api';
import { attempt, busy, byId, current, engine, layout, row, said, search, segmentsOf, type Open } from '../state/store';

const MOST = 1 << 20;
const text = signal<string | null>(null);

const LINES = 'application/x-ndjson';

function save(parts: BlobPart[], name: string, type = LINES): void {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Bytes of a file from which on what is made of it is not collected, but written as it comes. */
const STREAMED = 64 << 20;

/** Where what is saved goes. */
interface Sink {
  write(piece: Uint8Array): void | Promise<void>;
  end(): void | Promise<void>;
  abandon(): void | Promise<void>;
}

interface Picker {
  showSaveFilePicker?: (options: { suggestedName: string }) => Promise<{
    createWritable(): Promise<{ write(data: BufferSource): Promise<void>; close(): Promise<void>; abort(): Promise<void> }>;
  }>;
}

/** A download, whose parts the browser keeps, on its disk if they are many. */
function download(name: string, type: string): Sink {
  const parts: Blob[] = [];
  return {
    write: (piece) => void parts.push(new Blob([piece as Uint8Array<ArrayBuffer>])),
    end: () => save(parts, name, type),
    abandon: () => void parts.splice(0),
  };
}

/** A file that the person chooses, if much will be written and the browser has that; null if none is chosen. */
async function sinkFor(size: number, name: string, type: string): Promise<Sink | null> {
  const picker = window as Picker;
  if (size < STREAMED || !picker.showSaveFilePicker) return download(name, type);
  try {
    const chosen = await picker.showSaveFilePicker({ suggestedName: name });
    const stream = await chosen.createWritable();
    return {
      write: (piece) => stream.write(piece as Uint8Array<ArrayBuffer>),
      end: () => stream.close(),
      abandon: () => stream.abort(),
    };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return null;
    return download(name, type);
  }
}

/** Write something in pieces; `make` calls `piece` for each of them, and waits for it. */
async function write(
  from: number, name: string, type: string, what: string, make: (piece: (data: Uint8Array) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (busy.value) return;
  busy.value = `Writing ${what} …`;
  try {
    await attempt(async () => {
      const sink = await sinkFor(from, name, type);
      if (sink === null) return;
      let size = 0;
      try {
        await make(async (data) => {
          await sink.write(data);
          size += data.length;
          busy.value = `Writing ${what}, ${bytes(size)} …`;
        });
      } catch (error) {
        await sink.abandon();
        throw error;
      }
      await sink.end();
      said.value = `${bytes(size)} of ${what} saved`;
    });
  } finally {
    busy.value = '';
  }
}

type Format = Writing['format'];
const FORMATS: Record<Format, { name: string; type: string }> = {
  jsonl: { name: 'JSON lines', type: LINES },
  csv: { name: 'CSV', type: 'text/csv' },
};

/** Save all records of the file, or of its partition if that is what is shown. */
export async function saveAll(format: Format): Promise<void> {
  const file = current.value;
  if (!file?.isLog) return;
  const all = layout.value === 'records' ? segmentsOf(file) : [file];
  await saveRecords(all, all.length > 1 ? `${file.info.folder}` : file.info.name, format, null);
}

/** Save the records that a search found: all of them, not only those that are listed. */
export async function saveFound(format: Format): Promise<void> {
  const found = search.value;
  const all = (found?.files ?? []).map(byId).filter((file) => file !== undefined);
  if (found) await saveRecords(all, 'found', format, found.wanted, found.left);
}

async function saveRecords(all: Open[], name: string, format: Format, wanted: Wanted | null, without: Writing['without'] = null): Promise<void> {
  const size = all.reduce((sum, { info }) => sum + info.size, 0);
  const ids = all.map(({ info }) => info.id);
  const { name: what, type } = FORMATS[format];
  await write(size, `${name}.${format}`, type, what, (piece) => engine().write({ files: ids, format, wanted, without }, piece));
}

/** Buttons that save records in each of the formats. */
export function SaveAs({ id, save }: { id: string; save: (format: Format) => void }): JSX.Element {
  return (
    <>
      <button class="small" id={`${id}-json`} title="Save as JSON lines, as dump --format json prints them" onClick={() => save('jsonl')}>
        Save JSON
      </button>
      <button class="small" id={`${id}-csv`} title="Save as CSV, with the same columns" onClick={() => save('csv')}>
        CSV
      </button>
    </>
  );
}

const PIECE = 4 << 20;

/** Save the file as it is after the edits: as a new one, which the browser names. */
export async function saveEdited(): Promise<void> {
  const file = current.value;
  if (!file) return;
  const { info } = file;
  await write(info.size, info.name, 'application/octet-stream', 'the file', async (piece) => {
    for (let at = 0; at < info.size; at += PIECE) {
      await piece(await engine().bytes(info.id, at, Math.min(info.size, at + PIECE)));
    }
  });
}

export async function showJson(): Promise<void> {
  const file = current.value;
  if (!file?.isLog || row.value < 0) return;
  await attempt(async () => {
    text.value = await engine().recordsJson(file.info.id, row.value);
  });
}

export function Json(): JSX.Element | null {
  const box = useRef<HTMLDialogElement>(null);
  const held = text.value;
  useLayoutEffect(() => {
    if (held !== null) box.current?.showModal();
  }, [held]);
  if (held === null) return null;
  const file = current.value;
  return (
    <dialog ref={box} onClose={() => (text.value = null)} aria-labelledby="json-title">
      <header>
        <h2 id="json-title">Records of the batch as JSON lines</h2>
        <button
          onClick={() => void navigator.clipboard?.writeText(held).then(() => (said.value = 'Copied.'), () => (said.value = 'Not copied.'))}
        >
          Copy
        </button>
        <button onClick={() => save([held], `${file?.info.name ?? 'records'}.jsonl`)}>Save</button>
        <button class="close" aria-label="Close" onClick={() => box.current?.close()}>
          ×
        </button>
      </header>
      <pre id="json" tabIndex={0} role="group" aria-label="JSON lines">
        {lines(held.slice(0, MOST))}
      </pre>
      {held.length > MOST && <p>The first {bytes(MOST)} are shown; Save has all.</p>}
    </dialog>
  );
}
