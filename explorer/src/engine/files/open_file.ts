/** A file that is open, and what is known of it so far. */
import type { FileInfo, ScanResult } from '../api';
import type { Log } from '../log/log';
import type { Source } from '../bytes/source';
import type { Index } from './tables';

export interface OpenFile {
  info: FileInfo;
  source: Source;
  log: Log | null;
  scanning: Promise<ScanResult> | null;
  /** Headers that were asked for before the passes over them. */
  listing: Promise<void> | null;
  index: Index | null;
  /** The file before each edit, the oldest first. */
  before: Source[];
}
