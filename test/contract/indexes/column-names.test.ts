import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, Struct, Utf8, count, optional, streamOf, vectorType } from '../contract-tables.ts';
import type { ColumnSpec } from '../contract-tables.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

/** As many as are measured. */
const ROWS = count(1000);

/** The first row is nearest to the first axis by the cosine, and farthest by L2. */
const VECTORS: ColumnSpec = {
  type: vectorType(4),
  values: ROWS.map((row) => (row === 0 ? [100, 0, 0, 0] : [1, row / 1000, 0, 0])),
};
const TEXTS: ColumnSpec = { type: new Utf8(), values: ROWS.map((row) => `some words of a longer note ${row}`) };

/** The engine quotes these in the list of indexes. */
const NAMES = ['my vec', 'a-b', "it's", 'a,b', 'q"x', 'p(x)', 'ü:😀'] as const;

/** Paths as in requests, with the names. */
const PATHS: readonly (readonly [path: string, names: readonly string[]])[] = [
  ...NAMES.map((name) => [name, [name]] as const),
  ['` x `', [' x ']],
  ['outer.my vec', ['outer', 'my vec']],
  ['my outer.vec', ['my outer', 'vec']],
  ['outer.`a.b`', ['outer', 'a.b']],
  ['outer.`a``b`', ['outer', 'a`b']],
];

async function makeTable([name = '', inner]: readonly string[], column: ColumnSpec): Promise<MadeTable> {
  const id = { type: new Int32(), values: ROWS };
  const { type, values } = column;
  const nested = inner !== undefined && {
    type: new Struct([optional(inner, type)]),
    values: values.map((value) => ({ [inner]: value })),
  };
  return server.table({ stream: streamOf({ id, [name]: nested || column }) });
}

async function post(made: MadeTable, operation: string, body: object): Promise<any> {
  const answer = await server.admin.post(`${made.at}/${operation}`, body, { accept: 'application/json' });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

async function findNearest(made: MadeTable, parameters: object): Promise<number> {
  const body = { vector: { single_vector: [1, 0, 0, 0] }, k: 1, columns: { column_names: ['id'] }, ...parameters };
  return (await post(made, 'query', body)).rows[0].id;
}

suite('an index of vectors', () => {
  for (const [path, names] of PATHS) {
    test(`of ${path} is listed, measured, searched and replaced under this name`, async () => {
      const made = await makeTable(names, VECTORS);
      const body = { index_type: 'IVF_FLAT', distance_type: 'cosine', name: 'vectors', recall_target: 0.9 };
      const { search } = await post(made, 'create_index', { column: path, ...body });
      assert.ok(search.recall >= 0.9);
      const [index] = (await post(made, 'index/list', {})).indexes;
      assert.deepEqual(index.columns, [path]);

      for (const vectorColumn of [{}, { vector_column: path }]) {
        for (const exact of [{}, { bypass_vector_index: true }, { recall_target: 1 }]) {
          assert.equal(await findNearest(made, { ...vectorColumn, ...exact }), 0);
        }
      }
      // Without a type, the distance is kept.
      await post(made, 'create_index', { column: path, name: 'vectors' });
      assert.equal((await post(made, 'index/vectors/stats', {})).distance_type, 'cosine');
      await post(made, 'create_index', { column: path, ...body, distance_type: 'dot' });
      assert.equal((await post(made, 'index/vectors/stats', {})).distance_type, 'dot');
    });
  }
});

suite('an index of texts', () => {
  for (const [path, names] of PATHS) {
    test(`of ${path} is found under this name, and without one`, async () => {
      const made = await makeTable(names, TEXTS);
      await post(made, 'create_index', { column: path, index_type: 'FTS', name: 'texts' });
      await post(made, 'create_index', { column: path, name: 'texts' });
      const match = { terms: 'note', column: path };
      for (const search of [
        { string_query: { query: 'note' } },
        { string_query: { query: 'note', columns: [path] } },
        { structured_query: { query: { match } } },
        { structured_query: { query: { match: { terms: 'note' } } } },
      ]) {
        const { rows } = await post(made, 'query', {
          full_text_query: search,
          k: 10,
          columns: { column_names: ['id'] },
        });
        assert.equal(rows.length, 10, JSON.stringify(search));
      }
    });
  }
});
