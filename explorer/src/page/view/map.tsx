/** The file as a strip: codecs, transactions and control records, damage, each in its own lane. */
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { CHECK, FLAG, ROW } from '../../engine/api';
import { bytes, many } from '../state/format';
import { chooseRow, goToByte, row, type Open } from '../state/store';
import { dark } from '../state/theme';
import { codecName } from './batches';

const LANES = { codec: [0, 20], marks: [23, 9], damage: [35, 9] } as const;
const HEIGHT = 46;

/** Colour of a codec and the pattern over it: none is plain. */
const PATTERNS = ['plain', 'rise', 'dots', 'bars', 'fall'] as const;
type Pattern = (typeof PATTERNS)[number];

function draw(context: CanvasRenderingContext2D, pattern: Pattern, ink: string): void {
  context.strokeStyle = context.fillStyle = ink;
  context.lineWidth = 1.2;
  context.beginPath();
  if (pattern === 'rise') {
    context.moveTo(-2, 8);
    context.lineTo(8, -2);
    context.moveTo(-2, 2);
    context.lineTo(2, -2);
    context.moveTo(4, 8);
    context.lineTo(8, 4);
  } else if (pattern === 'fall') {
    context.moveTo(-2, -2);
    context.lineTo(8, 8);
    context.moveTo(4, -2);
    context.lineTo(8, 2);
    context.moveTo(-2, 4);
    context.lineTo(2, 8);
  } else if (pattern === 'bars') {
    context.moveTo(3, 0);
    context.lineTo(3, 6);
  } else if (pattern === 'dots') context.arc(3, 3, 1.2, 0, 7);
  if (pattern === 'dots') context.fill();
  else context.stroke();
}

function tile(pattern: Pattern, colour: string, ink: string): HTMLCanvasElement {
  const made = document.createElement('canvas');
  made.width = made.height = 6;
  const context = made.getContext('2d');
  if (context) {
    context.fillStyle = colour;
    context.fillRect(0, 0, 6, 6);
    draw(context, pattern, ink);
  }
  return made;
}

function colour(element: Element, name: string): string {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

interface Bins {
  codec: Int8Array;
  marks: Uint8Array;
  damage: Uint8Array;
}

/** What each column of pixels stands for: of several batches the codec of the first. */
function bins(file: Open, width: number): Bins {
  const found = { codec: new Int8Array(width).fill(-2), marks: new Uint8Array(width), damage: new Uint8Array(width) };
  const scale = width / Math.max(1, file.info.size);
  for (const piece of file.columns.pieces) {
    for (let i = 0; i < piece.count; i += 1) {
      const from = Math.floor((piece.position[i] ?? 0) * scale);
      const to = Math.min(width, Math.max(from + 1, Math.floor(((piece.position[i] ?? 0) + (piece.size[i] ?? 0)) * scale)));
      const kind = piece.row[i];
      const damaged = kind === ROW.DAMAGED || piece.checked[i] === CHECK.DAMAGED;
      const flags = piece.flags[i] ?? 0;
      for (let x = from; x < to; x += 1) {
        if ((found.codec[x] ?? 0) < 0) found.codec[x] = kind === ROW.BATCH ? (piece.codec[i] ?? -1) : -1;
        found.marks[x] = (found.marks[x] ?? 0) | (flags & (FLAG.TRANSACTIONAL | FLAG.CONTROL));
        if (damaged) found.damage[x] = 1;
        else if (kind === ROW.TAIL) found.damage[x] = Math.max(found.damage[x] ?? 0, 2);
      }
    }
  }
  return found;
}

function paint(canvas: HTMLCanvasElement, file: Open, width: number): void {
  const ratio = Math.min(3, devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext('2d');
  if (!context) return;
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, HEIGHT);
  const held = bins(file, Math.max(1, Math.floor(width)));
  const fills = PATTERNS.map((pattern, number) => {
    const made = tile(pattern, colour(canvas, `--codec-${number}`), colour(canvas, '--ink-on-codec'));
    return context.createPattern(made, 'repeat') ?? '';
  });
  const [codecTop, codecHeight] = LANES.codec;
  const runs = (length: number, same: (a: number, b: number) => boolean, fill: (from: number, to: number) => void): void => {
    for (let from = 0; from < length; ) {
      let to = from + 1;
      while (to < length && same(from, to)) to += 1;
      fill(from, to);
      from = to;
    }
  };
  const length = held.codec.length;
  context.fillStyle = colour(canvas, '--sunk');
  for (const [top, height] of Object.values(LANES)) context.fillRect(0, top, width, height);
  runs(length, (a, b) => held.codec[a] === held.codec[b], (from, to) => {
    const codec = held.codec[from] ?? -1;
    if (codec < 0) return;
    context.fillStyle = fills[codec] ?? fills[0] ?? '';
    context.fillRect(from, codecTop, to - from, codecHeight);
  });
  const [marksTop] = LANES.marks;
  context.fillStyle = colour(canvas, '--transaction');
  runs(length, (a, b) => held.marks[a] === held.marks[b], (from, to) => {
    const marks = held.marks[from] ?? 0;
    if (marks & FLAG.TRANSACTIONAL) context.fillRect(from, marksTop + 3, to - from, 3);
    if (marks & FLAG.CONTROL) context.fillRect(from, marksTop, Math.max(1, Math.min(2, to - from)), 9);
  });
  const [damageTop, damageHeight] = LANES.damage;
  runs(length, (a, b) => held.damage[a] === held.damage[b], (from, to) => {
    const kind = held.damage[from] ?? 0;
    if (!kind) return;
    context.fillStyle = context.strokeStyle = colour(canvas, kind === 1 ? '--damage' : '--faint');
    if (kind === 2) {
      context.fillRect(from, damageTop + 4, to - from, 1.5);
      return;
    }
    context.fillRect(from, damageTop + damageHeight - 2, to - from, 2);
    const middle = (from + to) / 2;
    context.beginPath();
    context.moveTo(middle, damageTop - 1);
    context.lineTo(middle + 5, damageTop + damageHeight);
    context.lineTo(middle - 5, damageTop + damageHeight);
    context.fill();
  });
}

function Swatch({ number }: { number: number }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const isDark = dark.value;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const made = tile(PATTERNS[number] ?? 'plain', colour(element, `--codec-${number}`), colour(element, '--ink-on-codec'));
    context.fillStyle = context.createPattern(made, 'repeat') ?? '';
    context.fillRect(0, 0, 18, 12);
  }, [number, isDark]);
  return <canvas ref={canvas} width={18} height={12} class="swatch" aria-hidden="true" />;
}

function codecsIn(file: Open): number[] {
  const found = new Set<number>();
  for (const piece of file.columns.pieces) {
    for (let i = 0; i < piece.count; i += 1) if (piece.row[i] === ROW.BATCH) found.add(piece.codec[i] ?? -1);
  }
  return [...found].filter((codec) => codec >= 0).sort();
}

export function FileMap({ file }: { file: Open }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const version = file.version.value;
  const isDark = dark.value;
  const held = file.columns.at(row.value);
  const size = Math.max(1, file.info.size);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    setWidth(element.clientWidth);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const frame = requestAnimationFrame(() => canvas.current && paint(canvas.current, file, width));
    return () => cancelAnimationFrame(frame);
  }, [file, version, width, isDark]);

  const jump = (event: PointerEvent): void => {
    const bounds = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const share = (event.clientX - bounds.left) / Math.max(1, bounds.width);
    void goToByte(file, Math.min(size - 1, Math.max(0, Math.floor(share * size))));
  };
  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = file.columns.count - 1;
    const screen = Math.max(1, Math.floor(file.columns.count / 20));
    const steps: Record<string, number> = {
      ArrowRight: row.value + 1,
      ArrowUp: row.value + 1,
      ArrowLeft: row.value - 1,
      ArrowDown: row.value - 1,
      PageUp: row.value + screen,
      PageDown: row.value - screen,
      Home: 0,
      End: last,
    };
    const next = steps[event.key];
    if (next === undefined) return;
    if (last >= 0) void chooseRow(Math.min(Math.max(next, 0), last));
    event.preventDefault();
    event.stopPropagation();
  };
  const left = held ? (held.position / size) * 100 : 0;
  const share = held ? (held.size / size) * 100 : 0;
  return (
    <section class="map" aria-label="Map of the file">
      <div
        ref={box}
        id="map"
        class="strip"
        role="slider"
        tabIndex={0}
        aria-label="Place in the file"
        aria-valuemin={0}
        aria-valuemax={size}
        aria-valuenow={held?.position ?? 0}
        aria-valuetext={held ? `batch ${row.value + 1} of ${file.columns.count}, byte ${held.position}` : 'no batch'}
        onPointerDown={jump}
        onPointerMove={(event) => event.buttons === 1 && jump(event)}
        onKeyDown={key}
      >
        <canvas ref={canvas} aria-hidden="true" />
        {held && <div class="here" style={{ left: `${left}%`, width: `max(3px, ${share}%)` }} />}
      </div>
      <p class="legend">
        {codecsIn(file).map((codec) => (
          <span>
            <Swatch number={codec} /> {codecName(codec)}
          </span>
        ))}
        <span>
          <i class="line" aria-hidden="true" /> transaction
        </span>
        <span>
          <i class="tick" aria-hidden="true" /> control
        </span>
        <span>
          <b class="damage" aria-hidden="true">▲</b> damage
        </span>
        <span class="right">
          {many(file.columns.count, 'entry', 'entries')} · {bytes(file.info.size)}
        </span>
      </p>
    </section>
  );
}
