import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, suite, test } from 'node:test';
import { findState } from '../../catalog/temporary-catalog.ts';
import { expectedTables, fixtureStream } from '../../support/arrow-fixtures.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { ContractServer } from '../contract-server.ts';
import { Field, Float64, Int32, Struct, Utf8, count, streamOf } from '../contract-tables.ts';
import { openRaw, readAnswer, sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const ARROW = { 'content-type': 'application/vnd.apache.arrow.stream' };
const EXISTS = { status: 409, code: CODE.tableExists } as const;
const NO_NAMESPACE = { status: 404, code: CODE.namespaceNotFound } as const;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.namespace(['sales']);
});
after(async () => server.close());

type Query = Readonly<Record<string, string>>;

async function create(id: string, body: Uint8Array, query: Query = {}, client: Client = server.admin): Promise<Answer> {
  const text = new URLSearchParams(query).toString();
  return client.arrow(`/v1/table/${encodeURIComponent(id)}/create${text === '' ? '' : `?${text}`}`, body);
}

async function assertAbsent(id: string): Promise<void> {
  assert.ok(!(await server.listed()).includes(id), `${id} is listed`);
  const answer = await server.admin.post(`/v1/table/${id}/analyze_plan`, {});
  assert.equal(answer.status, 404, answer.text);
}

function idStream(rows: number): Uint8Array {
  return streamOf({ id: { type: new Int32(), values: count(rows) } });
}

suite('a create answers 200 with', () => {
  test('exactly the fields of the table properties result, each of its type', async () => {
    const { status, json } = await create(server.name(), sampleStream());
    assert.equal(status, 200);
    const fields = ['context', 'location', 'properties', 'storage_options', 'transaction_id', 'version'];
    assert.deepEqual(Object.keys(json).toSorted(), fields);
    assert.equal(typeof json.location, 'string');
    assert.ok(Number.isInteger(json.version) && json.version >= 0);
    assert.deepEqual(json.storage_options, {});
    assert.deepEqual(json.properties, {});
    assert.equal(typeof json.transaction_id, 'string');
    assert.equal(typeof json.context, 'object');
  });

  test('the version at which an embedded client finds the table', async () => {
    const made = await server.table();
    assert.equal(await (await server.embedded(made)).version(), made.version);
  });

  test('a location that an embedded client can open, with the rows of the stream in it', async () => {
    const rows = await server.rows(await server.table({ stream: sampleStream(5) }));
    assert.deepEqual(
      rows.map((row) => [row['id'], row['price'], row['name']]),
      count(5).map((row) => [row, row * 1.5, `name ${row}`]),
    );
    assert.deepEqual(
      rows.map((row) => row['point']?.label ?? null),
      ['p0', 'p1', null, 'p3', 'p4'],
    );
    assert.deepEqual(rows[3]?.['vec'], [3, 4, 5, 6]);
  });

  test('every table has its own location', async () => {
    const [one, other] = [await server.table(), await server.table()];
    assert.notEqual(one.location, other.location);
  });

  test('a transaction id by which the service has recorded who wrote which version of what', async () => {
    const id = server.name();
    const { json } = await create(id, sampleStream());
    const record = await server.catalog.transactions.find(json.transaction_id);
    assert.ok(record);
    assert.deepEqual(record.path, [id]);
    assert.equal(record.version, json.version);
    assert.match(record.caller, /^key:/);
    assert.ok(Math.abs(Date.now() - record.committedAt) < 60_000);
  });
});

suite('the stream of a create', () => {
  test('gives the table its schema, with nullability, field metadata and schema metadata', async () => {
    const stream = streamOf(
      {
        id: { type: new Int32(), values: [1, 2], nullable: false, metadata: { unit: 'pieces', 'org/owner': 'ops' } },
        price: { type: new Float64(), values: [1, null] },
        point: {
          type: new Struct([new Field('x', new Utf8(), true, new Map([['inner', 'yes']]))]),
          values: [{ x: 'a' }, null],
        },
      },
      { origin: 'contract', empty: '' },
    );
    const schema = await (await server.embedded(await server.table({ stream }))).schema();
    assert.deepEqual(
      schema.fields.map((field) => [field.name, String(field.type), field.nullable]),
      [
        ['id', 'Int32', false],
        ['price', 'Float64', true],
        ['point', 'Struct<{x:Utf8}>', true],
      ],
    );
    assert.deepEqual(Object.fromEntries(schema.fields[0]?.metadata ?? []), { unit: 'pieces', 'org/owner': 'ops' });
    assert.deepEqual(Object.fromEntries(schema.fields[2]?.type.children[0]?.metadata ?? []), { inner: 'yes' });
    assert.deepEqual(Object.fromEntries(schema.metadata), { origin: 'contract', empty: '' });
  });

  test('with a schema and no batches makes an empty table', async () => {
    for (const name of ['zerobatch', 'emptybatch']) {
      const table = await server.embedded(await server.table({ stream: fixtureStream(name) }));
      assert.equal(await table.countRows(), 0);
      assert.deepEqual(
        (await table.schema()).fields.map((field) => field.name),
        ['id', 's', 'vec'],
      );
    }
  });

  test('keeps every row of several batches', async () => {
    const table = await server.embedded(await server.table({ stream: fixtureStream('multi') }));
    assert.equal(await table.countRows(), 50);
  });

  for (const name of [
    'lz4',
    'lz4_nested',
    'zstd',
    'zstd_nested',
    'dict',
    'dict_i8',
    'dict_delta',
    'dict_nested',
    'struct',
    'list',
    'list_struct',
    'large_list',
    'map',
    'uuid_ext',
    'json_ext',
    'tensor_ext',
    'custom_ext',
    'decimal128',
    'tstz_us',
    'float16',
    'string_view',
    'nullcol',
    'legacy',
    'v4',
    'multivec',
  ]) {
    test(`may hold what pyarrow writes as ${name}`, async () => {
      const table = await server.embedded(await server.table({ stream: fixtureStream(name) }));
      assert.equal(await table.countRows(), expectedTables()[name]?.rows);
    });
  }

  for (const name of ['dense_union', 'interval_mdn', 'ree', 'decimal32', 'list_view', 'fsl_struct', 'struct_empty']) {
    test(`with a type that no table can hold (${name}) is a 400 that names the column`, async () => {
      const id = server.name();
      assertRefused(await create(id, fixtureStream(name)), badRequest(/column "[a-z]"/, CODE.schema));
      await assertAbsent(id);
    });
  }

  test('without a schema is a 400', async () => {
    const id = server.name();
    const endOnly = Buffer.from('ffffffff00000000', 'hex');
    for (const body of [
      new Uint8Array(),
      endOnly,
      Buffer.from('id,price\n1,2\n'),
      Buffer.alloc(64),
      Buffer.alloc(64, 0xff),
    ]) {
      assertRefused(await create(id, body), badRequest());
    }
    await assertAbsent(id);
  });

  test('in the file form is a 400 that says so', async () => {
    const file = Buffer.concat([Buffer.from('ARROW1\0\0'), sampleStream(), Buffer.from('ARROW1')]);
    assertRefused(await create(server.name(), file), badRequest(/file/));
  });

  test('that stops early, anywhere, is a 400 and commits nothing', async () => {
    const whole = fixtureStream('multi');
    for (const part of [0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99]) {
      const id = server.name();
      assertRefused(await create(id, whole.subarray(0, Math.floor(whole.length * part))), badRequest());
      await assertAbsent(id);
    }
  });

  test('without its end marker is a 400 and commits nothing', async () => {
    const id = server.name();
    const whole = sampleStream();
    assert.equal(Buffer.from(whole.subarray(-8)).toString('hex'), 'ffffffff00000000');
    assertRefused(await create(id, whole.subarray(0, -8)), badRequest(/end/));
    await assertAbsent(id);
  });

  test('with bytes after its end marker is a 400 and commits nothing', async () => {
    const id = server.name();
    assertRefused(await create(id, Buffer.concat([sampleStream(), Buffer.alloc(8)])), badRequest(/more bytes follow/));
    await assertAbsent(id);
  });

  test('whose connection breaks off commits nothing, and the name stays free', async () => {
    const id = server.name();
    const stream = fixtureStream('multi');
    const headers = { ...ARROW, 'content-length': stream.length };
    const sent = openRaw(server.url, { path: `/v1/table/${id}/create`, headers });
    sent.on('error', () => undefined);
    sent.write(stream.subarray(0, stream.length - 100));
    await sleep(100);
    sent.destroy();
    await assertAbsent(id);
    await eventually(async () => (await create(id, stream)).status === 200);
  });

  test('is not seen by anybody before it is complete', async () => {
    const id = server.name();
    const stream = fixtureStream('multi');
    const sent = openRaw(server.url, { path: `/v1/table/${id}/create`, headers: ARROW });
    sent.write(stream.subarray(0, stream.length - 100));
    await sleep(50);
    await assertAbsent(id);
    sent.end(stream.subarray(stream.length - 100));
    assert.equal((await readAnswer(sent)).status, 200);
    assert.ok((await server.listed()).includes(id));
  });

  test('with columns that share a name, have none, a reserved one or one with a dot is a 400', async () => {
    for (const name of ['_rowid', '_distance', '_score', 'a.b', '']) {
      const id = server.name();
      assertRefused(
        await create(id, streamOf({ [name]: { type: new Int32(), values: [1] } })),
        badRequest(/column/, CODE.schema),
      );
      await assertAbsent(id);
    }
    const [one, other] = [new Field('x', new Int32(), true), new Field('x', new Int32(), true)];
    const twice = streamOf({ s: { type: new Struct([one, other]), values: [] } });
    assertRefused(await create(server.name(), twice), badRequest(/more than one column/, CODE.schema));
  });

  test('with field metadata that belongs to the storage format is a 400', async () => {
    for (const key of ['lance-encoding:blob', 'lance-schema:unenforced-primary-key', 'packed']) {
      const stream = streamOf({ id: { type: new Int32(), values: [1], metadata: { [key]: 'true' } } });
      assertRefused(await create(server.name(), stream), badRequest(/metadata key/, CODE.schema));
    }
  });
});

async function send(headers: Record<string, string>): Promise<Answer> {
  return sendRaw(server.url, { path: `/v1/table/${server.name()}/create`, headers, body: sampleStream(1) });
}

suite('the media type of a create', () => {
  test('is the Arrow stream’s, in any case and with parameters, or left out', async () => {
    for (const type of [
      'application/vnd.apache.arrow.stream',
      'Application/VND.apache.arrow.STREAM',
      'application/vnd.apache.arrow.stream; v=1',
    ]) {
      assert.equal((await send({ 'content-type': type })).status, 200);
    }
    assert.equal((await send({})).status, 200);
  });

  test('that is another is a 415', async () => {
    for (const type of [
      'application/json',
      'application/vnd.apache.arrow.file',
      'application/octet-stream',
      'text/plain',
      '',
    ]) {
      assertRefused(await send({ 'content-type': type }), { status: 415, code: CODE.invalidInput });
    }
  });

  test('is of an uncompressed body: a content encoding is a 415', async () => {
    assertRefused(await send({ ...ARROW, 'content-encoding': 'gzip' }), { status: 415, code: CODE.invalidInput });
    assert.equal((await send({ ...ARROW, 'content-encoding': 'identity' })).status, 200);
  });
});

suite('the mode of a create', () => {
  test('is create when it is not given: an existing table is a 409, and stays as it is', async () => {
    const made = await server.table({ stream: sampleStream(3), query: { properties: '{"a":"1"}' } });
    for (const query of [{}, { mode: 'create' }, { mode: 'CREATE' }, { mode: 'Create' }]) {
      assertRefused(await create(made.id, idStream(1), query), {
        ...EXISTS,
        detail: /already exists/,
        instance: `${made.at}/create`,
      });
    }
    assert.equal((await server.rows(made)).length, 3);
    assert.equal(await (await server.embedded(made)).version(), 1);
  });

  test('exist_ok leaves an existing table as it is and answers with it', async () => {
    const made = await server.table({ stream: sampleStream(3), query: { properties: '{"owner":"ops"}' } });
    await server.admin.post(`${made.at}/update`, { updates: [['price', '0']] });
    for (const mode of ['exist_ok', 'EXIST_OK', 'ExistOk', 'existok', 'Exist_Ok']) {
      const { status, json } = await create(made.id, idStream(1), { mode, properties: '{"owner":"other"}' });
      assert.equal(status, 200);
      assert.deepEqual([json.location, json.version, json.properties], [made.location, 2, { owner: 'ops' }]);
    }
    assert.equal((await server.rows(made)).length, 3);
  });

  test('exist_ok does not read the body when the table exists', async () => {
    const { id } = await server.table();
    assert.equal((await create(id, Buffer.from('no Arrow at all'), { mode: 'exist_ok' })).status, 200);
    const sent = openRaw(server.url, { path: `/v1/table/${id}/create?mode=exist_ok`, headers: ARROW });
    sent.on('error', () => undefined);
    sent.write('only the beginning of a body');
    assert.equal((await readAnswer(sent)).status, 200);
    sent.destroy();
  });

  test('exist_ok creates a table that is missing', async () => {
    const { status, json } = await create(server.name(), sampleStream(4), { mode: 'exist_ok' });
    assert.equal(status, 200);
    assert.equal((await server.rows(json)).length, 4);
  });

  test('overwrite makes a new version of the same table, and the old ones stay', async () => {
    const made = await server.table({ stream: sampleStream(3) });
    for (const [index, mode] of ['overwrite', 'OVERWRITE', 'Overwrite'].entries()) {
      const { status, json } = await create(made.id, idStream(5), { mode });
      assert.equal(status, 200);
      assert.deepEqual([json.location, json.version], [made.location, made.version + index + 1]);
    }
    const table = await server.embedded(made);
    assert.equal(await table.countRows(), 5);
    assert.deepEqual(
      (await table.schema()).fields.map((field) => field.name),
      ['id'],
    );
    await table.checkout(made.version);
    assert.equal(await table.countRows(), 3);
    assert.equal((await table.schema()).fields.length, 5);
  });

  test('overwrite takes an empty stream, and the table is then empty', async () => {
    const made = await server.table({ stream: sampleStream(3) });
    assert.equal((await create(made.id, fixtureStream('zerobatch'), { mode: 'overwrite' })).status, 200);
    assert.deepEqual(await server.rows(made), []);
  });

  test('overwrite creates a table that is missing', async () => {
    const { status, json } = await create(server.name(), sampleStream(4), { mode: 'overwrite' });
    assert.equal(status, 200);
    assert.equal((await server.rows(json)).length, 4);
  });

  test('overwrite with a bad or broken stream leaves the table as it was', async () => {
    const made = await server.table({ stream: sampleStream(3) });
    const whole = fixtureStream('multi');
    for (const body of [
      new Uint8Array(),
      Buffer.from('no'),
      whole.subarray(0, whole.length - 8),
      whole.subarray(0, 700),
    ]) {
      assertRefused(await create(made.id, body, { mode: 'overwrite' }), badRequest());
    }
    const table = await server.embedded(made);
    assert.deepEqual([await table.version(), await table.countRows()], [made.version, 3]);
  });

  test('overwrite keeps the properties unless it brings its own', async () => {
    const made = await server.table({ query: { properties: '{"a":"1"}' } });
    assert.deepEqual((await create(made.id, idStream(1), { mode: 'overwrite' })).json.properties, { a: '1' });
    const { json } = await create(made.id, idStream(1), { mode: 'overwrite', properties: '{"b":"2"}' });
    assert.equal(json.properties.b, '2');
    assert.deepEqual((await create(made.id, idStream(1), { mode: 'exist_ok' })).json.properties, json.properties);
  });

  test('that is none of the three is a 400 that names them', async () => {
    for (const mode of ['append', '', 'create ', 'over-write', 'exist', 'null']) {
      assertRefused(await create(server.name(), sampleStream(1), { mode }), badRequest(/create, exist_ok, overwrite/));
    }
  });

  test('given twice is a 400', async () => {
    const answer = await server.admin.arrow(
      `/v1/table/${server.name()}/create?mode=create&mode=overwrite`,
      sampleStream(1),
    );
    assertRefused(answer, badRequest(/mode is given twice/));
  });

  test('decides races: of many creates of one name exactly one wins, the others get 409', async () => {
    const id = server.name();
    const answers = await Promise.all(count(8).map(async (rows) => create(id, sampleStream(rows + 1))));
    const winners = answers.filter((answer) => answer.status === 200);
    assert.equal(winners.length, 1);
    for (const answer of answers.filter((each) => each.status !== 200)) assertRefused(answer, EXISTS);
    const won = answers.findIndex((answer) => answer.status === 200);
    assert.equal((await server.rows(winners[0]?.json)).length, won + 1);
  });

  test('decides races: many exist_ok creates of one name all get the same table', async () => {
    const id = server.name();
    const answers = await Promise.all(count(6).map(async () => create(id, sampleStream(2), { mode: 'exist_ok' })));
    assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
    assert.equal(new Set(answers.map((answer) => answer.json.location)).size, 1);
    assert.deepEqual(new Set(answers.map((answer) => answer.json.version)), new Set([1]));
  });

  test('decides races: overwrites run one after another, each with its own version', async () => {
    const made = await server.table();
    const answers = await Promise.all(
      count(5).map(async (rows) => create(made.id, idStream(rows + 1), { mode: 'overwrite' })),
    );
    assert.deepEqual(
      answers.map((answer) => Number(answer.json.version)).toSorted((one, other) => one - other),
      [2, 3, 4, 5, 6],
    );
    const last = answers.findIndex((answer) => answer.json.version === 6);
    assert.equal((await server.rows(made)).length, last + 1);
  });
});

suite('while another request is still creating the table', () => {
  const stream = fixtureStream('multi');
  const begin = async (at: ContractServer, id: string): Promise<ReturnType<typeof openRaw>> => {
    const sent = openRaw(at.url, { path: `/v1/table/${id}/create`, headers: ARROW });
    sent.write(stream.subarray(0, stream.length - 100));
    const database = await at.catalog.databases.find('default');
    await eventually(async () => (await findState(at.catalog, database?.id ?? '', [id])) === 'reserved');
    return sent;
  };

  test('create is a 409 at once, and exist_ok waits and gets the table', async () => {
    const id = server.name();
    const first = await begin(server, id);
    const waiting = create(id, sampleStream(1), { mode: 'exist_ok' });
    assertRefused(await create(id, sampleStream(1)), EXISTS);
    first.end(stream.subarray(stream.length - 100));
    const [made, found] = await Promise.all([readAnswer(first), waiting]);
    assert.deepEqual([made.status, found.status], [200, 200]);
    assert.equal(found.json.location, made.json.location);
  });

  test('the other modes get 503 with Retry-After when the wait is too long', async (t) => {
    const impatient = await ContractServer.start({ flags: ['--engine-lane-wait-seconds=1'] });
    t.after(async () => impatient.close());
    const first = await begin(impatient, 'slow');
    for (const mode of ['exist_ok', 'overwrite']) {
      const answer = await impatient.admin.arrow(`/v1/table/slow/create?mode=${mode}`, sampleStream(1));
      assertRefused(answer, { status: 503, code: CODE.concurrentModification });
      assert.equal(answer.headers.get('retry-after'), '1');
    }
    first.end(stream.subarray(stream.length - 100));
    assert.equal((await readAnswer(first)).status, 200);
  });
});

suite('the properties of a create', () => {
  test('are kept with the table and returned', async () => {
    const properties = {
      owner: 'ops',
      größe: '✓',
      empty: '',
      'a.b c': '{"not":"parsed"}',
      constructor: 'x',
      __proto__x: 'y',
    };
    const id = server.name();
    const created = await create(id, sampleStream(1), { properties: JSON.stringify(properties) });
    assert.deepEqual(created.json.properties, properties);
    assert.deepEqual((await create(id, sampleStream(1), { mode: 'exist_ok' })).json.properties, properties);
  });

  test('keep even the key __proto__ as a plain key, or refuse it', async () => {
    const answer = await create(server.name(), sampleStream(1), { properties: '{"__proto__":"x","a":"b"}' });
    if (answer.status === 400) assertRefused(answer, badRequest());
    else assert.ok(answer.text.includes('"__proto__":"x"'), answer.text);
  });

  test('are one JSON object of strings; anything else is a 400', async () => {
    for (const properties of [
      '',
      '{',
      'owner=ops',
      '[]',
      '["a"]',
      '"a"',
      'null',
      '1',
      '{"a":1}',
      '{"a":null}',
      '{"a":{}}',
      '{"a":["b"]}',
    ]) {
      const id = server.name();
      assertRefused(await create(id, sampleStream(1), { properties }), badRequest(/properties/));
      await assertAbsent(id);
    }
  });
});

suite('the storage options of a create', () => {
  test('reach the storage layer and are returned', async () => {
    const storage_options = JSON.stringify({ new_table_data_storage_version: '2.0' });
    const id = server.name();
    const { status, json } = await create(id, sampleStream(1), { storage_options });
    assert.equal(status, 200);
    assert.deepEqual(json.storage_options, { new_table_data_storage_version: '2.0' });
  });

  test('that name a credential, an endpoint or anything unknown are a 400, and nothing is made', async () => {
    for (const key of [
      'aws_endpoint',
      'AWS_ENDPOINT',
      'aws_secret_access_key',
      'aws_session_token',
      'access_key_id',
      'account_key',
      'google_service_account',
      'proxy_url',
      'endpoint',
      'allow_http',
      'anything',
    ]) {
      const id = server.name();
      const storage_options = JSON.stringify({ [key]: 'http://127.0.0.1:1' });
      assertRefused(await create(id, sampleStream(1), { storage_options }), badRequest(new RegExp(key)));
      await assertAbsent(id);
    }
  });

  test('are one JSON object of strings; anything else is a 400', async () => {
    for (const storage_options of ['', '[]', 'null', '{"timeout":1}', '{"timeout":']) {
      assertRefused(await create(server.name(), sampleStream(1), { storage_options }), badRequest(/storage_options/));
    }
  });

  test('that the administrator allowed are taken, and never come back: they may be secret', async (t) => {
    const open = await ContractServer.start({ flags: ['--storage-allowed-caller-options=aws_secret_access_key'] });
    t.after(async () => open.close());
    const options = { aws_secret_access_key: 'hush-hush', timeout: '30s' };
    const query = new URLSearchParams({ storage_options: JSON.stringify(options) }).toString();
    const answer = await open.admin.arrow(`/v1/table/t/create?${query}`, sampleStream(1));
    assert.equal(answer.status, 200, answer.text);
    assert.ok(!answer.text.includes('hush-hush'), answer.text);
    assert.deepEqual(answer.json.storage_options, { timeout: '30s' });
    const again = await open.admin.arrow(`/v1/table/t/create?mode=exist_ok&${query}`, sampleStream(1));
    assert.ok(!again.text.includes('hush-hush'), again.text);
  });
});

suite('a create is refused', () => {
  test('with 404 when the namespace of the table is missing, in every mode', async () => {
    for (const mode of ['create', 'exist_ok', 'overwrite']) {
      for (const id of ['nowhere$t', 'sales$nowhere$t', 'sales$north$west$t']) {
        assertRefused(await create(id, sampleStream(1), { mode }), { ...NO_NAMESPACE, detail: /namespace/ });
      }
    }
    assert.equal((await create(`sales$${server.name()}`, sampleStream(1))).status, 200);
  });

  test('with 401 without a credential, before the body is read', async () => {
    const id = server.name();
    assertRefused(await create(id, sampleStream(1), {}, server.stranger()), unauthenticated);
    assertRefused(await create(id, Buffer.from('no'), {}, server.client({ key: 'bad' })), unauthenticated);
    await assertAbsent(id);
  });

  test('with 403 to a caller who may only read, in every mode, before the body is read', async () => {
    const reader = await server.caller('reader');
    const { id } = await server.table();
    for (const mode of ['create', 'exist_ok', 'overwrite']) {
      assertRefused(await create(id, Buffer.from('no'), { mode }, reader), forbidden);
      assertRefused(await create(server.name(), Buffer.from('no'), { mode }, reader), forbidden);
    }
  });

  test('with 404 to a caller who may not see the namespace, as if it were not there', async () => {
    const other = await server.caller('owner', ['elsewhere']);
    const hidden = await create('sales$t', sampleStream(1), {}, other);
    const absent = await create('absent$t', sampleStream(1), {}, other);
    assertRefused(hidden, NO_NAMESPACE);
    assert.equal(hidden.text.replaceAll('sales', 'absent'), absent.text);
  });

  test('with 400 for a query parameter that is not known', async () => {
    assertRefused(await create(server.name(), sampleStream(1), { propertys: '{}' }), badRequest(/propertys/));
  });

  test('with 405 for another method', async () => {
    const { at } = await server.table();
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      assertRefused(await server.admin.send(method, `${at}/create`, {}), { status: 405, code: CODE.invalidInput });
    }
  });
});
