import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import pg from 'pg';
import type { JournalEntry, NewEntry } from '../../../src/catalog/catalog.ts';
import { eventually } from '../../support/eventually.ts';
import { startPostgres, withoutPostgres } from '../../support/postgres.ts';
import { ENTRY, createTable, open, refusal } from '../temporary-catalog.ts';

/** From then on PostgreSQL takes its time for every commit that records something. */
async function stallCommits(url: string, seconds: number): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    create function stall() returns trigger language plpgsql as $$ begin perform pg_sleep(${seconds}); return null; end $$;
    create constraint trigger stall after insert on transactions
      deferrable initially deferred for each row execute function stall()`);
  await client.end();
}

test('a record whose commit stalls is never taken for one that was not made', { skip: withoutPostgres }, async (t) => {
  const url = await (await startPostgres()).createDatabase();
  const catalog = await open(t, url, 200);
  const { id: databaseId } = await catalog.databases.create({ name: 'default', root: '/data' });
  const table = await createTable(catalog, databaseId, ['items']);
  const id = randomUUID();
  const request = { id, caller: 'key:k', digest: id, key: undefined, generation: undefined, requestId: 'request-1' };
  const commit = { operation: 'insert_into_table', branch: undefined, baseVersion: 1, epoch: 0, expected: '{}' };
  const target = { databaseId, tableId: table.id, path: table.path };
  const entry: NewEntry = { ...request, ...commit, ...target, holdsReaders: true };
  await catalog.journal.begin([entry], { bounds: [], removes: [], isDurable: true });
  await stallCommits(url, 1.5);
  const recorded = catalog.journal.record([{ table, commit: ENTRY, entry: { id, outcome: '{}' } }], true);
  await assert.rejects(recorded, refusal('ServiceUnavailable'));
  const found: (JournalEntry | undefined)[] = [];
  await eventually(async () =>
    catalog.journal.find(id).then(
      (each) => found.push(each) > 0,
      () => false,
    ),
  );
  assert.equal(found[0]?.state, 'committed');
});
