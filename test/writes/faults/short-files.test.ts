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
];

const WRITES_OF_FILE_MAX = 3;

function sorted(rows: readonly Row[]): readonly Row[] {
  return rows.toSorted((one, other) => (one['id'] ?? 0) - (other['id'] ?? 0));
}

/** The engine does not notice when the last write of a file fails: it commits a file that is cut short. */
for (const { name, send, after, files } of WRITES) {
  test(`${name}: the table is readable and is what the answer says, also when a write to a new file failed`, async (t) => {
    const server = await FaultyServer.start(t);
    if (server === undefined) return;
    for (const error of ['ENOSPC', 'EIO'] as const) {
      for (const [index, file] of files.entries()) {
        await t.test(`${error} in ${file}`, async () => {
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
  });
}
