/** Two files side by side: an index beside its log, or two replicas. */
import type { JSX } from 'preact';
import { printable } from '../state/format';
import {
  beside,
  byId,
  chooseRow,
  compareWith,
  comparison,
  current,
  files,
  goToByte,
  type Open,
} from '../state/store';
import type { IndexCheck } from '../../engine/api';
import { time } from '../state/format';

function candidates(file: Open): Open[] {
  const logs = (one: Open): boolean => one.isLog;
  const indexes = (one: Open): boolean => one.info.kind.endsWith('_index');
  return files.value.filter((one) => one !== file && (logs(one) || (logs(file) && indexes(one))));
}

export function Beside(): JSX.Element | null {
  const file = current.value;
  if (!file || !(file.isLog || file.info.kind.endsWith('_index'))) return null;
  const others = candidates(file).filter((one) => file.isLog || one.isLog);
  if (!others.length) return null;
  const near = (one: Open): number => (file.info.siblings.includes(one.info.id) ? 0 : one.info.name === file.info.name ? 1 : 2);
  const ranked = others.sort((a, b) => near(a) - near(b)).slice(0, 500);
  return (
    <label class="tool">
      <span class="label">Beside</span>
      <select
        id="beside"
        value={beside.value ?? ''}
        onChange={(event) => {
          const value = event.currentTarget.value;
          void compareWith(value === '' ? null : Number(value));
        }}
      >
        <option value="">no other file</option>
        {ranked.map((one) => (
          <option value={one.info.id}>{printable(one.info.path)}</option>
        ))}
      </select>
    </label>
  );
}

function Check({ one, log }: { one: IndexCheck; log: Open }): JSX.Element {
  return (
    <tr class={one.holds ? '' : 'broken'}>
      <td class="number">{one.entry}</td>
      <td class="number">{String(one.offset)}</td>
      <td class="number">{one.timestamp === null ? (one.position ?? '–') : time(one.timestamp)}</td>
      <td>
        {one.row !== null && current.value === log ? (
          <button onClick={() => void chooseRow(one.row ?? -1)}>batch {one.row}</button>
        ) : (
          (one.row ?? '–')
        )}
      </td>
      <td>
        {one.holds ? '✓ ' : `▲ ${one.reason ?? ''} `}
        {printable(one.text)}
      </td>
    </tr>
  );
}

export function Compared(): JSX.Element | null {
  const file = current.value;
  const other = beside.value === null ? undefined : byId(beside.value);
  const found = comparison.value;
  if (!file || !other) return null;
  const log = file.isLog ? file : other;
  return (
    <section class="result compared" aria-label="Two files side by side" id="compared">
      <header>
        <h2>
          {printable(file.info.name)} <small>beside</small> {printable(other.info.path)}
        </h2>
        <button class="close" aria-label="Close the other file" onClick={() => void compareWith(null)}>
          ×
        </button>
      </header>
      {found ? <p>{printable(found.text)}</p> : <p>Comparing …</p>}
      {found?.difference && (
        <div class="sides">
          <p>
            {found.difference.left === null ? (
              'nothing here'
            ) : (
              <button onClick={() => void chooseRow(found.difference?.left ?? -1)}>
                batch {found.difference.left}, byte {found.difference.leftPosition}
              </button>
            )}
          </p>
          <p>
            {found.difference.right === null ? 'nothing there' : `there: batch ${found.difference.right}, byte ${found.difference.rightPosition}`}
          </p>
          <p>{printable(found.difference.text)}</p>
        </div>
      )}
      {found && found.entries.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Entries of the index">
          <table>
            <thead>
              <tr>
                <th class="number">Entry</th>
                <th class="number">Offset</th>
                <th class="number">{found.entries[0]?.timestamp == null ? 'Position' : 'Time'}</th>
                <th>Log</th>
                <th>Holds</th>
              </tr>
            </thead>
            <tbody>
              {found.entries.map((one) => (
                <Check one={one} log={log} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found && found.entries.length === 0 && found.kind === 'replicas' && found.difference && (
        <button class="small" onClick={() => void goToByte(file, found.difference?.leftPosition ?? 0)}>
          first difference
        </button>
      )}
    </section>
  );
}
