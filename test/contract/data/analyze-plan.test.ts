import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Index } from '@lancedb/lancedb';
import type { Answer } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Int32, count, documentStream, streamOf, vectorStream, vectorType, vectors } from '../contract-tables.ts';
import { PLAN_TYPE, analyze, planOf, steps } from '../plan-tree.ts';
import type { Plan } from '../plan-tree.ts';
import { sendRaw } from '../raw-request.ts';
import { CODE, assertRefused, badRequest, columnNotFound, tableNotFound, unauthenticated } from '../refusal.ts';

const ROWS = 20;
const NEAR = { single_vector: [0, 0.1, 0.2, 0.3] };

let server: ContractServer;
/** Text and one vector column, with a full-text index on `body`. */
let documents: MadeTable;
/** Several vector columns, no index. */
let several: MadeTable;
/** 320 rows in an IVF index, and 10 that came later. */
let indexed: MadeTable;
/** The same in an HNSW index. */
let graph: MadeTable;

before(async () => {
  server = await ContractServer.start();
  documents = await server.table({ stream: documentStream(ROWS) });
  several = await server.table({ stream: vectorStream(12) });
  await (await server.embedded(documents)).createIndex('body', { config: Index.fts({ withPosition: true }) });
  indexed = await makeIndexed(Index.ivfFlat({ numPartitions: 4 }));
  graph = await makeIndexed(Index.hnswSq({ numPartitions: 1 }));
});
after(async () => server.close());

async function makeIndexed(config: Index): Promise<MadeTable> {
  const made = await server.table({
    stream: streamOf({
      id: { type: new Int32(), values: count(320) },
      vec: { type: vectorType(8), values: vectors(320, 8) },
    }),
  });
  const table = await server.embedded(made);
  await table.createIndex('vec', { config });
  await table.add(count(10).map((row) => ({ id: 320 + row, vec: [...(vectors(1, 8)[0] ?? [])] })));
  return made;
}

const ask = async (body: object, table = documents): Promise<Answer> => analyze(server.admin, table, body);
const plan = async (body: object, table = documents): Promise<Plan> => planOf(server.admin, table, body);
const refuse = async (body: object, detail?: RegExp): Promise<void> =>
  assertRefused(await ask(body), badRequest(detail));

suite('an analysis', () => {
  test('is made of a query that returns the offsets of rows, by name or under another', async () => {
    const filter = '_rowoffset in (1, 3)';
    for (const columns of [
      { column_names: ['id', '_rowoffset'] },
      { column_names: ['_rowoffset'] },
      { column_aliases: { place: '_rowoffset', id: 'id' } },
      { column_aliases: { place: '_rowoffset' } },
    ]) {
      assert.equal((await plan({ filter, columns })).rows, 2);
    }
    assert.equal((await plan({ vector: NEAR, k: 3, columns: { column_names: ['_rowoffset'] } })).rows, 3);
  });

  test('runs the query and reports the cost of each step', async () => {
    const { root, rows, text } = await plan({ vector: NEAR, k: 3 });
    assert.equal(rows, 3);
    // The first one of the main engine fetches the columns of the rows that were found.
    const read = steps(root).findLast((step) => step.operator === 'LanceRead');
    assert.equal(read?.metrics['output_rows']?.value, ROWS);
    assert.ok(steps(root).some((step) => (step.metrics['elapsed_compute']?.value ?? 0) > 0));
    assert.match(text, /KNNVectorDistance/);
  });

  test('is a JSON string by default', async () => {
    for (const accept of ['*/*', 'application/json', 'application/*', 'text/html;q=0.1, application/json', '']) {
      const answer = await server.admin.post(`${documents.at}/analyze_plan`, {}, { accept });
      assert.equal(answer.status, 200);
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
      assert.match(answer.json, /^AnalyzeExec/);
    }
    const bare = await sendRaw(server.url, { path: `${documents.at}/analyze_plan` });
    assert.match(bare.json, /^AnalyzeExec/);
  });

  test('is the bare text for Accept: text/plain', async () => {
    for (const accept of ['text/plain', 'text/plain, application/json;q=0.5', 'application/json;q=0, */*;q=0.2']) {
      const answer = await server.admin.post(`${documents.at}/analyze_plan`, {}, { accept });
      assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; charset=utf-8/);
      assert.match(answer.text, /^AnalyzeExec/);
    }
  });

  test('is a tree of steps with typed metrics for its own media type', async () => {
    const answer = await server.admin.post(`${documents.at}/analyze_plan`, { vector: NEAR }, { accept: PLAN_TYPE });
    assert.ok((answer.headers.get('content-type') ?? '').startsWith(PLAN_TYPE));
    assert.deepEqual(Object.keys(answer.json).toSorted(), ['context', 'plan', 'text']);
    for (const step of steps(answer.json.plan)) {
      assert.deepEqual(Object.keys(step).toSorted(), ['children', 'details', 'metrics', 'operator']);
      for (const metric of Object.values(step.metrics)) {
        assert.equal(typeof metric.value, 'number');
        assert.match(metric.unit, /^(count|bytes|nanoseconds)$/);
        assert.equal(typeof metric.text, 'string');
      }
    }
  });

  test('is not offered in other media types: 406', async () => {
    for (const accept of ['text/html', 'application/xml', 'application/json;q=0']) {
      const answer = await server.admin.post(`${documents.at}/analyze_plan`, {}, { accept });
      assertRefused(answer, { status: 406, code: CODE.invalidInput });
    }
  });

  test('tells no path of the machine, in none of its forms', async () => {
    for (const accept of ['application/json', 'text/plain', PLAN_TYPE]) {
      const { text } = await server.admin.post(`${documents.at}/analyze_plan`, { filter: 'id > 1' }, { accept });
      assert.ok(!text.includes(server.folder) && !text.includes('.lance'), text);
    }
  });

  test('of a body without a query is a scan of the whole table', async () => {
    assert.equal((await plan({})).rows, ROWS);
    assert.equal((await sendRaw(server.url, { path: `${documents.at}/analyze_plan` })).status, 200);
    const empty = await sendRaw(server.url, {
      path: `${documents.at}/analyze_plan`,
      headers: { 'content-type': 'application/json' },
      body: 'null',
    });
    assert.equal(empty.status, 200);
  });

  test('of an empty table works, with and without a vector', async () => {
    const made = await server.table({ stream: documentStream(0) });
    assert.equal((await plan({}, made)).rows, 0);
    assert.equal((await plan({ vector: NEAR, k: 5 }, made)).rows, 0);
  });

  test('takes a field that is null for one that is not given', async () => {
    const absent = {
      k: null,
      vector: null,
      branch: null,
      bypass_vector_index: null,
      columns: null,
      distance_type: null,
      ef: null,
      fast_search: null,
      filter: null,
      full_text_query: null,
      lower_bound: null,
      upper_bound: null,
      nprobes: null,
      offset: null,
      prefilter: null,
      refine_factor: null,
      vector_column: null,
      version: null,
      with_row_id: null,
      identity: null,
      context: null,
    };
    assert.equal((await plan(absent)).rows, ROWS);
  });

  test('changes nothing: the table keeps its version', async () => {
    const version = await (await server.embedded(documents)).version();
    await plan({ vector: NEAR, filter: 'id < 5', full_text_query: { string_query: { query: 'fox' } } });
    assert.equal(await (await server.embedded(documents)).version(), version);
  });
});

suite('k', () => {
  test('is the number of results', async () => {
    assert.equal((await plan({ vector: NEAR, k: 7 })).rows, 7);
    assert.equal((await plan({ filter: 'id >= 0', k: 4 })).rows, 4);
    assert.equal((await plan({ full_text_query: { string_query: { query: 'fox' } }, k: 5 })).rows, 5);
  });

  test('may be 0, and then there are no rows, whatever the query', async () => {
    for (const query of [
      {},
      { vector: NEAR },
      { filter: 'id > 1' },
      { full_text_query: { string_query: { query: 'fox' } } },
      { full_text_query: { string_query: { query: 'fox' } }, filter: 'id > 1', prefilter: false },
      { full_text_query: { string_query: { query: 'fox' } }, filter: 'id > 1', prefilter: false, offset: 2 },
      { vector: NEAR, full_text_query: { string_query: { query: 'fox' } } },
      { vector: NEAR, full_text_query: { string_query: { query: 'fox' } }, filter: 'id > 1', prefilter: false },
    ]) {
      assert.equal((await plan({ ...query, k: 0 })).rows, 0);
    }
  });

  test('may be 0 where rows came after the full-text index, and the filter comes after the search', async () => {
    const table = await server.table({ stream: documentStream(ROWS) });
    await (await server.embedded(table)).createIndex('body', { config: Index.fts() });
    assert.equal((await server.admin.arrow(`${table.at}/insert`, documentStream(3))).status, 200);
    const query = { ...words({ query: 'fox' }), filter: 'id > 1', prefilter: false };
    assert.equal((await plan({ ...query, k: 0 }, table)).rows, 0);
    assert.equal((await plan({ ...query, k: 0, offset: 2 }, table)).rows, 0);
  });

  test('may be more than there are rows', async () => {
    assert.equal((await plan({ vector: NEAR, k: 1000 })).rows, ROWS);
  });
});

suite('the numbers of a query', () => {
  for (const name of ['k', 'ef', 'nprobes', 'offset', 'refine_factor', 'version']) {
    test(`${name} is an integer from 0: less, a fraction or another type is a 400 that names it`, async () => {
      for (const value of [-1, 1.5, '1', true, [1], {}, 1e300]) {
        await refuse({ vector: NEAR, [name]: value }, new RegExp(`\\b${name}\\b`));
      }
    });
  }

  for (const name of ['k', 'ef', 'nprobes', 'offset', 'refine_factor']) {
    test(`${name} may be 0, with and without an index`, async () => {
      for (const table of [documents, indexed, graph]) {
        const single_vector = table === documents ? NEAR.single_vector : (vectors(1, 8)[0] ?? []);
        const answer = await ask({ vector: { single_vector }, [name]: 0 }, table);
        assert.equal(answer.status, 200, answer.text);
      }
    });
  }

  for (const name of ['lower_bound', 'upper_bound']) {
    test(`${name} is a number`, async () => {
      for (const value of ['1', true, [1], {}]) await refuse({ vector: NEAR, [name]: value }, new RegExp(name));
      for (const value of [0, -1.5, 1e3]) assert.equal((await ask({ vector: NEAR, [name]: value })).status, 200);
    });
  }

  for (const name of ['bypass_vector_index', 'fast_search', 'prefilter', 'with_row_id']) {
    test(`${name} is a boolean`, async () => {
      for (const value of ['true', 1, 0, []]) await refuse({ vector: NEAR, [name]: value }, new RegExp(name));
      for (const value of [true, false]) assert.equal((await ask({ vector: NEAR, [name]: value })).status, 200);
    });
  }
});

suite('the vector of a query', () => {
  test('is a single one', async () => {
    assert.match((await plan({ vector: NEAR, k: 1 })).text, /KNNVectorDistance/);
  });

  test('is several, each searched for itself', async () => {
    const multi_vector = [NEAR.single_vector, [19, 19.1, 19.2, 19.3]];
    assert.equal((await plan({ vector: { multi_vector }, k: 3 })).rows, 6);
    assert.equal((await plan({ vector: { multi_vector: [NEAR.single_vector] }, k: 3 })).rows, 3);
  });

  test('is several, searched together, when the column holds lists of vectors', async () => {
    const vector = {
      multi_vector: [
        [1, 1],
        [2, 1],
      ],
    };
    assert.equal((await plan({ vector, vector_column: 'several', distance_type: 'cosine', k: 3 }, several)).rows, 3);
  });

  test('is never both, and never neither', async () => {
    await refuse({ vector: { ...NEAR, multi_vector: [NEAR.single_vector] } }, /both single_vector and multi_vector/);
    await refuse({ vector: {} }, /neither single_vector nor multi_vector/);
  });

  test('is neither in the scans of generated clients, whose models require one', async () => {
    const headers = { 'user-agent': 'OpenAPI-Generator/0.13.0/python', accept: 'application/json' };
    const answer = await server.admin.post(`${documents.at}/analyze_plan`, { k: 3, vector: {} }, headers);
    assert.equal(answer.status, 200, answer.text);
    assert.equal(typeof answer.json, 'string');
  });

  test('is an array of finite numbers of the dimension of the column', async () => {
    for (const single_vector of [
      [],
      ['1', 2, 3, 4],
      [1, 2, 3, null],
      [[1, 2, 3, 4]],
      'x',
      1,
      [1, 2, 3],
      [1, 2, 3, 4, 5],
    ]) {
      await refuse({ vector: { single_vector } });
    }
    const infinite = await server.admin.post(
      `${documents.at}/analyze_plan`,
      '{"vector":{"single_vector":[1e999,0,0,0]}}',
    );
    assertRefused(infinite, badRequest());
  });

  test('is, as several, an array of arrays of one length, with at least one in it', async () => {
    for (const multi_vector of [
      [],
      [[]],
      [1, 2, 3, 4],
      [
        [1, 2, 3, 4],
        [1, 2, 3],
      ],
      [[1, 2, 3, 4], ['a']],
      {},
    ]) {
      await refuse({ vector: { multi_vector } });
    }
  });

  test('is an object with no other field', async () => {
    for (const vector of [{ ...NEAR, more: 1 }, { vector: [1] }, 'x', 1]) await refuse({ vector });
  });
});

suite('the vector column of a query', () => {
  const vector = { single_vector: [1, 1, 1, 1] };

  test('is the one that is named', async () => {
    assert.match((await plan({ vector, vector_column: 'second', k: 2 }, several)).text, /projection=\[second\]/);
  });

  test('is, when none is named, the only one of that dimension', async () => {
    assert.match((await plan({ vector: { single_vector: [1, 1, 1] }, k: 2 }, several)).text, /projection=\[short\]/);
  });

  test('must be named when several have that dimension: a 400 lists them', async () => {
    assertRefused(await ask({ vector }, several), badRequest(/"first".*"second"/));
  });

  test('is a 400 when none has that dimension', async () => {
    assertRefused(await ask({ vector: { single_vector: [1] } }, several), badRequest(/dimension/));
  });

  test('that is there but no vector, or of another dimension, is a 400', async () => {
    assertRefused(await ask({ vector, vector_column: 'id' }, several), badRequest(/"id"/));
    assertRefused(await ask({ vector, vector_column: 'short' }, several), badRequest(/"short"/));
  });

  test('that is not there is a 404 TableColumnNotFound with the canonical path', async () => {
    const refused = { ...columnNotFound, detail: /"nope"/ };
    assertRefused(await ask({ vector, vector_column: '`nope`' }, several), refused);
    assertRefused(await ask({ vector_column: '`nope`' }, several), refused);
    assertRefused(await ask({ k: 0, vector_column: 'nope' }, several), refused);
  });

  test('that is no path is a 400 InvalidInput', async () => {
    for (const vector_column of ['', '.', 'a.', '.a', 'a..b', '`a', 'a`b', '`a`b']) {
      assertRefused(await ask({ vector, vector_column }, several), badRequest());
    }
    for (const vector_column of [1, ['second'], {}])
      assertRefused(await ask({ vector, vector_column }, several), badRequest(/vector_column/));
  });

  test('has at least one character', async () => {
    assertRefused(await ask({ vector, vector_column: '' }, several), badRequest(/vector_column/));
  });
});

suite('the distance type of a query', () => {
  test('is l2, cosine or dot for vectors of floats, in any case', async () => {
    for (const [type, shown] of [
      ['l2', 'l2'],
      ['cosine', 'cosine'],
      ['dot', 'dot'],
      ['L2', 'l2'],
      ['Cosine', 'cosine'],
    ] as const) {
      assert.match((await plan({ vector: NEAR, distance_type: type, k: 2 })).text, new RegExp(`metric=${shown}`));
    }
  });

  test('is hamming for vectors of bytes', async () => {
    const vector = { single_vector: count(8) };
    const { text } = await plan({ vector, vector_column: 'bits', distance_type: 'hamming', k: 2 }, several);
    assert.match(text, /metric=hamming/);
  });

  test('that does not fit the vectors is a 400', async () => {
    await refuse({ vector: NEAR, distance_type: 'hamming' }, /hamming/);
  });

  test('that is not one of the four is a 400 that names them', async () => {
    for (const distance_type of ['euclidean', '', 'l1']) {
      await refuse({ vector: NEAR, distance_type }, /l2, cosine, dot, hamming/);
    }
    for (const distance_type of [1, ['l2']]) await refuse({ vector: NEAR, distance_type }, /distance_type/);
  });
});

suite('the distance bounds of a query', () => {
  test('keep what is at least the lower and less than the upper one', async () => {
    const distances = vectors(ROWS, 4).map((each) =>
      each.reduce((sum, value, index) => sum + (value - (NEAR.single_vector[index] ?? 0)) ** 2, 0),
    );
    const within = distances.filter((distance) => distance >= 4 && distance < 100).length;
    assert.equal((await plan({ vector: NEAR, lower_bound: 4, upper_bound: 100, k: ROWS })).rows, within);
    assert.equal(
      (await plan({ vector: NEAR, upper_bound: 4, k: ROWS })).rows,
      distances.filter((distance) => distance < 4).length,
    );
    assert.equal(
      (await plan({ vector: NEAR, lower_bound: 100, k: ROWS })).rows,
      distances.filter((distance) => distance >= 100).length,
    );
  });
});

suite('the vector index', () => {
  const vector = { single_vector: vectors(1, 8)[0] };

  test('is used by default, and probes as many partitions as nprobes says', async () => {
    const { text } = await plan({ vector, k: 5, nprobes: 2 }, indexed);
    assert.match(text, /ANNSubIndex/);
    assert.match(text, /minimum_nprobes=2, maximum_nprobes=Some\(2\)|nprobes=2|partitions_searched=2/);
  });

  test('is bypassed when bypass_vector_index says so', async () => {
    assert.doesNotMatch((await plan({ vector, k: 5, bypass_vector_index: true }, indexed)).text, /ANNSubIndex/);
    assert.match((await plan({ vector, k: 5, bypass_vector_index: false }, indexed)).text, /ANNSubIndex/);
  });

  test('is all that fast_search looks at: rows that came later are not scanned', async () => {
    assert.match((await plan({ vector, k: 5 }, indexed)).text, /KNNVectorDistance/);
    const fast = await plan({ vector, k: 5, fast_search: true }, indexed);
    assert.match(fast.text, /ANNSubIndex/);
    assert.doesNotMatch(fast.text, /KNNVectorDistance/);
  });

  test('has its results ranked again when refine_factor says so', async () => {
    const refined = await plan({ vector, k: 5, refine_factor: 3, fast_search: true }, indexed);
    assert.match(refined.text, /KNNVectorDistance/);
    assert.match(refined.text, /fetch=15|k=15/);
  });

  test('of the HNSW kind takes the effort from ef', async () => {
    assert.equal((await plan({ vector, k: 5, ef: 64 }, graph)).rows, 5);
    assert.match((await plan({ vector, k: 5, ef: 64 }, graph)).text, /ANNSubIndex/);
  });
});

suite('the filter of a query', () => {
  test('selects rows by SQL', async () => {
    assert.equal((await plan({ filter: 'id >= 5 AND id < 8' })).rows, 3);
    assert.equal((await plan({ filter: "title = 'title even'" })).rows, ROWS / 2);
    assert.equal((await plan({ filter: 'id IN (1, 2, 99)' })).rows, 2);
    assert.equal((await plan({ filter: "body LIKE '%number 1 %'" })).rows, 1);
  });

  test('comes before the vector search by default, and after it when prefilter is false', async () => {
    const query = { vector: NEAR, k: 5, filter: 'id >= 10' };
    assert.equal((await plan(query)).rows, 5);
    assert.equal((await plan({ ...query, prefilter: true })).rows, 5);
    assert.equal((await plan({ ...query, prefilter: false })).rows, 0);
  });

  test('goes with full text', async () => {
    assert.equal((await plan({ full_text_query: { string_query: { query: 'fox' } }, filter: 'id < 3' })).rows, 3);
  });

  test('with a column that is not there is a 404 TableColumnNotFound', async () => {
    assertRefused(await ask({ filter: 'nope = 1' }), { ...columnNotFound, detail: /nope/ });
  });

  test('that is no condition, or no SQL, or more than one expression, is a 400', async () => {
    for (const filter of [
      '',
      ' ',
      'id',
      'id +',
      'id = 1;',
      'id = 1 garbage',
      'id = 1) OR (1 = 1',
      'id = 1, id = 2',
      'id = 1 -- x',
      'SELECT 1',
      'id = (SELECT 1)',
      'id = $1',
      'id = ?',
      "id = 'one",
      'id = CAST(',
      'nofunction(id) = 1',
    ]) {
      await refuse({ filter });
    }
    for (const filter of [1, true, ['id = 1'], {}]) await refuse({ filter }, /filter/);
  });
});

suite('offset', () => {
  test('skips results of every kind of query', async () => {
    assert.equal((await plan({ filter: 'id >= 0', offset: 15 })).rows, 5);
    assert.equal((await plan({ vector: NEAR, k: 4, offset: 18 })).rows, 2);
    assert.equal((await plan({ full_text_query: { string_query: { query: 'fox' } }, k: 10, offset: 15 })).rows, 5);
    assert.equal((await plan({ filter: 'id >= 0', offset: 1000 })).rows, 0);
  });
});

/** What the outermost projection gives. */
function projected(text: string): string {
  return /ProjectionExec: .*?expr=\[(.*?)\], metrics/.exec(text)?.[1] ?? text;
}

suite('the columns of a query', () => {
  test('by column_names are those that come back', async () => {
    const text = projected((await plan({ columns: { column_names: ['title', 'id'] }, vector: NEAR, k: 2 })).text);
    assert.match(text, /title.*id/);
    assert.doesNotMatch(text, /body/);
  });

  test('by column_aliases are SQL expressions under names of the caller’s', async () => {
    const column_aliases = { twice: 'id * 2', shout: 'upper(title)' };
    const { text, rows } = await plan({ columns: { column_aliases }, k: 3 });
    assert.match(text, /twice/);
    assert.match(text, /shout/);
    assert.equal(rows, 3);
  });

  test('are never given in both ways, and never in neither', async () => {
    await refuse(
      { columns: { column_names: ['id'], column_aliases: { a: 'id' } } },
      /both column_names and column_aliases/,
    );
    await refuse({ columns: {} }, /neither column_names nor column_aliases/);
    await refuse({ columns: { column_names: null, column_aliases: null } }, /neither column_names nor column_aliases/);
    await refuse({ columns: { column_names: 'id' } }, /column_names must be array/);
    await refuse({ columns: { column_aliases: 'id' } }, /column_aliases must be object/);
    await refuse({ columns: { column_names: ['id'], more: 1 } });
  });

  test('that are not there are a 404 TableColumnNotFound', async () => {
    assertRefused(await ask({ columns: { column_names: ['nope'] } }), { ...columnNotFound, detail: /"nope"/ });
    assertRefused(await ask({ columns: { column_names: ['id', 'ID'] } }), { ...columnNotFound, detail: /"ID"/ });
    assertRefused(await ask({ columns: { column_aliases: { a: 'nope + 1' } } }), { ...columnNotFound, detail: /nope/ });
  });

  test('that are no paths, or no expressions, are a 400', async () => {
    for (const column_names of [[''], ['a..b'], ['`id'], [1], [['id']]]) await refuse({ columns: { column_names } });
    for (const column_aliases of [{ a: '' }, { a: 'id,' }, { a: 1 }, { a: null }, ['id'], { a: 'id) x (' }]) {
      await refuse({ columns: { column_aliases } });
    }
  });

  test('given twice by name are a 400', async () => {
    await refuse({ columns: { column_names: ['id', 'id'] } });
  });

  test('include the row id as _rowid when with_row_id is true', async () => {
    assert.match(projected((await plan({ vector: NEAR, k: 2, with_row_id: true })).text), /_rowid/);
    assert.doesNotMatch(
      projected((await plan({ vector: NEAR, k: 2, with_row_id: false })).text),
      /_rowid@?\d* as _rowid/,
    );
    assert.match((await plan({ filter: 'id > 1', with_row_id: true })).text, /row_id=true/);
    const aliases = (expression: string) => ({ columns: { column_aliases: { _rowid: expression } } });
    assert.equal((await plan({ ...aliases('_rowid'), k: 2, with_row_id: true })).rows, 2);
    await refuse({ ...aliases('id'), with_row_id: true }, /"_rowid".*with_row_id/);
  });
});

function words(query: object): object {
  return { full_text_query: { string_query: query } };
}

function tree(query: unknown): object {
  return { full_text_query: { structured_query: { query } } };
}

suite('the full-text query', () => {
  test('as string_query finds the words in the indexed columns, or in those it names', async () => {
    assert.equal((await plan(words({ query: 'fox' }))).rows, 10);
    assert.equal((await plan({ ...words({ query: 'fox' }), k: 100 })).rows, ROWS);
    assert.equal((await plan(words({ query: 'fox', columns: ['body'] }))).rows, 10);
    assert.equal((await plan({ ...words({ query: 'odd', columns: ['title'] }), k: 100 })).rows, ROWS / 2);
    assert.equal((await plan(words({ query: 'absent' }))).rows, 0);
  });

  test('as structured_query is a match, a phrase, a boost, a multi_match or a boolean', async () => {
    const fox = { match: { terms: 'fox', column: 'body' } };
    assert.equal((await plan({ ...tree(fox), k: 100 })).rows, ROWS);
    assert.equal((await plan({ ...tree({ match: { terms: '7 8', column: 'body', operator: 'And' } }) })).rows, 0);
    assert.equal((await plan({ ...tree({ match: { terms: '7 8', column: 'body', operator: 'Or' } }) })).rows, 2);
    assert.equal(
      (await plan({ ...tree({ match: { terms: 'foy', column: 'body', fuzziness: 1 } }), k: 100 })).rows,
      ROWS,
    );
    assert.equal((await plan({ ...tree({ phrase: { terms: 'brown fox', column: 'body' } }), k: 100 })).rows, ROWS);
    assert.equal((await plan({ ...tree({ phrase: { terms: 'fox brown', column: 'body' } }), k: 100 })).rows, 0);
    assert.equal(
      (
        await plan({
          ...tree({ boost: { positive: fox, negative: { match: { terms: '1', column: 'body' } } } }),
          k: 100,
        })
      ).rows,
      ROWS,
    );
    const one = { match: { terms: '7', column: 'body' } };
    assert.equal((await plan(tree({ boolean: { must: [fox, one] } }))).rows, 1);
    assert.equal((await plan({ ...tree({ boolean: { must: [fox], must_not: [one] } }), k: 100 })).rows, ROWS - 1);
    assert.equal((await plan(tree({ boolean: { should: [one] } }))).rows, 1);
    const match_queries = [{ terms: '7', column: 'body' }];
    assert.equal((await plan(tree({ multi_match: { match_queries } }))).rows, 1);
  });

  test('is never both, and never neither', async () => {
    const both = { string_query: { query: 'fox' }, structured_query: { query: { match: { terms: 'fox' } } } };
    await refuse({ full_text_query: both }, /both string_query and structured_query/);
    await refuse({ full_text_query: {} }, /neither string_query nor structured_query/);
  });

  test('with a column that is not there is a 404 TableColumnNotFound', async () => {
    assertRefused(await ask(words({ query: 'fox', columns: ['nope'] })), { ...columnNotFound, detail: /"nope"/ });
    assertRefused(await ask(tree({ match: { terms: 'fox', column: 'nope' } })), {
      ...columnNotFound,
      detail: /"nope"/,
    });
  });

  test('over a column that holds no text is a 400', async () => {
    await refuse(words({ query: 'fox', columns: ['id'] }));
    await refuse(tree({ match: { terms: 'fox', column: 'vec' } }));
  });

  test('without a column, on a table without a full-text index, is a 400', async () => {
    assertRefused(await ask(words({ query: 'fox' }), several), badRequest(/full-text/));
  });

  test('of another form is a 400', async () => {
    for (const full_text_query of [
      'fox',
      1,
      { string_query: 'fox' },
      { string_query: {} },
      { string_query: { query: 1 } },
      { string_query: { query: 'fox', columns: 'body' } },
      { string_query: { query: 'fox', column: 'body' } },
      { structured_query: {} },
      { structured_query: { match: { terms: 'fox' } } },
      { words: 'fox' },
    ]) {
      await refuse({ full_text_query });
    }
    for (const query of [
      {},
      { match: {} },
      { match: { terms: 1 } },
      { match: { terms: 'a', colum: 'body' } },
      { fuzzy: { terms: 'a' } },
      { match: { terms: 'a' }, phrase: { terms: 'a' } },
      { boolean: {} },
      { boolean: { must: {} } },
      { boost: {} },
      { phrase: [] },
      { match: { terms: 'a', operator: 'xor' } },
      { match: { terms: 'a', fuzziness: 256 } },
      { multi_match: { match_queries: [] } },
      { multi_match: { query: 'a', columns: [] } },
      { match: { terms: 'a', column: '`' } },
    ]) {
      await refuse(tree(query));
    }
  });

  test('with a vector is a hybrid: both legs and their fusion in one analysis', async () => {
    const { root, rows, text: shown } = await plan({ vector: NEAR, k: 4, ...words({ query: 'fox' }) });
    assert.equal(rows, 4);
    assert.equal(root.children.length, 2);
    const [vectorLeg, textLeg] = root.children;
    assert.ok(vectorLeg !== undefined && steps(vectorLeg).some((step) => step.operator.startsWith('KNN')));
    assert.ok(textLeg !== undefined && steps(textLeg).some((step) => /Match/.test(step.operator)));
    for (const step of steps(root)) assert.ok(shown.includes(step.operator));
  });

  test('with a vector is refused where the query is: an alias named like a column of the search', async () => {
    const query = {
      vector: NEAR,
      k: 4,
      ...words({ query: 'no such words' }),
      columns: { column_aliases: { _score: 'id' } },
    };
    await refuse(query, /already returns a column named _score/);
    const explained = await server.admin.post(`${documents.at}/explain_plan`, { query });
    assertRefused(explained, badRequest(/already returns a column named _score/));
  });
});

suite('an analysis is refused', () => {
  test('with 400 for a field that is not known, by its name', async () => {
    await refuse({ filtre: 'id = 1' }, /"filtre"/);
    await refuse({ K: 1 }, /"K"/);
    await refuse({ query: {} }, /"query"/);
  });

  test('with 404 when the table is missing', async () => {
    const answer = await ask({}, { ...documents, at: '/v1/table/absent' });
    assertRefused(answer, { ...tableNotFound, instance: '/v1/table/absent/analyze_plan', detail: /"absent"/ });
    const noNamespace = { status: 404, code: CODE.namespaceNotFound };
    assertRefused(await ask({}, { ...documents, at: '/v1/table/no$such$table' }), noNamespace);
  });

  test('with 404 to a caller who may not see the table, as if it were not there', async () => {
    const other = await server.caller('admin', ['elsewhere']);
    const hidden = await analyze(other, documents, {});
    const absent = await analyze(other, { at: '/v1/table/absent' }, {});
    assertRefused(hidden, tableNotFound);
    assert.equal(hidden.text.replaceAll(documents.id, 'absent'), absent.text);
  });

  test('with 401 without a credential', async () => {
    assertRefused(await analyze(server.stranger(), documents, {}), unauthenticated);
  });

  test('to no caller who may read', async () => {
    for (const role of ['reader', 'writer', 'owner', 'admin'] as const) {
      assert.equal((await analyze(await server.caller(role, [documents.id]), documents, {})).status, 200);
    }
  });

  test('with 415 for a body that is not JSON', async () => {
    const path = `${documents.at}/analyze_plan`;
    for (const type of ['text/plain', 'application/vnd.apache.arrow.stream', 'application/x-www-form-urlencoded']) {
      const answer = await sendRaw(server.url, { path, headers: { 'content-type': type }, body: '{}' });
      assertRefused(answer, { status: 415, code: CODE.invalidInput });
    }
  });

  test('with 405 for another method', async () => {
    assertRefused(await server.admin.get(`${documents.at}/analyze_plan`), { status: 405, code: CODE.invalidInput });
  });
});
