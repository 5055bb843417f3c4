import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { ApiClient } from '../../src/client/api-client.ts';
import { deleteRows, queryRows, updateRows } from '../../src/client/rows.ts';
import { createTable, listIndexes, startIndex } from '../../src/client/tables.ts';
import { waitForJob } from '../../src/client/calls.ts';
import type { TablePath } from '../../src/model/identifier.ts';
import { isForLanceDb } from '../../src/snippets/lance-query.ts';
import { SNIPPET_LANGUAGES, toSnippet } from '../../src/snippets/snippet-languages.ts';
import type { SnippetLanguage } from '../../src/snippets/snippet-languages.ts';
import type { TableOperation, TableRequest } from '../../src/snippets/table-request.ts';
import type { QueryTableBody } from '../../src/wire/data.ts';
import { Field, FixedSizeList, Float32, Float64, Int32, Struct, Utf8, toStream } from '../support/arrow-tables.ts';
import { Client } from '../support/client.ts';
import { ADMIN_KEY, startServer } from '../support/server.ts';
import type { TestServer } from '../support/server.ts';

const run = promisify(execFile);
const python = process.env['PYTHON'] ?? 'python3';
const hasPackage = (name: string): boolean => spawnSync(python, ['-c', `import ${name}`]).status === 0;
const [hasLanceDb, hasRequests] = [hasPackage('lancedb'), hasPackage('requests')];
const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'curl is not installed';

const DIMENSION = 8;
const vectorOf = (row: number): number[] =>
  Array.from({ length: DIMENSION }, (_unused, at) => Math.fround(Math.sin(row * 7 + at)));

/** Names that LanceDB's clients put into an address as they are, and names for which plain requests are written. */
const PLAIN: TablePath = ['shop', 'items'];
const ODD: TablePath = ["shop's $5", 'Zürich "o\'clock" {1..3} $HOME'];

const QUERIES: readonly (readonly [string, QueryTableBody])[] = [
  ['a scan', { k: 3 }],
  ['a filter with quotes and a line break', { k: 5, filter: "title = 'it''s\n\"7\" $HOME é'" }],
  ['columns, also nested', { k: 4, columns: { column_names: ['id', 'size.width'] }, offset: 2 }],
  ['an order', { k: 4, columns: { column_names: ['id'] }, order_by: [{ column_name: 'price', ascending: false }] }],
  ['a vector search', { k: 4, vector: { single_vector: vectorOf(3) }, vector_column: 'vec' }],
  [
    'a vector search with everything',
    {
      k: 4,
      vector: { single_vector: vectorOf(5) },
      vector_column: 'vec',
      distance_type: 'cosine',
      nprobes: 3,
      refine_factor: 2,
      bypass_vector_index: true,
      filter: 'price > 3',
      prefilter: false,
      columns: { column_names: ['id', 'title'] },
    },
  ],
  [
    'two vectors',
    {
      k: 2,
      vector: { multi_vector: [vectorOf(3), vectorOf(11)] },
      vector_column: 'vec',
      columns: { column_names: ['id'] },
    },
  ],
  ['words', { k: 40, full_text_query: { string_query: { query: 'amber', columns: ['title'] } } }],
  ['words and a filter', { k: 40, full_text_query: { string_query: { query: 'amber' } }, filter: 'id > 10' }],
  [
    'a hybrid search',
    {
      k: 40,
      vector: { single_vector: vectorOf(3) },
      vector_column: 'vec',
      full_text_query: { string_query: { query: 'amber', columns: ['title'] } },
    },
  ],
  ['an earlier version', { k: 40, version: 1, columns: { column_names: ['id', 'price'] } }],
];

let server: TestServer;
let client: ApiClient;
let folder: string;

suite('copied code', { skip: noCurl }, () => {
  before(async () => {
    server = await startServer({ flags: ['--maintenance-running-max=0'] });
    client = new ApiClient({ url: server.url, key: ADMIN_KEY, database: 'default' });
    // Inside the repository: the code imports a package.
    folder = await mkdtemp(resolve('build', 'snippets-'));
    const plain = new Client(server.url);
    for (const name of ['shop', encodeURIComponent("shop's $5")]) {
      await plain.post(`/v1/namespace/${name}/create?delimiter=%2F`, {});
    }
    for (const table of [PLAIN, ODD]) await fill(table);
  });
  after(async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const [title, body] of QUERIES) {
    test(`${title} gives the same rows as curl, Python and TypeScript`, async (context) => {
      const expected = await queryRows(client, PLAIN, body);
      assert.ok(expected.length > 0);
      await eachLanguage(context, requestOf(PLAIN, { name: 'query', body }), async (found) => {
        // Rows of equal scores have no order.
        const isRanked = body.full_text_query === undefined;
        assert.deepEqual(normalize(found, isRanked), normalize(expected, isRanked));
      });
    });
  }

  test('a table whose name has quotes, spaces, dollars and braces is asked with plain requests', async (context) => {
    const body = { k: 3, filter: "title LIKE '%''%'", columns: { column_names: ['id', 'title'] } };
    const request = requestOf(ODD, { name: 'query', body });
    assert.equal(isForLanceDb(request), false);
    const expected = await queryRows(client, ODD, body);
    assert.equal(expected.length, 3);
    await eachLanguage(context, request, async (found) => assert.deepEqual(normalize(found), normalize(expected)));
  });

  test('a token is sent with plain requests: LanceDB clients send only keys', () => {
    const { server: own, ...rest } = requestOf(PLAIN, { name: 'query', body: { k: 3 } });
    assert.equal(isForLanceDb({ server: own, ...rest }), true);
    assert.equal(isForLanceDb({ server: { ...own, credential: 'token' }, ...rest }), false);
  });

  test('an update and a delete change the same rows as the console', async (context) => {
    const update = { updates: [['price', 'price * 2 + 1'] as [string, string]], predicate: "title LIKE '%''%'" };
    const [own] = await copies('own');
    await updateRows(client, own, update);
    await deleteRows(client, own, { predicate: 'id % 7 = 0' });
    const expected = normalize(await queryRows(client, own, { columns: { column_names: ['id', 'price'] } }));
    for (const language of SNIPPET_LANGUAGES) {
      const [table] = await copies(language);
      const isRun =
        (await runLanguage(context, language, requestOf(table, { name: 'update', body: update }))) !== undefined;
      await runLanguage(context, language, requestOf(table, { name: 'delete', body: { predicate: 'id % 7 = 0' } }));
      if (!isRun) continue;
      const found = await queryRows(client, table, { columns: { column_names: ['id', 'price'] } });
      assert.deepEqual(normalize(found), expected, language);
    }
  });

  for (const body of [
    { column: 'vec', index_type: 'IVF_FLAT', distance_type: 'cosine', num_partitions: 2 },
    { column: 'title', index_type: 'FTS' },
    { column: 'id', index_type: 'BTREE' },
    { column: 'price' },
  ]) {
    const title = `an index on ${body.column} (${body.index_type ?? 'chosen by the server'})`;
    test(`${title} is the same as one built in the console`, async (context) => {
      const [own] = await copies(`own_${body.column}`);
      await waitForJob(client, (await startIndex(client, own, body)).job_id);
      const expected = (await listIndexes(client, own)).map(describeIndex);
      assert.equal(expected.length, 1);
      for (const language of SNIPPET_LANGUAGES) {
        const [table] = await copies(`${language}_${body.column}`);
        if ((await runLanguage(context, language, requestOf(table, { name: 'create_index', body }))) === undefined)
          continue;
        assert.deepEqual((await listIndexes(client, table)).map(describeIndex), expected, language);
      }
    });
  }

  test('the TypeScript has no type errors', async () => {
    const operations: readonly TableOperation[] = [
      ...QUERIES.map(([, body]) => ({ name: 'query' as const, body })),
      { name: 'update', body: { updates: [['a', 'b']], predicate: 'c > 1' } },
      { name: 'delete', body: { predicate: 'a = 1' } },
      { name: 'create_index', body: { column: 'vec', index_type: 'IVF_PQ', distance_type: 'cosine', name: 'n' } },
      { name: 'create_index', body: { column: 'title', index_type: 'FTS', with_position: true } },
    ];
    const requests = operations.flatMap((operation) => [requestOf(PLAIN, operation), requestOf(ODD, operation)]);
    const files = await Promise.all(
      requests.map(async (request, at) => {
        const file = join(folder, `checked-${at}.mts`);
        await writeFile(file, `${toSnippet('typescript', request)}\nexport {};\n`);
        return file;
      }),
    );
    const flags =
      '--ignoreConfig --noEmit --strict --skipLibCheck --module nodenext --target es2023 --types node'.split(' ');
    const checked = await run('node_modules/.bin/tsc', [...flags, ...files]).catch(
      (error: { stdout?: string }) => error,
    );
    assert.equal(checked.stdout, '');
  });
});

async function fill(table: TablePath): Promise<void> {
  const vectorType = new FixedSizeList(DIMENSION, new Field('item', new Float32(), true));
  const size = new Struct([new Field('width', new Float64(), true), new Field('height', new Float64(), true)]);
  const rows = toStream(
    {
      id: [new Int32(), (row) => row],
      title: [
        new Utf8(),
        (row) => (row % 5 === 0 ? 'it\'s\n"7" $HOME é' : `${row % 2 === 0 ? 'amber' : 'cedar'} ${row}`),
      ],
      price: [new Float64(), (row) => (row * 37) % 41],
      size: [size, (row) => ({ width: row, height: row / 4 })],
      vec: [vectorType, vectorOf],
    },
    40,
  );
  await createTable(client, table, rows);
  await updateRows(client, table, { updates: [['price', 'price + 0.5']] });
  await waitForJob(client, (await startIndex(client, table, { column: 'title', index_type: 'FTS' })).job_id);
}

/** A table of the same rows, without indexes. */
async function copies(name: string): Promise<readonly [TablePath]> {
  const table: TablePath = ['shop', `copy_${name}`];
  const response = await client.open('/v1/table/shop%24items/query', {
    json: {},
    accept: 'application/vnd.apache.arrow.stream',
  });
  await createTable(client, table, new Uint8Array(await response.arrayBuffer()), { mode: 'overwrite' });
  return [table];
}

function requestOf(table: TablePath, operation: TableOperation): TableRequest {
  return { server: { url: server.url, database: 'default', credential: 'key' }, table, operation };
}

async function eachLanguage(
  context: TestContext,
  request: TableRequest,
  check: (rows: readonly object[]) => Promise<void>,
): Promise<void> {
  for (const language of SNIPPET_LANGUAGES) {
    const rows = await runLanguage(context, language, request);
    if (rows !== undefined) await check(rows as readonly object[]);
  }
}

/** What the code found or was told; `undefined` where it cannot be run. */
async function runLanguage(context: TestContext, language: SnippetLanguage, request: TableRequest): Promise<unknown> {
  const code = toSnippet(language, request);
  assert.ok(!code.includes(ADMIN_KEY));
  const [name, isVoid] = [
    request.operation.name === 'query' ? 'rows' : 'result',
    request.operation.name === 'create_index',
  ];
  switch (language) {
    case 'curl': {
      const reply = JSON.parse(await execute('bash', ['-c', code])) as Record<string, unknown>;
      return name === 'rows' ? reply['rows'] : reply;
    }
    case 'typescript': {
      const shown = isVoid ? 'null' : name;
      const replacer = "(_key, value) => (typeof value === 'bigint' ? Number(value) : value)";
      const ending = `process.stdout.write(${JSON.stringify(MARK)} + JSON.stringify(${shown}, ${replacer}));\nprocess.exit(0);`;
      const { code: script } = await transform(`${code}\n${ending}`, { loader: 'ts', format: 'esm' });
      const file = join(folder, 'program.mjs');
      await writeFile(file, script);
      return afterMark(await execute(process.execPath, [file]));
    }
    case 'python': {
      const isLanceDb = isForLanceDb(request);
      if (isLanceDb ? !hasLanceDb : !hasRequests) {
        context.diagnostic(`the Python is not run: ${isLanceDb ? 'lancedb' : 'requests'} is not installed`);
        return undefined;
      }
      const shown = isVoid ? 'None' : name === 'rows' ? name : 'str(result)';
      const ending = `import json\nprint(${JSON.stringify(MARK)} + json.dumps(${shown}, default=list))`;
      return afterMark(await execute(python, ['-c', `${code}\n${ending}`]));
    }
  }
}

const MARK = '\u0001found:';

function afterMark(output: string): unknown {
  return JSON.parse(output.slice(output.indexOf(MARK) + MARK.length));
}

async function execute(program: string, values: readonly string[]): Promise<string> {
  const env = { ...process.env, TILTYARD_KEY: ADMIN_KEY };
  const { stdout } = await run(program, values, { env, maxBuffer: 64 * 1024 * 1024, timeout: 120_000 });
  return stdout;
}

/** Without what differs by the form of the result: digits of single-precision numbers, and large integers. */
function normalize(rows: readonly object[], isOrdered = true): unknown {
  const ordered = isOrdered ? rows : rows.toSorted((one, other) => idOf(one) - idOf(other));
  return JSON.parse(
    JSON.stringify(ordered, (_name, value: unknown) => {
      if (typeof value === 'bigint') return Number(value);
      return typeof value === 'number' ? Number(Math.fround(value).toPrecision(5)) : value;
    }),
  );
}

function idOf(row: object): number {
  return 'id' in row ? Number(row.id) : 0;
}

function describeIndex(index: Awaited<ReturnType<typeof listIndexes>>[number]): object {
  const { index_name: name, index_type: type, columns, index_details: details } = index;
  return { name, type, columns, details };
}
