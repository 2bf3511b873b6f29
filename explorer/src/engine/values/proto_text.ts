/** The text of a Protobuf schema: what it declares, in its order. Options are passed over. */
import { DEEPEST, NotDecoded } from './undecoded';

/** What editions let a file, and in it a field or an enumeration, choose, as far as values depend on it. */
export interface Features {
  field_presence: string;
  enum_type: string;
  message_encoding: string;
}

const CHOICES: Record<keyof Features, readonly string[]> = {
  field_presence: ['EXPLICIT', 'IMPLICIT', 'LEGACY_REQUIRED'],
  enum_type: ['OPEN', 'CLOSED'],
  message_encoding: ['LENGTH_PREFIXED', 'DELIMITED'],
};
const EDITION: Features = { field_presence: 'EXPLICIT', enum_type: 'OPEN', message_encoding: 'LENGTH_PREFIXED' };
const SYNTAXES: Record<string, Features> = { proto2: { ...EDITION, enum_type: 'CLOSED' }, proto3: { ...EDITION, field_presence: 'IMPLICIT' } };
const EDITIONS: Record<string, Features> = { 2023: EDITION, 2024: EDITION };

/** What a file has that chooses nothing itself; null where there is no such syntax or edition. */
export function featuresOf(syntax: string, edition: string | null = null): Features | null {
  const [table, name] = edition === null ? [SYNTAXES, syntax] : [EDITIONS, edition];
  return Object.hasOwn(table, name) ? { ...table[name]! } : null;
}

/** What a field or an enumeration has: its own choices, then those of the file, which may come after it. */
export function inherited(file: Features, own: Partial<Record<keyof Features, string | null>> = {}): Features {
  const made = Object.create(file) as Features;
  for (const name of Object.keys(CHOICES) as (keyof Features)[]) if (own[name]) made[name] = own[name];
  return made;
}

export interface ProtoField {
  name: string;
  number: number;
  /** Name of the type as it is written, and the scope that it is written in. */
  type: string;
  scope: string;
  label: 'optional' | 'required' | 'repeated' | '';
  /** Number of its `oneof` in the message; -1 for none. */
  oneof: number;
  features: Features;
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
  features: Features;
}

export interface ProtoFile {
  /** Paths of the files that it imports. */
  imports: string[];
  messages: ProtoMessage[];
  /** All enumerations, those in messages too. */
  enums: ProtoEnum[];
  /** Fields that are added to messages of these names. */
  extensions: { extended: string; scope: string; field: ProtoField }[];
}

const BLANK = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const TOKEN = /"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'|\.?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*|\d(?:[eE][+-]|[\w.])*|[^\s\w"']/y;
const DECLARES = /\s+(?:message|enum)\s+\w+\s*\{/y;
const OPENING = '{[(<';
const CLOSING = '}])>';

class Parser {
  private at = 0;
  private features = featuresOf('proto2')!;
  private readonly file: ProtoFile = { imports: [], messages: [], enums: [], extensions: [] };
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
        const named = this.string();
        this.features = featuresOf(named) ?? this.wrong(`there is no syntax ${named}`);
        this.expect(';');
      } else if (this.has('edition')) {
        this.expect('=');
        const named = this.string();
        this.features = featuresOf('', named) ?? this.wrong(`edition ${named} is not known here`);
        this.expect(';');
      } else if (this.has('package')) {
        scope = this.word('a package');
        this.expect(';');
      } else if (this.isVisibility()) this.take();
      else if (this.has('message')) this.file.messages.push(this.message(scope, 1));
      else if (this.has('enum')) this.enumeration(scope);
      else if (this.has('extend')) this.extend(scope, this.file.messages, 1);
      else if (this.has('service')) this.skip('block');
      else if (this.has('import')) this.importing();
      else if (this.has('option')) this.options(this.features, ';');
      else if (!this.has(';')) this.wrong(`${this.token} declares nothing`);
    }
    return this.file;
  }

  private importing(): void {
    const isOption = this.has('option'); // what it declares is for options alone
    if (this.token === 'public' || this.token === 'weak') this.take();
    const path = this.string();
    if (!isOption) this.file.imports.push(path);
    this.expect(';');
  }

  /** Whether a word of edition 2024 stands here, which says who may use a declaration. */
  private isVisibility(): boolean {
    DECLARES.lastIndex = this.at;
    return (this.token === 'export' || this.token === 'local') && DECLARES.test(this.text);
  }

  private string(): string {
    if (!/^["']/.test(this.token)) this.wrong('a text is expected');
    return this.take().slice(1, -1);
  }

  /** Options up to an end; what they choose of features is kept. */
  private options(into: Features, end: ';' | ']'): void {
    for (let before = ','; before === ','; ) {
      const named = /^features\.(\w+)$/.exec(this.token)?.[1];
      if (named !== undefined) {
        this.take();
        this.choose(into, named);
      } else if (this.has('features') && this.has('=') && this.has('{')) {
        while (!this.has('}')) {
          const named = this.has('[') ? this.skip(']') : this.word('the name of a feature');
          this.choose(into, named);
          if (this.token === ',' || this.token === ';') this.take();
        }
      }
      before = this.skip(',', end);
    }
  }

  private choose(into: Features, name: string): void {
    const known = Object.hasOwn(CHOICES, name);
    if (!this.has('=') && !this.has(':') && this.token !== '{') return;
    if (this.has('{')) return void this.skip('}');
    const value = this.take();
    if (!known) return;
    const choices = CHOICES[name as keyof Features];
    if (!choices.includes(value)) this.wrong(`${name} is ${choices.join(' or ')}, not ${value}`);
    into[name as keyof Features] = value;
  }

  private message(scope: string, depth: number, named = this.word('the name of a message')): ProtoMessage {
    const made: ProtoMessage = { name: scope ? `${scope}.${named}` : named, fields: [], nested: [], isEntry: false };
    let oneofs = 0;
    if (depth > DEEPEST) this.wrong(`more than ${DEEPEST} levels`);
    this.expect('{');
    while (!this.has('}')) {
      if (this.isVisibility()) this.take();
      else if (this.has('message')) made.nested.push(this.message(made.name, depth + 1));
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
    const features = inherited(this.features);
    const plain = { scope, oneof, features };
    if (type === 'group') {
      const name = this.word('the name of a group');
      const number = this.fieldNumber(features);
      const group = this.message(scope, depth + 1, name);
      nested.push(group);
      return { ...plain, name: name.toLowerCase(), number, type: `.${group.name}`, label, features: inherited(features, { message_encoding: 'DELIMITED' }) };
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
    const number = this.fieldNumber(features);
    if (entry !== null) {
      entry.name = `${scope}.${entryName(name)}`;
      nested.push(entry);
      type = `.${entry.name}`;
    }
    this.expect(';');
    return { ...plain, name, number, type, label };
  }

  private fieldNumber(features: Features): number {
    this.expect('=');
    const number = this.number();
    if (number < 1 || number >= 1 << 29) this.wrong(`no field has the number ${number}`);
    if (this.has('[')) this.options(features, ']');
    return number;
  }

  private enumeration(scope: string): void {
    const named = this.word('the name of an enum');
    const names = new Map<number, string>();
    const features = inherited(this.features);
    this.expect('{');
    while (!this.has('}')) {
      if (this.has('option')) this.options(features, ';');
      else if (this.token === 'reserved') this.skip(';');
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
    this.file.enums.push({ name: scope ? `${scope}.${named}` : named, names, features });
  }

  private extend(scope: string, nested: ProtoMessage[], depth: number): void {
    const extended = this.word('the name of a message');
    this.expect('{');
    while (!this.has('}')) {
      if (this.has(';')) continue;
      this.file.extensions.push({ extended, scope, field: extension(this.field(scope, nested, depth)) });
    }
  }
}

/** A field that is declared elsewhere than in its message: its name is in brackets, with its scope. */
export function extension(field: ProtoField): ProtoField {
  return { ...field, name: `[${field.scope ? `${field.scope}.` : ''}${field.name}]` };
}

/** As protoc calls the entry of a map: by_day, ByDayEntry. */
export function entryName(field: string): string {
  return `${field.split('_').map((word) => word.slice(0, 1).toUpperCase() + word.slice(1)).join('')}Entry`;
}

/** What a text declares. */
export function parseProto(text: string): ProtoFile {
  return new Parser(text).parse();
}
