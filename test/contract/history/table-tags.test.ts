import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { ok } from '../../support/client.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

const NO_TAG = { status: 404, code: CODE.tagNotFound } as const;
const NO_VERSION = { status: 404, code: CODE.versionNotFound } as const;
const NO_BRANCH = { status: 404, code: CODE.branchNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

/** Three versions on the main branch; the branch `side` starts at the second and has one of its own. */
async function branchedTable(): Promise<MadeTable> {
  const table = await server.table({ stream: sampleStream(2) });
  for (const price of ['1', '2']) await updated(server.admin, table, { updates: [['price', price]] });
  assert.equal((await ask(table, 'branches/create', { name: 'side', from_version: 2 })).status, 200);
  await updated(server.admin, table, { updates: [['price', '9']], branch: 'side' });
  return table;
}

async function ask(table: MadeTable, operation: string, body: unknown = {}): Promise<Answer> {
  return server.admin.post(`${table.at}/${operation}`, body);
}

async function done(table: MadeTable, operation: string, body: object): Promise<void> {
  assert.match(ok(await ask(table, operation, body)).transaction_id, /./);
}

suite('a tag', () => {
  test('is made, read, moved and deleted', async () => {
    const table = await branchedTable();
    await done(table, 'tags/create', { tag: 'v1.0', version: 1 });
    assert.equal((await ask(table, 'tags/version', { tag: 'v1.0' })).json.version, 1);
    await done(table, 'tags/update', { tag: 'v1.0', version: 3 });
    const moved = await ask(table, 'tags/version', { tag: 'v1.0' });
    assert.equal(moved.json.version, 3);
    assert.equal('branch' in moved.json, false);
    await done(table, 'tags/delete', { tag: 'v1.0' });
    assertRefused(await ask(table, 'tags/version', { tag: 'v1.0' }), { ...NO_TAG, detail: /v1\.0/ });
  });

  test('may name a version of a branch, and says which', async () => {
    const table = await branchedTable();
    await done(table, 'tags/create', { tag: 'main3', version: 3 });
    await done(table, 'tags/create', { tag: 'side3', version: 3, branch: 'side' });
    const answer = await ask(table, 'tags/version', { tag: 'side3' });
    assert.deepEqual([answer.json.version, answer.json.branch], [3, 'side']);
    const { tags } = (await ask(table, 'tags/list')).json;
    assert.deepEqual([tags.main3.branch, tags.side3.branch], [undefined, 'side']);
    await done(table, 'tags/update', { tag: 'side3', version: 1 });
    assert.equal('branch' in (await ask(table, 'tags/version', { tag: 'side3' })).json, false);
    await done(table, 'tags/update', { tag: 'main3', version: 2, branch: 'side' });
    assert.equal((await ask(table, 'tags/version', { tag: 'main3' })).json.branch, 'side');
    await done(table, 'tags/update', { tag: 'main3', version: 2, branch: 'main' });
    assert.equal('branch' in (await ask(table, 'tags/version', { tag: 'main3' })).json, false);
  });

  test('keeps its branch from being deleted', async () => {
    const table = await branchedTable();
    await done(table, 'tags/create', { tag: 'pin', version: 3, branch: 'side' });
    assertRefused(await ask(table, 'branches/delete', { name: 'side' }), {
      status: 409,
      code: CODE.tableState,
      detail: /tag 'pin'|tag "pin"/,
    });
    await done(table, 'tags/delete', { tag: 'pin' });
    await done(table, 'branches/delete', { name: 'side' });
  });

  test('that another process made or deleted is known at once', async () => {
    const table = await branchedTable();
    const tags = await (await server.embedded(table)).tags();
    assertRefused(await ask(table, 'tags/version', { tag: 'late' }), NO_TAG);
    await tags.create('late', 2);
    assert.equal((await ask(table, 'tags/version', { tag: 'late' })).json.version, 2);
    await tags.delete('late');
    assertRefused(await ask(table, 'tags/version', { tag: 'late' }), NO_TAG);
  });

  test('that exists is not created again: a 409, and a 400 for the client that retries after a 409', async () => {
    const table = await branchedTable();
    await done(table, 'tags/create', { tag: 'once', version: 1 });
    const body = { tag: 'once', version: 2 };
    assertRefused(await ask(table, 'tags/create', body), { status: 409, code: CODE.tagExists, detail: /once/ });
    assertRefused(await ask(table, 'tags/create/', body), { status: 400, code: CODE.tagExists });
    assert.equal((await ask(table, 'tags/version', { tag: 'once' })).json.version, 1);
  });

  test('that is not there is neither moved nor deleted', async () => {
    const table = await branchedTable();
    assertRefused(await ask(table, 'tags/update', { tag: 'none', version: 1 }), NO_TAG);
    assertRefused(await ask(table, 'tags/delete', { tag: 'none' }), NO_TAG);
    assertRefused(await ask(table, 'tags/version/', { tag: 'none' }), NO_TAG);
  });

  test('cannot name what is not there', async () => {
    const table = await branchedTable();
    await done(table, 'tags/create', { tag: 'good', version: 1 });
    for (const operation of ['tags/create', 'tags/update']) {
      const tag = operation === 'tags/create' ? 'bad' : 'good';
      for (const version of [0, 4, 99]) assertRefused(await ask(table, operation, { tag, version }), NO_VERSION);
      assertRefused(await ask(table, operation, { tag, version: 1, branch: 'side' }), NO_VERSION);
      assertRefused(await ask(table, operation, { tag, version: 1, branch: 'nowhere' }), NO_BRANCH);
    }
    assert.deepEqual(Object.keys((await ask(table, 'tags/list')).json.tags), ['good']);
  });

  test('may have been made when the storage fails, and the reply says so', async () => {
    const table = await server.table();
    const names = await readdir(server.folder);
    const directory = names.find((name) => table.location.endsWith(name)) ?? '';
    // The engine keeps tags in a folder of this name.
    await writeFile(join(server.folder, directory, '_refs'), '');
    const answer = await ask(table, 'tags/create', { tag: 'v1', version: 1 });
    assertRefused(answer, { status: 503, code: CODE.unavailable, detail: /not known whether the change was made/ });
    assert.equal(answer.json.outcome, 'unknown');
  });

  test('has a name that is safe, whatever the operation', async () => {
    const table = await branchedTable();
    const files = await readdir(server.folder, { recursive: true });
    for (const tag of [
      '',
      '.',
      '..',
      '../x',
      'a/b',
      'a b',
      'é',
      'a..b',
      '.x',
      'x.',
      'x.lock',
      'x\u0000',
      'a'.repeat(201),
    ]) {
      for (const operation of ['tags/create', 'tags/update', 'tags/delete', 'tags/version']) {
        const version = operation === 'tags/create' || operation === 'tags/update' ? { version: 1 } : {};
        assertRefused(await ask(table, operation, { tag, ...version }), badRequest(/tag/));
      }
    }
    assert.deepEqual(await readdir(server.folder, { recursive: true }), files);
  });

  test('needs its name and its version', async () => {
    const table = await branchedTable();
    for (const body of [{}, { tag: 'a' }, { version: 1 }, { tag: 1, version: 1 }, { tag: 'a', version: -1 }]) {
      assertRefused(await ask(table, 'tags/create', body), badRequest(/tag|version/));
      assertRefused(await ask(table, 'tags/update', body), badRequest(/tag|version/));
    }
    for (const operation of ['tags/delete', 'tags/version']) {
      assertRefused(await ask(table, operation, {}), badRequest(/tag/));
      assertRefused(await ask(table, operation, { tag: 'a', version: 1 }), badRequest(/version/));
    }
  });
});

suite('the list of tags', () => {
  let table: MadeTable;
  before(async () => {
    table = await branchedTable();
    for (const tag of ['c', 'a', 'd', 'b']) await done(table, 'tags/create', { tag, version: 1 });
  });

  test('is a map of names, with what the engine keeps of each', async () => {
    const { tags } = (await ask(table, 'tags/list')).json;
    const embedded = await (await (await server.embedded(table)).tags()).list();
    assert.deepEqual(Object.keys(tags), ['a', 'b', 'c', 'd']);
    assert.deepEqual([tags.a.version, tags.a.manifestSize], [embedded['a']?.version, embedded['a']?.manifestSize]);
    assert.ok(tags.a.manifestSize > 0);
    assert.ok(Math.abs(Date.parse(tags.a.createdAt) - Date.now()) < 600_000);
  });

  test('is the same by GET and for a body of null', async () => {
    const { tags } = (await ask(table, 'tags/list')).json;
    assert.deepEqual((await server.admin.get(`${table.at}/tags/list?delimiter=%24`)).json.tags, tags);
    assert.deepEqual((await ask(table, 'tags/list', 'null')).json.tags, tags);
  });

  test('is the bare map for the LanceDB client', async () => {
    const { tags } = (await ask(table, 'tags/list')).json;
    const answer = await server.admin.send('POST', `${table.at}/tags/list/`, {});
    assert.deepEqual(answer.json, tags);
  });

  test('comes in pages', async () => {
    const first = await server.admin.get(`${table.at}/tags/list?limit=3`);
    assert.deepEqual([Object.keys(first.json.tags), first.json.page_token], [['a', 'b', 'c'], 'c']);
    const second = await server.admin.get(`${table.at}/tags/list?limit=3&page_token=c`);
    assert.deepEqual([Object.keys(second.json.tags), second.json.page_token], [['d'], undefined]);
    assertRefused(await server.admin.get(`${table.at}/tags/list?limit=0`), badRequest(/limit/));
  });

  test('of a table without tags is empty', async () => {
    const made = await server.table();
    assert.deepEqual((await ask(made, 'tags/list')).json.tags, {});
  });
});
