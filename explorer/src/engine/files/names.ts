/** What a file is, by its name and else by its content. */
import type { FileKind } from '../api';
import { FACTS } from '../specification/facts';

export interface Named {
  kind: FileKind;
  baseOffset: bigint | null;
  docPage: string | null;
}

const UNKNOWN: Named = { kind: 'unknown', baseOffset: null, docPage: null };
const LARGEST = BigInt(FACTS.files.largestOffset);

/** Folder and name of a path. */
export function split(path: string): [string, string] {
  const at = path.lastIndexOf('/');
  const folder = at < 0 ? '' : path.slice(0, at);
  return [folder.slice(folder.lastIndexOf('/') + 1), path.slice(at + 1)];
}

/** What a name says. */
export function byName(name: string): Named {
  const text = FACTS.files.names[name];
  if (text !== undefined) return { kind: text as FileKind, baseOffset: null, docPage: null };
  let rest = name;
  for (const state of FACTS.files.states) if (rest.endsWith(state)) rest = rest.slice(0, -state.length);
  const dot = rest.lastIndexOf('.');
  const found = dot < 0 ? undefined : FACTS.files.suffixes[rest.slice(dot)];
  if (found === undefined) return UNKNOWN;
  const kind = found.kind as FileKind;
  const number = /^(\d{1,20})(?:_[\w-]{22}|-\d{10})?$/.exec(rest.slice(0, dot));
  const offset = number === null ? null : BigInt(number[1]!);
  return { kind, baseOffset: offset !== null && offset <= LARGEST ? offset : null, docPage: found.page };
}

/** Topic and number of the partition in the name of a folder. */
export function partitionOf(folder: string): { topic: string; partition: number } | null {
  const moved = /^(\S+-\S+)\.\S+-(?:delete|future|stray)$/.exec(folder);
  const match = /^(.+)-\+?(\d{1,10})$/s.exec(moved ? moved[1]! : folder);
  return match === null ? null : { topic: match[1]!, partition: Number(match[2]) };
}

/** Whether the kind holds log entries. */
export function isLog(kind: FileKind): boolean {
  return kind === 'segment' || kind === 'kraft_snapshot';
}

/** What the beginning of a file looks like; only a log says it plainly. */
export function byContent(head: Uint8Array): Named {
  const { framing, kinds } = FACTS;
  if (head.length >= framing.upToMagic) {
    const view = new DataView(head.buffer, head.byteOffset, head.length);
    const magic = view.getInt8(framing.upToMagic - 1);
    const size = view.getInt32(framing.size - 4);
    if (size >= framing.minimum && String(magic) in kinds && view.getBigInt64(0) >= 0n) {
      return { kind: 'segment', baseOffset: null, docPage: 'recordbatch.md' };
    }
  }
  const text = String.fromCharCode(...head.subarray(0, 200));
  if (/^\d+\n\d+\n\d+ \d+\n/.test(text)) return { kind: 'leader_epoch_checkpoint', baseOffset: null, docPage: null };
  if (/^\d+\n\d+\n\S+ \d+ \d+\n/.test(text)) return { kind: 'offset_checkpoint', baseOffset: null, docPage: null };
  if (/(^|\n)cluster\.id=/.test(text)) return { kind: 'meta_properties', baseOffset: null, docPage: null };
  if (/^version: \d+\ntopic_id: /.test(text)) return { kind: 'partition_metadata', baseOffset: null, docPage: null };
  return UNKNOWN;
}
