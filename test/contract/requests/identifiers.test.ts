import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import { sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, tableNotFound } from '../refusal.ts';

const ARROW = { 'content-type': 'application/vnd.apache.arrow.stream' };
const UPDATE = { updates: [['price', '1']] };

suite('the identifier of a table', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start();
    await server.namespace(['sales']);
    await server.namespace(['sales', 'north']);
    await server.table({ id: 'sales$orders' });
    await server.table({ id: 'sales$north$orders' });
    await server.table({ id: 'orders' });
  });
  after(async () => server.close());

  const analyze = async (id: string, query = '', body: object = {}): Promise<Answer> =>
    server.admin.post(`/v1/table/${id}/analyze_plan${query}`, body);
  const create = async (segment: string, query = ''): Promise<Answer> =>
    sendRaw(server.url, { path: `/v1/table/${segment}/create${query}`, headers: ARROW, body: sampleStream(1) });

  test('is a bare name for a table of the root namespace', async () => {
    assert.equal((await analyze('orders')).status, 200);
  });

  test('is split at $ when no delimiter is given', async () => {
    assert.equal((await analyze('sales$orders')).status, 200);
    assert.equal((await analyze('sales$north$orders')).status, 200);
    assertRefused(await analyze('sales.orders'), tableNotFound);
  });

  test('is split after decoding, so that %24 is the delimiter too', async () => {
    assert.equal((await analyze('sales%24orders')).status, 200);
    assert.equal((await analyze('sales%24north%24orders', '?delimiter=%24')).status, 200);
  });

  test('is split at the delimiter of the query, which may have several characters', async () => {
    assert.equal((await analyze('sales.orders', '?delimiter=.')).status, 200);
    assert.equal((await analyze('sales::north::orders', '?delimiter=::')).status, 200);
    assertRefused(await analyze('sales$orders', '?delimiter=.'), tableNotFound);
  });

  test('that equals the delimiter denotes the root namespace, which is no table: 400 on every operation', async () => {
    for (const [segment, query] of [
      ['$', ''],
      ['%24', ''],
      ['%7C', '?delimiter=%7C'],
      ['::', '?delimiter=::'],
    ] as const) {
      assertRefused(await create(segment, query), badRequest(/root namespace/));
      for (const operation of ['analyze_plan', 'update', 'update_field_metadata']) {
        const body = operation === 'update' ? UPDATE : operation === 'analyze_plan' ? {} : { updates: [] };
        const answer = await server.admin.post(`/v1/table/${segment}/${operation}${query}`, body);
        assertRefused(answer, badRequest(/root namespace/));
      }
    }
  });

  test('has no empty name in it', async () => {
    for (const id of ['sales$', '$orders', 'sales$$orders', '$$'])
      assertRefused(await analyze(id), badRequest(/empty/));
  });

  test('has at most 32 names', async () => {
    assertRefused(await analyze(Array(33).fill('a').join('$')), badRequest(/33 names/));
    assertRefused(await analyze(Array(32).fill('a').join('$')), { status: 404, code: CODE.namespaceNotFound });
  });

  test('has a delimiter of 1 to 8 visible characters, given once', async () => {
    assertRefused(await analyze('orders', '?delimiter='), badRequest(/delimiter/));
    assertRefused(await analyze('orders', '?delimiter=123456789'), badRequest(/delimiter/));
    assertRefused(await analyze('orders', '?delimiter=%00'), badRequest(/delimiter/));
    assertRefused(await analyze('orders', '?delimiter=.&delimiter=.'), badRequest(/delimiter is given twice/));
  });

  test('in the body may repeat the one in the address, or be left out', async () => {
    assert.equal((await analyze('orders', '', { id: ['orders'] })).status, 200);
    assert.equal((await analyze('sales$orders', '', { id: ['sales', 'orders'] })).status, 200);
    assert.equal((await analyze('sales.orders', '?delimiter=.', { id: ['sales', 'orders'] })).status, 200);
    assert.equal((await analyze('orders', '', { id: null })).status, 200);
  });

  test('in the body that disagrees with the address is refused with 400 on every operation', async () => {
    for (const id of [['sales', 'orders'], ['Orders'], []]) {
      assertRefused(await analyze('orders', '', { id }), badRequest());
      assertRefused(await server.admin.post('/v1/table/orders/update', { ...UPDATE, id }), badRequest());
      const metadata = { updates: [{ path: 'price', metadata: {} }], id };
      assertRefused(await server.admin.post('/v1/table/orders/update_field_metadata', metadata), badRequest());
    }
    assertRefused(await analyze('sales$orders', '', { id: ['sales$orders'] }), badRequest());
  });

  test('in the body is an array of strings', async () => {
    for (const id of ['orders', 1, [1], [['orders']], { name: 'orders' }, [null]]) {
      assertRefused(await analyze('orders', '', { id }), badRequest(/\bid\b/));
    }
  });

  test('in the body settles that a plus in the address was meant as a space', async () => {
    await server.table({ id: 'two words' });
    assert.equal((await analyze('two+words', '', { id: ['two words'] })).status, 200);
    assertRefused(await analyze('two+words'), tableNotFound);
    await server.table({ id: 'one+one' });
    assert.equal((await analyze('one+one')).status, 200);
  });

  test('keeps a name of 255 bytes of UTF-8, and refuses one of 256', async () => {
    assert.equal((await create('n'.repeat(255))).status, 200);
    assert.equal((await create(encodeURIComponent('ä'.repeat(127)))).status, 200);
    assertRefused(await create('n'.repeat(256)), badRequest(/255 bytes/));
    assertRefused(await create(encodeURIComponent('ä'.repeat(128))), badRequest(/255 bytes/));
  });

  test('has no name with a control character, an invisible one, or one of / \\ ? # %', async () => {
    for (const character of [
      '\0',
      '\n',
      '\u001f',
      '\u007f',
      '\u0085',
      '\u200b',
      '\u202e',
      '\ufeff',
      '\u2028',
      '/',
      '\\',
      '?',
      '#',
      '%',
    ]) {
      assertRefused(await create(encodeURIComponent(`a${character}b`)), badRequest(/contains the character/));
    }
  });

  test('has no name that is . or .., however it is written', async () => {
    for (const segment of ['.', '..', '%2e', '%2e%2e', '.%2E', 'sales$..', '..$orders']) {
      assertRefused(await create(segment), badRequest(/reserved/));
    }
  });

  test('that is no valid percent-encoding of UTF-8 is a 400 with the error body', async () => {
    for (const segment of ['%', '%zz', 'a%2', '%ff', '%c3%28', '%ed%a0%80'])
      assertRefused(await create(segment), badRequest());
  });

  test('keeps every other name byte for byte, and tells names apart that look alike', async () => {
    const names = [
      'größe',
      'gro\u0308ße',
      '表',
      '🏇',
      'a b',
      ' a',
      'a ',
      'a.b',
      'a"b',
      "a'b",
      'a`b',
      'a;b',
      'a,b',
      'a&b=c',
      'a:b',
      'a*b',
      'a|b',
      'a<b>',
      'a[0]',
      '{a}',
      '~a',
      '-a',
      '_a',
      '@a',
      '!',
      'Case',
      'case',
      'CASE',
      '...',
      'con',
      'drop table',
      'x.lance',
      '__manifest',
      'null',
      'constructor',
      '__proto__',
      'analyze_plan',
    ];
    for (const name of names) {
      const answer = await create(encodeURIComponent(name));
      assert.equal(answer.status, 200, `${name}: ${answer.text}`);
    }
    const listed = await server.listed();
    for (const name of names) assert.equal(listed.filter((id) => id === name).length, 1, name);
    for (const name of names) assert.equal((await analyze(encodeURIComponent(name))).status, 200, name);
  });

  test('names a table and a namespace apart, even when they share a name', async () => {
    await server.table({ id: 'sales' });
    assert.equal((await analyze('sales')).status, 200);
    assert.equal((await analyze('sales$orders')).status, 200);
  });

  test('never becomes a path: the service chooses the location', async () => {
    const { location } = await server.table({ id: 'Quarterly report (final)' });
    assert.ok(location.startsWith(`${server.folder}/`));
    assert.match(location.slice(server.folder.length + 1), /^[a-z0-9-]+\.lance$/);
  });
});

suite('the address of an endpoint', () => {
  test('starts with /v1', async (t) => {
    const server = await ContractServer.start();
    t.after(async () => server.close());
    const { id } = await server.table();
    assertRefused(await server.admin.post(`/table/${id}/update`, UPDATE), { status: 404, code: CODE.invalidInput });
    assertRefused(await server.admin.post(`/v2/table/${id}/update`, UPDATE), { status: 404, code: CODE.invalidInput });
    assertRefused(await server.admin.get('/tables'), { status: 404, code: CODE.invalidInput });
  });

  test('starts with the configured base path, and with nothing else', async (t) => {
    const server = await ContractServer.start({ flags: ['--base-path=/lance/tables'] });
    t.after(async () => server.close());
    const created = await server.admin.arrow('/lance/tables/v1/table/t/create', sampleStream(2));
    assert.equal(created.status, 200, created.text);
    assert.equal((await server.admin.arrow('/lance/tables/v1/tables/u', sampleStream(2))).status, 200);
    assert.equal((await server.admin.post('/lance/tables/v1/table/t/analyze_plan', {})).status, 200);
    assert.equal((await server.admin.post('/lance/tables/v1/table/t/update', UPDATE)).status, 200);
    const metadata = { updates: [{ path: 'price', metadata: { unit: 'EUR' } }] };
    assert.equal((await server.admin.post('/lance/tables/v1/table/t/update_field_metadata', metadata)).status, 200);
    assert.deepEqual((await server.admin.get('/lance/tables/v1/tables')).json.tables, ['t', 'u']);
    assertRefused(await server.admin.get('/v1/tables'), { status: 404, code: CODE.invalidInput });
  });
});
