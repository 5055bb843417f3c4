import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';

const NO_VERSION = { status: 404, code: CODE.versionNotFound } as const;
const NO_BRANCH = { status: 404, code: CODE.branchNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--http-page-size-max=5'] });
});
after(async () => server.close());

/** A table with this many versions. */
async function tableOf(versions: number): Promise<MadeTable> {
  const table = await server.table({ stream: sampleStream(3) });
  for (let version = 2; version <= versions; version += 1) {
    await updated(server.admin, table, { updates: [['price', String(version)]] });
  }
  return table;
}

interface Listed {
  readonly version: number;
  readonly timestamp: string;
  readonly timestamp_millis: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly manifest_path: string;
  readonly manifest_size?: number;
}

async function list(table: MadeTable, query = '', body: unknown = {}): Promise<readonly Listed[]> {
  const answer = await server.admin.post(`${table.at}/version/list${query}`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.versions;
}

const numbersOf = (versions: readonly Listed[]): readonly number[] => versions.map(({ version }) => version);

suite('the list of versions', () => {
  let table: MadeTable;
  before(async () => {
    table = await tableOf(4);
  });

  test('returns for each version what both client families read', async () => {
    const versions = await list(table);
    const embedded = await (await server.embedded(table)).listVersions();
    assert.deepEqual(numbersOf(versions), [1, 2, 3, 4]);
    for (const [index, each] of versions.entries()) {
      assert.match(each.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      assert.equal(Math.floor(Date.parse(each.timestamp)), each.timestamp_millis);
      assert.equal(each.timestamp_millis, Math.floor(embedded[index]?.timestamp.getTime() ?? 0));
      assert.deepEqual(each.metadata, embedded[index]?.metadata);
      assert.equal((await stat(each.manifest_path)).size, each.manifest_size);
      assert.ok(each.manifest_path.startsWith(`${table.location}/`));
    }
  });

  test('is the same without a body, with null, and by GET', async () => {
    const whole = await list(table);
    assert.deepEqual(await list(table, '', 'null'), whole);
    for (const method of ['POST', 'GET']) {
      const answer = await server.admin.send(method, `${table.at}/version/list?delimiter=%24`, {});
      assert.deepEqual(answer.json.versions, whole);
    }
  });

  test('goes from the latest to the oldest when asked to, in the query or in the body', async () => {
    assert.deepEqual(numbersOf(await list(table, '?descending=true')), [4, 3, 2, 1]);
    assert.deepEqual(numbersOf(await list(table, '?descending=false')), [1, 2, 3, 4]);
    assert.deepEqual(numbersOf(await list(table, '', { descending: true })), [4, 3, 2, 1]);
    assert.deepEqual(numbersOf(await list(table, '?descending=true&limit=1')), [4]);
  });

  test('comes in pages, in both directions', async () => {
    const made = await tableOf(7);
    const all = [1, 2, 3, 4, 5, 6, 7];
    for (const [query, wanted] of [
      ['limit=2', all],
      ['limit=3&descending=true', all.toReversed()],
      ['', all],
    ] as const) {
      const found: number[] = [];
      let token: string | undefined = '';
      while (token !== undefined) {
        const page: Answer = await server.admin.post(`${made.at}/version/list?${query}&page_token=${token}`, {});
        found.push(...numbersOf(page.json.versions));
        token = page.json.page_token;
      }
      assert.deepEqual(found, wanted);
    }
  });

  test('is whole for the LanceDB client, which knows no pages', async () => {
    const made = await tableOf(7);
    const answer = await server.admin.send('POST', `${made.at}/version/list/`, {});
    assert.equal(answer.json.versions.length, 7);
    assert.equal(answer.json.page_token, undefined);
  });

  test('of a branch has the versions since it started', async () => {
    await server.admin.post(`${table.at}/branches/create`, { name: 'side/one', from_version: 2 });
    await updated(server.admin, table, { updates: [['price', '0']], branch: 'side/one' });
    const versions = await list(table, '?branch=side%2Fone');
    assert.deepEqual(numbersOf(versions), [2, 3]);
    assert.deepEqual(await list(table, '', { branch: 'side/one' }), versions);
    for (const each of versions) assert.equal((await stat(each.manifest_path)).size, each.manifest_size);
    assert.deepEqual(numbersOf(await list(table, '?branch=main')), [1, 2, 3, 4]);
  });

  test('refuses what it cannot read', async () => {
    for (const query of ['limit=0', 'limit=6', 'limit=x', 'limit=-1', 'descending=1', 'page_token=x', 'nothing=1']) {
      assertRefused(await server.admin.post(`${table.at}/version/list?${query}`, {}), badRequest());
    }
    for (const body of [{ limit: 0 }, { limit: 'x' }, { descending: 1 }, { nothing: 1 }, { branch: '' }]) {
      assertRefused(await server.admin.post(`${table.at}/version/list`, body), badRequest());
    }
    assertRefused(await server.admin.post(`${table.at}/version/list?branch=nowhere`, {}), NO_BRANCH);
  });
});

suite('one version', () => {
  test('is described as the list has it, the latest when none is named', async () => {
    const table = await tableOf(3);
    const versions = await list(table);
    for (const [version, index] of [[undefined, 2] as const, [1, 0] as const, [3, 2] as const]) {
      const answer = await server.admin.post(`${table.at}/version/describe`, { version });
      assert.deepEqual(answer.json.version, versions[index]);
    }
  });

  test('that is not there is a 404', async () => {
    const table = await tableOf(1);
    for (const version of [0, 2, 99]) {
      assertRefused(await server.admin.post(`${table.at}/version/describe`, { version }), NO_VERSION);
    }
    // The second is seed 20273296 of the JSON campaign: no file can have such a name.
    for (const branch of ['nowhere', 'a'.repeat(3000), 'é'.repeat(200)]) {
      assertRefused(await server.admin.post(`${table.at}/version/describe`, { branch }), NO_BRANCH);
      assertRefused(await server.admin.post(`${table.at}/count_rows`, { branch }), NO_BRANCH);
    }
    assertRefused(await server.admin.post(`${table.at}/version/describe`, { version: -1 }), badRequest(/version/));
  });
});

async function remove(table: MadeTable, ranges: unknown, more: object = {}): Promise<Answer> {
  return server.admin.post(`${table.at}/version/delete`, { ranges, ...more });
}

const range = (start_version: number, end_version: number): object => ({ start_version, end_version });

suite('deleting versions', () => {
  test('removes those of the ranges and no other, and no data', async () => {
    const table = await tableOf(7);
    const data = await readdir(`${table.location}/data`);
    // Seen before, so that whatever the service keeps of a version would show.
    assert.equal((await server.admin.post(`${table.at}/describe`, { version: 2 })).status, 200);
    const answer = await remove(table, [range(2, 4), range(5, 6), range(3, 4)]);
    assert.equal(answer.json.deleted_count, 3, answer.text);
    assert.match(answer.json.transaction_id, /./);
    assert.deepEqual(numbersOf(await list(table, '?limit=5')), [1, 4, 6, 7]);
    assertRefused(await server.admin.post(`${table.at}/describe`, { version: 2 }), NO_VERSION);
    assertRefused(await server.admin.post(`${table.at}/restore`, { version: 3 }), NO_VERSION);
    assert.deepEqual(await readdir(`${table.location}/data`), data);
    assert.equal((await remove(table, [range(0, 4)])).json.deleted_count, 1);
    assert.equal((await remove(table, [range(0, 4)])).json.deleted_count, 0);
  });

  test('leaves a table that is read, written and restored as before', async () => {
    const table = await tableOf(4);
    await remove(table, [range(1, 3)]);
    await updated(server.admin, table, { updates: [['price', '50']] });
    const embedded = await server.embedded(table);
    assert.equal(await embedded.countRows('price = 50'), 3);
    await embedded.optimize({ cleanupOlderThan: new Date() });
    assert.equal(await embedded.countRows('price = 50'), 3);
    await updated(server.admin, table, { updates: [['price', '51']] });
    assert.equal(await embedded.countRows('price = 51'), 3);
  });

  test('keeps the latest', async () => {
    const table = await tableOf(3);
    for (const ranges of [[range(3, 4)], [range(1, 99)]]) {
      assertRefused(await remove(table, ranges), badRequest(/Version 3 is the latest/));
    }
    assert.deepEqual(numbersOf(await list(table)), [1, 2, 3]);
  });

  test('removes all but the latest with the range from 0 to -1, also when there is nothing else', async () => {
    const table = await tableOf(4);
    for (const removed of [3, 0]) {
      const answer = await remove(table, [range(0, -1)]);
      assert.deepEqual([answer.status, answer.json.deleted_count], [200, removed], answer.text);
    }
    assert.deepEqual(numbersOf(await list(table)), [4]);
    assert.equal(await (await server.embedded(table)).countRows(), 3);
  });

  test('keeps what a tag or a branch needs', async () => {
    const table = await tableOf(4);
    await server.admin.post(`${table.at}/tags/create`, { tag: 'first', version: 1 });
    await server.admin.post(`${table.at}/branches/create`, { name: 'side', from_version: 3 });
    const kept = { status: 409, code: CODE.tableState } as const;
    assertRefused(await remove(table, [range(1, 2)]), { ...kept, detail: /tag first/ });
    assertRefused(await remove(table, [range(2, 4)]), { ...kept, detail: /branch side/ });
    assert.equal((await remove(table, [range(2, 3)])).json.deleted_count, 1);
  });

  test('of a branch leaves the others alone', async () => {
    const table = await tableOf(3);
    await server.admin.post(`${table.at}/branches/create`, { name: 'side', from_version: 2 });
    for (const price of ['1', '2']) await updated(server.admin, table, { updates: [['price', price]], branch: 'side' });
    await server.admin.post(`${table.at}/tags/create`, { tag: 'third', version: 3 });
    assert.equal((await remove(table, [range(3, 4)], { branch: 'side' })).json.deleted_count, 1);
    assert.deepEqual(numbersOf(await list(table, '?branch=side')), [2, 4]);
    assert.deepEqual(numbersOf(await list(table)), [1, 2, 3]);
  });

  test('refuses ranges that say nothing', async () => {
    const table = await tableOf(2);
    for (const ranges of [
      undefined,
      [],
      [range(2, 2)],
      [range(2, 1)],
      [range(-1, 2)],
      [range(0, -2)],
      [{ start_version: 1 }],
      [{ end_version: 1 }],
      Array.from({ length: 6 }, () => range(1, 2)),
    ]) {
      assertRefused(await remove(table, ranges), badRequest(/range/));
    }
    assertRefused(await remove(table, [range(1, 2)], { branch: 'nowhere' }), NO_BRANCH);
  });
});
