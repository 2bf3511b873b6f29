/** Keys and values that were serialized by schemas: those of a registry's topic, or one that is given. */
import { parse, Refused } from '../specification/runtime';
import { utf8 } from '../messages/json';
import { AvroError, compileAvro, type NamedTypes } from './avro';

const FRAME = 'schema_frame.id_frame';

/** A schema of a registry. */
interface Schema {
  id: number;
  subject: string;
  version: number;
  type: string;
  text: string;
  references: { subject: string; version: number }[];
}

/** Schemas as another thread can take them. */
export interface SchemaTexts {
  registry: Schema[];
  given: string | null;
}

type Decode = (payload: Uint8Array) => string;

export interface SchemaValue {
  /** JSON in one line; null where it is not decoded. */
  json: string | null;
  /** Name of the schema: `orders-value 3 (id 7)`. */
  name: string;
  /** Its id in the registry; null for one that was given. */
  id: number | null;
  problem: string | null;
}

/** Schemas by their ids, and one for what has no id. */
export class Schemas {
  private readonly byId = new Map<number, Schema>();
  private readonly byVersion = new Map<string, Schema>();
  private readonly decoders = new Map<Schema, Decode>();
  private given: { text: string; decode: Decode } | null = null;

  /** Schemas from their texts. */
  static of({ registry, given }: SchemaTexts): Schemas {
    const made = new Schemas();
    registry.forEach((schema) => made.keep(schema));
    made.give(given);
    return made;
  }

  /** The texts of all schemas; null where there are none. */
  get texts(): SchemaTexts | null {
    if (!this.byId.size && !this.given) return null;
    return { registry: [...new Set([...this.byVersion.values(), ...this.byId.values()])], given: this.given?.text ?? null };
  }

  get count(): number {
    return this.byId.size;
  }

  /** Forget all of a registry. */
  clear(): void {
    this.byId.clear();
    this.byVersion.clear();
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
    this.byId.set(schema.id, schema);
    this.byVersion.set(`${schema.subject} ${schema.version}`, schema);
  }

  /**
   * Use a schema of Avro for what no registry has a schema for; null for none.
   *
   * @throws AvroError if it is none.
   */
  give(text: string | null): void {
    this.given = text === null ? null : { text, decode: compileAvro(json(text)) };
  }

  /** What a key or value is, by its schema; null if no schema is known for it. */
  read(data: Uint8Array): SchemaValue | null {
    const frame = this.byId.size ? framed(data) : null;
    const schema = (frame && this.byId.get(frame.id)) ?? null;
    if (schema === null && this.given === null) return null;
    const name = schema === null ? 'given schema' : `${schema.subject} ${schema.version} (id ${schema.id})`;
    const id = schema?.id ?? null;
    try {
      const json = schema === null ? this.given!.decode(data) : this.decoderOf(schema)(frame!.payload);
      return { json, name, id, problem: null };
    } catch (error) {
      if (!(error instanceof AvroError)) throw error;
      return { json: null, name, id, problem: error.message };
    }
  }

  private decoderOf(schema: Schema): Decode {
    let found = this.decoders.get(schema);
    if (found === undefined) this.decoders.set(schema, (found = this.decoder(schema, 0)));
    return found;
  }

  private decoder(schema: Schema, depth: number, named: NamedTypes = new Map(), done = new Set<Schema>()): Decode {
    if (schema.type === 'JSON') return oneLine;
    if (schema.type !== 'AVRO') throw new AvroError(`schemas of ${schema.type} are not read here; kafkaspec export --value reads them`);
    if (depth > 32) throw new AvroError('a schema that refers to itself');
    for (const { subject, version } of schema.references) {
      const other = this.byVersion.get(`${subject} ${version}`);
      if (!other) throw new AvroError(`the schema refers to ${subject} ${version}, which is not there`);
      if (done.has(other)) continue;
      done.add(other);
      this.decoder(other, depth + 1, named, done);
    }
    return compileAvro(json(schema.text), named);
  }
}

/** JSON in one line; its numbers keep their digits. */
function oneLine(payload: Uint8Array): string {
  const text = utf8(payload);
  if (text === null) throw new AvroError('JSON that is not UTF-8');
  try {
    JSON.parse(text);
  } catch (error) {
    throw new AvroError(error instanceof RangeError ? 'JSON that is nested too deeply' : 'no JSON');
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
    throw new AvroError(`the schema is no JSON: ${error instanceof Error ? error.message : error}`);
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
