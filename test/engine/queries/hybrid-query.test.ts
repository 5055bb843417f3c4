import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Dictionary, Int32, Utf8, tableFromIPC, tableToIPC } from 'apache-arrow';
import type { Table } from 'apache-arrow';
import { jsonLines } from '../../../src/arrow/results/json-pieces.ts';
import { arrowFile, frame } from '../../../src/arrow/results/result-framing.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import { loadNative } from '../../../src/engine/native/native.ts';
import type { NativeTable } from '../../../src/engine/native/native.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import type { Query } from '../../../src/model/query.ts';
import type { TableState } from '../../../src/model/table.ts';
import { PERSON, optional, toTable, vectorType } from '../sample-tables.ts';
import { ENGINE_LIMITS, latest, openApart, openTestEngine, sql, toQuery, toStream } from '../test-engine.ts';

const NO_TIMEOUT = { seconds: undefined, signal: () => new AbortController().signal };
const ROWS = 400;
const FRAGMENTS = 4;

/** No two rows are equally far from a vector, or have the same score for a word. */
function toArticles(first: number, count: number): Table {
  const ids = Array.from({ length: count }, (_, index) => first + index);
  const mixed = (id: number): number => (id * 7919) % 4001;
  return toTable({
    id: [new Int32(), ids],
    body: [new Utf8(), ids.map((id) => `${id % 3 === 0 ? 'amber' : 'stone'} ${'pad '.repeat(mixed(id) % 397)}${id}`)],
    vec: [vectorType(2), ids.map((id) => [mixed(id), 0])],
    kind: [new Dictionary(new Utf8(), new Int32(), 1), ids.map((id) => `kind ${first} ${id % 5}`)],
    person: [PERSON, ids.map((id) => (id % 4 === 0 ? null : { age: id, 'nick.name': `n${id}`, home: null }))],
  });
}

interface Hit {
  readonly id: number;
  readonly _distance?: number | null;
  readonly _score?: number | null;
  readonly _relevance_score?: number;
}

describe('a search by vector and words', () => {
  let engine: Engine;
  let table: TableState;
  let apart: NativeTable;
  const closing: (() => unknown)[] = [];
  const suite = { after: (work: () => unknown) => void closing.push(work) };
  const NAMES = { kind: 'names', paths: [['id'], ['body'], ['person']] } as const;
  const TEXT = { kind: 'text', terms: 'amber', columns: [['body']] } as const;
  const ID = { kind: 'names', paths: [['id']] } as const;

  before(async () => {
    const fixture = await openTestEngine(suite, { limits: { ...ENGINE_LIMITS, resultBatchBytes: 4096 } });
    engine = fixture.engine;
    table = latest(fixture.location());
    const part = ROWS / FRAGMENTS;
    await engine.createTable(table.location, await toStream(toArticles(0, part)), {});
    apart = await openApart(suite, table);
    for (let first = part; first < ROWS; first += part) {
      await apart.add(Buffer.from(tableToIPC(toArticles(first, part), 'file')), 'append');
    }
    await apart.createIndex(loadNative().Index.fts(true), 'body');
  });
  after(async () => {
    for (const close of closing) await close();
  });

  async function read(query: Partial<Query>): Promise<Table> {
    const pieces = [];
    const result = await engine.rows.query(table, toQuery(query), NO_TIMEOUT);
    for await (const piece of frame(arrowFile(), result)) pieces.push(piece);
    return tableFromIPC(Buffer.concat(pieces));
  }

  const toHits = (rows: Table): readonly Hit[] => rows.toArray().map((row) => row.toJSON());
  const toNames = ({ schema }: Table): readonly string[] => schema.fields.map(({ name }) => name);

  /** As the engine itself runs it: without distances and scores, but in the same order. */
  async function readOwn({
    k = 10,
    offset,
    filter,
    prefilter = true,
    vectors,
  }: Partial<Query>): Promise<readonly Hit[]> {
    const query = apart.query().nearestTo(new Float32Array(vectors?.[0] ?? []));
    query.column('vec');
    query.fullTextSearch({ query: 'amber', columns: ['body'] });
    query.limit(k);
    query.selectColumns(['id']);
    if (offset !== undefined) query.offset(offset);
    if (filter !== undefined) query.onlyIf(filter);
    if (!prefilter) query.postfilter();
    const batches = await query.execute(10_000, null);
    const hits: Hit[] = [];
    for (let file = await batches.next(); file !== null; file = await batches.next()) {
      hits.push(...toHits(tableFromIPC(file)));
    }
    return hits;
  }

  const VARIANTS: readonly (readonly [title: string, query: Partial<Query>])[] = [
    ['', {}],
    [' with an offset', { offset: 3 }],
    [' with a filter', { filter: sql('id % 2 = 0') }],
    [' with a filter after the search', { filter: sql('id % 2 = 0'), prefilter: false, k: 10 }],
    [
      ' with a filter after the search, and an offset',
      { filter: sql('id % 5 > 0'), prefilter: false, k: 10, offset: 4 },
    ],
    [' with a filter that leaves little', { filter: sql('id < 3') }],
    [' with a filter that leaves nothing', { filter: sql('id < 0') }],
  ];
  for (const [title, query] of VARIANTS) {
    test(`finds what the engine finds, in its order${title}`, async () => {
      for (let round = 0; round < 25; round += 1) {
        // Up to 10 rows of each search, the order of equal relevances is fixed.
        const wanted = { vectors: [[160 * round + 0.3, 0]], fullText: TEXT, k: 1 + (round % 10), ...query };
        const found = toHits(await read({ ...wanted, projection: ID }));
        const own = await readOwn(wanted);
        const toRank = ({ id, _relevance_score }: Hit): object => ({ id, _relevance_score });
        assert.deepEqual(found.map(toRank), own.map(toRank));
      }
    });

    test(`has the distances and scores of both searches${title}`, async () => {
      for (const k of [5, 60]) {
        const search = { k, projection: ID, ...query };
        const vector = { vectors: [[1000.3, 0]] };
        const distances = new Map(toHits(await read({ ...search, ...vector })).map((hit) => [hit.id, hit._distance]));
        const fused = toHits(await read({ ...search, ...vector, fullText: TEXT }));
        const { filter, ...rest } = search;
        const isAfter = search.prefilter === false;
        const words = await read({ ...rest, ...(filter === undefined || isAfter ? {} : { filter }), fullText: TEXT });
        const scores = new Map(toHits(words).map((hit) => [hit.id, hit._score]));
        for (const { id, _distance, _score } of fused) {
          assert.equal(_distance, distances.get(id) ?? null);
          assert.equal(_score, scores.get(id) ?? null);
          assert.ok(_distance !== null || _score !== null);
        }
        if (k === 60 && filter === undefined)
          assert.ok(fused.some((hit) => hit._distance !== null && hit._score !== null));
      }
    });
  }

  const SEARCH = { vectors: [[1000.3, 0]], fullText: TEXT };

  test('returns whole rows, also in several batches and of several fragments', async () => {
    const all = new Map((await read({ projection: NAMES })).toArray().map((row) => [row.id, JSON.stringify(row)]));
    const found = await read({ ...SEARCH, k: 300, projection: NAMES });
    assert.equal(found.numRows, 300);
    assert.ok(found.batches.length > 1);
    for (const row of found.toArray()) {
      const { _distance, _score, _relevance_score, ...columns } = row.toJSON();
      assert.equal(JSON.stringify(columns), all.get(row.id));
    }
    const relevances = toHits(found).map((hit) => hit._relevance_score ?? 0);
    assert.deepEqual(
      relevances,
      relevances.toSorted((left, right) => right - left),
    );
  });

  test('returns columns whose dictionaries differ between fragments', async () => {
    const found = await read({ ...SEARCH, k: 50 });
    assert.equal(found.numRows, 50);
    const part = ROWS / FRAGMENTS;
    for (const { id, kind } of found.toArray()) assert.equal(kind, `kind ${id - (id % part)} ${id % 5}`);
  });

  test('returns computed texts in the layout of views', async () => {
    const columns = [
      ['id', sql('id')],
      ['long', sql("arrow_cast(body, 'Utf8View')")],
      ['short', sql("arrow_cast(person['nick.name'], 'Utf8View')")],
    ] as const;
    for (const k of [5, 200]) {
      const wanted = { ...SEARCH, k, projection: { kind: 'aliases', columns } } as const;
      const lines = [];
      for await (const line of frame(jsonLines(), await engine.rows.query(table, toQuery(wanted), NO_TIMEOUT))) {
        lines.push(line);
      }
      const rows = Buffer.concat(lines).toString().trimEnd().split('\n');
      const bodies = (await read({ projection: NAMES })).toArray();
      const bodyOf = new Map<number, string>(bodies.map(({ id, body }) => [id, body]));
      assert.equal(rows.length, k);
      for (const { id, long, short } of rows.map((row) => JSON.parse(row))) {
        assert.equal(long, bodyOf.get(id));
        assert.equal(short, id % 4 === 0 ? null : `n${id}`);
      }
    }
  });

  test('has the columns of a vector search, then what it adds', async () => {
    const projections: readonly Partial<Query>[] = [
      {},
      { projection: NAMES },
      { projection: { kind: 'names', paths: [['person', 'nick.name'], ['person', 'home', 'street'], ['id']] } },
      {
        projection: {
          kind: 'aliases',
          columns: [
            ['twice', sql('id * 2')],
            ['kind', sql('upper(body)')],
          ],
        },
      },
    ];
    for (const projection of projections) {
      for (const filter of [sql('id >= 0'), sql('id < 0')]) {
        const near = (await read({ vectors: SEARCH.vectors, k: 3, filter, ...projection })).schema;
        const fused = (await read({ ...SEARCH, k: 3, filter, ...projection })).schema;
        const columns = near.fields.slice(0, -1);
        assert.deepEqual(fused.fields.slice(0, -3).map(String), columns.map(String));
        assert.deepEqual(
          fused.fields.slice(-3).map(String),
          [optional('_distance', near.fields.at(-1)?.type), optional('_score', near.fields.at(-1)?.type)]
            .map(String)
            .concat('_relevance_score: Float32'),
        );
      }
    }
  });

  test('has row ids where they are asked for, and measures where they are named', async () => {
    const added = ['_distance', '_score', '_rowid', '_relevance_score'];
    for (const k of [0, 4]) {
      const ids = await read({ ...SEARCH, k, projection: ID, withRowId: true });
      assert.deepEqual(toNames(ids), ['id', ...added]);
      const named = await read({
        ...SEARCH,
        k,
        projection: { kind: 'names', paths: [['_score'], ['_rowid'], ['id']] },
      });
      assert.deepEqual(toNames(named), ['_score', '_rowid', 'id', '_distance', '_relevance_score']);
      assert.equal(named.numRows, k);
    }
    const rows = (await read({ ...SEARCH, k: 4, projection: ID, withRowId: true })).toArray();
    for (const { id, _rowid } of rows) {
      assert.equal((await read({ filter: sql(`_rowid = ${_rowid}`) })).getChild('id')?.get(0), id);
    }
  });

  test('refuses unknown columns, aliases of the columns that it adds, and several vectors', async () => {
    const bad: readonly (readonly [Partial<Query>, RegExp])[] = [
      [{ projection: { kind: 'names', paths: [['idd']] } }, /no field "idd"/],
      [{ projection: { kind: 'aliases', columns: [['_score', sql('id')]] } }, /_score/],
      [
        {
          vectors: [
            [1, 2],
            [3, 4],
          ],
        },
        /one vector/,
      ],
    ];
    for (const [query, message] of bad) {
      for (const filter of [sql('id >= 0'), sql('id < 0')]) {
        await assert.rejects(
          read({ ...SEARCH, k: 3, filter, ...query }),
          (error) => error instanceof ServiceError && message.test(error.message),
        );
      }
    }
  });
});
