import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Dictionary, Field, Int8, LargeUtf8, List, Struct } from 'apache-arrow';
import type { DataType } from 'apache-arrow';
import { Int32, Utf8, count, streamOf } from '../contract-tables.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--engine-merge-bytes-max=1MiB'] });
});
after(async () => server.close());

type Query = [name: string, value: string][];

const UPSERT: Query = [
  ['when_matched_update_all', 'true'],
  ['when_not_matched_insert_all', 'true'],
];
const ON_ID: Query = [['on', 'id']];

/** `id` and `name`. */
function people(ids: readonly (number | null)[], names: readonly string[] = ids.map((id) => `new ${id}`)): Uint8Array {
  return streamOf({ id: { type: new Int32(), values: ids }, name: { type: new Utf8(), values: names } });
}

async function made(): Promise<MadeTable> {
  return server.table({ stream: people([1, 2, 3], ['a', 'b', 'c']) });
}

async function merge(
  table: Pick<MadeTable, 'at'>,
  body: Uint8Array,
  query: Query = [...ON_ID, ...UPSERT],
  client: Client = server.admin,
): Promise<Answer> {
  return client.arrow(`${table.at}/merge_insert?${new URLSearchParams(query).toString()}`, body);
}

async function names(table: MadeTable): Promise<readonly string[]> {
  return (await server.rows(table)).map((row) => row['name']);
}

suite('a merge', () => {
  test('answers with all counts, the version and the record of the commit', async () => {
    const table = await made();
    const answer = await merge(table, people([2, 4]));
    assert.equal(answer.status, 200, answer.text);
    const { context: _context, transaction_id, ...counts } = answer.json;
    assert.deepEqual(counts, {
      version: 2,
      num_inserted_rows: 1,
      num_updated_rows: 1,
      num_deleted_rows: 0,
      num_attempts: 1,
      num_rows: 2,
    });
    const record = await server.catalog.transactions.find(transaction_id);
    assert.deepEqual([record?.operation, record?.version], ['merge_insert_into_table', 2]);
    assert.deepEqual(await names(table), ['a', 'new 2', 'c', 'new 4']);
  });

  test('updates only, inserts only, deletes only', async () => {
    const outcomes: Readonly<Record<string, readonly string[]>> = {
      when_matched_update_all: ['a', 'new 2', 'c'],
      when_not_matched_insert_all: ['a', 'b', 'c', 'new 4'],
      when_not_matched_by_source_delete: ['b'],
    };
    for (const [flag, expected] of Object.entries(outcomes)) {
      const table = await made();
      assert.equal((await merge(table, people([2, 4]), [...ON_ID, [flag, 'true']])).status, 200);
      assert.deepEqual(await names(table), expected);
    }
  });

  test('updates and deletes where the filters say so', async () => {
    const table = await made();
    const answer = await merge(table, people([1, 2]), [
      ...ON_ID,
      ...UPSERT,
      ['when_matched_update_all_filt', "target.name = 'a' AND source.id < 10"],
      ['when_not_matched_by_source_delete', 'true'],
      ['when_not_matched_by_source_delete_filt', 'id = 3'],
    ]);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(await names(table), ['new 1', 'b']);
    assert.equal(answer.json.num_deleted_rows, 1);
  });

  test('matches on several columns when on is repeated', async () => {
    const table = await made();
    const { json } = await merge(table, people([1, 2], ['a', 'other']), [['on', 'id'], ['on', 'name'], ...UPSERT]);
    assert.deepEqual([json.num_inserted_rows, json.num_updated_rows], [1, 1]);
  });

  test('inserts rows whose key is null, which match none', async () => {
    const table = await made();
    const { json } = await merge(table, people([null, null, 2]));
    assert.deepEqual([json.num_inserted_rows, json.num_updated_rows], [2, 1]);
    assert.equal((await names(table)).length, 5);
  });

  test('into a branch leaves the main one alone', async () => {
    const table = await made();
    await (await (await server.embedded(table)).branches()).create('trial');
    assert.equal((await merge(table, people([9]), [...ON_ID, ...UPSERT, ['branch', 'trial']])).status, 200);
    assert.equal((await names(table)).length, 3);
  });

  test('takes flags in any case, a time that suffices, and a use_lsm that means nothing', async () => {
    const table = await made();
    const query: Query = [
      ...ON_ID,
      ['when_matched_update_all', 'True'],
      ['use_index', 'FALSE'],
      ['timeout', '30s'],
      ['use_lsm', 'false'],
    ];
    assert.equal((await merge(table, people([2]), query)).status, 200);
  });

  test('into a table that was only declared makes it from the rows', async () => {
    const at = `/v1/table/${server.name()}`;
    await server.admin.post(`${at}/declare`, {});
    const { status, json } = await merge({ at }, people([1, 2]));
    assert.deepEqual([status, json.num_inserted_rows, json.num_updated_rows], [200, 2, 0]);
  });

  test('into a table that was only declared inserts nothing unless it is asked to', async () => {
    const at = `/v1/table/${server.name()}`;
    await server.admin.post(`${at}/declare`, {});
    for (const flag of ['when_matched_update_all', 'when_not_matched_by_source_delete']) {
      assertRefused(await merge({ at }, people([1, 2]), [...ON_ID, [flag, 'true']]), tableNotFound);
    }
    const { json } = await server.admin.post(`${at}/describe`, { check_declared: true });
    assert.equal(json.is_only_declared, true);
  });

  test('into a table that was only declared refuses keys that the rows do not have', async () => {
    const at = `/v1/table/${server.name()}`;
    await server.admin.post(`${at}/declare`, {});
    assertRefused(await merge({ at }, people([1]), [['on', 'missing'], ...UPSERT]), columnNotFound);
    assert.equal((await merge({ at }, people([1]))).status, 200);
  });

  test('encodes the rows as the table does', async () => {
    const word = new Dictionary(new Utf8(), new Int8());
    const rows = (type: DataType, values: readonly unknown[]): Uint8Array =>
      streamOf({
        id: { type: new Int32(), values: count(values.length) },
        word: { type, values },
      });
    type Case = readonly [table: DataType, given: DataType, toValue: (text: string | null) => unknown];
    const TYPES: readonly Case[] = [
      [word, new Utf8(), (text) => text],
      [word, new Dictionary(new Utf8(), new Int32()), (text) => text],
      [new Utf8(), word, (text) => text],
      [new LargeUtf8(), new Utf8(), (text) => text],
      [
        new Struct([new Field('text', word, true)]),
        new Struct([new Field('text', new Utf8(), true)]),
        (text) => ({ text }),
      ],
      [new List(new Field('item', word, true)), new List(new Field('item', new Utf8(), true)), (text) => [text, 'a']],
    ];
    for (const [type, given, toValue] of TYPES) {
      const table = await server.table({ stream: rows(type, ['a', 'b'].map(toValue)) });
      const expected = ['a', 'z', null, 'a'].map(toValue);
      const answer = await merge(table, rows(given, expected));
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual([answer.json.num_updated_rows, answer.json.num_inserted_rows], [2, 2]);
      const stored = (await server.rows(table)).map((row) => row['word']);
      assert.deepEqual(stored, expected);
    }
    const long = await server.table({ stream: rows(new Dictionary(new Utf8(), new Int32()), ['a']) });
    const words = count(20_000).map((row) => `w${row}`);
    const answer = await merge(long, rows(new Utf8(), words));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(
      (await server.rows(long)).map((row) => row['word']),
      words,
    );
    const table = await server.table({ stream: rows(word, ['a']) });
    const many = rows(
      new Utf8(),
      count(200).map((row) => `w${row}`),
    );
    assertRefused(await merge(table, many), { status: 400, code: CODE.schema, detail: /word/ });
    assert.deepEqual(await server.rows(table), [{ id: 0, word: 'a' }]);
  });

  test('answers the LanceDB family in the same way', async () => {
    const table = await made();
    const query = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true&novelty=1';
    const headers = { 'x-request-timeout-ms': '30000' };
    const answer = await server.admin.arrow(`${table.at}/merge_insert/?${query}`, people([2, 4]), headers);
    assert.deepEqual([answer.status, answer.json.num_rows], [200, 2]);
  });

  test('never doubles a key that several merges and inserts bring at once', async () => {
    const table = await made();
    const merges = count(8).map(async (round) =>
      merge(
        table,
        people(
          [7, 8, 9],
          count(3).map(() => `round ${round}`),
        ),
      ),
    );
    for (const answer of await Promise.all(merges)) assert.equal(answer.status, 200, answer.text);
    const ids = (await server.rows(table)).map((row) => row['id']);
    assert.deepEqual(ids, [1, 2, 3, 7, 8, 9]);
  });
});

suite('a merge is refused and changes nothing', () => {
  const CASES: Readonly<Record<string, readonly [Uint8Array, Query, Parameters<typeof assertRefused>[1]]>> = {
    'without on': [people([1]), UPSERT, badRequest(/on/)],
    'with an empty on': [people([1]), [['on', ''], ...UPSERT], badRequest(/path/)],
    'with an on that does not parse': [people([1]), [['on', 'a..b'], ...UPSERT], badRequest(/a\.\.b/)],
    'with an on that the table lacks': [people([1]), [['on', 'key'], ...UPSERT], columnNotFound],
    'that would do nothing': [people([1]), ON_ID, badRequest(/change nothing/)],
    'with a flag that is neither true nor false': [
      people([1]),
      [...ON_ID, ['when_matched_update_all', 'yes']],
      badRequest(/when_matched_update_all/),
    ],
    'with a filter for what it does not do': [
      people([1]),
      [...ON_ID, ['when_not_matched_insert_all', 'true'], ['when_matched_update_all_filt', 'target.id = 1']],
      badRequest(/when_matched_update_all_filt/),
    ],
    'with text behind a filter': [
      people([1]),
      [...ON_ID, ...UPSERT, ['when_matched_update_all_filt', 'target.id = 1) OR (true']],
      badRequest(/when_matched_update_all_filt/),
    ],
    'with a column of unclear origin in the filter': [
      people([1]),
      [...ON_ID, ...UPSERT, ['when_matched_update_all_filt', 'id = 1']],
      badRequest(/target\./),
    ],
    'with an unknown column in the filter': [
      people([1]),
      [...ON_ID, ...UPSERT, ['when_matched_update_all_filt', 'target.nothing = 1']],
      columnNotFound,
    ],
    'with two rows for one key of the table': [people([2, 2]), [...ON_ID, ...UPSERT], badRequest(/each key once/)],
    'with rows of another schema': [sampleStream(2), [...ON_ID, ...UPSERT], badRequest(/"price"/, CODE.schema)],
    'with a timeout that is no length of time': [
      people([1]),
      [...ON_ID, ...UPSERT, ['timeout', 'soon']],
      badRequest(/30s/),
    ],
    'when its time is over': [
      people([1]),
      [...ON_ID, ...UPSERT, ['timeout', '0ms']],
      { status: 408, code: CODE.invalidInput },
    ],
    'with a body that stops early': [people([1]).subarray(0, 200), [...ON_ID, ...UPSERT], badRequest()],
    'with more rows than memory may hold at once': [
      people(count(200_000)),
      [...ON_ID, ...UPSERT],
      { status: 413, code: CODE.invalidInput, detail: /1 MiB.*several merges/ },
    ],
  };
  for (const [name, [body, query, expected]] of Object.entries(CASES)) {
    test(name, async () => {
      const table = await made();
      assertRefused(await merge(table, body, query), expected);
      assert.deepEqual(await names(table), ['a', 'b', 'c']);
      assert.equal(await (await server.embedded(table)).version(), 1);
    });
  }

  test('without a credential, without the permission, where it is hidden or absent', async () => {
    const table = await made();
    const query = [...ON_ID, ...UPSERT];
    assertRefused(await merge(table, people([1]), query, server.stranger()), unauthenticated);
    assertRefused(await merge(table, people([1]), query, await server.caller('reader')), forbidden);
    assertRefused(await merge(table, people([1]), query, await server.caller('writer', ['elsewhere'])), tableNotFound);
    assertRefused(await merge({ at: '/v1/table/absent' }, people([1]), query), tableNotFound);
    assert.deepEqual(await names(table), ['a', 'b', 'c']);
  });
});
