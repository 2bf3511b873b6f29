/** Entries after an edit of their header, or of a record. */
import { joined } from '../bytes/source';
import { numberOf, rebuilt, unencodable, type Edit, type Written } from '../files/edit';
import { camel, FACTS, typeFacts } from '../specification/facts';
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

/** An entry after an edit in one of its records, which are not compressed. */
export function editedRecord(batch: Batch, record: RawRecord, edit: Edit): Uint8Array {
  if (record.framed === null) return edited(batch, { path: [...pathOf(edit.path[0]!), ...edit.path.slice(1)], value: edit.value });
  const payload = batch.decompressed();
  const body = typeFacts(batch.kind.framed).fields.find((field) => !field.derive && field.kind !== 'guard')!.id;
  const framed = (other: RawRecord, inside: Edit): Uint8Array => {
    const [start, end] = [other.start - batch.payloadPosition, other.end - batch.payloadPosition];
    return rebuilt(other.framed, payload, start, end, { path: [body, ...inside.path], value: inside.value });
  };
  const path = batch.payloadPath.split('/').slice(1);
  const [delta, last] = FACTS.numbered;
  const number = edit.path.join('/') === delta && 'word' in edit.value && !edit.value.raw
    ? numberOf(typeFacts(batch.kind.record).fields.find((field) => field.id === delta)!, edit.value.word)
    : null;
  if (number === null) {
    const [start, end] = [record.start - batch.payloadPosition, record.end - batch.payloadPosition];
    const made = joined([payload.subarray(0, start), framed(record, edit), payload.subarray(end)]);
    return edited(batch, { path, value: { made } });
  }
  // The records after it are numbered on, unless their own number did not follow before.
  const parts: Uint8Array[] = [];
  let [before, after] = [-1, -1];
  for (const other of batch.records()) {
    const old = Number(other.made[camel(delta)].value);
    const now = other.index === record.index ? Number(number) : old === before + 1 ? after + 1 : old;
    parts.push(framed(other, { path: [delta], value: word(now) }));
    [before, after] = [old, now];
  }
  const made = joined(parts);
  const whole = edited(batch, { path, value: { made } });
  if (Number(batch.content[camel(last)]) !== before) return whole;
  return edited(new Batch(whole, batch.position), { path: pathOf(last), value: word(after) });
}

function word(number: number): Written {
  return { bytes: null, word: String(number), raw: false, forced: true };
}
