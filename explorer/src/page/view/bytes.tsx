/** Bytes in hex and as text: the field under the pointer is lit, here and in the tree. */
import { computed } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { FieldNode } from '../../engine/api';
import { hex, many } from '../state/format';
import { caret, current, engine, lit, pinned, shown, tree } from '../state/store';
import { scale as zoom } from '../state/theme';
import { leafAt, leaves, TONES } from '../state/tones';

const USUAL = 20;
const HIGHEST = 8_000_000;
const PIECE = 1 << 15;

const fields = computed(() => leaves(tree.value));

/** What the light is on: the field under the pointer, else the one that was chosen. */
export const focus = computed<FieldNode | null>(() => lit.value ?? pinned.value);

/** Pieces of the bytes that are shown, as they come. */
function usePieces(): (position: number) => number | null {
  const held = useRef(new Map<number, Uint8Array | null>());
  const [, again] = useState(0);
  const place = shown.value;
  const file = current.value;
  const key = place && `${file?.info.id} ${place.space} ${place.row}`;
  const last = useRef(key);
  if (last.current !== key) {
    held.current = new Map();
    last.current = key;
  }
  return (position) => {
    const number = Math.floor(position / PIECE);
    const pieces = held.current;
    const piece = pieces.get(number);
    if (piece === undefined && file && place) {
      pieces.set(number, null);
      if (pieces.size > 64) pieces.delete(pieces.keys().next().value as number);
      const start = number * PIECE;
      engine()
        .bytes(file.info.id, start, start + PIECE, place.row)
        .then((data) => {
          pieces.set(number, data);
          again((value) => value + 1);
        })
        .catch(() => pieces.set(number, new Uint8Array()));
    }
    return piece?.[position - number * PIECE] ?? null;
  };
}

export function Bytes(): JSX.Element {
  const HEIGHT = Math.round(USUAL * zoom.value);
  const place = shown.value;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(300);
  const [wide, setWide] = useState(16);
  const [cell, setCell] = useState(2.5);
  const byteAt = usePieces();
  const start = place ? Math.floor(place.start / wide) * wide : 0;
  const end = place?.end ?? 0;
  const count = Math.ceil((end - start) / wide);
  const total = Math.min(count * HEIGHT, HIGHEST);
  const scale = total > room ? (count * HEIGHT - room) / (total - room) : 1;
  const offset = top * scale;
  const first = Math.max(0, Math.floor(offset / HEIGHT) - 2);
  const last = Math.min(count, Math.ceil((offset + room) / HEIGHT) + 2);
  const field = focus.value;
  const all = fields.value;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = (): void => {
      setRoom(element.clientHeight);
      const digit = parseFloat(getComputedStyle(element).fontSize) * 0.6;
      const room = element.clientWidth / digit - 13;
      const fit = [32, 16, 8].find((number) => room >= number * 3.5) ?? 4;
      setWide(fit);
      setCell(room >= fit * 4 ? 3 : 2.5);
    };
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    measure();
    return () => watch.disconnect();
  }, []);

  const reveal = (position: number): void => {
    const element = box.current;
    if (!element) return;
    const at = Math.floor((position - start) / wide) * HEIGHT;
    const now = element.scrollTop * scale;
    if (at < now || at + HEIGHT > now + room) element.scrollTop = Math.max(0, at - room / 3) / scale;
  };
  const target = pinned.value?.start ?? null;
  useEffect(() => {
    if (target !== null && !lit.value) reveal(target);
  }, [target, count, wide]);
  const cursor = caret.value;
  useEffect(() => {
    if (cursor !== null) reveal(cursor);
  }, [cursor, count, wide]);
  // A structure begins at the top of the view.
  const root = tree.value?.root.start ?? start;
  useEffect(() => {
    const element = box.current;
    if (element && pinned.value === null && caret.value === null) {
      element.scrollTop = (Math.floor((root - start) / wide) * HEIGHT) / scale;
    }
  }, [root, place?.start, place?.space, place?.row, wide]);

  const positionOf = (event: Event): number | null => {
    const text = event.target instanceof HTMLElement ? event.target.dataset['at'] : undefined;
    return text === undefined ? null : Number(text);
  };
  const over = (event: PointerEvent): void => {
    const position = positionOf(event);
    const number = position === null ? -1 : leafAt(all, position);
    const found = all[number] ?? null;
    if (found !== lit.value) lit.value = found;
  };
  const pick = (event: MouseEvent): void => {
    const position = positionOf(event);
    if (position !== null) go(position);
  };
  const go = (position: number): void => {
    const wanted = Math.min(Math.max(position, place?.start ?? 0), end - 1);
    caret.value = wanted;
    lit.value = null;
    pinned.value = all[leafAt(all, wanted)] ?? null;
  };
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || !place) return;
    const at = caret.value ?? place.start;
    const now = leafAt(all, at);
    const screen = Math.max(1, Math.floor(room / HEIGHT) - 1) * wide;
    const steps: Record<string, number> = {
      ArrowRight: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at + wide,
      ArrowUp: at - wide,
      PageDown: at + screen,
      PageUp: at - screen,
      Home: place.start,
      End: end - 1,
      n: all[now + 1]?.start ?? at,
      p: all[Math.max(0, now - 1)]?.start ?? at,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    go(next);
    event.preventDefault();
    event.stopPropagation();
  };

  const lines: JSX.Element[] = [];
  const digits = Math.max(6, end.toString(16).length);
  for (let line = first; line < last; line += 1) {
    const from = start + line * wide;
    const codes: JSX.Element[] = [];
    const signs: JSX.Element[] = [];
    for (let position = from; position < Math.min(from + wide, end); position += 1) {
      const outside = position < (place?.start ?? 0);
      const number = outside ? -1 : leafAt(all, position);
      const value = outside ? null : byteAt(position);
      const inside = field !== null && position >= field.start && position < field.end;
      const tone = number < 0 ? '' : `tone${number % TONES}`;
      const name = `${tone}${inside ? ' lit' : ''}${position === cursor ? ' caret' : ''}`;
      const shownByte = value === null ? (outside ? '  ' : '··') : hex(value, 2);
      const sign = value !== null && value >= 32 && value < 127 ? String.fromCharCode(value) : value === null ? ' ' : '·';
      codes.push(
        <span class={name} data-at={outside ? undefined : position}>
          {shownByte}
        </span>,
      );
      signs.push(
        <span class={name} data-at={outside ? undefined : position}>
          {sign}
        </span>,
      );
    }
    lines.push(
      <div key={from} class="line" style={{ transform: `translateY(${line * HEIGHT - offset + top}px)` }}>
        <span class="address">{hex(from, digits)}</span>
        <span class="codes" style={{ width: `${wide * cell}ch` }}>
          {codes}
        </span>
        <span class="signs">{signs}</span>
      </div>,
    );
  }
  return (
    <>
      <div
        id="bytes"
        ref={box}
        class="bytes"
        role="group"
        tabIndex={0}
        aria-label={`Bytes: ${many(end - (place?.start ?? 0), 'byte')}${place?.space === 'row' ? ', decompressed' : ''}`}
        aria-describedby="field"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
        onPointerMove={over}
        onPointerLeave={() => (lit.value = null)}
        onClick={pick}
        onKeyDown={key}
      >
        <div class="sizer" aria-hidden="true" style={{ height: `${total}px` }}>
          {lines}
        </div>
      </div>
    </>
  );
}
