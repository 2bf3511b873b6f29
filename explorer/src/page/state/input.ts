/** Files that a person gives: dropped, chosen, or listed by the server. */
import samples from '../../../gen/samples.json';
import type { FileInput } from '../../engine/api';

const MOST = 100_000;

/** Files of a drop; folders are walked through. */
export async function dropped(transfer: DataTransfer): Promise<FileInput[]> {
  const entries = Array.from(transfer.items, (item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: FileInput[] = [];
  await Promise.all(entries.map((entry) => walk(entry, '', found)));
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function walk(entry: FileSystemEntry, folder: string, found: FileInput[]): Promise<void> {
  if (found.length >= MOST) return;
  const path = folder + entry.name;
  if (entry instanceof FileSystemFileEntry) {
    const file = await new Promise<File>((done, failed) => entry.file(done, failed)).catch(() => null);
    if (file) found.push({ path, size: file.size, blob: file });
    return;
  }
  if (!(entry instanceof FileSystemDirectoryEntry)) return;
  const reader = entry.createReader();
  for (;;) {
    const items = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed)).catch(
      () => [],
    );
    if (!items.length) return;
    for (const item of items) await walk(item, `${path}/`, found);
  }
}

export function chosen(list: FileList): FileInput[] {
  const files = Array.from(list).slice(0, MOST);
  return files.map((file) => ({ path: file.webkitRelativePath || file.name, size: file.size, blob: file }));
}

/** Samples that the page has inside. */
export const SAMPLES = [
  { name: 'sound', text: `Try a segment of Kafka ${samples.release}` },
  { name: 'damaged', text: 'Try a damaged partition' },
] as const;

export function sample(name: (typeof SAMPLES)[number]['name']): FileInput[] {
  return Object.entries(samples[name]).map(([path, text]) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return { path, size: bytes.length, bytes };
  });
}

interface Listed {
  root: string;
  more: boolean;
  files: { path: string; url: string; size: number }[];
}

/** What the page was made for: files that are dropped, or those of `kafkaspec explore`. */
export const SERVED =
  document.querySelector<HTMLMetaElement>('meta[name="explorer-files"]')?.content === 'served';

const pages = document.querySelector<HTMLMetaElement>('meta[name="explorer-pages"]');

/** Address of a format page: of the Markdown beside this page, or of what is made from it. */
export function pageAddress(link: string): string {
  const ending = pages?.dataset.ending ?? 'md';
  return (pages?.content ?? '../docs/') + link.replace(/\.md(?=#|$)/, `.${ending}`);
}

export async function listed(): Promise<{ root: string; more: boolean; files: FileInput[] }> {
  const answer = await fetch('files');
  if (!answer.ok) throw new Error(`the list of files cannot be read: the server of the page answers ${answer.status}`);
  const found = (await answer.json()) as Listed;
  const files = found.files.map(({ path, url, size }) => ({ path, size, url: new URL(url, location.href).href }));
  return { root: found.root, more: found.more, files };
}
