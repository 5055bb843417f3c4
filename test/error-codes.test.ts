import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { after, before, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { ERROR_KINDS } from '../src/errors/service-error.ts';
import { findState } from './catalog/temporary-catalog.ts';
import { ContractServer } from './contract/contract-server.ts';
import type { MadeTable } from './contract/contract-server.ts';
import { Int32, streamOf } from './contract/contract-tables.ts';
import { openRaw, readAnswer } from './contract/raw-request.ts';
import { assertErrorBody } from './contract/refusal.ts';
import type { Answer } from './support/client.ts';

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  const id = { type: new Int32(), values: [1, 2, 3], nullable: false };
  table = await server.table({ stream: streamOf({ id, price: { type: new Int32(), values: [1, 2, 3] } }) });
});
after(async () => server.close());

const post = async (operation: string, body: unknown = {}): Promise<Answer> =>
  server.admin.post(`${table.at}/${operation}`, body);

const ROWS = streamOf({ id: { type: new Int32(), values: [1], nullable: false } });

interface Provoked {
  readonly name: string;
  readonly status: number;
  /** What the LanceDB client gets instead, which repeats after some statuses and misreads others. */
  readonly lancedbStatus?: number;
  /** Sends a request that must be refused; the address ends with `slash`. */
  readonly provoke: (slash: string, t: TestContext) => Promise<Answer>;
}

/** The place in the list is the code. */
const PROVOKED: readonly Provoked[] = [
  { name: 'Unsupported', status: 406, provoke: async (slash) => post(`set_lsm_write_spec${slash}`) },
  {
    name: 'NamespaceNotFound',
    status: 404,
    provoke: async (slash) => server.admin.post(`/v1/namespace/nowhere/describe${slash}`, {}),
  },
  {
    name: 'NamespaceAlreadyExists',
    status: 409,
    provoke: async (slash) => {
      await server.admin.post('/v1/namespace/twice/create', {});
      return server.admin.post(`/v1/namespace/twice/create${slash}`, {});
    },
  },
  {
    name: 'NamespaceNotEmpty',
    status: 409,
    provoke: async (slash) => {
      await server.admin.post('/v1/namespace/full/create', {});
      await server.admin.arrow('/v1/table/full$table/create', ROWS);
      return server.admin.post(`/v1/namespace/full/drop${slash}`, {});
    },
  },
  {
    name: 'TableNotFound',
    status: 404,
    provoke: async (slash) => server.admin.post(`/v1/table/nowhere/describe${slash}`, {}),
  },
  {
    name: 'TableAlreadyExists',
    status: 409,
    lancedbStatus: 400,
    provoke: async (slash) => server.admin.arrow(`${table.at}/create${slash}`, ROWS),
  },
  { name: 'TableIndexNotFound', status: 404, provoke: async (slash) => post(`index/nothing/stats${slash}`) },
  {
    name: 'TableIndexAlreadyExists',
    status: 409,
    lancedbStatus: 400,
    provoke: async (slash) => {
      const index = { index_type: 'BTREE', name: 'one' };
      await post('create_index', { ...index, column: 'id' });
      return post(`create_index${slash}`, { ...index, column: 'price' });
    },
  },
  { name: 'TableTagNotFound', status: 404, provoke: async (slash) => post(`tags/version${slash}`, { tag: 'none' }) },
  {
    name: 'TableTagAlreadyExists',
    status: 409,
    lancedbStatus: 400,
    provoke: async (slash) => {
      await post('tags/create', { tag: 'twice', version: 1 });
      return post(`tags/create${slash}`, { tag: 'twice', version: 1 });
    },
  },
  {
    name: 'TransactionNotFound',
    status: 404,
    provoke: async (slash) => server.admin.post(`/v1/transaction/nothing/describe${slash}`, {}),
  },
  { name: 'TableVersionNotFound', status: 404, provoke: async (slash) => post(`describe${slash}`, { version: 99 }) },
  {
    name: 'TableColumnNotFound',
    status: 404,
    lancedbStatus: 400,
    provoke: async (slash) => post(`update${slash}`, { updates: [['nothing', '1']] }),
  },
  { name: 'InvalidInput', status: 400, provoke: async (slash) => post(`update${slash}`, '{') },
  { name: 'ConcurrentModification', status: 503, provoke: provokeConflict },
  {
    name: 'PermissionDenied',
    status: 403,
    provoke: async (slash) => {
      const reader = await server.caller('reader', [table.id]);
      return reader.post(`${table.at}/update${slash}`, { updates: [['price', '1']] });
    },
  },
  {
    name: 'Unauthenticated',
    status: 401,
    provoke: async (slash) => server.stranger().post(`${table.at}/describe${slash}`, {}),
  },
  { name: 'ServiceUnavailable', status: 503, provoke: provokeOverload },
  {
    name: 'Internal',
    status: 500,
    provoke: async (slash) => {
      const damaged = await server.table();
      for (const file of await readdir(`${damaged.location}/_versions`)) {
        await writeFile(`${damaged.location}/_versions/${file}`, 'damaged');
      }
      return server.admin.post(`${damaged.at}/describe${slash}`, {});
    },
  },
  {
    name: 'InvalidTableState',
    status: 409,
    lancedbStatus: 400,
    provoke: async (slash) => {
      await post('branches/create', { name: 'parent' });
      await post('branches/create', { name: 'child', from_branch: 'parent' });
      return post(`branches/delete${slash}`, { name: 'parent' });
    },
  },
  {
    name: 'TableSchemaValidationError',
    status: 400,
    provoke: async (slash) => post(`update${slash}`, { updates: [['id', 'NULL']] }),
  },
  { name: 'Throttling', status: 503, provoke: provokeThrottling },
  { name: 'TableBranchNotFound', status: 404, provoke: async (slash) => post(`describe${slash}`, { branch: 'none' }) },
  {
    name: 'TableBranchAlreadyExists',
    status: 409,
    provoke: async (slash) => {
      await post('branches/create', { name: 'twice' });
      return post(`branches/create${slash}`, { name: 'twice' });
    },
  },
];

/** Somebody else's create of the same table does not come to an end. */
async function provokeConflict(slash: string, t: TestContext): Promise<Answer> {
  const impatient = await ContractServer.start({ flags: ['--engine-lane-wait-seconds=1'] });
  t.after(async () => impatient.close());
  const { upload, end } = await holdCreate(impatient);
  const answer = await impatient.admin.arrow(`${upload}${slash}?mode=overwrite`, ROWS);
  await end();
  return answer;
}

/** The only place for a request is taken. */
async function provokeOverload(slash: string, t: TestContext): Promise<Answer> {
  const small = await ContractServer.start({ flags: ['--http-requests-max=1'] });
  t.after(async () => small.close());
  const { end } = await holdCreate(small);
  const answer = await small.admin.post(`/v1/table/other/describe${slash}`, {});
  await end();
  return answer;
}

async function provokeThrottling(slash: string, t: TestContext): Promise<Answer> {
  const slow = await ContractServer.start({ flags: ['--http-rate-requests-per-second=1'] });
  t.after(async () => slow.close());
  const send = async (): Promise<Answer> => slow.admin.post(`/v1/table/nowhere/describe${slash}`, {});
  const answers = await Promise.all(Array.from({ length: 20 }, send));
  return answers.find(({ status }) => status === 503) ?? assert.fail('no request was one too many');
}

/** A create whose body has begun and not ended. */
async function holdCreate(at: ContractServer): Promise<{ readonly upload: string; readonly end: () => Promise<void> }> {
  const upload = '/v1/table/slow/create';
  const headers = { 'content-type': 'application/vnd.apache.arrow.stream' };
  const sent = openRaw(at.url, { path: upload, headers });
  sent.write(ROWS.subarray(0, ROWS.length - 8));
  const database = await at.catalog.databases.find('default');
  while ((await findState(at.catalog, database?.id ?? '', ['slow'])) !== 'reserved') await setTimeout(5);
  return {
    upload,
    end: async () => {
      sent.end(ROWS.subarray(ROWS.length - 8));
      assert.equal((await readAnswer(sent)).status, 200);
    },
  };
}

suite('every code of Lance', () => {
  for (const [code, { name, status, lancedbStatus, provoke }] of PROVOKED.entries()) {
    test(`${code} ${name} is a ${status}`, async (t) => {
      for (const [slash, wanted] of [['', status] as const, ['/', lancedbStatus ?? status] as const]) {
        const answer = await provoke(slash, t);
        assert.equal(answer.status, wanted, answer.text);
        assert.equal(answer.json.code, code, answer.text);
        assertErrorBody(answer);
      }
    });
  }

  test('is in the list, under the name that the table of errors has for it', () => {
    const named = Object.entries(ERROR_KINDS).filter(([, { code }], index) => code === index);
    assert.deepEqual(
      PROVOKED.map(({ name }) => name),
      named.map(([name]) => name),
    );
    assert.equal(PROVOKED.length, 24);
  });
});
