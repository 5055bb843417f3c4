import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { connectMcp } from '../../mcp/mcp-client.ts';
import { EmbeddingProvider, MODEL, PROVIDER_KEY, embed } from '../../support/embedding-provider.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ContractServer } from '../contract-server.ts';
import { Int32, count, streamOf, vectorType, Struct, optional, Utf8 } from '../contract-tables.ts';
import {
  CODE,
  assertRefused,
  badRequest,
  columnNotFound,
  forbidden,
  tableNotFound,
  unauthenticated,
} from '../refusal.ts';
import { TITLES, embeddedTable, record, search, titleStream, titlesOf } from './embedded-tables.ts';

let provider: EmbeddingProvider;
let server: ContractServer;
before(async () => {
  provider = await EmbeddingProvider.start();
  server = await ContractServer.start({ flags: provider.flags(), env: provider.env });
});
after(async () => {
  await server.close();
  await provider.close();
});

suite('a query with vector_text', () => {
  test('finds the rows that mean the same, without a word in common', async () => {
    const table = await embeddedTable(server, MODEL);
    const found = titlesOf(await search(server.admin, table, { vector_text: 'something to sit on' }));
    assert.deepEqual(found.toSorted(), ['A comfortable chair', 'A wooden stool']);
    const { headers, model, input } = provider.calls.at(-1) ?? assert.fail('no call');
    assert.deepEqual([headers.authorization, model, input], [`Bearer ${PROVIDER_KEY}`, MODEL, ['something to sit on']]);
  });

  test('is the same search as one with the vector of the text', async () => {
    const table = await embeddedTable(server, MODEL);
    for (const more of [
      {},
      { filter: 'id > 1' },
      { bypass_vector_index: true, distance_type: 'cosine' },
      { offset: 1 },
    ]) {
      const columns = { column_names: ['id', '_distance'] };
      const byText = await search(server.admin, table, { vector_text: 'a bright light', columns, ...more });
      const vector = { single_vector: embed('a bright light') };
      const byVector = await search(server.admin, table, { vector, vector_column: 'vector', columns, ...more });
      assert.equal(byText.status, 200, byText.text);
      assert.equal(byText.text, byVector.text);
    }
  });

  test('combines with full text to a hybrid search', async () => {
    const table = await embeddedTable(server, MODEL);
    const { status, text } = await server.admin.post(`${table.at}/create_index`, {
      column: 'title',
      index_type: 'FTS',
    });
    assert.equal(status, 200, text);
    const words = { full_text_query: { string_query: { query: 'picture' } } };
    const byText = titlesOf(await search(server.admin, table, { vector_text: 'sailing', ...words }));
    const vector = { single_vector: embed('sailing') };
    assert.deepEqual(byText, titlesOf(await search(server.admin, table, { vector, ...words })));
    assert.ok(byText.includes('A picture of a harbour'));
  });

  test('is explained and analyzed as the search that it becomes', async () => {
    const table = await embeddedTable(server, MODEL);
    const query = { vector_text: 'a lantern', k: 2 };
    for (const [operation, body] of [
      ['explain_plan', { query }],
      ['analyze_plan', query],
    ] as const) {
      const { status, text } = await server.admin.post(`${table.at}/${operation}`, body);
      assert.equal(status, 200, text);
      assert.match(text, /KNNVectorDistance/);
    }
  });

  test('works at an earlier version, with the model that was recorded then', async () => {
    const table = await embeddedTable(server, 'concepts-4');
    await record(server.admin, table, { 'tiltyard.embedding.model': MODEL });
    assert.equal(titlesOf(await search(server.admin, table, { vector_text: 'a boat' })).length, 2);
    assertRefused(
      await search(server.admin, table, { vector_text: 'a boat', version: 2 }),
      badRequest(
        /"concepts-4" gives vectors of 4 dimensions, and the column "vector" has 8.*tiltyard\.embedding\.model/,
      ),
    );
  });

  test('takes the model from the stream that created the table, and puts its prefix in front of the text', async () => {
    const table = await server.table({
      stream: titleStream({ 'tiltyard.embedding.model': MODEL, 'tiltyard.embedding.query_prefix': 'search_query: ' }),
    });
    titlesOf(await search(server.admin, table, { vector_text: 'stools' }));
    assert.deepEqual(provider.calls.at(-1)?.input, ['search_query: stools']);
  });

  test('asks the model for vectors of the length that is recorded', async () => {
    const recorded = titleStream({ 'tiltyard.embedding.model': 'concepts-4', 'tiltyard.embedding.dimensions': '8' });
    const settings = { name: 'concepts-4', dim: 8 };
    const functions = JSON.stringify([{ name: 'openai', model: settings, vector_column: 'vector' }]);
    for (const [index, stream] of [recorded, titleStream({}, { embedding_functions: functions })].entries()) {
      const table = await server.table({ stream });
      assert.equal(titlesOf(await search(server.admin, table, { vector_text: `a stool, ${index}` })).length, 2);
      assert.equal(provider.calls.at(-1)?.dimensions, 8);
    }
    const whole = await embeddedTable(server, MODEL);
    titlesOf(await search(server.admin, whole, { vector_text: 'stools of any length' }));
    assert.equal(provider.calls.at(-1)?.dimensions, undefined);
  });

  test('takes the model that a LanceDB client recorded with its embedding function', async () => {
    const python = [{ name: 'openai', model: { name: MODEL }, source_column: 'title', vector_column: 'vector' }];
    const javascript = [{ name: 'openai', model: { model: MODEL }, sourceColumn: 'title', vectorColumn: 'vector' }];
    for (const functions of [python, javascript]) {
      const metadata = { embedding_functions: JSON.stringify(functions) };
      const table = await server.table({ stream: titleStream({}, metadata) });
      assert.equal(titlesOf(await search(server.admin, table, { vector_text: 'a seat' })).length, 2);
    }
    for (const text of ['', '{', '[1]', '[{"vector_column": "vector"}]', '[{"vector_column": "vector", "model": 7}]']) {
      const table = await server.table({ stream: titleStream({}, { embedding_functions: text }) });
      const refused = await search(server.admin, table, { vector_text: 'a seat' });
      assertRefused(refused, badRequest(/No model is recorded for the vectors of "vector"/));
    }
  });

  test('is an argument of the tools for agents', async () => {
    const table = await embeddedTable(server, MODEL);
    const mcp = await connectMcp(server.url);
    try {
      const args = { table: table.id, vector_text: 'something to sit on', columns: ['title'], k: 2 };
      const { text, isError } = await mcp.call('query_table', args);
      assert.equal(isError, false, text);
      assert.match(text, /wooden stool/);
    } finally {
      await mcp.close();
    }
  });

  test('searches a vector inside a struct', async () => {
    const type = new Struct([optional('name', new Utf8()), optional('vec', vectorType(8))]);
    const values = TITLES.map((title) => ({ name: title, vec: embed(title) }));
    const table = await server.table({
      stream: streamOf({ id: { type: new Int32(), values: count(TITLES.length) }, item: { type, values } }),
    });
    await record(server.admin, table, { 'tiltyard.embedding.model': MODEL }, 'item.vec');
    const answer = await search(server.admin, table, { vector_text: 'sea', columns: { column_names: ['id'] } });
    assert.deepEqual(answer.json.rows.map(({ id }: { id: number }) => id).toSorted(), [4, 5]);
  });

  test('reaches LanceDB clients that send it as a field of their own', async () => {
    const table = await embeddedTable(server, MODEL);
    const { status } = await server.admin.post(`${table.at}/query/`, { vector: [], vector_text: 'a seat', k: 1 });
    assert.equal(status, 200);
  });

  test('asks the provider once for a text, and the result cache answers the repeated query', async () => {
    const table = await embeddedTable(server, MODEL);
    const metrics = async () => ShownMetrics.read(server.url, ADMIN_KEY);
    const before_ = await metrics();
    const calls = provider.calls.length;
    for (let round = 0; round < 3; round += 1) {
      titlesOf(await search(server.admin, table, { vector_text: 'one text, three times' }));
    }
    assert.equal(provider.calls.length, calls + 1);
    const after_ = await metrics();
    const grew = (name: string, outcome: string): number =>
      after_.value(name, { outcome }) - before_.value(name, { outcome });
    assert.equal(grew('tiltyard_embedding_lookups_total', 'hit'), 2);
    assert.equal(grew('tiltyard_embedding_lookups_total', 'miss'), 1);
    assert.equal(grew('tiltyard_embedding_calls_total', 'succeeded'), 1);
    assert.ok(after_.value('tiltyard_embedding_cache_bytes') > before_.value('tiltyard_embedding_cache_bytes'));
    assert.ok(after_.value('tiltyard_embedding_call_duration_seconds_count') > 0);
    assert.equal(after_.value('tiltyard_embedding_calls_running'), 0);
  });
});

suite('a query with vector_text is refused', () => {
  const text = { vector_text: 'a chair' };
  /** Without a call of the provider. */
  async function refused(body: object, expected: Parameters<typeof assertRefused>[1], at: string): Promise<void> {
    const calls = provider.calls.length;
    assertRefused(await search(server.admin, { at }, body), expected);
    assert.equal(provider.calls.length, calls);
  }

  test('for a column that records no model, and says how to record it', async () => {
    const { at } = await server.table({ stream: titleStream() });
    const expected = badRequest(
      /No model is recorded for the vectors of "vector".*tiltyard\.embedding\.model.*update_field_metadata/,
    );
    await refused(text, expected, at);
    await refused({ ...text, vector_column: 'vector' }, expected, at);
  });

  test('for a model that the server does not offer, and says which it offers', async () => {
    const { at } = await embeddedTable(server, 'costly-model');
    await refused(
      text,
      badRequest(/with the model "costly-model", which this server does not offer\. It offers concepts-8/),
      at,
    );
  });

  test('for what is no vector column, is not there, or is one of several', async () => {
    const table = await embeddedTable(server, MODEL);
    await refused({ ...text, vector_column: 'title' }, badRequest(/"title" is not a vector/), table.at);
    await refused({ ...text, vector_column: 'vectors' }, columnNotFound, table.at);
    const two = await server.table({
      stream: streamOf({
        first: { type: vectorType(8), values: [embed('a')], metadata: { 'tiltyard.embedding.model': MODEL } },
        second: { type: vectorType(8), values: [embed('a')], metadata: { 'tiltyard.embedding.model': MODEL } },
      }),
    });
    await refused(text, badRequest(/Several vector columns record a model: "first", "second"\. Name one/), two.at);
    const none = await server.table({ stream: streamOf({ id: { type: new Int32(), values: [1] } }) });
    await refused(text, badRequest(/The table has no vector column/), none.at);
  });

  test('when it is empty, too long, no text, or beside a vector', async () => {
    const table = await embeddedTable(server, MODEL);
    await refused({ vector_text: ' \n' }, badRequest(/vector_text is empty/), table.at);
    await refused({ vector_text: 'a'.repeat(8193) }, badRequest(/8,193 characters; at most 8,192/), table.at);
    await refused({ vector_text: ['a'] }, badRequest(/vector_text/), table.at);
    const vector = { single_vector: embed('a') };
    await refused(
      { ...text, vector },
      badRequest(/vector and vector_text are both given\. Give one of the two/),
      table.at,
    );
    await refused({ ...text, k: Number.MAX_SAFE_INTEGER }, badRequest(/k/), table.at);
    await record(server.admin, table, { 'tiltyard.embedding.query_prefix': 'p'.repeat(8190) });
    await refused(text, badRequest(/vector_text and its prefix have 8,197 characters/), table.at);
  });

  test('without a credential, without permission, and for a table that is missing or hidden', async () => {
    const table = await embeddedTable(server, MODEL);
    const calls = provider.calls.length;
    assertRefused(await search(server.stranger(), table, text), unauthenticated);
    const elsewhere = await server.caller('reader', ['elsewhere']);
    assertRefused(await search(elsewhere, table, text), tableNotFound);
    assertRefused(await search(server.admin, { at: '/v1/table/missing' }, text), tableNotFound);
    assert.equal(provider.calls.length, calls);
    const reader = await server.caller('reader', [table.id]);
    assert.equal(titlesOf(await search(reader, table, text)).length, 2);
    const metadata = { 'tiltyard.embedding.model': 'concepts-4' };
    assertRefused(
      await reader.post(`${table.at}/update_field_metadata`, { updates: [{ path: 'vector', metadata }] }),
      forbidden,
    );
  });

  test('by a server without a provider, which says what to send', async () => {
    const plain = await ContractServer.start();
    try {
      const table = await embeddedTable(plain, MODEL);
      assertRefused(await search(plain.admin, table, text), {
        status: 406,
        code: CODE.unsupported,
        detail: /needs an embedding provider.*Send the vector itself.*embeddings\.url/,
      });
      assert.deepEqual((await plain.admin.get('/v1/embeddings')).json.models, []);
    } finally {
      await plain.close();
    }
  });
});

suite('describe_embeddings', () => {
  test('shows every caller the models, and neither the address nor the key of the provider', async () => {
    const reader = await server.caller('reader', ['anything']);
    for (const client of [server.admin, reader]) {
      const { status, json, text } = await client.get('/v1/embeddings');
      assert.equal(status, 200, text);
      assert.deepEqual(json.models, [MODEL, 'concepts-4', 'retired']);
      assert.ok(!text.includes(String(provider.port)) && !text.includes(PROVIDER_KEY));
    }
    assertRefused(await server.stranger().get('/v1/embeddings'), unauthenticated);
  });
});
