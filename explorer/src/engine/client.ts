/** The page's side of the engine that runs in a worker. */
import { EngineError, type Engine, type Options } from './api';
import { METHODS, type Answer } from './rpc';

export { EngineError } from './api';

interface Pending {
  resolve: (result: unknown) => void;
  reject: (error: unknown) => void;
  said: ((value: unknown) => void | Promise<void>) | undefined;
}

const lost = (detail: string): EngineError =>
  new EngineError({ reason: 'internal', detail, position: null, inner: null, path: '' });

/** Return the engine that runs in a worker, which is made from `worker.js`; `helper` makes another one. */
export function connect(worker: Worker, helper: () => Worker): Engine {
  const pending = new Map<number, Pending>();
  let next = 1;
  /** Let the page take what the engine says; what goes wrong there ends the call. */
  const hear = async (id: number, said: unknown, number: number): Promise<void> => {
    try {
      await pending.get(id)?.said?.(said);
      worker.postMessage({ heard: number, wrong: false });
    } catch (error) {
      pending.get(id)?.reject(error);
      pending.delete(id);
      worker.postMessage({ heard: number, wrong: true });
    }
  };
  const helpers = new Map<number, Worker>();
  let numbers = 0;
  const sendHelpers = (count: number, ended: number | null): void => {
    if (ended !== null) {
      helpers.get(ended)?.terminate();
      helpers.delete(ended);
    }
    const ports: MessagePort[] = [];
    const first = numbers;
    try {
      while (ports.length < count) {
        const made = helper();
        helpers.set(numbers++, made);
        const { port1, port2 } = new MessageChannel();
        made.postMessage({ port: port1 }, [port1]);
        ports.push(port2);
      }
    } catch {
      // Then there are fewer.
    }
    worker.postMessage({ ports, first, asked: count }, ports);
  };
  worker.onmessage = (event: MessageEvent<Answer>): void => {
    const { data } = event;
    if ('helpers' in data) {
      sendHelpers(data.helpers, data.ended);
      return;
    }
    const call = pending.get(data.id);
    if (call === undefined) return;
    if ('said' in data) {
      void hear(data.id, data.said, data.number);
      return;
    }
    pending.delete(data.id);
    if ('error' in data) call.reject(new EngineError(data.error));
    else call.resolve(data.result);
  };
  worker.onerror = (event): void => {
    for (const call of pending.values()) call.reject(lost(`the worker failed: ${event.message}`));
    pending.clear();
  };
  const call = (method: string, known: { callback?: number; options?: number }, given: unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const id = next++;
      const sent = [...given];
      let said: Pending['said'];
      if (known.callback !== undefined) {
        said = sent[known.callback] as Pending['said'];
        sent[known.callback] = null;
      }
      if (known.options !== undefined) {
        const signal = (sent[known.options] as Options | undefined)?.signal;
        sent[known.options] = undefined;
        const cancel = (): void => worker.postMessage({ cancel: id });
        if (signal?.aborted) {
          reject(new EngineError({ reason: 'cancelled', detail: 'it was cancelled', position: null, inner: null, path: '' }));
          return;
        }
        signal?.addEventListener('abort', cancel, { once: true });
      }
      pending.set(id, { resolve, reject, said });
      worker.postMessage({ id, method, arguments: sent });
    });
  const engine = Object.fromEntries(
    Object.entries(METHODS).map(([method, known]) => [method, (...given: unknown[]) => call(method, known, given)]),
  );
  return engine as unknown as Engine;
}

/** Start the engine from the text of `worker.js`, which works from `file://` too. */
export function start(source: string): { engine: Engine; stop: () => void } {
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  const workers: Worker[] = [];
  const made = (): Worker => {
    const worker = new Worker(url);
    workers.push(worker);
    return worker;
  };
  return { engine: connect(made(), made), stop: () => workers.forEach((worker) => worker.terminate()) };
}
