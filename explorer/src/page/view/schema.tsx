/** A schema that a person gives, for keys and values that no registry has one for. */
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { printable } from '../state/format';
import { facts, giveSchema, schema, trouble } from '../state/store';

export const giving = signal(false);

export function GiveSchema(): JSX.Element | null {
  const box = useRef<HTMLDialogElement>(null);
  const open = giving.value;
  useLayoutEffect(() => {
    if (open) box.current?.showModal();
  }, [open]);
  if (!open) return null;
  const take = async (text: string): Promise<void> => {
    await giveSchema(text);
    if (!trouble.value) box.current?.close();
  };
  return (
    <dialog ref={box} onClose={() => (giving.value = false)} aria-labelledby="schema-title">
      <header>
        <h2 id="schema-title">Schema of keys and values</h2>
        <button class="close" aria-label="Close" onClick={() => box.current?.close()}>
          ×
        </button>
      </header>
      <p class="hint">
        A schema of Avro, as JSON, or one of Protobuf, as text or as descriptors in base64, whose first message is meant. It is for values without the id of a schema: those that have one are decoded as soon as the topic{' '}
        <code>{facts.value?.schemasTopic}</code> of their registry is open too.
      </p>
      {trouble.value && (
        <p class="trouble" role="alert">
          {printable(trouble.value)}
        </p>
      )}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const area = event.currentTarget.elements.namedItem('schema');
          if (area instanceof HTMLTextAreaElement) void take(area.value);
        }}
      >
        <textarea id="schema" name="schema" rows={14} spellcheck={false} aria-label="Schema" value={schema.value} />
        <button class="primary">Decode</button>
        <button type="button" onClick={() => void take('')}>
          Without a schema
        </button>
      </form>
    </dialog>
  );
}
