import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import type { Answer, Client } from '../../support/client.ts';
import { FaultyServer, MANIFEST, rowStream } from '../../support/faulty-server.ts';
import type { Row } from '../../support/faulty-server.ts';

type Headers = Readonly<Record<string, string>>;

/** One kind of write, and what is right after it was applied once. */
interface Case {
  readonly name: string;
  readonly send: (client: Client, at: string, headers: Headers) => Promise<Answer>;
  /** Members of the reply. */
  readonly reply?: Readonly<Record<string, unknown>>;
  readonly rows: readonly Row[];
  /** Members of the column `value` in the description of the table. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Before the fault; the rows are (1, 10) and (2, 20). */
  readonly prepare?: (client: Client, at: string) => Promise<Answer>;
}

const BEFORE: readonly Row[] = [
  { id: 1, value: 10 },
  { id: 2, value: 20 },
];
const NEW: readonly Row[] = [
  { id: 2, value: 21 },
  { id: 3, value: 30 },
];
const UPSERT = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';

const CASES: readonly Case[] = [
  {
    name: 'update',
    send: async (client, at, headers) =>
      client.post(`${at}/update`, { updates: [['value', 'value + 1']], predicate: 'id = 1' }, headers),
    reply: { updated_rows: 1 },
    rows: [
      { id: 1, value: 11 },
      { id: 2, value: 20 },
    ],
  },
  {
    name: 'insert',
    send: async (client, at, headers) => client.arrow(`${at}/insert`, rowStream(NEW), headers),
    reply: { num_inserted_rows: 2 },
    rows: [...BEFORE, ...NEW],
  },
  {
    name: 'merge',
    send: async (client, at, headers) => client.arrow(`${at}/merge_insert?${UPSERT}`, rowStream(NEW), headers),
    reply: { num_inserted_rows: 1, num_updated_rows: 1, num_deleted_rows: 0 },
    rows: [{ id: 1, value: 10 }, ...NEW],
  },
  {
    name: 'delete',
    send: async (client, at, headers) => client.post(`${at}/delete`, { predicate: 'id = 2' }, headers),
    reply: { num_deleted_rows: 1 },
    rows: [{ id: 1, value: 10 }],
  },
  {
    name: 'overwrite by create',
    send: async (client, at, headers) => client.arrow(`${at}/create?mode=overwrite`, rowStream(NEW), headers),
    rows: NEW,
  },
  {
    name: 'overwrite by insert',
    send: async (client, at, headers) => client.arrow(`${at}/insert?mode=overwrite`, rowStream(NEW), headers),
    reply: { num_inserted_rows: 2 },
    rows: NEW,
  },
  {
    name: 'alter columns',
    send: async (client, at, headers) =>
      client.post(`${at}/alter_columns`, { alterations: [{ path: 'value', rename: 'amount' }] }, headers),
    rows: [
      { id: 1, amount: 10 },
      { id: 2, amount: 20 },
    ],
  },
  {
    name: 'drop columns',
    send: async (client, at, headers) => client.post(`${at}/drop_columns`, { columns: ['value'] }, headers),
    rows: [{ id: 1 }, { id: 2 }],
  },
  {
    name: 'field metadata',
    send: async (client, at, headers) =>
      client.post(`${at}/update_field_metadata`, { updates: [{ path: 'value', metadata: { unit: 'g' } }] }, headers),
    rows: BEFORE,
    metadata: { unit: 'g' },
  },
  {
    name: 'restore',
    prepare: async (client, at) => client.post(`${at}/update`, { updates: [['value', '0']] }),
    send: async (client, at, headers) => client.post(`${at}/restore`, { version: 1 }, headers),
    rows: BEFORE,
  },
];

const ADD_COLUMNS: Case = {
  name: 'add columns',
  send: async (client, at, headers) =>
    client.post(`${at}/add_columns`, { new_columns: [{ name: 'twice', expression: 'value * 2' }] }, headers),
  rows: [
    { id: 1, value: 10, twice: 20 },
    { id: 2, value: 20, twice: 40 },
  ],
};

async function assertApplied(server: FaultyServer, table: string, { rows, metadata }: Case): Promise<void> {
  const found = await server.rows(table);
  const byId = (one: Row, other: Row): number => (one['id'] ?? 0) - (other['id'] ?? 0);
  const sorted = found.toSorted(byId).map((row) => ({ ...row }));
  assert.deepEqual(sorted, rows.toSorted(byId));
  if (metadata === undefined) return;
  const { json } = await server.client.post(`/v1/table/${table}/describe`, { load_detailed_metadata: true });
  assert.deepEqual(json.schema.fields[1].metadata, metadata);
}

async function sendWithLostReply(server: FaultyServer, table: string, each: Case, headers: Headers): Promise<Answer> {
  const at = `/v1/table/${table}`;
  await server.create(table, BEFORE);
  const prepared = await each.prepare?.(server.client, at);
  assert.equal(prepared?.status ?? 200, 200, prepared?.text);
  const fault = server.faults.set({ action: 'lose', calls: ['link', 'rename'], paths: MANIFEST, error: 'EIO' });
  const answer = await each.send(server.client, at, headers);
  server.faults.clear();
  assert.equal(fault.acted(), 1, 'the fault did not happen');
  return answer;
}

function assertReply(answer: Answer, { reply = {} }: Case): void {
  assert.equal(answer.status, 200, answer.text);
  const found = Object.fromEntries(Object.keys(reply).map((name) => [name, answer.json[name]]));
  assert.deepEqual(found, reply);
}

async function checkCase(server: FaultyServer, each: Case, key: string | undefined): Promise<void> {
  const table = `${each.name}-${key === undefined ? 'keyless' : 'keyed'}`.replaceAll(' ', '-');
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const answer = await sendWithLostReply(server, table, each, headers);
  assertReply(answer, each);
  await assertApplied(server, table, each);
  const version = await server.version(table);
  assert.equal(version, answer.json.version, 'there is another commit after the one that was answered');
  if (key === undefined) return;
  const again = await each.send(server.client, `/v1/table/${table}`, headers);
  assertReply(again, each);
  assert.equal(again.headers.get('idempotency-replayed'), 'true', again.text);
  assert.equal(again.json.version, version);
  assert.equal(await server.version(table), version, 'the same key made another commit');
  await assertApplied(server, table, each);
}

async function runCases(t: TestContext, isKeyed: boolean): Promise<void> {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  for (const [index, each] of CASES.entries()) {
    await t.test(each.name, async () => checkCase(server, each, isKeyed ? `key-${index}` : undefined));
  }
}

test('a commit whose reply was lost is answered as the success that it is', async (t) => runCases(t, false));

test('with a key it is too, and the same request again gets the same result', async (t) => runCases(t, true));

test('a commit whose files the engine has removed is reverted, and repeating the request succeeds', async (t) => {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  // The engine takes the failed link for a failed commit, and removes the files of the new column.
  const answer = await sendWithLostReply(server, 'widened', ADD_COLUMNS, { 'idempotency-key': 'widen' });
  if (!readEngineRelease().isFallback) {
    // The main engine removes nothing.
    assert.equal(answer.status, 200, answer.text);
    await assertApplied(server, 'widened', ADD_COLUMNS);
    return;
  }
  assert.equal(answer.status, 503, answer.text);
  await assertApplied(server, 'widened', { ...ADD_COLUMNS, rows: BEFORE });
  await server.server.killWorker();
  await assertApplied(server, 'widened', { ...ADD_COLUMNS, rows: BEFORE });
  const again = await ADD_COLUMNS.send(server.client, '/v1/table/widened', { 'idempotency-key': 'widen' });
  assert.equal(again.status, 200, again.text);
  await assertApplied(server, 'widened', ADD_COLUMNS);
});

test('a write that was committed although its reply was lost is synced before it is answered', async (t) => {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  for (const each of CASES.filter(({ name }) => ['update', 'insert', 'merge', 'delete'].includes(name))) {
    await t.test(each.name, async () => {
      const table = `synced-${each.name}`;
      const { json } = await server.create(table, BEFORE);
      const { location } = json as { location: string };
      server.faults.set({ action: 'lose', calls: ['link', 'rename'], paths: MANIFEST });
      server.faults.add({ action: 'log', calls: ['sync'], paths: [location], count: Infinity });
      // The transaction file stays, as after a crash of the engine: the commit is found by either of its traces.
      server.faults.add({ action: 'fail', calls: ['unlink'], paths: ['/_transactions/'] });
      const answer = await each.send(server.client, `/v1/table/${table}`, {});
      const synced = server.faults.log().filter(({ call, path }) => call === 'sync' && path.startsWith(location));
      server.faults.clear();
      assert.equal(answer.status, 200, answer.text);
      assertSynced(
        synced.map(({ path }) => path.slice(location.length)),
        each.name,
      );
      assertReply(answer, each);
    });
  }
});

/** What the commit made: its manifest, its data or deletion files, and the folders of both. */
function assertSynced(paths: readonly string[], name: string): void {
  const wanted = [/^\/_versions\/\d+\.manifest$/, /^\/_versions\/?$/];
  if (name !== 'delete') wanted.push(/^\/data\/.+\.lance$/, /^\/data\/?$/);
  if (name !== 'insert') wanted.push(/^\/_deletions\/.+/, /^\/_deletions\/?$/);
  for (const pattern of wanted) {
    assert.ok(
      paths.some((path) => pattern.test(path)),
      `${name}: ${pattern} is not among the synced ${paths.join(' ') || '(none)'}`,
    );
  }
}
