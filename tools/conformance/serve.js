// What testees in JavaScript around client libraries share: the protocol of docs/guide/conform.md.
'use strict';

const readline = require('node:readline');

/** Bytes in base64; null and undefined are null. */
function base64(bytes) {
  return bytes === null || bytes === undefined ? null : Buffer.from(bytes).toString('base64');
}

/** JSON with BigInts as numbers: JSON has no limit to them. */
function text(answer) {
  const mark = (_, value) => (typeof value === 'bigint' ? `\u0001${value}\u0001` : value);
  return JSON.stringify(answer, mark).replace(/"\\u0001(-?\d+)\\u0001"/g, '$1');
}

/** The payloads that the runner decompressed, for a codec that the library lacks. */
class Given {
  constructor(request) {
    this.left = (request.decompressed || []).filter((item) => item !== null);
  }

  next() {
    return Buffer.from(this.left.shift(), 'base64');
  }
}

/** The library has no such thing. */
class Skipped extends Error {}

/** Serve a reader of logs: log(data, given, id) returns records whose values are in base64. */
function serve({ name, version, compression, log }) {
  async function answer(request) {
    if (request.kind === 'hello') {
      return { protocol: 1, name, version, kinds: ['log'], compression, checksums: false };
    }
    try {
      const data = Buffer.from(request.data, 'base64');
      return { records: await log(data, new Given(request), request.id) };
    } catch (error) {
      if (error instanceof Skipped) return { skipped: error.message };
      return { error: `${error.name}: ${error.message}` };
    }
  }
  let before = Promise.resolve();
  readline.createInterface({ input: process.stdin }).on('line', (line) => {
    const request = JSON.parse(line);
    before = before.then(async () => {
      process.stdout.write(text({ id: request.id, ...(await answer(request)) }) + '\n');
    });
  });
}

module.exports = { Skipped, base64, serve };
