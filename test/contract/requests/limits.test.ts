import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { fixtureStream } from '../../support/arrow-fixtures.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer } from '../../support/client.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Struct, Utf8, count, documentStream, optional, streamOf } from '../contract-tables.ts';
import { holdUpload, openRaw, readAnswer, sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, unauthenticated } from '../refusal.ts';

const ARROW = { 'content-type': 'application/vnd.apache.arrow.stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const TOO_LARGE = { status: 413, code: CODE.invalidInput } as const;
const BUSY = { status: 503, code: CODE.unavailable } as const;

type Make = (size: number) => object;

const VECTOR = { single_vector: [1, 2, 3, 4] };
const FOX = { match: { terms: 'fox', column: 'body' } };

/** Each bound of a query: its flag, its value, and a query that needs exactly so much. */
const QUERY_BOUNDS: Readonly<Record<string, readonly [flag: string, bound: number, make: Make]>> = {
  k: ['query-k-max', 50, (k) => ({ vector: VECTOR, k })],
  offset: ['query-offset-max', 60, (offset) => ({ vector: VECTOR, offset })],
  nprobes: ['query-nprobes-max', 30, (nprobes) => ({ vector: VECTOR, nprobes })],
  refine_factor: ['query-refine-factor-max', 7, (refine_factor) => ({ vector: VECTOR, refine_factor })],
  ef: ['query-ef-max', 90, (ef) => ({ vector: VECTOR, ef })],
  'the number of vectors': [
    'query-vectors-max',
    3,
    (size) => ({ vector: { multi_vector: count(size).map(() => [1, 2, 3, 4]) } }),
  ],
  'the dimensions of a vector': ['query-dimensions-max', 4, (size) => ({ vector: { single_vector: count(size) } })],
  'the names of columns': [
    'query-columns-max',
    2,
    (size) => ({ columns: { column_names: ['id', 'title', 'body'].slice(0, size) } }),
  ],
  'the aliases of columns': [
    'query-columns-max',
    2,
    (size) => ({ columns: { column_aliases: Object.fromEntries(count(size).map((each) => [`a${each}`, 'id'])) } }),
  ],
  'the characters of SQL': ['sql-characters-max', 200, (size) => ({ filter: 'id = 1'.padEnd(size) })],
  'the operators of SQL': ['sql-operators-max', 10, (size) => ({ filter: `id > ${count(size).join('+')}` })],
  'the nesting of SQL': ['sql-depth-max', 5, (size) => ({ filter: `${'('.repeat(size)}id = 1${')'.repeat(size)}` })],
  'the nesting of coalesce': [
    'sql-coalesce-depth-max',
    2,
    (size) => ({ filter: `${'coalesce('.repeat(size)}id${', 1)'.repeat(size)} = 1` }),
  ],
  'the items of SQL lists': ['sql-list-items-max', 20, (size) => ({ filter: `id IN (${count(size).join(',')})` })],
  'the nesting of a full-text query': ['sql-full-text-depth-max', 3, (size) => structured(nestFullText(size))],
  'the clauses of a full-text query': [
    'sql-full-text-clauses-max',
    6,
    (size) => structured({ boolean: { should: count(size - 1).map(() => FOX) } }),
  ],
  'the characters of a full-text query': [
    'sql-full-text-characters-max',
    40,
    (size) => ({ full_text_query: { string_query: { query: 'f'.repeat(size), columns: ['body'] } } }),
  ],
};

function structured(query: object): object {
  return { full_text_query: { structured_query: { query } } };
}

function nestFullText(depth: number): object {
  return depth === 1 ? FOX : { boolean: { must: [nestFullText(depth - 1)] } };
}

/** At the bound it is done; past it there is a 400 that names the bound. */
function assertBound(within: Answer, beyond: Answer, bound: number): void {
  assert.equal(within.status, 200, within.text);
  assertRefused(beyond, badRequest(new RegExp(`\\b${bound}\\b`)));
}

suite('a query runs at its bounds, and past one of them there is a 400 that names it', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    const flags = new Set(Object.values(QUERY_BOUNDS).map(([flag, bound]) => `--${flag}=${bound}`));
    server = await ContractServer.start({ flags: [...flags] });
    table = await server.table({ stream: documentStream(20) });
  });
  after(async () => server.close());

  for (const [what, [, bound, make]] of Object.entries(QUERY_BOUNDS)) {
    test(what, async () => {
      const path = `${table.at}/analyze_plan`;
      assertBound(await server.admin.post(path, make(bound)), await server.admin.post(path, make(bound + 1)), bound);
    });
  }

  test('also in the SQL of updates', async () => {
    const expression = count(12).join('+');
    for (const body of [
      { updates: [['id', expression]] },
      { updates: [['id', '1']], predicate: `id > ${expression}` },
    ]) {
      assertRefused(await server.admin.post(`${table.at}/update`, body), badRequest(/\b10\b/));
    }
  });
});

/** Each bound of a write: its flag, its value, the operation, and a body that needs exactly so much. */
const WRITE_BOUNDS: Readonly<Record<string, readonly [flag: string, bound: number, operation: string, make: Make]>> = {
  'the fields of an update': [
    'sql-updates-max',
    2,
    'update',
    (size) => ({ updates: ['id', 'price', 'name'].slice(0, size).map((path) => [path, path]) }),
  ],
  'the entries of field metadata': [
    'metadata-entries-max',
    3,
    'update_field_metadata',
    (size) => metadata(entries(size)),
  ],
  'the keys of field metadata': [
    'metadata-key-bytes-max',
    10,
    'update_field_metadata',
    (size) => metadata({ ['k'.repeat(size)]: '' }),
  ],
  'the values of field metadata': [
    'metadata-value-bytes-max',
    20,
    'update_field_metadata',
    (size) => metadata({ a: `ä${'v'.repeat(size - 2)}` }),
  ],
  'the number of properties': ['metadata-properties-max', 4, 'update', (size) => properties(entries(size))],
  'the keys of properties': ['metadata-key-bytes-max', 10, 'update', (size) => properties({ ['k'.repeat(size)]: '' })],
  'the values of properties': ['metadata-value-bytes-max', 20, 'update', (size) => properties({ a: 'v'.repeat(size) })],
};

function entries(size: number): Record<string, string> {
  return Object.fromEntries(count(size).map((each) => [`e${each}`, '']));
}

function metadata(given: Readonly<Record<string, string>>): object {
  return { updates: [{ path: 'id', metadata: given }] };
}

function properties(given: Readonly<Record<string, string>>): object {
  return { updates: [['id', 'id']], properties: given };
}

suite('a write is done at its bounds, and past one of them there is a 400 that names it', () => {
  let server: ContractServer;
  before(async () => {
    const flags = new Set(Object.values(WRITE_BOUNDS).map(([flag, bound]) => `--${flag}=${bound}`));
    server = await ContractServer.start({ flags: [...flags, '--http-page-size-max=2'] });
  });
  after(async () => server.close());

  for (const [what, [, bound, operation, make]] of Object.entries(WRITE_BOUNDS)) {
    test(what, async () => {
      const path = `${(await server.table()).at}/${operation}`;
      assertBound(await server.admin.post(path, make(bound)), await server.admin.post(path, make(bound + 1)), bound);
    });
  }

  test('the properties of a create', async () => {
    const [fit, many] = [4, 5].map((size) => encodeURIComponent(JSON.stringify(entries(size))));
    const within = await server.admin.arrow(`/v1/table/${server.name()}/create?properties=${fit}`, sampleStream(1));
    assertBound(
      within,
      await server.admin.arrow(`/v1/table/${server.name()}/create?properties=${many}`, sampleStream(1)),
      4,
    );
  });

  test('the page of a listing', async () => {
    await Promise.all(count(3).map(async () => server.table()));
    assertBound(await server.admin.get('/v1/tables?limit=2'), await server.admin.get('/v1/tables?limit=3'), 2);
    const page = await server.admin.get('/v1/tables');
    assert.equal(page.json.tables.length, 2);
    assert.equal(page.json.page_token, page.json.tables[1]);
  });
});

function integers(rows: number): Uint8Array {
  return streamOf({ n: { type: new Int32(), values: count(rows) } });
}

function columns(number: number): Uint8Array {
  return streamOf(Object.fromEntries(count(number).map((each) => [`c${each}`, { type: new Int32(), values: [1] }])));
}

function nestStructs(depth: number): Struct {
  return new Struct([optional('a', depth === 2 ? new Int32() : nestStructs(depth - 1))]);
}

function text(length: number): Uint8Array {
  return streamOf({ t: { type: new Utf8(), values: ['x'.repeat(length)] } });
}

suite('past a bound of an Arrow stream nothing is made', () => {
  let server: ContractServer;
  before(async () => {
    server = await ContractServer.start({
      flags: [
        '--arrow-message-bytes-max=9000',
        '--arrow-columns-max=6',
        '--arrow-depth-max=3',
        '--arrow-rows-per-batch-max=500',
        '--arrow-dictionary-bytes-max=1024',
      ],
    });
  });
  after(async () => server.close());

  const create = async (stream: Uint8Array): Promise<Answer> => {
    const id = server.name();
    const answer = await server.admin.arrow(`/v1/table/${id}/create`, stream);
    assert.equal((await server.listed()).includes(id), answer.status === 200);
    return answer;
  };

  test('rows of a batch', async () => {
    assert.equal((await create(integers(500))).status, 200);
    assertRefused(await create(integers(501)), badRequest(/\b500\b/));
  });

  test('columns, nested ones included', async () => {
    assert.equal((await create(columns(6))).status, 200);
    assertRefused(await create(columns(7)), badRequest(/\b6\b/));
  });

  test('depth of a column', async () => {
    assert.equal((await create(streamOf({ s: { type: nestStructs(3), values: [] } }))).status, 200);
    assertRefused(await create(streamOf({ s: { type: nestStructs(4), values: [] } })), badRequest(/\b3\b/));
  });

  test('bytes of a message', async () => {
    assert.equal((await create(text(5000))).status, 200);
    assertRefused(await create(text(9001)), badRequest(/\b9,000\b/));
  });

  test('bytes of the stream: 413, by the declared length before a byte is read, or by the bytes themselves', async (t) => {
    const tight = await ContractServer.start({ flags: ['--arrow-stream-bytes-max=20000'] });
    t.after(async () => tight.close());
    const path = '/v1/table/t/create';
    const declared = openRaw(tight.url, { path, headers: { ...ARROW, 'content-length': 20_001 } });
    declared.on('error', () => undefined);
    declared.flushHeaders();
    assertRefused(await readAnswer(declared), { ...TOO_LARGE, detail: /\b20,000\b/ });
    declared.destroy();
    const chunked = openRaw(tight.url, { path, headers: ARROW });
    chunked.write(integers(6000).subarray(0, 10_000));
    chunked.end(integers(6000).subarray(10_000));
    assertRefused(await readAnswer(chunked), { ...TOO_LARGE, detail: /\b20,000\b/ });
    assert.deepEqual(await tight.listed(), []);
    assert.equal((await tight.admin.arrow(path, integers(4000))).status, 200);
  });

  test('decoded bytes, by size and by growth', async (t) => {
    const tight = await ContractServer.start({ flags: ['--arrow-decoded-bytes-max=2048'] });
    t.after(async () => tight.close());
    const answer = await tight.admin.arrow('/v1/table/t/create', fixtureStream('zstd'));
    assertRefused(answer, badRequest(/\b2 KiB\b/));
    assert.deepEqual(await tight.listed(), []);
  });
});

/** A body of exactly so many bytes. */
function padded(bytes: number, more: object = {}): string {
  const empty = JSON.stringify({ ...more, context: { pad: '' } });
  return JSON.stringify({ ...more, context: { pad: 'x'.repeat(bytes - empty.length) } });
}

function nestedContext(depth: number): string {
  return `{"context":${'{"a":'.repeat(depth - 2)}{}${'}'.repeat(depth - 2)}}`;
}

suite('past a bound of a JSON body', () => {
  let server: ContractServer;
  let table: MadeTable;
  before(async () => {
    const flags = ['--http-json-bytes-max=4096', '--http-stranger-json-bytes-max=1024', '--http-json-depth-max=6'];
    server = await ContractServer.start({ flags });
    table = await server.table();
  });
  after(async () => server.close());

  test('there is a 413 that names it, whether the length is declared or not', async () => {
    const path = `${table.at}/analyze_plan`;
    assert.equal((await server.admin.post(path, padded(4096))).status, 200);
    assertRefused(await server.admin.post(path, padded(4097)), { ...TOO_LARGE, detail: /\b4 KiB\b/ });
    const chunked = await sendRaw(server.url, {
      path,
      headers: { ...JSON_TYPE, 'transfer-encoding': 'chunked' },
      body: padded(4097),
    });
    assertRefused(chunked, { ...TOO_LARGE, detail: /\b4 KiB\b/ });
  });

  test('a stranger’s body is read for its identity only as far as a smaller one goes', async () => {
    const path = `${table.at}/analyze_plan`;
    const identity = { identity: { api_key: ADMIN_KEY } };
    assert.equal((await server.stranger().post(path, padded(1024, identity))).status, 200);
    assertRefused(await server.stranger().post(path, padded(1025, identity)), { ...TOO_LARGE, detail: /\b1 KiB\b/ });
    assertRefused(await server.stranger().post(path, padded(1024)), unauthenticated);
  });

  test('there is a 400 that names the depth', async () => {
    assert.equal((await server.admin.post(`${table.at}/analyze_plan`, nestedContext(6))).status, 200);
    assertRefused(await server.admin.post(`${table.at}/analyze_plan`, nestedContext(7)), badRequest(/\b6\b/));
  });
});

suite('past what the service takes at once', () => {
  test('requests get 503 with Retry-After, at every endpoint, and are let in again afterwards', async (t) => {
    const server = await ContractServer.start({ flags: ['--http-requests-max=1'] });
    t.after(async () => server.close());
    const release = await holdUpload(server);
    const answers = [
      await server.admin.get('/v1/tables'),
      await server.admin.post('/v1/table/t/analyze_plan', {}),
      await server.admin.arrow('/v1/tables/t', sampleStream(1)),
    ];
    for (const answer of answers) {
      assertRefused(answer, { ...BUSY, detail: /\b1 requests\b/ });
      assert.equal(answer.headers.get('retry-after'), '1');
    }
    await release();
    assert.equal((await server.admin.get('/v1/tables')).status, 200);
  });

  test('uploads get 503 with Retry-After, and other requests none', async (t) => {
    const server = await ContractServer.start({ flags: ['--http-uploads-max=1'] });
    t.after(async () => server.close());
    const release = await holdUpload(server);
    const answer = await server.admin.arrow('/v1/tables/t', sampleStream(1));
    assertRefused(answer, { ...BUSY, detail: /\b1 uploads\b/ });
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.equal((await server.admin.get('/v1/tables')).status, 200);
    await release();
    assert.equal((await server.admin.arrow('/v1/tables/t', sampleStream(1))).status, 200);
  });

  test('the requests of one caller get 503 with code 21 and Retry-After, and other callers none', async (t) => {
    const server = await ContractServer.start({ flags: ['--http-rate-requests-per-second=5'] });
    t.after(async () => server.close());
    const other = await server.caller('reader');
    const answers = await Promise.all(count(40).map(async () => server.admin.get('/v1/tables')));
    const refused = answers.filter((answer) => answer.status !== 200);
    assert.ok(answers.length - refused.length >= 5 && refused.length > 0, `${refused.length} refused`);
    for (const answer of refused) {
      assertRefused(answer, { status: 503, code: CODE.throttling, detail: /\b5 requests\b/ });
      assert.equal(answer.headers.get('retry-after'), '1');
    }
    assert.equal((await other.get('/v1/tables')).status, 200);
  });
});

test('a body that pauses for too long is a 408 that names the bound, and nothing is made', async (t) => {
  const server = await ContractServer.start({ flags: ['--http-body-idle-seconds=1'] });
  t.after(async () => server.close());
  const sent = openRaw(server.url, { path: '/v1/table/slow/create', headers: ARROW });
  sent.on('error', () => undefined);
  sent.write(sampleStream(1).subarray(0, 50));
  const json = openRaw(server.url, { path: '/v1/table/slow/update', headers: JSON_TYPE });
  json.on('error', () => undefined);
  json.write('{');
  for (const answer of await Promise.all([readAnswer(sent), readAnswer(json)])) {
    assertRefused(answer, { status: 408, code: CODE.invalidInput, detail: /\b1 s\b/ });
  }
  sent.destroy();
  json.destroy();
  assert.deepEqual(await server.listed(), []);
});

test('a query that takes longer than allowed is stopped with 503, and the service goes on', async (t) => {
  const server = await ContractServer.start({ flags: ['--query-seconds=1', '--sql-operators-max=400'] });
  t.after(async () => server.close());
  const { at } = await server.table({
    stream: streamOf({ word: { type: new Utf8(), values: count(150_000).map(String) } }),
  });
  const slow = count(120)
    .map((each) => `md5(word || '${each}') = ''`)
    .join(' OR ');
  const answer = await server.admin.post(`${at}/analyze_plan`, { filter: slow });
  assertRefused(answer, { ...BUSY, detail: /longer than|time limit/ });
  assert.equal((await server.admin.post(`${at}/analyze_plan`, { k: 1 })).status, 200);
});
