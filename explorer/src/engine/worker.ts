/** The engine in a Web Worker. */
import { asEngineError, LocalEngine } from './local';
import { METHODS, type Answer, type Call } from './rpc';

const engine = new LocalEngine();
const running = new Map<number, AbortController>();
const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<Call | { cancel: number }>) => void) | null;
  postMessage(answer: Answer): void;
};

scope.onmessage = (event): void => {
  const { data } = event;
  if ('cancel' in data) running.get(data.cancel)?.abort();
  else void answer(data);
};

async function answer(call: Call): Promise<void> {
  const { id, method } = call;
  const known = Object.hasOwn(METHODS, method) ? METHODS[method] : undefined;
  const given = [...call.arguments];
  const abort = new AbortController();
  running.set(id, abort);
  try {
    if (known === undefined) throw new Error(`no method ${method}`);
    if (known.callback !== undefined) given[known.callback] = (said: unknown) => scope.postMessage({ id, said });
    if (known.options !== undefined) given[known.options] = { signal: abort.signal };
    const run = (engine as unknown as Record<string, (...all: unknown[]) => Promise<unknown>>)[method]!;
    scope.postMessage({ id, result: await run.apply(engine, given) });
  } catch (error) {
    scope.postMessage({ id, error: asEngineError(error).data });
  } finally {
    running.delete(id);
  }
}
