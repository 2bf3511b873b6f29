/** Going somewhere: an offset, a time, a byte; the steps of the look-up; searches and what they find. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { bytes, count, many, parseTime, printable, time } from '../state/format';
import {
  attempt,
  byId,
  closeSearch,
  chooseEntry,
  choose,
  chooseRow,
  current,
  decodes,
  files,
  find,
  goTo,
  goToByte,
  lookUp,
  openHit,
  search,
  segmentsOf,
  stopSearch,
  where,
  type Scope,
  type Search,
  type Where,
} from '../state/store';
import { LARGEST, RECORD_MS, type How, type Step, type Wanted, type Where as InRecord } from '../../engine/api';
import { SaveAs, saveFound } from './saving';

const place = signal('key');
const how = signal<How>('equals');
const scope = signal<Scope>('file');
const timed = signal(false);
const raw = signal(false);

const HINTS: Record<Where, string> = {
  offset: 'such as 42',
  time: '2026-01-31T12:00',
  byte: '1184 or 0x4a0',
};

export function GoTo(): JSX.Element {
  return (
    <form
      class="tool"
      onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.elements.namedItem('place');
        if (input instanceof HTMLInputElement) void goTo(where.value, input.value);
      }}
    >
      <select
        aria-label="Go to"
        id="where"
        value={where.value}
        onChange={(event) => (where.value = event.currentTarget.value as Where)}
      >
        <option value="offset">Offset</option>
        <option value="time">Time</option>
        <option value="byte">Byte</option>
      </select>
      <input
        id="place"
        name="place"
        autocomplete="off"
        spellcheck={false}
        aria-label={`Go to ${where.value}`}
        placeholder={HINTS[where.value]}
      />
      <button>Go</button>
    </form>
  );
}

const PLACES: Record<string, { text: string; where: InRecord[] }> = {
  key: { text: 'Key', where: ['key'] },
  value: { text: 'Value', where: ['value'] },
  headers: { text: 'Header', where: ['headers'] },
  any: { text: 'Anything', where: ['key', 'value', 'headers'] },
};
const HOWS: Record<How, string> = { equals: 'is', prefix: 'begins with', contains: 'has', regex: 'matches', json: 'JSON path' };
const FINDS: Record<How, string> = {
  equals: 'text', prefix: 'text', contains: 'text', regex: '^order-[0-9]+$', json: '$.lines[*].sku = "K7"',
};

/** A time of a field, null without one. */
function bound(form: HTMLFormElement, name: string): bigint | null {
  const input = form.elements.namedItem(name);
  if (!(input instanceof HTMLInputElement) || !input.value.trim()) return null;
  const found = parseTime(input.value);
  if (found === null) throw new Error(`“${input.value}” is not a time (milliseconds, or ISO 8601)`);
  return found;
}

export function Find(): JSX.Element {
  const file = current.value;
  const several = file ? segmentsOf(file).length > 1 : false;
  const logs = files.value.filter((one) => one.isLog).length;
  const within = several && scope.value === 'file' ? 'partition' : scope.value;
  return (
    <form
      class="tool find"
      onSubmit={(event) => {
        event.preventDefault();
        const form = event.currentTarget;
        const input = form.elements.namedItem('key');
        if (!(input instanceof HTMLInputElement)) return;
        void attempt(async () => {
          const { where } = PLACES[place.value] ?? PLACES['key']!;
          const [from, to] = [bound(form, 'from'), bound(form, 'to')];
          if (from !== null && to !== null && to < from) throw new Error('the search ends before it begins');
          await find({ text: input.value, how: how.value, where, from, to, bytes: raw.value && decodes.value }, file ? within : 'all');
        });
      }}
    >
      <select aria-label="Where to find it" id="what" value={place.value} onChange={(event) => (place.value = event.currentTarget.value)}>
        {Object.entries(PLACES).map(([name, { text }]) => (
          <option value={name}>{text}</option>
        ))}
      </select>
      <select aria-label="How to find it" id="how" value={how.value} onChange={(event) => (how.value = event.currentTarget.value as How)}>
        {Object.entries(HOWS).map(([name, text]) => (
          <option value={name}>{text}</option>
        ))}
      </select>
      <input id="key" name="key" autocomplete="off" spellcheck={false} aria-label="What to find" placeholder={FINDS[how.value]} />
      {timed.value && (
        <>
          <input id="from" name="from" autocomplete="off" spellcheck={false} aria-label="From this time" placeholder="from 2026-01-31T12:00" />
          <input id="to" name="to" autocomplete="off" spellcheck={false} aria-label="To this time" placeholder="to" />
        </>
      )}
      {decodes.value && (
        <button
          type="button"
          id="raw"
          aria-pressed={raw.value}
          title="Search keys and values as bytes, and not as they are decoded"
          onClick={() => (raw.value = !raw.value)}
        >
          Bytes
        </button>
      )}
      <button type="button" id="timed" aria-pressed={timed.value} title="Only records of a time" onClick={() => (timed.value = !timed.value)}>
        Time
      </button>
      {file && logs > 1 && (
        <select aria-label="Files to search" id="scope" value={within} onChange={(event) => (scope.value = event.currentTarget.value as Scope)}>
          {several ? <option value="partition">in the partition</option> : <option value="file">in this file</option>}
          <option value="all">in all files</option>
        </select>
      )}
      <button>Find</button>
    </form>
  );
}

async function follow(step: Step): Promise<void> {
  const file = byId(step.file);
  if (!file) return;
  const kept = lookUp.value;
  if (current.value !== file) await choose(file);
  if (step.entry !== null) await chooseEntry(step.entry);
  else if (step.row !== null) await chooseRow(step.row);
  if (step.end > step.start) await goToByte(file, step.start);
  lookUp.value = kept;
}

export function Steps(): JSX.Element | null {
  const found = lookUp.value;
  if (!found) return null;
  return (
    <section class="result" aria-label="Steps of the look-up" id="steps">
      <header>
        <h2>Look-up: {found.row === null ? 'nothing found' : `offset ${found.offset ?? '–'}`}</h2>
        <button class="close" aria-label="Close the steps" onClick={() => (lookUp.value = null)}>
          ×
        </button>
      </header>
      <ol>
        {found.steps.map((step) => (
          <li>
            <button onClick={() => void follow(step)}>{step.where}</button> {printable(step.text)}
          </li>
        ))}
      </ol>
    </section>
  );
}

const MOST = 500;

/** What a search is for, in words. */
function inWords({ text, how, where, from, to }: Wanted): string {
  const named = Object.values(PLACES).find((one) => one.where.join() === where.join())?.text ?? '';
  const what = typeof text === 'string' && text !== '' ? `${named} ${HOWS[how]} “${text}”` : how === 'equals' ? `${named} is empty` : 'Every record';
  return [what, from !== null && `from ${time(from)}`, to !== null && `to ${time(to)}`].filter(Boolean).join(' ');
}

/** What a search did not look at, and why. */
function NotSearched({ found }: { found: Search }): JSX.Element | null {
  if (!found.left) return null;
  const { slow, rest, large, damaged, unread } = found.left;
  if (!slow.length && !rest && !large && !damaged) return null;
  const file = rest && byId(rest.file);
  return (
    <p class="finding warning" role="note" id="not-searched">
      {slow.length > 0 && (
        <>
          {many(slow.length, 'record')} not searched, as the expression took more than {RECORD_MS / 1000} s on each:{' '}
          {slow.map((one) => (
            <button class="small" onClick={() => void openHit(one)}>
              offset {String(one.offset)}
            </button>
          ))}{' '}
        </>
      )}
      {rest && (
        <>
          {found.stopped ? 'The search was stopped' : 'The search ended there'}: {rest.least && 'at least '}
          {many(rest.records, 'record')} from offset {String(rest.offset)} on {file && <>of {printable(file.info.path)} </>}
          {rest.files > 0 && <>and {many(rest.files, 'more file')} </>}not searched.{' '}
        </>
      )}
      {(large > 0 || damaged > 0) && (
        <>
          Passed over: {large > 0 && <>{many(large, 'batch', 'batches')} of more than {bytes(LARGEST)}</>}
          {large > 0 && damaged > 0 && ' and '}
          {damaged > 0 && many(damaged, 'damaged place')}
          {unread > 0 && <>, with {many(unread, 'record')} by the headers</>}.
        </>
      )}
    </p>
  );
}

/** What a search looked at: bytes, or what is decoded. */
function Looked({ found }: { found: Search }): JSX.Element | null {
  if (!found.left) return null;
  const { searched, decoded, undecoded } = found.left;
  return (
    <p class="hint" id="looked">
      {many(searched, 'record')} searched: {decoded > 0 ? <>{count(decoded)} keys and values as they are decoded, all else as bytes</> : 'as bytes'}
      {undecoded > 0 && <>; {count(undecoded)} that their schema does not read are among these</>}.
    </p>
  );
}

export function Hits(): JSX.Element | null {
  const found = search.value;
  if (!found) return null;
  return (
    <section class="result" aria-label="Records that were found" id="hits">
      <header>
        <h2>
          {many(found.found, 'record')} <small>{printable(inWords(found.wanted))}</small>
        </h2>
        {!found.done && (
          <>
            <progress max={found.size} value={found.position} aria-label="Searched">
              {bytes(found.position)}
            </progress>
            <button class="small" id="stop" onClick={stopSearch}>
              Stop
            </button>
          </>
        )}
        {found.done && found.found > 0 && (
          <span class="right">
            <SaveAs id="found" save={(format) => void saveFound(format)} />
          </span>
        )}
        <button class="close" aria-label={found.done ? 'Close the records' : 'Stop, and close the records'} onClick={closeSearch}>
          ×
        </button>
      </header>
      <NotSearched found={found} />
      <Looked found={found} />
      <ol tabIndex={0} aria-label="Found records">
        {found.hits.slice(0, MOST).map((hit) => (
          <li>
            <button onClick={() => void openHit(hit)}>offset {String(hit.offset)}</button> {time(hit.timestamp)}{' '}
            {hit.file !== current.value?.info.id && printable(byId(hit.file)?.info.path ?? '')}
          </li>
        ))}
        {found.found > MOST && <li>{many(found.found - MOST, 'more record')}: all of them are saved</li>}
      </ol>
    </section>
  );
}
