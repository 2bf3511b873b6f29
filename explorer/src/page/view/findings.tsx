/** Damage: what it is, where, and what a reader and a broker make of it. */
import type { JSX } from 'preact';
import { many, printable } from '../state/format';
import { current, goToByte, chooseRow, row } from '../state/store';
import type { Finding } from '../../engine/api';

const MOST = 200;

function go(finding: Finding): void {
  const file = current.value;
  if (!file) return;
  void (async () => {
    if (finding.row !== null && file.isLog) await chooseRow(finding.row);
    if (finding.inner === null) await goToByte(file, finding.position);
  })();
}

export function Findings(): JSX.Element | null {
  // Passes find them one after the other; people read a file from its start.
  const found = [...(current.value?.findings.value ?? [])].sort((a, b) => a.position - b.position);
  if (!found.length) return null;
  const errors = found.filter((one) => one.severity === 'error').length;
  const first = errors ? many(errors, 'damaged place') : many(found.length, 'note');
  return (
    <details class="findings" open={errors > 0 && errors < 4} id="damage">
      <summary>
        <span class={errors ? 'damage' : ''} aria-hidden="true">
          {errors ? '▲' : 'ⓘ'}
        </span>{' '}
        {first}
        {errors > 0 && found.length > errors && `, ${many(found.length - errors, 'note')}`}
      </summary>
      <ul tabIndex={0} aria-label="Findings">
        {found.slice(0, MOST).map((one) => (
          <li class={`${one.severity}${one.row !== null && one.row === row.value ? ' here' : ''}`}>
            <button onClick={() => go(one)}>
              {one.severity} at byte {one.position}
            </button>{' '}
            <b>{one.reason}</b> {printable(one.detail)} {one.path && <code>{printable(one.path)}</code>}
            {(one.reader || one.broker) && (
              <dl>
                {one.reader && (
                  <>
                    <dt>A reader</dt>
                    <dd>{one.reader}</dd>
                  </>
                )}
                {one.broker && (
                  <>
                    <dt>A broker</dt>
                    <dd>{one.broker}</dd>
                  </>
                )}
              </dl>
            )}
          </li>
        ))}
        {found.length > MOST && <li>{many(found.length - MOST, 'more finding')}</li>}
      </ul>
    </details>
  );
}
