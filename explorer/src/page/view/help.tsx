/** The list of keys, and what the marks mean. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { facts } from '../state/store';
import { singleKeys, switchKeys } from '../state/theme';

export const helping = signal(false);

const KEYS: [string, string][] = [
  ['?', 'this list'],
  ['o', 'open files'],
  ['f', 'files'],
  ['m', 'map of the file'],
  ['b', 'batches'],
  ['r', 'records of the batch'],
  ['h', 'bytes'],
  ['t', 'tree of fields'],
  ['g', 'go to an offset, a time or a byte'],
  ['/', 'find records'],
  ['a', 'overview of all files'],
  ['w', 'records, or batches and their bytes'],
  ['[ ]', 'damage before, after'],
  ['v', 'show values in another way'],
  ['J', 'records of the batch as JSON'],
  ['c', 'another file beside this one'],
  ['d', 'dark or light'],
  ['↑ ↓ j k', 'in a list or tree: one up, one down'],
  ['PgUp PgDn', 'a screen up, down'],
  ['Home End', 'first, last'],
  ['Enter', 'on to the next part; in the tree: edit the value'],
  ['← →', 'in the tree: close, open; in the bytes: a byte'],
  ['n p', 'in the bytes: next field, field before'],
  ['Esc', 'close what was opened last'],
];

interface Mark {
  sign: JSX.Element | string;
  what: string;
}

/** Marks of the lists of batches and records. */
const MARKS: Mark[] = [
  { sign: 'T', what: 'transaction' },
  { sign: 'C', what: 'control' },
  { sign: 'A', what: 'append time' },
  { sign: '✓', what: 'checksum holds' },
  { sign: <b class="damage">▲</b>, what: 'damage' },
  { sign: <b class="warned">■</b>, what: 'end of the log that is torn, or zeros' },
  { sign: '⊢', what: 'the log starts here' },
];

/** All others. */
const FURTHER: Mark[] = [
  { sign: <span class="row control">text</span>, what: 'a control record, such as COMMIT, or its batch' },
  { sign: <span class="row before">text</span>, what: 'before the start of the log: readers do not see it' },
  { sign: <span class="message">text</span>, what: 'decoded, as one of Kafka’s own messages' },
  { sign: <i class="null">null</i>, what: 'no key, value or header, or an empty one' },
  { sign: <span class="row"><i class="bytes">00 ff</i></span>, what: 'bytes that are no text' },
  { sign: <i>offset</i>, what: 'in the tree: follows from other fields, and has no bytes of its own' },
  { sign: <span class="tones"><i class="tone0">■</i><i class="tone1">■</i><i class="tone2">■</i></span>, what: 'a field has one colour in the tree and in the bytes; the colour says nothing else' },
  { sign: <span class="lit-sample">00</span>, what: 'the field under the pointer' },
  { sign: '…', what: 'not read yet, or cut' },
  { sign: '⏎ ⇥ \\x00', what: 'the end of a line, a tab, an invisible character in a text' },
  { sign: '4711/3:20', what: 'producer 4711, its epoch 3, the sequence number 20' },
];

function Marks({ of }: { of: Mark[] }): JSX.Element {
  return (
    <>
      {of.map(({ sign, what }) => (
        <div>
          <dt>{sign}</dt>
          <dd>{what}</dd>
        </div>
      ))}
    </>
  );
}

/** What the marks of the lists mean, in one line. */
export function Legend(): JSX.Element {
  return (
    <p class="legend" id="legend">
      {MARKS.map(({ sign, what }) => (
        <span>
          {sign} {what}
        </span>
      ))}
    </p>
  );
}

export function Help(): JSX.Element | null {
  const box = useRef<HTMLDialogElement>(null);
  const open = helping.value;
  useLayoutEffect(() => {
    if (open) box.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={box} onClose={() => (helping.value = false)} aria-labelledby="help-title">
      <header>
        <h2 id="help-title">Keys and marks</h2>
        <button class="close" aria-label="Close" onClick={() => box.current?.close()}>
          ×
        </button>
      </header>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div>
            <dt>
              {key.split(' ').map((one) => (
                <kbd>{one}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h3>Marks</h3>
      <dl class="keys" id="marks">
        <Marks of={MARKS} />
        <Marks of={FURTHER} />
      </dl>
      <label>
        <input
          type="checkbox"
          checked={singleKeys.value}
          onChange={(event) => switchKeys(event.currentTarget.checked)}
        />{' '}
        single keys are commands
      </label>
      <p class="hint">
        Nothing leaves this page: files are read here, and never changed.
        {facts.value && ` kafkaspec ${facts.value.version}, specification ${facts.value.specHash.slice(0, 12)}.`}
      </p>
    </dialog>
  );
}
