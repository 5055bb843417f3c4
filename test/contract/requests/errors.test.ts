import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { holdUpload, sendRaw } from '../raw-request.ts';
import { CODE, CONTRACT_ERRORS, assertErrorBody, assertRefused, badRequest, columnNotFound } from '../refusal.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const UPDATE = { updates: [['price', '1']] };
const METADATA = { updates: [{ path: 'price', metadata: {} }] };

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table();
});
after(async () => server.close());

/** The four reference endpoints, each with a body that is right. */
const ENDPOINTS = {
  create: { operation: 'create', body: sampleStream(1), type: 'application/vnd.apache.arrow.stream' },
  analyze_plan: { operation: 'analyze_plan', body: '{}', type: 'application/json' },
  update: { operation: 'update', body: JSON.stringify(UPDATE), type: 'application/json' },
  update_field_metadata: {
    operation: 'update_field_metadata',
    body: JSON.stringify(METADATA),
    type: 'application/json',
  },
} as const;

type Endpoint = (typeof ENDPOINTS)[keyof typeof ENDPOINTS];

async function send(
  endpoint: Endpoint,
  id: string,
  options: { key?: string; body?: string | Uint8Array } = {},
): Promise<Answer> {
  const headers: Record<string, string> = { 'content-type': endpoint.type };
  if ('key' in options) headers['x-api-key'] = options.key ?? '';
  return sendRaw(server.url, {
    path: `/v1/table/${id}/${endpoint.operation}`,
    headers,
    body: options.body ?? endpoint.body,
  });
}

/** Overwrites every file in a folder of the table with what no reader can read. */
async function damage(made: MadeTable, folder: string): Promise<void> {
  for (const file of await readdir(`${made.location}/${folder}`)) {
    await writeFile(`${made.location}/${folder}/${file}`, 'x'.repeat(5000));
  }
}

suite('every error is a JSON object with type, title, status, detail and instance', () => {
  for (const endpoint of Object.values(ENDPOINTS)) {
    const { operation } = endpoint;

    test(`400 of ${operation}`, async () => {
      const answer = await send(endpoint, server.name(), { body: '!' });
      assertRefused(answer, badRequest());
      assert.deepEqual(Object.keys(answer.json), ['type', 'title', 'status', 'detail', 'instance', 'code', 'error']);
    });

    test(`401 of ${operation}`, async () => {
      const answer = await send(endpoint, table.id, { key: 'nobody' });
      assertRefused(answer, {
        status: 401,
        code: CODE.unauthenticated,
        instance: `/v1/table/${table.id}/${operation}`,
      });
    });

    test(`404 of ${operation}`, async () => {
      const answer = await send(endpoint, 'no$such');
      const instance = `/v1/table/no$such/${operation}`;
      assertRefused(answer, { status: 404, code: CODE.namespaceNotFound, instance });
    });
  }

  for (const endpoint of [ENDPOINTS.create, ENDPOINTS.update, ENDPOINTS.update_field_metadata]) {
    test(`403 of ${endpoint.operation}`, async () => {
      const key = await server.key([{ role: 'reader', database: 'default', path: [] }]);
      const answer = await send(endpoint, table.id, { key });
      assertRefused(answer, {
        status: 403,
        code: CODE.permissionDenied,
        instance: `/v1/table/${table.id}/${endpoint.operation}`,
      });
    });
  }

  test('409 of create', async () => {
    const answer = await send(ENDPOINTS.create, table.id);
    assertRefused(answer, { status: 409, code: CODE.tableExists, instance: `${table.at}/create` });
  });

  test('409 of no other endpoint', async () => {
    for (const endpoint of [ENDPOINTS.analyze_plan, ENDPOINTS.update, ENDPOINTS.update_field_metadata]) {
      assert.equal((await send(endpoint, table.id)).status, 200);
    }
  });

  test('503 of a service that is full', async (t) => {
    const full = await ContractServer.start({ flags: ['--http-requests-max=1'] });
    t.after(async () => full.close());
    const { at } = await full.table();
    const release = await holdUpload(full);
    for (const { operation, body, type } of Object.values(ENDPOINTS)) {
      const answer = await sendRaw(full.url, { path: `${at}/${operation}`, headers: { 'content-type': type }, body });
      assertRefused(answer, { status: 503, code: CODE.unavailable, instance: `${at}/${operation}` });
      assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    }
    await release();
    assert.equal((await full.admin.get('/v1/tables')).status, 200);
  });

  for (const endpoint of Object.values(ENDPOINTS)) {
    test(`500 of ${endpoint.operation}, when the files of the table are damaged`, async () => {
      const made = await server.table();
      await damage(made, '_versions');
      const query = endpoint.operation === 'create' ? '?mode=exist_ok' : '';
      const answer = await sendRaw(server.url, {
        path: `${made.at}/${endpoint.operation}${query}`,
        headers: { 'content-type': endpoint.type },
        body: endpoint.body,
      });
      assertRefused(answer, { status: 500, code: CODE.internal, instance: `${made.at}/${endpoint.operation}` });
      assert.equal((await server.admin.get('/v1/tables')).status, 200);
    });
  }

  for (const operation of ['analyze_plan', 'update'] as const) {
    test(`500, and not 400, of ${operation} when the rows cannot be read: the caller did nothing wrong`, async () => {
      const made = await server.table();
      await damage(made, 'data');
      assertRefused(await send(ENDPOINTS[operation], made.id), { status: 500, code: CODE.internal });
    });

    test(`404 or 500, and not 409, of ${operation} when the rows are gone: 409 is for creates alone`, async () => {
      const made = await server.table();
      await rm(`${made.location}/data`, { recursive: true });
      const answer = await send(ENDPOINTS[operation], made.id);
      assert.ok(answer.status === 404 || answer.status === 500, answer.text);
      assertErrorBody(answer);
    });
  }

  test('those of the router: no such address, no such method', async () => {
    assertRefused(await server.admin.get('/'), { status: 404, code: CODE.invalidInput, instance: '/' });
    assertRefused(await server.admin.post(`${table.at}/nothing`, {}), {
      status: 404,
      code: CODE.invalidInput,
      instance: `${table.at}/nothing`,
    });
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      assertRefused(await server.admin.send(method, `${table.at}/update`, {}), {
        status: 405,
        code: CODE.invalidInput,
      });
    }
  });

  test('those of endpoints 5 and 6', async () => {
    assertRefused(await server.stranger().get('/v1/tables'), {
      status: 401,
      code: CODE.unauthenticated,
      instance: '/v1/tables',
    });
    const answer = await server.admin.arrow(`/v1/tables/${table.id}`, sampleStream(1));
    assertRefused(answer, { status: 409, code: CODE.tableExists, instance: `/v1/tables/${table.id}` });
  });
});

suite('the instance of an error', () => {
  test('is the path of the request, without its query', async () => {
    const answer = await server.admin.post('/v1/table/absent/update?delimiter=.', UPDATE);
    assert.equal(answer.json.instance, '/v1/table/absent/update');
  });

  test('is never longer than a log line can bear', async () => {
    const answer = await server.admin.post(`/v1/table/${'a'.repeat(10_000)}/update`, UPDATE);
    assertRefused(answer, badRequest());
    assert.ok(answer.json.instance.length <= 2048);
  });
});

suite('the detail of an error', () => {
  test('names what the caller sent, and what would be right', async () => {
    const answer = await server.admin.post(`${table.at}/update`, { updates: [['prise', '1']] });
    assertRefused(answer, { ...columnNotFound, detail: /"prise".*Did you mean "price"/ });
  });

  test('shows nothing invisible, and nothing long', async () => {
    const name = `\u202e${'x'.repeat(5000)}`;
    const answer = await server.admin.post(`${table.at}/update`, { [name]: 1, ...UPDATE });
    assertRefused(answer, badRequest());
    assert.ok(!answer.text.includes('\u202e') && answer.text.length < 2000);
  });

  test('never holds a path of the machine, an engine message or a stack', async () => {
    const bodies = [
      { updates: [['price', 'nope']] },
      { updates: [['price', "CAST('x' AS DOUBLE)"]] },
      { updates: [['price', '1 / 0']] },
      { updates: [['price', 'nofunction(1)']] },
      { updates: [['price', '1']], predicate: 'price' },
      { updates: [['price', '1']], branch: 'absent' },
      { updates: [['vec', '[1]']] },
    ];
    for (const body of bodies) {
      const answer = await server.admin.post(`${table.at}/update`, body);
      assert.ok(answer.status === 400 || answer.status === 404, answer.text);
      assertErrorBody(answer);
    }
  });

  test('never holds the name of a database that the caller may not see', async () => {
    const tenant = await server.database('secret-tenant');
    const outsider = await server.caller('reader');
    for (const answer of [await outsider.get('/v1/tables'), await outsider.post('/v1/table/absent/update', UPDATE)]) {
      assert.ok(!answer.text.includes(tenant));
    }
  });
});

async function post(body: string | Uint8Array): Promise<Answer> {
  return sendRaw(server.url, { path: `${table.at}/update`, headers: JSON_TYPE, body });
}

suite('a JSON body that is malformed is a 400', () => {
  test('when it is no JSON', async () => {
    for (const body of [
      '{',
      '{"updates":',
      'updates',
      "{'updates':[]}",
      '{"updates":[],}',
      '{}{}',
      '{} x',
      '[1',
      '"',
      'NaN',
      '{"k":01}',
      '\u0000',
    ]) {
      assertRefused(await post(body), badRequest());
    }
  });

  test('when it is no object', async () => {
    for (const body of ['[]', '"updates"', '1', 'true', '[[]]']) assertRefused(await post(body), badRequest(/object/));
  });

  test('when a key comes twice, at any depth, however it is spelt', async () => {
    for (const body of [
      '{"updates":[],"updates":[]}',
      '{"context":{"a":1,"a":2}}',
      '{"predicate":"id=1","pred\\u0069cate":null}',
    ]) {
      assertRefused(await post(body), badRequest(/twice/));
    }
  });

  test('when it has the key __proto__', async () => {
    assertRefused(await post('{"__proto__":{"updates":[["price","1"]]}}'), badRequest(/__proto__/));
    assertRefused(await post('{"context":{"__proto__":1}}'), badRequest(/__proto__/));
  });

  test('when it is not valid UTF-8', async () => {
    for (const bytes of ['7b22ff223a317d', '7b22c3223a317d', 'eda080']) {
      assertRefused(await post(Buffer.from(bytes, 'hex')), badRequest(/UTF-8/));
    }
  });

  test('when it is nested too deeply', async () => {
    assertRefused(await post(`{"context":${'['.repeat(100)}${']'.repeat(100)}}`), badRequest(/nested/));
    assertRefused(await post('['.repeat(400_000)), badRequest(/nested/));
  });

  test('when a field is not known, anywhere in it, by its name', async () => {
    assertRefused(
      await server.admin.post(`${table.at}/update`, { ...UPDATE, prédicat: 'x' }),
      badRequest(/"prédicat"/),
    );
    assertRefused(
      await server.admin.post(`${table.at}/update`, { ...UPDATE, identity: { key: 'x' } }),
      badRequest(/"key"/),
    );
  });
});

async function postAs(headers: Record<string, string>): Promise<Answer> {
  return sendRaw(server.url, { path: `${table.at}/update`, headers, body: JSON.stringify(UPDATE) });
}

suite('the media type of a JSON body', () => {
  test('is JSON, in any case and with parameters, or left out', async () => {
    for (const type of ['application/json', 'Application/JSON', 'application/json; charset=utf-8']) {
      assert.equal((await postAs({ 'content-type': type })).status, 200);
    }
    assert.equal((await postAs({})).status, 200);
  });

  test('that is another, or none that can be read, is a 415', async () => {
    for (const type of [
      'text/plain',
      'application/jsonx',
      'application/vnd.apache.arrow.stream',
      'json',
      '',
      ';',
      'a/b/c',
    ]) {
      assertRefused(await postAs({ 'content-type': type }), { status: 415, code: CODE.invalidInput });
    }
    assertRefused(await postAs({ 'content-type': 'application/json', 'content-encoding': 'gzip' }), {
      status: 415,
      code: CODE.invalidInput,
    });
  });
});

suite('the LanceDB client family, by its slash or by its name', () => {
  const families = [
    { how: 'slash', suffix: '/', headers: {} },
    { how: 'name', suffix: '', headers: { 'user-agent': 'LanceDB-Node-Client/0.31.0' } },
  ] as const;

  for (const { how, suffix, headers } of families) {
    test(`gets 400 with "already exists" for a table that exists (${how})`, async () => {
      const answer = await server.admin.arrow(`${table.at}/create${suffix}`, sampleStream(1), headers);
      assertRefused(answer, { status: 400, code: CODE.tableExists, detail: /already exists/ });
      assert.match(answer.json.error, /already exists/);
    });

    test(`gets 400 for a column that is not there, because it reads every 404 as a missing table (${how})`, async () => {
      const answer = await server.admin.post(`${table.at}/update${suffix}`, { updates: [['nope', '1']] }, headers);
      assertRefused(answer, { status: 400, code: CODE.columnNotFound });
      const query = await server.admin.post(`${table.at}/analyze_plan${suffix}`, { filter: 'nope = 1' }, headers);
      assertRefused(query, { status: 400, code: CODE.columnNotFound });
    });

    test(`gets 404 for a table that is missing (${how})`, async () => {
      const answer = await server.admin.post(`/v1/table/absent/update${suffix}`, UPDATE, headers);
      assertRefused(answer, { status: 404, code: CODE.tableNotFound });
    });

    test(`has fields that are not known ignored, for its newer releases add some (${how})`, async () => {
      const body = { ...UPDATE, from_the_future: { a: 1 } };
      assert.equal((await server.admin.post(`${table.at}/update${suffix}`, body, headers)).status, 200);
      const query = {
        vector: [],
        k: 2,
        use_lsm: true,
        order_by: [{ column_name: 'id' }],
        approx_mode: 'fast',
        version: null,
      };
      const answer = await server.admin.post(`${table.at}/analyze_plan${suffix}`, query, headers);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(
        (await server.admin.post(`${table.at}/analyze_plan${suffix}?distributed_metrics=full`, {}, headers)).status,
        200,
      );
    });

    test(`still has wrong values of known fields refused (${how})`, async () => {
      assertRefused(
        await server.admin.post(`${table.at}/analyze_plan${suffix}`, { k: 'ten', later: 1 }, headers),
        badRequest(/\bk\b/),
      );
    });
  }
});

test('the contract’s seven statuses have the contract’s types and titles', () => {
  assert.deepEqual(Object.keys(CONTRACT_ERRORS).map(Number), [400, 401, 403, 404, 409, 500, 503]);
});
