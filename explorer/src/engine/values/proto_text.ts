/** The text of a Protobuf schema: what it declares, in its order. Options are passed over. */
import { DEEPEST, NotDecoded } from './undecoded';

export interface ProtoField {
  name: string;
  number: number;
  /** Name of the type as it is written, and the scope that it is written in. */
  type: string;
  scope: string;
  label: 'optional' | 'required' | 'repeated' | '';
  /** Number of its `oneof` in the message; -1 for none. */
  oneof: number;
  isGroup: boolean;
  /** Of a file of proto3: a field without a label is always there. */
  isProto3: boolean;
}

export interface ProtoMessage {
  name: string;
  fields: ProtoField[];
  /** Messages in it in the order of protoc: the entry of a map has the place of its field. */
  nested: ProtoMessage[];
  /** The entry of a map, which is in no text. */
  isEntry: boolean;
}

export interface ProtoEnum {
  name: string;
  /** The first name of each number. */
  names: Map<number, string>;
  /** Whether it has no other numbers than these. */
  isClosed: boolean;
}

export interface ProtoFile {
  messages: ProtoMessage[];
  /** All enumerations, those in messages too. */
  enums: ProtoEnum[];
  /** Fields that are added to messages of these names. */
  extensions: { extended: string; scope: string; field: ProtoField }[];
}

const BLANK = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const TOKEN = /"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'|\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\d(?:[eE][+-]|[\w.])*|[^\s\w"']/y;
const OPENING = '{[(<';
const CLOSING = '}])>';

class Parser {
  private at = 0;
  private isProto3 = false;
  private readonly file: ProtoFile = { messages: [], enums: [], extensions: [] };
  private token = '';

  constructor(private readonly text: string) {
    this.take();
  }

  // -- tokens --------------------------------------------------------------------------------

  /** The token, which becomes the next one; empty at the end. */
  private take(): string {
    const taken = this.token;
    for (BLANK.lastIndex = this.at; BLANK.test(this.text); ) this.at = BLANK.lastIndex;
    if (this.text.startsWith('/*', this.at)) this.wrong('a comment that does not end');
    TOKEN.lastIndex = this.at;
    this.token = TOKEN.exec(this.text)?.[0] ?? '';
    if (!this.token && this.at < this.text.length) this.wrong('this begins nothing');
    this.at += this.token.length;
    return taken;
  }

  private wrong(what: string): never {
    const line = this.text.slice(0, this.at).split('\n').length;
    throw new NotDecoded(`line ${line} of the Protobuf schema: ${what}`);
  }

  private expect(wanted: string): void {
    if (this.take() !== wanted) this.wrong(`${wanted} is expected`);
  }

  private has(wanted: string): boolean {
    if (this.token !== wanted) return false;
    this.take();
    return true;
  }

  private word(what: string): string {
    if (!/^[A-Za-z_.]/.test(this.token)) this.wrong(`${what} is expected`);
    return this.take();
  }

  private number(): number {
    const sign = this.has('-') ? -1 : 1;
    const found = /^0[0-7]+$/.test(this.token) ? Number.parseInt(this.take(), 8) : Number(this.take() || 'x');
    if (!Number.isSafeInteger(found)) this.wrong('a number is expected');
    return sign * found;
  }

  /** Pass over what follows up to one of these, outside of brackets; it is taken. */
  private skip(...ends: string[]): string {
    for (let depth = 0; this.token; ) {
      const one = this.take();
      if (depth === 0 && ends.includes(one)) return one;
      if (OPENING.includes(one)) depth++;
      else if (CLOSING.includes(one) && depth-- === 0) break;
      if (one === '}' && depth === 0 && ends.includes('block')) return one;
    }
    return this.wrong('an end is expected');
  }

  // -- declarations --------------------------------------------------------------------------

  parse(): ProtoFile {
    let scope = '';
    while (this.token) {
      if (this.has('syntax')) {
        this.expect('=');
        const named = this.take().slice(1, -1);
        if (named !== 'proto2' && named !== 'proto3') this.wrong(`there is no syntax ${named}`);
        this.isProto3 = named === 'proto3';
        this.expect(';');
      } else if (this.token === 'edition') this.wrong('editions are not read here; kafkaspec export --value reads them');
      else if (this.has('package')) {
        scope = this.word('a package');
        this.expect(';');
      } else if (this.has('message')) this.file.messages.push(this.message(scope, 1));
      else if (this.has('enum')) this.enumeration(scope);
      else if (this.has('extend')) this.extend(scope, this.file.messages, 1);
      else if (this.has('service')) this.skip('block');
      else if (this.has('import') || this.has('option')) this.skip(';');
      else if (!this.has(';')) this.wrong(`${this.token} declares nothing`);
    }
    return this.file;
  }

  private message(scope: string, depth: number, named = this.word('the name of a message')): ProtoMessage {
    const made: ProtoMessage = { name: scope ? `${scope}.${named}` : named, fields: [], nested: [], isEntry: false };
    let oneofs = 0;
    if (depth > DEEPEST) this.wrong(`more than ${DEEPEST} levels`);
    this.expect('{');
    while (!this.has('}')) {
      if (this.has('message')) made.nested.push(this.message(made.name, depth + 1));
      else if (this.has('enum')) this.enumeration(made.name);
      else if (this.has('extend')) this.extend(made.name, made.nested, depth);
      else if (this.has('oneof')) {
        this.word('the name of a oneof');
        this.expect('{');
        while (!this.has('}')) {
          if (this.has('option')) this.skip(';');
          else made.fields.push(this.field(made.name, made.nested, depth, oneofs));
        }
        oneofs++;
      } else if (['option', 'extensions', 'reserved'].includes(this.token)) this.skip(';');
      else if (!this.has(';')) made.fields.push(this.field(made.name, made.nested, depth));
    }
    return made;
  }

  private field(scope: string, nested: ProtoMessage[], depth: number, oneof = -1): ProtoField {
    let label: ProtoField['label'] = '';
    for (const one of ['optional', 'required', 'repeated'] as const) if (oneof < 0 && label === '' && this.has(one)) label = one;
    let type = this.word('a field');
    const { isProto3 } = this;
    const plain = { scope, oneof, isGroup: false, isProto3 };
    if (type === 'group') {
      const name = this.word('the name of a group');
      const number = this.fieldNumber();
      const group = this.message(scope, depth + 1, name);
      nested.push(group);
      return { ...plain, name: name.toLowerCase(), number, type: `.${group.name}`, label, isGroup: true };
    }
    let entry: ProtoMessage | null = null;
    if (type === 'map' && this.has('<')) {
      const key = this.word('the type of keys');
      this.expect(',');
      const value = this.word('the type of values');
      this.expect('>');
      const part = (name: string, number: number, of: string): ProtoField => ({ ...plain, name, number, type: of, label: '', oneof: -1 });
      entry = { name: '', fields: [part('key', 1, key), part('value', 2, value)], nested: [], isEntry: true };
      label = 'repeated';
    }
    const name = this.word('the name of a field');
    const number = this.fieldNumber();
    if (entry !== null) {
      entry.name = `${scope}.${entryName(name)}`;
      nested.push(entry);
      type = `.${entry.name}`;
    }
    this.expect(';');
    return { ...plain, name, number, type, label };
  }

  private fieldNumber(): number {
    this.expect('=');
    const number = this.number();
    if (number < 1 || number >= 1 << 29) this.wrong(`no field has the number ${number}`);
    if (this.has('[')) this.skip(']');
    return number;
  }

  private enumeration(scope: string): void {
    const named = this.word('the name of an enum');
    const names = new Map<number, string>();
    this.expect('{');
    while (!this.has('}')) {
      if (this.token === 'option' || this.token === 'reserved') this.skip(';');
      else if (!this.has(';')) {
        const name = this.word('a value of an enum');
        this.expect('=');
        const number = this.number();
        if (!names.has(number)) names.set(number, name);
        if (this.has('[')) this.skip(']');
        this.expect(';');
      }
    }
    if (!names.size) this.wrong('an enum without a value');
    this.file.enums.push({ name: scope ? `${scope}.${named}` : named, names, isClosed: !this.isProto3 });
  }

  private extend(scope: string, nested: ProtoMessage[], depth: number): void {
    const extended = this.word('the name of a message');
    this.expect('{');
    while (!this.has('}')) {
      if (this.has(';')) continue;
      const field = this.field(scope, nested, depth);
      this.file.extensions.push({ extended, scope, field: { ...field, name: `[${scope ? `${scope}.` : ''}${field.name}]` } });
    }
  }
}

/** As protoc calls the entry of a map: by_day, ByDayEntry. */
export function entryName(field: string): string {
  return `${field.split('_').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}Entry`;
}

/** What a text declares. */
export function parseProto(text: string): ProtoFile {
  return new Parser(text).parse();
}
