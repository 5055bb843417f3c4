import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { DateDay, TimeMillisecond, TimestampMillisecond, tableFromArrays, tableToIPC } from 'apache-arrow';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import {
  Float32,
  Float64,
  Int32,
  List,
  Uint8,
  Utf8,
  count,
  documentStream,
  nestedStream,
  optional,
  streamOf,
  vectorType,
} from '../contract-tables.ts';
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
let table: MadeTable;
let empty: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table({ stream: wideStream() });
  empty = await server.table({ stream: wideStream(0) });
});
after(async () => server.close());

/** One column for each kind of index. */
function wideStream(rows = 300): Uint8Array {
  const spread = (row: number, index: number): number => ((row * 7919 + index * 104_729) % 1000) / 1000;
  return streamOf({
    id: { type: new Int32(), values: count(rows) },
    word: { type: new Utf8(), values: count(rows).map((row) => `word ${row}`) },
    tags: { type: new List(optional('item', new Utf8())), values: count(rows).map((row) => [`t${row % 3}`]) },
    vec: { type: vectorType(16), values: count(rows).map((row) => count(16).map((index) => spread(row, index))) },
    odd: { type: vectorType(3), values: count(rows).map((row) => count(3).map((index) => spread(row, index))) },
    bits: { type: vectorType(8, new Uint8()), values: count(rows).map((row) => count(8).map(() => row % 256)) },
    several: {
      type: new List(optional('item', vectorType(8, new Float32()))),
      values: count(rows).map((row) => [count(8).map((index) => spread(row, index) + 0.1)]),
    },
  });
}

function listOf(type: string): object {
  return { type: 'list', fields: [{ name: 'item', type: { type }, nullable: true }] };
}

async function create(body: object, made = table, headers = {}): Promise<Answer> {
  return server.admin.post(`${made.at}/create_index`, body, headers);
}

async function created(body: object, made = table): Promise<Answer> {
  const answer = await create(body, made);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function listed(made = table): Promise<ReadonlyMap<string, any>> {
  const answer = await server.admin.post(`${made.at}/index/list`, {});
  assert.equal(answer.status, 200, answer.text);
  return new Map(answer.json.indexes.map((index: { index_name: string }) => [index.index_name, index]));
}

suite('create_index without a type', () => {
  const chosen: readonly (readonly [column: string, type: string, reason: RegExp])[] = [
    ['vec', 'IVF_FLAT', /fit into the index cache/],
    ['bits', 'IVF_FLAT', /bytes/],
    ['id', 'BTREE', /300 distinct values/],
    ['word', 'BTREE', /distinct values/],
    ['tags', 'LABEL_LIST', /lists/],
  ];
  for (const [column, type, reason] of chosen) {
    test(`chooses ${type} for ${column}, and says why`, async () => {
      const { json } = await created({ column, name: `chosen_${column}` });
      assert.equal(json.index_type, type);
      assert.match(json.index_type_reason, reason);
      assert.equal((await listed()).get(`chosen_${column}`).index_type, type);
    });
  }

  test('chooses full text for texts of several words, and a bitmap for few different values', async () => {
    const made = await server.table({
      stream: streamOf({
        note: { type: new Utf8(), values: count(300).map((row) => `some words of a longer note ${row}`) },
        colour: { type: new Utf8(), values: count(300).map((row) => `colour ${row % 3}`) },
      }),
    });
    assert.equal((await created({ column: 'note' }, made)).json.index_type, 'FTS');
    assert.equal((await created({ column: 'colour' }, made)).json.index_type, 'BITMAP');
    assert.equal(
      (await created({ column: 'colour', with_position: true, name: 'words' }, made)).json.index_type,
      'FTS',
    );
  });

  test('chooses what can be built on columns of each type', async () => {
    const few = count(300).map((row) => row % 3);
    const made = await server.table({
      stream: streamOf({
        price: { type: new Float64(), values: few },
        day: { type: new DateDay(), values: few.map((day) => new Date(day * 86_400_000)) },
        time: { type: new TimeMillisecond(), values: few },
        at: { type: new TimestampMillisecond(), values: few },
      }),
    });
    const columns = [
      { name: 'uuid', data_type: { type: 'fixed_size_binary', length: 16 } },
      { name: 'large', data_type: 'large_utf8' },
      { name: 'labels', data_type: listOf('large_utf8') },
      { name: 'keys', data_type: listOf('binary') },
    ];
    const added = await server.admin.post(`${made.at}/add_columns`, { new_columns: columns });
    assert.equal(added.status, 200, added.text);
    const chosen: [string, string][] = [];
    for (const column of ['price', 'day', 'time', 'at', 'uuid', 'large', 'labels', 'keys']) {
      chosen.push([column, (await created({ column }, made)).json.index_type]);
    }
    assert.deepEqual(Object.fromEntries(chosen), {
      price: 'BTREE',
      day: 'BTREE',
      time: 'BTREE',
      at: 'BTREE',
      uuid: 'BTREE',
      large: 'BITMAP',
      labels: 'LABEL_LIST',
      keys: 'LABEL_LIST',
    });
  });

  for (const [type, shown] of [
    ['decimal128(10, 2)', 'decimal128(10, 2)'],
    ['duration:s', 'duration[s]'],
    [listOf('float64'), 'list<float64>'],
    [listOf('date32'), 'list<date32>'],
    [{ ...listOf('int32'), type: 'fixed_size_list', length: 2 }, 'int32[2]'],
  ] as const) {
    test(`says that ${shown} cannot be indexed, and what can`, async () => {
      const made = await server.table({ stream: documentStream() });
      const columns = [{ name: 'odd', data_type: type }];
      const added = await server.admin.post(`${made.at}/add_columns`, { new_columns: columns });
      assert.equal(added.status, 200, added.text);
      const refused = await create({ column: 'odd' }, made);
      assertRefused(refused, badRequest(/^The column "odd" has the type .*, which cannot be indexed\. .*timestamps/));
      assert.ok(refused.json.detail.includes(shown), refused.text);
      for (const index_type of ['BTREE', 'BITMAP', 'LABEL_LIST']) {
        const hint = /indexes do not support .* the server chooses one that fits, or says that there is none/;
        assertRefused(await create({ column: 'odd', index_type }, made), badRequest(hint));
      }
    });
  }

  test('leaves the choice for binary columns, which may be large, to the request', async () => {
    const made = await server.table({ stream: documentStream() });
    const columns = [{ name: 'picture', data_type: 'binary' }];
    await server.admin.post(`${made.at}/add_columns`, { new_columns: columns });
    assertRefused(await create({ column: 'picture' }, made), badRequest(/"picture" has the type binary.* BITMAP/));
    await created({ column: 'picture', index_type: 'BITMAP' }, made);
  });

  test('looks at some megabytes of long texts, and at the beginning of each', async () => {
    const made = await server.table({
      stream: streamOf({
        word: { type: new Utf8(), values: count(400).map((row) => `${row}${'x'.repeat(20_000)}`) },
        text: { type: new Utf8(), values: count(400).map((row) => `${row}${' words'.repeat(3000)}`) },
      }),
    });
    const { index_type: type, index_type_reason: reason } = (await created({ column: 'word' }, made)).json;
    assert.equal(type, 'BTREE');
    const [, sampled] = /^(\d+) sampled rows/.exec(reason) ?? [];
    assert.ok(Number(sampled) >= 100 && Number(sampled) < 300, reason);
    const text = (await created({ column: 'text' }, made)).json;
    assert.equal(text.index_type, 'FTS');
    assert.match(text.index_type_reason, /^the texts have at least 1\d\d words on average$/);
  });

  for (const [column, type] of [
    ['word', 'FTS'],
    ['id', 'BITMAP'],
    ['vec', 'IVF_HNSW_SQ'],
  ] as const) {
    test(`never replaces a ${type} index by one of the type that the server chooses`, async () => {
      const made = await server.table({ stream: wideStream() });
      await created({ column, index_type: type }, made);
      const { index_uuid: uuid } = (await listed(made)).get(`${column}_idx`);
      const detail = new RegExp(
        `The index "${column}_idx" of this column has the type ${type}; the server chose (BTREE|IVF_FLAT)\\. Give the type to replace it, or another name\\.`,
      );
      assertRefused(await create({ column }, made), { status: 409, code: CODE.indexExists, detail });
      const kept = (await listed(made)).get(`${column}_idx`);
      assert.deepEqual([kept.index_uuid, kept.index_type], [uuid, type]);
      const { index_type: other } = (await created({ column, name: 'another' }, made)).json;
      await created({ column, index_type: other }, made);
      assert.equal((await created({ column }, made)).json.index_type, other, 'one of the same type is replaced');
    });
  }

  test('keeps the distance and the text parameters of the index that it replaces, unless the request gives others', async () => {
    const made = await server.table({
      stream: streamOf({
        note: { type: new Utf8(), values: count(300).map((row) => `viele lange Wörter und Häuser ${row}`) },
        vec: { type: vectorType(4), values: count(300).map((row) => [1, row, row + 1, row + 2]) },
      }),
    });
    const distance = async (): Promise<string> =>
      (await server.admin.post(`${made.at}/index/vec_idx/stats`, {})).json.distance_type;
    const text = async () => JSON.parse((await listed(made)).get('note_idx').index_details);
    await created({ column: 'vec', index_type: 'IVF_FLAT', distance_type: 'cosine' }, made);
    await created({ column: 'note', index_type: 'FTS', language: 'German', with_position: true }, made);
    for (const column of ['vec', 'note']) await created({ column }, made);
    assert.equal(await distance(), 'cosine');
    assert.deepEqual([(await text()).language, (await text()).with_position], ['German', true]);

    await created({ column: 'vec', distance_type: 'dot' }, made);
    await created({ column: 'note', language: 'Danish' }, made);
    assert.equal(await distance(), 'dot');
    assert.deepEqual([(await text()).language, (await text()).with_position], ['Danish', true]);
  });

  test('refuses a column that does not exist, and one whose type has no index', async () => {
    assertRefused(await create({ column: 'nothing' }), columnNotFound);
    const nested = await server.table({ stream: nestedStream() });
    assertRefused(await create({ column: 'place' }, nested), badRequest(/"place"/));
  });

  test('is refused as a scalar index on vectors', async () => {
    const answer = await server.admin.post(`${table.at}/create_scalar_index`, { column: 'vec' });
    assertRefused(answer, badRequest(/not a scalar index/));
  });
});

suite('create_index succeeds', () => {
  const kinds: readonly (readonly [type: string, column: string, parameters: object])[] = [
    ['IVF_FLAT', 'vec', { distance_type: 'cosine', num_partitions: 4, sample_rate: 64, max_iterations: 10 }],
    ['IVF_FLAT', 'bits', {}],
    ['IVF_PQ', 'vec', { num_sub_vectors: 4, num_bits: 8, num_partitions: 2 }],
    ['IVF_PQ', 'vec', { num_sub_vectors: 4, num_bits: 4, distance_type: 'dot' }],
    ['IVF_PQ', 'several', {}],
    ['IVF_RQ', 'vec', { num_bits: 2 }],
    ['IVF_HNSW_SQ', 'vec', { m: 4, ef_construction: 4 }],
    ['IVF_HNSW_SQ', 'vec', { ef_construction: 20 }],
    ['IVF_HNSW_SQ', 'vec', { m: 8, ef_construction: 50, target_partition_size: 150 }],
    ['IVF_HNSW_PQ', 'vec', { num_sub_vectors: 8, m: 8, ef_construction: 50 }],
    ['BTREE', 'id', {}],
    ['BITMAP', 'word', {}],
    ['LABEL_LIST', 'tags', {}],
    ['FM', 'word', {}],
    [
      'FTS',
      'word',
      {
        with_position: true,
        base_tokenizer: 'ngram',
        language: 'german',
        max_token_length: 30,
        lower_case: true,
        stem: true,
        remove_stop_words: false,
        ascii_folding: true,
        min_ngram_length: 2,
        max_ngram_length: 4,
        prefix_only: true,
      },
    ],
  ];
  for (const [type, column, parameters] of kinds) {
    test(`${type} on ${column} with ${JSON.stringify(parameters)}`, async () => {
      const { json } = await created({ column, index_type: type, ...parameters });
      assert.equal(json.index_name, `${column}_idx`);
      assert.equal(json.job_state, 'DONE');
      assert.ok(json.version > 1);
      assert.match(json.transaction_id, /./);
      const index = (await listed()).get(`${column}_idx`);
      assert.equal(index.index_type, type);
      assert.deepEqual(index.columns, [column]);
      assert.equal(index.num_unindexed_rows, 0);
    });
  }

  test('and what was asked for is what was built', async () => {
    await created({ column: 'word', index_type: 'FTS', name: 'asked', language: 'FRENCH', with_position: false });
    const { index_details: details } = (await listed()).get('asked');
    const { language, with_position: withPosition } = JSON.parse(details);
    assert.deepEqual([language, withPosition], ['French', false]);
  });

  test('of full text without the words that were named, in blocks of the size that was asked for', async (context) => {
    const text = streamOf({ note: { type: new Utf8(), values: ['red lamp', 'the lamp', 'the red'] } });
    const made = await server.table({ stream: text });
    const body = { column: 'note', index_type: 'FTS', custom_stop_words: ['lamp'], block_size: 256 };
    if (readEngineRelease().isFallback) {
      assertRefused(await create(body, made), { status: 406, code: CODE.unsupported });
      context.skip('the fallback engine has neither');
      return;
    }
    await created(body, made);
    const found = async (query: string): Promise<number> => {
      const search = { full_text_query: { string_query: { query, columns: ['note'] } }, k: 10 };
      const answer = await server.admin.post(`${made.at}/query`, search, { accept: 'application/json' });
      assert.equal(answer.status, 200, answer.text);
      return answer.json.rows.length;
    };
    assert.deepEqual([await found('lamp'), await found('the'), await found('red')], [0, 2, 2]);
    const { index_details: details } = (await listed(made)).get('note_idx');
    const { custom_stop_words: words, block_size: size } = JSON.parse(details);
    assert.deepEqual([words, size], [['lamp'], 256]);
  });

  test('and replaces the index of the same name on the same column', async () => {
    await created({ column: 'id', index_type: 'BTREE', name: 'again' });
    const before = (await listed()).get('again').index_uuid;
    await created({ column: 'id', index_type: 'BITMAP', name: 'again' });
    const index = (await listed()).get('again');
    assert.equal(index.index_type, 'BITMAP');
    assert.notEqual(index.index_uuid, before);
  });

  test('for words in any case, and for synonyms', async () => {
    await created({ column: 'word', index_type: 'inverted', name: 'synonym' });
    await created({ column: 'vec', index_type: 'IvfFlat', metric_type: 'L2', name: 'camel' });
    const indexes = await listed();
    assert.equal(indexes.get('synonym').index_type, 'FTS');
    assert.equal(indexes.get('camel').index_type, 'IVF_FLAT');
  });

  test('on a nested field, and names the index by its path', async () => {
    const nested = await server.table({ stream: nestedStream() });
    const { json } = await created({ column: 'place.deep.leaf', index_type: 'BTREE' }, nested);
    assert.equal(json.index_name, 'place.deep.leaf_idx');
    assert.deepEqual((await listed(nested)).get('place.deep.leaf_idx').columns, ['place.deep.leaf']);
  });

  test('on a table without rows, but for vectors', async () => {
    await created({ column: 'id', index_type: 'BTREE' }, empty);
    await created({ column: 'word', index_type: 'FTS' }, empty);
    assert.deepEqual([...(await listed(empty)).keys()], ['id_idx', 'word_idx']);
  });

  test('as create_scalar_index', async () => {
    const body = { column: 'id', index_type: 'BTREE', name: 'scalar' };
    const answer = await server.admin.post(`${table.at}/create_scalar_index`, body);
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await listed()).get('scalar').index_type, 'BTREE');
  });

  test('on a branch, and leaves the main branch as it is', async () => {
    const made = await server.table({ stream: documentStream() });
    await (await (await server.embedded(made)).branches()).create('side');
    await created({ column: 'id', index_type: 'BTREE', branch: 'side' }, made);
    const answer = await server.admin.post(`${made.at}/index/list`, { branch: 'side' });
    assert.equal(answer.json.indexes.length, 1);
    assert.equal((await listed(made)).size, 0);
  });

  test('and the filter of a query uses the index', async () => {
    const made = await server.table({ stream: documentStream() });
    await created({ column: 'id', index_type: 'BTREE' }, made);
    const plan = await server.admin.post(`${made.at}/analyze_plan`, { filter: 'id = 7', k: 10 });
    assert.match(plan.json, /ScalarIndexQuery/);
  });
});

suite('create_index refuses', () => {
  const refusals: readonly (readonly [title: string, body: object, detail: RegExp])[] = [
    ['an unknown type', { column: 'id', index_type: 'TREE' }, /index_type is "TREE".*BTREE/],
    ['a path that does not parse', { column: 'id..x', index_type: 'BTREE' }, /empty segment/],
    ['a type that the column cannot have', { column: 'vec', index_type: 'BTREE' }, /BTree indexes do not support/],
    ['a label list of integers', { column: 'id', index_type: 'LABEL_LIST' }, /LabelList/],
    ['full text of integers', { column: 'id', index_type: 'FTS' }, /FTS/],
    ['a vector index on text', { column: 'word', index_type: 'IVF_PQ' }, /"word" has the type utf8/],
    ['a field inside a list', { column: 'tags.item', index_type: 'BTREE' }, /inside a list/],
    ['no partitions', { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 0 }, /num_partitions is 0/],
    ['more partitions than rows', { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 301 }, /only 300 rows/],
    ['absurd partitions', { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 1e9 }, /num_partitions/],
    [
      'partitions in two ways',
      { column: 'vec', index_type: 'IVF_FLAT', num_partitions: 2, target_partition_size: 2 },
      /both/,
    ],
    ['sub-vectors that do not divide', { column: 'vec', index_type: 'IVF_PQ', num_sub_vectors: 3 }, /num_sub_vectors/],
    ['odd sub-vectors of 4 bits', { column: 'vec', index_type: 'IVF_PQ', num_sub_vectors: 1, num_bits: 4 }, /even/],
    ['a default of sub-vectors that is odd', { column: 'odd', index_type: 'IVF_PQ', num_bits: 4 }, /even/],
    ['3 bits', { column: 'vec', index_type: 'IVF_PQ', num_bits: 3 }, /num_bits is 3/],
    ['64 bits', { column: 'vec', index_type: 'IVF_PQ', num_bits: 64 }, /num_bits is 64/],
    ['10 bits of RQ', { column: 'vec', index_type: 'IVF_RQ', num_bits: 10 }, /num_bits/],
    ['RQ of an odd dimension', { column: 'odd', index_type: 'IVF_RQ' }, /divisible by 8/],
    ['a sample rate of 0', { column: 'vec', index_type: 'IVF_FLAT', sample_rate: 0 }, /sample_rate/],
    ['iterations without end', { column: 'vec', index_type: 'IVF_FLAT', max_iterations: 1e9 }, /max_iterations/],
    ['an endless m', { column: 'vec', index_type: 'IVF_HNSW_SQ', m: 1e6 }, /m is 1000000/],
    [
      'an ef_construction that takes all memory',
      { column: 'vec', index_type: 'IVF_HNSW_SQ', ef_construction: 4_294_967_295 },
      /ef_construction/,
    ],
    ['a graph of 3 neighbours', { column: 'vec', index_type: 'IVF_HNSW_SQ', m: 3 }, /m is 3, which is less than 4/],
    [
      'fewer candidates than neighbours',
      { column: 'vec', index_type: 'IVF_HNSW_PQ', m: 50, ef_construction: 49 },
      /ef_construction is 49, which is less than m \(50\)/,
    ],
    [
      'fewer candidates than neighbours by default',
      { column: 'vec', index_type: 'IVF_HNSW_SQ', ef_construction: 19 },
      /ef_construction is 19, which is less than m \(20\)/,
    ],
    ['an unknown distance', { column: 'vec', index_type: 'IVF_FLAT', distance_type: 'taxi' }, /"taxi"/],
    ['two distances', { column: 'vec', index_type: 'IVF_FLAT', distance_type: 'l2', metric_type: 'dot' }, /differ/],
    ['hamming of floats', { column: 'vec', index_type: 'IVF_FLAT', distance_type: 'hamming' }, /l2 or cosine or dot/],
    ['l2 of bytes', { column: 'bits', index_type: 'IVF_FLAT', distance_type: 'l2' }, /hamming/],
    ['PQ of bytes', { column: 'bits', index_type: 'IVF_PQ' }, /IVF_FLAT/],
    ['l2 of lists of vectors', { column: 'several', index_type: 'IVF_PQ', distance_type: 'l2' }, /cosine/],
    ['a language that ends the process', { column: 'word', index_type: 'FTS', language: 'Klingon' }, /language/],
    ['a tokenizer with a path', { column: 'word', index_type: 'FTS', base_tokenizer: 'jieba/../x' }, /base_tokenizer/],
    ['crossed n-grams', { column: 'word', index_type: 'FTS', min_ngram_length: 5, max_ngram_length: 3 }, /greater/],
    ['an n-gram of 0', { column: 'word', index_type: 'FTS', min_ngram_length: 0 }, /min_ngram_length/],
    ['an empty name', { column: 'id', index_type: 'BTREE', name: '' }, /is empty/],
    ['a name with a slash', { column: 'id', index_type: 'BTREE', name: 'a/b' }, /character/],
    ['a name of the engine', { column: 'id', index_type: 'BTREE', name: '__lance_frag_reuse' }, /reserved/],
    ['a parameter of another type', { column: 'id', index_type: 'BTREE', num_bits: 8 }, /num_bits is not a parameter/],
    ['an unknown field', { column: 'id', index_type: 'BTREE', colour: 'red' }, /colour/],
  ];
  for (const [title, body, detail] of refusals) {
    test(title, async () => assertRefused(await create(body), badRequest(detail)));
  }

  test('partitions so small that there would be too many, and says which size is right', async () => {
    const bounded = await ContractServer.start({ flags: ['--index-partitions-max=100'] });
    try {
      const made = await bounded.table({ stream: wideStream() });
      const index = { column: 'vec', index_type: 'IVF_FLAT' };
      const refused = await bounded.admin.post(`${made.at}/create_index`, { ...index, target_partition_size: 2 });
      assertRefused(refused, badRequest(/^target_partition_size is 2, .*150 partitions.*100.*at least 3/));
      const right = await bounded.admin.post(`${made.at}/create_index`, { ...index, target_partition_size: 3 });
      assert.equal(right.status, 200, right.text);
    } finally {
      await bounded.close();
    }
  });

  test('a vector index of a table without rows', async () => {
    assertRefused(await create({ column: 'vec', index_type: 'IVF_FLAT' }, empty), badRequest(/trained on rows/));
  });

  test('PQ of too few rows', async () => {
    const small = await server.table({ stream: wideStream(100) });
    assertRefused(await create({ column: 'vec', index_type: 'IVF_PQ' }, small), badRequest(/256 vectors.*has 100/));
  });

  test('an FM index on a nested field, which would keep the table from being compacted', async () => {
    const nested = await server.table({ stream: nestedStream() });
    assertRefused(await create({ column: 'place.label', index_type: 'FM' }, nested), badRequest(/"place.label"/));
  });

  test('a column of JSON, whose texts no filter would look up in the index', async () => {
    const metadata = { 'ARROW:extension:name': 'arrow.json' };
    const made = await server.table({ stream: streamOf({ doc: { type: new Utf8(), values: ['{"a":1}'], metadata } }) });
    assertRefused(
      await create({ column: 'doc', index_type: 'FM' }, made),
      badRequest(/"doc" contains JSON.* FM index/),
    );
  });

  test('a column of dictionaries, and names the way that works', async () => {
    const table = tableFromArrays({ word: count(300).map((row) => `word ${row}`) });
    const made = await server.table({ stream: tableToIPC(table, 'stream') });
    const index = async (body: object): Promise<Answer> => create({ column: 'word', ...body }, made);
    for (const body of [{}, { index_type: 'BTREE' }, { index_type: 'FTS' }, { index_type: 'IVF_FLAT' }]) {
      assertRefused(await index(body), badRequest(/"word" is dictionary-encoded.* alter_columns.* utf8/));
    }
    // 0.31.0 does not convert dictionaries.
    if (readEngineRelease().isFallback) return;
    const alterations = [{ path: 'word', data_type: { type: 'utf8' } }];
    assert.equal((await server.admin.post(`${made.at}/alter_columns`, { alterations })).status, 200);
    assert.equal((await index({ index_type: 'FTS' })).status, 200);
  });

  test('a vector index as a scalar one', async () => {
    const answer = await server.admin.post(`${table.at}/create_scalar_index`, { column: 'vec', index_type: 'IVF_PQ' });
    assertRefused(answer, badRequest(/not a scalar index/));
  });

  test('too many stop words, and blocks of other sizes', async () => {
    const fts = { column: 'word', index_type: 'FTS' };
    const many = { ...fts, custom_stop_words: count(1001).map(String) };
    assertRefused(await create(many), badRequest(/custom_stop_words/));
    assertRefused(await create({ ...fts, block_size: 64 }), badRequest(/block_size is 64/));
    assertRefused(await create({ column: 'id', index_type: 'BTREE', block_size: 128 }), badRequest(/block_size/));
  });

  test('what this engine does not build, as not offered', async () => {
    for (const body of [
      { column: 'vec', index_type: 'IVF_SQ' },
      { column: 'vec', index_type: 'IVF_HNSW_FLAT' },
      { column: 'id', index_type: 'ZONEMAP' },
      { column: 'word', index_type: 'FTS', lance_tokenizer: 'json' },
    ]) {
      assertRefused(await create(body), { status: 406, code: CODE.unsupported });
    }
  });

  test('an unknown column, in the words of each client family', async () => {
    const body = { column: 'wrd', index_type: 'BTREE' };
    assertRefused(await create(body), { ...columnNotFound, detail: /Did you mean "word"/ });
    const answer = await server.admin.post(`${table.at}/create_index/`, body);
    assertRefused(answer, badRequest(/"wrd"/, CODE.columnNotFound));
  });

  test('a name of an index on another column, or of one that must not be replaced', async () => {
    await created({ column: 'id', index_type: 'BTREE', name: 'taken' });
    const conflict = { status: 409, code: CODE.indexExists, detail: /"taken" already exists/ };
    assertRefused(await create({ column: 'word', index_type: 'BTREE', name: 'taken' }), conflict);
    assertRefused(await create({ column: 'id', index_type: 'BTREE', name: 'taken', replace: false }), conflict);
    const body = { column: 'word', index_type: 'BTREE', name: 'taken' };
    const answer = await server.admin.post(`${table.at}/create_index/`, body);
    assertRefused(answer, badRequest(/already exists/, CODE.indexExists));
  });

  test('callers without a credential, without the right, and for what is not there', async () => {
    const body = { column: 'id', index_type: 'BTREE' };
    const stranger = server.client({ key: undefined });
    assertRefused(await stranger.post(`${table.at}/create_index`, body), unauthenticated);
    const reader = await server.caller('reader');
    assertRefused(await reader.post(`${table.at}/create_index`, body), forbidden);
    const elsewhere = await server.caller('writer', ['elsewhere']);
    assertRefused(await elsewhere.post(`${table.at}/create_index`, body), tableNotFound);
    assertRefused(await server.admin.post('/v1/table/nowhere/create_index', body), tableNotFound);
    const missing = { status: 404, code: CODE.branchNotFound };
    assertRefused(await create({ ...body, branch: 'nowhere' }), missing);
  });
});

suite('the LanceDB family', () => {
  test('may send parameters that the type does not have, and unknown fields', async () => {
    const body = { column: 'id', index_type: 'BTREE', name: 'loose', metric_type: 'l2', block_size: 128 };
    const answer = await server.admin.post(`${table.at}/create_index/`, body);
    assert.equal(answer.status, 200, answer.text);
  });
});
