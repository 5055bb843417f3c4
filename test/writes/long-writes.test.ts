import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Int32, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { FaultyServer, MANIFEST } from '../support/faulty-server.ts';
import type { FaultAction } from '../support/faults.ts';

const CHUNKS = 3;
const ROWS_PER_CHUNK = 2;
/** The smallest that can be set; each batch below is larger, and so a chunk of its own. */
const CHUNK_BYTES = 1024 ** 2;
const OLD = [-1, -2, -3];
const NEW = Array.from({ length: CHUNKS * ROWS_PER_CHUNK }, (_unused, row) => row);

/** One batch for each group of ids. */
function stream(groups: readonly (readonly number[])[], text: string): Uint8Array {
  const tables = groups.map(
    (ids) =>
      new Table({
        id: vectorFromArray([...ids], new Int32()),
        text: vectorFromArray(
          ids.map(() => text),
          new Utf8(),
        ),
      }),
  );
  return tableToIPC(new Table(tables.flatMap(({ batches }) => batches)), 'stream');
}

const CHUNKED = Array.from({ length: CHUNKS }, (_unused, chunk) =>
  NEW.slice(chunk * ROWS_PER_CHUNK, (chunk + 1) * ROWS_PER_CHUNK),
);
const LONG_STREAM = stream(CHUNKED, '.'.repeat(CHUNK_BYTES / ROWS_PER_CHUNK + 1));

interface Write {
  readonly name: string;
  readonly path: string;
  readonly after: readonly number[];
}

const WRITES: readonly Write[] = [
  { name: 'long append', path: 'insert', after: [...OLD, ...NEW] },
  { name: 'long overwrite by insert', path: 'insert?mode=overwrite', after: NEW },
  { name: 'long overwrite by create', path: 'create?mode=overwrite', after: NEW },
];

interface Fault {
  readonly name: string;
  readonly action: FaultAction;
}

const FAULTS: readonly Fault[] = [
  { name: 'a lost reply', action: 'lose' },
  { name: 'EIO', action: 'fail' },
];

interface Written {
  readonly table: string;
  readonly ids: readonly number[];
}

async function assertWhole(server: FaultyServer, { table, ids }: Written): Promise<void> {
  const rows = await server.rows(table, { columns: ['id'] });
  const found = rows.map(({ id }) => id ?? Number.NaN).toSorted((one, other) => one - other);
  assert.deepEqual(
    found,
    ids.toSorted((one, other) => one - other),
  );
}

interface At {
  readonly write: Write;
  readonly fault: Fault;
  readonly chunk: number;
}

async function check(server: FaultyServer, { write, fault, chunk }: At): Promise<Written> {
  const table = `${write.name}-${fault.name}-${chunk}`.replaceAll(' ', '-');
  const at = `/v1/table/${table}`;
  const made = await server.client.arrow(`${at}/create`, stream([OLD], 'old'));
  assert.equal(made.status, 200, made.text);
  const set = server.faults.set({
    action: fault.action,
    calls: ['link', 'rename'],
    paths: MANIFEST,
    error: 'EIO',
    skip: chunk,
  });
  const answer = await server.client.arrow(`${at}/${write.path}`, LONG_STREAM);
  server.faults.clear();
  assert.equal(set.acted(), 1, 'the fault did not happen');
  const ids = answer.status === 200 ? write.after : OLD;
  await assertWhole(server, { table, ids });
  return { table, ids };
}

test('a long write after a fault is applied whole or not at all, as its answer says', async (t) => {
  const server = await FaultyServer.start(t, [`--arrow-chunk-bytes=${CHUNK_BYTES}`]);
  if (server === undefined) return;
  const written: Written[] = [];
  for (const write of WRITES) {
    for (const fault of FAULTS) {
      for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
        await t.test(`a ${write.name} after ${fault.name} at chunk ${chunk + 1} of ${CHUNKS}`, async () => {
          written.push(await check(server, { write, fault, chunk }));
        });
      }
    }
  }
  await t.test('and stays so when the worker is killed', async () => {
    await server.server.killWorker();
    for (const each of written) await assertWhole(server, each);
  });
});
