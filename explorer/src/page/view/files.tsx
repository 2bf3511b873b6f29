/** The list of files, by folder. */
import type { JSX } from 'preact';
import { attempt, choose, current, files, filter, listedFiles, ownName, surveyed, toOverview, type Open } from '../state/store';
import { bytes, printable } from '../state/format';
import { VirtualTable } from './virtual';

const COLUMNS = [
  { name: 'File', kind: 'name' },
  { name: 'Size', kind: 'number' },
];

/** A name of which both ends are shown where it does not fit: names differ at either. */
export function Ends({ name }: { name: string }): JSX.Element {
  const signs = [...name];
  const half = signs.length >> 1;
  return (
    <>
      <span class="stem">
        <bdi>{signs.slice(0, half).join('')}</bdi>
      </span>
      <span class="stem digits">
        <bdi>{signs.slice(half).join('')}</bdi>
      </span>
    </>
  );
}

interface Line {
  file: Open | null;
  text: string;
  title: string;
}

function linesOf(all: Open[]): Line[] {
  const found: Line[] = [];
  let folder: string | null = null;
  for (const file of all) {
    if (file.dir !== folder) {
      folder = file.dir;
      if (folder) found.push({ file: null, text: printable(ownName(folder)), title: printable(folder) });
    }
    const text = printable(file.info.name);
    found.push({ file, text, title: text });
  }
  return found;
}

/** A name up to its suffix, which is never cut. */
function stem(name: string): string {
  const dot = /^\d+\./.exec(name);
  return dot ? name.slice(0, dot[0].length - 1) : name;
}

/** A number without most of its zeros, which are all that two names of a folder have in common. */
function short(name: string): JSX.Element | string {
  const zeros = /^0{4,}(?=\d)/.exec(name)?.[0];
  return zeros ? (
    <>
      <span class="zeros">{zeros}</span>
      {name.slice(zeros.length)}
    </>
  ) : (
    name
  );
}

export function Files(): JSX.Element {
  const shown = linesOf(listedFiles.value);
  void surveyed.value;
  const pick = (row: number): void => {
    const line = shown[row]?.file ? shown[row] : shown[row + 1];
    if (line?.file) void attempt(() => choose(line.file as Open));
  };
  const chosen = shown.findIndex((line) => line.file !== null && line.file === current.value);
  const step = (row: number): void => {
    // A folder is no stop: going up, the file before it is meant.
    if (shown[row] && !shown[row].file && row < chosen) pick(Math.max(0, row - 1));
    else pick(row);
  };
  return (
    <>
      <div class="bar">
        <button class="small" id="overview-button" aria-pressed={current.value === null} onClick={toOverview}>
          Overview
        </button>
        <input
          id="filter"
          type="search"
          autocomplete="off"
          spellcheck={false}
          aria-label="Filter files"
          placeholder="filter"
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
      </div>
      <VirtualTable
      id="files"
      label="Files"
      columns={COLUMNS}
      count={shown.length}
      height={24}
      chosen={chosen}
      version={listedFiles.value}
      none={files.value.length ? 'No file has that in its path' : 'No files'}
      choose={step}
      enter={() => document.getElementById('batches')?.focus()}
      state={(row) => (shown[row]?.file ? '' : 'folder')}
      cells={(row) => {
        const line = shown[row];
        if (!line) return null;
        const file = line.file;
        const damage = file?.known.some((one) => one.severity === 'error');
        const tail = !damage && file?.known.some((one) => one.severity === 'warning');
        return [
          <span title={line.title} class={damage ? 'file damaged' : tail ? 'file warned' : 'file'}>
            {damage && <span>▲ </span>}
            {tail && <span>■ </span>}
            {file ? (
              <span class={stem(line.text) === line.text ? 'stem' : 'stem digits'}>
                <bdi>{short(stem(line.text))}</bdi>
              </span>
            ) : (
              <Ends name={line.text} />
            )}
            {file && <span>{line.text.slice(stem(line.text).length)}</span>}
          </span>,
          file ? bytes(file.info.size) : '',
        ];
      }}
      />
    </>
  );
}
