/** Begins the page: the engine in its worker, what the server lists, the view of the address. */
import { render } from 'preact';
import workerSource from 'kafkaspec:worker';
import { start as startEngine } from '../engine/client';
import { printable } from './state/format';
import { listed, SERVED } from './state/input';
import { attempt, keepAddress, openFiles, said, start, trouble } from './state/store';
import { App } from './view/app';
import './style.css';

const root = document.getElementById('app');
if (root) {
  render(<App />, root);
  const { engine } = startEngine(workerSource);
  keepAddress();
  void attempt(async () => {
    await start(engine);
    if (!SERVED) return;
    const found = await listed();
    document.title = `${printable(found.root)} – kafkaspec explorer`;
    if (found.files.length) await openFiles(found.files);
    else trouble.value = 'No files of Kafka are in this place.';
    if (found.more) said.value = `The first ${found.files.length} files are listed.`;
  });
}
