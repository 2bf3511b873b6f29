/** The engine in a Web Worker, or a helper of it. */
import { Helpers, help } from './log/jobs';
import { asEngineError, LocalEngine } from './local';
import { METHODS, type Answer, type Call, type Sent } from './rpc';

/** Helpers that are asked for: one for each core, within reason. */
const MOST_HELPERS = 8;

const running = new Map<number, AbortController>();
const heard = new Map<number, { done: () => void; failed: (error: unknown) => void }>();
const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<Sent>) => void) | null;
  postMessage(answer: Answer, given?: ArrayBuffer[]): void;
};
const cores = Math.min(MOST_HELPERS, navigator.hardwareConcurrency || 1);
const helpers = new Helpers((count, ended) => scope.postMessage({ helpers: count, ended }), cores);
const engine = new LocalEngine(helpers);
let next = 1;

scope.onmessage = ({ data }): void => {
  if ('cancel' in data) running.get(data.cancel)?.abort();
  else if ('ports' in data) helpers.take(data.ports, data.first, data.asked);
  else if ('port' in data) help(data.port, asEngineError);
  else if ('heard' in data) {
    const waiting = heard.get(data.heard);
    heard.delete(data.heard);
    if (data.wrong) waiting?.failed(new Error('the page could not take it'));
    else waiting?.done();
  } else void answer(data);
};

/** Call the callback of the page, with memory of its own; the promise is kept when the page has done its work. */
function say(id: number, said: unknown): Promise<void> {
  const number = next++;
  const promise = new Promise<void>((done, failed) => heard.set(number, { done, failed }));
  promise.catch(() => undefined); // few wait for it
  scope.postMessage({ id, said, number }, said instanceof Uint8Array ? [said.buffer as ArrayBuffer] : []);
  return promise;
}

async function answer(call: Call): Promise<void> {
  const { id, method } = call;
  const known = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  const given = [...call.arguments];
  const abort = new AbortController();
  running.set(id, abort);
  try {
    if (known === undefined) throw new Error(`no method ${method}`);
    if (known.callback !== undefined) given[known.callback] = (said: unknown) => say(id, said);
    if (known.options !== undefined) given[known.options] = { signal: abort.signal };
    const run = (engine as unknown as Record<string, (...all: unknown[]) => Promise<unknown>>)[method]!;
    scope.postMessage({ id, result: await run.apply(engine, given) });
  } catch (error) {
    scope.postMessage({ id, error: asEngineError(error).data });
  } finally {
    running.delete(id);
  }
}
