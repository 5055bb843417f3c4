import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Utf8, count, streamOf } from '../contract-tables.ts';

const WRITERS = 8;
const ROUNDS = 3;
const SHARED_KEYS = [100_000, 100_001, 100_002];

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

function rows(ids: readonly number[], name: string): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: ids },
    name: { type: new Utf8(), values: ids.map(() => name) },
    hits: { type: new Int32(), values: ids.map(() => 0) },
  });
}

async function acknowledged(answering: Promise<Answer>): Promise<Answer> {
  const answer = await answering;
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

/** What one writer does to its own rows, to keys that all share, and to a row that all count up. */
async function write({ at }: MadeTable, writer: number): Promise<void> {
  const upsert = `${at}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true`;
  for (const round of count(ROUNDS)) {
    const first = writer * 1000 + round * 10;
    await acknowledged(server.admin.arrow(`${at}/insert`, rows([first, first + 1, first + 2], 'inserted')));
    await acknowledged(server.admin.arrow(upsert, rows(SHARED_KEYS, `writer ${writer}`)));
    await acknowledged(server.admin.arrow(upsert, rows([first + 1, first + 3], 'merged')));
    const { json } = await acknowledged(server.admin.post(`${at}/delete`, { predicate: `id = ${first + 2}` }));
    assert.equal(json.num_deleted_rows, 1);
    const updates = { updates: [['hits', 'hits + 1']], predicate: 'id = -1' };
    assert.equal((await acknowledged(server.admin.post(`${at}/update`, updates))).json.updated_rows, 1);
  }
}

test('the table contains exactly the rows that eight concurrent writers were acknowledged', async () => {
  const table = await server.table({ stream: rows([-1], 'counter') });
  await Promise.all(count(WRITERS).map(async (writer) => write(table, writer)));
  const found = await server.rows(table);

  const own = count(WRITERS).flatMap((writer) =>
    count(ROUNDS).flatMap((round) => {
      const first = writer * 1000 + round * 10;
      return [
        [first, 'inserted'],
        [first + 1, 'merged'],
        [first + 3, 'merged'],
      ];
    }),
  );
  const expected = [[-1, 'counter'], ...own].toSorted(([one], [other]) => Number(one) - Number(other));
  assert.deepEqual(
    found.filter(({ id }) => id < 100_000).map(({ id, name }) => [id, name]),
    expected,
  );
  assert.equal(found.find(({ id }) => id === -1)?.['hits'], WRITERS * ROUNDS);
  const shared = found.filter(({ id }) => id >= 100_000);
  assert.deepEqual(
    shared.map(({ id }) => id),
    SHARED_KEYS,
  );
  assert.equal(new Set(shared.map(({ name }) => name)).size, 1);
});

test('a merge beside inserts of the same key updates what was there and doubles nothing', async () => {
  const table = await server.table({ stream: rows([0], 'first') });
  const upsert = `${table.at}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true`;
  const writes = count(12).map(async (turn) =>
    acknowledged(
      turn % 2 === 0
        ? server.admin.arrow(`${table.at}/insert`, rows([7], 'inserted'))
        : server.admin.arrow(upsert, rows([7], 'merged')),
    ),
  );
  const answers = await Promise.all(writes);
  const merged = answers.filter(({ json }) => 'num_updated_rows' in json);
  const inserted = merged.filter(({ json }) => json.num_inserted_rows === 1).length;
  assert.ok(inserted <= 1, `${inserted} merges took the key for new`);
  assert.equal((await server.rows(table)).filter(({ id }) => id === 7).length, 6 + inserted);
});
