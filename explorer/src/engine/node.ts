/** The engine in the same thread: for Node and for tests. */
export * from './api';
export { decompress, PayloadError } from './bytes/compression';
export { CLASSES } from '../../gen/classes';
export { LocalEngine } from './local';
export { endOf, parse, Refused } from './specification/runtime';
export { treeOf } from './files/tree';
