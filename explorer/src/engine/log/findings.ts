/** Findings: errors with what a reader and a broker make of them. */
import type { ErrorData, Finding } from '../api';
import { FACTS } from '../specification/facts';

/** A finding with what a reader and a broker make of it. */
export function finding(
  area: string, error: ErrorData, row: number | null, severity: Finding['severity'] = 'error',
): Finding {
  const known = FACTS.consequences[area] ?? {};
  const [reader, broker] = known[error.reason] ?? known[''] ?? ['', ''];
  return {
    row, reason: error.reason, severity, area, position: error.position ?? 0, inner: error.inner,
    path: error.path, detail: error.detail, reader, broker,
  };
}
