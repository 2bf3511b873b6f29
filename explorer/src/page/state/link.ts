/** The view as the fragment of the address: `#file=t-0/0.log&at=1024&record=3&mode=hex`. */

export interface View {
  file: string;
  /** Byte of the batch; null for none. */
  at: number | null;
  record: number | null;
  /** Entry of an index or another small file. */
  entry: number | null;
  mode: string;
  layout: string;
  beside: string;
}

export function parse(fragment: string): View {
  const values = new URLSearchParams(fragment.replace(/^#/, ''));
  const number = (name: string): number | null => {
    const text = values.get(name) ?? '';
    return /^\d{1,15}$/.test(text) ? Number(text) : null;
  };
  return {
    file: values.get('file') ?? '',
    at: number('at'),
    record: number('record'),
    entry: number('entry'),
    mode: values.get('mode') ?? '',
    layout: values.get('show') ?? '',
    beside: values.get('beside') ?? '',
  };
}

export function write(view: View): string {
  const values = new URLSearchParams();
  if (view.file) values.set('file', view.file);
  if (view.at !== null) values.set('at', String(view.at));
  if (view.record !== null) values.set('record', String(view.record));
  if (view.entry !== null) values.set('entry', String(view.entry));
  if (view.mode && view.mode !== 'auto') values.set('mode', view.mode);
  if (view.layout === 'records') values.set('show', view.layout);
  if (view.beside) values.set('beside', view.beside);
  const text = values.toString();
  return text ? `#${text}` : '';
}
