import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Table } from 'apache-arrow';
import type { CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import { pullChunks } from '../../../src/arrow/stream/chunk-source.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { TableState } from '../../../src/model/table.ts';
import { manifestName, readManifest } from '../../../src/storage/format/manifest.ts';
import { splitFields } from '../../../src/storage/format/protobuf.ts';
import { REFUSED_TABLES, expectedTables } from '../../support/arrow-fixtures.ts';
import { refusal } from '../../support/refusal.ts';
import {
  commitPlan,
  latest,
  openApart,
  openFixture,
  openTable,
  openTestEngine,
  readRows,
  sql,
  toStream,
} from '../test-engine.ts';
import type { TestEngine } from '../test-engine.ts';
import type { Owner } from '../../support/temporary-folder.ts';
import { toItems } from '../sample-tables.ts';

/** Replaces all rows in one commit. */
async function overwrite(engine: Engine, { location, branch }: TableState, data: Table | CheckedStream) {
  const stream = 'chunks' in data ? data : await toStream(data);
  const source = await pullChunks(stream, 2);
  const plan = engine.commits.overwrite({ location, branch, schema: stream.schema, source, storageOptions: {} });
  return commitPlan(engine, { location, branch }, plan);
}

/** Replaces all rows as a long stream does. */
async function overwriteLong(engine: Engine, { location, branch }: TableState, stream: CheckedStream) {
  const source = await pullChunks(stream, 0);
  const plan = engine.commits.longOverwrite({ location, branch, schema: stream.schema, source, storageOptions: {} });
  await plan.prepare();
  const { version, outcome } = await plan.write();
  plan.close();
  return { ...outcome, version };
}

test('replaces rows and schema by a new version and keeps the old ones', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  assert.deepEqual(await overwrite(engine, table, await openFixture('dict')), { version: 2, rows: 50 });
  const { schema } = await engine.describeTable(table);
  assert.deepEqual(
    schema.fields.map((field) => field.name),
    ['id', 'd'],
  );
  assert.equal((await readRows(t, { ...table, version: 1 })).length, 3);
});

test('overwrites a branch and does not change the main one', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  await (await (await openApart(t, table)).branches()).create('trial');
  await overwrite(engine, { ...table, branch: 'trial' }, toItems(5));
  assert.equal((await readRows(t, { ...table, branch: 'trial' })).length, 5);
  assert.equal((await readRows(t, table)).length, 3);
});

test('reports a commit for which the engine stored fewer rows than were sent', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  const stream = await toStream(toItems(10));
  const pulled = await pullChunks(stream, 2);
  const source = { ...pulled, pulled: pulled.pulled.map((chunk) => ({ ...chunk, rows: 11 })) };
  const plan = engine.commits.overwrite({ ...table, schema: stream.schema, source, storageOptions: {} });
  const { version, fault } = await engine.useLatest(table, async (open) => (await plan.prepare(open)).commit());
  assert.equal(version, 2);
  refusal('InvalidInput', /malformed/)(fault);
});

test('leaves a table that can be updated and overwritten again', async (t) => {
  const { engine, table } = await openTable(t, toItems(3));
  await overwrite(engine, table, toItems(5));
  await overwrite(engine, table, await openFixture('map'));
  await overwrite(engine, table, toItems(7));
  const update = { assignments: [{ path: ['score'] as const, expression: sql('2') }], predicate: undefined };
  assert.equal((await commitPlan(engine, table, engine.commits.update(table, update))).rowsUpdated, 7);
  assert.equal((await engine.describeTable(table)).version, 5);
});

/** Of `Manifest` in Lance's table.proto. */
const MANIFEST = {
  fields: 1,
  schemaMetadata: 5,
  indexSection: 6,
  writerFlags: 10,
  dataFormat: 15,
  config: 16,
  branch: 20,
};
const STABLE_ROW_IDS = 2;

/** The order of a map's entries is random. */
function toSorted(parts: readonly Uint8Array[]): readonly string[] {
  return parts.map((bytes) => Buffer.from(bytes).toString('latin1')).toSorted();
}

suite('an overwrite of several commits', () => {
  interface Twin {
    readonly directory: string;
    readonly version: number;
    readonly branch?: string;
  }

  /** What a version says of its table and its schema. */
  async function readTwin({ root }: TestEngine, { directory, version, branch }: Twin) {
    const folder = branch === undefined ? '' : `tree/${branch}/`;
    const path = join(root, `${directory}.lance/${folder}_versions/${manifestName(version)}`);
    const manifest = readManifest(await readFile(path));
    const { fields, schemaMetadata, dataFormat, config, writerFlags, indexSection } = MANIFEST;
    return {
      fields: manifest.all(fields).map((field) => toSorted(splitFields(field).map(({ bytes }) => bytes))),
      others: [schemaMetadata, dataFormat, config].map((field) => toSorted(manifest.all(field))),
      branch: manifest.text(MANIFEST.branch),
      isIndexed: manifest.has(indexSection),
      hasStableRowIds: (manifest.number(writerFlags) & STABLE_ROW_IDS) !== 0,
    };
  }

  async function readValues(test: Owner, table: TableState): Promise<unknown> {
    try {
      return await readRows(test, table);
    } catch (error) {
      // Tests cannot decode all types that tables can have.
      if (String(error).includes('Unrecognized type')) return (await openApart(test, table)).countRows();
      throw error;
    }
  }

  /** Two tables with a deleted row and an index; one is overwritten in one commit, the other in several. */
  async function overwriteTwins(
    test: Owner,
    open: () => Promise<CheckedStream>,
    { branch, options = {} }: { readonly branch?: string; readonly options?: Readonly<Record<string, string>> } = {},
  ): Promise<void> {
    const fixture = await openTestEngine(test);
    const { engine } = fixture;
    const replace = { short: overwrite, long: overwriteLong };
    const twins = [];
    for (const directory of ['short', 'long'] as const) {
      const table = { ...latest(fixture.location(directory)), branch };
      await engine.createTable(table.location, await toStream(toItems(20)), options);
      if (branch !== undefined)
        await (await (await openApart(test, { ...table, branch: undefined })).branches()).create(branch);
      const apart = await openApart(test, table);
      await apart.delete('id = 3');
      await apart.createIndex(null, 'id', true);
      const { rows, version } = await replace[directory](engine, table, await open());
      const { schema } = await engine.describeTable(table);
      const manifest = await readTwin(fixture, { directory, version, ...(branch === undefined ? {} : { branch }) });
      twins.push({ rows, schema, manifest, values: await readValues(test, table) });
    }
    const [short, long] = twins;
    assert.ok(short !== undefined);
    assert.deepEqual(long, short);
  }

  for (const name of Object.keys(expectedTables()).filter((each) => !REFUSED_TABLES.has(each))) {
    test(`gives the same table as one of a single commit: ${name}`, async (t) =>
      overwriteTwins(t, async () => openFixture(name)));
  }

  test('gives the same branch', async (t) => overwriteTwins(t, async () => openFixture('dict'), { branch: 'trial' }));

  test('keeps how the table stores its data and numbers its rows', async (t) => {
    for (const options of [{ new_table_data_storage_version: '2.0' }, { new_table_enable_stable_row_ids: 'true' }]) {
      await overwriteTwins(t, async () => openFixture('dict'), { options });
    }
  });

  test('is refused when another write was faster, and changes nothing', async (t) => {
    const { engine, table } = await openTable(t, toItems(3));
    const stream = await openFixture('dict');
    const source = await pullChunks(stream, 0);
    const plan = engine.commits.longOverwrite({ ...table, schema: stream.schema, source, storageOptions: {} });
    await plan.prepare();
    await (await openApart(t, table)).delete('id = 0');
    await assert.rejects(plan.write(), refusal('ConcurrentModification', /Another write/));
    plan.close();
    assert.equal((await readRows(t, table)).length, 2);
  });

  test('follows an index that was faster', async (t) => {
    const { engine, table } = await openTable(t, toItems(3));
    const apart = await openApart(t, table);
    await apart.delete('id = 0');
    const stream = await openFixture('dict');
    const source = await pullChunks(stream, 0);
    const plan = engine.commits.longOverwrite({ ...table, schema: stream.schema, source, storageOptions: {} });
    const { baseVersion } = await plan.prepare();
    await apart.createIndex(null, 'id', true);
    assert.deepEqual(await plan.write(), { version: baseVersion + 3, outcome: { rows: 50 } });
    plan.close();
  });
});
