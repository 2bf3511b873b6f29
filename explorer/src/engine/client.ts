/** Start the engine: in a worker for the page, or in the same thread for Node. */
import type { Engine } from './api';

export type { Engine };

/** Return the engine that runs in a worker (made from `worker.js`, by a `blob:` URL for instance). */
export function connect(_worker: Worker): Engine {
  throw new Error('the engine is not built yet');
}
