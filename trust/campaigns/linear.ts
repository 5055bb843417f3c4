import { mkdir, writeFile } from 'node:fs/promises';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, info } from '../campaign.ts';
import { attempt } from '../http.ts';
import type { HttpClient, Reply } from '../http.ts';
import { isLinearizable } from '../model/row-history.ts';
import type { Action, Answer } from '../model/row-history.ts';
import { SEEDED_BUGS } from '../model/seeded-bugs.ts';
import { inParallel } from '../parallel.ts';
import { intRows, readRows, requireOk } from '../rows.ts';
import { WITHOUT_SYNC } from '../server.ts';

const ACTIONS = 500;
const KEYS = 8;
const CLIENTS = 8;
const HISTORIES_AT_ONCE = 4;

type Histories = readonly Action[][];

/**
 * Clients write concurrently to a few keys of a table; then a checker searches for an order that explains every reply.
 */
export const linear: Campaign = {
  name: 'linear',
  promise: 'concurrent writes and reads of a row look as if done one after another',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const count = trust.size(200, 8);
    const server = await trust.startServer(['--http-uploads-max=64', WITHOUT_SYNC]);
    const admin = server.admin.patient();
    const seen = await checkHistories(trust, admin, { count, actions: ACTIONS });
    return [
      atLeast('histories', seen.recorded, count),
      info('actions in all', seen.actions),
      none('violations', seen.violations),
      atLeast('kinds of seeded bugs', Object.keys(SEEDED_BUGS).length, 10),
      none('seeded bugs that the checker missed', seen.missed),
      none('worker crashes', server.crashes()),
    ];
  },
};

export interface HistoriesSeen {
  recorded: number;
  actions: number;
  violations: number;
  /** Seeded bugs that the checker did not find. */
  missed: number;
}

export async function checkHistories(
  trust: Trust,
  client: HttpClient,
  { count, actions }: { readonly count: number; readonly actions: number },
): Promise<HistoriesSeen> {
  const seen: HistoriesSeen = { recorded: 0, actions: 0, violations: 0, missed: 0 };
  await inParallel(count, HISTORIES_AT_ONCE, async (serial) => {
    const seed = trust.seed + serial;
    const histories = await record(client, { table: `history-${serial}`, seed, actions });
    seen.recorded += 1;
    trust.progress(seen.recorded, count);
    for (const [key, history] of histories.entries()) {
      seen.actions += history.length;
      if (!isLinearizable(history)) {
        seen.violations += 1;
        await mkdir('trust/results', { recursive: true });
        await writeFile(`trust/results/violation-${seed}-${key}.json`, JSON.stringify(history, undefined, 1));
        trust.blame('violation', `seed ${seed}, key ${key}: ${JSON.stringify(history)}`);
      }
      for (const [bug, apply] of Object.entries(SEEDED_BUGS)) {
        if (key !== serial % KEYS || !isLinearizable(apply(history))) continue;
        seen.missed += 1;
        trust.blame('bug not found', `${bug}, seed ${seed}, key ${key}`);
      }
    }
  });
  return seen;
}

async function record(
  client: HttpClient,
  { table, seed, actions }: { readonly table: string; readonly seed: number; readonly actions: number },
): Promise<Histories> {
  await requireOk(client.arrow(`/v1/table/${table}/create`, intRows([], ['id', 'a', 'b'])));
  const histories: Histories = Array.from({ length: KEYS }, () => []);
  const random = seededRandom(seed);
  await inParallel(actions, CLIENTS, async (serial) => {
    const key = random(KEYS);
    histories[key]?.push(await act({ client, table, key, value: serial + 1, kind: pickKind(random) }));
  });
  // Only to save space: whether the drop succeeds is irrelevant for the history.
  await attempt(client.post(`/v1/table/${table}/drop`, {}));
  return histories;
}

const WRITES = ['upsert', 'insert-absent', 'set', 'add', 'insert', 'delete'] as const;

/** Half of them are reads: a faulty write only shows in a later read. */
function pickKind(random: (below: number) => number): Action['kind'] {
  return random(2) === 0 ? 'read' : (WRITES[random(WRITES.length)] ?? 'read');
}

interface Asked {
  readonly client: HttpClient;
  readonly table: string;
  readonly key: number;
  readonly value: number;
  readonly kind: Action['kind'];
}

async function act(asked: Asked): Promise<Action> {
  const startedAt = performance.now();
  const answer = asked.kind === 'read' ? await read(asked) : readAnswer(asked.kind, await attempt(write(asked)));
  const endedAt = answer.kind === 'unknown' ? Infinity : performance.now();
  return { kind: asked.kind, value: asked.value, startedAt, endedAt, answer };
}

/** Two columns are always written together: a row with two different values is torn, and equals no value. */
async function read({ client, table, key }: Asked): Promise<Answer> {
  const rows = await readRows(client, table, { filter: `id = ${key}` });
  const values = rows.map(({ a, b }) => (a === b ? Number(a) : Number.NaN));
  return { kind: 'rows', rows: values.toSorted((one, other) => one - other) };
}

const UPSERT = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
const INSERT_ABSENT = 'on=id&when_not_matched_insert_all=true';

async function write({ client, table, key, value, kind }: Asked): Promise<Reply> {
  const at = `/v1/table/${table}`;
  const body = intRows([{ id: key, a: value, b: value }]);
  const predicate = `id = ${key}`;
  const update = (a: string, b: string): object => ({
    updates: [
      ['a', a],
      ['b', b],
    ],
    predicate,
  });
  switch (kind) {
    case 'insert':
      return client.arrow(`${at}/insert`, body);
    case 'upsert':
      return client.arrow(`${at}/merge_insert?${UPSERT}`, body);
    case 'insert-absent':
      return client.arrow(`${at}/merge_insert?${INSERT_ABSENT}`, body);
    case 'set':
      return client.post(`${at}/update`, update(String(value), String(value)));
    case 'add':
      return client.post(`${at}/update`, update(`a + ${value}`, `b + ${value}`));
    case 'delete':
      return client.post(`${at}/delete`, { predicate });
    case 'read':
      throw new Error('a read is no write');
  }
}

/** The count in a write's reply is checked too. */
function readAnswer(kind: Action['kind'], reply: Reply | undefined): Answer {
  if (reply === undefined || reply.status >= 500) return { kind: 'unknown' };
  if (reply.status !== 200) return { kind: 'refused' };
  const { json } = reply;
  if (kind === 'set' || kind === 'add') return { kind: 'count', count: json.updated_rows };
  if (kind === 'delete') return { kind: 'count', count: json.num_deleted_rows };
  if (kind === 'upsert') return { kind: 'count', count: json.num_updated_rows };
  if (kind === 'insert-absent') return { kind: 'count', count: json.num_inserted_rows };
  return { kind: 'done' };
}
