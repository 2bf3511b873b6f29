/** From a record to what is around it: its neighbours, its producer, its transaction and the marker. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { many } from '../state/format';
import { neighbour, ofProducer, transactionOf, version, type Place } from '../state/partition';
import { attempt, chooseAt, current, engine, record, row } from '../state/store';

function go(place: Place | null, index = 0): void {
  if (place) void attempt(() => chooseAt(place.file, place.row, index));
}

/** What a marker says: COMMIT or ABORT; empty until it is read. */
function useMarker(place: Place | null): string {
  const [name, setName] = useState('');
  const id = place?.file.info.id;
  const at = place?.row;
  useEffect(() => {
    setName('');
    if (id === undefined || at === undefined) return;
    let stale = false;
    void engine()
      .records(id, at, 0, 1)
      .then((page) => stale || setName(page.records[0]?.control ?? 'not readable'), () => undefined);
    return () => {
      stale = true;
    };
  }, [id, at]);
  return name;
}

export function Around(): JSX.Element | null {
  const file = current.value;
  void version.value;
  const at = file && row.value >= 0 ? { file, row: row.value } : null;
  const found = at && transactionOf(at);
  const marker = useMarker(found?.marker ?? null);
  const held = at?.file.columns.at(at.row);
  if (!at || !held) return null;
  const markerOffset = found?.marker && found.marker.file.columns.at(found.marker.row)?.baseOffset;
  const [before, after] = held.producerId < 0n ? [null, null] : [ofProducer(at, -1), ofProducer(at, 1)];
  return (
    <p class="around" id="around">
      <button class="small" id="before" onClick={() => void neighbour(-1)}>
        ← record before
      </button>
      <button class="small" id="after" onClick={() => void neighbour(1)}>
        record after →
      </button>
      {held.producerId >= 0n && (
        <span>
          <span>{`producer ${held.producerId}, epoch ${held.producerEpoch}`}</span>
          <button class="small" id="producer-before" disabled={!before} onClick={() => go(before)} aria-label="Batch before of this producer">
            ←
          </button>
          <button class="small" id="producer-after" disabled={!after} onClick={() => go(after)} aria-label="Next batch of this producer">
            →
          </button>
        </span>
      )}
      {found && (
        <span id="transaction">
          transaction of {many(found.records, 'record')} in {many(found.batches, 'batch', 'batches')}
          {found.partial && ' at least: it may begin in a segment that is not open'}
          <button class="small" id="transaction-first" onClick={() => go(found.first)}>
            first
          </button>
          <button class="small" id="transaction-last" onClick={() => go(found.last)}>
            last
          </button>
          {found.marker ? (
            <button class="small" id="marker" onClick={() => go(found.marker)} disabled={record.value >= 0 && found.marker.file === file && found.marker.row === row.value}>
              {marker || 'marker'} at offset {String(markerOffset ?? '')}
            </button>
          ) : (
            <b>open: no marker follows</b>
          )}
        </span>
      )}
    </p>
  );
}
