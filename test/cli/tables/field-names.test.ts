import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../../support/client.ts';
import { Field, FixedSizeList, Float32, Float64, Int32, Struct, toStream } from '../../support/arrow-tables.ts';
import { readJsonOn, runCliOn } from '../../support/run-cli.ts';
import type { Outcome } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;

/** Read as SQL, the names of the columns are differences of other columns. */
before(async () => {
  server = await startServer();
  const vector = new FixedSizeList(2, new Field('item', new Float32(), true));
  const stream = toStream(
    {
      id: [new Int32(), (row) => row],
      unit: [new Float64(), () => 100],
      price: [new Float64(), () => 1],
      'unit-price': [new Float64(), (row) => row + 0.5],
      point: [new Struct([new Field('x-y', new Float64(), true)]), (row) => ({ 'x-y': row })],
      'image-vec': [vector, (row) => [row, 1]],
    },
    5,
  );
  assert.equal((await new Client(server.url).arrow('/v1/table/goods/create', stream)).status, 200);
});
after(async () => server.close());

async function run(...argv: readonly string[]): Promise<Outcome> {
  return runCliOn(server.url, argv);
}

async function json(...argv: readonly string[]): Promise<any> {
  return readJsonOn(server.url, argv);
}

test('the preview of an update shows the column itself, whatever its name', async () => {
  const flags = ['--set', 'unit-price=3', '--set', 'point.x-y=7', '--where', 'id = 2', '--preview'];
  const { preview } = await json('update', 'goods', ...flags);
  assert.deepEqual(preview.rows, [
    { id: 2, 'unit-price': 2.5, 'unit-price (new)': 3, 'point.x-y': 2, 'point.x-y (new)': 7 },
  ]);
});

test('columns and expressions are selected together, whatever the names of the columns', async () => {
  const select = ['--select', 'unit-price,point.x-y', '--select', 'twice=price * 2', '--where', 'id = 2'];
  assert.deepEqual((await json('query', 'goods', ...select)).rows, [{ 'unit-price': 2.5, 'point.x-y': 2, twice: 2 }]);
  const near = ['--vector', '[3, 1]', '-k1', '--select', 'id,_distance', '--select', 'twice=price * 2'];
  assert.deepEqual((await json('query', 'goods', ...near)).rows, [{ id: 3, _distance: 0, twice: 2 }]);
  const missing = await run('query', 'goods', '--select', 'unit-prise', '--select', 'twice=price * 2');
  assert.equal(missing.code, 5, missing.err);
  assert.match(missing.err, /unit-prise/);
});

test('rows like another are found by a vector column of any name, and bench searches it', async () => {
  for (const column of [[], ['--vector-column', 'image-vec']]) {
    const { rows } = await json('query', 'goods', '--like', 'id = 4', ...column, '-k1', '--select', 'id');
    assert.equal(rows[0].id, 4);
  }
  const { results } = await json('bench', 'goods', '--what', 'search', '--seconds', '1', '--clients', '1');
  assert.ok(results[0].operations > 0 && results[0].errors === 0, results[0].first_error);
});
