// KafkaJS as a testee: what its consumer makes of the bytes of a fetch response.
'use strict';

const { createRequire } = require('node:module');
const path = require('node:path');
const { base64, serve } = require('../serve.js');

const load = createRequire(path.join(process.argv[2], 'x'));
const { CompressionTypes, CompressionCodecs } = load('kafkajs');
const Decoder = load('kafkajs/src/protocol/decoder.js');
const decodeMessages = load('kafkajs/src/protocol/requests/fetch/v4/decodeMessages.js');

const MAGIC_AT = 16;

CompressionCodecs[CompressionTypes.Snappy] = load('kafkajs-snappy');

/** Where the records of a new format begin after messages: KafkaJS fetches again from there. */
function endOfMessages(data) {
  let position = 0;
  while (position + MAGIC_AT < data.length && data[position + MAGIC_AT] < 2) {
    position += 12 + data.readInt32BE(position + 8);
  }
  return position > 0 && position + MAGIC_AT < data.length ? position : data.length;
}

async function log(data, given) {
  for (const type of [CompressionTypes.LZ4, CompressionTypes.ZSTD]) {
    CompressionCodecs[type] = () => ({ decompress: async () => given.next() });
  }
  const end = data[MAGIC_AT] < 2 ? endOfMessages(data) : data.length;
  const size = Buffer.alloc(4);
  size.writeInt32BE(end);
  const found = await decodeMessages(new Decoder(Buffer.concat([size, data.subarray(0, end)])));
  const records = found.filter((each) => !each.isControlRecord).map((each) => ({
    offset: BigInt(each.offset),
    timestamp: each.timestamp === undefined ? null : BigInt(each.timestamp),
    key: base64(each.key),
    value: base64(each.value),
    headers: headers(each.headers || {}),
  }));
  return end < data.length ? [...records, ...(await log(data.subarray(end), given))] : records;
}

/** The headers, which KafkaJS has as an object: equal keys have a list of values. */
function headers(found) {
  return Object.entries(found).flatMap(([key, value]) => {
    const values = Array.isArray(value) ? value : [value];
    const other = values.find((each) => each !== null && !Buffer.isBuffer(each));
    if (other) throw new Error(`a value of header ${key} is ${other}`);
    return values.map((each) => [base64(Buffer.from(key)), base64(each)]);
  });
}

serve({
  name: 'KafkaJS',
  version: load('kafkajs/package.json').version,
  compression: ['none', 'gzip', 'snappy'],
  log,
});
