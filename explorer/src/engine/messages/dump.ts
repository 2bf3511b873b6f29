/** The records of a batch exactly as `kafkaspec dump --format json` prints them. */
import type { Batch } from '../log/batch';
import { EngineError } from '../api';
import { bytesJson, pythonJson, quoted } from './json';
import { controlJson, decodeControl, decodeRecord, messageJson } from './messages';
import { camel } from '../specification/facts';
import { Refused, type Made } from '../specification/runtime';

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

/** Lines of the records of a batch from a number on, one at a time, each with its line end. */
export function* recordLines(batch: Batch, file: string, topic: string | null, first = 0): Generator<string> {
  const wrong = batch.checksumError();
  if (wrong !== null) throw wrong;
  const isControl = batch.isControl;
  const start = beginning(batch, file);
  const between = middle(batch);
  const from = producer(batch);
  for (const record of batch.records(first)) {
    const key = record.key?.bytes ?? null;
    const value = record.value?.bytes ?? null;
    let [keyText, valueText, control, problem] = [bytesJson(key), bytesJson(value), 'null', ''];
    if (isControl) {
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
    const headers = record.headers.map((h) => `[${bytesJson(h.key)}, ${bytesJson(h.value)}]`).join(', ');
    const own = batch.kind.own.map(([id, usual]) => [id, numberOf(record.made[camel(id)]), String(usual)] as const)
      .filter(([, value, usual]) => value !== usual).map(([id, value]) => `"${id}": ${value}`);
    const others = own.length && batch.isSet ? `, "fields": {${own.join(', ')}}` : '';
    yield (
      `${start}${record.offset}, "timestamp": ${record.timestamp === -1n ? 'null' : record.timestamp}` +
      `${between}${keyText}, "value": ${valueText}, "headers": [${headers}]` +
      `${from}${record.sequence}${ending(batch, control, others + problem)}`
    );
  }
}

/** A number, which may be of variable length. */
function numberOf(value: Made): string {
  return String(typeof value === 'object' ? value.value : value);
}
