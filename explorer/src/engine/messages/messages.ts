/** What the records of Kafka's own topics, and control records, hold. */
import { camel, FACTS, typeFacts, type FieldFacts, type MessageFacts } from '../specification/facts';
import { base64, Double, fields, jacksonJson, javaText, pythonJson, utf8, type Json } from './json';
import { endOf, keyOf, parse, Refused, type Made } from '../specification/runtime';

const TAGGED = 'tagged_fields';
const BODY = 'body';
const UUID = 16;
const TRUTH = 'enumeration.truth';

/** What is in place of a structure in the model of kafkaspec: the value of a scalar, and so on. */
function model(value: Made): Made {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'object' || !('_io' in value)) return value;
  const type = FACTS.types[keyOf(value)];
  if (type === undefined) return value;
  if (type.form === 'scalar') return value.value ?? null;
  if (type.form === 'frame' || type.form === 'choice') {
    const last = type.fields[type.fields.length - 1]!;
    return model(value[camel(last.id)]);
  }
  return value;
}

const isStructure = (value: Made): boolean => typeof value === 'object' && value !== null && '_io' in value;

// -- which message it is -------------------------------------------------------------------------

/** Why a key or value is not decoded: `dump` prints it as `problem`. */
export class Problem extends Error {
  constructor(readonly reason: string, detail: string, readonly known: boolean) {
    super(detail);
  }
}

function recordType(topic: string, data: Uint8Array): number {
  let at = 0;
  let number = 0;
  for (const [id, type, size, signed] of FACTS.heads[topic] ?? []) {
    if (type) {
      const made = parse(type, data, [], at);
      number = Number(made.value);
      at = endOf(made);
      continue;
    }
    if (at + size > data.length) {
      throw new Refused('overrun', `a key begins with ${size} bytes that say what it is`, at, `/${id}`, null);
    }
    number = 0;
    for (let index = 0; index < size; index++) number = number * 256 + data[at + index]!;
    if (signed && number >= 2 ** (8 * size - 1)) number -= 2 ** (8 * size);
    at += size;
  }
  return number;
}

function inTopic(topic: string, role: string, number: number): MessageFacts[] {
  const found = FACTS.messages.filter((m) => m.topic === topic && m.role === role && m.number === number);
  if (!found.length) {
    throw new Refused('unsupported_version', `${topic} has no ${role} of type ${number} that is described here`, 0, '', null);
  }
  return found;
}

/** Refuse arrays whose items have to ascend and do not; the compiled classes do not look at that. */
function ascend(made: Made, data: Uint8Array, path: string): void {
  for (const field of typeFacts(keyOf(made)).fields) {
    const value = made[camel(field.id)];
    const items = (Array.isArray(value) ? value : [value]) as Made[];
    let before = -1;
    items.forEach((item, index) => {
      if (!isStructure(item)) return;
      const place = Array.isArray(value) ? `${path}/${field.id}/${index}` : `${path}/${field.id}`;
      if (field.ascending) {
        const number = Number(model(item[camel(field.ascending)]));
        if (number <= before) {
          const at = item._debug[camel(field.ascending)];
          const position = at.ioOffset - data.byteOffset + at.start;
          throw new Refused('invalid_value', `${field.ascending} does not ascend`, position, `${place}/${field.ascending}`, made);
        }
        before = number;
      }
      if (typeFacts(keyOf(item)).scalar === undefined) ascend(item, data, place);
    });
  }
}

export interface Decoded {
  layout: MessageFacts;
  made: Made;
}

/** The message in the first layout that takes every byte, else the newest that reads. */
function decodeBy(layouts: MessageFacts[], data: Uint8Array): Decoded {
  let found: Decoded | null = null;
  let failure: unknown = null;
  for (const layout of layouts) {
    try {
      const made = parse(layout.key, data);
      ascend(made, data, '');
      if (layouts.length === 1 || !made.unused?.length) return { layout, made };
      found ??= { layout, made };
    } catch (error) {
      failure ??= error;
    }
  }
  if (found !== null) return found;
  throw failure;
}

/** Decode key and value of a record of an internal topic; each null where the record has none. */
export function decodeRecord(
  topic: string, key: Uint8Array | null, value: Uint8Array | null,
): { key: Decoded | null; value: Decoded | null; problem: Problem | null } {
  const found: { key: Decoded | null; value: Decoded | null; problem: Problem | null } = { key: null, value: null, problem: null };
  let place = key === null ? '/value' : '/key';
  let known = false;
  try {
    let values: MessageFacts[] = [];
    if (key === null) {
      if (value === null) return found;
      values = inTopic(topic, 'record', recordType(topic, value));
    } else {
      const number = recordType(topic, key);
      const keys = inTopic(topic, 'key', number);
      place = '/value';
      if (value !== null) values = inTopic(topic, 'value', number);
      place = '/key';
      known = true;
      found.key = decodeBy(keys, key);
    }
    known = true;
    place = '/value';
    if (value !== null) found.value = decodeBy(values, value);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    found.problem = new Problem(error.reason, `${error.reason}: ${error.detail} (${place}${error.path})`, known);
  }
  return found;
}

// -- JSON of messages ----------------------------------------------------------------------------

interface Part {
  field: FieldFacts;
  name: string;
  mayMiss: boolean;
  nullSince: number | null;
}

const parts = new Map<string, Part[]>();
const HIDDEN = new Set(FACTS.frame.filter((id) => id !== TAGGED));

function partsOf(key: string): Part[] {
  let found = parts.get(key);
  if (found !== undefined) return found;
  const type = typeFacts(key);
  const counted = new Set(type.fields.filter((field) => field.derive).map((field) => field.derive_from));
  found = type.fields
    .filter((field) => !(HIDDEN.has(field.id) || field.derive || field.kind === 'guard'))
    .map((field) => ({
      field,
      name: nameOf(field),
      mayMiss: Boolean(field.optional) && !counted.has(field.id),
      nullSince: field.since && scalarOf(field) === 'nullable_bytes' ? field.since : null,
    }));
  parts.set(key, found);
  return found;
}

function scalarOf(field: FieldFacts): string {
  return field.kind === 'scalar' ? (typeFacts(field.type!).scalar ?? '') : '';
}

function nameOf(field: FieldFacts): string {
  const name = field.original_id || camel(field.id);
  return name[0]!.toLowerCase() + name.slice(1);
}

function show(field: FieldFacts, given: Made): Json {
  const item = model(given);
  if (field.enum === TRUTH) return Boolean(Number(item));
  if (field.kind === 'bytes' && field.size === UUID) {
    return base64(item).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
  }
  if (field.kind === 'scalar' && typeFacts(field.type!).text) return javaText(item);
  if (field.kind === 'integer') return item;
  if (field.kind === 'float') return new Double(item);
  if (field.kind === 'type') return isStructure(item) ? structure(field.original_id ?? '', item) : numberOrBytes(item);
  return isStructure(item) ? structure('', item) : numberOrBytes(item);
}

function numberOrBytes(item: Made): Json {
  return item instanceof Uint8Array ? base64(item) : item;
}

/** What is in a structure; of an array or identifier that is one, this alone. */
function structure(originalId: string, item: Made): Json {
  const key = keyOf(item);
  const all = partsOf(key);
  const only = all[0];
  if (all.length === 1 && only && only.field.id !== TAGGED && only.field.id !== BODY) {
    const { field } = only;
    if (field.id === 'value' || (field.original_id === originalId && originalId !== '')) {
      const value = item[camel(field.id)];
      if (value === undefined || value === null) return null;
      return Array.isArray(value) ? value.map((each) => show(field, each)) : nullOr(field, value);
    }
  }
  const found = new Map<string, Json>();
  collect(item, found, found);
  return found;
}

function nullOr(field: FieldFacts, value: Made): Json {
  return model(value) === null ? null : show(field, value);
}

function collect(value: Made, found: Map<string, Json>, tagged: Map<string, Json>): void {
  for (const { field, name, mayMiss, nullSince } of partsOf(keyOf(value))) {
    const given = value[camel(field.id)];
    if (field.id === BODY) {
      collect(model(given), found, tagged);
      continue;
    }
    if (field.id === TAGGED) {
      const others = (given.fields as Made[]).map(model).filter((tag) => !collectTag(tag, tagged));
      if (others.length) {
        found.set(FACTS.unknownTags, others.map((tag) => fields(['tag', Number(model(tag.tag))], ['data', numberOrBytes(dataOf(tag))])));
      }
      continue;
    }
    if (Array.isArray(given)) found.set(name, given.map((item) => show(field, item)));
    else if (model(given) === null) {
      if (!mayMiss || has(value, nullSince)) found.set(name, null);
    } else found.set(name, show(field, given));
  }
}

function has(value: Made, since: number | null): boolean {
  return since !== null && Number(value.version ?? value.schemaVersion ?? 0) >= since;
}

function dataOf(tag: Made): Made {
  const content = model(tag.content);
  return (content ?? tag).data;
}

/** Collect what is in a tagged field; return whether the specification knows it. */
function collectTag(tag: Made, tagged: Map<string, Json>): boolean {
  const content = model(tag.content);
  if (!isStructure(content)) return false;
  const shown = typeFacts(keyOf(content)).fields.filter((field) => field.original_id && !field.derive);
  if (shown.length && !shown.every((field) => isDefault(field, content[camel(field.id)]))) {
    collect(content, tagged, tagged);
  }
  return shown.length > 0;
}

function isDefault(field: FieldFacts, given: Made): boolean {
  const item = Array.isArray(given) ? given : model(given);
  if (field.default === 'null' || item === null) return field.default === 'null' && item === null;
  if (typeof item === 'number' || typeof item === 'bigint') return String(item) === field.default;
  if (Array.isArray(item) || field.default === '[]') return field.default === '[]' && !item.length;
  return field.default === '0' && !(item instanceof Uint8Array && item.some((byte) => byte !== 0));
}

function messageFields(name: string, value: Made): Map<string, Json> {
  let found = new Map<string, Json>();
  const tagged = new Map<string, Json>();
  collect(value, found, tagged);
  for (const [field, item] of tagged) {
    const later = (FACTS.shownBefore[`${name}.${field}`] ?? []).find((key) => found.has(key));
    if (later === undefined) {
      found.set(field, item);
      continue;
    }
    const ordered = new Map<string, Json>();
    for (const [key, each] of found) {
      if (key === later) ordered.set(field, item);
      ordered.set(key, each);
    }
    found = ordered;
  }
  return found;
}

/** JSON of a message in one line, as `dump` prints it. */
export function messageJson({ layout, made }: Decoded): string {
  const shown = fields(['type', layout.name]);
  if (made.schemaVersion !== undefined) shown.set('version', Number(model(made.schemaVersion)));
  const found = messageFields(layout.name, made);
  if (layout.name === 'GroupMetadataValue' && found.get('protocolType') === FACTS.embedded.protocol) {
    const members = found.get('members') as Map<string, Json>[];
    const stored = (model(made.body).members as Made[]).map(model);
    members.forEach((member, index) => {
      for (const [field, embedded] of Object.entries(FACTS.embedded.fields)) {
        try {
          const layouts = FACTS.messages.filter((m) => m.name === embedded);
          const bytes = model(stored[index][camel(field)]) as Uint8Array;
          member.set(field, messageFields(embedded, decodeBy(layouts, bytes).made));
        } catch {
          // the bytes stay as they are
        }
      }
    });
  }
  for (const [key, item] of found) shown.set(key, item);
  return jacksonJson(shown);
}

// -- control records -----------------------------------------------------------------------------

const CONTROL_KEY = 'control_record.control_record_key';
const CONTROL_VALUE = 'control_record.control_record_value';
const CONTROL_TYPE = 'control_record.control_record_type';

export interface Control {
  type: number;
  /** `COMMIT`; null for a type that is not known. */
  name: string | null;
  key: Made;
  body: Made | null;
}

/** Decode a control record. Throws `Refused`, with a path from the record on. */
export function decodeControl(offset: bigint, key: Uint8Array | null, value: Uint8Array | null): Control {
  const missing = (field: string): Refused =>
    new Refused('invalid_value', `control record with offset ${offset} has no ${field}`, 0, `/${field}`, null);
  if (key === null) throw missing('key');
  const made = parse(CONTROL_KEY, key);
  const type: number = made.type;
  const name = FACTS.enums[CONTROL_TYPE]?.[String(type)]?.[1] ?? null;
  const described = typeFacts(CONTROL_VALUE).fields[0]!.cases!.some(([number]) => number === type);
  if (value === null) {
    if (!described) return { type, name, key: made, body: null };
    throw missing('value');
  }
  return { type, name, key: made, body: model(parse(CONTROL_VALUE, value, [type]).body) };
}

export function controlJson(control: Control): string {
  return pythonJson(
    fields(
      ['type', control.name],
      ['type_id', control.type],
      ['version', Number(control.key.version)],
      ['value', plain(control.body)],
    ),
  );
}

/** A structure as fields by name, without those that a writer computes or that are empty. */
function plain(given: Made): Json {
  const value = model(given);
  if (value === null) return null;
  if (value instanceof Uint8Array) {
    const text = utf8(value);
    return text === null ? fields(['base64', base64(value)]) : text;
  }
  if (Array.isArray(value)) return value.map(plain);
  if (!isStructure(value)) return value;
  const found = new Map<string, Json>();
  for (const field of typeFacts(keyOf(value)).fields) {
    if (field.derive || field.kind === 'guard' || field.constant !== undefined) continue;
    const item = value[camel(field.id)];
    if (!isEmpty(field, item)) found.set(field.id, plain(item));
  }
  return found;
}

function isEmpty(field: FieldFacts, given: Made): boolean {
  const item = Array.isArray(given) ? given : model(given);
  if (item instanceof Uint8Array || Array.isArray(item)) return field.default === '[]' && !item.length;
  if (!isStructure(item)) return false;
  const own = typeFacts(keyOf(item)).fields.filter((each) => !each.derive && each.kind !== 'guard');
  return own.length > 0 && own.every((each) => isEmpty(each, item[camel(each.id)]));
}
