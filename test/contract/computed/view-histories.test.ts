import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { ended, itemsStream } from './computed-tables.ts';
import type { Item } from './computed-tables.ts';

const HISTORIES = 3;
const STEPS = 14;

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--maintenance-running-max=0', '--views-poll-seconds=0'] });
});
after(async () => server.close());

/** Numerical Recipes: the same numbers for the same seed, so that a failure can be run again. */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

async function post(path: string, body: object): Promise<any> {
  const answer = await server.admin.post(path, body);
  assert.ok(answer.status < 300, `${path}: ${answer.text}`);
  return answer.json;
}

async function send(path: string, items: readonly Item[]): Promise<void> {
  const answer = await server.admin.arrow(path, itemsStream(items));
  assert.equal(answer.status, 200, answer.text);
}

async function makeView(source: MadeTable): Promise<string> {
  const id = server.name('view');
  const text = `SELECT id, price + quantity AS sum FROM ${source.id} WHERE price >= 3`;
  await post(`/v1/materialized_view/${id}/create`, { kind: 'query', source_query: text });
  return id;
}

async function refresh(view: string): Promise<string> {
  const { job_id: id } = await post(`/v1/materialized_view/${view}/refresh`, {});
  const job = await ended(server.admin, id);
  assert.equal(job.job_state, 'DONE', JSON.stringify(job));
  return job.result.how;
}

async function rowsOf(view: string): Promise<readonly string[]> {
  return (await server.embeddedByName(view)).map((row) => JSON.stringify([row['id'], row['sum']])).toSorted();
}

/** One change of the source; the names of those that only append come first and most often. */
function changes(at: string, next: (below: number) => number): readonly (readonly [string, () => Promise<void>])[] {
  const items = (): Item[] =>
    Array.from({ length: 1 + next(4) }, () => [next(40), next(8) === 0 ? null : next(10), next(5)] as const);
  const id = next(40);
  const insert = ['insert', async () => send(`${at}/insert`, items())] as const;
  return [
    insert,
    insert,
    insert,
    ['index', async () => void (await post(`${at}/create_index`, { column: 'id', index_type: 'BTREE' }))],
    [
      'metadata',
      async () =>
        void (await post(`${at}/update_field_metadata`, { updates: [{ path: 'id', metadata: { a: String(id) } }] })),
    ],
    ['delete', async () => void (await post(`${at}/delete`, { predicate: `id = ${id}` }))],
    [
      'update',
      async () => void (await post(`${at}/update`, { updates: [['price', 'price + 1']], predicate: `id < ${id}` })),
    ],
    [
      'merge',
      async () =>
        send(`${at}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true`, [[id, 5, 5]]),
    ],
    ['compaction', async () => void (await post(`${at}/maintenance/run`, {}))],
    ['restore', async () => void (await post(`${at}/restore`, { version: 1 }))],
    ['overwrite', async () => send(`${at}/insert?mode=overwrite`, items())],
  ];
}

suite('an incrementally refreshed view', () => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    test(`has the same rows as one that is built anew, after each step of history ${seed}`, async () => {
      const next = random(seed);
      const source = await server.table({
        stream: itemsStream([
          [1, 4, 1],
          [2, 2, 2],
        ]),
      });
      const view = await makeView(source);
      const history: string[] = [];
      for (let step = 0; step < STEPS; step += 1) {
        const possible = changes(source.at, next);
        const [name, apply] = possible[next(possible.length)] ?? assert.fail();
        await apply();
        // Several changes may come between two refreshes.
        const how = next(3) === 0 ? 'later' : await refresh(view);
        history.push(`${name} ${how}`);
        if (how === 'later') continue;
        const rebuilt = await makeView(source);
        await refresh(rebuilt);
        assert.deepEqual(await rowsOf(view), await rowsOf(rebuilt), history.join(', '));
      }
      assert.ok(
        history.some((each) => each.endsWith('appended')),
        history.join(', '),
      );
    });
  }
});
