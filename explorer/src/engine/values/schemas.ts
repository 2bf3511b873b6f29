/** Keys and values that were serialized by schemas: those of a registry's topic, or one that is given. */
import { parse, Refused } from '../specification/runtime';
import { utf8 } from '../messages/json';
import { compileAvro, type NamedTypes } from './avro';
import { isProtobuf, readProto, type ProtoSource } from './proto_files';
import { LONGEST_SCHEMA, MOST_SCHEMAS, NotDecoded } from './undecoded';

const FRAME = 'schema_frame.id_frame';

/** A schema of a registry. */
interface Schema {
  id: number;
  subject: string;
  version: number;
  type: string;
  text: string;
  references: { name: string; subject: string; version: number }[];
}

/** Schemas as another thread can take them. */
export interface SchemaTexts {
  registry: Schema[];
  given: string | null;
  /** The topic whose values are read; null for none. */
  topic: string | null;
}

/** JSON of a value, and the name of its message where a schema has several. */
type Decode = (payload: Uint8Array) => { json: string; message?: string };

export interface SchemaValue {
  /** JSON in one line; null where it is not decoded. */
  json: string | null;
  /** Name of the schema: `orders-value 3 (id 7)`, and of the message, if it has several. */
  name: string;
  /** Its id in the registry; null for one that was given. */
  id: number | null;
  problem: string | null;
}

/** Schemas by their ids, and one for what has no id. */
export class Schemas {
  /** Contexts of a registry count each for itself: the schemas of an id, that without a context first. */
  private readonly byId = new Map<number, Schema[]>();
  private topic: string | null = null;
  private readonly subjects = new Set<string>();
  private readonly byVersion = new Map<string, Schema>();
  private readonly decoders = new Map<Schema, Decode>();
  private given: { text: string; decode: Decode } | null = null;

  /** Schemas from their texts. */
  static of({ registry, given, topic }: SchemaTexts): Schemas {
    const made = new Schemas().for(topic);
    registry.forEach((schema) => made.keep(schema));
    made.give(given);
    return made;
  }

  /** Read values of a topic from now on: an id is first that of the context which has the topic's subjects. */
  for(topic: string | null): this {
    this.topic = topic;
    return this;
  }

  /** The texts of all schemas; null where there are none. */
  get texts(): SchemaTexts | null {
    if (!this.byId.size && !this.given) return null;
    return { registry: [...new Set([...this.byVersion.values(), ...[...this.byId.values()].flat()])], given: this.given?.text ?? null, topic: this.topic };
  }

  get count(): number {
    return this.byId.size;
  }

  /** Forget all of a registry. */
  clear(): void {
    this.byId.clear();
    this.byVersion.clear();
    this.subjects.clear();
    this.decoders.clear();
  }

  /** Take a record of a registry's topic, if it is one of a schema. */
  add(key: Uint8Array | null, value: Uint8Array | null): void {
    const [known, found] = [object(key), object(value)];
    if (known?.['keytype'] !== 'SCHEMA' || typeof found?.['id'] !== 'number' || typeof found['schema'] !== 'string') return;
    this.keep({
      id: found['id'], subject: String(known['subject']), version: Number(known['version']), type: String(found['schemaType'] ?? 'AVRO'),
      text: found['schema'], references: Array.isArray(found['references']) ? (found['references'] as Schema['references']) : [],
    });
  }

  private keep(schema: Schema): void {
    const same = (this.byId.get(schema.id) ?? []).filter((other) => contextOf(other) !== contextOf(schema));
    this.subjects.add(schema.subject);
    this.byId.set(schema.id, contextOf(schema) ? [...same, schema] : [schema, ...same]);
    this.byVersion.set(`${schema.subject} ${schema.version}`, schema);
  }

  /**
   * Use a schema of Avro, or the first message of one of Protobuf, for what no registry has a schema for; null for none.
   *
   * @throws NotDecoded if it is none.
   */
  give(text: string | null): void {
    this.given = text === null ? null : { text, decode: isProtobuf(text) ? protobuf({ text, imports: [] }, false) : avro(json(text)) };
  }

  /** What a key or value is, by its schema; null if no schema is known for it. */
  read(data: Uint8Array): SchemaValue | null {
    const frame = this.byId.size ? framed(data) : null;
    const known = (frame && this.byId.get(frame.id)) ?? [];
    const schemas = known.length < 2 ? known : [...known].sort((a, b) => Number(this.isOwn(b)) - Number(this.isOwn(a)));
    if (!schemas.length) return this.given && readBy(this.given.decode, data, 'given schema', null);
    let first: SchemaValue | null = null;
    for (const schema of schemas) {
      const name = `${schema.subject} ${schema.version} (id ${schema.id})`;
      const found = readBy((payload) => this.decoderOf(schema)(payload), frame!.payload, name, schema.id);
      if (found.problem === null) return found;
      first ??= found;
    }
    return first;
  }

  /** Whether the context of a schema has a subject of the topic. */
  private isOwn(schema: Schema): boolean {
    const context = contextOf(schema);
    return ['key', 'value'].some((side) => this.subjects.has(`${context && `:.${context}:`}${this.topic}-${side}`));
  }

  private decoderOf(schema: Schema): Decode {
    let found = this.decoders.get(schema);
    if (found === undefined) {
      try {
        found = this.decoder(schema, 0);
      } catch (error) {
        if (!(error instanceof NotDecoded)) throw error;
        found = () => {
          throw error;
        };
      }
      this.decoders.set(schema, found);
    }
    return found;
  }

  private decoder(schema: Schema, depth: number, named: NamedTypes = new Map(), done = new Set<Schema>()): Decode {
    if (schema.type === 'JSON') return (payload) => ({ json: oneLine(payload) });
    if (schema.type === 'PROTOBUF') return protobuf({ text: schema.text, imports: this.importsOf(schema) }, true);
    if (schema.type !== 'AVRO') throw new NotDecoded(`schemas of ${schema.type} are not read here; kafkaspec export --value reads them`);
    if (depth > 32) throw new NotDecoded('a schema that refers to itself');
    for (const { subject, version } of schema.references) {
      const other = this.referred(subject, version);
      if (done.has(other)) continue;
      done.add(other);
      this.decoder(other, depth + 1, named, done);
    }
    return avro(json(schema.text), named);
  }

  private referred(subject: string, version: number): Schema {
    const found = this.byVersion.get(`${subject} ${version}`);
    if (!found) throw new NotDecoded(`the schema refers to ${subject} ${version}, which is not there`);
    return found;
  }

  /** All that a schema imports, and what that imports, the nearest first. */
  private importsOf(schema: Schema): ProtoSource['imports'] {
    const found: ProtoSource['imports'] = [];
    const seen = new Set([schema]);
    let size = schema.text.length;
    for (const each of seen) {
      for (const { name, subject, version } of each.references) {
        const other = this.referred(subject, version);
        found.push({ path: name, text: other.text });
        if (!seen.has(other)) size += other.text.length;
        seen.add(other);
        if (found.length > MOST_SCHEMAS || size > LONGEST_SCHEMA) throw new NotDecoded('the schema refers to too many others');
      }
    }
    return found;
  }
}

function readBy(decode: Decode, data: Uint8Array, name: string, id: number | null): SchemaValue {
  try {
    const { json, message } = decode(data);
    return { json, name: message === undefined ? name : `${message} of ${name}`, id, problem: null };
  } catch (error) {
    if (!(error instanceof NotDecoded)) throw error;
    return { json: null, name, id, problem: error.message };
  }
}

/** The context of a subject, `:.context:subject`; empty without one. */
function contextOf({ subject }: Schema): string {
  return /^:\.([^:]*):/.exec(subject)?.[1] ?? '';
}

function avro(schema: unknown, named?: NamedTypes): Decode {
  const read = compileAvro(schema, named);
  return (payload) => ({ json: read(payload) });
}

/** Reads messages, after a list of indexes or the first one of the schema; what is wrong with it is said of each value. */
function protobuf(source: ProtoSource, framed: boolean): Decode {
  const schema = readProto(source);
  return (payload) => (framed ? schema.framed(payload) : schema.read(payload));
}

/** JSON in one line; its numbers keep their digits. */
function oneLine(payload: Uint8Array): string {
  const text = utf8(payload);
  if (text === null) throw new NotDecoded('JSON that is not UTF-8');
  try {
    JSON.parse(text);
  } catch (error) {
    throw new NotDecoded(error instanceof RangeError ? 'JSON that is nested too deeply' : 'no JSON');
  }
  return text.replace(/[\r\n]+/g, ' '); // those in texts are escaped
}

function framed(data: Uint8Array): { id: number; payload: Uint8Array } | null {
  try {
    const made = parse(FRAME, data);
    return { id: made.schemaId, payload: made.payload };
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

function json(text: string): unknown {
  try {
    return /^\s*[[{"]/.test(text) ? JSON.parse(text) : text.trim();
  } catch (error) {
    throw new NotDecoded(`the schema is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function object(data: Uint8Array | null): Record<string, unknown> | null {
  const text = data && utf8(data);
  if (!text) return null;
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
