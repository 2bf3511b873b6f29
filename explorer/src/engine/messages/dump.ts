/** The records of a batch exactly as `kafkaspec dump --format json` prints them. */
import type { Batch } from '../log/batch';
import { EngineError, type Writing } from '../api';
import type { Matcher } from '../log/match';
import { bytesJson, pythonJson, quoted } from './json';
import { controlJson, decodeControl, decodeRecord, messageJson } from './messages';
import { camel } from '../specification/facts';
import { Refused, type Made } from '../specification/runtime';
import type { Schemas } from '../values/schemas';

/** The line of a record up to its offset. */
export function beginning(batch: Batch, file: string): string {
  return `{"file": ${pythonJson(file)}, "position": ${batch.position}, "offset": `;
}

/** What stands between its timestamp and its key. */
export function middle(batch: Batch): string {
  return (
    `, "timestamp_type": ${quoted(batch.timestampType)}, "magic": ${batch.magic}` +
    `, "compression": ${quoted(batch.compressionName)}, "key": `
  );
}

/** What stands between its headers and its sequence. */
export function producer(batch: Batch): string {
  const { content } = batch;
  return `, "producer_id": ${content.producerId ?? -1n}, "producer_epoch": ${content.producerEpoch ?? -1}, "sequence": `;
}

/** The end of the line. */
export function ending(batch: Batch, control = 'null', others = ''): string {
  return `, "transactional": ${batch.isTransactional}, "control": ${control}${others}}\n`;
}

/** What a line of a record has, in its order, as JSON. */
const COLUMNS = [
  'file', 'position', 'offset', 'timestamp', 'timestamp_type', 'magic', 'compression', 'key', 'value', 'headers',
  'producer_id', 'producer_epoch', 'sequence', 'transactional', 'control',
];

/** What stands beside a key or value that schemas may decode, under the names of `dump --value decode --raw`. */
const BESIDE = ['schema_id', 'error', 'raw'];

export function csvHead(schemas: boolean): string {
  const beside = (name: string): string[] => (schemas && ['key', 'value'].includes(name) ? BESIDE.map((other) => `${name}_${other}`) : []);
  return `${COLUMNS.flatMap((name) => [name, ...beside(name)]).join(',')}\n`;
}

/** A key or value as schemas decode it, with what stands beside it; `shown` if something else decodes it. */
export function decoded(schemas: Schemas | null, bytes: Uint8Array | null, shown: string | null = null): string[] {
  const raw = bytesJson(bytes);
  if (schemas === null) return [shown ?? raw];
  const found = shown === null && bytes !== null ? schemas.read(bytes) : null;
  if (found === null) return [shown ?? raw, 'null', 'null', raw];
  const problem = found.problem === null ? 'null' : quoted(found.problem);
  return [found.json ?? 'null', found.id === null ? 'null' : String(found.id), problem, raw];
}

/** The same as it stands in a line of JSON after `"key": `. */
export function besides(name: 'key' | 'value', [own, ...others]: string[]): string {
  return [own, ...others.map((value, at) => `"${name}_${BESIDE[at]}": ${value}`)].join(', ');
}

/** A line of CSV from the values of JSON: texts without their quotation marks, nothing for null. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(json: string): string {
  if (json === 'null') return '';
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json;
  return text === '' || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The cells of a batch that stand before those of a record, and after them. */
export function batchCells(batch: Batch, file: string): { before: string[]; type: string[]; producer: string[]; after: string[] } {
  const { content } = batch;
  return {
    before: [pythonJson(file), String(batch.position)],
    type: [quoted(batch.timestampType), String(batch.magic), quoted(batch.compressionName)],
    producer: [String(content.producerId ?? -1n), String(content.producerEpoch ?? -1)],
    after: [String(batch.isTransactional)],
  };
}

/** Lines of the records of a batch from a number on, one at a time, each with its line end. */
export function* recordLines(
  batch: Batch, file: string, topic: string | null, first = 0, format: Writing['format'] = 'jsonl', matcher: Matcher | null = null,
  schemas: Schemas | null = null,
): Generator<string> {
  const wrong = matcher === null ? batch.checksumError() : null;
  if (wrong !== null) throw wrong;
  const isControl = batch.isControl;
  const own = format === 'csv' ? batchCells(batch, file) : null;
  const start = beginning(batch, file);
  const between = middle(batch);
  const from = producer(batch);
  for (const record of batch.records(first)) {
    if (matcher !== null && !(matcher.begins(record.index, () => record.offset) && matcher.record(record, isControl))) continue;
    const key = record.key?.bytes ?? null;
    const value = record.value?.bytes ?? null;
    let [keyText, valueText, control, problem]: [string | null, string | null, string, string] = [null, null, 'null', ''];
    if (isControl) {
      [keyText, valueText] = [bytesJson(key), bytesJson(value)];
      try {
        control = controlJson(decodeControl(record.offset, key, value));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        throw new EngineError({
          reason: error.reason, detail: error.detail, position: batch.position, inner: null,
          path: batch.payloadPath + error.path,
        });
      }
    } else if (topic !== null) {
      const found = decodeRecord(topic, key, value);
      if (found.key) keyText = messageJson(found.key);
      if (found.value) valueText = messageJson(found.value);
      if (found.problem) problem = `, "problem": ${pythonJson(found.problem.message)}`;
    }
    const [keys, values] = [decoded(schemas, key, keyText), decoded(schemas, value, valueText)];
    const headers = record.headers.map((h) => `[${bytesJson(h.key)}, ${bytesJson(h.value)}]`).join(', ');
    const time = record.timestamp === -1n ? 'null' : String(record.timestamp);
    if (own !== null) {
      yield csvLine([
        ...own.before, String(record.offset), time, ...own.type, ...keys, ...values, `[${headers}]`,
        ...own.producer, String(record.sequence), ...own.after, control,
      ]);
      continue;
    }
    const others_ = batch.kind.own.map(([id, usual]) => [id, numberOf(record.made[camel(id)]), String(usual)] as const)
      .filter(([, value, usual]) => value !== usual).map(([id, value]) => `"${id}": ${value}`);
    const others = others_.length && batch.isSet ? `, "fields": {${others_.join(', ')}}` : '';
    yield (
      `${start}${record.offset}, "timestamp": ${time}` +
      `${between}${besides('key', keys)}, "value": ${besides('value', values)}, "headers": [${headers}]` +
      `${from}${record.sequence}${ending(batch, control, others + problem)}`
    );
  }
}

/** A number, which may be of variable length. */
function numberOf(value: Made): string {
  return String(typeof value === 'object' ? value.value : value);
}
