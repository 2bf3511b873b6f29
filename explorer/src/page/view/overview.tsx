/** All that is open at one look: partitions, their sizes and times, and what is wrong with them. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { bytes, count, many, printable, time } from '../state/format';
import { attempt, chooseAt, choose, filter, layout, listedFiles, goToByte, ownName, surveyed, type Open } from '../state/store';
import type { Finding } from '../../engine/api';
import { Ends } from './files';
import { VirtualTable } from './virtual';

const COLUMNS = [
  { name: 'Folder', kind: 'name' },
  { name: 'Found', kind: 'found', title: '✓ checked and sound, ▲ damage, ■ an end that is torn or zeros' },
  { name: 'Segments', kind: 'number narrow' },
  { name: 'Size', kind: 'number' },
  { name: 'Records', kind: 'number' },
  { name: 'Offsets', kind: 'number offsets' },
  { name: 'Oldest', kind: 'time' },
  { name: 'Newest', kind: 'time' },
];

/** A partition, or another folder. */
interface Folder {
  dir: string;
  files: Open[];
  segments: Open[];
  size: number;
  checked: number;
  errors: number;
  warnings: Finding[];
  problems: number;
  records: number;
  first: bigint | null;
  last: bigint | null;
  oldest: bigint | null;
  newest: bigint | null;
}

function foldersOf(all: Open[]): Folder[] {
  const found = new Map<string, Folder>();
  for (const file of all) {
    let folder = found.get(file.dir);
    if (!folder) {
      folder = {
        dir: file.dir, files: [], segments: [], size: 0, checked: 0, errors: 0, warnings: [], problems: 0, records: 0,
        first: null, last: null, oldest: null, newest: null,
      };
      found.set(file.dir, folder);
    }
    add(folder, file);
  }
  return [...found.values()];
}

const least = (a: bigint | null, b: bigint | null): bigint | null => (a === null || (b !== null && b < a) ? b : a);
const most = (a: bigint | null, b: bigint | null): bigint | null => (a === null || (b !== null && b > a) ? b : a);

function add(folder: Folder, file: Open): void {
  folder.files.push(file);
  if (file.isLog) folder.segments.push(file);
  folder.size += file.info.size;
  if (file.error.peek()) folder.problems += 1;
  const survey = file.survey.peek();
  if (survey || file.error.peek()) folder.checked += 1;
  if (!survey) return;
  folder.errors += survey.errors;
  folder.warnings.push(...survey.findings.filter((one) => one.severity === 'warning'));
  const { result } = survey;
  if (!result) return;
  folder.records += result.records;
  folder.first = least(folder.first, result.firstOffset);
  folder.last = most(folder.last, result.lastOffset);
  folder.oldest = least(folder.oldest, result.oldest);
  folder.newest = most(folder.newest, result.newest);
}

function found(folder: Folder): JSX.Element | string {
  const parts: JSX.Element[] = [];
  if (folder.errors) parts.push(<b class="damage">▲ {many(folder.errors, 'damaged place')}</b>);
  if (folder.problems) parts.push(<b class="damage">▲ {many(folder.problems, 'file')} not read</b>);
  const reasons = new Map<string, number>();
  for (const { reason } of folder.warnings) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  for (const [reason, times] of reasons) {
    parts.push(
      <b class="warned">
        ■ {reason.replaceAll('_', ' ')}
        {times > 1 && ` ×${times}`}
      </b>,
    );
  }
  const left = folder.files.length - folder.checked;
  if (left) parts.push(<span class="facts">{folder.checked} of {folder.files.length} checked</span>);
  else if (!parts.length) parts.push(<span class="sound">✓</span>);
  return <span class="parts">{parts}</span>;
}

function open(folder: Folder): void {
  void attempt(async () => {
    const first = folder.segments.find(({ info }) => info.size > 0) ?? folder.files[0];
    if (!first) return;
    if (first.isLog && first.info.topic !== null) layout.value = 'records';
    await choose(first);
  });
}

/** The row that the keys are at. */
const cursor = signal(0);

function openRow(folders: Folder[], row: number): void {
  cursor.value = row;
  const folder = folders[row];
  if (folder) open(folder);
}

const MOST = 300;

function goTo(file: Open, one: Finding): void {
  void attempt(async () => {
    layout.value = 'bytes';
    if (one.row !== null && file.isLog) await chooseAt(file, one.row, -1);
    else await choose(file);
    if (one.inner === null) await goToByte(file, one.position);
  });
}

export function Overview(): JSX.Element {
  void surveyed.value;
  const all = listedFiles.value;
  const folders = foldersOf(all);
  const checked = folders.reduce((sum, one) => sum + one.checked, 0);
  const errors = folders.reduce((sum, one) => sum + one.errors + one.problems, 0);
  const tails = folders.reduce((sum, one) => sum + one.warnings.length, 0);
  const partitions = folders.filter(({ segments, files }) => segments.length && files[0]?.info.topic != null);
  const topics = new Set(partitions.map(({ files }) => files[0]?.info.topic));
  const size = folders.reduce((sum, one) => sum + one.size, 0);
  const wrong = all.flatMap((file) => [
    ...(file.survey.peek()?.findings ?? []).map((one) => ({ file, one: one as Finding | null })),
    ...(file.error.peek() ? [{ file, one: null }] : []),
  ]);
  return (
    <section class="overview" aria-label="Overview" id="overview">
      <div class="summary">
        <h2>Overview</h2>
        <p class="facts">
          {many(topics.size, 'topic')} · {many(partitions.length, 'partition')} · {many(all.length, 'file')} · {bytes(size)}
          {filter.value && ` with “${printable(filter.value)}”`}
        </p>
        {checked < all.length && <progress max={all.length} value={checked} aria-label="Checked" />}
        <p role="status" id="checked">
          {checked < all.length ? `${count(checked)} of ${count(all.length)} files checked` : 'all files checked'}
          {': '}
          <b class={errors ? 'damage' : tails ? 'warned' : 'sound'}>
            {errors || tails
              ? [errors && many(errors, 'damaged place'), tails && many(tails, 'warning')].filter(Boolean).join(', ')
              : checked < all.length
                ? 'nothing wrong so far'
                : 'nothing wrong'}
          </b>
        </p>
      </div>
      {wrong.length > 0 && (
        <details class="findings" open id="wrong">
          <summary>
            <span class={errors ? 'damage' : 'warned'} aria-hidden="true">
              {errors ? '▲' : '■'}
            </span>{' '}
            What is wrong
          </summary>
          <ul tabIndex={0} aria-label="Findings of all files">
            {wrong.slice(0, MOST).map(({ file, one }) => (
              <li class={one?.severity ?? 'error'}>
                <button onClick={() => (one ? goTo(file, one) : void attempt(() => choose(file)))}>{printable(file.info.path)}</button>{' '}
                {one && <>byte {count(one.position)}: </>}
                <b>{one?.reason ?? 'not read'}</b> {printable(one?.detail ?? file.error.peek()?.detail ?? '')}
                {one?.broker && <small> A broker: {one.broker}</small>}
              </li>
            ))}
            {wrong.length > MOST && <li>{many(wrong.length - MOST, 'more finding')}</li>}
          </ul>
        </details>
      )}
      <div class="panel">
        <VirtualTable
          id="folders"
          label="Partitions"
          columns={COLUMNS}
          count={folders.length}
          height={26}
          chosen={Math.min(cursor.value, folders.length - 1)}
          version={folders}
          none="No file has that in its path"
          choose={(row) => (cursor.value = row)}
          click={(row) => openRow(folders, row)}
          enter={(row) => openRow(folders, row)}
          state={(row) => (folders[row]?.errors || folders[row]?.problems ? 'wrong' : '')}
          cells={(row) => {
            const folder = folders[row];
            if (!folder) return null;
            const name = folder.dir || '(no folder)';
            return [
              <span class="file" title={printable(name)}>
                <Ends name={printable(ownName(folder.dir) || name)} />
              </span>,
              found(folder),
              folder.segments.length ? count(folder.segments.length) : '',
              bytes(folder.size),
              folder.segments.length && folder.checked ? count(folder.records) : '',
              folder.first === null ? '' : `${folder.first}–${folder.last}`,
              folder.oldest === null ? '' : time(folder.oldest),
              folder.newest === null ? '' : time(folder.newest),
            ];
          }}
        />
      </div>
    </section>
  );
}
