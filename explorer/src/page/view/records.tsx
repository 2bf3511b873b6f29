/** The records of the chosen batch, and the one that is chosen. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Content, Header } from '../../engine/api';
import { bytes, count, hexLines, lines, many, printable, time } from '../state/format';
import {
  chooseRecord,
  chosen,
  current,
  engine,
  mode,
  MODES,
  page,
  reading,
  record,
  recordAt,
  row,
  turnTo,
  type Mode,
} from '../state/store';
import { Around } from './around';
import { giving } from './schema';
import { VirtualTable } from './virtual';

const COLUMNS = [
  { name: 'Offset', kind: 'number' },
  { name: 'Time', kind: 'time' },
  { name: 'Key', kind: 'text' },
  { name: 'Value', kind: 'text wide' },
];
const PREVIEW = 200;
const LONGEST = 1 << 16;

export function preview(content: Content, message: string | null): JSX.Element | string {
  if (content.bytes === null) return <i class="null">null</i>;
  if (message !== null) return <span class="message">{printable(message.slice(0, PREVIEW))}</span>;
  if (content.text !== null) return content.size ? printable(content.text.slice(0, PREVIEW)) : <i class="null">empty</i>;
  const start = Array.from(content.bytes.subarray(0, 24), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
  return <span class="bytes">{content.size > 24 ? `${start} …` : start}</span>;
}

export function Records(): JSX.Element {
  const held = page.value;
  const total = held ? Math.max(held.total, held.first + held.records.length) : 0;
  return (
    <>
      <VirtualTable
        id="records"
        label="Records of the batch"
        columns={COLUMNS}
        count={total}
        height={24}
        chosen={record.value}
        version={held}
        none={row.value < 0 ? 'Choose a batch' : reading.value ? 'Reading …' : 'No records'}
        choose={(index) => void chooseRecord(index)}
        enter={() => document.getElementById('bytes')?.focus()}
        state={(index) => (recordAt(index)?.control ? 'control' : '')}
        cells={(index) => {
          const one = recordAt(index);
          if (!one) {
            if (held && !held.error) queueMicrotask(() => void turnTo(index));
            return null;
          }
          const value = one.control ? <b class="mark">{one.control}</b> : preview(one.value, one.value.message);
          return [String(one.offset), time(one.timestamp), preview(one.key, one.key.message), value];
        }}
      />
      {held?.error && (
        <p class="finding error" role="note">
          <b>▲ {held.error.reason}</b> Records break off: {printable(held.error.detail)}
        </p>
      )}
    </>
  );
}

// -- one record ------------------------------------------------------------------------------

const NAMES: Record<Mode, string> = { auto: 'Auto', text: 'Text', json: 'JSON', hex: 'Hex', message: 'Decoded' };

function pretty(text: string): string {
  try {
    // Numbers beyond 2^53 would lose digits: such a text stays as it is.
    if (/\d{16}/.test(text)) return text;
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The text of bytes that are UTF-8, else null. */
export function utf8(data: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return null;
  }
}

function looksLikeJson(text: string): boolean {
  return /^\s*[[{"]/.test(text);
}

/** A key or value in the way that was chosen, and what that way is. */
export function display(data: Uint8Array, message: string | null, wanted: Mode): { text: string; how: string } {
  if (message !== null && (wanted === 'auto' || wanted === 'message')) {
    return { text: lines(pretty(message)), how: 'decoded' };
  }
  const text = wanted === 'hex' ? null : utf8(data);
  if (text === null) return { text: hexLines(data), how: wanted === 'hex' ? 'hex' : 'hex: no UTF-8' };
  if (wanted === 'json' || (wanted === 'auto' && looksLikeJson(text))) {
    return { text: lines(pretty(text)), how: 'JSON' };
  }
  return { text: lines(text), how: wanted === 'message' ? 'text: no message of Kafka’s' : 'text' };
}

function Part({ name, content, index }: { name: 'key' | 'value'; content: Content; index: number }): JSX.Element {
  const [whole, setWhole] = useState<Uint8Array | null>(null);
  useEffect(() => setWhole(null), [content]);
  const data = whole ?? content.bytes;
  if (data === null) {
    return (
      <section class="part">
        <h3>
          {name} <small>null</small>
        </h3>
      </section>
    );
  }
  const shown = data.subarray(0, LONGEST);
  const { text, how } = display(shown, content.message, mode.value);
  const more = async (): Promise<void> => {
    const file = current.value;
    if (file) setWhole(await engine().content(file.info.id, row.value, index, name));
  };
  return (
    <section class="part">
      <h3>
        {name}{' '}
        <small>
          {how}, {bytes(content.size)}
          {content.messageName && <b> {content.messageName}</b>}
        </small>
        {!whole && content.size > data.length && (
          <button class="small" onClick={() => void more()}>
            all {bytes(content.size)}
          </button>
        )}
      </h3>
      <pre tabIndex={0} role="group" aria-label={name}>
        <bdi>{text}</bdi>
      </pre>
      {data.length > LONGEST && <small>The first {bytes(LONGEST)} are shown; save the records for all.</small>}
    </section>
  );
}

function headerText(header: Header): string {
  const name = utf8(header.key) ?? hexLines(header.key);
  if (header.value === null) return `${printable(name)}: null`;
  return `${printable(name)}: ${printable(utf8(header.value) ?? hexLines(header.value))}`;
}

export function OneRecord(): JSX.Element | null {
  const one = chosen.value;
  const held = page.value;
  if (!one || !held) return null;
  return (
    <section id="record" tabIndex={-1} aria-label={`Record ${one.offset}`}>
      <header class="bar">
        <h2>
          Record <b>{String(one.offset)}</b>
        </h2>
        <span class="facts">
          {one.index + 1} of {count(held.total)} · {time(one.timestamp)} {one.timestamp === null ? '' : held.timestampType}
          {one.sequence >= 0 && ` · sequence ${one.sequence}`} · {held.compression}
        </span>
        <button class="small right" id="give-schema" title="Decode keys and values by a schema" onClick={() => (giving.value = true)}>
          Schema
        </button>
        <label>
          show as{' '}
          <select
            id="mode"
            value={mode.value}
            onChange={(event) => (mode.value = event.currentTarget.value as Mode)}
          >
            {MODES.map((name) => (
              <option value={name}>{NAMES[name]}</option>
            ))}
          </select>
        </label>
      </header>
      <Around />
      {one.control && (
        <p class="finding note" role="note">
          Control record: <b>{one.control}</b>
        </p>
      )}
      {one.problem && (
        <p class="finding warning" role="note">
          Not decoded: {printable(one.problem)}
        </p>
      )}
      <Part name="key" content={one.key} index={one.index} />
      <Part name="value" content={one.value} index={one.index} />
      {one.headers.length > 0 && (
        <section class="part">
          <h3>
            headers <small>{many(one.headers.length, 'header')}</small>
          </h3>
          <ul class="headers">
            {one.headers.slice(0, 1000).map((header) => (
              <li>
                <bdi>{headerText(header)}</bdi>
              </li>
            ))}
          </ul>
        </section>
      )}
    </section>
  );
}
