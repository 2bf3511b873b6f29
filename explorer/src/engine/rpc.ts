/** Messages between the page and the worker. */
import type { ErrorData } from './api';

/** What the page sends besides calls. */
export type Sent =
  | Call
  | { cancel: number }
  | { heard: number; wrong: boolean } // the callback has done its work
  | { ports: MessagePort[]; first: number; asked: number } // helpers, for the engine, with their numbers from the first on
  | { port: MessagePort }; // makes a helper of a worker

export interface Call {
  id: number;
  method: string;
  arguments: unknown[];
}

export type Answer =
  | { id: number; said: unknown; number: number } // a call of the callback, which is answered
  | { id: number; result: unknown }
  | { id: number; error: ErrorData }
  | { helpers: number; ended: number | null }; // so many are asked for, one of them perhaps in the place of another

/** Methods of `Engine` that take a callback, and which argument it is; `options` is the last one. */
export const METHODS: Record<string, { callback?: number; options?: number }> = {
  facts: {}, open: {}, close: {}, rows: {}, findings: {}, rowAt: {}, content: {}, bytes: {}, tree: {}, written: {}, edit: {}, changeRecords: {}, undo: {},
  table: {}, findOffset: {}, findTime: {}, useSchemas: {}, giveSchema: {},
  scan: { callback: 1, options: 2 },
  records: { options: 5 },
  recordsJson: { options: 2 },
  list: { callback: 1, options: 2 },
  survey: { callback: 1, options: 2 },
  write: { callback: 1, options: 2 },
  find: { callback: 1, options: 2 },
  compare: { options: 2 },
};
