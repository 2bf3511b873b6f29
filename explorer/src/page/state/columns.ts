/** The rows of a file as they come: pieces of columns, and one object for a row that is shown. */
import { CHECK, ROW, type Rows } from '../../engine/api';

export interface Row {
  row: number;
  kind: number;
  position: number;
  size: number;
  baseOffset: bigint;
  lastOffset: bigint;
  records: number;
  magic: number;
  codec: number;
  flags: number;
  baseTimestamp: bigint;
  maxTimestamp: bigint;
  leaderEpoch: number;
  producerId: bigint;
  producerEpoch: number;
  baseSequence: number;
  checked: number;
}

export class Columns {
  readonly pieces: Rows[] = [];
  count = 0;
  /** Lines of the list of records: one for each record, and at least one for each row. */
  lines = 0;
  /** For each piece, the number of the first line of each row. */
  private readonly starts: Float64Array[] = [];

  add(rows: Rows): void {
    const starts = new Float64Array(rows.count);
    for (let i = 0; i < rows.count; i += 1) {
      starts[i] = this.lines;
      this.lines += linesOf(rows, i);
    }
    this.starts.push(starts);
    this.pieces.push(rows);
    this.count = rows.first + rows.count;
  }

  /** The line of the first record of a row. */
  lineOf(row: number): number {
    const number = this.pieceOf(row);
    return this.starts[number]?.[row - (this.pieces[number]?.first ?? 0)] ?? this.lines;
  }

  /** The row that a line is of, and the number of the line in it. */
  rowOfLine(line: number): [row: number, index: number] {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.lineOf(middle) <= line) low = middle + 1;
      else high = middle;
    }
    return [low - 1, line - this.lineOf(low - 1)];
  }

  /** Correct the number of lines of a row: what its header says may be wrong, or not be there. */
  setLines(row: number, wanted: number): boolean {
    const more = Math.max(1, wanted) - (this.lineOf(row + 1) - this.lineOf(row));
    if (more === 0) return false;
    this.starts.forEach((starts, number) => {
      const first = this.pieces[number]?.first ?? 0;
      for (let i = Math.max(0, row + 1 - first); i < starts.length; i += 1) starts[i] = (starts[i] ?? 0) + more;
    });
    this.lines += more;
    return true;
  }

  check(first: number, values: Uint8Array): void {
    values.forEach((value, number) => {
      const piece = this.piece(first + number);
      if (piece) piece.checked[first + number - piece.first] = value;
    });
  }

  at(row: number): Row | null {
    const piece = this.piece(row);
    if (!piece) return null;
    const i = row - piece.first;
    return {
      row,
      kind: piece.row[i] ?? 0,
      position: piece.position[i] ?? 0,
      size: piece.size[i] ?? 0,
      baseOffset: piece.baseOffset[i] ?? 0n,
      lastOffset: piece.lastOffset[i] ?? 0n,
      records: piece.records[i] ?? -1,
      magic: piece.magic[i] ?? -1,
      codec: piece.codec[i] ?? -1,
      flags: piece.flags[i] ?? 0,
      baseTimestamp: piece.baseTimestamp[i] ?? -1n,
      maxTimestamp: piece.maxTimestamp[i] ?? -1n,
      leaderEpoch: piece.leaderEpoch[i] ?? -1,
      producerId: piece.producerId[i] ?? -1n,
      producerEpoch: piece.producerEpoch[i] ?? -1,
      baseSequence: piece.baseSequence[i] ?? -1,
      checked: piece.checked[i] ?? CHECK.NOT_YET,
    };
  }

  /** The row at a byte of the file: the last one that begins at or before it; -1 for none. */
  rowAt(position: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      const piece = this.piece(middle);
      if (piece && (piece.position[middle - piece.first] ?? 0) <= position) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The next row from one on, in a direction, that is damaged; -1 for none. */
  damaged(from: number, step: 1 | -1): number {
    for (let row = from + step; row >= 0 && row < this.count; row += step) {
      const piece = this.piece(row);
      const i = row - (piece?.first ?? 0);
      if (piece && (piece.row[i] !== ROW.BATCH || piece.checked[i] === CHECK.DAMAGED)) return row;
    }
    return -1;
  }

  private piece(row: number): Rows | undefined {
    return this.pieces[this.pieceOf(row)];
  }

  /** The number of the piece with a row; -1 if it is in none. */
  private pieceOf(row: number): number {
    let low = 0;
    let high = this.pieces.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.pieces[middle]?.first ?? 0) <= row) low = middle + 1;
      else high = middle;
    }
    const found = this.pieces[low - 1];
    return found && row < found.first + found.count ? low - 1 : -1;
  }
}

/** Lines of a row as its header has them; a number that cannot be is none. */
function linesOf(rows: Rows, i: number): number {
  const records = rows.records[i] ?? 1;
  const most = Number((rows.lastOffset[i] ?? 0n) - (rows.baseOffset[i] ?? 0n)) + 1;
  return rows.row[i] === ROW.BATCH && records > 0 ? Math.max(1, Math.min(records, most)) : 1;
}
