/** Going somewhere: an offset, a time, a byte, a key; the steps of the look-up. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { bytes, many, printable, time } from '../state/format';
import {
  byId,
  chooseEntry,
  choose,
  chooseRow,
  current,
  files,
  findKey,
  goTo,
  goToByte,
  lookUp,
  openHit,
  search,
  stopSearch,
  where,
  type Where,
} from '../state/store';
import type { Step } from '../../engine/api';

const how = signal<'equals' | 'prefix' | 'contains'>('equals');
const everywhere = signal(false);

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

export function KeyFilter(): JSX.Element {
  return (
    <form
      class="tool"
      onSubmit={(event) => {
        event.preventDefault();
        const input = event.currentTarget.elements.namedItem('key');
        if (input instanceof HTMLInputElement) void findKey(input.value, how.value, everywhere.value);
      }}
    >
      <select
        aria-label="Key"
        id="how"
        value={how.value}
        onChange={(event) => (how.value = event.currentTarget.value as typeof how.value)}
      >
        <option value="equals">Key is</option>
        <option value="prefix">Key begins</option>
        <option value="contains">Key has</option>
      </select>
      <input id="key" name="key" autocomplete="off" spellcheck={false} aria-label="Key to find" placeholder="key" />
      {files.value.filter((file) => file.isLog).length > 1 && (
        <label>
          <input
            type="checkbox"
            checked={everywhere.value}
            onChange={(event) => (everywhere.value = event.currentTarget.checked)}
          />{' '}
          all files
        </label>
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
  lookUp.value = kept;
  if (step.entry !== null) await chooseEntry(step.entry);
  else if (step.row !== null) await chooseRow(step.row);
  await goToByte(file, step.start);
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

export function Hits(): JSX.Element | null {
  const found = search.value;
  if (!found) return null;
  return (
    <section class="result" aria-label="Records with the key" id="hits">
      <header>
        <h2>
          {many(found.found, 'record')} <small>“{printable(found.key)}”</small>
        </h2>
        {!found.done && (
          <progress max={found.size} value={found.position} aria-label="Searched">
            {bytes(found.position)}
          </progress>
        )}
        <button class="close" aria-label={found.done ? 'Close the records' : 'Stop'} onClick={stopSearch}>
          ×
        </button>
      </header>
      <ol tabIndex={0} aria-label="Found records">
        {found.hits.slice(0, MOST).map((hit) => (
          <li>
            <button onClick={() => void openHit(hit)}>offset {String(hit.offset)}</button> {time(hit.timestamp)}{' '}
            {hit.file !== current.value?.info.id && printable(byId(hit.file)?.info.path ?? '')}
          </li>
        ))}
        {found.found > MOST && <li>{many(found.found - MOST, 'more record')}</li>}
      </ol>
    </section>
  );
}
