import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { isRead } from '../../../src/arrow/results/result-framing.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { parseFieldPath } from '../../../src/model/field-path.ts';
import type { FullTextIndexSpec, IndexRequest } from '../../../src/model/index-spec.ts';
import type { FullTextQuery, Query } from '../../../src/model/query.ts';
import { locationUri } from '../../../src/model/table.ts';
import type { TableState } from '../../../src/model/table.ts';
import { Int32, Utf8, tableToIPC } from 'apache-arrow';
import { refusal } from '../../support/refusal.ts';
import { toItems, toTable } from '../sample-tables.ts';
import { commitPlan, latest, openApart, openTestEngine, sql, toQuery, toStream } from '../test-engine.ts';
import { afterCheckout, watchCommits } from '../watched-native.ts';

const TIMEOUT = { seconds: undefined, signal: () => new AbortController().signal };
const MiB = 2 ** 20;
const ALL_OLD = { blocksWriters: false, cutoff: Infinity };
const DIFF = { on: ['id'], columns: undefined, limit: 10, rowsMax: 1000, shownCharactersMax: 1_000_000 };
const TEXT: FullTextQuery = { kind: 'text', terms: 'item', columns: [['name']] };

/** In all columns with an index. */
const MATCH: FullTextQuery = {
  kind: 'match',
  terms: 'item',
  column: undefined,
  boost: 1,
  fuzziness: 0,
  maxExpansions: 50,
  operator: 'or',
  prefixLength: 0,
};

async function query({ rows }: Engine, state: TableState, wanted: Partial<Query>): Promise<void> {
  const { files } = await rows.query(state, toQuery(wanted), TIMEOUT);
  if (isRead(files)) return;
  for await (const file of files) assert.ok(file.length > 0);
}

const WORDS: FullTextIndexSpec = {
  kind: 'full-text',
  type: 'FTS',
  withPosition: undefined,
  baseTokenizer: undefined,
  language: undefined,
  maxTokenLength: undefined,
  lowerCase: undefined,
  stem: undefined,
  removeStopWords: undefined,
  customStopWords: undefined,
  asciiFolding: undefined,
  ngramMinLength: undefined,
  ngramMaxLength: undefined,
  prefixOnly: undefined,
  blockSize: undefined,
};
const INDEXES: readonly Omit<IndexRequest, 'replace'>[] = [
  { column: ['id'], name: 'id_idx', spec: { kind: 'scalar', type: 'BTREE' } },
  { column: ['name'], name: 'name_idx', spec: WORDS },
];

/** What reads files of a state; the rest has read the manifest when the state is open. */
const READS: Readonly<Record<string, (engine: Engine, state: TableState, table: TableState) => Promise<unknown>>> = {
  'a query': async (engine, state) => query(engine, state, {}),
  'a query of one row': async (engine, state) => query(engine, state, { k: 1 }),
  'a lookup': async (engine, state) => query(engine, state, { filter: sql('id = 3') }),
  'a full-text search': async (engine, state) => query(engine, state, { fullText: TEXT, k: 5 }),
  'a count': async ({ rows }, state) => rows.count(state, sql("name LIKE '%7%'"), TIMEOUT),
  'an analysis': async (engine, state) => engine.analyzeQuery(state, toQuery({}), TIMEOUT),
  'an explanation': async ({ rows }, state) => rows.explain(state, toQuery({ fullText: MATCH }), false, TIMEOUT),
  'a diff from there': async ({ rows }, state, to) => rows.diff({ ...DIFF, from: state, to }, TIMEOUT),
  'a diff to there': async ({ rows }, state, from) => rows.diff({ ...DIFF, from, to: state }, TIMEOUT),
  'a prewarming of columns': async ({ indexes }, state) => indexes.prewarmColumns(state, [], TIMEOUT),
  'a prewarming of an index': async ({ indexes }, state) => indexes.prewarm(state, 'id_idx'),
  'a list of indexes': async ({ indexes }, state) => indexes.list(state),
  statistics: async ({ versions }, state) => versions.stats(state),
};

/** A table whose version 4 has files that no later one has. `interrupt` runs when a version or a branch has been opened. */
async function openScene(t: TestContext) {
  const scene: { interrupt?: (() => Promise<void>) | undefined; heldOptimize?: Promise<void> } = {};
  const commits = watchCommits(async (call, name) => {
    if (name === 'optimize') await scene.heldOptimize;
    return call();
  });
  const native = afterCheckout(async () => {
    const { interrupt } = scene;
    scene.interrupt = undefined;
    await interrupt?.();
  }, commits);
  const { engine, location } = await openTestEngine(t, {}, native);
  const table = latest(location());
  await engine.createTable(table.location, await toStream(toItems(20)), {});
  await rewrite(engine, table);
  await build(engine, table);
  await rewrite(engine, table);
  for (const { name } of INDEXES) await commitPlan(engine, table, engine.commits.dropIndex(name));
  return { engine, table, scene };
}

/** With rows and an index on a branch. */
async function openBranch(t: TestContext) {
  const opened = await openScene(t);
  const { engine, table } = opened;
  await engine.versions.createBranch(table, 'side');
  await rewrite(engine, { ...table, branch: 'side' });
  await build(engine, { ...table, branch: 'side' });
  return opened;
}

async function rewrite(engine: Engine, table: TableState): Promise<void> {
  const assignments = [{ path: parseFieldPath('id'), expression: sql('id + 1') }];
  await commitPlan(engine, table, engine.commits.update(table, { assignments, predicate: undefined }));
}

async function build(engine: Engine, table: TableState): Promise<void> {
  for (const index of INDEXES) {
    const opened = await engine.indexes.openBuild(table);
    await opened.build({ ...index, replace: true });
    opened.close();
  }
}

async function removeOld(engine: Engine, { location }: TableState): Promise<void> {
  await (await engine.maintenance.startOptimize(location, ALL_OLD)).finish();
}

const ONLY_NEWER: ReadonlySet<string> = new Set(['an explanation', 'a list of indexes', 'statistics']);
const readsNothing = (title: string) => readEngineRelease().isFallback && ONLY_NEWER.has(title);

for (const [title, read] of Object.entries(READS)) {
  suite(title, { skip: readsNothing(title) && 'the fallback engine reads no files for it' }, () => {
    test('of a version that is removed meanwhile is refused: there is no such version', async (t) => {
      const { engine, table, scene } = await openScene(t);
      scene.interrupt = async () => removeOld(engine, table);
      const refused = refusal('TableVersionNotFound', /^The table has no version 4\b/);
      await assert.rejects(read(engine, { ...table, version: 4 }, table), refused);
      assert.equal(scene.interrupt, undefined);
    });

    test('of a version that is being removed is refused for now', async (t) => {
      const { engine, table, scene } = await openScene(t);
      let release = (): void => {};
      scene.heldOptimize = new Promise((resolve) => (release = resolve));
      const removals: Promise<unknown>[] = [];
      scene.interrupt = async () => {
        const { finish } = await engine.maintenance.startOptimize(table.location, ALL_OLD);
        removals.push(finish());
        for (const folder of ['data', '_indices']) {
          await rm(join(locationUri(table.location), folder), { recursive: true });
        }
      };
      const refused = refusal('ServiceUnavailable', /being removed, and version 4 /);
      await assert.rejects(read(engine, { ...table, version: 4 }, table), refused);
      assert.equal(removals.length, 1);
      release();
      await Promise.allSettled(removals);
    });

    test('of a branch that is deleted meanwhile is refused: there is no such branch', async (t) => {
      const { engine, table, scene } = await openBranch(t);
      scene.interrupt = async () => void (await engine.versions.removeBranch(table.location, 'side'));
      await assert.rejects(read(engine, { ...table, branch: 'side' }, table), refusal('TableBranchNotFound', /"side"/));
      assert.equal(scene.interrupt, undefined);
    });
  });
}

for (const title of ['a query', 'a diff to there']) {
  test(`${title} of a branch that is deleted and created again meanwhile is one of the new branch`, async (t) => {
    const { engine, table, scene } = await openBranch(t);
    scene.interrupt = async () => {
      await engine.versions.removeBranch(table.location, 'side');
      await engine.versions.createBranch(table, 'side');
    };
    await READS[title]?.(engine, { ...table, branch: 'side' }, table);
    assert.equal(scene.interrupt, undefined);
  });
}

suite('the rest of a result', () => {
  /** The engine reads 32 MiB ahead, and opens no more files. */
  async function openLong(t: TestContext) {
    const { engine, location } = await openTestEngine(t);
    const table = latest(location());
    const rows = toTable({ id: [new Int32(), [1]], text: [new Utf8(), [randomBytes(MiB).toString('base64')]] });
    await engine.createTable(table.location, await toStream(rows), {});
    const apart = await openApart(t, table);
    const file = Buffer.from(tableToIPC(rows, 'file'));
    for (let added = 1; added < 80; added += 1) await apart.add(file, 'append');
    return { engine, table, version: await apart.version() };
  }

  const begin = async (engine: Engine, state: TableState) => {
    const { files } = await engine.rows.query(state, toQuery({}), TIMEOUT);
    assert.ok(!isRead(files));
    return files;
  };
  const readAll = async (files: AsyncIterable<Buffer>) => {
    for await (const file of files) assert.ok(file.length > 0);
  };

  test('of a version that is removed meanwhile is refused: there is no such version', async (t) => {
    const { engine, table, version } = await openLong(t);
    const files = await begin(engine, { ...table, version });
    await rewrite(engine, table);
    await removeOld(engine, table);
    await assert.rejects(readAll(files), refusal('TableVersionNotFound'));
  });

  test('of the latest version that is replaced and removed meanwhile is refused for now', async (t) => {
    const { engine, table } = await openLong(t);
    const files = await begin(engine, table);
    await rewrite(engine, table);
    await removeOld(engine, table);
    await assert.rejects(readAll(files), refusal('ConcurrentModification', /was being read was removed/));
  });
});
