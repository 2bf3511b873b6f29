/** The records of a partition: one list across its segments, and the record that is chosen. */
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { FLAG, ROW, type Header } from '../../engine/api';
import { bytes, count, many, printable, time } from '../state/format';
import {
  chooseLine, chosenLine, isDamaged, lineAt, listAll, logStart, readLogStart, recordOfLine, segments, total, version, type Line,
} from '../state/partition';
import { attempt, current } from '../state/store';
import { marks } from './batches';
import { preview, utf8 } from './records';
import { VirtualTable } from './virtual';

const COLUMNS = [
  { name: 'Offset', kind: 'number' },
  { name: 'Time', kind: 'time' },
  { name: 'Key', kind: 'text' },
  { name: 'Value', kind: 'text wide' },
  { name: 'Headers', kind: 'text headers' },
  { name: 'Producer', kind: 'producer', title: 'producer id, epoch, and sequence' },
  { name: 'Marks', kind: 'marks' },
];

function headersText(headers: Header[]): string {
  return headers
    .slice(0, 20)
    .map(({ key, value }) => printable(`${utf8(key) ?? '?'}=${value === null ? 'null' : (utf8(value) ?? '…')}`))
    .join(' ');
}

function alone(first: string, text: string, mark = ''): string[] {
  return [first, '', '', text, '', '', mark];
}

/** Cells of a line without a record. */
function rowCells({ file, row, index }: Line): string[] | null {
  if (row < 0) return ['', '', 'segment', `${file.info.baseOffset ?? printable(file.info.name)} · ${bytes(file.info.size)}`, '', '', ''];
  const held = file.columns.at(row);
  if (!held) return null;
  if (held.kind === ROW.TAIL) {
    const found = file.findings.value.find((one) => one.row === row);
    return alone('', `${found?.reason ?? 'end of the log'}: ${bytes(held.size)}`, '■');
  }
  if (held.kind === ROW.DAMAGED) return alone('', `damaged: ${bytes(held.size)} at byte ${count(held.position)}`, '▲');
  if (held.records === 0) return alone(String(held.baseOffset), 'a batch without records', marks(held));
  return index === 0 ? alone(String(held.baseOffset), '…', marks(held)) : alone('', '…');
}

function cells(line: Line): (JSX.Element | string)[] | null {
  const held = line.row < 0 ? null : line.file.columns.at(line.row);
  if (!held || held.kind !== ROW.BATCH || held.records === 0) return rowCells(line);
  const found = recordOfLine(line);
  if (!found) return rowCells(line);
  const { record, page } = found;
  if (!record) return alone('', page.error ? `${page.error.reason}: ${printable(page.error.detail)}` : 'no record', '▲');
  const value = record.control ? <b class="mark">{record.control}</b> : preview(record.value, record.value.message);
  const producer = held.producerId < 0n ? '' : `${held.producerId}/${held.producerEpoch}${record.sequence < 0 ? '' : `:${record.sequence}`}`;
  const start = logStart.value;
  const begins = start !== null && record.offset >= start.offset && isFirst(line, record.offset, start.offset);
  return [
    String(record.offset),
    time(record.timestamp),
    preview(record.key, record.key.message),
    value,
    headersText(record.headers),
    producer,
    begins ? <span title={`The log starts at offset ${start.offset} (${start.from})`}>⊢ {marks(held)}</span> : marks(held),
  ];
}

/** Whether a record is the first one that readers see: the one before it is below the start of the log. */
function isFirst(line: Line, offset: bigint, start: bigint): boolean {
  if (offset === start) return true;
  const held = line.file.columns.at(line.row);
  return line.index === 0 && held !== null && (line.row === 0 ? line.file === segments.value[0] : (line.file.columns.at(line.row - 1)?.lastOffset ?? start) < start);
}

function state(line: Line): string {
  if (line.row < 0) return 'segment';
  const held = line.file.columns.at(line.row);
  if (!held) return '';
  if (isDamaged(held)) return 'damaged';
  if (held.kind === ROW.TAIL) return 'tail';
  const start = logStart.value;
  if (start !== null && held.lastOffset < start.offset) return 'before';
  if (start !== null && held.baseOffset < start.offset) {
    const offset = recordOfLine(line)?.record?.offset;
    if (offset !== undefined && offset < start.offset) return 'before';
  }
  return held.flags & FLAG.CONTROL ? 'control' : '';
}

export function PartitionRecords(): JSX.Element {
  const file = current.value;
  const home = file?.dir;
  useEffect(() => {
    void attempt(readLogStart);
    void attempt(listAll);
  }, [home, segments.value.length]);
  const shown = total.value;
  const listed = segments.value.filter((one) => one.isRead || one.scanned.value >= one.info.size).length;
  const start = logStart.value;
  return (
    <>
      <div class="bar">
        <h2>Records</h2>
        <span class="facts">
          {many(segments.value.length, 'segment')}
          {listed < segments.value.length && `, ${listed} listed`}
          {start && ` · ⊢ log start ${start.offset}, by ${start.from}`}
        </span>
      </div>
      <VirtualTable
        id="all"
        label="Records of the partition"
        columns={COLUMNS}
        count={shown}
        height={24}
        chosen={chosenLine.value}
        version={version.value}
        none={listed < segments.value.length ? 'Reading …' : 'No records'}
        choose={(line) => void attempt(() => chooseLine(line))}
        enter={() => document.getElementById('record')?.focus()}
        state={(line) => {
          const found = lineAt(line);
          return found ? state(found) : '';
        }}
        cells={(line) => {
          const found = lineAt(line);
          return found && cells(found);
        }}
      />
    </>
  );
}
