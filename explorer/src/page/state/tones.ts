/** Colours of fields: neighbours differ, and a field has the same in the bytes and in the tree. */
import type { FieldNode, FieldTree } from '../../engine/api';

export const TONES = 6;

/** Fields with bytes and without fields of their own, in order of their bytes. */
export function leaves(tree: FieldTree | null): FieldNode[] {
  const found: FieldNode[] = [];
  const visit = (node: FieldNode): void => {
    const inner = node.children.filter((child) => !child.computed && child.end > child.start);
    if (inner.length) inner.forEach(visit);
    else if (!node.computed && node.end > node.start) found.push(node);
  };
  if (tree) visit(tree.root);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

/** The last field that begins at or before a byte and holds it; -1 for none. */
export function leafAt(fields: FieldNode[], position: number): number {
  let low = 0;
  let high = fields.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((fields[middle]?.start ?? 0) <= position) low = middle + 1;
    else high = middle;
  }
  const found = fields[low - 1];
  return found && position < found.end ? low - 1 : -1;
}
