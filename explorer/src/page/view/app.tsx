/** The page: files, map, batches, records, fields and bytes. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { FileInput } from '../../engine/api';
import { bytes, many, printable } from '../state/format';
import { chosen as chosenFiles, dropped, SAMPLES, SERVED, sample } from '../state/input';
import {
  attempt,
  busy,
  changeRecord,
  closeAll,
  current,
  files,
  inWords,
  layout,
  lookUp,
  mode,
  MODES,
  nextDamage,
  opened,
  openFiles,
  page,
  reading,
  record,
  said,
  search,
  closeSearch,
  toOverview,
  trouble,
  undo,
  type Open,
} from '../state/store';
import { dark, singleKeys, switchTheme } from '../state/theme';
import { Batches } from './batches';
import { Bytes } from './bytes';
import { Beside, Compared } from './compare';
import { FieldFacts, Fields, Parts } from './fields';
import { Files } from './files';
import { Findings } from './findings';
import { Find, GoTo, Hits, Steps } from './going';
import { Help, helping, Legend } from './help';
import { FileMap } from './map';
import { Overview } from './overview';
import { PartitionRecords } from './partition';
import { OneRecord, Records } from './records';
import { Json, SaveAs, saveAll, saveEdited, showJson } from './saving';
import { GiveSchema } from './schema';
import { Entries } from './table';

const dragging = signal(false);
/** The part that a narrow window shows. */
const panel = signal<'list' | 'records' | 'fields'>('list');

function take(inputs: FileInput[]): void {
  void attempt(() => openFiles(inputs));
}

function Choosers(): JSX.Element {
  const one = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const changed = (event: Event): void => {
    const input = event.currentTarget as HTMLInputElement;
    if (input.files) take(chosenFiles(input.files));
    input.value = '';
  };
  return (
    <>
      <input ref={one} id="file-input" type="file" multiple hidden onChange={changed} aria-label="Files" />
      <input
        ref={(element) => {
          folder.current = element;
          element?.setAttribute('webkitdirectory', '');
        }}
        id="folder-input"
        type="file"
        multiple
        hidden
        onChange={changed}
        aria-label="Folder"
      />
      <button id="open" onClick={() => one.current?.click()}>
        Open files
      </button>
      <button id="open-folder" onClick={() => folder.current?.click()}>
        Folder
      </button>
      {opened.value && !SERVED && (
        <button id="close-all" onClick={() => void attempt(closeAll)}>
          Close all
        </button>
      )}
    </>
  );
}

function Top(): JSX.Element {
  return (
    <header class="top">
      <h1>
        <span class="logo" aria-hidden="true" />{' '}
        <span class="words">
          kafkaspec <span>explorer</span>
        </span>
      </h1>
      <Choosers />
      <p class="state" role="status">
        {busy.value || said.value}
      </p>
      <button class="icon" onClick={switchTheme} title="Dark or light (d)" aria-label={dark.value ? 'Light' : 'Dark'}>
        {dark.value ? '☀' : '☾'}
      </button>
      <button class="icon" onClick={() => (helping.value = true)} title="Keys (?)" aria-label="Keys">
        ?
      </button>
    </header>
  );
}

function Welcome(): JSX.Element {
  return (
    <main class="welcome">
      <div class="drop">
        <h2>{SERVED ? 'Reading the list of files …' : 'Drop files of Kafka here'}</h2>
        <p>
          A segment, an index, a snapshot, a checkpoint, or a whole partition folder. They are read here and stay here: this
          page makes no connection and changes nothing.
        </p>
        <div class="buttons">
          <button class="primary" onClick={() => document.getElementById('open')?.click()}>
            Open files
          </button>
          <button onClick={() => document.getElementById('open-folder')?.click()}>Open a folder</button>
        </div>
        {!SERVED && (
          <p class="buttons">
            {SAMPLES.map(({ name, text }) => (
              <button id={`sample-${name}`} onClick={() => take(sample(name))}>
                {text}
              </button>
            ))}
          </p>
        )}
        <p class="hint">
          Press <kbd>?</kbd> for all keys, and what all marks mean.
        </p>
      </div>
    </main>
  );
}

function Summary({ file }: { file: Open }): JSX.Element {
  const { info } = file;
  const result = file.result.value;
  const facts = [
    info.kind.replaceAll('_', ' '),
    bytes(info.size),
    result && many(result.batches, 'batch', 'batches'),
    result && result.records >= 0 && many(result.records, 'record'),
    result && result.firstOffset !== null && `offsets ${result.firstOffset}–${result.lastOffset}`,
    info.byContent && 'known by its content',
    file.checking.value && `checking ${file.checking.value}`,
  ].filter(Boolean);
  const part = file.isLog && !result && info.size && !file.checking.value ? Math.floor((file.scanned.value / info.size) * 100) : null;
  return (
    <div class={file.isLog && !file.isRead ? 'summary busy' : 'summary'}>
      <h2 title={printable(info.path)}>
        {info.folder && <span>{printable(info.folder)}/</span>}
        <b>{printable(info.name)}</b>
      </h2>
      <p class="facts">{facts.join(' · ')}</p>
      {part !== null && !file.error.value && (
        <progress max={100} value={part} aria-label="Read">
          {part}%
        </progress>
      )}
    </div>
  );
}

function Edits({ file }: { file: Open }): JSX.Element | null {
  if (!file.info.edits) return null;
  return (
    <span class="right">
      <span class="facts">{many(file.info.edits, 'edit')}</span>
      <button class="small" id="undo" onClick={() => void undo()}>
        Undo
      </button>
      <button class="small" id="save-file" onClick={() => void saveEdited()}>
        Save file
      </button>
    </span>
  );
}

const CHANGES = [
  ['add', 'Add', 'Add an empty record after this one'],
  ['duplicate', 'Duplicate', 'Put a copy of this record after it'],
  ['remove', 'Remove', 'Remove this record from its batch'],
] as const;

/** What is done with whole records; why it is not, is said where it is tried. */
function RecordEdits(): JSX.Element | null {
  if (!page.value || page.value.error) return null;
  return (
    <span class="changes">
      {CHANGES.map(([change, text, title]) => (
        <button
          class="small"
          id={`${change}-record`}
          title={title}
          disabled={change !== 'add' && record.value < 0}
          onClick={() => void changeRecord(change)}
        >
          {text}
        </button>
      ))}
    </span>
  );
}

/** The two ways to look at a log. */
function Layouts(): JSX.Element {
  return (
    <div class="switch right" role="group" aria-label="Show">
      <button id="show-records" aria-pressed={layout.value === 'records'} onClick={() => (layout.value = 'records')}>
        Records
      </button>
      <button id="show-bytes" aria-pressed={layout.value === 'bytes'} onClick={() => (layout.value = 'bytes')}>
        Batches and bytes
      </button>
    </div>
  );
}

/** The records of the partition, and the chosen one. */
function RecordPanels({ waits }: { waits: boolean }): JSX.Element {
  return (
    <div class="panels partition" aria-busy={waits}>
      <section class="panel" aria-label="Records">
        <PartitionRecords />
      </section>
      <section class="panel" aria-label="Record">
        <div class="bar">
          <h2>Record</h2>
          <span class="right">
            <SaveAs id="save" save={(format) => void saveAll(format)} />
          </span>
        </div>
        <OneRecord />
        {record.value < 0 && <p class="none">Choose a record.</p>}
      </section>
    </div>
  );
}

function Panels({ file }: { file: Open }): JSX.Element {
  const log = file.isLog;
  const waits = reading.value || !file.isRead;
  if (log && layout.value === 'records') return <RecordPanels waits={waits} />;
  const tabs = log
    ? ([
        ['list', 'Batches'],
        ['records', 'Records'],
        ['fields', 'Bytes'],
      ] as const)
    : ([
        ['list', 'Entries'],
        ['fields', 'Bytes'],
      ] as const);
  return (
    <>
      <div class="tabs" role="group" aria-label="Part">
        {tabs.map(([name, text]) => (
          <button aria-pressed={panel.value === name} onClick={() => (panel.value = name)}>
            {text}
          </button>
        ))}
      </div>
      <div class={`panels ${log ? 'log' : 'small'}`} data-panel={panel.value} aria-busy={waits}>
        <section class="panel" data-name="list" aria-label={log ? 'Batches' : 'Entries'}>
          {log ? <Batches file={file} /> : <Entries file={file} />}
        </section>
        {log && (
          <section class="panel" data-name="records" aria-label="Records">
            <div class="bar">
              <h2>Records</h2>
              <span class="facts">{page.value ? many(page.value.total, 'record') : ''}</span>
              <RecordEdits />
              <span class="right">
                <button class="small" id="show-json" onClick={() => void showJson()}>
                  JSON
                </button>
                <SaveAs id="save" save={(format) => void saveAll(format)} />
              </span>
            </div>
            <Records />
            <OneRecord />
          </section>
        )}
        <section class="panel" data-name="fields" aria-label="Fields and bytes">
          <div class="bar">
            <h2>Fields</h2>
            <Parts />
            <Edits file={file} />
          </div>
          <Fields />
          <FieldFacts />
          <Bytes />
        </section>
      </div>
    </>
  );
}

function cycle(): void {
  const next = MODES[(MODES.indexOf(mode.value) + 1) % MODES.length];
  if (next) mode.value = next;
  said.value = `values as ${mode.value}`;
}

/** Show the part of a narrow window that an element is in, and go there. */
function go(id: string): void {
  if (BYTES.includes(id)) layout.value = 'bytes';
  const element = document.getElementById(id);
  const name = element?.closest<HTMLElement>('.panel')?.dataset['name'];
  if (name === 'list' || name === 'records' || name === 'fields') panel.value = name;
  wanted = id;
  requestAnimationFrame(() => focus(id, 20));
}

/** Parts that only one way to look at a log has. */
const BYTES = ['batches', 'bytes', 'tree'];

/** The part that was asked for last. */
let wanted = '';

/** Give an element the focus, once it is there to be seen. */
function focus(id: string, tries: number): void {
  const element = document.getElementById(id);
  element?.focus();
  if (tries && wanted === id && element && document.activeElement !== element) {
    requestAnimationFrame(() => focus(id, tries - 1));
  }
}

const COMMANDS: Record<string, () => void> = {
  '?': () => (helping.value = true),
  o: () => document.getElementById('open')?.click(),
  f: () => go('files'),
  m: () => go('map'),
  b: () => go(current.value?.isLog ? 'batches' : 'entries'),
  r: () => go(current.value?.isLog && layout.value === 'records' ? 'all' : 'records'),
  w: () => (layout.value = layout.value === 'records' ? 'bytes' : 'records'),
  a: toOverview,
  h: () => go('bytes'),
  t: () => go('tree'),
  g: () => go('place'),
  '/': () => go('key'),
  '[': () => void nextDamage(-1),
  ']': () => void nextDamage(1),
  v: cycle,
  J: () => void showJson(),
  c: () => go('beside'),
  d: switchTheme,
};

function key(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const typing = event.target instanceof Element && event.target.matches('input, select, textarea');
  if (event.key === 'Escape') {
    if (search.value) closeSearch();
    else if (lookUp.value) lookUp.value = null;
    else if (typing) {
      (event.target as HTMLElement).blur();
      go(current.value?.isLog ? 'batches' : 'entries');
    }
    trouble.value = '';
    return;
  }
  const command = COMMANDS[event.key];
  if (typing || !command || !singleKeys.value) return;
  event.preventDefault();
  command();
}

export function App(): JSX.Element {
  const file = current.value;
  useEffect(() => {
    const over = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      dragging.value = true;
    };
    const out = (event: DragEvent): void => {
      if (event.relatedTarget === null) dragging.value = false;
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      dragging.value = false;
      const transfer = event.dataTransfer;
      if (transfer) void attempt(async () => openFiles(await dropped(transfer)));
    };
    addEventListener('dragover', over);
    addEventListener('dragleave', out);
    addEventListener('drop', drop);
    addEventListener('keydown', key);
    return () => {
      removeEventListener('dragover', over);
      removeEventListener('dragleave', out);
      removeEventListener('drop', drop);
      removeEventListener('keydown', key);
    };
  }, []);
  useEffect(() => {
    panel.value = 'list';
  }, [file]);
  // A record that was opened from elsewhere is what a narrow window shows.
  useEffect(() => {
    if (record.value >= 0 && panel.value === 'list' && (search.value || lookUp.value)) panel.value = 'records';
  }, [record.value]);
  return (
    <div class={`app${dragging.value ? ' dragging' : ''}`}>
      <Top />
      {trouble.value && (
        <p class="trouble" role="alert">
          <span>{printable(trouble.value)}</span>
          <button class="close" aria-label="Close" onClick={() => (trouble.value = '')}>
            ×
          </button>
        </p>
      )}
      {!opened.value ? (
        <Welcome />
      ) : (
        <div class="work">
          <nav class={files.value.length > 1 ? 'side' : 'side one'} aria-label="Files">
            <Files />
          </nav>
          <main class="main">
            {!file && (
              <>
                <div class="tools" role="group" aria-label="Find">
                  <Find />
                </div>
                <Hits />
                <Overview />
              </>
            )}
            {file && (
              <>
                <Summary file={file} />
                {file.isLog && <FileMap file={file} />}
                <div class="tools" role="group" aria-label="Go to and find">
                  <GoTo />
                  {file.isLog && <Find />}
                  <Beside />
                  {file.isLog && <Layouts />}
                </div>
                {file.error.value && (
                  <p class="trouble" role="alert">
                    {printable(inWords(file.error.value))}
                  </p>
                )}
                <Findings />
                <Steps />
                <Hits />
                <Compared />
                <Panels file={file} />
                {file.isLog && <Legend />}
              </>
            )}
          </main>
        </div>
      )}
      <Help />
      <Json />
      <GiveSchema />
    </div>
  );
}
