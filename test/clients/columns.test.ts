import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Connection, Table } from '@lancedb/lancedb';
import { Field, FixedSizeList, Float16, Float32, Int32, Int64, Schema, Struct, Utf8 } from 'apache-arrow';
import { ContractServer } from '../contract/contract-server.ts';
import { count } from '../contract/contract-tables.ts';
import { ADMIN_KEY } from '../support/server.ts';

/** The same calls through the service and beside it, on tables of the same rows. */
let server: ContractServer;
let remote: Connection;
let beside: Connection;
before(async () => {
  server = await ContractServer.start();
  remote = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride: server.url });
  beside = await connect(`${server.folder}/beside`);
});
after(async () => {
  remote.close();
  beside.close();
  await server.close();
});

const optional = (name: string, type: ConstructorParameters<typeof Field>[1]) => new Field(name, type, true);

const SCHEMA = new Schema([
  optional('id', new Int32()),
  optional('text', new Utf8()),
  optional('vector', new FixedSizeList(4, optional('item', new Float32()))),
  optional('info', new Struct([optional('size', new Int32()), optional('note', new Utf8())])),
]);

async function makePair(): Promise<readonly [Table, Table]> {
  const name = server.name('changed');
  const rows = count(5).map((id) => ({ id, text: `t${id}`, vector: [id, 1, 2, 3], info: { size: id, note: 'n' } }));
  return [
    await remote.createTable(name, rows, { schema: SCHEMA }),
    await beside.createTable(name, rows, { schema: SCHEMA }),
  ];
}

async function contents(table: Table): Promise<string> {
  const { fields } = await table.schema();
  const rows = await table.query().toArray();
  const types = fields.map(({ name, type }) => `${name} ${String(type)}`);
  return JSON.stringify([types, rows], (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value));
}

type Change = (table: Table) => Promise<unknown>;

const CHANGES: Readonly<Record<string, Change>> = {
  'adds columns': async (table) =>
    table.addColumns([
      { name: 'double', valueSql: 'id * 2' },
      { name: 'constant', valueSql: "'x'" },
      { name: 'size', valueSql: 'info.size + 1' },
    ]),
  'renames a column': async (table) => table.alterColumns([{ path: 'text', rename: 'words' }]),
  'renames a nested field': async (table) => table.alterColumns([{ path: 'info.size', rename: 'length' }]),
  'changes a type by its name': async (table) => table.alterColumns([{ path: 'id', dataType: 'int64' }]),
  'changes a type by an Arrow type': async (table) => table.alterColumns([{ path: 'id', dataType: new Int64() }]),
  'changes the type of a vector': async (table) =>
    table.alterColumns([{ path: 'vector', dataType: new FixedSizeList(4, optional('item', new Float16())) }]),
  'forbids nulls': async (table) => table.alterColumns([{ path: 'id', nullable: false }]),
  'drops columns': async (table) => table.dropColumns(['text', 'info.note']),
};

suite('the LanceDB client does what the embedded engine does when it', () => {
  for (const [title, change] of Object.entries(CHANGES)) {
    test(title, async () => {
      const [table, embedded] = await makePair();
      await change(table);
      await change(embedded);
      assert.equal(await contents(table), await contents(embedded));
    });
  }
});

suite('the LanceDB client is refused', () => {
  const refusals: readonly (readonly [title: string, change: Change, reason: RegExp])[] = [
    ['an unknown column', async (table) => table.dropColumns(['nope']), /nope/],
    ['a name that is there', async (table) => table.alterColumns([{ path: 'id', rename: 'text' }]), /text/],
    ['a cast', async (table) => table.alterColumns([{ path: 'text', dataType: 'int32' }]), /cannot be changed/],
    ['bad SQL', async (table) => table.addColumns([{ name: 'x', valueSql: 'id +' }]), /expression/],
  ];
  for (const [title, change, reason] of refusals) {
    test(`${title}, once and with a reason`, async () => {
      const [table] = await makePair();
      await assert.rejects(change(table), (error: Error) => {
        assert.match(error.message, reason);
        assert.doesNotMatch(error.message, /retry limit|was not found/);
        return true;
      });
    });
  }
});

test('a constant column takes no nulls, as in the embedded engine, until it is altered', async () => {
  const pair = await makePair();
  for (const each of pair) {
    await each.addColumns([{ name: 'constant', valueSql: '1' }]);
    assert.equal((await each.schema()).fields.find(({ name }) => name === 'constant')?.nullable, false);
  }
  const [table] = pair;
  await table.alterColumns([{ path: 'constant', nullable: true }]);
  await server.admin.post(`/v1/table/${table.name}/update`, { updates: [['constant', 'NULL']], predicate: 'id = 1' });
  const rows = await table.query().where('constant IS NULL').toArray();
  assert.deepEqual(
    rows.map(({ id }) => id),
    [1],
  );
});
