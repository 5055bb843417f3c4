import { fillColumn, refreshView } from '../derived.ts';
import type { HttpClient, Reply } from '../http.ts';
import { intRows, readRows, requireOk } from '../rows.ts';
import type { Applied, FaultWrite, Headers, Rows } from './fault-write.ts';

/** Rows of a table with the computed column `twice`, defined as `2 * value`. */
const BEFORE = [
  { id: 1, value: 10 },
  { id: 2, value: 20 },
];
const TWICE = { new_columns: [{ name: 'twice', computed: '2 * value' }] };
const UPSERT = 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';

const sourceOf = (view: string): string => `${view}-source`;

async function createComputed(client: HttpClient, table: string): Promise<void> {
  await requireOk(client.arrow(`/v1/table/${table}/create`, intRows(BEFORE)));
  await requireOk(client.post(`/v1/table/${table}/add_columns`, TWICE));
}

async function createFilled(client: HttpClient, table: string): Promise<void> {
  await createComputed(client, table);
  await requireOk(fillColumn(client, table, 'twice'));
}

function isComputed(rows: Rows): boolean {
  return rows.every(({ value, twice }) => twice === 2 * value);
}

/** A write to a table whose rows all have their computed values, before and after. */
function computing(
  name: string,
  send: (client: HttpClient, at: string, headers: Headers) => Promise<Reply>,
  timesIn: (rows: Rows) => Applied,
  isRepeatable = false,
): FaultWrite {
  return {
    name,
    members: 1,
    isRepeatable,
    prepare: createFilled,
    send: async (client, table, _member, headers) => send(client, `/v1/table/${table}`, headers),
    async read(client, table) {
      const rows = await readRows(client, table);
      return [isComputed(rows) ? timesIn(rows) : 'torn'];
    },
  };
}

async function readFilled(client: HttpClient, table: string): Promise<readonly Applied[]> {
  const rows = await readRows(client, table);
  const filled = rows.filter(({ twice }) => twice !== null);
  if (rows.length !== BEFORE.length || !isComputed(filled)) return ['torn'];
  return [filled.length === rows.length ? 1 : 0];
}

/** A view of the source rows with a value above 10, refreshed once before `change`. */
function refreshing(name: string, change: (client: HttpClient, source: string) => Promise<void>): FaultWrite {
  const idsOf = (rows: Rows): string =>
    rows
      .map(({ id, more }) => `${id}:${more}`)
      .toSorted()
      .join(' ');
  const queried = async (client: HttpClient, view: string): Promise<string> => {
    const query = { filter: 'value > 10', columns: { column_aliases: { id: 'id', more: 'value + 1' } } };
    return idsOf(await readRows(client, sourceOf(view), query));
  };
  const old = new Map<string, string>();
  return {
    name,
    members: 1,
    isRepeatable: false,
    async prepare(client, view) {
      const source = sourceOf(view);
      await requireOk(client.arrow(`/v1/table/${source}/create`, intRows(BEFORE)));
      const sql = `SELECT id, value + 1 AS more FROM \`${source}\` WHERE value > 10`;
      const created = await client.post(`/v1/materialized_view/${view}/create`, { kind: 'query', source_query: sql });
      if (created.status !== 201) throw new Error(created.text);
      await requireOk(refreshView(client, view));
      old.set(view, await queried(client, view));
      await change(client, source);
    },
    send: async (client, view, _member, headers) => refreshView(client, view, headers),
    async read(client, view) {
      const found = idsOf(await readRows(client, view));
      if (found === (await queried(client, view))) return [1];
      return [found === old.get(view) ? 0 : 'torn'];
    },
    async follows(client, view) {
      await requireOk(refreshView(client, view));
      return idsOf(await readRows(client, view)) === (await queried(client, view));
    },
  };
}

const CHANGED = [
  { id: 2, value: 21 },
  { id: 3, value: 30 },
];

/** Writes to tables with computed columns, backfills, and refreshes of materialized views. */
export const DERIVED_WRITES: readonly FaultWrite[] = [
  computing(
    'insert with a computed column',
    async (client, at, headers) => client.arrow(`${at}/insert`, intRows([{ id: 3, value: 30 }]), headers),
    (rows) => rows.length - BEFORE.length,
    true,
  ),
  computing(
    'merge with a computed column',
    async (client, at, headers) => client.arrow(`${at}/${UPSERT}`, intRows(CHANGED), headers),
    (rows) => (rows.length === 3 ? 1 : 0),
  ),
  computing(
    'update of what a column is computed from',
    async (client, at, headers) => client.post(`${at}/update`, { updates: [['value', '5']] }, headers),
    (rows) => rows.filter(({ value }) => value === 5).length / BEFORE.length,
  ),
  computing(
    'update of it by its old value',
    async (client, at, headers) => client.post(`${at}/update`, { updates: [['value', 'value + 1']] }, headers),
    (rows) => Number(rows.find(({ id }) => id === 1)?.['value']) - 10,
    true,
  ),
  {
    name: 'backfill',
    members: 1,
    isRepeatable: false,
    prepare: createComputed,
    send: async (client, table, _member, headers) => fillColumn(client, table, 'twice', headers),
    read: readFilled,
    async follows(client, table) {
      await requireOk(fillColumn(client, table, 'twice'));
      return isComputed(await readRows(client, table));
    },
  },
  refreshing('refresh that appends', async (client, source) =>
    requireOk(client.arrow(`/v1/table/${source}/insert`, intRows([{ id: 3, value: 30 }]))),
  ),
  refreshing('refresh that rebuilds', async (client, source) =>
    requireOk(client.arrow(`/v1/table/${source}/${UPSERT}`, intRows(CHANGED))),
  ),
];
