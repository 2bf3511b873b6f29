/** What a schema or a value is not, and bounds on both. */
export class NotDecoded extends Error {}

export const DEEPEST = 64;
/** Items and records that a value may have: some of them take no bytes. */
export const MOST_ITEMS = 1 << 20;
/** Characters of a schema and all that it refers to, and how many these may be. */
export const LONGEST_SCHEMA = 4 << 20;
export const MOST_SCHEMAS = 256;

const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A text in quotes. */
export function textJson(bytes: Uint8Array): string {
  try {
    return JSON.stringify(STRICT.decode(bytes));
  } catch {
    throw new NotDecoded('a string that is not UTF-8');
  }
}

/** A number with a point. */
export function numberJson(value: number): string {
  return Number.isFinite(value) ? String(value) : `"${value}"`;
}
