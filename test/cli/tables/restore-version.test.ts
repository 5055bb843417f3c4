import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server.url);
  await client.arrow('/v1/table/orders/create', sampleStream(6));
  await client.post('/v1/table/orders/create_scalar_index', { column: 'price', index_type: 'BTREE' });
  await client.post('/v1/table/orders/add_columns', { new_columns: [{ name: 'twice', expression: 'price * 2' }] });
});
after(async () => server.close());

test('a restore says which indexes and columns go, and asks first at a terminal', async () => {
  const questions: string[] = [];
  const answering = (reply: string) => ({
    ask: async (question: string) => {
      questions.push(question);
      return reply;
    },
  });
  const refused = await runCliOn(server.url, ['versions', 'restore', 'orders', '1'], answering('n'));
  assert.equal(refused.code, 0);
  assert.match(refused.err, /Nothing was changed/);
  assert.match(questions[0] ?? '', /Version 1 does not have the index price_idx and the column twice\. Restore it\?/);
  assert.equal((await client.post('/v1/table/orders/describe', {})).json.version, 3);
  const agreed = await runCliOn(server.url, ['versions', 'restore', 'orders', '2'], answering('y'));
  assert.match(
    agreed.out,
    /^Restored version 2 of orders as version 4\.\nIt does not have the column twice: version 3 still does\.\n$/,
  );
  assert.equal(questions.length, 2);
  const harmless = await runCliOn(server.url, ['versions', 'restore', 'orders', '4'], answering('n'));
  assert.equal(harmless.out, 'Restored version 4 of orders as version 5.\n');
});

test('a restore without a terminal asks nothing, and says what has gone', async () => {
  const { code, out } = await runCliOn(server.url, ['versions', 'restore', 'orders', '1']);
  assert.equal(code, 0);
  assert.match(out, /It does not have the index price_idx: version 5 still does\.\n$/);
});
