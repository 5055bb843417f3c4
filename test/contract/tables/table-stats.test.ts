import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Index } from '@lancedb/lancedb';
import { sampleStream } from '../../support/arrow-tables.ts';
import { ContractServer, updated } from '../contract-server.ts';
import { Int32, streamOf } from '../contract-tables.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

test('the statistics of a table are those of the engine, all whole numbers', async () => {
  const table = await server.table({ stream: sampleStream(30) });
  await updated(server.admin, table, { updates: [['price', '1']], predicate: 'id < 10' });
  const embedded = await server.embedded(table);
  await embedded.createIndex('id', { config: Index.btree() });
  const wanted = await embedded.stats();
  for (const send of [
    async () => server.admin.post(`${table.at}/stats`, {}),
    async () => server.admin.send('POST', `${table.at}/stats/`, {}),
    async () => server.admin.get(`${table.at}/stats`),
  ]) {
    const { status, text, json } = await send();
    assert.equal(status, 200, text);
    assert.deepEqual(
      {
        totalBytes: json.total_bytes,
        numRows: json.num_rows,
        numIndices: json.num_indices,
        fragmentStats: {
          numFragments: json.fragment_stats.num_fragments,
          numSmallFragments: json.fragment_stats.num_small_fragments,
          lengths: json.fragment_stats.lengths,
        },
      },
      wanted,
    );
    assert.deepEqual([json.num_rows, json.num_indices, json.fragment_stats.num_fragments], [30, 1, 2]);
    assert.deepEqual(Object.keys(json.fragment_stats.lengths).toSorted(), [
      'max',
      'mean',
      'min',
      'p25',
      'p50',
      'p75',
      'p99',
    ]);
  }
});

test('an empty table has statistics of zeros', async () => {
  const table = await server.table({ stream: streamOf({ id: { type: new Int32(), values: [] } }) });
  const { json } = await server.admin.post(`${table.at}/stats`, {});
  assert.deepEqual([json.num_rows, json.total_bytes, json.fragment_stats.num_fragments], [0, 0, 0]);
  assert.ok(Object.values(json.fragment_stats.lengths).every((length) => length === 0));
});

test('a branch has its own statistics, whether the body or the query names it', async () => {
  const table = await server.table({ stream: sampleStream(6) });
  await server.admin.post(`${table.at}/branches/create`, { name: 'trial' });
  await (await server.embedded(table)).delete('id < 4');
  assert.equal((await server.admin.post(`${table.at}/stats`, {})).json.num_rows, 2);
  assert.equal((await server.admin.post(`${table.at}/stats`, { branch: 'trial' })).json.num_rows, 6);
  assert.equal((await server.admin.get(`${table.at}/stats?branch=trial`)).json.num_rows, 6);
  assertRefused(await server.admin.get(`${table.at}/stats?branch=nowhere`), { status: 404, code: CODE.branchNotFound });
  assertRefused(await server.admin.post(`${table.at}/stats`, { version: 1 }), badRequest(/version/));
});
