/** Entries after an edit of their header, or of a record. */
import { joined } from '../bytes/source';
import type { RecordChange } from '../api';
import { blank, numberOf, rebuilt, unencodable, type Edit, type Written } from '../files/edit';
import { camel, FACTS, typeFacts } from '../specification/facts';
import { parse, type Made } from '../specification/runtime';
import { Batch, type RawRecord } from './batch';

const { framing } = FACTS;
const AS_TEXT = 'kafkaspec explain --format assembly lists them as text, and kafkaspec assemble compresses them again';

function pathOf(name: string): string[] {
  return `${framing.path}/${name.replaceAll('.', '/')}`.split('/').slice(1);
}

function edited(batch: Batch, edit: Edit): Uint8Array {
  return rebuilt(batch.entry, batch.bytes, 0, batch.bytes.length, edit);
}

/** An entry after an edit of a field that is not in its records. */
export function editedHeader(batch: Batch, path: string[], value: Written): Uint8Array {
  const place = path.join('/');
  const holds = batch.isSet || batch.isCompressed;
  if (holds && FACTS.readBy.some((name) => place === pathOf(name).join('/'))) {
    throw unencodable(`the records are read by it, so that others would have to be compressed; ${AS_TEXT}`);
  }
  if (`/${place}` === batch.payloadPath && batch.isCompressed) {
    throw unencodable(`compressed records are not edited here; ${AS_TEXT}`);
  }
  if (`/${place}` === batch.payloadPath && batch.isSet) throw unencodable('edit the fields of a record');
  return edited(batch, { path, value });
}

/** Refuse to edit records that would have to be compressed again. */
export function refuseCompressed(batch: Batch): void {
  if (batch.isCompressed) throw unencodable(`the records of a compressed batch are not edited here; ${AS_TEXT}`);
}

/** A record with its frame, in some bytes. */
interface Item {
  framed: Made;
  base: Uint8Array;
  start: number;
  end: number;
  /** Its number in the batch, unless that follows from the record before. */
  number: number | null;
}

const [NUMBER, LAST_NUMBER] = FACTS.numbered;

/** The records of a batch that is not compressed, and the number of the last one, -1 for none. */
function itemsOf(batch: Batch): { items: Item[]; last: number } {
  const base = batch.decompressed();
  const items: Item[] = [];
  let last = -1;
  for (const { framed, made, start, end } of batch.records()) {
    const found = Number(made[camel(NUMBER)].value);
    const number = found === last + 1 ? null : found;
    items.push({ framed, base, start: start - batch.payloadPosition, end: end - batch.payloadPosition, number });
    last = found;
  }
  return { items, last };
}

/** A record of which a field has another value. */
function editedItem(batch: Batch, { framed, base, start, end }: Item, path: string[], value: Edit['value']): Uint8Array {
  const body = typeFacts(batch.kind.framed).fields.find((field) => !field.derive && field.kind !== 'guard')!.id;
  return rebuilt(framed, base, start, end, { path: [body, ...path], value });
}

/** An entry with other records: their numbers, their count and the last number follow. */
function withItems(batch: Batch, items: Item[], was: { items: Item[]; last: number }): Uint8Array {
  let last = -1;
  const parts = items.map((item) => {
    last = item.number ?? last + 1;
    return editedItem(batch, item, [NUMBER], word(last));
  });
  let whole = edited(batch, { path: batch.payloadPath.split('/').slice(1), value: { made: joined(parts) } });
  const follow = (name: string, before: number, after: number): void => {
    const stored = Number(batch.content[camel(name)]);
    if (stored !== before || stored === after) return; // it was forced
    whole = edited(new Batch(whole, batch.position), { path: pathOf(name), value: word(after) });
  };
  const { fields } = typeFacts(batch.kind.key);
  const count = fields.find((field) => field.derive === 'count' && field.derive_from === batch.kind.payload);
  if (count !== undefined) follow(count.id, was.items.length, items.length);
  // Of a batch without records it follows from nothing.
  if (items.length) follow(LAST_NUMBER, was.items.length ? was.last : Number(batch.content[camel(LAST_NUMBER)]), last);
  return whole;
}

/** An entry after an edit in one of its records, which are not compressed. */
export function editedRecord(batch: Batch, record: RawRecord, edit: Edit): Uint8Array {
  if (record.framed === null) return edited(batch, { path: [...pathOf(edit.path[0]!), ...edit.path.slice(1)], value: edit.value });
  const number = edit.path.join('/') === NUMBER && 'word' in edit.value && !edit.value.raw
    ? numberOf(typeFacts(batch.kind.record).fields.find((field) => field.id === NUMBER)!, edit.value.word)
    : null;
  if (number !== null) {
    const was = itemsOf(batch);
    const items = was.items.map((item, index) => (index === record.index ? { ...item, number: Number(number) } : item));
    return withItems(batch, items, was);
  }
  const base = batch.decompressed();
  const [start, end] = [record.start - batch.payloadPosition, record.end - batch.payloadPosition];
  const item = editedItem(batch, { framed: record.framed, base, start, end, number }, edit.path, edit.value);
  const made = joined([base.subarray(0, start), item, base.subarray(end)]);
  return edited(batch, { path: batch.payloadPath.split('/').slice(1), value: { made } });
}

/** An entry with a record more or less: a new one after another, which has no key, value or headers; a copy; or without it. */
export function changedRecords(batch: Batch, index: number, change: RecordChange): Uint8Array {
  refuseCompressed(batch);
  if (!batch.isSet) throw unencodable('a message of this magic is an entry by itself, which has no other record');
  const was = itemsOf(batch);
  if (!was.items.length && batch.decompressed().length) {
    throw unencodable('the bytes after the header are no records, as their number is 0');
  }
  const items = [...was.items];
  const chosen = items[index];
  if (change === 'add') {
    const base = blank(batch.kind.framed);
    const framed = parse(batch.kind.framed, base, [batch.content]);
    items.splice(index + 1, 0, { framed, base, start: 0, end: base.length, number: null });
  } else if (chosen === undefined) throw unencodable(`there is no record ${index}`);
  else if (change === 'duplicate') items.splice(index + 1, 0, chosen);
  else items.splice(index, 1);
  return withItems(batch, items, was);
}

function word(number: number): Written {
  return { bytes: null, word: String(number), raw: false, forced: true };
}
