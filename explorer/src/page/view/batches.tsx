/** The batches of a log. */
import type { JSX } from 'preact';
import { CHECK, FLAG, ROW } from '../../engine/api';
import type { Row } from '../state/columns';
import { isDamaged } from '../state/partition';
import { bytes, count, time } from '../state/format';
import { chooseRow, facts, row, type Open } from '../state/store';
import { VirtualTable } from './virtual';

const COLUMNS = [
  { name: 'Position', kind: 'number' },
  { name: 'Offsets', kind: 'number' },
  { name: 'Records', kind: 'number narrow' },
  { name: 'Size', kind: 'number' },
  { name: 'Codec', kind: 'codec' },
  { name: 'Newest', kind: 'time' },
  { name: 'Producer', kind: 'producer', title: 'producer id, epoch, and first sequence' },
  { name: 'Marks', kind: 'marks', title: 'T transaction, C control, A append time, ✓ checksum holds, ▲ damage' },
];

export function codecName(codec: number): string {
  return facts.value?.codecs[codec] ?? '–';
}

export function marks(held: Row): string {
  const found = [
    held.flags & FLAG.TRANSACTIONAL ? 'T' : '',
    held.flags & FLAG.CONTROL ? 'C' : '',
    held.flags & FLAG.LOG_APPEND_TIME ? 'A' : '',
    isDamaged(held) ? '▲' : held.checked === CHECK.SOUND ? '✓' : '',
  ];
  return found.join(' ').trim();
}

function cells(held: Row): string[] {
  if (held.kind === ROW.TAIL) return [count(held.position), 'end of the log', '', bytes(held.size), '', '', '', '■'];
  if (held.kind === ROW.DAMAGED) return [count(held.position), 'damaged', '', bytes(held.size), '', '', '', '▲'];
  const first = held.baseOffset;
  const offsets = first === held.lastOffset ? `${first}` : `${first}–${held.lastOffset}`;
  return [
    count(held.position),
    offsets,
    held.records < 0 ? '?' : count(held.records),
    bytes(held.size),
    codecName(held.codec),
    time(held.maxTimestamp),
    held.producerId < 0n ? '' : `${held.producerId}/${held.producerEpoch}:${held.baseSequence}`,
    marks(held),
  ];
}

export function Batches({ file }: { file: Open }): JSX.Element {
  const { columns } = file;
  return (
    <VirtualTable
      id="batches"
      label="Batches"
      columns={COLUMNS}
      count={columns.count}
      height={24}
      chosen={row.value}
      version={file.version.value}
      none={file.result.value ? 'No batches' : 'Reading …'}
      choose={(wanted) => void chooseRow(wanted)}
      enter={() => document.getElementById('records')?.focus()}
      state={(wanted) => {
        const held = columns.at(wanted);
        if (!held) return '';
        if (isDamaged(held)) return 'damaged';
        return held.kind === ROW.TAIL ? 'tail' : held.flags & FLAG.CONTROL ? 'control' : '';
      }}
      cells={(wanted) => {
        const held = columns.at(wanted);
        return held && cells(held);
      }}
    />
  );
}
