import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { WriteGate } from '../../src/coordination/write-gate.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import { decodeBody } from '../../src/invoke/decode-body.ts';
import { explainFailure, invoke, requireDatabase } from '../../src/invoke/invoke.ts';
import type { Input, InvokeDependencies } from '../../src/invoke/invoke.ts';
import type { Caller, Role } from '../../src/model/access.ts';
import type { Operation, Reply } from '../../src/operations/operation.ts';
import { OPERATIONS } from '../../src/operations/registry.ts';
import { SizeQuotas } from '../../src/quotas/size-quotas.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Services } from '../../src/operations/services.ts';
import { createTable, temporaryCatalog } from '../catalog/temporary-catalog.ts';
import { testLimits } from '../support/limits.ts';

/** A front end without HTTP. */
interface FrontEnd extends InvokeDependencies {
  call(id: string, caller: Caller, input: Partial<Input>): Promise<Reply>;
}

async function createFrontEnd(context: TestContext): Promise<FrontEnd> {
  const { catalog } = await temporaryCatalog(context);
  const telemetry = { emit: () => undefined };
  const { engine } = {} as { engine: Engine };
  const sizeQuotas = new SizeQuotas({ catalog, engine, telemetry, measureSeconds: 1 });
  const services = { catalog, telemetry, sizeQuotas, limits: testLimits(), now: Date.now } as unknown as Services;
  const writeGate = new WriteGate(() => undefined);
  return {
    services,
    writeGate,
    async call(id, caller, { body = {}, ...input }) {
      const operation = findOperation(id);
      const decoded = decodeBody(operation, body, 'lance', services);
      const database = await requireDatabase('default', caller, catalog);
      return invoke(operation, caller, { ...INPUT, database, ...input, body: decoded }, { services, writeGate });
    },
  };
}

const INPUT: Omit<Input, 'body'> = {
  arrivedAt: Infinity,
  requestId: 'r1',
  dialect: 'lance',
  delimiter: '$',
  prefix: [],
  params: {},
  query: {},
  queryLists: {},
  header: () => undefined,
  signal: () => new AbortController().signal,
  address: '',
  renamedSeconds: 0,
};

function findOperation(id: string): Operation {
  return OPERATIONS.find((operation) => operation.id === id) ?? assert.fail(id);
}

function callerWith(role: Role): Caller {
  return { id: `key:${role}`, kind: 'key', grants: [{ role, database: 'default', path: [] }] };
}

function isRefusal(kind: string): (error: unknown) => boolean {
  return (error) => error instanceof ServiceError && error.kind === kind;
}

test('executes a write, and a read that sees it, without HTTP', async (t) => {
  const frontEnd = await createFrontEnd(t);
  const params = { id: 'sales' };
  await frontEnd.call('create_namespace', callerWith('writer'), { params, body: { properties: { owner: 'eu' } } });
  const reply = await frontEnd.call('describe_namespace', callerWith('reader'), { params });
  assert.ok(reply.kind === 'object');
  assert.deepEqual(reply.body, { properties: { owner: 'eu' } });
});

test('refuses an operation that the caller may not execute', async (t) => {
  const frontEnd = await createFrontEnd(t);
  const params = { id: 'sales' };
  const refused = frontEnd.call('create_namespace', callerWith('reader'), { params });
  await assert.rejects(refused, isRefusal('PermissionDenied'));
  const stranger = { ...callerWith('reader'), grants: [] };
  await assert.rejects(frontEnd.call('describe_namespace', stranger, { params }), isRefusal('DatabaseNotFound'));
});

test('refuses a write while writes are paused, and a body that does not match', async (t) => {
  const frontEnd = await createFrontEnd(t);
  const params = { id: 'sales' };
  const misspelt = frontEnd.call('create_namespace', callerWith('writer'), { params, body: { propertys: {} } });
  await assert.rejects(misspelt, isRefusal('InvalidInput'));
  frontEnd.writeGate.close('the test ends');
  const paused = frontEnd.call('create_namespace', callerWith('writer'), { params });
  await assert.rejects(paused, isRefusal('ServiceUnavailable'));
});

test('a writer does not replace a namespace that was created after the request looked for it', async (t) => {
  const frontEnd = await createFrontEnd(t);
  const { namespaces } = frontEnd.services.catalog;
  const params = { id: 'sales' };
  await frontEnd.call('create_namespace', callerWith('owner'), { params, body: { properties: { owner: 'eu' } } });
  const before = t.mock.method(namespaces, 'find', async (_databaseId: string, path: readonly string[]) =>
    path.length === 0 ? { path, properties: {} } : undefined,
  );
  const replaced = frontEnd.call('create_namespace', callerWith('writer'), { params, body: { mode: 'overwrite' } });
  await assert.rejects(replaced, isRefusal('PermissionDenied'));
  before.mock.restore();
  const reply = await frontEnd.call('describe_namespace', callerWith('reader'), { params });
  assert.ok(reply.kind === 'object');
  assert.deepEqual(reply.body, { properties: { owner: 'eu' } });
});

test('an internal error about a table that was dropped meanwhile means that the table does not exist', async (t) => {
  const { catalog, database } = await temporaryCatalog(t);
  const table = await createTable(catalog, database.id, ['items']);
  const failure = new ServiceError('Internal', 'The data of this version of the table no longer exists.');
  const request = { table, delimiter: '$' };
  assert.equal(await explainFailure(failure, request, catalog), failure);
  const dropped = { ...request, table: { ...table, id: 'dropped' } };
  assert.ok(isRefusal('TableNotFound')(await explainFailure(failure, dropped, catalog)));
});

test('other refusals, and internal errors about no table, stay as they are', async (t) => {
  const { catalog } = await temporaryCatalog(t);
  for (const kind of ['InvalidInput', 'Internal'] as const) {
    const error = new ServiceError(kind, 'No.');
    assert.equal(await explainFailure(error, { delimiter: '$' }, catalog), error);
  }
});
