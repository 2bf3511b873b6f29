/** The tree of fields of anything that a compiled class has parsed, with the bytes of each field. */
import type { FieldNode, FieldValue } from '../api';
import { camel, FACTS, typeFacts, type FieldFacts } from '../specification/facts';
import { isPlain } from './edit';
import { utf8 } from '../messages/json';
import { keyOf, valueOf, type Made, type Place } from '../specification/runtime';

const MOST_ITEMS = 1000;
const SHOWN_BYTES = 64;

interface Context {
  /** The bytes that were parsed; positions count from them, plus `shift`. */
  base: Uint8Array;
  shift: number;
}

/** Return the tree of a structure. */
export function treeOf(made: Made, base: Uint8Array, shift: number, id: string, start?: number, end?: number): FieldNode {
  const context = { base, shift };
  const node = leaf(id, '', shift + (start ?? 0), shift + (end ?? base.length));
  describe(node, made);
  node.children = membersOf(made, context, '');
  return node;
}

export function leaf(id: string, path: string, start: number, end: number): FieldNode {
  return {
    id, path, start, end, type: '', value: null, enumName: null, kafkaName: null, doc: null,
    docLink: null, bits: null, computed: false, editable: false, children: [], more: 0,
  };
}

/** Page and anchor of a type, or of a field of it. */
export function link(key: string, field = ''): string {
  const [spec, name] = key.split('.') as [string, string];
  return `${spec}.md#${name}${field ? `-${field}` : ''}`;
}

function describe(node: FieldNode, made: Made): void {
  const key = keyOf(made);
  if (!key) return;
  node.type = key;
  node.doc ??= typeFacts(key).doc ?? null;
  node.docLink ??= link(key);
}

function placed(place: Place, context: Context): [number, number] {
  const from = place.ioOffset - context.base.byteOffset + context.shift;
  return [from + place.start, from + (place.end ?? place.start)];
}

function membersOf(made: Made, context: Context, path: string): FieldNode[] {
  const key = keyOf(made);
  const type = FACTS.types[key];
  if (type === undefined) return [];
  const nodes: FieldNode[] = [];
  let bits: { start: number; used: number } | null = null;
  for (const field of type.fields) {
    const name = camel(field.id);
    const place: Place | undefined = made._debug[name];
    if (place === undefined || field.kind === 'guard') continue;
    const [start, end] = placed(place, context);
    const node = leaf(field.id, `${path}/${field.id}`, start, end);
    node.doc = field.doc ?? null;
    node.kafkaName = field.original_id ?? null;
    node.docLink = link(key, field.id);
    if (field.kind === 'bits') {
      bits ??= { start, used: 0 };
      const width = field.width ?? 1;
      node.bits = [bits.used & 7, width];
      node.start = bits.start + (bits.used >> 3);
      node.end = bits.start + ((bits.used + width + 7) >> 3);
      bits.used += width;
    }
    node.editable = isPlain(field) && !Array.isArray(made[name]);
    fill(node, field, made[name], place, context);
    nodes.push(node);
  }
  for (const id of type.instances ?? []) {
    const node = computedNode(made, key, id, path);
    if (node !== null) nodes.push(node);
  }
  return nodes;
}

function computedNode(made: Made, key: string, id: string, path: string): FieldNode | null {
  try {
    const value = valueOf(made, id);
    if (value === null) return null;
    const node = leaf(id, `${path}/${id}`, 0, 0);
    node.type = 'value';
    node.value = value;
    node.computed = true;
    node.docLink = link(key, id);
    return node;
  } catch {
    return null; // what it is computed from was not read
  }
}

function fill(node: FieldNode, field: FieldFacts, value: Made, place: Place, context: Context): void {
  if (Array.isArray(value)) {
    node.type = `${field.type ?? basic(field)}[]`;
    node.value = value.length;
    node.more = Math.max(0, value.length - MOST_ITEMS);
    node.children = value.slice(0, MOST_ITEMS).map((item, index) => {
      const at = place.arr?.[index] ?? place;
      const [start, end] = placed(at, context);
      const child = leaf(`[${index}]`, `${node.path}/${index}`, start, end);
      child.editable = isPlain(field);
      fillOne(child, field, item, context);
      return child;
    });
    return;
  }
  fillOne(node, field, value, context);
}

function basic(field: FieldFacts): string {
  if (field.kind === 'integer') return `${field.signed ? 's' : 'u'}${field.size}`;
  if (field.kind === 'float') return `f${field.size}`;
  if (field.kind === 'bits') return `b${field.width}`;
  return 'bytes';
}

function fillOne(node: FieldNode, field: FieldFacts, value: Made, context: Context): void {
  if (typeof value === 'object' && value !== null && '_io' in value) {
    describe(node, value);
    const type = FACTS.types[keyOf(value)];
    if (type?.scalar !== undefined) {
      node.value = simple(value.value);
      if (type.fields.length > 1) node.children = membersOf(value, context, node.path);
    } else {
      node.children = membersOf(value, context, node.path);
    }
    return;
  }
  node.type = basic(field);
  node.value = simple(value);
  if (field.enum && value !== undefined && value !== null) {
    const found = FACTS.enums[field.enum]?.[String(Number(value))];
    node.enumName = found === undefined ? null : (found[0] ?? null);
  }
}

function simple(value: Made): FieldValue {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array) return shownBytes(value);
  return value;
}

/** Bytes as a text: in quotes if they are UTF-8 that can be shown, else in hex. */
export function shownBytes(bytes: Uint8Array): string {
  const cut = bytes.subarray(0, SHOWN_BYTES);
  const text = bytes.length <= SHOWN_BYTES ? utf8(bytes) : null;
  if (text !== null && !/[\u0000-\u001f\u007f-\u009f]/.test(text)) return JSON.stringify(text);
  const hex = Array.from(cut, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return bytes.length > SHOWN_BYTES ? `${hex} … ${bytes.length} bytes` : hex;
}
