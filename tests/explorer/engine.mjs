// The engine of the explorer as a testee: node engine.mjs BUILD, a request and an answer a line.
import { openAsBlob, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const built = await import(pathToFileURL(path.join(process.argv[2], 'engine.mjs')).href);
const { LocalEngine, EngineError } = built;

/** Files above it are not read into memory. */
const LARGE = 64 << 20;

const json = (value) =>
  JSON.stringify(value, (_, item) => {
    if (typeof item === 'bigint') return item.toString();
    if (ArrayBuffer.isView(item)) return Array.from(item, String);
    return item;
  });

async function opened(engine, paths) {
  const inputs = [];
  for (const name of paths) {
    const { size } = statSync(name);
    if (size > LARGE) {
      inputs.push({ path: name, size, blob: await openAsBlob(name) });
      continue;
    }
    const bytes = readFileSync(name);
    inputs.push({ path: name, size: bytes.length, bytes: new Uint8Array(bytes) });
  }
  return engine.open(inputs);
}

const HANDLERS = {
  async dump({ file }) {
    const engine = new LocalEngine();
    const [{ id }] = await opened(engine, [file]);
    let text = '';
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    try {
      const what = { files: [id], format: 'jsonl', wanted: null };
      await engine.write(what, (piece) => void (text += decoder.decode(piece)));
    } catch (error) {
      return { text, error: own(error) };
    }
    return { text };
  },
  async scan({ file, data }) {
    const engine = new LocalEngine();
    const [info] = data === undefined
      ? await opened(engine, [file])
      : await engine.open([{ path: file, size: 0, bytes: Uint8Array.from(Buffer.from(data, 'base64')) }]);
    const result = await engine.scan(info.id, () => undefined);
    const rows = await engine.rows(info.id, 0, result.rows);
    const pages = [];
    for (let row = 0; row < result.rows; row++) {
      if (rows.row[row] !== 0) continue;
      const page = await engine.records(info.id, row, 0, 1000, 16);
      if (page.error) pages.push({ row, error: page.error });
      await engine.tree(info.id, { what: 'row', row });
      if (page.records.length) await engine.tree(info.id, { what: 'record', row, index: 0 });
    }
    return { info, result, rows, findings: await engine.findings(info.id), pages };
  },
  async call({ files, calls }) {
    const engine = new LocalEngine();
    const infos = await opened(engine, files);
    const results = [];
    for (const [method, ...given] of calls) {
      const all = given.map(numbers);
      const said = [];
      if (['scan', 'list', 'write', 'find', 'survey'].includes(method)) all.splice(1, 0, (each) => said.push(each));
      try {
        results.push({ result: await engine[method](...all), said });
      } catch (error) {
        results.push({ error: own(error), said });
      }
    }
    return { infos, results };
  },
  async parse({ vectors }) {
    return vectors.map(({ type, hex, parameters }) => {
      const bytes = new Uint8Array(Buffer.from(hex, 'hex'));
      try {
        const made = built.parse(type, bytes, parameters.map(parameter));
        const { start, end, children } = built.treeOf(made, bytes, 0, 'root');
        return { end: built.endOf(made), tree: { start, end, fields: children.map((child) => child.id) } };
      } catch (error) {
        if (!(error instanceof built.Refused)) throw error;
        const { reason, position, path: where } = error;
        if (error.made !== null) built.treeOf(error.made, bytes, 0, 'root');
        return { reason, position, path: where };
      }
    });
  },
};

/** A parameter of a vector: a number, or a structure. */
function parameter(given) {
  if (typeof given !== 'object') return given;
  const bytes = new Uint8Array(Buffer.from(given.hex, 'hex'));
  return built.parse(given.type, bytes, given.parameters.map(parameter));
}

/** Values with large numbers in them, which JSON has as texts. */
function numbers(item) {
  if (typeof item === 'string' && item.startsWith('big:')) return BigInt(item.slice(4));
  if (typeof item !== 'object' || item === null) return item;
  if (Array.isArray(item)) return item.map(numbers);
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, numbers(value)]));
}

/** The data of an error of the engine; any other error ends the program. */
function own(error) {
  if (error instanceof EngineError && error.data.reason !== 'internal') return error.data;
  throw error;
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let answer;
  try {
    answer = await HANDLERS[request.command](request);
  } catch (error) {
    answer = { failed: error instanceof EngineError ? json(error.data) : String(error?.stack ?? error) };
  }
  process.stdout.write(`${json(answer)}\n`);
}
