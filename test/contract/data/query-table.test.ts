import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Dictionary, RecordBatchReader, tableFromIPC } from 'apache-arrow';
import { Index, rerankers } from '@lancedb/lancedb';
import pLimit from 'p-limit';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import {
  Int32,
  Utf8,
  count,
  documentStream,
  nestedStream,
  streamOf,
  vectorStream,
  vectorType,
} from '../contract-tables.ts';
import { assertRefused, badRequest, columnNotFound, tableNotFound, unauthenticated } from '../refusal.ts';

const FILE = 'application/vnd.apache.arrow.file';
const STREAM = 'application/vnd.apache.arrow.stream';

let server: ContractServer;
let documents: MadeTable;
let nested: MadeTable;
let vectors: MadeTable;
before(async () => {
  server = await ContractServer.start();
  documents = await server.table({ stream: documentStream(20) });
  nested = await server.table({ stream: nestedStream(12) });
  vectors = await server.table({ stream: vectorStream(12) });
  const embedded = await server.embedded(documents);
  await embedded.createIndex('body', { config: Index.fts() });
});
after(async () => server.close());

interface Found {
  readonly response: Response;
  readonly bytes: Buffer;
}

async function find(at: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Found> {
  const response = await fetch(`${server.url}${at}`, {
    method: 'POST',
    headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { response, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** The rows that a query of the documents finds, by id. */
async function ids(body: object, table: MadeTable = documents): Promise<readonly number[]> {
  const answer = await server.admin.post(`${table.at}/query`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.rows.map((row: { id: number }) => row.id);
}

async function columns(body: object, table: MadeTable = documents): Promise<readonly string[]> {
  const { response, bytes } = await find(`${table.at}/query`, body);
  assert.equal(response.status, 200, bytes.toString());
  return tableFromIPC(bytes).schema.fields.map((field) => `${field.name}:${field.type}`);
}

test('many searches and lookups at once get each their own rows, in every format', async () => {
  const rows = 200;
  const table = await server.table({
    stream: streamOf({
      id: { type: new Int32(), values: count(rows) },
      name: { type: new Utf8(), values: count(rows).map((row) => `name ${row}`) },
      vec: { type: vectorType(2), values: count(rows).map((row) => [row, row]) },
    }),
  });
  const accepts = ['application/json', FILE, STREAM];
  const queries = count(90).map((turn) => {
    const id = (turn * 7) % rows;
    const body = turn % 2 === 0 ? { vector: [id, id], k: 1 } : { filter: `name = 'name ${id}'`, k: 1 };
    return { id, body, accept: accepts[turn % accepts.length] ?? FILE };
  });
  // More at once may have to wait, and to be refused on a slow machine: see http.readsMax.
  const atOnce = pLimit(12);
  const found = await atOnce.map(queries, async ({ body, accept }) => {
    const { response, bytes } = await find(`${table.at}/query`, body, { accept });
    assert.equal(response.status, 200, bytes.toString());
    return accept === 'application/json' ? JSON.parse(String(bytes)).rows[0].id : tableFromIPC(bytes).get(0)?.['id'];
  });
  assert.deepEqual(
    found,
    queries.map(({ id }) => id),
  );
});

suite('the reply to a query', () => {
  test('is an Arrow file by default, in both dialects', async () => {
    for (const at of [`${documents.at}/query`, `${documents.at}/query/`]) {
      const { response, bytes } = await find(at, { k: 3 });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), FILE);
      assert.equal(bytes.subarray(0, 6).toString(), 'ARROW1');
      assert.equal(bytes.subarray(-6).toString(), 'ARROW1');
      assert.equal(tableFromIPC(bytes).numRows, 3);
    }
  });

  test('is an Arrow stream when that is accepted', async () => {
    const { response, bytes } = await find(`${documents.at}/query`, { k: 3 }, { accept: STREAM });
    assert.equal(response.headers.get('content-type'), STREAM);
    assert.ok(RecordBatchReader.from(bytes).isStream());
    assert.deepEqual([...(tableFromIPC(bytes).getChild('id') ?? [])], [0, 1, 2]);
  });

  for (const accept of [FILE, STREAM]) {
    test(`sends of a dictionary only the values of the rows that are found, as ${accept}`, async () => {
      const word = (row: number): string => `a word that is somewhat longer ${row}`;
      const rows = count(5000);
      const { at } = await server.table({
        stream: streamOf({
          id: { type: new Int32(), values: rows },
          word: { type: new Dictionary(new Utf8(), new Int32()), values: rows.map(word) },
          vec: { type: vectorType(2), values: rows.map((row) => [row, 1]) },
        }),
      });
      const search = { vector: { single_vector: [4000, 1] }, k: 3 };
      for (const query of [search, { k: 3, offset: 3999 }, { filter: 'id in (3999, 4000, 4001)' }]) {
        const { bytes } = await find(`${at}/query`, query, { accept });
        assert.deepEqual([...(tableFromIPC(bytes).getChild('word') ?? [])].toSorted(), [3999, 4000, 4001].map(word));
        assert.ok(bytes.length < 4096, String(bytes.length));
      }
    });
  }

  test('is an Arrow file for generated clients, which always say that they accept JSON', async () => {
    const headers = { accept: 'application/json', 'user-agent': 'OpenAPI-Generator/0.13.0/python' };
    const { response, bytes } = await find(`${documents.at}/query`, { k: 3, vector: {} }, headers);
    assert.equal(response.headers.get('content-type'), FILE);
    assert.deepEqual([...(tableFromIPC(bytes).getChild('id') ?? [])], [0, 1, 2]);
    const asked = await find(`${documents.at}/query`, { k: 3, vector: {} }, { ...headers, accept: STREAM });
    assert.equal(asked.response.headers.get('content-type'), STREAM);
  });

  test('is a JSON document when that is accepted', async () => {
    const answer = await server.admin.post(`${nested.at}/query`, { k: 2 }, { accept: 'application/json' });
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    assert.deepEqual(answer.json, {
      rows: [
        {
          id: 0,
          label: 'top 0',
          place: { x: 0, 'x.y': 0, 'b`t': 0, label: 'inner 0', deep: { leaf: 0, word: 'w0' }, vec: [0, 0] },
        },
        { id: 1, label: 'top 1', place: null },
      ],
    });
  });

  test('is one JSON object per line when that is accepted', async () => {
    const body = { k: 3, columns: { column_names: ['id'] } };
    const answer = await server.admin.post(`${documents.at}/query`, body, { accept: 'application/x-ndjson' });
    assert.match(answer.headers.get('content-type') ?? '', /^application\/x-ndjson/);
    assert.equal(answer.text, '{"id":0}\n{"id":1}\n{"id":2}\n');
  });

  test('is not offered in other media types: 406', async () => {
    const answer = await server.admin.post(`${documents.at}/query`, { k: 1 }, { accept: 'text/csv' });
    assertRefused(answer, { status: 406, code: 13 });
  });

  test('tells the version that was read, also of an earlier one', async () => {
    const table = await server.table();
    await server.admin.post(`${table.at}/update`, { updates: [['price', '7']] });
    for (const [body, version] of [
      [{ k: 1 }, '2'],
      [{ k: 1, version: 1 }, '1'],
      [{ k: 0 }, '2'],
    ] as const) {
      const { response } = await find(`${table.at}/query`, body);
      assert.equal(response.headers.get('x-lancedb-version'), version);
    }
  });

  test('is never refused for being too old: the latest is always read', async () => {
    const headers = {
      'x-lancedb-min-version': '999999',
      'x-lancedb-min-read-version': '18446744073709551615',
      'x-lancedb-min-timestamp': '2999-01-01T00:00:00.000000000+00:00',
    };
    const { response } = await find(`${documents.at}/query/`, { k: 1 }, headers);
    assert.equal(response.status, 200);
  });
});

suite('a query', () => {
  test('without anything is a scan of the whole table', async () => {
    assert.equal((await ids({})).length, 20);
  });

  test('whose vector has no members has no vector', async () => {
    const scan = { k: 3, filter: 'id > 4' };
    for (const vector of [{}, { single_vector: null, multi_vector: null }]) {
      assert.deepEqual(await ids({ ...scan, vector }), [5, 6, 7]);
      const words = { full_text_query: { string_query: { query: '7', columns: ['body'] } } };
      assert.equal((await ids({ k: 1, ...words, vector }))[0], 7);
      const explained = await server.admin.post(`${documents.at}/explain_plan`, { query: { ...scan, vector } });
      assert.equal(explained.status, 200, explained.text);
    }
  });

  test('of a Java model, which fills what was not set with empty lists and maps, has only what is not empty', async () => {
    const headers = { accept: 'application/json', 'user-agent': 'OpenAPI-Generator/0.7.7/java' };
    const unset = { id: [], context: {}, columns: { column_names: [], column_aliases: {} } };
    const vector = { single_vector: [], multi_vector: [] };
    const scan = await find(`${documents.at}/query`, { ...unset, vector, k: 2, filter: 'id > 4' }, headers);
    assert.deepEqual([...(tableFromIPC(scan.bytes).getChild('id') ?? [])], [5, 6]);
    const near = { ...unset, vector: { ...vector, single_vector: [0, 0.1, 0.2, 0.3] }, k: 1 };
    assert.equal((await find(`${documents.at}/query`, near, headers)).response.status, 200);
    for (const [operation, body] of [
      ['explain_plan', { ...unset, query: near }],
      ['analyze_plan', near],
    ] as const) {
      const answer = await server.admin.post(`${documents.at}/${operation}`, body, headers);
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('without a limit, as the LanceDB client writes it, finds all rows', async () => {
    const text = `{"k":9223372036854775807,"vector":[],"prefilter":true,"version":null}`;
    const answer = await server.admin.post(`${documents.at}/query/`, text, { accept: 'application/json' });
    assert.equal(answer.json.rows.length, 20, answer.text);
  });

  test('for the nearest, or for words, without a limit is refused: it needs one', async () => {
    for (const search of [
      '"vector":[1,2,3,4]',
      '"vector":[],"full_text_query":{"query":"number","columns":["body"]}',
    ]) {
      const text = `{"k":9223372036854775807,${search}}`;
      assertRefused(await server.admin.post(`${documents.at}/query/`, text), badRequest(/^k is 9007199254740991/));
    }
  });

  test('finds the nearest, in the words of both vocabularies', async () => {
    const wanted = [5, 4, 6];
    assert.deepEqual(await ids({ k: 3, vector: { single_vector: [5, 5.1, 5.2, 5.3] } }), wanted);
    assert.deepEqual(await ids({ k: 3, vector: [5, 5.1, 5.2, 5.3] }), wanted);
  });

  test('filters before the search, or after it', async () => {
    const vector = { single_vector: [5, 5.1, 5.2, 5.3] };
    assert.deepEqual(await ids({ k: 2, vector, filter: 'id > 10' }), [11, 12]);
    assert.deepEqual(await ids({ k: 2, vector, filter: 'id > 10', prefilter: false }), []);
  });

  test('finds words, in the words of both vocabularies', async () => {
    const fullText = [
      { string_query: { query: 'number 7', columns: ['body'] } },
      { structured_query: { query: { match: { terms: '7', column: 'body' } } } },
      { query: 'number 7', columns: ['body'] },
      { query: { match: { terms: '7', column: 'body' } } },
    ];
    for (const query of fullText) {
      assert.equal((await ids({ k: 5, full_text_query: query }))[0], 7, JSON.stringify(query));
    }
  });

  test('filters before a search for words, or after it', async () => {
    // The longer the text, the lower its score: the rows are found in the order of their ids.
    const body = count(9).map((id) => `lamp${' filler'.repeat(id)}`);
    const stream = streamOf({
      id: { type: new Int32(), values: count(9) },
      body: { type: new Utf8(), values: body },
    });
    const lamps = await server.table({ stream });
    await (await server.embedded(lamps)).createIndex('body', { config: Index.fts() });
    const search = { full_text_query: { string_query: { query: 'lamp', columns: ['body'] } }, filter: 'id > 2' };
    const after = { ...search, prefilter: false };
    assert.deepEqual(await ids({ ...search, k: 4 }, lamps), [3, 4, 5, 6]);
    assert.deepEqual(await ids({ ...after, k: 4 }, lamps), [3]);
    assert.deepEqual(await ids({ ...after, k: 5, offset: 1 }, lamps), [4, 5]);
    assert.deepEqual(await ids({ ...after, k: 2 }, lamps), []);
    assert.deepEqual(await ids({ ...after, k: 20 }, lamps), [3, 4, 5, 6, 7, 8]);
    const descending = {
      order_by: [{ column_name: 'id', ascending: false }],
      columns: { column_names: ['body', 'id'] },
    };
    assert.deepEqual(await ids({ ...search, ...descending, k: 4 }, lamps), [6, 5, 4, 3]);
    assert.deepEqual(await ids({ ...after, ...descending, k: 5 }, lamps), [4, 3]);
    const analysis = await server.admin.post(`${lamps.at}/analyze_plan`, { ...after, k: 4 });
    assert.match(analysis.text, /output_rows=1\b/);
  });

  test('for words without k finds ten, and filters after the search if asked to', async () => {
    const body = count(20).map((id) => `lamp${' filler'.repeat(id)}`);
    const stream = streamOf({
      id: { type: new Int32(), values: count(20) },
      body: { type: new Utf8(), values: body },
    });
    const lamps = await server.table({ stream });
    await (await server.embedded(lamps)).createIndex('body', { config: Index.fts() });
    const search = { full_text_query: { string_query: { query: 'lamp', columns: ['body'] } } };
    assert.equal((await ids(search, lamps)).length, 10);
    assert.deepEqual(await ids({ ...search, filter: 'id > 7', prefilter: false }, lamps), [8, 9]);
    assert.equal((await ids({ ...search, filter: 'id > 7' }, lamps)).length, 10);
  });

  test('by vector and words fuses both by their ranks', async () => {
    const body = {
      k: 3,
      vector: { single_vector: [5, 5.1, 5.2, 5.3] },
      full_text_query: { string_query: { query: '7', columns: ['body'] } },
    };
    const found = await ids(body);
    assert.equal(found.length, 3);
    assert.ok(found.includes(5) && found.includes(7), String(found));
    assert.deepEqual((await columns(body)).slice(-3), [
      '_distance:Float32',
      '_score:Float32',
      '_relevance_score:Float32',
    ]);
  });

  test('by vector and words tells the distance and the score of each row, in every form and dialect', async () => {
    const search = { k: 4, with_row_id: true, columns: { column_names: ['id'] } };
    const vector = { vector: { single_vector: [5, 5.1, 5.2, 5.3] } };
    const words = { full_text_query: { string_query: { query: '7', columns: ['body'] } } };
    const rows = async (body: object): Promise<readonly FoundRow[]> => {
      const answer = await server.admin.post(`${documents.at}/query`, body, { accept: 'application/json' });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.rows;
    };
    const [near, worded] = [await rows({ ...search, ...vector }), await rows({ ...search, ...words })];
    const distances = new Map(near.map((row) => [row.id, row._distance]));
    const scores = new Map(worded.map((row) => [row.id, row._score]));
    const fused = await rows({ ...search, ...vector, ...words });
    assert.deepEqual(new Set(fused.map(({ id }) => id)), new Set([5, 4, 6, 7]));
    for (const { id, _distance, _score } of fused) {
      assert.equal(_distance, distances.get(id) ?? null, `distance of ${id}`);
      assert.equal(_score, scores.get(id) ?? null, `score of ${id}`);
    }
    assert.ok(fused.find(({ id }) => id === 7)?._score);

    const names = ['id', '_distance', '_score', '_rowid', '_relevance_score'];
    for (const path of [`${documents.at}/query`, `${documents.at}/query/`]) {
      for (const accept of [FILE, STREAM]) {
        const { bytes } = await find(path, { ...search, ...vector, ...words }, { accept });
        const table = tableFromIPC(bytes);
        assert.deepEqual(
          table.schema.fields.map(({ name }) => name),
          names,
        );
        assert.deepEqual(
          [...(table.getChild('_score') ?? [])],
          fused.map(({ _score }) => (_score === null ? null : Math.fround(_score))),
        );
      }
    }
    const lines = await server.admin.post(
      `${documents.at}/query`,
      { ...search, ...vector, ...words },
      { accept: 'application/x-ndjson' },
    );
    assert.equal(lines.text, fused.map((row) => `${JSON.stringify(row)}\n`).join(''));
  });

  test('by vector and words ranks as the LanceDB client fuses the two searches itself', async () => {
    const embedded = await server.embedded(documents);
    const reranker = await rerankers.RRFReranker.create(60);
    for (const [words, at] of [
      ['7', 5],
      ['fox', 12],
      ['number 3 jumps', 0],
    ] as const) {
      const near = [at, at + 0.1, at + 0.2, at + 0.3];
      const search = embedded.query().fullTextSearch(words, { columns: 'body' }).nearestTo(near);
      const own = await search.rerank(reranker).select(['id']).limit(6).toArray();
      const { json } = await server.admin.post(
        `${documents.at}/query`,
        {
          k: 6,
          columns: { column_names: ['id'] },
          vector: { single_vector: near },
          full_text_query: { string_query: { query: words, columns: ['body'] } },
        },
        { accept: 'application/json' },
      );
      const toScores = (rows: readonly { readonly id: number; readonly _relevance_score: number }[]) =>
        rows
          .map(({ id, _relevance_score: score }) => [id, Math.fround(score)])
          .toSorted(([one = 0], [other = 0]) => one - other);
      assert.deepEqual(toScores(json.rows), toScores(own), words);
    }
  });

  test('for several vectors tells which one each row is near to', async () => {
    const body = {
      k: 2,
      vector: {
        multi_vector: [
          [0.2, 0.3, 0.4, 0.5],
          [9.2, 9.3, 9.4, 9.5],
        ],
      },
      columns: { column_names: ['id'] },
    };
    const answer = await server.admin.post(`${documents.at}/query`, body, { accept: 'application/json' });
    const found = answer.json.rows.map((row: { query_index: number; id: number }) => `${row.query_index}:${row.id}`);
    assert.deepEqual(found.toSorted(), ['0:0', '0:1', '1:10', '1:9'].toSorted());
  });

  test('of a multi-vector column takes several vectors for one search', async () => {
    const body = {
      k: 2,
      vector: {
        multi_vector: [
          [0, 1],
          [1, 0],
        ],
      },
      vector_column: 'several',
      distance_type: 'cosine',
    };
    assert.ok(!(await columns(body, vectors)).some((column) => column.startsWith('query_index')));
  });

  test('returns the columns that it names, in that order, or expressions under an alias', async () => {
    const names = { columns: { column_names: ['title', 'id'] } };
    assert.deepEqual(await columns({ k: 1, ...names }), ['title:Utf8', 'id:Int32']);
    const aliases = { columns: { column_aliases: { twice: 'id * 2', what: 'upper(title)' } } };
    assert.deepEqual(await columns({ k: 1, ...aliases }), ['twice:Int32', 'what:Utf8']);
    const nestedNames = { columns: { column_names: ['place.deep.leaf', 'place.`x.y`'] } };
    assert.equal((await columns({ k: 1, ...nestedNames }, nested)).length, 2);
  });

  test('says which column may have been meant', async () => {
    const answer = await server.admin.post(`${documents.at}/query`, { filter: 'idd > 3', k: 1 });
    assert.equal(answer.status, 404);
    assert.equal(answer.json.detail, 'The column "idd" was not found. Did you mean "id"?');
  });

  const listsNoFields = readEngineRelease().isFallback ? 'the fallback engine does not list them' : false;

  test('says how text is written when it was taken for a column', { skip: listsNoFields }, async () => {
    for (const text of ['red', 'whatSomebodyWroteWithoutQuotes'.repeat(4)]) {
      const answer = await server.admin.post(`${documents.at}/query`, { filter: `title = ${text}`, k: 1 });
      assert.equal(answer.status, 404);
      assert.match(answer.json.detail, / was not found\. Text is written in single quotes\.$/);
    }
  });

  test('counts limit and offset among the rows that a filter by row id finds', async () => {
    assert.deepEqual(await ids({ filter: '_rowid = 7', k: 3 }), [7]);
    assert.deepEqual(await ids({ filter: '_rowid in (9, 7, 8)', k: 2 }), [7, 8]);
    assert.deepEqual(await ids({ filter: '_rowid in (9, 7, 8)', k: 5, offset: 1 }), [8, 9]);
    assert.deepEqual(await ids({ filter: '_rowoffset = 11', k: 1 }), [11]);
    assert.deepEqual(await ids({ filter: '_rowid = 7 or id = 12', k: 5 }), [7, 12]);
    assert.deepEqual(await ids({ filter: '_rowid = 123456', k: 5 }), []);
    const id = { columns: { column_names: ['id'] } };
    assert.deepEqual(await ids({ filter: '_rowid = 7', k: 3, ...id }), [7]);
    const alias = { columns: { column_aliases: { id: 'id' } } };
    assert.deepEqual(await ids({ filter: '_rowid = 123456', k: 3, ...alias }), []);
  });

  test('takes rows by their ids and by their offsets', async () => {
    assert.deepEqual(await ids({ filter: '_rowid in (3,1)' }), [1, 3]);
    assert.deepEqual(await ids({ filter: '_rowoffset in (4,2)' }), [2, 4]);
  });

  test('sorts, skips and limits', async () => {
    const order = [{ column_name: 'title', ascending: false }, { column_name: 'id' }];
    assert.deepEqual(await ids({ order_by: order, k: 3, offset: 1 }), [3, 5, 7]);
    assert.deepEqual(await ids({ order_by: [{ column_name: 'id', ascending: false }], k: 2 }), [19, 18]);
  });

  test('sorts the rows that a search finds', async () => {
    const order = { order_by: [{ column_name: 'id', ascending: false }], k: 3 };
    const nearest = await ids({ vector: [1, 2, 3, 4], k: 3 });
    assert.deepEqual(
      await ids({ vector: [1, 2, 3, 4], ...order, offset: 0 }),
      nearest.toSorted((a, b) => b - a),
    );
  });

  test('sorts by a column that it does not return', async () => {
    const body = {
      order_by: [{ column_name: 'id', ascending: false }],
      k: 2,
      columns: { column_names: ['title', 'body'] },
    };
    assert.deepEqual(await columns(body), ['title:Utf8', 'body:Utf8']);
    for (const accept of [FILE, STREAM]) {
      const { bytes } = await find(`${documents.at}/query`, body, { accept });
      const texts = [...(tableFromIPC(bytes).getChild('body') ?? [])];
      assert.deepEqual(texts, ['the quick brown fox number 19 jumps', 'the quick brown fox number 18 jumps']);
    }
    const aliases = { ...body, columns: { column_aliases: { t: 'title' } } };
    assert.deepEqual(await columns(aliases), ['t:Utf8']);
    assert.deepEqual(await columns({ ...body, k: 0 }), ['title:Utf8', 'body:Utf8']);
  });

  test('keeps null structs null, whatever the filter', async () => {
    for (const filter of ['id = 4', 'id >= 0', 'id % 3 = 1']) {
      const answer = await server.admin.post(`${nested.at}/query`, { filter }, { accept: 'application/json' });
      for (const row of answer.json.rows) assert.equal(row.place === null, row.id % 3 === 1, `${filter}: ${row.id}`);
    }
  });

  test('reads a version, and sees every write that was answered', async () => {
    const table = await server.table();
    await server.admin.post(`${table.at}/update`, { updates: [['price', '7']] });
    const price = async (body: object): Promise<number> => {
      const answer = await server.admin.post(`${table.at}/query`, { k: 1, ...body }, { accept: 'application/json' });
      return answer.json.rows[0].price;
    };
    assert.equal(await price({}), 7);
    assert.equal(await price({ version: 1 }), 0);
  });

  test('reads a branch', async () => {
    const table = await server.table();
    const embedded = await server.embedded(table);
    const branch = await (await embedded.branches()).create('draft');
    await branch.update({ valuesSql: { price: '99' } });
    assert.deepEqual(new Set(await prices(table, { branch: 'draft' })), new Set([99]));
    assert.notDeepEqual(new Set(await prices(table, {})), new Set([99]));
  });
});

interface FoundRow {
  readonly id: number;
  readonly _distance: number | null;
  readonly _score: number | null;
}

async function prices(table: MadeTable, body: object): Promise<readonly number[]> {
  const answer = await server.admin.post(`${table.at}/query`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.rows.map((row: { price: number }) => row.price);
}

suite('a query that finds nothing', () => {
  const all = ['id:Int32', 'title:Utf8', 'body:Utf8', 'vec:FixedSizeList[4]<Float32>'];
  const vector = { single_vector: [1, 2, 3, 4] };
  const words = { string_query: { query: 'nowhere', columns: ['body'] } };
  const none = { filter: 'id > 1000' };
  const CASES: Readonly<Record<string, readonly [body: object, added: readonly string[]]>> = {
    scan: [none, []],
    'row ids': [{ ...none, with_row_id: true }, ['_rowid:Uint64']],
    vector: [{ ...none, k: 3, vector }, ['_distance:Float32']],
    'vector and k of 0': [{ k: 0, vector, with_row_id: true }, ['_distance:Float32', '_rowid:Uint64']],
    words: [{ full_text_query: words, with_row_id: true }, ['_score:Float32', '_rowid:Uint64']],
    'words and k of 0': [{ k: 0, full_text_query: words }, ['_score:Float32']],
    hybrid: [
      { ...none, k: 3, vector, full_text_query: words, with_row_id: true },
      ['_distance:Float32', '_score:Float32', '_rowid:Uint64', '_relevance_score:Float32'],
    ],
    'k of 0': [{ k: 0 }, []],
  };
  for (const [title, [body, added]] of Object.entries(CASES)) {
    test(`still has the schema of its result: ${title}`, async () => {
      assert.deepEqual(await columns(body), [...all, ...added]);
      const { bytes } = await find(`${documents.at}/query`, body, { accept: STREAM });
      assert.equal(tableFromIPC(bytes).numRows, 0);
      assert.deepEqual(await ids(body), []);
    });
  }

  test('says so in every form', async () => {
    const answer = await server.admin.post(`${documents.at}/query`, none, { accept: 'application/json' });
    assert.equal(answer.text, '{"rows":[]}');
    const lines = await server.admin.post(`${documents.at}/query`, none, { accept: 'application/x-ndjson' });
    assert.equal(lines.text, '');
  });
});

function toMatch(change: object): object {
  const query = { match: { terms: 'fox', column: 'body', ...change } };
  return { k: 1, full_text_query: { structured_query: { query } } };
}

suite('a query is refused', () => {
  const BAD: Readonly<Record<string, readonly [body: unknown, detail: RegExp]>> = {
    'when its body is no JSON': ['{', /JSON/],
    'with an unknown field': [{ k: 1, filtre: 'id = 1' }, /filtre/],
    'with a k below 0': [{ k: -1 }, /\bk\b/],
    'with a k past its bound': [{ k: 1_000_001 }, /1,000,000/],
    'with a filter that is no SQL': [{ filter: 'id =' }, /filter/],
    'with a filter that goes on after its end': [{ filter: 'id = 1) OR (1 = 1' }, /filter/],
    'with a filter that is no condition': [{ filter: 'id + 1' }, /condition/],
    'with a vector of another dimension': [{ k: 1, vector: [1, 2] }, /2 dimensions/],
    'with an order that is no list': [{ order_by: 'id' }, /order_by/],
    'with an order and two searches': [
      {
        k: 1,
        vector: [1, 2, 3, 4],
        full_text_query: { query: 'fox', columns: ['body'] },
        order_by: [{ column_name: 'id' }],
      },
      /order_by/,
    ],
    'with an order and an offset of a vector search': [
      { k: 3, offset: 1, vector: [1, 2, 3, 4], order_by: [{ column_name: 'id' }] },
      /search cannot both be sorted with order_by and skip rows/,
    ],
    'with an order and an offset of a full-text search': [
      { k: 3, offset: 1, full_text_query: { query: 'fox', columns: ['body'] }, order_by: [{ column_name: 'id' }] },
      /search cannot both be sorted with order_by and skip rows/,
    ],
    ...Object.fromEntries(
      ['_distance', '_score', '_rowid', '_rowaddr', '_rowoffset'].map((name) => [
        `with an order by ${name}`,
        [
          { k: 1, vector: [1, 2, 3, 4], columns: { column_names: ['id', name] }, order_by: [{ column_name: name }] },
          new RegExp(`order_by names "${name}"`),
        ],
      ]),
    ),
    'with a boost below 0': [toMatch({ boost: -1 }), /match\.boost is -1, which is less than 0/],
    'with a boost that is infinite to the engine': [toMatch({ boost: 1e300 }), /match\.boost is 1e\+300/],
    'with two columns of one name': [
      {
        k: 1,
        columns: [
          ['id', 'id'],
          ['id', 'price'],
        ],
      },
      /"id" is selected more than once/,
    ],
    'when it reads no column at all': [{ columns: { column_aliases: { one: '1' } } }, /column/],
    'when it divides by zero in its first batch': [{ filter: 'id / 0 = 1' }, /./],
  };
  for (const [title, [body, detail]] of Object.entries(BAD)) {
    test(title, async () => assertRefused(await server.admin.post(`${documents.at}/query`, body), badRequest(detail)));
  }

  test('for a column that is not there: 404, and 400 to the LanceDB client', async () => {
    for (const body of [
      { columns: { column_names: ['nope'] } },
      { order_by: [{ column_name: 'nope' }] },
      { filter: 'nope = 1' },
      { vector: [1], vector_column: 'nope' },
    ]) {
      assertRefused(await server.admin.post(`${documents.at}/query`, body), columnNotFound);
      assertRefused(await server.admin.post(`${documents.at}/query/`, body), { ...columnNotFound, status: 400 });
    }
  });

  test('for a version or a branch that is not there: 404', async () => {
    assertRefused(await server.admin.post(`${documents.at}/query`, { version: 99 }), { status: 404, code: 11 });
    assertRefused(await server.admin.post(`${documents.at}/query`, { branch: 'no' }), { status: 404, code: 22 });
  });

  test('without a credential: 401; without a grant: 404; for another table: 404', async () => {
    assertRefused(await server.stranger().post(`${documents.at}/query`, { k: 1 }), unauthenticated);
    const other = await server.caller('reader', ['elsewhere']);
    assertRefused(await other.post(`${documents.at}/query`, { k: 1 }), tableNotFound);
    assertRefused(await server.admin.post('/v1/table/none/query', { k: 1 }), tableNotFound);
  });

  test('to no caller who may read', async () => {
    const reader = await server.caller('reader');
    assert.equal((await reader.post(`${documents.at}/query`, { k: 1 })).status, 200);
  });
});
