/** Dark or light: as the system has it, until a person chooses. */
import { effect, signal } from '@preact/signals';

const KEY = 'kafkaspec-theme';
const KEYS = 'kafkaspec-single-keys';
const system = matchMedia('(prefers-color-scheme: dark)');

/** The store of a browser, which a page from a file may not have. */
function kept(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // It holds for this page alone.
  }
}

const before = kept(KEY);
export const dark = signal(before === null ? system.matches : before === 'dark');
/** Whether single letters are commands: who dictates turns that off. */
export const singleKeys = signal(kept(KEYS) !== 'off');

const huge = matchMedia('(min-width: 2400px)');
/** How much higher rows are than usual, as the style has their text. */
export const scale = signal(huge.matches ? 1.35 : 1);
huge.addEventListener('change', () => (scale.value = huge.matches ? 1.35 : 1));

export function switchTheme(): void {
  dark.value = !dark.value;
  keep(KEY, dark.value ? 'dark' : 'light');
}

export function switchKeys(on: boolean): void {
  singleKeys.value = on;
  keep(KEYS, on ? 'on' : 'off');
}

system.addEventListener('change', (event) => {
  if (kept(KEY) === null) dark.value = event.matches;
});
effect(() => {
  document.documentElement.dataset['theme'] = dark.value ? 'dark' : 'light';
});
