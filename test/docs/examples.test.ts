import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { readCodeBlocks } from './code-blocks.ts';
import type { CodeBlock } from './code-blocks.ts';
import { preparePage, startPage } from './page-runner.ts';

const run = promisify(execFile);
const RUN = new Set(['sh', 'js', 'ts', 'python']);
/** Programs that are shown and cannot be run here: each says why. */
const SHOWN = new Set(['rust', 'java', 'scala']);
const DATA = new Set(['json', 'text', 'xml', 'toml', 'yaml', 'ini']);

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`)
    .toSorted(),
];
/** They make the table `items` themselves, or need none. */
const WITHOUT_ITEMS = new Set(['README.md', 'docs/start.md']);
/** The block that makes the table `items`, which the guides refer to. */
const ITEMS = readCodeBlocks('docs/start.md').find(({ code }) => code.includes('tiltyard import items.ndjson items'));
assert.ok(ITEMS !== undefined);

const python = process.env['PYTHON'] ?? 'python3';
const hasPython = await run(python, ['-c', 'import pyarrow, requests']).then(
  () => true,
  () => false,
);

const root = await mkdtemp(join(tmpdir(), 'tiltyard-pages-'));
const WITH_ITEMS = { files: join(root, 'files'), data: join(root, 'data') };
before(async () => preparePage(python, ITEMS, WITH_ITEMS));
after(async () => rm(root, { recursive: true, force: true }));

test('every block of code in the docs is run, or says why it is not', () => {
  for (const block of PAGES.flatMap(readCodeBlocks)) {
    const place = `${block.page}:${block.line}`;
    assert.ok(!block.isIndented, `${place}: write the block with a fence and its language`);
    assert.ok(
      RUN.has(block.language) || SHOWN.has(block.language) || DATA.has(block.language),
      `${place}: the language "${block.language}" is none of those that the docs use`,
    );
    if (SHOWN.has(block.language)) assert.ok(block.notRun, `${place}: say why it is not run: <!-- not run: … -->`);
    if (block.notRun !== undefined) assert.ok(block.notRun.length > 15, `${place}: "${block.notRun}" is no reason`);
    if (block.language === 'json') assert.doesNotThrow(() => JSON.parse(block.code), `${place}: not JSON`);
  }
});

test('README and guides show the examples as they are in the repository', () => {
  for (const [page, example] of [
    ['README.md', 'first-table.mjs'],
    ['README.md', 'first_table.py'],
    ['docs/guides/java.md', 'java/FirstTable.java'],
    ['docs/guides/spark.md', 'walkthrough/Enrich.java'],
  ] as const) {
    const codes = readCodeBlocks(page).map(({ code }) => `${code}\n`);
    assert.ok(codes.includes(readFileSync(`examples/${example}`, 'utf8')), `${page} shows another ${example}`);
  }
});

for (const page of PAGES) {
  const blocks = readCodeBlocks(page).filter(({ language, notRun }) => RUN.has(language) && notRun === undefined);
  if (blocks.length === 0) continue;
  test(`the ${blocks.length} examples of ${page} work as they stand there`, async (context) => {
    const runner = await startPage(python, WITHOUT_ITEMS.has(page) ? undefined : WITH_ITEMS);
    try {
      for (const block of blocks) {
        if (block.language === 'python' && !hasPython) {
          context.diagnostic(`line ${block.line} is not run: pyarrow and requests are not installed`);
          continue;
        }
        checkOutput(block, await outputOf(runner.run(block), block));
      }
    } finally {
      await runner.close();
    }
  });
}

async function outputOf(running: Promise<string>, { page, line }: CodeBlock): Promise<string> {
  return running.catch((error: unknown) => {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${page}:${line} failed\n${stdout}\n${stderr}`, { cause: error });
  });
}

function checkOutput(block: CodeBlock, output: string): void {
  const place = `${block.page}:${block.line}`;
  for (const expected of block.prints) assert.ok(output.includes(expected), `${place}: no "${expected}" in\n${output}`);
  if (block.refused !== undefined)
    assert.ok(output.includes(`"status":${block.refused}`), `${place}: no refusal with ${block.refused} in\n${output}`);
}
