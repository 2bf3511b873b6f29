// @platformatic/kafka as a testee: its reader of batches, with what its consumer makes of them.
'use strict';

const path = require('node:path');
const { Skipped, base64, serve } = require('../serve.js');

const IS_CONTROL = 1 << 5;

const MAGIC_AT = 16;
const ZSTD = 4;

/** Whether an entry is a message of magic 0 or 1. */
function hasMessages(data) {
  for (let position = 0; position >= 0 && position + MAGIC_AT < data.length; ) {
    if (data[position + MAGIC_AT] < 2) return true;
    position += 12 + Math.max(data.readInt32BE(position + 8), 0);
  }
  return false;
}

async function main() {
  const root = path.join(process.argv[2], 'node_modules', '@platformatic', 'kafka');
  const protocol = path.join(root, 'dist', 'protocol', 'index.js');
  const { Reader, readRecordsBatches, compressionsAlgorithmsByBitmask } = await import(protocol);

  function log(data, given, id) {
    if (!id.startsWith('reported/') && hasMessages(data)) {
      throw new Skipped('does not read magic 0 and 1');
    }
    // Only newer releases of Node.js have zstd.
    compressionsAlgorithmsByBitmask[ZSTD].decompressSync = () => given.next();
    const found = [];
    for (const batch of readRecordsBatches(Reader.from(data))) {
      if (batch.attributes & IS_CONTROL) continue;
      for (const record of batch.records) {
        found.push({
          offset: batch.firstOffset + BigInt(record.offsetDelta),
          timestamp: batch.firstTimestamp + record.timestampDelta,
          key: base64(record.key),
          value: base64(record.value),
          headers: record.headers.map(([key, value]) => [base64(key), base64(value)]),
        });
      }
    }
    return found;
  }

  serve({
    name: '@platformatic/kafka',
    version: require(path.join(root, 'package.json')).version,
    compression: ['none', 'gzip', 'snappy', 'lz4'],
    log,
  });
}

main();
