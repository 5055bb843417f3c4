import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { Views } from '../../src/derived/views.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import { VIEW_PROPERTY } from '../../src/model/derived/view.ts';
import { ENTRY, recordCommit } from '../catalog/temporary-catalog.ts';
import { toItems } from '../engine/sample-tables.ts';
import { testLimits } from '../support/limits.ts';
import { openWriteFixture } from '../writes/write-fixture.ts';

/** A view of the ids of a table. `watch.onQuery` is called when a query of it was opened. */
async function openView(t: TestContext, rows = 9) {
  const fixture = await openWriteFixture(t);
  const { engine, catalog, writes } = fixture;
  const limits = testLimits();
  const settings = { limits: limits.jobs, telemetry: { emit() {} }, now: Date.now, hasTable: async () => true };
  const jobs = new Jobs({ ...settings, makeId: () => 'job' });
  const watch = { onQuery: async (): Promise<void> => {} };
  const query: Engine['rows']['query'] = async (...args) => {
    const result = await engine.rows.query(...args);
    await watch.onQuery();
    return result;
  };
  const watched = { ...engine, rows: { ...engine.rows, query } };
  const sizeQuotas = { begin: async () => undefined };
  const views = new Views({ engine: watched, catalog, writes, jobs, sizeQuotas, limits, now: Date.now });
  await fixture.create(toItems(rows), 'source');
  const source = await fixture.table('source');
  const columns = [['id', 'id']] as const;
  await fixture.create(await views.openEmpty(source, { columns }), 'view');
  const definition = { sourceId: source.id, source: source.path, columns, refresh: { mode: 'manual' } };
  const properties = { [VIEW_PROPERTY]: JSON.stringify(definition) };
  await recordCommit(catalog, await fixture.table('view'), { ...ENTRY, properties });
  const start = async () => views.start({ view: await fixture.table('view'), caller: 'ann', requestId: 'request' });
  return { fixture, jobs, watch, start };
}

suite('a refresh', () => {
  test('that is cancelled when its query was opened leaves no memory in use', async (t) => {
    const { fixture, jobs, watch, start } = await openView(t, 400_000);
    const usedBytes = () => fixture.engine.counts().readMemory.usedBytes;
    watch.onQuery = async () => {
      assert.ok(usedBytes() > 0);
      await jobs.cancel('job');
    };
    await assert.rejects((await start()).outcome, /cancelled/);
    assert.equal(usedBytes(), 0);
  });
});
