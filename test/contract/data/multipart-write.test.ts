import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Int64 } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float64, Int32, Utf8, count, streamOf } from '../contract-tables.ts';
import { assertRefused, badRequest, CODE, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--engine-upload-parts-max=8'] });
});
after(async () => server.close());

async function step(
  table: Pick<MadeTable, 'at'>,
  name: 'create' | 'complete' | 'abort',
  query: Readonly<Record<string, string>> = {},
  client: Client = server.admin,
): Promise<Answer> {
  const text = new URLSearchParams(query).toString();
  return client.send('POST', `${table.at}/multipart_write/${name}?${text}`, {});
}

async function begin(table: MadeTable, query: Readonly<Record<string, string>> = {}): Promise<string> {
  const answer = await step(table, 'create', query);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.upload_id;
}

async function part(
  table: Pick<MadeTable, 'at'>,
  query: Readonly<Record<string, string>>,
  body: Uint8Array = sampleStream(5),
  client: Client = server.admin,
): Promise<Answer> {
  return client.arrow(`${table.at}/insert/?${new URLSearchParams(query).toString()}`, body);
}

async function rowCount(table: MadeTable): Promise<number> {
  return (await server.embedded(table)).countRows();
}

async function spooled(): Promise<number> {
  const folder = join(server.folder, 'uploads', String(process.pid));
  return (await readdir(folder).catch(() => [])).length;
}

suite('a multipart write', () => {
  test('adds all parts, which came at once and some of them empty, in one step', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    const empty = streamOf({ id: { type: new Int32(), values: [] } });
    const bodies = [sampleStream(5), empty, sampleStream(7), sampleStream(1)];
    const answers = await Promise.all(bodies.map(async (body) => part(table, { upload_id }, body)));
    assert.deepEqual(
      answers.map(({ status, json }) => [status, json.num_inserted_rows]),
      [
        [200, 5],
        [200, 0],
        [200, 7],
        [200, 1],
      ],
    );
    assert.equal(await rowCount(table), 2);
    const { status, json } = await step(table, 'complete', { upload_id });
    assert.deepEqual([status, json.num_inserted_rows], [200, 13]);
    assert.equal(await rowCount(table), 15);
    assert.equal((await server.admin.post(`${table.at}/describe`, {})).json.version, json.version);
    assert.equal(await spooled(), 0);
    const record = await server.catalog.transactions.find(json.transaction_id);
    assert.deepEqual([record?.operation, record?.version], ['insert_into_table', json.version]);
  });

  test('is completed once, however often it is asked to be', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    await part(table, { upload_id });
    const first = await step(table, 'complete', { upload_id });
    const second = await step(table, 'complete', { upload_id });
    assert.deepEqual(
      [second.status, second.json.version, second.json.transaction_id],
      [200, first.json.version, first.json.transaction_id],
    );
    assert.equal(await rowCount(table), 7);
  });

  test('overwrites only if all parts with rows fit the first of them', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const column = (type: DataType, values: readonly unknown[]) => streamOf({ n: { type, values } });
    const send = async (...bodies: readonly Uint8Array[]): Promise<Answer> => {
      const upload_id = await begin(table);
      for (const body of bodies) {
        const { status, text } = await part(table, { upload_id, mode: 'overwrite' }, body);
        assert.equal(status, 200, text);
      }
      const answer = await step(table, 'complete', { upload_id });
      await step(table, 'abort', { upload_id });
      return answer;
    };
    const [whole, fraction] = [column(new Int64(), [1n]), column(new Float64(), [1.5])];
    const empty = streamOf({ other: { type: new Utf8(), values: [] } });
    assertRefused(await send(empty, whole, fraction), badRequest(/"n" has the type/, CODE.schema));
    assert.equal(await rowCount(table), 2);
    const answer = await send(empty, fraction, empty, whole);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(await rowCount(table), 2);
    assert.deepEqual(
      (await server.rows(table)).map(({ n }) => n),
      [1.5, 1],
    );
  });

  test('overwrites once, with all parts', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    const body = streamOf({ only: { type: new Int32(), values: count(3) } });
    await Promise.all(count(3).map(async () => part(table, { upload_id, mode: 'overwrite' }, body)));
    assert.equal((await step(table, 'complete', { upload_id })).json.num_inserted_rows, 9);
    assert.deepEqual([...new Set((await server.rows(table)).map((row) => Object.keys(row).join()))], ['only']);
    assert.equal(await rowCount(table), 9);
  });

  test('without parts changes nothing', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const { json } = await step(table, 'complete', { upload_id: await begin(table) });
    assert.deepEqual([json.version, json.num_inserted_rows], [1, 0]);
  });

  test('into a branch leaves the main one alone', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    await (await (await server.embedded(table)).branches()).create('trial');
    const upload_id = await begin(table, { branch: 'trial' });
    const at = { upload_id, branch: 'trial' };
    assert.equal((await part(table, at)).status, 200);
    assert.equal((await part(table, at)).status, 200);
    assertRefused(await part(table, { upload_id }), badRequest(/no such upload/));
    assert.equal((await step(table, 'complete', at)).json.num_inserted_rows, 10);
    assert.equal(await rowCount(table), 2);
  });

  test('a part that comes again under its name counts once', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    for (const rows of [3, 4]) await part(table, { upload_id, upload_part_id: 'p1' }, sampleStream(rows));
    assert.equal((await step(table, 'complete', { upload_id })).json.num_inserted_rows, 4);
  });

  test('that is aborted leaves nothing, takes nothing more, and may be aborted again', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    await part(table, { upload_id });
    for (const _ of count(2)) assert.equal((await step(table, 'abort', { upload_id })).status, 200);
    assert.equal(await spooled(), 0);
    assertRefused(await part(table, { upload_id }), badRequest(/aborted/));
    assertRefused(await step(table, 'complete', { upload_id }), badRequest(/aborted/));
    assert.equal(await rowCount(table), 2);
  });

  test('whose parts do not fit is refused before they are taken in', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    const extra = streamOf({ extra: { type: new Int32(), values: [1] } });
    assertRefused(await part(table, { upload_id }, extra), badRequest(/"extra"/, CODE.schema));
    assertRefused(await part(table, { upload_id }, sampleStream(5).subarray(0, 300)), badRequest());
    assert.equal(await spooled(), 0);
    await step(table, 'abort', { upload_id });
  });

  test('with a value that does not fit its column is refused with the name of the column', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    for (const id of [1n, 2n ** 40n]) {
      const answer = await part(table, { upload_id }, streamOf({ id: { type: new Int64(), values: [id] } }));
      assert.equal(answer.status, 200, answer.text);
    }
    const misfit = badRequest(/"id" \(int64 to int32\)/, CODE.schema);
    assertRefused(await step(table, 'complete', { upload_id }), misfit);
    assert.equal(await rowCount(table), 2);
    await step(table, 'abort', { upload_id });
  });

  test('has a bound on its parts', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    for (const _ of count(8)) assert.equal((await part(table, { upload_id })).status, 200);
    assertRefused(await part(table, { upload_id }), badRequest(/8 parts/));
    await step(table, 'abort', { upload_id });
  });
});

suite('a multipart write is refused', () => {
  test('under a name that is not known, without committing', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const upload_id = 'no-such-upload';
    assertRefused(await part(table, { upload_id }), badRequest(/no such upload/));
    assertRefused(await step(table, 'complete', { upload_id }), badRequest(/no such upload/));
    assertRefused(await step(table, 'abort', { upload_id }), badRequest(/no such upload/));
    assertRefused(await step(table, 'complete'), badRequest(/upload_id/));
    assert.equal(await rowCount(table), 2);
  });

  test('to another caller and at another table, as if it were not there', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const other = await server.table({ stream: sampleStream(2) });
    const upload_id = await begin(table);
    const colleague = await server.caller('writer');
    assertRefused(await part(table, { upload_id }, sampleStream(1), colleague), badRequest(/no such upload/));
    assertRefused(await step(table, 'complete', { upload_id }, colleague), badRequest(/no such upload/));
    assertRefused(await part(other, { upload_id }), badRequest(/no such upload/));
    await step(table, 'abort', { upload_id });
  });

  test('at a branch that was deleted and created again since', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    const change = async (what: string) => server.admin.post(`${table.at}/branches/${what}`, { name: 'trial' });
    await change('create');
    const upload = { branch: 'trial', upload_id: await begin(table, { branch: 'trial' }) };
    assert.equal((await part(table, upload)).status, 200);
    await change('delete');
    assertRefused(await part(table, upload), { status: 404, code: CODE.branchNotFound });
    await change('create');
    assertRefused(await part(table, upload), badRequest(/no such upload/));
    assertRefused(await step(table, 'complete', upload), badRequest(/no such upload/));
  });

  test('without a credential, without the permission, where the table is hidden, absent or has no such branch', async () => {
    const table = await server.table({ stream: sampleStream(2) });
    for (const name of ['create', 'complete', 'abort'] as const) {
      const query = name === 'create' ? {} : { upload_id: 'x' };
      assertRefused(await step(table, name, query, server.stranger()), unauthenticated);
      assertRefused(await step(table, name, query, await server.caller('reader')), forbidden);
      assertRefused(await step(table, name, query, await server.caller('writer', ['elsewhere'])), tableNotFound);
      assertRefused(await step({ at: '/v1/table/absent' }, name, query), tableNotFound);
    }
    assertRefused(await step(table, 'create', { branch: 'none' }), { status: 404, code: CODE.branchNotFound });
  });
});
