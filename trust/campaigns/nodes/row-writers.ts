import type { HttpClient } from '../../http.ts';
import { KnownCount } from '../../model/known.ts';
import { intRows, readRows, requireOk } from '../../rows.ts';
import { expectElsewhere, write } from './exchange.ts';
import type { Writer, WriterContext } from './exchange.ts';
import { writeInParts, writeRegisters, writeThings } from './writers.ts';

const ROWS_PER_APPEND = 3;
const ROWS_PER_GROUP = 4;
const PARTS = 2;
/** How many attempts are shown if a counter is wrong. */
const TRAIL_MAX = 8;

/** `scale` writers of each kind that may share a commit. */
export function makeRowWriters(
  context: WriterContext,
  { counters, scale }: { readonly counters: readonly Counter[]; readonly scale: number },
): readonly Writer[] {
  const each = Array.from({ length: scale }, (_unused, member) => member);
  return [
    ...counters.map((counter) => increments(context, counter)),
    ...each.flatMap((member) => [
      appends(context, { name: 'log', member, isKeyed: true }),
      appends(context, { name: 'log', member, isKeyed: false }),
      appends(context, { name: 'journal', member, isKeyed: true }),
      appends(context, { name: 'journal', member, isKeyed: false }),
    ]),
    merges(context, true),
    merges(context, false),
    comingAndGoing(context, true),
    comingAndGoing(context, false),
    groupUpdates(context),
    multipart(context),
  ];
}

/** A row of the counters' table; only its own writer increments it. */
export interface Counter {
  readonly row: number;
  readonly isKeyed: boolean;
  readonly known: KnownCount;
}

export function makeCounters(count: number): readonly Counter[] {
  return Array.from({ length: count }, (_unused, row) => ({ row, isKeyed: row % 2 === 0, known: new KnownCount() }));
}

export function countersTable(round: string): string {
  return `${round}-counters`;
}

/** Always the same body. With a key, exactly once; without one, a reply that replays another is not counted. */
function increments(context: WriterContext, { row, isKeyed, known }: Counter): Writer {
  const { nodes, round, tally } = context;
  const table = countersTable(round);
  const body = {
    updates: [
      ['hits', 'hits + 1'],
      ['twice', 'twice + 2'],
    ],
    predicate: `id = ${row}`,
  };
  const look = async (client: HttpClient): Promise<string> => {
    const [found] = await readRows(client, table, { filter: `id = ${row}` });
    return found?.['twice'] === 2 * found?.['hits'] ? String(found?.['hits']) : `torn: ${JSON.stringify(found)}`;
  };
  const isRight = (seen: string): boolean => Number(seen) >= known.least && Number(seen) <= known.most;
  const trail: string[] = [];
  return {
    name: `counter ${row}`,
    async prepare() {
      const rows = Array.from({ length: 64 }, (_unused, id) => ({ id, hits: 0, twice: 0 }));
      if (row === 0) await requireOk(nodes.arrow(`/v1/table/${table}/create`, intRows(rows)));
    },
    async step(serial) {
      const path = `/v1/table/${table}/update`;
      const key = `${table}-${row}-${serial}`;
      const { outcome, reply, node, attempts } = await write(context, isKeyed ? { path, body, key } : { path, body });
      trail.push(...attempts.map((each) => `#${serial} ${each}`));
      trail.splice(0, Math.max(0, trail.length - TRAIL_MAX));
      const isReplayed = !isKeyed && reply?.headers['idempotency-replayed'] === 'true';
      if (isReplayed) tally.replayed += 1;
      else if (outcome === 'done') known.acknowledged();
      else if (outcome === 'unknown') known.unknown();
      if (outcome !== 'done') return;
      const value = `${known.least} to ${known.most}`;
      await expectElsewhere(context, {
        what: `${table} ${row}`,
        writtenAt: node,
        value,
        accepts: isRight,
        classify: (seen) => (Number(seen) > known.most ? 'doubled' : 'lost'),
        attempts: trail,
        read: look,
      });
    },
    async check() {
      const seen = await look(nodes.at(nodes.pick()));
      tally.checked += known.least;
      if (isRight(seen)) return;
      const kind = seen.includes('torn') ? 'torn' : Number(seen) > known.most ? 'doubled' : 'lost';
      tally[kind] += 1;
      const keyed = isKeyed ? 'with' : 'without';
      tally.blame(
        kind,
        `counter ${row} ${keyed} keys is ${seen} at the end, ${known.least} to ${known.most} expected: ${trail.join(' | ')}`,
      );
    },
  };
}

function describe(found: number, whole: number): string {
  if (found === 0) return 'absent';
  if (found === whole) return 'whole';
  return found > whole ? `doubled (${found} rows)` : `torn (${found} rows)`;
}

/** The number of rows of each batch. */
async function countBatches(client: HttpClient, table: string, whole: number): Promise<ReadonlyMap<number, string>> {
  const counts = new Map<number, number>();
  for (const { batch } of await readRows(client, table)) counts.set(batch, (counts.get(batch) ?? 0) + 1);
  return new Map([...counts].map(([batch, found]) => [batch, describe(found, whole)]));
}

interface Appends {
  readonly name: string;
  readonly member: number;
  readonly isKeyed: boolean;
}

const BATCHES_PER_WRITER = 1_000_000;

/** Several writers share each table, half of them with keys, so that their appends may share a commit. */
function appends(context: WriterContext, { name, member, isKeyed }: Appends): Writer {
  const { nodes, round } = context;
  const table = `${round}-${name}`;
  const first = (2 * member + (isKeyed ? 0 : 1)) * BATCHES_PER_WRITER;
  const path = `/v1/table/${table}/insert`;
  const rows = (batch: number): Uint8Array =>
    intRows(Array.from({ length: ROWS_PER_APPEND }, (_unused, part) => ({ batch, part })));
  return writeThings(context, {
    name: `${table} of writer ${member}${isKeyed ? ' with keys' : ''}`,
    async prepare() {
      if (first === 0) await requireOk(nodes.arrow(`/v1/table/${table}/create`, intRows([], ['batch', 'part'])));
    },
    make: (serial) => ({
      path,
      body: rows(first + serial),
      ...(isKeyed ? { key: `${table}-${first + serial}` } : {}),
    }),
    async look(client, serial) {
      const found = await readRows(client, table, { filter: `batch = ${first + serial}` });
      return describe(found.length, ROWS_PER_APPEND);
    },
    async lookAll(client) {
      const found = await countBatches(client, table, ROWS_PER_APPEND);
      return new Map([...found].map(([batch, state]) => [batch - first, state]));
    },
  });
}

/** Two rows at once, by key: both must be new, or both old. */
function merges(context: WriterContext, isKeyed: boolean): Writer {
  const { nodes, round } = context;
  const table = `${round}-ledger${isKeyed ? '' : '-plain'}`;
  const flags = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
  const path = `/v1/table/${table}/merge_insert?${flags}`;
  const rows = (id: number, value: number): Uint8Array =>
    intRows([2 * id, 2 * id + 1].map((each) => ({ id: each, a: value, b: value })));
  return writeRegisters(context, {
    name: table,
    prepare: async () => requireOk(nodes.arrow(`/v1/table/${table}/create`, intRows([], ['id', 'a', 'b']))),
    open: (id) => ({ path, body: rows(id, 0), key: `${table}-${id}` }),
    set: (id, value) => ({ path, body: rows(id, value), ...(isKeyed ? { key: `${table}-${id}-${value}` } : {}) }),
    async look(client, id) {
      const found = await readRows(client, table, { filter: `id = ${2 * id} OR id = ${2 * id + 1}` });
      return describeGroup(found, 2);
    },
  });
}

/** All values of one write are equal; different ones come from two writes. */
function describeGroup(rows: readonly Readonly<Record<string, any>>[], whole: number): string {
  const values = [...new Set(rows.flatMap(({ a, b }) => [a, b]))];
  if (rows.length > whole) return `doubled (${rows.length} rows)`;
  return rows.length === whole && values.length === 1 ? String(values[0]) : `torn: ${JSON.stringify(rows)}`;
}

function comingAndGoing(context: WriterContext, isKeyed: boolean): Writer {
  const { nodes, round } = context;
  const table = `${round}-perish${isKeyed ? '' : '-plain'}`;
  const key = (word: string, id: number): object => (isKeyed ? { key: `${table}-${word}-${id}` } : {});
  return writeThings(context, {
    name: table,
    prepare: async () => requireOk(nodes.arrow(`/v1/table/${table}/create`, intRows([], ['batch']))),
    make: (batch) => ({ path: `/v1/table/${table}/insert`, body: intRows([{ batch }]), ...key('insert', batch) }),
    remove: (batch) => ({
      path: `/v1/table/${table}/delete`,
      body: { predicate: `batch = ${batch}` },
      ...key('delete', batch),
    }),
    async look(client, batch) {
      const { status, json } = await client.post(`/v1/table/${table}/count_rows`, { predicate: `batch = ${batch}` });
      return status === 200 ? describe(json, 1) : undefined;
    },
    lookAll: async (client) => countBatches(client, table, 1),
  });
}

/** Updates several columns of several rows at once. */
function groupUpdates(context: WriterContext): Writer {
  const { nodes, round } = context;
  const table = `${round}-groups`;
  const rows = (group: number): Uint8Array =>
    intRows(Array.from({ length: ROWS_PER_GROUP }, () => ({ group, a: 0, b: 0 })));
  return writeRegisters(context, {
    name: table,
    prepare: async () => requireOk(nodes.arrow(`/v1/table/${table}/create`, intRows([], ['group', 'a', 'b']))),
    open: (id) => ({ path: `/v1/table/${table}/insert`, body: rows(id), key: `${table}-${id}` }),
    set: (id, value) => ({
      path: `/v1/table/${table}/update`,
      body: {
        updates: [
          ['a', String(value)],
          ['b', String(value)],
        ],
        predicate: `\`group\` = ${id}`,
      },
    }),
    look: async (client, id) =>
      describeGroup(await readRows(client, table, { filter: `\`group\` = ${id}` }), ROWS_PER_GROUP),
  });
}

function multipart(context: WriterContext): Writer {
  const { nodes, round } = context;
  const table = `${round}-parts`;
  const whole = PARTS * ROWS_PER_APPEND;
  const at = `/v1/table/${table}`;
  return writeThings(context, {
    name: table,
    prepare: async () => requireOk(nodes.arrow(`${at}/create`, intRows([], ['batch', 'part']))),
    make: async (batch) =>
      writeInParts(context, at, {
        mode: 'append',
        parts: Array.from({ length: PARTS }, (_unused, part) =>
          intRows(Array.from({ length: ROWS_PER_APPEND }, () => ({ batch, part }))),
        ),
      }),
    async look(client, batch) {
      const { status, json } = await client.post(`${at}/count_rows`, { predicate: `batch = ${batch}` });
      return status === 200 ? describe(json, whole) : undefined;
    },
    lookAll: async (client) => countBatches(client, table, whole),
  });
}
