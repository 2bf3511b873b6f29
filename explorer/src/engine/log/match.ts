/** Which records a search wants: by their keys, values and headers, as bytes or decoded, and by time. */
import type { Counts, Wanted } from '../api';
import { unreadable } from '../bytes/source';
import { decodeRecord, messageJson } from '../messages/messages';
import { javaText } from '../messages/json';
import type { RawRecord } from './batch';
import type { SchemaTexts, Schemas } from '../values/schemas';
import type { Columns } from './walk';
import type { Watch } from './watch';

const ENCODER = new TextEncoder();
const EQUALS = ENCODER.encode('=')[0]!;

/** Whether bytes, or the text of them, are what is looked for. */
type Test = (data: Uint8Array, start: number, size: number) => boolean;

const invalid = (detail: string): Error => unreadable(detail, 'invalid_value');

/** Where bytes occur in others; -1 for nowhere. After Horspool, so that long texts are found fast. */
function searcher(wanted: Uint8Array): (data: Uint8Array, start: number, end: number) => number {
  const last = wanted.length - 1;
  const skip = new Int32Array(256).fill(wanted.length);
  for (let at = 0; at < last; at++) skip[wanted[at]!] = last - at;
  return (data, start, end) => {
    for (let at = start + last; at < end; at += skip[data[at]!]!) {
      let back = last;
      while (back >= 0 && data[at - last + back] === wanted[back]) back--;
      if (back < 0) return at - last;
    }
    return -1;
  };
}

function begins(data: Uint8Array, start: number, wanted: Uint8Array): boolean {
  for (let at = 0; at < wanted.length; at++) if (data[start + at] !== wanted[at]) return false;
  return true;
}

function expression(text: string): RegExp {
  try {
    return new RegExp(text, 'u');
  } catch (error) {
    throw invalid(`“${text}” is no regular expression: ${error instanceof Error ? error.message.replace(/^.*\/u?: /, '') : error}`);
  }
}

// -- paths of JSON -------------------------------------------------------------------------------

const STEP = /\s*(?:\.?([^\s.[\]=<>!~'"]+)|\[(\d+)\]|\[(\*)\]|\['([^']*)'\]|\["([^"]*)"\])/y;
const COMPARED = /\s*(==?|!=|<=|>=|<|>|~)\s*(.+?)\s*$/sy;

/** A test of JSON by a path and, perhaps, what is there: `$.lines[*].sku = "K7"`. */
function jsonTest(text: string): (json: unknown, source: string) => boolean {
  const path: (string | number | null)[] = [];
  let at = /^\s*\$?/.exec(text)![0].length;
  for (;;) {
    STEP.lastIndex = at;
    const step = STEP.exec(text);
    if (step === null || (path.length > 0 && /^\s*[^\s.[]/.test(step[0]))) break;
    at = STEP.lastIndex;
    const name = step[1] ?? step[4] ?? step[5];
    path.push(step[3] !== undefined ? null : step[2] !== undefined ? Number(step[2]) : name!);
  }
  COMPARED.lastIndex = at;
  const compared = COMPARED.exec(text);
  if (compared === null && text.slice(at).trim() !== '') {
    throw invalid(`“${text}” is no path of JSON, such as $.customer.id = 42 or lines[*].sku ~ ^K`);
  }
  const holds = compared === null ? () => true : comparison(compared[1]!, compared[2]!);
  const visit = (json: unknown, depth: number, source: string): boolean => {
    if (depth === path.length) return json !== undefined && holds(json, source);
    if (typeof json !== 'object' || json === null) return false;
    const step = path[depth]!;
    if (path[depth] === null) return Object.values(json).some((item) => visit(item, depth + 1, source));
    return Object.hasOwn(json, step) && visit((json as Record<string | number, unknown>)[step], depth + 1, source);
  };
  return (json, source) => visit(json, 0, source);
}

function comparison(operator: string, text: string): (json: unknown, source: string) => boolean {
  if (operator === '~') {
    const wanted = expression(text);
    return (json) => wanted.test(typeof json === 'string' ? json : JSON.stringify(json));
  }
  let wanted: unknown = text;
  try {
    wanted = JSON.parse(text);
  } catch {
    // A text without quotation marks.
  }
  // Beyond 53 bits other numbers are read as the same one: the digits have to be there too.
  const digits = typeof wanted === 'number' && !Number.isSafeInteger(wanted) && /^-?\d+$/.test(text) ? text : '';
  if (typeof wanted === 'object' && wanted !== null) throw invalid('only a number, a text, true, false or null is compared');
  const same = (json: unknown, source: string): boolean => json === wanted && source.includes(digits);
  if (operator === '!=') return (json, source) => !same(json, source);
  if (operator === '=' || operator === '==') return same;
  if (typeof wanted !== 'number' && typeof wanted !== 'string') throw invalid(`${text} is neither more nor less than anything`);
  const value = wanted;
  return (json) => {
    if (typeof json !== typeof value) return false;
    const one = json as typeof value;
    return operator === '<' ? one < value : operator === '>' ? one > value : operator === '<=' ? one <= value : one >= value;
  };
}

// -- records -------------------------------------------------------------------------------------

function testOf(wanted: Wanted): Test {
  const { how } = wanted;
  const text = typeof wanted.text === 'string' ? wanted.text : javaText(wanted.text);
  if (how === 'regex') {
    const found = expression(text);
    return (data, start, size) => found.test(javaText(data.subarray(start, start + size)));
  }
  if (how === 'json') {
    const holds = jsonTest(text);
    return (data, start, size) => {
      const source = javaText(data.subarray(start, start + size));
      try {
        return holds(JSON.parse(source), source);
      } catch (error) {
        // No JSON, or nested more deeply than it can be read or written.
        if (error instanceof SyntaxError || error instanceof RangeError) return false;
        throw error;
      }
    };
  }
  const bytes = bytesOf(wanted);
  if (how === 'equals') return (data, start, size) => size === bytes.length && begins(data, start, bytes);
  if (how === 'prefix') return (data, start, size) => size >= bytes.length && begins(data, start, bytes);
  const find = searcher(bytes);
  return (data, start, size) => size >= bytes.length && find(data, start, start + size) >= 0;
}

function bytesOf(wanted: Wanted): Uint8Array {
  return typeof wanted.text === 'string' ? ENCODER.encode(wanted.text) : wanted.text;
}

/** Whether a search looks at what schemas decode. */
function decodes({ bytes, where }: Wanted): boolean {
  return !bytes && (where.includes('key') || where.includes('value'));
}

/** Whether it may take for ever to look at a record, or at many whose schema makes much of few bytes. */
export function mayHang(wanted: Wanted | null, schemas: SchemaTexts | null): boolean {
  return wanted !== null && (wanted.how === 'regex' || wanted.how === 'json' || (schemas !== null && decodes(wanted)));
}

/** Says of records whether they are wanted. */
export class Matcher {
  private readonly test: Test;
  /** All records, whatever is in them. */
  private readonly all: boolean;
  private readonly key: boolean;
  private readonly value: boolean;
  private readonly headers: boolean;
  /** A header as a whole may be wanted: `name=value`. */
  private readonly joined: boolean;
  /** Finds what every wanted record has; null where nothing is known. */
  private readonly needed: ReturnType<typeof searcher> | null;
  private readonly topic: string | null;
  private readonly schemas: Schemas | null;
  private counted = { decoded: 0, undecoded: 0 };

  /**
   * @param topic one of Kafka's own, whose messages are searched as JSON too; null for others.
   * @param watch is told of each record before it is looked at.
   * @param schemas decode keys and values before they are looked at; null for none.
   * @throws EngineError if the text is no expression, or no path.
   */
  constructor(
    private readonly wanted: Wanted, topic: string | null, private readonly watch: Watch | null = null, schemas: Schemas | null = null,
  ) {
    const { how, where } = wanted;
    this.topic = wanted.bytes ? null : topic;
    this.schemas = decodes(wanted) && topic === null ? schemas : null;
    const bytes = bytesOf(wanted);
    this.all = bytes.length === 0 && how !== 'equals';
    this.test = testOf(wanted);
    [this.key, this.value, this.headers] = [where.includes('key'), where.includes('value'), where.includes('headers')];
    this.joined = this.headers && how !== 'json' && (how === 'regex' || bytes.includes(EQUALS));
    const plain = how === 'equals' || how === 'prefix' || how === 'contains';
    const needed = plain && !this.all && bytes.length > 0 && this.byColumns && this.schemas === null && !this.joined;
    this.needed = needed ? searcher(bytes) : null;
  }

  /** How many keys and values were decoded since this was asked last. */
  taken(): Pick<Counts, 'decoded' | 'undecoded'> {
    const taken = this.counted;
    this.counted = { decoded: 0, undecoded: 0 };
    return taken;
  }

  /** Whether records in columns can be judged: messages of Kafka's own are read first. */
  get byColumns(): boolean {
    return this.topic === null;
  }

  /** Whether a batch may have a wanted record, by the largest timestamp in its header. */
  inBatch(maxTimestamp: bigint): boolean {
    const { from } = this.wanted;
    return from === null || maxTimestamp >= from;
  }

  /** Whether a record is to be looked at: of a search that begins again, not all are. */
  begins(index: number, offset: () => bigint): boolean {
    return this.watch?.begins(index, offset) ?? true;
  }

  /** Whether a wanted record may be in these bytes. */
  inBytes(payload: Uint8Array): boolean {
    return this.needed === null || this.needed(payload, 0, payload.length) >= 0;
  }

  private inTime(timestamp: bigint): boolean {
    const { from, to } = this.wanted;
    return (from === null || timestamp >= from) && (to === null || (timestamp <= to && timestamp >= 0n));
  }

  /** Whether a record in columns is wanted. */
  columns(payload: Uint8Array, columns: Columns, at: number, timestamp: () => bigint): boolean {
    const { from, to } = this.wanted;
    if ((from !== null || to !== null) && !this.inTime(timestamp())) return false;
    const test = (name: string, item: number, of: Test = this.test): boolean => {
      const size = columns[`${name}.size`]![item]!;
      return size >= 0 && of(payload, columns[`${name}.start`]![item]!, size);
    };
    if (this.all || (this.key && test('key', at, this.content)) || (this.value && test('value', at, this.content))) return true;
    if (!this.headers) return false;
    const first = columns['headers.first']![at]!;
    const last = first + columns['headers.count']![at]!;
    for (let item = first; item < last; item++) {
      if (test('headers.key', item) || test('headers.value', item)) return true;
      if (!this.joined) continue;
      const part = (name: string): Uint8Array => {
        const start = columns[`headers.${name}.start`]![item]!;
        return payload.subarray(start, start + Math.max(0, columns[`headers.${name}.size`]![item]!));
      };
      if (this.header(part('key'), part('value'))) return true;
    }
    return false;
  }

  private header(key: Uint8Array, value: Uint8Array): boolean {
    const whole = new Uint8Array(key.length + 1 + value.length);
    whole.set(key);
    whole[key.length] = EQUALS;
    whole.set(value, key.length + 1);
    return this.test(whole, 0, whole.length);
  }

  /** A key or value, as a schema decodes it if there is one for it. */
  private readonly content: Test = (data, start, size) => {
    const found = this.schemas?.read(data.subarray(start, start + size)) ?? null;
    if (found?.json != null) {
      this.counted.decoded++;
      return this.text(found.json);
    }
    if (found !== null) this.counted.undecoded++;
    return this.test(data, start, size);
  };

  /** What is decoded: JSON, or what it says if it is a text. */
  private text(json: string): boolean {
    const plain = json.startsWith('"') && this.wanted.how !== 'json' ? (JSON.parse(json) as string) : json;
    return this.whole(ENCODER.encode(plain));
  }

  private whole(data: Uint8Array | null): boolean {
    return data !== null && this.test(data, 0, data.length);
  }

  /** Whether a record is wanted. */
  record(record: RawRecord, isControl: boolean): boolean {
    if (!this.inTime(record.timestamp)) return false;
    if (this.all) return true;
    const [key, value] = [record.key?.bytes ?? null, record.value?.bytes ?? null];
    const test = (data: Uint8Array | null): boolean => data !== null && (isControl ? this.test : this.content)(data, 0, data.length);
    if ((this.key && test(key)) || (this.value && test(value))) return true;
    if (this.headers && record.headers.some((each) =>
      this.whole(each.key) || this.whole(each.value) || (this.joined && this.header(each.key, each.value ?? new Uint8Array(0))),
    )) return true;
    if (this.topic === null || isControl) return false;
    const found = decodeRecord(this.topic, key, value);
    const message = (part: typeof found.key): boolean => {
      if (part === null) return false;
      this.counted.decoded++;
      return this.whole(ENCODER.encode(messageJson(part)));
    };
    return (this.key && message(found.key)) || (this.value && message(found.value));
  }
}
