import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { seededRandom } from '../../support/arrow-fixtures.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { Float64, Int32, Utf8, streamOf } from '../contract-tables.ts';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ flags: ['--maintenance-running-max=0'] });
});
after(async () => server.close());

interface Row {
  readonly id: number;
  readonly price: number | null;
  readonly name: string | null;
}

type Rows = ReadonlyMap<number, Row>;

const EDITS = 24;
const IDS = 60;

type Random = (below: number) => number;

function randomRow(id: number, random: Random): Row {
  const price = random(5) === 0 ? null : random(4) / 2;
  return { id, price, name: random(5) === 0 ? null : 'x'.repeat(random(3)) };
}

function toStream(rows: readonly Row[]): Uint8Array {
  return streamOf({
    id: { type: new Int32(), values: rows.map(({ id }) => id) },
    price: { type: new Float64(), values: rows.map(({ price }) => price) },
    name: { type: new Utf8(), values: rows.map(({ name }) => name) },
  });
}

/** What a version of each branch holds, as a plain program computes it. */
class Model {
  readonly states = new Map<string, Rows>();
  readonly latest = new Map<string, number>();

  commit(branch: string, version: number, rows: Rows): void {
    this.states.set(`${branch}@${version}`, rows);
    this.latest.set(branch, version);
  }

  rows(branch: string, version = this.latest.get(branch)): Rows {
    return this.states.get(`${branch}@${version}`) ?? new Map();
  }
}

async function edit(table: MadeTable, model: Model, branch: string, random: Random): Promise<void> {
  const at = (operation: string) => `${table.at}/${operation}`;
  const on = `branch=${branch}`;
  const rows = new Map(model.rows(branch));
  const kind = random(7);
  if (kind === 0) {
    const fresh = Array.from({ length: IDS }, (_unused, id) => id).filter((id) => !rows.has(id) && random(4) === 0);
    if (fresh.length === 0) return;
    const added = fresh.map((id) => randomRow(id, random));
    for (const row of added) rows.set(row.id, row);
    return commit(table, model, { branch, rows }, server.admin.arrow(at(`insert?${on}`), toStream(added)));
  }
  const [low, high] = [random(IDS), random(IDS)].toSorted((one, other) => one - other) as [number, number];
  const predicate = `id >= ${low} AND id < ${Math.min(high, low + 12)}`;
  const hit = [...rows.values()].filter(({ id }) => id >= low && id < Math.min(high, low + 12));
  if (kind === 1) {
    for (const { id } of hit) rows.delete(id);
    return commit(table, model, { branch, rows }, server.admin.post(at('delete'), { predicate, branch }));
  }
  if (kind === 2) {
    for (const row of hit) rows.set(row.id, { ...row, price: row.price === null ? null : row.price + 1 });
    const body = { updates: [['price', 'price + 1']], predicate, branch };
    return commit(table, model, { branch, rows }, server.admin.post(at('update'), body));
  }
  if (kind === 3) {
    const merged = hit.map(({ id }) => randomRow(id, random));
    if (merged.length === 0) return;
    for (const row of merged) rows.set(row.id, row);
    const query = `${on}&on=id&when_matched_update_all=true&when_not_matched_insert_all=true`;
    return commit(table, model, { branch, rows }, server.admin.arrow(at(`merge_insert?${query}`), toStream(merged)));
  }
  if (kind === 4 && branch === 'main') {
    const run = await server.admin.post(at('maintenance/run'), {});
    assert.equal(run.status, 200, run.text);
    const { json } = await server.admin.post(at('describe'), {});
    for (let version = (model.latest.get(branch) ?? 0) + 1; version <= json.version; version += 1) {
      model.commit(branch, version, rows);
    }
    return;
  }
  const known = [...model.states.keys()].filter((key) => key.startsWith(`${branch}@`));
  if (kind === 5 && random(2) === 0) {
    const version = Number((known[random(known.length)] ?? '').split('@')[1]);
    const restored = server.admin.post(at('restore'), { version, branch });
    return commit(table, model, { branch, rows: model.rows(branch, version) }, restored);
  }
}

async function commit(
  _table: MadeTable,
  model: Model,
  { branch, rows }: { readonly branch: string; readonly rows: Rows },
  answered: Promise<{ status: number; text: string; json: any }>,
): Promise<void> {
  const { status, text, json } = await answered;
  assert.equal(status, 200, text);
  model.commit(branch, json.version, rows);
}

interface Expected {
  readonly change: string;
  readonly id: number;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

function compare(from: Rows, to: Rows): readonly Expected[] {
  return [...new Set([...from.keys(), ...to.keys()])].flatMap((id): Expected[] => {
    const [old, now] = [from.get(id), to.get(id)];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const change = old === undefined ? 'added' : now === undefined ? 'removed' : 'changed';
    return [{ change, id, before: old, after: now }];
  });
}

function inOrder(changes: readonly Expected[]): readonly Expected[] {
  return changes.toSorted((one, other) => one.id - other.id);
}

for (const seed of [1, 2, 3]) {
  test(`a diff of any two versions of two branches is that of a plain program, whatever happened between (${seed})`, async () => {
    const random = seededRandom(seed);
    const model = new Model();
    const rows = Array.from({ length: 30 }, (_unused, id) => randomRow(id * 2, random));
    const table = await server.table({
      stream: toStream(rows),
      query: seed === 3 ? { storage_options: JSON.stringify({ new_table_enable_stable_row_ids: 'true' }) } : {},
    });
    model.commit('main', 1, new Map(rows.map((row) => [row.id, row])));
    for (let step = 0; step < EDITS / 3; step += 1) await edit(table, model, 'main', random);
    const made = await server.admin.post(`${table.at}/branches/create`, { name: 'side' });
    assert.equal(made.status, 200, made.text);
    model.commit('side', model.latest.get('main') ?? 0, model.rows('main'));
    for (let step = 0; step < EDITS; step += 1) await edit(table, model, random(2) === 0 ? 'main' : 'side', random);
    const states = [...model.states.keys()];
    for (let pair = 0; pair < 40; pair += 1) {
      const [from = '', to = ''] = [states[random(states.length)], states[random(states.length)]];
      const [one, other] = [from, to].map((key) => {
        const [branch = '', version] = key.split('@');
        return { branch, version: Number(version) };
      });
      const answer = await server.admin.post(`${table.at}/diff`, { from: one, to: other, on: ['id'], limit: 1000 });
      assert.equal(answer.status, 200, answer.text);
      const found = answer.json.rows.map(({ change, key, before: old, after: now }: any) => {
        return { change, id: key.id, before: old, after: now };
      });
      const expected = compare(model.states.get(from) ?? new Map(), model.states.get(to) ?? new Map());
      assert.deepEqual(inOrder(found), inOrder(expected), `${from} and ${to}`);
      const { added, removed, changed } = answer.json.counts;
      assert.equal(added + removed + changed, expected.length);
    }
  });
}
