import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import {
  Dictionary,
  Field,
  Int32,
  Int8,
  List,
  Null,
  Schema,
  Struct,
  Table,
  tableToIPC,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { openArrowStream } from '../../../src/arrow/stream/checked-stream.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { findErrorRule, translateError } from '../../../src/engine/native/engine-errors.ts';
import { ERROR_RULES } from '../../../src/engine/native/error-rules.ts';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { loadNative } from '../../../src/engine/native/native.ts';
import type {
  NativeConnection,
  NativeQuery,
  NativeTable,
  NativeVectorQuery,
} from '../../../src/engine/native/native.ts';
import { optimizeTable } from '../../../src/engine/native/release-calls.ts';
import { ARROW_LIMITS, connectApart, pieces, readFixture } from '../test-engine.ts';
import { optional, required, toDocuments, toItems, toTable, vectorType } from '../sample-tables.ts';

interface Kit {
  readonly t: TestContext;
  readonly root: string;
  readonly connection: NativeConnection;
  /** Made of `toDocuments`, without any index. */
  readonly table: NativeTable;
}

/** Makes the engine fail, through the calls that the engine module uses. */
type Provoke = (kit: Kit) => Promise<unknown>;

const { JsFullTextQuery: FullText, Index } = loadNative();

function upsert(table: NativeTable, rows: Table, filter: string | null = null) {
  const merge = table.mergeInsert(['id']).whenMatchedUpdateAll(filter).whenNotMatchedInsertAll();
  return {
    async execute(milliseconds?: number) {
      if (milliseconds !== undefined) merge.setTimeout(milliseconds);
      return merge.execute(toFile(rows));
    },
  };
}

const PROVOCATIONS: Readonly<Record<string, readonly Provoke[]>> = {
  'storage-full': [async ({ t }) => fillStorage(t)],
  'storage-not-writable': [async ({ t }) => writeReadOnly(t)],
  'object-store': [async ({ t }) => (await connectStore(t, 'http://127.0.0.1:9')).tableNames([], null, 1)],
  'object-store-refused': [
    async ({ t }) => storeRefusing(t, 401, 'objects'),
    async ({ t }) => storeRefusing(t, 403, 'objects'),
    async ({ t }) => storeRefusing(t, 401, 'lists'),
    async ({ t }) => storeRefusing(t, 403, 'lists'),
  ],
  'object-store-credentials': [
    async ({ t }) => storeRefusing(t, 400, 'objects', s3Error('ExpiredToken')),
    async ({ t }) => storeRefusing(t, 403, 'objects', s3Error('SignatureDoesNotMatch')),
    async ({ t }) => storeRefusing(t, 403, 'lists', s3Error('InvalidAccessKeyId')),
    async ({ t }) => storeRefusing(t, 403, 'lists', `\u{feff}${s3Error('AuthenticationFailed')}`),
    async ({ t }) => storeRefusing(t, 401, 'lists', s3Error('AuthenticationRequired').replaceAll('"', "'")),
  ],
  'object-store-clock': [
    async ({ t }) => storeRefusing(t, 403, 'objects', s3Error('RequestTimeTooSkewed')),
    async ({ t }) => storeRefusing(t, 403, 'lists', s3Error('RequestTimeTooSkewed')),
  ],
  'object-store-bucket': [
    async ({ t }) => storeRefusing(t, 404, 'objects', s3Error('NoSuchBucket')),
    async ({ t }) => storeRefusing(t, 404, 'lists', s3Error('ContainerNotFound')),
  ],
  'object-store-region': [
    async ({ t }) => storeRefusing(t, 400, 'objects', s3Error('AuthorizationHeaderMalformed')),
    async ({ t }) => storeRefusing(t, 301, 'lists', s3Error('PermanentRedirect')),
  ],
  'object-store-rejected': [
    async ({ t }) => storeRefusing(t, 400, 'objects', s3Error('InvalidRequest')),
    async ({ t }) => storeRefusing(t, 400, 'lists'),
  ],
  'commit-conflict': [
    async ({ connection, table }) => {
      const late = await connection.openTable('t', [], {});
      const change = [{ path: 'id', metadata: { a: 'b' }, replace: false }];
      await table.updateFieldMetadata(change);
      return late.updateFieldMetadata(change);
    },
    async ({ connection, table }) => {
      await connection.createTable('t', toFile(toItems(2)), 'overwrite', [], {});
      return table.update('id = 1', [['id', '2']]);
    },
  ],
  'version-missing': [
    async ({ table }) => table.checkout(999),
    async ({ table }) => {
      await (await table.branches()).create('b');
      return (await table.branches()).checkout('b', 999);
    },
  ],
  'branch-missing': [async ({ table }) => (await table.branches()).checkout('nowhere', null)],
  'branch-invalid': [
    async ({ table }) => (await table.branches()).checkout('../x', null),
    async ({ table }) => (await table.branches()).checkout('', null),
  ],
  'index-missing': [
    async ({ table }) => table.dropIndex('nowhere'),
    async ({ table }) => table.prewarmIndex('nowhere'),
  ],
  'index-name-taken': [
    async ({ table }) => {
      await table.createIndex(Index.btree(), 'id', true, null, 'mine', true);
      return table.createIndex(Index.btree(), 'body', true, null, 'mine', true);
    },
  ],
  'index-column-type': [
    async ({ table }) => table.createIndex(Index.btree(), 'vec'),
    async ({ table }) => table.createIndex(Index.ivfFlat('l2', 1), 'id'),
    async ({ table }) => table.createIndex(Index.fts(true), 'id'),
    // The fallback builds it.
    ...(readEngineRelease().isFallback
      ? []
      : [async ({ connection }: Kit) => (await createJson(connection, '{}')).createIndex(Index.bitmap(), 'c')]),
  ],
  'index-rows-missing': [
    async ({ connection }) => {
      const few = await connection.createTable('few', toFile(toDocuments(10)), 'create', [], {});
      return few.createIndex(Index.ivfPq('l2', 1, 1), 'vec');
    },
  ],
  'index-vectors-missing': [async ({ table }) => table.createIndex(Index.ivfFlat('l2', 1000), 'vec')],
  'column-type-change': [async ({ table }) => table.alterColumns([{ path: 'id', dataType: '{"type":"string"}' }])],
  'column-type-indexed': [
    async ({ table }) => {
      await table.createIndex(Index.btree(), 'id');
      return table.alterColumns([{ path: 'id', dataType: '{"type":"int64"}' }]);
    },
  ],
  'column-has-nulls': [
    async ({ table }) => {
      await table.update(null, [['body', 'NULL']]);
      return table.alterColumns([{ path: 'body', nullable: false }]);
    },
  ],
  // The engine looks for the file of the tag `a%41` under another name.
  'ref-deleted': [
    async ({ root, table }) => {
      const tags = await table.tags();
      await tags.create('a', 1);
      await rename(join(root, 't.lance/_refs/tags/a.json'), join(root, 't.lance/_refs/tags/a%41.json'));
      return tags.list();
    },
  ],
  'tag-missing': [
    async ({ table }) => (await table.tags()).getVersion('nowhere'),
    async ({ table }) => (await table.tags()).update('nowhere', 1),
    async ({ table }) => (await table.tags()).delete('nowhere'),
    async ({ table }) => table.checkoutTag('nowhere'),
  ],
  'tag-exists': [
    async ({ table }) => {
      await (await table.tags()).create('first', 1);
      return (await table.tags()).create('first', 1);
    },
  ],
  'tagged-cleanup': [
    async ({ table }) => {
      await (await table.tags()).create('first', 1);
      await table.update(null, [['id', 'id']]);
      return optimizeTable(table, readEngineRelease(), Date.now());
    },
  ],
  'tagged-version-missing': [async ({ table }) => (await table.tags()).create('later', 999)],
  'branch-exists': [
    async ({ table }) => (await table.branches()).create('main'),
    async ({ table }) => {
      await (await table.branches()).create('twice');
      return (await table.branches()).create('twice');
    },
  ],
  'branch-needed': [
    async ({ table }) => {
      const branches = await table.branches();
      await branches.create('parent');
      await branches.create('child', 'parent');
      return branches.delete('parent');
    },
  ],
  'table-missing': [
    async ({ connection }) => connection.openTable('nowhere', [], {}),
    async ({ connection }) => connection.dropTable('nowhere', []),
  ],
  'data-damaged': [
    async ({ root, table }) => {
      const folder = join(root, 't.lance', 'data');
      for (const file of await readdir(folder)) {
        const { size } = await stat(join(folder, file));
        await writeFile(join(folder, file), 'x'.repeat(size));
      }
      return run(table.query());
    },
  ],
  'branch-index-missing': [
    async ({ root, connection, table }) => {
      const branch = await (await table.branches()).create('b');
      await branch.createIndex(Index.btree(), 'id');
      await rm(join(root, 't.lance', 'tree', 'b', '_indices'), { recursive: true });
      const opened = await connection.openTable('t', [], {});
      return run(filtered(await (await opened.branches()).checkout('b', null), '(id = 1)'));
    },
  ],
  'data-missing': [
    async ({ root, table }) => {
      await rm(join(root, 't.lance', 'data'), { recursive: true });
      return run(table.query());
    },
  ],
  closed: [
    async ({ table }) => {
      table.close();
      return table.countRows();
    },
    async ({ connection }) => {
      connection.close();
      return connection.openTable('t', [], {});
    },
  ],
  'held-version': [
    async ({ table }) => {
      await table.checkout(1);
      return table.update(null, [['id', '1']]);
    },
  ],
  'query-timeout': [async ({ table }) => run(table.query(), 0)],
  'null-in-required-column': [
    async ({ connection }) => {
      const schema = new Schema([required('id', new Int32())]);
      const table = new Table(schema, { id: vectorFromArray([1], new Int32()) });
      const created = await connection.createTable('r', toFile(table), 'create', [], {});
      return created.update(null, [['id', 'NULL']]);
    },
  ],
  'null-in-required-field': [
    async ({ connection }) => {
      const strict = new Struct([optional('a', new Int32()), required('b', new Int32())]);
      const table = toTable({ s: [strict, [{ a: 1, b: 1 }]] });
      const created = await connection.createTable('r', toFile(table), 'create', [], {});
      return created.update(null, [['s', "named_struct('a', 1, 'b', 2)"]]);
    },
  ],
  'null-in-required-item': [
    async ({ connection }) => {
      const table = toTable({ c: [new List(required('item', new Int32())), [[1], [null]]] });
      return connection.createTable('r', toFile(table), 'create', [], {});
    },
  ],
  'null-field-in-null-struct': [
    async ({ connection }) => {
      const odd = new Struct([optional('a', new Null()), optional('b', new Int32())]);
      const table = toTable({ c: [odd, [{ a: null, b: 1 }, null]] });
      return connection.createTable('r', toFile(table), 'create', [], {});
    },
  ],
  'text-not-json': [async ({ connection }) => createJson(connection, '{')],
  'column-missing-in-expression': [
    async ({ table }) => table.update('(nope = 1)', [['id', '1']]),
    async ({ table }) => table.update(null, [['id', '(`no pe`)']]),
    async ({ table }) => analyze(table, (query) => query.onlyIf('(nope = 1)')),
    async ({ table }) => analyze(table, (query) => query.selectColumns(['nope'])),
    async ({ table }) => analyze(table, (query) => query.select([['a', '(nope)']])),
  ],
  'struct-field-missing': [async ({ table }) => table.update(null, [['body', "(`meta`['nope'])"]])],
  'column-missing': [
    async ({ table }) => table.update(null, [['nope', '1']]),
    async ({ table }) => table.updateFieldMetadata([{ path: 'nope', metadata: {}, replace: true }]),
    async ({ table }) => search(table, [1, 2, 3, 4], (query) => query.column('nope')),
    async ({ table }) => analyze(table, (query) => query.fullTextSearch({ query: match('nope'), columns: null })),
  ],
  'query-vector-mismatch': [async ({ table }) => search(table, [1, 2, 3], (query) => query.column('vec'))],
  'distance-type-mismatch': [
    async ({ table }) => search(table, [1, 2, 3, 4], (query) => query.distanceType('hamming')),
  ],
  'ef-below-k': [
    async ({ table }) => {
      await table.createIndex(Index.hnswSq('l2', 1), 'vec');
      return run(nearest(table, [1, 2, 3, 4], (query) => (query.ef(1), query.limit(5))));
    },
  ],
  'full-text-index-missing': [
    async ({ table }) => analyze(table, (query) => query.fullTextSearch({ query: 'alpha', columns: null })),
    // The main engine looks through the texts instead.
    ...(readEngineRelease().isFallback
      ? [
          async ({ table }: Kit) =>
            analyze(table, (query) =>
              query.fullTextSearch({ query: FullText.phraseQuery('a b', 'body', 0), columns: null }),
            ),
        ]
      : []),
  ],
  'full-text-positions-missing': [
    async ({ table }) => {
      await table.createIndex(Index.fts(false), 'body');
      const phrase = FullText.phraseQuery('alpha beta', 'body', 0);
      const query = table.query();
      query.fullTextSearch({ query: phrase, columns: null });
      return run(query);
    },
  ],
  'full-text-too-fuzzy': [
    async ({ table }) => {
      await table.createIndex(Index.fts(true), 'body');
      const query = table.query();
      const fuzzy = FullText.matchQuery('alphabetically', 'body', 1, 200, 50, 'or', 0);
      query.fullTextSearch({ query: fuzzy, columns: null });
      return run(query);
    },
  ],
  'full-text-not-text': [
    async ({ table }) => {
      const query = table.query();
      query.fullTextSearch({ query: match('id'), columns: null });
      return run(query);
    },
  ],
  'full-text-empty-boolean': [
    async ({ table }) =>
      analyze(table, (query) => query.fullTextSearch({ query: FullText.booleanQuery([]), columns: null })),
  ],
  'unsupported-type': [
    async ({ connection }) => connection.createTable('u', await fixtureFile('map'), 'create', [], OLD_FORMAT),
  ],
  'column-name-refused': [
    async ({ connection }) => createColumns(connection, 'a.b'),
    async ({ connection }) => createColumns(connection, '_rowid'),
  ],
  'schema-mismatch': [
    async ({ table }) => table.add(toFile(toItems(1)), 'append'),
    async ({ table }) => table.add(toFile(toTable({ id: [new Utf8(), ['x']], extra: [new Int32(), [1]] })), 'append'),
  ],
  'null-in-added-rows': [
    async ({ connection }) => {
      const schema = new Schema([required('id', new Int32())]);
      const rows = new Table(schema, { id: vectorFromArray([1], new Int32()) });
      const table = await connection.createTable('required', toFile(rows), 'create', [], {});
      return table.add(toFile(toTable({ id: [new Int32(), [null]] })), 'append');
    },
  ],
  'column-of-another-type': [
    async ({ table }) => upsert(table, toTable({ id: [new Utf8(), ['x']] })).execute(),
    async ({ table }) =>
      upsert(table, toTable({ id: [new Int32(), [1]], vec: [vectorType(3), [[1, 2, 3]]] })).execute(),
  ],
  'vector-not-a-number': [
    async ({ table }) =>
      table.add(toFile(toTable({ id: [new Int32(), [1]], vec: [vectorType(4), [[1, 2, 3, Number.NaN]]] })), 'append'),
  ],
  'merge-ambiguous': [async ({ table }) => upsert(table, toTable({ id: [new Int32(), [1, 1]] })).execute()],
  'merge-filter-without-prefix': [
    async ({ table }) => upsert(table, toTable({ id: [new Int32(), [1]] }), '(id = 1)').execute(),
  ],
  'merge-timeout': [async ({ table }) => upsert(table, toTable({ id: [new Int32(), [1]] })).execute(0)],
  'malformed-batch': [
    async ({ connection }) => connection.createTable('m', Buffer.from('ARROW1 and no more'), 'create', [], {}),
    async ({ table }) => table.add(toFile(toTable({ id: [new Int32(), []] })).subarray(0, 40), 'append'),
  ],
  'divide-by-zero': [
    async ({ table }) => table.update(null, [['id', '(1 / 0)']]),
    async ({ table }) => run(filtered(table, '(1 / (id - id) = 1)')),
  ],
  'vector-length': [async ({ table }) => table.update(null, [['vec', "arrow_cast([1], 'FixedSizeList(4, Float32)')"]])],
  cast: [
    async ({ table }) => table.update(null, [['id', "('abc')"]]),
    async ({ table }) => table.update(null, [['id', '(99999999999)']]),
    async ({ table }) => table.update("(id = 'x')", [['id', '1']]),
    async ({ table }) => table.update(null, [['vec', "arrow_cast((5), 'FixedSizeList(4, Float32)')"]]),
    async ({ table }) => run(filtered(table, '(CAST(body AS INT) = 1)')),
    async ({ connection }) => {
      const word = new Dictionary(new Utf8(), new Int8());
      const words = await connection.createTable('w', toFile(toTable({ word: [word, ['a']] })), 'create', [], {});
      const many = Array.from({ length: 200 }, (_unused, row) => `w${row}`);
      return words.add(toFile(toTable({ word: [new Utf8(), many] })), 'append');
    },
  ],
  'not-computable': [
    async ({ table }) => run(computed(table, '(to_date(body))')),
    async ({ table }) => run(computed(table, "(regexp_like(body, '('))")),
    async ({ table }) => run(computed(table, '(abs(id - 9223372036854775807 - 1 - id))')),
    async ({ table }) => run(computed(table, "(CAST(X'ff' AS STRING))")),
    async ({ table }) => run(computed(table, '(CAST(0 - id - 1000 AS DECIMAL(2, 0)))')),
    async ({ table }) =>
      run(computed(table, "(array_slice([id, id], 2, 1, arrow_cast(-9223372036854775808, 'Int64')))")),
    async ({ table }) => run(filtered(table, '(to_timestamp(body) IS NULL)')),
    async ({ table }) => run(filtered(table, "(regexp_like(body, '('))")),
    async ({ table }) => run(filtered(table, '(chr(0 - id - 5) IS NULL)')),
    async ({ table }) => table.update(null, [['body', '(to_unixtime(body))']]),
    async ({ table }) => table.update('(factorial(id + 30) > 0)', [['id', '1']]),
    async ({ table }) => table.addColumns([{ name: 'x', valueSql: '(to_date(body))' }]),
  ],
  'not-boolean': [
    async ({ table }) => table.update('(id)', [['id', '1']]),
    async ({ table }) => run(filtered(table, '(id) AND (id IS NULL)')),
  ],
  'no-column-read': [async ({ table }) => analyze(table, (query) => query.select([['one', '1']]))],
  'function-unknown': [async ({ table }) => table.update(null, [['id', '(frobnicate(1))']])],
  'duplicate-column': [async ({ table }) => analyze(table, (query) => query.selectColumns(['id', 'id']))],
  sql: [
    async ({ table }) => table.update('(id = )', [['id', '1']]),
    async ({ table }) => table.update(null, [['id', '(1 +)']]),
    async ({ table }) => table.update(null, [['id', '(CASE WHEN id = 1 THEN 2 ELSE 3 END)']]),
    async ({ table }) => table.update(null, [['id', '(count(id))']]),
    async ({ table }) => table.update(null, [['vec', '[[1]]']]),
  ],
};

/** Later file formats have maps. */
const OLD_FORMAT = { new_table_data_storage_version: '2.1' };

/** `commit-starved` takes a crowd of processes and half a minute. */
const NOT_PROVOKED = ['commit-starved'];

/** A small or read-only file system can only be had by those who may mount one. */
const NEEDS_MOUNT = ['storage-full', 'storage-not-writable'];

test('every rule is provoked', () => {
  assert.deepEqual(Object.keys(ERROR_RULES).toSorted(), [...Object.keys(PROVOCATIONS), ...NOT_PROVOKED].toSorted());
});

for (const [name, rule] of Object.entries(ERROR_RULES)) {
  for (const [index, provoke] of (PROVOCATIONS[name] ?? []).entries()) {
    const skip = NEEDS_MOUNT.includes(name) && !mayMount();
    test(`translates ${name} (${index + 1})`, { skip }, async (t) => {
      const kit = await openKit(t);
      const failure = await provoke(kit).then(
        () => assert.fail('the engine must refuse'),
        (error: unknown) => error,
      );
      const translated = translateError(failure);
      assert.equal(findErrorRule(failure), rule, String(failure));
      assert.equal(translated.kind, rule.kind);
      assert.doesNotMatch(translated.detail, /tiltyard|\/tmp|\.rs:|cargo|lance error|127\.0\.0\.1/);
      assert.equal(translated.cause, failure);
    });
  }
}

test('knows missing files in a folder whose path has spaces', () => {
  const missing = (path: string) =>
    findErrorRule(new Error(`lance error: Not found: /srv/my tables/${path}, /x.rs:1:2`));
  assert.equal(missing('a.lance/_versions/1.manifest'), ERROR_RULES['data-missing']);
  assert.equal(missing('a.lance/tree/b/_indices/c/d.lance'), ERROR_RULES['branch-index-missing']);
});

test('translates an unknown failure to an internal error', () => {
  const translated = translateError(new Error('something new, /usr/local/secret.rs:1:2'));
  assert.equal(translated.kind, 'Internal');
  assert.doesNotMatch(translated.detail, /secret/);
});

test('translates a failure that the engine blames on the input to invalid input', () => {
  const translated = translateError(new Error('lance error: Invalid user input: something new, /usr/x.rs:1:2'));
  assert.equal(translated.kind, 'InvalidInput');
});

for (const text of [
  'No space left on device (os error 28)',
  'LanceError(IO): No space left on device (os error 28)',
  'Retryable commit conflict for version 3',
  'Too many concurrent writers',
  "Table 'x' was not found",
  'Query timeout after 5 ms',
  'Connection is closed',
]) {
  test(`no text in a request passes for an outage: ${text}`, async (t) => {
    const { table } = await openKit(t);
    const literal = `'${text.replaceAll("'", "''")}'`;
    const requests = [
      async () => table.update(null, [['id', `(${literal})`]]),
      async () => table.update(`(id = ${literal})`, [['id', '1']]),
      async () => table.update(`(\`${text}\` = 1)`, [['id', '1']]),
      async () => table.update(`(${text})`, [['id', '1']]),
      async () => run(filtered(table, `(CAST(concat(body, ${literal}) AS INT) = 1)`)),
      async () => analyze(table, (query) => query.selectColumns([text])),
    ];
    for (const request of requests) {
      const failure = await request().then(
        () => assert.fail('the engine must refuse'),
        (error: unknown) => error,
      );
      const { kind } = translateError(failure);
      assert.ok(kind === 'InvalidInput' || kind === 'TableColumnNotFound', `${kind}: ${String(failure)}`);
    }
  });
}

async function openKit(t: TestContext): Promise<Kit> {
  const root = await makeFolder(t);
  const connection = await connectApart(t, root);
  const table = await connection.createTable('t', toFile(toDocuments(300)), 'create', [], {});
  return { t, root, connection, table };
}

function toFile(table: Table): Buffer {
  return Buffer.from(tableToIPC(table, 'file'));
}

async function fixtureFile(name: string): Promise<Buffer> {
  const stream = await openArrowStream(pieces(await readFixture(name)), ARROW_LIMITS);
  for await (const chunk of stream.chunks) return Buffer.from(chunk.file);
  return assert.fail('a stream has a chunk');
}

async function createJson(connection: NativeConnection, text: string): Promise<NativeTable> {
  const json = new Field('c', new Utf8(), true, new Map([['ARROW:extension:name', 'arrow.json']]));
  const table = new Table(new Schema([json]), { c: vectorFromArray([text], new Utf8()) });
  return connection.createTable('r', toFile(table), 'create', [], {});
}

async function createColumns(connection: NativeConnection, name: string): Promise<unknown> {
  return connection.createTable('c', toFile(toTable({ [name]: [new Int32(), [1]] })), 'create', [], {});
}

function match(column: string) {
  return FullText.matchQuery('alpha', column, 1, 0, 50, 'or', 0);
}

async function analyze(table: NativeTable, build: (query: NativeQuery) => void): Promise<string> {
  const query = table.query();
  build(query);
  return query.analyzePlan();
}

function nearest(table: NativeTable, vector: readonly number[], build: (query: NativeVectorQuery) => void) {
  const query = table.query().nearestTo(Float32Array.from(vector));
  query.column('vec');
  build(query);
  return query;
}

async function search(table: NativeTable, vector: readonly number[], build: (query: NativeVectorQuery) => void) {
  return nearest(table, vector, build).analyzePlan();
}

function filtered(table: NativeTable, filter: string): NativeQuery {
  const query = table.query();
  query.onlyIf(filter);
  return query;
}

function computed(table: NativeTable, expression: string): NativeQuery {
  const query = table.query();
  query.select([['x', expression]]);
  return query;
}

async function run(query: Pick<NativeQuery, 'execute'>, timeoutMilliseconds = -1): Promise<void> {
  const batches = await query.execute(1024, timeoutMilliseconds);
  while ((await batches.next()) !== null);
}

/** As S3 sends it, over two lines. */
function s3Error(code: string): string {
  const message = 'The cause, perhaps with a "Signature" in it';
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${message}</Message></Error>`;
}

async function storeRefusing(
  t: TestContext,
  status: number,
  refused: 'objects' | 'lists',
  body = '',
): Promise<unknown> {
  const server = createServer((request, response) => {
    const isList = request.url?.includes('list-type') === true;
    request.resume().on('end', () => {
      if (isList === (refused === 'lists')) response.writeHead(status).end(body);
      else response.end(isList ? '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>' : '');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const connection = await connectStore(t, `http://127.0.0.1:${address.port}`);
  return connection.createTable('t', toFile(toItems(1)), 'create', [], {});
}

async function connectStore(t: TestContext, endpoint: string): Promise<NativeConnection> {
  const native = loadNative();
  const connection = await native.Connection.new('s3://bucket/x', {
    manifestEnabled: false,
    namespaceClientProperties: { manifest_enabled: 'false' },
    session: new native.Session(1024n, 1024n),
    storageOptions: {
      aws_endpoint: endpoint,
      allow_http: 'true',
      aws_access_key_id: 'a',
      aws_secret_access_key: 'b',
      aws_region: 'us-east-1',
      client_max_retries: '0',
      client_retry_timeout: '1',
    },
  });
  t.after(() => connection.close());
  return connection;
}

function mayMount(): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && canMount();
}

function canMount(): boolean {
  try {
    execFileSync('unshare', ['--mount', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function mountSmall(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-engine-small-'));
  await mkdir(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', folder]);
  t.after(async () => {
    execFileSync('umount', ['--lazy', folder]);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

async function fillStorage(t: TestContext): Promise<void> {
  const connection = await connectApart(t, await mountSmall(t));
  const table = await connection.createTable('t', toFile(toItems(100)), 'create', [], {});
  for (let count = 0; count < 200; count += 1) await table.add(toFile(toItems(100)), 'append');
}

async function writeReadOnly(t: TestContext): Promise<void> {
  const folder = await mountSmall(t);
  const connection = await connectApart(t, folder);
  const table = await connection.createTable('t', toFile(toItems(10)), 'create', [], {});
  execFileSync('mount', ['-o', 'remount,ro', folder]);
  await table.update(null, [['score', '2']]);
}
