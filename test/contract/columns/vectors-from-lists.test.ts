import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Field, Float32, Float64, Int32, List, Utf8 } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { count, streamOf } from '../contract-tables.ts';
import { assertRefused, badRequest, columnNotFound, forbidden } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const listOf = (item: DataType): List => new List(new Field('item', item, true));
const list = (row: number, length = 4): readonly number[] => Array.from({ length }, (_unused, at) => row + at);

async function tableOf(lists: readonly (readonly unknown[] | null)[], item: DataType = new Float32()) {
  const stream = streamOf({
    id: { type: new Int32(), values: count(lists.length) },
    embedding: { type: listOf(item), values: lists },
    name: { type: new Utf8(), values: lists.map((_unused, row) => `n${row}`) },
  });
  return server.table({ stream });
}

const vectorOf = (length: number, type = 'float32'): object => ({
  type: 'fixed_size_list',
  length,
  fields: [{ name: 'item', type: { type }, nullable: true }],
});

async function alter(made: MadeTable, change: object, ...others: readonly object[]): Promise<Answer> {
  const alterations = [{ path: 'embedding', ...change }, ...others];
  return server.admin.post(`${made.at}/alter_columns`, { alterations });
}

async function describe(made: MadeTable, body: object = {}): Promise<any> {
  const { json } = await server.admin.post(`${made.at}/describe`, body);
  return {
    version: json.version,
    fields: Object.fromEntries(json.schema.fields.map((field: any) => [field.name, field])),
  };
}

async function embeddings(made: MadeTable): Promise<unknown[]> {
  const body = { k: 100, columns: { column_names: ['id', 'embedding'] } };
  const answer = await server.admin.post(`${made.at}/query`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.rows.toSorted((one: any, other: any) => one.id - other.id).map((row: any) => row.embedding);
}

suite('lists become vectors', () => {
  test('in one visible step, with their values, nulls and metadata', async () => {
    const lists = [list(1), null, list(2), list(3)];
    const made = await tableOf(lists);
    const updates = [{ path: 'embedding', metadata: { model: 'small' } }];
    assert.equal((await server.admin.post(`${made.at}/update_field_metadata`, { updates })).status, 200);
    const answer = await alter(made, { data_type: vectorOf(4) });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json.transaction_id, /./);
    const { version, fields } = await describe(made);
    assert.equal(version, answer.json.version);
    assert.deepEqual(Object.keys(fields), ['id', 'name', 'embedding']);
    assert.deepEqual([fields.embedding.type.type, fields.embedding.type.length], ['fixed_size_list', 4]);
    assert.equal(fields.embedding.metadata.model, 'small');
    assert.deepEqual(await embeddings(made), lists);
    const found = await server.admin.post(`${made.at}/query`, { k: 1, vector: { single_vector: list(2) } });
    assert.equal(found.status, 200, found.text);
  });

  test('also those of doubles and whole numbers, and those of a branch alone', async () => {
    for (const item of [new Float64(), new Int32()]) {
      const made = await tableOf([list(1), list(2)], item);
      assert.equal((await alter(made, { data_type: vectorOf(4) })).status, 200);
      assert.deepEqual(await embeddings(made), [list(1), list(2)]);
    }
    const made = await tableOf([list(1)]);
    assert.equal((await server.admin.post(`${made.at}/branches/create`, { name: 'side' })).status, 200);
    const alterations = [{ path: 'embedding', data_type: vectorOf(4) }];
    const answer = await server.admin.post(`${made.at}/alter_columns`, { alterations, branch: 'side' });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await describe(made)).fields.embedding.type.type, 'list');
    assert.equal((await describe(made, { branch: 'side' })).fields.embedding.type.type, 'fixed_size_list');
  });

  test('of whole numbers only if they are whole numbers', async () => {
    const fractions = await tableOf([[1.5, 2.7]], new Float64());
    const refused = await alter(fractions, { data_type: vectorOf(2, 'int8') });
    assertRefused(refused, badRequest(/"embedding" .*cannot become a vector of integers/));
    assert.equal((await describe(fractions)).version, fractions.version);
    const made = await tableOf([list(1)], new Int32());
    assert.equal((await alter(made, { data_type: vectorOf(4, 'int8') })).status, 200);
    assert.deepEqual(await embeddings(made), [list(1)]);
  });

  test('and the version before can be restored', async () => {
    const made = await tableOf([list(1)]);
    assert.equal((await alter(made, { data_type: vectorOf(4) })).status, 200);
    assert.equal((await server.admin.post(`${made.at}/restore`, { version: made.version })).status, 200);
    assert.equal((await describe(made)).fields.embedding.type.type, 'list');
  });

  test('unless a list has another length: the refusal says how many rows, and nothing changes', async () => {
    const made = await tableOf([list(1), list(2, 3), [], null, list(3)]);
    const refused = await alter(made, { data_type: vectorOf(4) });
    assertRefused(refused, badRequest(/^2 rows have a list in .*embedding.* that does not have 4 values/));
    const one = await alter(await tableOf([list(1), list(2, 3)]), { data_type: vectorOf(4) });
    assertRefused(one, badRequest(/^1 row has/));
    const { version, fields } = await describe(made);
    assert.deepEqual([version, fields.embedding.type.type], [made.version, 'list']);
  });

  test('unless they hold no numbers, are used by a computed column, or other changes are asked for too', async () => {
    const texts = await tableOf([['a', 'b', 'c', 'd']], new Utf8());
    assertRefused(await alter(texts, { data_type: vectorOf(4) }), badRequest(/cannot become a vector/));
    const made = await tableOf([list(1)]);
    for (const refused of [
      await alter(made, { data_type: vectorOf(4), rename: 'vector' }),
      await alter(made, { data_type: vectorOf(4) }, { path: 'name', rename: 'title' }),
    ]) {
      assertRefused(refused, badRequest(/combined with other changes/));
    }
    const computed = { new_columns: [{ name: 'length', computed: 'array_length(embedding)' }] };
    assert.equal((await server.admin.post(`${made.at}/add_columns`, computed)).status, 200);
    assertRefused(await alter(made, { data_type: vectorOf(4) }), badRequest(/computed from it/));
    const missing = await server.admin.post(`${made.at}/alter_columns`, {
      alterations: [{ path: 'nope', data_type: vectorOf(4) }],
    });
    assertRefused(missing, columnNotFound);
  });

  test('only for a writer, and at the version that the request expects', async () => {
    const made = await tableOf([list(1)]);
    const body = { alterations: [{ path: 'embedding', data_type: vectorOf(4) }] };
    const reader = await server.caller('reader');
    assertRefused(await reader.post(`${made.at}/alter_columns`, body), forbidden);
    const stale = await server.admin.post(`${made.at}/alter_columns`, body, { 'if-match': '"99"' });
    assert.equal(stale.status, 412, stale.text);
    const keyed = { 'idempotency-key': 'convert-once' };
    const first = await server.admin.post(`${made.at}/alter_columns`, body, keyed);
    const again = await server.admin.post(`${made.at}/alter_columns`, body, keyed);
    assert.deepEqual([first.status, again.status], [200, 200], again.text);
    assert.equal(again.json.version, first.json.version);
  });
});
