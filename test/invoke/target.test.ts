import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ServiceError } from '../../src/errors/service-error.ts';
import { explainFailure } from '../../src/invoke/target.ts';
import { ContractServer } from '../contract/contract-server.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

test('a failure of the engine about a table that was dropped meanwhile is that the table was not found', async () => {
  const made = await server.table();
  const database = await server.catalog.databases.find('default');
  const table = await server.catalog.tables.find(database?.id ?? '', [made.id]);
  const failure = new ServiceError('Internal', 'The data of this version of the table is gone.');
  const asked = { table, delimiter: '$' };
  assert.equal(await explainFailure(failure, asked, server.catalog), failure);
  assert.equal((await server.admin.post(`${made.at}/drop`, {})).status, 200);
  const refusal = await explainFailure(failure, asked, server.catalog);
  assert.ok(refusal instanceof ServiceError && refusal.kind === 'TableNotFound');
});

test('other refusals, and failures about no table, stay as they are', async () => {
  const refusal = new ServiceError('InvalidInput', 'No.');
  assert.equal(await explainFailure(refusal, { table: undefined, delimiter: '$' }, server.catalog), refusal);
  const failure = new ServiceError('Internal', 'No.');
  assert.equal(await explainFailure(failure, { table: undefined, delimiter: '$' }, server.catalog), failure);
});
