/** The list of keys. */
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
  ['/', 'find a key'],
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
        <h2 id="help-title">Keys</h2>
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
