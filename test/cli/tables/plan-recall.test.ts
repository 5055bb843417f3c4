import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Field, FixedSizeList, Float32, Int32, toStream } from '../../support/arrow-tables.ts';
import { seededRandom } from '../../support/arrow-fixtures.ts';
import { Client } from '../../support/client.ts';
import { readOn, runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;

before(async () => {
  server = await startServer();
  const client = new Client(server.url);
  const type = new FixedSizeList(16, new Field('item', new Float32(), true));
  const random = seededRandom(11);
  const vector = () => Array.from({ length: 16 }, () => random(1000) / 100);
  await client.arrow(
    '/v1/table/points/create',
    toStream({ id: [new Int32(), (row) => row], vec: [type, vector] }, 900),
  );
  const index = { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 30, distance_type: 'l2' };
  const built = await client.post('/v1/table/points/create_index', index);
  assert.equal(built.status, 200, built.text);
});
after(async () => server.close());

/** For more rows than one partition has. */
const SEARCH = ['plan', 'points', '--like', 'id = 3', '--select', 'id', '--limit', '200'];

async function run(...argv: readonly string[]): Promise<string> {
  return readOn(server.url, [...SEARCH, ...argv]);
}

test('plan measures the recall of a search with an index, and says what finds the missing rows', async () => {
  const out = await run('--nprobes', '1');
  assert.match(out, /^Recall: \d\d?% of the rows of an exact search were found$/m);
  assert.match(out, /The index misses rows that an exact search finds/);
  assert.match(out, /Set nprobes to 4/);
  const reply = JSON.parse(await run('--nprobes', '1', '--json'));
  assert.ok(reply.recall < 0.9, String(reply.recall));
  assert.ok(reply.findings.some(({ kind }: { kind: string }) => kind === 'low-recall'));
});

test('plan has no such advice for a search that finds all, and none for one without an index', async () => {
  const all = await run('--nprobes', '30');
  assert.match(all, /^Recall: 100% /m);
  assert.doesNotMatch(all, /misses rows/);
  assert.doesNotMatch(await run('--no-index'), /Recall/);
});

test('plan measures the recall by the distance of the index', async () => {
  const client = new Client(server.url);
  const type = new FixedSizeList(16, new Field('item', new Float32(), true));
  const random = seededRandom(5);
  const vector = (): number[] => {
    const length = 1 + random(10);
    return Array.from({ length: 16 }, () => (random(1000) / 1000 - 0.5) * length);
  };
  await client.arrow(
    '/v1/table/angles/create',
    toStream({ id: [new Int32(), (row) => row], vec: [type, vector] }, 900),
  );
  const index = { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 4, distance_type: 'cosine' };
  assert.equal((await client.post('/v1/table/angles/create_index', index)).status, 200);
  const search = ['plan', 'angles', '--like', 'id = 3', '--nprobes', '4'];
  const alone = await runCliOn(server.url, search);
  assert.match(alone.out, /^Recall: 100% /m, alone.err);
  const compared = await runCliOn(server.url, [...search, '--compare', 'no-index']);
  assert.match(compared.out, /Both return the same rows/, compared.err);
  for (const { out } of [alone, compared]) assert.doesNotMatch(out, /misses rows/);
});

test('plan proposes for a query on a branch only commands that change the branch', async () => {
  const client = new Client(server.url);
  const type = new FixedSizeList(16, new Field('item', new Float32(), true));
  const lines = toStream(
    { id: [new Int32(), (row) => row], vec: [type, () => Array.from({ length: 16 }, () => 1)] },
    12_000,
  );
  await client.arrow('/v1/table/lines/create', lines);
  await client.post('/v1/table/lines/branches/create', { name: 'trial' });
  const advise = async (...argv: readonly string[]): Promise<string> => {
    const { code, out, err } = await runCliOn(server.url, ['plan', 'lines', '--where', 'id = 3', ...argv]);
    assert.equal(code, 0, err);
    return out;
  };
  assert.match(await advise(), /→ tiltyard index create lines id --type BTREE$/m);
  assert.match(await advise('--branch', 'trial'), /→ tiltyard index create lines id --type BTREE --branch trial$/m);
  await client.post('/v1/table/lines/create_index', { column: 'id', index_type: 'BTREE', branch: 'trial' });
  await client.arrow('/v1/table/lines/insert?branch=trial', lines);
  const later = await advise('--branch', 'trial');
  assert.match(later, /Some rows are not in the index id_idx/);
  assert.doesNotMatch(later, /tiltyard optimize/);
});

test('a comparison with an exact search ends with the same advice', async () => {
  const out = await run('--nprobes', '1', '--compare', 'no-index');
  assert.match(out, /The index misses rows that an exact search finds/);
  assert.doesNotMatch(await run('--nprobes', '1', '--compare', 'nprobes=2'), /misses rows/);
});
