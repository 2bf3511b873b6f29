// Bundle the engine, and the page where there is one: node build.mjs FOLDER
//
// FOLDER gets worker.js (the engine in a worker), engine.mjs (for Node), and page.js with page.css,
// which have the worker inside. Output is the same on every machine: no dates, no paths.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = path.dirname(fileURLToPath(import.meta.url));
const into = path.resolve(process.argv[2] ?? path.join(here, '..', 'build', 'explorer'));
mkdirSync(into, { recursive: true });

const common = {
  absWorkingDir: here,
  bundle: true,
  charset: 'utf8',
  // The runtime of Kaitai Struct asks for these only where a specification needs them.
  external: ['iconv-lite', 'zlib'],
  legalComments: 'none',
  logLevel: 'warning',
  // The classes of the specification are CommonJS.
  mainFields: ['module', 'main'],
  target: 'es2022',
};

await build({
  ...common,
  entryPoints: ['src/engine/node.ts'],
  format: 'esm',
  outfile: path.join(into, 'engine.mjs'),
  platform: 'neutral',
});
await build({
  ...common,
  entryPoints: ['src/engine/worker.ts'],
  format: 'iife',
  minify: true,
  outfile: path.join(into, 'worker.js'),
  platform: 'browser',
});

// `import source from 'kafkaspec:worker'` is the text of the worker.
const worker = {
  name: 'worker',
  setup(made) {
    made.onResolve({ filter: /^kafkaspec:worker$/ }, () => ({ path: 'worker', namespace: 'worker' }));
    made.onLoad({ filter: /.*/, namespace: 'worker' }, () => ({
      contents: readFileSync(path.join(into, 'worker.js'), 'utf8'),
      loader: 'text',
    }));
  },
};

const page = ['src/page/main.ts', 'src/page/main.tsx'].find((name) => existsSync(path.join(here, name)));
if (page !== undefined) {
  await build({
    ...common,
    entryPoints: [page],
    format: 'iife',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    outfile: path.join(into, 'page.js'),
    platform: 'browser',
    plugins: [worker],
  });
}
