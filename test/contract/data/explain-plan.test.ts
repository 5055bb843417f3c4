import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { Index } from '@lancedb/lancedb';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { documentStream } from '../contract-tables.ts';
import { assertRefused, badRequest, columnNotFound, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table({ stream: documentStream(20) });
  await (await server.embedded(table)).createIndex('body', { config: Index.fts() });
});
after(async () => server.close());

const PLAN = 'application/vnd.tiltyard.plan+json';

suite('an explanation', () => {
  test('is a JSON string by default, the bare text or a tree when that is accepted', async () => {
    const body = { query: { k: 3, vector: { single_vector: [1, 2, 3, 4] }, filter: 'id > 3' } };
    for (const at of [`${table.at}/explain_plan`, `${table.at}/explain_plan/`]) {
      const { json } = await server.admin.post(at, body);
      assert.match(json, /^ProjectionExec: .*\n {2}\w+/);
      assert.equal((await server.admin.post(at, body, { accept: 'text/plain' })).text, json);
      const tree = await server.admin.post(at, body, { accept: PLAN });
      assert.equal(tree.json.text, json);
      assert.equal(tree.json.plan.operator, 'ProjectionExec');
      assert.deepEqual(countSteps(tree.json.plan), json.trimEnd().split('\n').length);
    }
  });

  test('takes the query in the words of the LanceDB client, nulls and all', async () => {
    const query = {
      k: 2,
      vector: [1, 2, 3, 4],
      columns: ['id'],
      ef: null,
      nprobes: 20,
      prefilter: true,
      version: null,
    };
    const answer = await server.admin.post(`${table.at}/explain_plan/`, { query, verbose: true });
    assert.equal(answer.status, 200, answer.text);
    assert.match(answer.json, /KNNVectorDistance/);
  });

  test('does not run the query', async () => {
    const query = { filter: '10 / (id - 4) > 0' };
    assert.equal((await server.admin.post(`${table.at}/explain_plan`, { query })).status, 200);
  });

  test('of a hybrid search shows both searches and their fusion', async () => {
    const query = { k: 3, vector: [1, 2, 3, 4], full_text_query: { query: 'fox', columns: ['body'] } };
    const { json, status } = await server.admin.post(`${table.at}/explain_plan`, { query }, { accept: PLAN });
    assert.equal(status, 200);
    assert.equal(json.plan.operator, 'HybridFusionExec');
    assert.equal(json.plan.children.length, 2);
    assert.match(json.text, /KNNVectorDistance[\s\S]*MatchQuery/);
  });

  test('of a full-text search that is filtered afterwards shows the filter above the search', async () => {
    const query = { k: 3, full_text_query: { query: 'fox', columns: ['body'] }, filter: 'id > 4', prefilter: false };
    const { json, status, text } = await server.admin.post(`${table.at}/explain_plan`, { query }, { accept: PLAN });
    assert.equal(status, 200, text);
    assert.match(json.text, /^FilterExec: \(id > 4\)\n {2}\w[\s\S]*MatchQuery/);
    assert.deepEqual([json.plan.operator, json.plan.details, json.plan.children.length], ['FilterExec', '(id > 4)', 1]);
    assert.doesNotMatch(JSON.stringify(json.plan.children), /id@?\d* > |full_filter=id/);
    const wrong = { query: { ...query, filter: 'nope > 4' } };
    assertRefused(await server.admin.post(`${table.at}/explain_plan`, wrong), columnNotFound);
  });

  test('of a query for no rows, of a version and of a branch works', async () => {
    const vector = [1, 2, 3, 4];
    for (const body of [{ query: { k: 0, vector } }, { query: { k: 1, version: 1 } }, { query: {}, branch: 'main' }]) {
      const answer = await server.admin.post(`${table.at}/explain_plan`, body);
      assert.equal(answer.status, 200, answer.text);
    }
  });

  test('tells no path of the machine', async () => {
    const { text } = await server.admin.post(`${table.at}/explain_plan`, { query: {}, verbose: true });
    assert.ok(!text.includes(server.folder.slice(1)), text);
  });

  test('is refused for a body without a query, with a wrong one, or with two answers to one question', async () => {
    const at = `${table.at}/explain_plan`;
    assertRefused(await server.admin.post(at, {}), badRequest(/query/));
    assertRefused(await server.admin.post(at, { query: { k: -1 } }), badRequest(/\bk\b/));
    assertRefused(await server.admin.post(at, { query: { filtre: '' } }), badRequest(/filtre/));
    assertRefused(await server.admin.post(at, { query: { filter: 'id =' } }), badRequest(/filter/));
    assertRefused(await server.admin.post(at, { branch: 'a', query: { branch: 'b' } }), badRequest(/branch/));
    assertRefused(await server.admin.post(at, { query: { id: ['other'] } }), badRequest(/query\.id/));
  });

  test('is refused for what is not there, and to who may not read', async () => {
    const at = `${table.at}/explain_plan`;
    assertRefused(await server.admin.post(at, { query: { columns: ['nope'] } }), columnNotFound);
    assertRefused(await server.admin.post(at, { query: { version: 77 } }), { status: 404, code: 11 });
    assertRefused(await server.admin.post('/v1/table/none/explain_plan', { query: {} }), tableNotFound);
    assertRefused(await server.stranger().post(at, { query: {} }), unauthenticated);
    const other = await server.caller('reader', ['elsewhere']);
    assertRefused(await other.post(at, { query: {} }), tableNotFound);
  });
});

interface Step {
  readonly children: readonly Step[];
}

function countSteps(step: Step): number {
  return 1 + step.children.reduce((sum, child) => sum + countSteps(child), 0);
}
