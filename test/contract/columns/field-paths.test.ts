import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Index } from '@lancedb/lancedb';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { nestedStream } from '../contract-tables.ts';
import { analyze, planOf } from '../plan-tree.ts';
import { assertRefused, badRequest, columnNotFound } from '../refusal.ts';

const ROWS = 12;
const MALFORMED = ['.', 'a.', '.a', 'a..b', '`a', 'a`', 'a`b', '`a`b', '``a', '`a`.'];

/** Two top-level fields, `id` and `label`, and the struct `place` with x, `x.y`, `b``t`, label, deep{leaf, word} and vec. */
let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table({ stream: nestedStream(ROWS) });
  await (await server.embedded(table)).createIndex('place.label', { config: Index.fts() });
});
after(async () => server.close());

const update = async (body: object): Promise<Answer> => server.admin.post(`${table.at}/update`, body);
const describeField = async (path: string): Promise<Answer> =>
  server.admin.post(`${table.at}/update_field_metadata`, { updates: [{ path, metadata: {} }] });
/** How many rows a filter finds. */
const found = async (filter: string): Promise<number> => (await planOf(server.admin, table, { filter })).rows;

/** The six places in which the contract has field paths, each with a path in it. */
const PLACES: Readonly<Record<string, (path: string) => Promise<Answer>>> = {
  'the field path of an update': async (path) => update({ updates: [[path, 'NULL']], predicate: 'id < 0' }),
  'the vector column': async (vector_column) =>
    analyze(server.admin, table, { vector: { single_vector: [1, 1] }, vector_column, k: 1 }),
  'the column names of a query': async (path) =>
    analyze(server.admin, table, { columns: { column_names: [path] }, k: 1 }),
  'the path of a field metadata update': describeField,
  'the columns of a full-text query': async (path) =>
    analyze(server.admin, table, { full_text_query: { string_query: { query: 'inner', columns: [path] } } }),
};

/** Places inside SQL, where more than a path may stand. */
const SQL_PLACES: Readonly<Record<string, (path: string) => Promise<Answer>>> = {
  'the filter': async (path) => analyze(server.admin, table, { filter: `${path} IS NOT NULL` }),
  'the predicate': async (path) =>
    update({ updates: [['label', 'label']], predicate: `${path} IS NOT NULL AND id < 0` }),
  'an expression of an update': async (path) =>
    update({ updates: [['label', `CAST(${path} AS STRING)`]], predicate: 'id < 0' }),
  'an expression of a column alias': async (path) =>
    analyze(server.admin, table, { columns: { column_aliases: { a: path } }, k: 1 }),
};

for (const [place, ask] of Object.entries(PLACES)) {
  suite(`in ${place}`, () => {
    const good =
      { 'the vector column': 'place.vec', 'the columns of a full-text query': 'place.label' }[place] ??
      'place.deep.leaf';
    const [parent = ''] = good.split('.');

    test('nested fields are separated by dots', async () => {
      const answer = await ask(good);
      assert.equal(answer.status, 200, answer.text);
    });

    test('every segment may be quoted with backticks', async () => {
      const answer = await ask(
        good
          .split('.')
          .map((segment) => `\`${segment}\``)
          .join('.'),
      );
      assert.equal(answer.status, 200, answer.text);
    });

    test('a quoted path with a dot in it is one segment, and not two', async () => {
      assertRefused(await ask(`\`${good}\``), columnNotFound);
    });

    test('a bare leaf name finds a top-level field only: else 404 TableColumnNotFound', async () => {
      for (const leaf of ['leaf', 'x', 'vec', '`b``t`', '`x.y`']) assertRefused(await ask(leaf), columnNotFound);
    });

    test('a path that is not there is a 404 TableColumnNotFound with the canonical path', async () => {
      assertRefused(await ask(`\`${parent}\`.\`nope\``), { ...columnNotFound, detail: /"place\.nope"/ });
      assertRefused(await ask('`place`.`no.pe`'), { ...columnNotFound, detail: /"place\.`no\.pe`"/ });
      assertRefused(await ask('`place`.`no``pe`'), { ...columnNotFound, detail: /"place\.`no``pe`"/ });
      assertRefused(await ask('id.nope'), { ...columnNotFound, detail: /"id\.nope"/ });
    });

    test('names are matched exactly: another case is another name', async () => {
      assertRefused(await ask(good.toUpperCase()), columnNotFound);
    });

    test('a path that does not parse is a 400 InvalidInput', async () => {
      for (const path of [...MALFORMED, '']) assertRefused(await ask(path), badRequest());
    });

    test('a path of more than 64 segments, or of more than 4096 characters, is a 400', async () => {
      assertRefused(await ask(Array(65).fill('a').join('.')), badRequest(/64 segments/));
      assertRefused(await ask('a'.repeat(4097)), badRequest(/4,096 characters/));
    });
  });
}

suite('a literal dot, and a doubled backtick, in a quoted segment', () => {
  test('address fields of those names in updates', async () => {
    const made = await server.table({ stream: nestedStream(3) });
    const updates = [
      ['place.`x.y`', 'place.`x.y` + 1'],
      ['`place`.`b``t`', '7'],
    ];
    const answer = await server.admin.post(`${made.at}/update`, { updates });
    assert.equal(answer.status, 200, answer.text);
    const places = (await server.rows(made)).map((row) => row['place']);
    assert.deepEqual(
      places.map((place) => place && [place['x.y'], place['b`t']]),
      [[1, 7], null, [21, 7]],
    );
  });

  test('address fields of those names in column names and field metadata', async () => {
    for (const path of ['place.`x.y`', 'place.`b``t`']) {
      assert.equal((await PLACES['the column names of a query']?.(path))?.status, 200);
      assert.deepEqual(Object.keys((await describeField(path)).json.fields), [path]);
    }
  });

  test('address fields of those names in filters and predicates', async () => {
    assert.equal(await found('place.`x.y` = 20'), 1);
    assert.equal(await found('place.`b``t` = 200'), 1);
    assert.equal(await found('`place`.`x.y` >= 0'), ROWS - ROWS / 3);
    const answer = await update({ updates: [['label', 'label']], predicate: 'place.`x.y` = 20 OR place.`b``t` = 300' });
    assert.equal(answer.json.updated_rows, 2, answer.text);
  });

  test('address fields of those names in expressions', async () => {
    const made = await server.table({ stream: nestedStream(3) });
    const answer = await server.admin.post(`${made.at}/update`, {
      updates: [['id', 'place.`x.y` + place.`b``t`']],
      predicate: 'id = 2',
    });
    assert.equal(answer.status, 200, answer.text);
    assert.ok((await server.rows(made)).some((row) => row['id'] === 220));
  });
});

for (const [place, ask] of Object.entries(SQL_PLACES)) {
  suite(`in ${place}`, () => {
    test('nested fields are separated by dots, and segments may be quoted with backticks', async () => {
      for (const path of [
        'place.x',
        'place.deep.leaf',
        '`place`.`x`',
        'place.`x.y`',
        '`place`.deep.`word`',
        '`label`',
        'label',
      ]) {
        const answer = await ask(path);
        assert.equal(answer.status, 200, `${path}: ${answer.text}`);
      }
    });

    test('a bare leaf name, or a name that is nowhere, is a 404 TableColumnNotFound', async () => {
      for (const path of ['leaf', 'nope', '`nope`', 'place.nope', 'place.deep.nope', 'nope.x'])
        assertRefused(await ask(path), columnNotFound);
    });

    test('a path that does not parse is a 400', async () => {
      for (const path of ['place.', 'place..x', '`place', 'place.`x', '.x'])
        assertRefused(await ask(path), badRequest());
    });
  });
}

suite('a bare name in SQL', () => {
  test('is the top-level field, also where a nested one has the same name', async () => {
    assert.equal(await found("label = 'top 3'"), 1);
    assert.equal(await found("label = 'inner 3'"), 0);
    assert.equal(await found("place.label = 'inner 3'"), 1);
  });
});

async function searchIn(vector_column: string, single_vector: readonly number[]): Promise<Answer> {
  return analyze(server.admin, table, { vector: { single_vector }, vector_column });
}

suite('a vector inside a struct', () => {
  test('is found by its path, and by its dimension when it is the only one', async () => {
    const byPath = await planOf(server.admin, table, {
      vector: { single_vector: [1, 1] },
      vector_column: 'place.vec',
      k: 3,
    });
    assert.equal(byPath.rows, 3);
    assert.equal((await planOf(server.admin, table, { vector: { single_vector: [1, 1] }, k: 3 })).rows, 3);
  });

  test('that is no vector, or of another dimension, is named by its canonical path', async () => {
    assertRefused(await searchIn('`place`.`x.y`', [1, 1]), badRequest(/"place\.`x\.y`"/));
    assertRefused(await searchIn('`place`.`vec`', [1, 1, 1]), badRequest(/"place\.vec"/));
  });
});
