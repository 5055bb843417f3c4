import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, unauthenticated } from '../refusal.ts';

const SORTED = ['Z', 'a', 'b', 'ns$deep$t', 'ns$t', 'ns$u', 'z', 'ä', '表'];

suite('GET /v1/tables', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start();
    await server.namespace(['ns']);
    await server.namespace(['ns', 'deep']);
    await server.namespace(['empty']);
    for (const id of SORTED.toReversed()) await server.table({ id });
  });
  after(async () => server.close());

  const list = async (query = ''): Promise<Answer> => server.admin.get(`/v1/tables${query}`);

  test('answers 200 with the identifiers of all tables of the database, joined by the delimiter, in order', async () => {
    const { status, json } = await list();
    assert.equal(status, 200);
    assert.deepEqual(json.tables, SORTED);
  });

  test('has no page token when there is no more', async () => {
    const { json } = await list();
    assert.deepEqual(Object.keys(json).toSorted(), ['context', 'tables']);
  });

  test('gives an empty list for a database without tables', async () => {
    const database = await server.database();
    assert.deepEqual((await server.admin.get('/v1/tables', { 'x-service-database': database })).json.tables, []);
  });

  test('joins by the delimiter of the query', async () => {
    assert.deepEqual((await list('?delimiter=.')).json.tables.slice(3, 6), ['ns.deep.t', 'ns.t', 'ns.u']);
  });

  for (const limit of [1, 2, 4, 9, 10]) {
    test(`comes in pages of ${limit}, which together are the whole, each once`, async () => {
      const seen: string[] = [];
      let query = `?limit=${limit}`;
      for (let page = 0; page <= SORTED.length; page += 1) {
        const { json } = await list(query);
        assert.ok(json.tables.length <= limit);
        seen.push(...json.tables);
        if (json.page_token === undefined) break;
        assert.equal(json.tables.length, limit);
        query = `?limit=${limit}&page_token=${encodeURIComponent(json.page_token)}`;
      }
      assert.deepEqual(seen, SORTED);
    });
  }

  test('continues after a page token, even one whose table does not exist', async () => {
    assert.deepEqual((await list('?page_token=ns%24t')).json.tables, ['ns$u', 'z', 'ä', '表']);
    assert.deepEqual((await list('?page_token=ns%24ta')).json.tables, ['ns$u', 'z', 'ä', '表']);
    assert.deepEqual((await list(`?page_token=${encodeURIComponent('表')}`)).json.tables, []);
  });

  test('reads the page token by the delimiter of the query', async () => {
    const { json } = await list('?delimiter=.&limit=4');
    assert.equal(json.page_token, 'ns.deep.t');
    assert.deepEqual((await list(`?delimiter=.&page_token=${json.page_token}`)).json.tables[0], 'ns.t');
  });

  for (const [delimiter, made] of [
    ['.', '$'],
    ['$', '.'],
  ] as const) {
    test(`comes to an end in pages joined by ${delimiter}, also where names hold it that were made with ${made}`, async () => {
      const database = await server.database();
      const headers = { 'x-service-database': database };
      const ids = ['x', `x${delimiter}`, `x${delimiter}y`, `x${delimiter}z`, 'y'];
      for (const id of ids) await server.table({ id, headers, query: { delimiter: made } });
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const query = new URLSearchParams({
          delimiter,
          limit: '1',
          ...(token === undefined ? {} : { page_token: token }),
        });
        const { status, json } = await server.admin.get(`/v1/tables?${query.toString()}`, headers);
        assert.equal(status, 200);
        seen.push(...json.tables);
        token = json.page_token;
      } while (token !== undefined && seen.length <= ids.length);
      assert.deepEqual(seen, ids);
    });
  }

  test('takes an empty page token for none', async () => {
    assert.deepEqual((await list('?page_token=')).json.tables, SORTED);
  });

  test('refuses a limit that is not a whole number from 1 to the largest page with 400', async () => {
    for (const limit of ['0', '-1', '1.5', 'ten', '', '1e3', '0x10', '1001', '99999999999999999999']) {
      assertRefused(await list(`?limit=${limit}`), badRequest(/limit/));
    }
    assert.equal((await list('?limit=1000')).status, 200);
  });

  test('refuses a page token that is no identifier with 400', async () => {
    for (const token of ['a%24', '%24', 'a%00', 'a%2Fb'])
      assertRefused(await list(`?page_token=${token}`), badRequest());
  });

  test('refuses a query parameter that is not known with 400', async () => {
    assertRefused(await list('?pagetoken=a'), badRequest(/pagetoken/));
  });

  test('shows only what the caller may see, across pages too', async () => {
    const reader = await server.caller('reader', ['ns', 'deep']);
    assert.deepEqual(await server.listed(reader), ['ns$deep$t']);
    const key = await server.key([
      { role: 'reader', database: 'default', path: ['ns', 'u'] },
      { role: 'owner', database: 'default', path: ['a'] },
      { role: 'writer', database: 'default', path: ['表'] },
      { role: 'reader', database: 'other', path: [] },
    ]);
    const several = server.client({ key });
    assert.deepEqual(await server.listed(several), ['a', 'ns$u', '表']);
    const first = await several.get('/v1/tables?limit=2');
    assert.deepEqual(first.json.tables, ['a', 'ns$u']);
    const second = await several.get(`/v1/tables?limit=2&page_token=${encodeURIComponent(first.json.page_token)}`);
    assert.deepEqual([second.json.tables, second.json.page_token], [['表'], undefined]);
  });

  test('reveals nothing through a page token of a table that the caller may not see', async () => {
    const reader = await server.caller('reader', ['ns', 'deep']);
    const there = await reader.get('/v1/tables?page_token=a', { 'x-request-id': 'same' });
    const absent = await reader.get('/v1/tables?page_token=aa', { 'x-request-id': 'same' });
    assert.equal(there.text, absent.text);
  });

  test('is empty for a caller whose grants cover nothing that exists', async () => {
    assert.deepEqual(await server.listed(await server.caller('reader', ['empty'])), []);
  });

  test('is of the database that the request names, and of no other', async () => {
    const database = await server.database();
    const headers = { 'x-service-database': database };
    await server.table({ id: 'only-here', headers });
    assert.deepEqual((await server.admin.get('/v1/tables', headers)).json.tables, ['only-here']);
    assert.ok(!(await server.listed()).includes('only-here'));
  });

  test('refuses a stranger with 401', async () => {
    assertRefused(await server.stranger().get('/v1/tables'), unauthenticated);
  });

  test('refuses a database that is missing, or that the caller may not see, with the same 404', async () => {
    const database = await server.database();
    const outsider = await server.caller('admin', [], 'another');
    const absent = await outsider.get('/v1/tables', { 'x-service-database': 'absent' });
    assertRefused(absent, { status: 404, code: CODE.namespaceNotFound });
    const hidden = await outsider.get('/v1/tables', { 'x-service-database': database });
    assert.equal(hidden.text.replaceAll(database, 'absent'), absent.text);
  });
});
