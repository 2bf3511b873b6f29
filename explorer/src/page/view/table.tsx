/** Entries of an index, snapshot or checkpoint. */
import type { JSX } from 'preact';
import { printable } from '../state/format';
import { attempt, chooseEntry, entry, type Open } from '../state/store';
import { VirtualTable } from './virtual';

export function Entries({ file }: { file: Open }): JSX.Element {
  const held = file.table.value;
  if (!held) return <p class="none">{file.error.value ? printable(file.error.value.detail) : 'Reading …'}</p>;
  const columns = held.columns.map((column) => ({
    name: column.name,
    kind: column.numeric ? 'number' : 'text',
    ...(column.doc === null ? {} : { title: column.doc }),
  }));
  return (
    <>
      <VirtualTable
        id="entries"
        label="Entries"
        columns={[{ name: '#', kind: 'number narrow' }, ...columns]}
        count={held.total}
        height={24}
        chosen={entry.value}
        version={held}
        none="No entries"
        choose={(wanted) => void chooseEntry(wanted)}
        enter={() => document.getElementById('bytes')?.focus()}
        cells={(wanted) => {
          const cells = file.cells(wanted);
          if (cells) return [String(wanted), ...cells.map(printable)];
          queueMicrotask(() => void attempt(() => file.entries(wanted)));
          return null;
        }}
      />
      {held.padding > 0 && <p class="hint">{held.padding} bytes of preallocated zeros follow.</p>}
    </>
  );
}
