import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { Views } from '../../src/derived/views.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import { VIEW_PROPERTY } from '../../src/model/derived/view.ts';
import { checkDeclared } from '../../src/operations/tables/declared-tables.ts';
import { ENTRY, recordCommit } from '../catalog/temporary-catalog.ts';
import { toItems } from '../engine/sample-tables.ts';
import { testLimits } from '../support/limits.ts';
import { openWriteFixture } from '../writes/write-fixture.ts';

/** A view of the ids of a table, and two nodes that refresh it. `watch.onQuery` is called when a query was opened. */
async function openView(t: TestContext, rows = 9) {
  const fixture = await openWriteFixture(t);
  const { engine, catalog, writes } = fixture;
  const watch = { onQuery: async (): Promise<void> => {} };
  const query: Engine['rows']['query'] = async (...args) => {
    const result = await engine.rows.query(...args);
    await watch.onQuery();
    return result;
  };
  const limits = testLimits();
  const openNode = () => {
    const settings = { limits: limits.jobs, telemetry: { emit() {} }, now: Date.now, hasTable: async () => true };
    const jobs = new Jobs({ ...settings, makeId: () => 'job' });
    const unlimited = { begin: async () => undefined };
    const parts = { catalog, writes, jobs, sizeQuotas: unlimited, checkDeclared, limits, now: Date.now };
    const views = new Views({ ...parts, engine: { ...engine, rows: { ...engine.rows, query } } });
    const refresh = async () => {
      const view = await fixture.table('view');
      return views.start({ view, caller: 'ann', requestId: 'request' }).outcome;
    };
    return { jobs, views, refresh };
  };
  const [one, other] = [openNode(), openNode()];
  await fixture.create(toItems(rows), 'source');
  const source = await fixture.table('source');
  const columns = [['id', 'id']] as const;
  await fixture.create(await one.views.openEmpty(source, { columns }), 'view');
  const definition = { sourceId: source.id, source: source.path, columns, refresh: { mode: 'manual' } };
  const properties = { [VIEW_PROPERTY]: JSON.stringify(definition) };
  await recordCommit(catalog, await fixture.table('view'), { ...ENTRY, properties });
  return { fixture, watch, one, other };
}

suite('a refresh', () => {
  test('that is cancelled when its query was opened leaves no memory in use', async (t) => {
    const { fixture, watch, one } = await openView(t, 400_000);
    const usedBytes = () => fixture.engine.counts().readMemory.usedBytes;
    watch.onQuery = async () => {
      assert.ok(usedBytes() > 0);
      await one.jobs.cancel('job');
    };
    await assert.rejects(one.refresh(), /cancelled/);
    assert.equal(usedBytes(), 0);
  });

  test('adds no rows a second time that another node, which owned the view for a while, has added', async (t) => {
    const { fixture, watch, one, other } = await openView(t);
    await one.refresh();
    await fixture.insert(toItems(3), { directory: 'source' });
    watch.onQuery = async () => {
      watch.onQuery = async () => {};
      assert.equal((await other.refresh()).how, 'appended');
    };
    assert.equal((await one.refresh()).how, 'unchanged');
    assert.equal((await fixture.engine.versions.size(fixture.state('view'))).rows, 9 + 3);
  });
});
