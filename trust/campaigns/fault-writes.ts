import { Int32, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import type { HttpClient } from '../http.ts';
import { stageVersion } from '../../test/support/staged-version.ts';
import type { StagedVersion } from '../../test/support/staged-version.ts';
import { intRows, readRows, requireOk } from '../rows.ts';
import { DERIVED_WRITES } from './fault-derived.ts';
import type { Applied, FaultWrite, Rows } from './fault-write.ts';
import { listTables } from './kill-writers.ts';

export const CHUNK_BYTES = 1024 ** 2;
const LONG_CHUNKS = 3;
const BATCH = 8;

const BEFORE = [
  { id: 1, value: 10 },
  { id: 2, value: 20 },
];
const NEW = [
  { id: 2, value: 21 },
  { id: 3, value: 30 },
];

async function createBefore(client: HttpClient, table: string): Promise<void> {
  await requireOk(client.arrow(`/v1/table/${table}/create`, intRows(BEFORE)));
}

type Post = (table: string) => readonly [operation: string, body: object];

interface Once {
  readonly name: string;
  readonly post?: Post;
  readonly arrow?: readonly [operation: string, body: Uint8Array];
  readonly before?: Rows;
  readonly after?: Rows;
  readonly prepare?: (client: HttpClient, table: string) => Promise<void>;
  readonly read?: (client: HttpClient, table: string) => Promise<Applied>;
}

/** A write that has no further effect when applied twice: the rows are either `before` or `after`. */
function once({ name, post, arrow, before = BEFORE, after = BEFORE, prepare = createBefore, read }: Once): FaultWrite {
  const readOne = read ?? (async (client, table) => whichOf(await readRows(client, table), before, after));
  return {
    name,
    members: 1,
    isRepeatable: false,
    prepare,
    async send(client, table, _member, headers) {
      if (arrow !== undefined) return client.arrow(`/v1/table/${table}/${arrow[0]}`, arrow[1], headers);
      const [operation, body] = post?.(table) ?? ['', {}];
      return client.post(`/v1/table/${table}/${operation}`, body, headers);
    },
    read: async (client, table) => [await readOne(client, table)],
  };
}

function whichOf(found: Rows, before: Rows, after: Rows): Applied {
  const text = (rows: Rows): string =>
    JSON.stringify(rows.map((row) => Object.entries(row).toSorted()).toSorted((one, other) => compareRows(one, other)));
  if (text(found) === text(after)) return 1;
  return text(found) === text(before) ? 0 : 'torn';
}

function compareRows(one: unknown, other: unknown): number {
  return JSON.stringify(one).localeCompare(JSON.stringify(other));
}

/** For rows that are added `size` at a time. */
function timesOf(count: number, size = 1): Applied {
  return count % size === 0 ? count / size : 'torn';
}

function inserts(name: string, members: number): FaultWrite {
  return {
    name,
    members,
    isRepeatable: true,
    prepare: createBefore,
    send: async (client, table, member, headers) => {
      const rows = [1, 2].map((value) => ({ id: 100 + member, value }));
      return client.arrow(`/v1/table/${table}/insert`, intRows(rows), headers);
    },
    async read(client, table) {
      const rows = await readRows(client, table);
      const isWhole = rows.filter(({ id }) => id < 100).length === BEFORE.length;
      const of = (member: number): number => rows.filter(({ id }) => id === 100 + member).length;
      return forMembers(members, (member) => (isWhole ? timesOf(of(member), 2) : 'torn'));
    },
  };
}

function updates(name: string, members: number): FaultWrite {
  return {
    name,
    members,
    isRepeatable: true,
    prepare: async (client, table) => {
      const rows = Array.from({ length: BATCH }, (_unused, id) => ({ id, hits: 0, twice: 0 }));
      await requireOk(client.arrow(`/v1/table/${table}/create`, intRows(rows)));
    },
    send: async (client, table, member, headers) => {
      const changes = [
        ['hits', 'hits + 1'],
        ['twice', 'twice + 2'],
      ];
      const body = { updates: changes, predicate: `id = ${member}` };
      return client.post(`/v1/table/${table}/update`, body, headers);
    },
    async read(client, table) {
      const rows = await readRows(client, table);
      return forMembers(members, (member) => {
        const [row, ...others] = rows.filter(({ id }) => id === member);
        const isWhole = others.length === 0 && row?.['twice'] === 2 * row?.['hits'];
        return isWhole ? (row?.['hits'] ?? 'torn') : 'torn';
      });
    },
  };
}

function forMembers(count: number, of: (member: number) => Applied): readonly Applied[] {
  return Array.from({ length: count }, (_unused, member) => of(member));
}

/** Each batch is larger than a chunk, and so becomes a separate commit. */
const LONG_STREAM = tableToIPC(
  new Table(
    Array.from({ length: LONG_CHUNKS }, (_unused, chunk) => {
      const texts = ['.'.repeat(CHUNK_BYTES), ''];
      const columns = {
        id: vectorFromArray(
          texts.map((_text, row) => 100 + 2 * chunk + row),
          new Int32(),
        ),
        text: vectorFromArray(texts, new Utf8()),
      };
      return new Table(columns).batches;
    }).flat(),
  ),
  'stream',
);
const LONG_ROWS = 2 * LONG_CHUNKS;
const LONG_OLD_ROWS = 2;

function long(name: string, operation: string): FaultWrite {
  const isOverwrite = operation.includes('overwrite');
  return {
    name,
    members: 1,
    isRepeatable: !isOverwrite,
    prepare: async (client, table) => {
      const old = { id: vectorFromArray([1, 2], new Int32()), text: vectorFromArray(['', ''], new Utf8()) };
      await requireOk(client.arrow(`/v1/table/${table}/create`, tableToIPC(new Table(old), 'stream')));
    },
    send: async (client, table, _member, headers) =>
      client.arrow(`/v1/table/${table}/${operation}`, LONG_STREAM, headers),
    async read(client, table) {
      const rows = await readRows(client, table, { columns: ['id'] });
      const old = rows.filter(({ id }) => id < 100).length;
      const times = timesOf(rows.length - old, LONG_ROWS);
      const isWhole = old === LONG_OLD_ROWS ? !isOverwrite || times === 0 : isOverwrite && old === 0 && times === 1;
      return [isWhole ? times : 'torn'];
    },
  };
}

async function readMetadata(client: HttpClient, table: string): Promise<Applied> {
  const { json } = await client.post(`/v1/table/${table}/describe`, { load_detailed_metadata: true });
  const found = { ...json.schema.fields[1].metadata, ...json.schema.metadata, ...json.metadata };
  const { one, two } = found;
  return one === two ? (one === 'new' ? 1 : 0) : 'torn';
}

async function readIndexes(client: HttpClient, table: string): Promise<number> {
  const { json } = await client.post(`/v1/table/${table}/index/list`, {});
  return json.indexes.length;
}

async function readListed(client: HttpClient, names: readonly string[]): Promise<readonly Applied[]> {
  const listed = await listTables(client);
  return Promise.all(
    names.map(async (name) => {
      if (!listed.includes(name)) return 0;
      return (await readRows(client, name)).length === BEFORE.length ? 1 : 'torn';
    }),
  );
}

const UPSERT = 'merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
const BOTH_NEW = { one: 'new', two: 'new' };
const INDEX = { column: 'id', index_type: 'BTREE', name: 'by_id' };

async function createIndexed(client: HttpClient, table: string): Promise<void> {
  await createBefore(client, table);
  await requireOk(client.post(`/v1/table/${table}/create_index`, INDEX));
}

async function createChanged(client: HttpClient, table: string): Promise<void> {
  await createBefore(client, table);
  await requireOk(client.post(`/v1/table/${table}/update`, { updates: [['value', '0']] }));
}

/** What an external writer has staged, by table. */
const staged = new Map<string, StagedVersion>();
const beside = (table: string): string => `${table}-beside`;

async function createStaged(client: HttpClient, table: string): Promise<void> {
  await createBefore(client, table);
  await requireOk(client.post(`/v1/table/${table}/managed_versioning`, { enabled: true }));
  const { json } = await client.post(`/v1/table/${table}/describe`, {});
  staged.set(table, await stageVersion(json.location, async (each) => each.delete('id = 2')));
}

async function readStaged(client: HttpClient, table: string): Promise<Applied> {
  return whichOf(await readRows(client, table), BEFORE, BEFORE.slice(0, 1));
}

const renamed = (table: string): string => `${table}-renamed`;

/** Every kind of write of the service. */
export const FAULT_WRITES: readonly FaultWrite[] = [
  inserts('insert', 1),
  updates('update', 1),
  inserts('8 inserts at once', BATCH),
  updates('8 updates at once', BATCH),
  once({ name: 'delete', post: () => ['delete', { predicate: 'id = 2' }], after: BEFORE.slice(0, 1) }),
  once({ name: 'merge', arrow: [UPSERT, intRows(NEW)], after: [{ id: 1, value: 10 }, ...NEW] }),
  once({ name: 'overwrite by create', arrow: ['create?mode=overwrite', intRows(NEW)], after: NEW }),
  once({ name: 'overwrite by insert', arrow: ['insert?mode=overwrite', intRows(NEW)], after: NEW }),
  long('long append', 'insert'),
  long('long overwrite', 'insert?mode=overwrite'),
  long('long overwrite by create', 'create?mode=overwrite'),
  once({
    name: 'add columns',
    post: () => ['add_columns', { new_columns: [{ name: 'twice', expression: 'value * 2' }] }],
    after: BEFORE.map(({ id, value }) => ({ id, value, twice: 2 * value })),
  }),
  once({
    name: 'alter columns',
    post: () => ['alter_columns', { alterations: [{ path: 'value', rename: 'amount' }] }],
    after: BEFORE.map(({ id, value }) => ({ id, amount: value })),
  }),
  once({
    name: 'drop columns',
    post: () => ['drop_columns', { columns: ['value'] }],
    after: BEFORE.map(({ id }) => ({ id })),
  }),
  once({
    name: 'field metadata',
    post: () => ['update_field_metadata', { updates: [{ path: 'value', metadata: BOTH_NEW }] }],
    read: readMetadata,
  }),
  once({ name: 'schema metadata', post: () => ['schema_metadata/update', BOTH_NEW], read: readMetadata }),
  once({
    name: 'restore',
    prepare: createChanged,
    post: () => ['restore', { version: 1 }],
    before: BEFORE.map(({ id }) => ({ id, value: 0 })),
  }),
  once({
    name: 'create',
    prepare: async () => undefined,
    arrow: ['create', intRows(BEFORE)],
    read: async (client, table) => (await readListed(client, [table]))[0] ?? 0,
  }),
  once({
    name: 'drop',
    post: () => ['drop', {}],
    read: async (client, table) => {
      const [left = 0] = await readListed(client, [table]);
      return left === 'torn' ? 'torn' : 1 - left;
    },
  }),
  once({
    name: 'rename',
    post: (table) => ['rename', { new_table_name: renamed(table) }],
    read: async (client, table) => {
      const [old, now] = await readListed(client, [table, renamed(table)]);
      return old === 'torn' || now === 'torn' || old === now ? 'torn' : (now ?? 0);
    },
  }),
  once({
    name: 'version of an external writer',
    prepare: createStaged,
    post: (table) => ['version/create', { ...staged.get(table) }],
    read: readStaged,
  }),
  {
    name: 'batch of two versions',
    members: 1,
    isRepeatable: false,
    async prepare(client, table) {
      for (const each of [table, beside(table)]) await createStaged(client, each);
    },
    async send(client, table, _member, headers) {
      const entries = [table, beside(table)].map((each) => ({ id: [each], ...staged.get(each) }));
      return client.post('/v1/table/version/batch-create', { entries }, headers);
    },
    async read(client, table) {
      const [one, other] = [await readStaged(client, table), await readStaged(client, beside(table))];
      return [one === other ? one : 'torn'];
    },
  },
  once({ name: 'create index', post: () => ['create_index', INDEX], read: readIndexes }),
  once({
    name: 'drop index',
    prepare: createIndexed,
    post: () => ['index/by_id/drop', {}],
    read: async (client, table) => 1 - (await readIndexes(client, table)),
  }),
  ...DERIVED_WRITES,
];
