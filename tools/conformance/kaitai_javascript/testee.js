// The specification, compiled to JavaScript, as a testee: node testee.js BUILD
//
// BUILD holds what the official compiler made, types.json and node_modules.
'use strict';

const path = require('path');
const readline = require('readline');

const BUILD = path.resolve(process.argv[2]);
const TYPES = require(path.join(BUILD, 'types.json'));
const KaitaiStream = require(path.join(BUILD, 'node_modules', 'kaitai-struct', 'KaitaiStream'));
const RUNTIME = require(path.join(BUILD, 'node_modules', 'kaitai-struct', 'package.json'));

const camel = (name) => name.replace(/(?:^|_)(.)/g, (_, letter) => letter.toUpperCase());
const snake = (name) => name.replace(/[A-Z]/g, (letter) => '_' + letter.toLowerCase());
const bytes = (text) => new Uint8Array(Buffer.from(text, 'base64'));
const base64 = (data) => (data == null ? null : Buffer.from(data).toString('base64'));

const CLASSES = new Map(Object.keys(TYPES).map((key) => {
  const [file, type] = key.split('.').map(camel);
  const whole = require(path.join(BUILD, file))[file];
  return [key, file === type ? whole : whole[type]];
}));
const KEYS = new Map(Array.from(CLASSES, ([key, made]) => [made, key]));

function parse(key, data, parameters = []) {
  if (!CLASSES.has(key)) throw new Error(`no type ${key}`);
  const stream = new KaitaiStream(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
  return new (CLASSES.get(key))(stream, null, null, ...parameters);
}

// A value as an answer has it: structures by the names of the specification, scalars as they are.
function tree(value) {
  if (value == null) return null;
  if (value instanceof Uint8Array) return base64(value);
  if (Array.isArray(value)) return value.map(tree);
  if (typeof value !== 'object') return value;
  const made = Object.getPrototypeOf(value);
  const type = TYPES[KEYS.get(made.constructor)];
  if (type.scalar) return tree(value.value);
  const found = {};
  const names = [...Object.keys(value), ...Object.getOwnPropertyNames(made)];
  for (const name of names) {
    if (name.startsWith('_') || name === 'constructor' || type.parameters.includes(snake(name))) {
      continue;
    }
    found[snake(name)] = tree(value[name]);
  }
  return found;
}

function parameter(item) {
  if (typeof item !== 'object') return item;
  return parse(item.type, bytes(item.data), item.parameters.map(parameter));
}

const NONE = 0;
const LOG_APPEND_TIME = 1;

// Calls back for each record batch, with its records, and for each legacy message.
function walk(request, onBatch, onMessage) {
  const given = request.decompressed || [];
  parse('recordbatch.recordbatch', bytes(request.data)).entries.forEach((entry, index) => {
    const content = entry.message.content;
    const payload = given[index] == null ? null : bytes(given[index]);
    if (content.magic === 2) {
      const set = parse('recordbatch.record_set', payload || content.records, [content]);
      onBatch(content, set.records.map((framed) => framed.body));
    } else if (content.attributes.compression === NONE) {
      onMessage(content, content.offset, content.timestamp);
    } else {
      const inner = parse('recordbatch.recordbatch', payload).entries;
      const last = inner[inner.length - 1].baseOffset;
      const shift = content.magic === 1 && content.offset !== 0 ? content.offset - last : 0;
      for (const { baseOffset, message: { content: message } } of inner) {
        const appended = content.attributes.timestampType === LOG_APPEND_TIME;
        const timed = appended && message.magic === 1 && content.magic === 1;
        onMessage(message, baseOffset + shift, timed ? content.timestamp : message.timestamp);
      }
    }
  });
}

function records(request) {
  const found = [];
  const add = (offset, timestamp, key, value, headers) =>
    found.push({ offset, timestamp, key, value, headers });
  walk(request, (batch, all) => {
    if (batch.attributes.isControl) return;
    for (const record of all) {
      const headers = record.headers.map((header) => [tree(header.key), tree(header.value)]);
      add(record.offset, record.timestamp, tree(record.key), tree(record.value), headers);
    }
  }, (message, offset, timestamp) => {
    add(offset, timestamp === undefined ? null : timestamp, tree(message.key), tree(message.value), []);
  });
  return found;
}

function controlRecords(request) {
  const found = [];
  walk(request, (batch, all) => {
    if (!batch.attributes.isControl) return;
    for (const record of all) {
      const { type } = parse('control_record.control_record_key', record.key.value);
      const { body } = parse('control_record.control_record_value', record.value.value, [type]);
      found.push({ offset: record.offset, type, coordinator_epoch: tree(body.coordinatorEpoch) });
    }
  }, () => {});
  return found;
}

const HANDLERS = {
  log: (request) => ({ records: records(request) }),
  control_records: (request) => ({ control_records: controlRecords(request) }),
  offset_index: (request) => entries('index.offset_index', request, [request.base_offset]),
  time_index: (request) => entries('index.time_index', request, [request.base_offset]),
  transaction_index: (request) => entries('transaction_index.transaction_index', request, []),
  producer_snapshot: (request) => entries('producer_snapshot.producer_snapshot', request, []),
  type: (request) => {
    const value = parse(request.type, bytes(request.data), request.parameters.map(parameter));
    return { value: tree(value), end: value._io.pos };
  },
};

function entries(key, request, parameters) {
  return { entries: tree(parse(key, bytes(request.data), parameters).entries) };
}

function answer(request) {
  if (request.kind === 'hello') {
    const kinds = Object.keys(HANDLERS);
    return { protocol: 1, name: 'Kaitai Struct JavaScript', version: RUNTIME.version, kinds };
  }
  try {
    return HANDLERS[request.kind](request);
  } catch (error) {
    return { error: `${error.name}: ${error.message}` };
  }
}

readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line);
  process.stdout.write(JSON.stringify({ id: request.id, ...answer(request) }) + '\n');
});
