/** A table of any number of rows, of which only those in sight exist; the keyboard goes through it. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { scale as zoom } from '../state/theme';

/** Browsers cannot make an element higher than this; beyond, the scroll bar is a scale. */
const HIGHEST = 8_000_000;

export interface Column {
  name: string;
  /** Class of the cells and of the head. */
  kind: string;
  title?: string;
}

interface Props {
  id: string;
  label: string;
  columns: Column[];
  count: number;
  height: number;
  chosen: number;
  /** Something that changes when rows have changed. */
  version: unknown;
  cells: (row: number) => ComponentChildren[] | null;
  state?: (row: number) => string;
  choose: (row: number) => void;
  enter?: (row: number) => void;
  /** What a click does, if it does not only choose. */
  click?: (row: number) => void;
  none: string;
}

export function VirtualTable(props: Props): JSX.Element {
  const { id, count, chosen } = props;
  const height = Math.round(props.height * zoom.value);
  const box = useRef<HTMLDivElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(400);
  const total = Math.min(count * height, HIGHEST);
  const view = Math.max(height, room - (head.current?.offsetHeight ?? height));
  const scale = total > view ? (count * height - view) / (total - view) : 1;
  const offset = top * scale;
  const first = Math.max(0, Math.floor(offset / height) - 4);
  const last = Math.min(count, Math.ceil((offset + view) / height) + 4);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setRoom(element.clientHeight));
    watch.observe(element);
    setRoom(element.clientHeight);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const element = box.current;
    if (!element || chosen < 0 || chosen >= count) return;
    const at = chosen * height;
    const now = element.scrollTop * scale;
    if (at < now) element.scrollTop = at / scale;
    else if (at + height > now + view) element.scrollTop = (at + height - view) / scale;
  }, [chosen, count, view]);

  const key = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const screen = Math.max(1, Math.floor(view / height) - 1);
    const steps: Record<string, number> = {
      ArrowDown: chosen + 1,
      j: chosen + 1,
      ArrowUp: chosen - 1,
      k: chosen - 1,
      PageDown: chosen + screen,
      PageUp: chosen - screen,
      Home: 0,
      End: count - 1,
    };
    const next = steps[event.key];
    if (next !== undefined && count) props.choose(Math.min(Math.max(next, 0), count - 1));
    else if (event.key === 'Enter' && props.enter && chosen >= 0) props.enter(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const rows: JSX.Element[] = [];
  for (let row = first; row < last; row += 1) {
    const cells = props.cells(row);
    // With a scale, rows stand where they are seen, not where they would be in all of the height.
    const place = row * height - offset + top;
    rows.push(
      <div
        key={row}
        id={`${id}-${row}`}
        role="row"
        class={`row ${props.state?.(row) ?? ''}`}
        aria-rowindex={row + 2}
        aria-selected={row === chosen}
        style={{ transform: `translateY(${place}px)`, height: `${height}px` }}
        onClick={() => (props.click ?? props.choose)(row)}
        onDblClick={() => props.enter?.(row)}
      >
        {props.columns.map((column, number) => (
          <span role="gridcell" class={column.kind}>
            {cells ? cells[number] : number ? '' : '…'}
          </span>
        ))}
      </div>,
    );
  }
  return (
    <div
      ref={box}
      id={id}
      class="virtual"
      role="grid"
      tabIndex={0}
      aria-label={props.label}
      aria-rowcount={count + 1}
      aria-activedescendant={chosen >= first && chosen < last ? `${id}-${chosen}` : undefined}
      onKeyDown={key}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div ref={head} role="row" class="row head" aria-rowindex={1}>
        {props.columns.map((column) => (
          <span role="columnheader" class={column.kind} title={column.title}>
            {column.name}
          </span>
        ))}
      </div>
      <div role="presentation" class="sizer" style={{ height: `${total}px` }}>
        {rows}
      </div>
      {count === 0 && <p class="none">{props.none}</p>}
    </div>
  );
}
