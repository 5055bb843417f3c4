import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { S3Emulator } from '../../support/s3/s3-emulator.ts';
import { startServer } from '../../support/server.ts';
import { NO_OBJECT_STORES } from './test-stores.ts';

type Read = (client: Client, name: string) => Promise<number>;

const countRows: Read = async (client, name) => (await client.post(`/v1/table/${name}/count_rows`, {})).json;
/** The same words each time: the result is cached while the table is as it was. */
const queryRows: Read = async (client, name) =>
  (await client.post(`/v1/table/${name}/query`, { k: 100 }, { accept: 'application/json' })).json.rows.length;

suite('a commit of another program to an object store', { skip: NO_OBJECT_STORES }, () => {
  for (const [title, read] of [
    ['who read more tables in turn than are kept open', countRows],
    ['who repeat queries of more tables than are kept open', queryRows],
  ] as const) {
    test(`is seen by readers ${title}`, async (t) => {
      const emulator = await S3Emulator.start(t);
      const { storageOptions } = emulator;
      const root = ['--storage-root=s3://tables/root', `--storage-options=${JSON.stringify(storageOptions)}`];
      const bounds = ['--engine-open-tables-max=1', '--storage-poll-seconds=0.1', '--maintenance-running-max=0'];
      const server = await startServer({ flags: [...root, ...bounds] });
      t.after(async () => server.close());
      const client = new Client(server.url);
      const names = ['one', 'two', 'three'];
      for (const name of names) {
        assert.equal((await client.arrow(`/v1/table/${name}/create`, sampleStream(10))).status, 200);
      }
      const readAll = async (): Promise<readonly number[]> => {
        const found: number[] = [];
        for (const name of names) found.push(await read(client, name));
        return found;
      };
      for (let round = 0; round < 3; round += 1) assert.deepEqual(await readAll(), [10, 10, 10]);
      const { location } = (await client.post('/v1/table/two/describe', {})).json;
      const folder = location.slice(0, location.lastIndexOf('/'));
      const db = await connect(folder, { storageOptions: { ...storageOptions } });
      const outside = await db.openTable(location.slice(folder.length + 1).replace(/\.lance$/, ''));
      await outside.delete('id = 3');
      db.close();
      await eventually(async () => (await readAll())[1] === 9);
    });
  }
});
