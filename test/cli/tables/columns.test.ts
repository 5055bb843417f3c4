import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { toDataType } from '../../../src/cli/tables/columns.ts';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { readOn, runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
before(async () => {
  server = await startServer();
  await new Client(server.url).arrow('/v1/table/orders/create', sampleStream(40));
});
after(async () => server.close());

async function done(...argv: readonly string[]): Promise<string> {
  return readOn(server.url, argv);
}

async function describe(): Promise<string> {
  return done('describe', 'orders');
}

test('a column is renamed, and a field of a struct', async () => {
  assert.match(
    await done('column', 'rename', 'orders', 'name', 'title'),
    /^Renamed name to title in orders, version \d+\.\n$/,
  );
  await done('column', 'rename', 'orders', 'point.label', 'mark');
  assert.match(await describe(), /^title +utf8/m);
  assert.match(await describe(), /└ mark +utf8/);
});

test('the type of a column is changed', async () => {
  assert.match(
    await done('column', 'type', 'orders', 'price', 'float32'),
    /^Changed price of orders to float32, version/,
  );
  assert.match(await describe(), /^price +float/m);
  const refused = await runCliOn(server.url, ['column', 'type', 'orders', 'price', 'nonsense']);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /nonsense/);
  const before_ = await describe();
  const unfit = await runCliOn(server.url, ['column', 'type', 'orders', 'title', 'int64']);
  assert.equal(unfit.code, 1, unfit.out);
  assert.equal(await describe(), before_);
});

test('types are written as describe shows them', () => {
  assert.equal(toDataType('int64'), 'int64');
  assert.deepEqual(toDataType('string[]'), { type: 'list', fields: [{ name: 'item', type: 'string' }] });
  assert.deepEqual(toDataType('float32[4]'), {
    type: 'fixed_size_list',
    fields: [{ name: 'item', type: 'float32' }],
    length: 4,
  });
});

test('types are also written as an import shows them', () => {
  assert.deepEqual(toDataType('vector[4]'), toDataType('float32[4]'));
  assert.deepEqual(toDataType('list<utf8>'), toDataType('utf8[]'));
  assert.deepEqual(toDataType('list<vector[4]>'), toDataType('float32[4][]'));
  assert.equal(toDataType('timestamp[us]'), 'timestamp:us');
  assert.equal(toDataType('timestamp[ns, Europe/Berlin]'), 'timestamp:ns:Europe/Berlin');
});

test('a column of nulls is added, and nulls are allowed in it', async () => {
  assert.match(await done('column', 'add', 'orders', 'note', '--type', 'string'), /^Added the column note to orders/);
  assert.match(await done('column', 'add', 'orders', 'near', '--type', 'float32[4]'), /^Added the column near/);
  assert.match(await describe(), /^near +float(32)?\[4\]/m);
  assert.match(await done('column', 'nullable', 'orders', 'note', 'yes'), /^note of orders can be null, version/);
  assert.equal((await runCliOn(server.url, ['column', 'nullable', 'orders', 'note', 'maybe'])).code, 2);
});

test('metadata of a column is set and removed', async () => {
  assert.match(
    await done('column', 'metadata', 'orders', 'price', '--set', 'unit=EUR'),
    /^price: unit=EUR \(version \d+\)\n$/,
  );
  assert.match(await done('column', 'metadata', 'orders', 'price', '--remove', 'unit'), /^price: no metadata/);
  assert.equal((await runCliOn(server.url, ['column', 'metadata', 'orders', 'price'])).code, 2);
});

test('columns are dropped after a confirmation', async () => {
  const unasked = await runCliOn(server.url, ['column', 'drop', 'orders', 'note']);
  assert.equal(unasked.code, 2);
  assert.match(unasked.err, /Drop the column note of orders\? This is not a terminal/);
  const declined = await runCliOn(server.url, ['column', 'drop', 'orders', 'note'], { ask: async () => 'n' });
  assert.equal(declined.code, 1);
  assert.match(await describe(), /^note /m);
  assert.match(
    await done('column', 'drop', 'orders', 'note', 'near', '--yes'),
    /^Dropped the columns note, near of orders/,
  );
  assert.doesNotMatch(await describe(), /^note /m);
  assert.equal((await runCliOn(server.url, ['column', 'drop', 'orders', 'note', '--yes'])).code, 5);
});
