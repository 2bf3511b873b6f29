/** Messages between the page and the worker. */
import type { ErrorData } from './api';

export interface Call {
  id: number;
  method: string;
  arguments: unknown[];
}

export type Answer =
  | { id: number; said: unknown } // a call of the callback
  | { id: number; result: unknown }
  | { id: number; error: ErrorData };

/** Methods of `Engine` that take a callback, and which argument it is; `options` is the last one. */
export const METHODS: Record<string, { callback?: number; options?: number }> = {
  facts: {}, open: {}, close: {}, rows: {}, findings: {}, rowAt: {}, content: {}, bytes: {}, tree: {}, written: {}, edit: {}, changeRecords: {}, undo: {},
  table: {}, findOffset: {}, findTime: {},
  scan: { callback: 1, options: 2 },
  records: { options: 5 },
  recordsJson: { options: 2 },
  fileJson: { callback: 1, options: 2 },
  findKey: { callback: 1, options: 2 },
  compare: { options: 2 },
};
