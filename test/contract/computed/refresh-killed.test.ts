import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../../support/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { ended, wideStream } from './computed-tables.ts';

const ROWS = 6000;
/** A refresh is several commits, one for each part of this size. */
const FLAGS = ['--arrow-chunk-bytes=1MiB', '--maintenance-running-max=0'];
const QUERY = { kind: 'query', source_query: 'SELECT id, text, id * 2 AS twice FROM wide WHERE id >= 10' };

async function countView(client: Client, predicate?: string): Promise<number> {
  return (await client.post('/v1/table/narrow/count_rows', predicate === undefined ? {} : { predicate })).json;
}

for (const how of ['rebuilds', 'appends to'] as const) {
  test(`a refresh that ${how} a view and is killed in the middle goes on under the same id, and is applied once`, async (t) => {
    const folder = await makeFolder(t);
    const first = await startServerProcess(folder, FLAGS);
    const client = new Client(first.url);
    const isAppend = how === 'appends to';
    // A view that is there already is only appended to.
    assert.equal((await client.arrow('/v1/table/wide/create', wideStream(isAppend ? 20 : ROWS))).status, 200);
    assert.equal((await client.post('/v1/materialized_view/narrow/create', QUERY)).status, 201);
    if (isAppend) {
      const { json } = await client.post('/v1/materialized_view/narrow/refresh', {});
      assert.equal((await ended(client, json.job_id)).job_state, 'DONE');
      assert.equal((await client.arrow('/v1/table/wide/insert', wideStream(ROWS))).status, 200);
    }
    const { location } = (await client.post('/v1/table/narrow/describe', {})).json;
    const versions = async (): Promise<number> => (await readdir(join(location, '_versions'))).length;
    const [before, rowsBefore] = [await versions(), await countView(client)];
    const started = await client.post('/v1/materialized_view/narrow/refresh', {});
    assert.equal(started.status, 202, started.text);
    await eventually(async () => (await versions()) > before + 1);
    assert.equal(await countView(client), rowsBefore, 'a part of the rows was visible');
    await first.killAll();

    const second = await startServerProcess(folder, FLAGS);
    t.after(async () => second.stop());
    const again = new Client(second.url);
    const job = await ended(again, started.json.job_id);
    assert.equal(job.job_state, 'DONE', JSON.stringify(job));
    assert.equal(job.result.how, isAppend ? 'appended' : 'rebuilt');
    const expected = rowsBefore + ROWS - 10;
    assert.equal(await countView(again), expected);
    assert.equal(await countView(again, 'twice = id * 2'), expected);
  });
}
