/** Files of a Protobuf schema: each a text, or descriptors in base64 as `protoc --descriptor_set_out` writes them. */
import { FACTS } from '../specification/facts';
import { ProtoSchema } from './protobuf';
import { extension, featuresOf, inherited, parseProto, type Features, type ProtoField, type ProtoFile, type ProtoMessage } from './proto_text';
import { DEEPEST, LONGEST_SCHEMA, MOST_SCHEMAS, NotDecoded } from './undecoded';

/** A schema that imports, and what it imports by their paths. */
export interface ProtoSource {
  text: string;
  imports: { path: string; text: string }[];
}

/**
 * Read a schema and all that it imports.
 *
 * @throws NotDecoded if it is none.
 */
export function readProto({ text, imports }: ProtoSource): ProtoSchema {
  const given = new Map<string, ProtoFile>();
  let [count, length] = [0, 0];
  const read = (one: string): ProtoFile => {
    count++;
    length += one.length;
    if (count > MOST_SCHEMAS) throw new NotDecoded(`the schema refers to more than ${MOST_SCHEMAS} schemas`);
    if (length > LONGEST_SCHEMA) throw new NotDecoded('the schema is too long');
    const files = described(one);
    if (files === null) return parseProto(one);
    for (const { path, file } of files.slice(0, -1)) if (!given.has(path)) given.set(path, file());
    return files.at(-1)!.file();
  };
  const own = read(text);
  for (const each of imports) if (!given.has(each.path)) given.set(each.path, read(each.text));
  const wanted = [own, ...given.values()];
  for (const { imports: paths } of wanted) {
    for (const path of paths) {
      const known = given.has(path) ? undefined : FACTS.protos[path];
      if (known === undefined) continue;
      const file = read(known);
      given.set(path, file);
      wanted.push(file);
    }
  }
  return new ProtoSchema([...given.values(), own]);
}

/** Whether a text is a schema of Protobuf, and not one of Avro. */
export function isProtobuf(text: string): boolean {
  const declares = /(^|[\s;}/])(message\s+\w+\s*\{|(syntax|edition)\s*=)/.test(text);
  return (declares && !/^\s*[[{"]/.test(text)) || described(text) !== null;
}

// -- descriptors ---------------------------------------------------------------------------------

const DESCRIPTORS = 'google/protobuf/descriptor.proto';
/** Its first two messages: a set of files, and a file. */
const [SET, FILE] = [[0], [1]];
let descriptors: ProtoSchema | null = null;

interface Options {
  features: Partial<Record<keyof Features, string | null>> | null;
  map_entry?: boolean | null;
}

interface FieldDescriptor {
  name: string;
  number: number;
  extendee: string | null;
  label: string | null;
  type: string | null;
  type_name: string | null;
  oneof_index: number | null;
  proto3_optional: boolean | null;
  options: Options | null;
}

interface EnumDescriptor {
  name: string;
  value: { name: string; number: number }[];
  options: Options | null;
}

interface MessageDescriptor {
  name: string;
  field: FieldDescriptor[];
  extension: FieldDescriptor[];
  nested_type: MessageDescriptor[];
  enum_type: EnumDescriptor[];
  options: Options | null;
}

interface FileDescriptor extends Omit<MessageDescriptor, 'field' | 'nested_type'> {
  package: string | null;
  dependency: string[];
  message_type: MessageDescriptor[];
  syntax: string | null;
  edition: string | null;
}

/** The files that a text has as descriptors, its own at the end; null where it is another text. */
function described(text: string): { path: string; file: () => ProtoFile }[] | null {
  if (text.length > LONGEST_SCHEMA || !/^\s*[A-Za-z0-9+/][A-Za-z0-9+/\s]*={0,2}\s*$/.test(text)) return null;
  try {
    const data = Uint8Array.from(atob(text.replace(/\s+/g, '')), (sign) => sign.charCodeAt(0));
    const found = asFile(data) ?? asSet(data);
    return found && found.map((one) => ({ path: one.name, file: () => new Described(one).made }));
  } catch (error) {
    if (error instanceof NotDecoded || error instanceof DOMException) return null;
    throw error;
  }
}

function decoded(data: Uint8Array, indexes: number[]): unknown {
  descriptors ??= new ProtoSchema([parseProto(FACTS.protos[DESCRIPTORS]!)]);
  return JSON.parse(descriptors.read(data, indexes).json);
}

/** A set of files, read as one, has a name alone, if it can be read at all. */
function asFile(data: Uint8Array): FileDescriptor[] | null {
  try {
    const file = decoded(data, FILE) as FileDescriptor;
    return file.message_type.length || file.enum_type.length || file.extension.length || file.dependency.length ? [file] : null;
  } catch (error) {
    if (error instanceof NotDecoded) return null;
    throw error;
  }
}

function asSet(data: Uint8Array): FileDescriptor[] | null {
  const { file } = decoded(data, SET) as { file: FileDescriptor[] };
  return file.length && file.every(({ name }) => name) ? file : null;
}

/** A file as its text would be. */
class Described {
  readonly made: ProtoFile;
  private readonly features: Features;

  constructor(file: FileDescriptor) {
    const edition = file.syntax === 'editions' ? (file.edition ?? '').replace(/^EDITION_/, '') : null;
    const plain = featuresOf(file.syntax || 'proto2', edition);
    if (plain === null) throw new NotDecoded(edition === null ? `there is no syntax ${file.syntax}` : `edition ${edition} is not known here`);
    this.features = inherited(plain, file.options?.features ?? {});
    this.made = { imports: file.dependency, messages: [], enums: [], extensions: [] };
    this.made.messages = file.message_type.map((one) => this.message(one, file.package ?? '', 1));
    this.others(file, file.package ?? '');
  }

  private others({ enum_type, extension: added }: Pick<MessageDescriptor, 'enum_type' | 'extension'>, scope: string): void {
    for (const { name, value, options } of enum_type) {
      const names = new Map<number, string>();
      for (const one of value) if (!names.has(one.number)) names.set(one.number, one.name);
      if (!names.size) throw new NotDecoded(`the enum ${name} has no value`);
      this.made.enums.push({ name: within(scope, name), names, features: inherited(this.features, options?.features ?? {}) });
    }
    for (const one of added) this.made.extensions.push({ extended: one.extendee ?? '', scope, field: extension(this.field(one, scope)) });
  }

  private message(one: MessageDescriptor, scope: string, depth: number): ProtoMessage {
    if (depth > DEEPEST) throw new NotDecoded(`the schema has more than ${DEEPEST} levels`);
    const name = within(scope, one.name);
    this.others(one, name);
    return {
      name, isEntry: one.options?.map_entry === true,
      fields: one.field.map((each) => this.field(each, name)),
      nested: one.nested_type.map((inner) => this.message(inner, name, depth + 1)),
    };
  }

  private field(one: FieldDescriptor, scope: string): ProtoField {
    const own = { ...one.options?.features };
    if (one.type === 'TYPE_GROUP') own.message_encoding = 'DELIMITED';
    const label = one.label === 'LABEL_REPEATED' ? 'repeated' : one.label === 'LABEL_REQUIRED' ? 'required' : one.proto3_optional ? 'optional' : '';
    return {
      name: one.name, number: one.number, scope, label,
      oneof: one.proto3_optional ? -1 : (one.oneof_index ?? -1),
      type: one.type_name || (one.type ?? '').replace(/^TYPE_/, '').toLowerCase(),
      features: inherited(this.features, own),
    };
  }
}

function within(scope: string, name: string): string {
  return scope ? `${scope}.${name}` : name;
}
