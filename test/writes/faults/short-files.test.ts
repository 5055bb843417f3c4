import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../support/client.ts';
import { FaultyServer, rowStream } from '../../support/faulty-server.ts';
import type { Row } from '../../support/faulty-server.ts';

const BEFORE: readonly Row[] = [
  { id: 1, value: 10 },
  { id: 2, value: 20 },
];

interface Write {
  readonly name: string;
  readonly send: (server: FaultyServer, at: string) => Promise<Answer>;
  readonly after: readonly Row[];
  /** Files that it makes, each by one or more writes. */
  readonly files: readonly string[];
}

const WRITES: readonly Write[] = [
  {
    name: 'insert',
    send: async ({ client }, at) => client.arrow(`${at}/insert`, rowStream([{ id: 3, value: 30 }])),
    after: [...BEFORE, { id: 3, value: 30 }],
    files: ['/data/'],
  },
  {
    name: 'update',
    send: async ({ client }, at) => client.post(`${at}/update`, { updates: [['value', '0']], predicate: 'id = 1' }),
    after: [
      { id: 1, value: 0 },
      { id: 2, value: 20 },
    ],
    files: ['/data/', '/_deletions/'],
  },
  {
    name: 'delete',
    send: async ({ client }, at) => client.post(`${at}/delete`, { predicate: 'id = 1' }),
    after: BEFORE.slice(1),
    files: ['/_deletions/'],
  },
  {
    name: 'constant-column',
    send: async ({ client }, at) =>
      client.post(`${at}/add_columns`, { new_columns: [{ name: 'one', expression: '1' }] }),
    after: BEFORE.map((row) => ({ ...row, one: 1 })),
    files: ['/data/'],
  },
];

const WRITES_OF_FILE_MAX = 3;

function sorted(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => (one['id'] ?? 0) - (other['id'] ?? 0));
}

/** The engine does not notice when the last write of a file fails: it commits a file that is cut short. */
test('when a write to a new file fails, the table is readable and is what the answer says', async (t) => {
  const server = await FaultyServer.start(t);
  if (server === undefined) return;
  for (const { name, send, after, files } of WRITES) {
    for (const error of ['ENOSPC', 'EIO'] as const) {
      for (const [index, file] of files.entries()) {
        await t.test(`${name}: ${error} in ${file}`, async () => {
          for (let skip = 0; skip < WRITES_OF_FILE_MAX; skip += 1) {
            const table = `${name}-${error}-${index}-${skip}`;
            await server.create(table, BEFORE);
            const fault = server.faults.set({ action: 'fail', calls: ['write'], paths: [file], error, skip });
            const answer = await send(server, `/v1/table/${table}`);
            server.faults.clear();
            const expected = answer.status === 200 ? after : BEFORE;
            assert.deepEqual(sorted(await server.rows(table)), expected, `write ${skip + 1}: ${answer.text}`);
            if (fault.acted() === 0) return;
          }
        });
      }
    }
  }
});

const ROWS: readonly Row[] = Array.from({ length: 40 }, (_unused, id) => ({ id, value: 10 * id }));
const MAINTENANCE_WRITES_MAX = 12;

/** Changes no rows, whether it succeeds or fails. */
const MAINTENANCE = [
  { name: 'compaction', path: 'maintenance/run', body: {}, file: '/data/' },
  { name: 'compaction that remaps and refreshes an index', path: 'maintenance/run', body: {}, file: '/_indices/' },
  { name: 'index build', path: 'create_index', body: { column: 'value', index_type: 'BTREE' }, file: '/_indices/' },
];

test('when a write to a new file fails, all rows are readable, with and without the index', async (t) => {
  const server = await FaultyServer.start(t, ['--maintenance-running-max=0']);
  if (server === undefined) return;
  for (const { name, path, body, file } of MAINTENANCE) {
    await t.test(name, async () => {
      for (let skip = 0; skip < MAINTENANCE_WRITES_MAX; skip += 1) {
        const table = `${name.replaceAll(' ', '-')}-${skip}`;
        const at = `/v1/table/${table}`;
        await server.create(table, ROWS.slice(0, 30));
        const indexed: Answer = await server.client.post(`${at}/create_index`, { column: 'id', index_type: 'BTREE' });
        assert.equal(indexed.status, 200, indexed.text);
        for (const row of ROWS.slice(30)) await server.client.arrow(`${at}/insert`, rowStream([row]));
        const fault = server.faults.set({ action: 'fail', calls: ['write'], paths: [file], error: 'ENOSPC', skip });
        const answer: Answer = await server.client.post(`${at}/${path}`, body);
        server.faults.clear();
        const context = `write ${skip + 1}: ${answer.text}`;
        assert.deepEqual(sorted(await server.rows(table)), ROWS, context);
        for (const filter of ['id = 7', 'id = 35', 'value = 70']) {
          assert.equal((await server.rows(table, { filter })).length, 1, `${filter}, ${context}`);
        }
        assert.equal((await server.client.post(`${at}/index/list`, {})).status, 200, context);
        if (fault.acted() === 0) {
          assert.equal(answer.status, 200, answer.text);
          return;
        }
      }
    });
  }
});
