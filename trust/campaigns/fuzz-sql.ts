import { Bool, Int64 } from 'apache-arrow';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import { Float64, Int32, Utf8, toStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, info } from '../campaign.ts';
import type { HttpClient, Reply } from '../http.ts';
import { makeCondition, makeNumber, makeSqlRows, makeText } from '../model/sql-expressions.ts';
import type { Expression, SqlRow } from '../model/sql-expressions.ts';
import { inParallel } from '../parallel.ts';
import { requireOk } from '../rows.ts';

const ROWS = 48;
const AT_ONCE = 6;
const DEPTH_MAX = 4;

/** Writes expression trees as SQL and evaluates them here; the server must return the same rows and values. */
export const fuzzSql: Campaign = {
  name: 'sql',
  promise: 'SQL gives the right rows or a 400, never other rows',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const count = trust.size(50_000, 1000);
    const server = await trust.startServer();
    const admin = server.admin.patient();
    const rows = makeSqlRows(seededRandom(trust.seed), ROWS);
    await requireOk(admin.arrow('/v1/table/sql/create', toSqlStream(rows)));
    const seen = { right: 0, refused: 0, failed: 0, wrong: 0, broken: 0 };
    await inParallel(count, AT_ONCE, async (index) => {
      trust.progress(index, count);
      const seed = trust.seed + index;
      const { text, reply, isRight } = await tryOne(admin, rows, seed).catch((error: unknown) => {
        seen.broken += 1;
        trust.blame('no answer', `seed ${seed}: ${String(error)}`);
        return { text: '', reply: undefined, isRight: true };
      });
      if (reply === undefined) return;
      if (reply.status === 200) seen[isRight ? 'right' : 'wrong'] += 1;
      else seen[reply.status >= 500 ? 'failed' : 'refused'] += 1;
      if (reply.status < 500 && isRight) return;
      const kind = reply.status === 200 ? 'wrong rows' : `status ${reply.status}`;
      trust.blame(kind, `seed ${seed}: ${text} gave ${reply.text.slice(0, 300)}`);
    });
    return [
      atLeast('SQL texts', count, trust.size(50_000, 1000)),
      info('right', seen.right),
      info('refused with 4xx', seen.refused),
      none('wrong rows', seen.wrong),
      none('5xx', seen.failed),
      none('no answer', seen.broken),
      none('worker crashes', server.crashes()),
    ];
  },
};

function toSqlStream(rows: readonly SqlRow[]): Uint8Array {
  const big = (value: number | null | undefined): bigint | null =>
    value === null || value === undefined ? null : BigInt(value);
  return toStream(
    {
      id: [new Int32(), (row) => row],
      i: [new Int32(), (row) => rows[row]?.i ?? null],
      j: [new Int64(), (row) => big(rows[row]?.j)],
      f: [new Float64(), (row) => rows[row]?.f ?? null],
      s: [new Utf8(), (row) => rows[row]?.s ?? null],
      t: [new Utf8(), (row) => rows[row]?.t ?? null],
      b: [new Bool(), (row) => rows[row]?.b ?? null],
    },
    rows.length,
  );
}

interface Tried {
  readonly text: string;
  readonly reply: Reply;
  readonly isRight: boolean;
}

/** Every third text is a result column; the others are filters. */
async function tryOne(client: HttpClient, rows: readonly SqlRow[], seed: number): Promise<Tried> {
  const random = seededRandom(seed);
  const depth = 1 + random(DEPTH_MAX);
  if (random(3) > 0) return tryFilter(client, rows, makeCondition(random, depth));
  return tryColumn(client, rows, random(2) === 0 ? makeNumber(random, depth) : makeText(random, depth));
}

async function tryFilter(client: HttpClient, rows: readonly SqlRow[], filter: Expression<boolean>): Promise<Tried> {
  const reply = await ask(client, { filter: filter.text, columns: { column_names: ['id'] } });
  const expected = rows.filter((row) => filter.value(row) === true).map(({ id }) => id);
  const found = (reply.json?.rows ?? [])
    .map(({ id }: { id: number }) => id)
    .toSorted((one: number, other: number) => one - other);
  return { text: filter.text, reply, isRight: reply.status !== 200 || found.join() === expected.join() };
}

async function tryColumn(
  client: HttpClient,
  rows: readonly SqlRow[],
  column: Expression<number | string>,
): Promise<Tried> {
  const reply = await ask(client, { columns: { column_aliases: { id: 'id', x: column.text } } });
  const found = new Map<number, unknown>(
    (reply.json?.rows ?? []).map(({ id, x }: { id: number; x: unknown }) => [id, x]),
  );
  const isWhole = found.size === rows.length && rows.every((row) => isSame(found.get(row.id), column.value(row)));
  return { text: column.text, reply, isRight: reply.status !== 200 || isWhole };
}

/** 64-bit integers may arrive as text. */
function isSame(found: unknown, expected: number | string | null): boolean {
  if (expected === null) return found === null;
  return typeof expected === 'number' ? Number(found) === expected : found === expected;
}

async function ask(client: HttpClient, query: object): Promise<Reply> {
  return client.post('/v1/table/sql/query', { k: ROWS * 2, ...query }, { accept: 'application/json' });
}
