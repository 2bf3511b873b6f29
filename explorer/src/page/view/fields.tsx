/** The tree of fields, and what the field is that the light is on. */
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { FieldNode } from '../../engine/api';
import { hex, many, printable } from '../state/format';
import { pageAddress } from '../state/input';
import {
  beginEdit, caret, chosen, choosePart, current, edit, editing, lit, part, pinned, reading, record, tree, type Part,
} from '../state/store';
import { leaves, TONES } from '../state/tones';
import { focus } from './bytes';

const closed = signal<ReadonlySet<string>>(new Set());
const MOST = 2000;

interface Line {
  node: FieldNode;
  depth: number;
  place: number;
  of: number;
  parent: number;
}

/** Whether a node is open: what is deep or long begins closed. */
function isOpen(node: FieldNode, depth: number): boolean {
  const usual = depth === 0 || (depth < 4 && node.children.length <= 64);
  return closed.value.has(node.path) ? !usual : usual;
}

function flat(root: FieldNode): Line[] {
  const found: Line[] = [];
  const visit = (node: FieldNode, depth: number, place: number, of: number, parent: number): void => {
    if (found.length >= MOST) return;
    const own = found.push({ node, depth, place, of, parent }) - 1;
    if (!isOpen(node, depth)) return;
    node.children.forEach((child, number) => visit(child, depth + 1, number + 1, node.children.length, own));
  };
  visit(root, 0, 1, 1, -1);
  return found;
}

function toggle(path: string): void {
  const next = new Set(closed.value);
  if (!next.delete(path)) next.add(path);
  closed.value = next;
}

export function valueText(node: FieldNode): string {
  if (node.value === null) return node.children.length || node.more ? '' : 'null';
  const text = printable(String(node.value));
  return node.enumName && node.enumName !== text ? `${text} ${node.enumName}` : text;
}

const PARTS: { part: Part; name: string }[] = [
  { part: 'batch', name: 'Batch' },
  { part: 'record', name: 'Record' },
  { part: 'key', name: 'Key' },
  { part: 'value', name: 'Value' },
];

export function Parts(): JSX.Element | null {
  if (!current.value?.isLog || record.value < 0) return null;
  const one = chosen.value;
  const decoded = (name: Part): boolean =>
    name === 'batch' || name === 'record' || Boolean(one?.control) || one?.[name].messageName != null;
  return (
    <span class="switch" role="group" aria-label="Fields of">
      {PARTS.filter(({ part: name }) => decoded(name)).map(({ part: name, name: text }) => (
        <button aria-pressed={part.value === name} onClick={() => void choosePart(name)}>
          {text}
        </button>
      ))}
    </span>
  );
}

/** Where a person writes another value of a field. */
function ValueInput({ path, text }: { path: string; text: string }): JSX.Element {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    box.current?.focus();
    box.current?.select();
  }, []);
  return (
    <input
      id="edit"
      ref={box}
      class="edit"
      aria-label={`Value of ${path}`}
      defaultValue={text}
      spellcheck={false}
      onClick={(event) => event.stopPropagation()}
      onDblClick={(event) => event.stopPropagation()}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Enter') void edit(path, event.currentTarget.value);
        else if (event.key === 'Escape') {
          editing.value = null;
          document.getElementById('tree')?.focus();
        }
      }}
    />
  );
}

export function Fields(): JSX.Element {
  const found = tree.value;
  const box = useRef<HTMLDivElement>(null);
  const lines = found ? flat(found.root) : [];
  const order = new Map(leaves(found).map((node, number) => [node.path, number]));
  const field = focus.value;
  const at = pinned.value ? lines.findIndex((line) => line.node.path === pinned.value?.path) : -1;
  useEffect(() => {
    if (at >= 0 && box.current) {
      document.getElementById(`field-${at}`)?.scrollIntoView({ block: 'nearest' });
    }
  }, [at]);
  const choose = (number: number): void => {
    const node = lines[number]?.node;
    if (!node) return;
    lit.value = null;
    pinned.value = node;
    if (!node.computed && node.end > node.start) caret.value = node.start;
  };
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !lines.length) return;
    const now = Math.max(at, 0);
    const line = lines[now];
    if (!line) return;
    const opens = line.node.children.length > 0;
    const isNow = opens && isOpen(line.node, line.depth);
    if (event.key === 'ArrowDown' || event.key === 'j') choose(at < 0 ? 0 : Math.min(now + 1, lines.length - 1));
    else if (event.key === 'ArrowUp' || event.key === 'k') choose(Math.max(now - 1, 0));
    else if (event.key === 'Home') choose(0);
    else if (event.key === 'End') choose(lines.length - 1);
    else if (event.key === 'ArrowRight') {
      if (opens && !isNow) toggle(line.node.path);
      else if (opens) choose(now + 1);
    } else if (event.key === 'ArrowLeft') {
      if (isNow) toggle(line.node.path);
      else if (line.parent >= 0) choose(line.parent);
    } else if (event.key === 'Enter' && line.node.editable) void beginEdit(line.node);
    else if ((event.key === 'Enter' || event.key === ' ') && opens) toggle(line.node.path);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div
        id="tree"
        ref={box}
        class="tree"
        role="tree"
        tabIndex={0}
        aria-label="Fields"
        aria-activedescendant={at >= 0 ? `field-${at}` : undefined}
        onKeyDown={key}
        onPointerLeave={() => (lit.value = null)}
      >
        {lines.map(({ node, depth, place, of }, number) => {
          const opens = node.children.length > 0;
          const open = opens && isOpen(node, depth);
          const tone = order.get(node.path);
          return (
            <div
              key={`${node.path} ${number}`}
              id={`field-${number}`}
              role="treeitem"
              aria-level={depth + 1}
              aria-posinset={place}
              aria-setsize={of}
              aria-expanded={opens ? open : undefined}
              aria-selected={number === at}
              class={`field${field?.path === node.path ? ' lit' : ''}${node.computed ? ' computed' : ''}`}
              style={{ paddingInlineStart: `${depth * 14 + 6}px` }}
              onPointerMove={() => {
                if (lit.value !== node) lit.value = node;
              }}
              onClick={() => choose(number)}
              onDblClick={() => opens && toggle(node.path)}
            >
              <span
                class="twist"
                aria-hidden="true"
                onClick={(event) => {
                  if (!opens) return;
                  event.stopPropagation();
                  toggle(node.path);
                }}
              >
                {opens ? (open ? '▾' : '▸') : ''}
              </span>
              <span class={`swatch ${tone === undefined ? '' : `tone${tone % TONES}`}`} aria-hidden="true" />
              <span class="id">{printable(node.id)}</span>
              {editing.value?.path === node.path ? (
                <ValueInput path={node.path} text={editing.value.text} />
              ) : (
                <span
                  class="value"
                  title={node.editable ? 'Edit' : undefined}
                  onClick={() => void beginEdit(node)}
                >
                  <bdi>{valueText(node)}</bdi>
                </span>
              )}
              <span class="size">{node.computed ? 'follows' : node.end - node.start}</span>
            </div>
          );
        })}
        {!found && (
          <div role="treeitem" aria-level={1} class="field none">
            {reading.value ? 'Reading …' : 'No fields'}
          </div>
        )}
      </div>
      {found?.error && (
        <p class="finding error" role="note">
          <b>▲ {found.error.reason}</b> {printable(found.error.detail)}
        </p>
      )}
    </>
  );
}

/** Text with `code` in backticks. */
function Meaning({ text }: { text: string }): JSX.Element {
  const pieces: ComponentChildren[] = text.split('`').map((piece, number) => (number % 2 ? <code>{piece}</code> : piece));
  return <>{pieces}</>;
}

export function FieldFacts(): JSX.Element {
  const node = focus.value;
  const fields = tree.value;
  if (!node || !fields) {
    return (
      <div id="field" class="facts">
        <p class="hint">Point at a byte or a field to see what it means.</p>
      </div>
    );
  }
  const size = node.end - node.start;
  const place = node.computed ? 'follows from other fields' : `${many(size, 'byte')} at ${node.start} (0x${hex(node.start, 4)})`;
  return (
    <div id="field" class="facts">
      <p class="path">
        <code>{printable(node.path || '/')}</code> <span class="value"><bdi>{valueText(node)}</bdi></span>
      </p>
      <p class="where">
        {node.type}
        {node.kafkaName && (
          <>
            {' '}
            · Kafka: <code>{node.kafkaName}</code>
          </>
        )}{' '}
        · {place}
        {node.bits && ` · bit ${node.bits[0]}, ${many(node.bits[1], 'bit')}`}
        {fields.space === 'row' && ', decompressed'}
      </p>
      {node.doc && (
        <p class="doc">
          <Meaning text={node.doc} />
        </p>
      )}
      {node.docLink && (
        <a href={pageAddress(node.docLink)} target="_blank" rel="noreferrer noopener">
          in the specification
        </a>
      )}
    </div>
  );
}
