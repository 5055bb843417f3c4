import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { runCliOn, withoutColours } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let client: Client;

before(async () => {
  server = await startServer();
  client = new Client(server.url);
  await client.arrow('/v1/table/orders/create', sampleStream(6));
  await client.post('/v1/table/orders/tags/create', { tag: 'first', version: 1 });
  await client.post('/v1/table/orders/branches/create', { name: 'trial' });
  await client.post('/v1/table/orders/update', { updates: [['price', '0.1 + 0.2']], predicate: 'id = 2' });
  await client.post('/v1/table/orders/update', { updates: [['vec', '[3, 4, 5, 7]']], predicate: 'id = 3' });
  await client.post('/v1/table/orders/delete', { predicate: 'id = 4' });
  await client.post('/v1/table/orders/update', {
    branch: 'trial',
    updates: [['name', "'a\nb'"]],
    predicate: 'id = 1',
  });
});
after(async () => server.close());

async function run(...argv: readonly string[]) {
  return runCliOn(server.url, argv);
}

const LINES = [
  '--- orders version 1',
  '+++ orders version 4',
  '~ id 2',
  '-   price: 3',
  '+   price: 0.30000000000000004',
  '~ id 3',
  '-   vec: [3, 4, 5, 6]',
  '+   vec: [3, 4, 5, 7] (1 of 4 values)',
  '- id 4, price 6, name "name 4"',
  '0 added, 1 removed, 2 changed (compared by id).',
];

test('diff shows removed, added and changed values as git does, in colours at a terminal', async () => {
  const { out, code } = await run('diff', 'orders', '1', '--columns', 'price,name,vec');
  assert.equal(code, 0);
  const lines = LINES.map((line) => line.replace('name "name 4"', 'name "name 4", vec [4, 5, 6, 7]'));
  assert.equal(out, `${lines.join('\n')}\n`);
  const coloured = await runCliOn(server.url, ['diff', 'orders', 'first'], { columns: 120, env: { TERM: 'xterm' } });
  assert.ok(coloured.out.includes('\u001B[31m-   price: 3\u001B[39m\n\u001B[32m+   price: 0.3'), coloured.out);
  assert.match(withoutColours(coloured.out), /^--- orders version 1\n\+\+\+ orders version 4\n/);
});

test('diff takes numbers, tags, branches and their versions, and cuts what is not asked for', async () => {
  const tagged = await run('diff', 'orders', 'first', '4', '--limit', '1', '--columns', 'price');
  assert.equal(
    tagged.out,
    [...LINES.slice(0, 5), '… 1 more, shown with --limit', '0 added, 1 removed, 1 changed (compared by id).', ''].join(
      '\n',
    ),
  );
  const branches = await run('diff', 'orders', 'first', 'trial', '--columns', 'name');
  assert.match(
    branches.out,
    /\+\+\+ orders version 2 of the branch trial\n~ id 1\n- {3}name: "name 1"\n\+ {3}name: "a\\nb"\n/,
  );
  const same = await run('diff', 'orders', 'trial@1', 'first');
  assert.match(same.out, /No rows differ \(compared by id\)\.\n$/);
});

test('diff prints the reply for programs, and says what is wrong', async () => {
  const { out } = await run('diff', 'orders', '1', '--on', 'id', '--json');
  assert.deepEqual(JSON.parse(out).counts, { added: 0, removed: 1, changed: 2 });
  const missing = await run('diff', 'orders', 'nothing');
  assert.equal(missing.code, 5);
  assert.match(missing.err, /branch "nothing" was not found\.\nhint: No tag has this name either\./);
  assert.equal((await run('diff', 'orders')).code, 2);
  assert.match((await run('diff', 'orders', '1', '--on', 'nope')).err, /no field "nope"/);
});
