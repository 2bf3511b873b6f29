/** Edited files, and records as JSON lines, as `kafkaspec dump --format json` prints them: to see, copy or save. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { bytes, lines } from '../state/format';
import { attempt, busy, current, engine, row, said } from '../state/store';

const MOST = 1 << 20;
const text = signal<string | null>(null);

function save(parts: BlobPart[], name: string, type = 'application/x-ndjson'): void {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save all records of the file; what was written is given to the browser in pieces. */
export async function saveAll(): Promise<void> {
  const file = current.value;
  if (!file?.isLog || busy.value) return;
  busy.value = 'Writing JSON …';
  try {
    await attempt(async () => {
      const parts: Blob[] = [];
      let size = 0;
      await engine().fileJson(file.info.id, (piece) => {
        parts.push(new Blob([piece]));
        size += piece.length;
        busy.value = `Writing JSON, ${bytes(size)} …`;
      });
      save(parts, `${file.info.name}.jsonl`);
      said.value = `${bytes(size)} of JSON lines saved`;
    });
  } finally {
    busy.value = '';
  }
}

const PIECE = 4 << 20;

/** Save the file as it is after the edits: as a new one, which the browser names. */
export async function saveEdited(): Promise<void> {
  const file = current.value;
  if (!file || busy.value) return;
  busy.value = 'Writing the file …';
  try {
    await attempt(async () => {
      const parts: Blob[] = [];
      for (let at = 0; at < file.info.size; at += PIECE) {
        parts.push(new Blob([new Uint8Array(await engine().bytes(file.info.id, at, Math.min(file.info.size, at + PIECE)))]));
      }
      save(parts, file.info.name, 'application/octet-stream');
      said.value = `${bytes(file.info.size)} saved`;
    });
  } finally {
    busy.value = '';
  }
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
