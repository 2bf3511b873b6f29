/** What the build took from the specification and from kafkaspec's rules: `gen/facts.json`, typed. */
import facts from '../../../gen/facts.json';

export interface FieldFacts {
  id: string;
  kind: 'integer' | 'float' | 'bits' | 'bytes' | 'scalar' | 'type' | 'choice' | 'guard';
  type?: string;
  cases?: [number | null, string][];
  size?: number;
  width?: number;
  signed?: boolean;
  boolean?: boolean;
  repeated?: boolean;
  optional?: boolean;
  since?: number;
  derive?: string;
  derive_from?: string;
  /** Number that is added to a length or count; for null these are -1. */
  derive_plus?: number;
  /** Field of the items of an array by which they ascend. */
  ascending?: string;
  default?: string;
  constant?: number;
  enum?: string;
  original_id?: string;
  doc?: string;
}

export interface ChecksumFacts {
  field: string;
  algorithm: 'crc32' | 'crc32c';
  position: number;
  start: number;
}

export interface TypeFacts {
  class_name: string;
  form: 'structure' | 'scalar' | 'frame' | 'choice';
  scalar?: string;
  text?: boolean;
  minimum_size?: number;
  fixed_size?: number;
  doc?: string;
  parameters?: [string, string][];
  checksum?: ChecksumFacts;
  /** Fields that are read before their place, and where they are. */
  peeks?: [string, number][];
  instances?: string[];
  fields: FieldFacts[];
}

export interface KindFacts {
  key: string;
  recordSet: string;
  record: string;
  /** A record with its size before it; empty for a message. */
  framed: string;
  /** Numbers of records that have no place of their own in a line, with their defaults. */
  own: [string, number][];
  payload: string;
  timestamps: boolean;
  relativeOffsets: boolean;
  checksum: ChecksumFacts;
}

export interface MessageFacts {
  key: string;
  name: string;
  topic: string;
  role: 'key' | 'value' | 'record' | 'embedded';
  number: number | null;
  versions: [number, number];
  releases: [string, string] | null;
  since: string | null;
}

interface AllFacts {
  version: string;
  specification: string;
  types: Record<string, TypeFacts>;
  enums: Record<string, Record<string, [string, string]>>;
  framing: { size: number; minimum: number; upToMagic: number; path: string; largestHeader: number };
  kinds: Record<string, KindFacts>;
  headers: Record<
    string,
    {
      size: number;
      integers: Record<string, [number, number, boolean]>;
      bits: Record<string, [number, number, number, number]>;
    }
  >;
  /** Names in a header that say how what may be compressed is read. */
  readBy: string[];
  /** Bits of integers of variable length, and whether they have a sign. */
  varints: Record<string, [number, boolean]>;
  /** Patterns of numbers as a person writes them. */
  numerals: { integer: string; decimal: string };
  /** Fields that number the records of a batch: of a record, and of the last one. */
  numbered: [string, string];
  codecs: string[];
  timestampTypes: string[];
  noTimestampType: string;
  maxOutput: number;
  topics: string[];
  snapshotTopic: string;
  schemasTopic: string;
  /** Texts of schemas of Protobuf that others import without a reference to them, by their paths. */
  protos: Record<string, string>;
  heads: Record<string, [string, string, number, boolean][]>;
  messages: MessageFacts[];
  embedded: { protocol: string; fields: Record<string, string> };
  shownBefore: Record<string, string[]>;
  unknownTags: string;
  frame: string[];
  consequences: Record<string, Record<string, [string, string]>>;
  undecoded: Record<string, { known: [string, string]; unknown: [string, string] }>;
  files: {
    suffixes: Record<string, FileFacts>;
    names: Record<string, string>;
    states: string[];
    largestOffset: string;
  };
}

/** A kind of files: the type that reads it whole, and that of its entries, if all have one size. */
export interface FileFacts {
  kind: string;
  page: string;
  type: string;
  entry: string | null;
  preallocated: boolean;
  /** An index of the largest numbers so far: the field of an entry, and the number of headers. */
  largest: [string, string] | null;
}

export const FACTS = facts as unknown as AllFacts;

/** Facts of a kind of files; of a text file there are none. */
export function fileFacts(kind: string): FileFacts | undefined {
  return Object.values(FACTS.files.suffixes).find((file) => file.kind === kind);
}

/** Facts of a type; the generated tables have all types that generated classes have. */
export function typeFacts(key: string): TypeFacts {
  const found = FACTS.types[key];
  if (found === undefined) throw new Error(`no type ${key}`);
  return found;
}

/** Name of a field in the classes of the official compiler: `baseOffset`. */
export function camel(id: string): string {
  return id.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
