import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import type { Plugin } from 'esbuild';
import { makeFolder } from '../support/temporary-folder.ts';

const PLUGIN = new URL('../../../scripts/spread-objects.mjs', import.meta.url).href;

const SOURCE = `
  declare function haveSameMap(a: object, b: object): boolean;
  interface Plan { readonly k: number; readonly text: string }
  const plan: Plan = { k: 1, text: '{ ...kept }' };
  const widen = (more: number) => ({ ...plan, more, inner: { ...plan, k: more, last: true } });
  const { k, ...rest } = widen(2);
  for (let turn = 0; turn < 1000; turn += 1) widen(turn);
  console.log(JSON.stringify([widen(3), k, rest, { ...rest }]));
  console.log(haveSameMap(widen(4), widen(5)), haveSameMap(widen(4).inner, widen(5).inner));
`;

test('objects that begin with a spread keep their values, and share a hidden class', async (t) => {
  const folder = await makeFolder(t);
  const [entry, outfile] = [join(folder, 'plan.ts'), join(folder, 'plan.js')];
  await writeFile(entry, SOURCE);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The scripts have no types.
  const { spreadObjects } = (await import(PLUGIN)) as { spreadObjects: Plugin['setup'] };
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'esm',
    plugins: [{ name: 'spread-objects', setup: spreadObjects }],
    banner: { js: 'const haveSameMap = (a, b) => %HaveSameMap(a, b);' },
  });
  const { stdout } = await promisify(execFile)(process.execPath, ['--allow-natives-syntax', outfile]);
  const [values = '', classes] = stdout.split('\n');
  const plan = { k: 1, text: '{ ...kept }' };
  const rest = { text: plan.text, more: 2, inner: { ...plan, k: 2, last: true } };
  const widened = { ...plan, more: 3, inner: { ...plan, k: 3, last: true } };
  assert.deepEqual(JSON.parse(values), [widened, 1, rest, rest]);
  assert.equal(classes, 'true true');
});
