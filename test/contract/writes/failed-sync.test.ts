import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { ContractServer } from '../contract-server.ts';

const disk = {
  fails: false,
  sync: async () => (disk.fails ? Promise.reject(new Error('EIO: /secret/path')) : undefined),
};

let server: ContractServer;
before(async () => {
  server = await ContractServer.start({ outside: { disk } });
});
after(async () => server.close());

suite('a disk that does not sync', () => {
  test('the write is a 503 that says what may have happened; the table is read-only, reads go on', async () => {
    const table = await server.table({ stream: sampleStream(3) });
    const update = { updates: [['id', 'id']] };
    disk.fails = true;
    const failed = await server.admin.post(`${table.at}/update`, update);
    disk.fails = false;
    assert.equal(failed.status, 503, failed.text);
    assert.match(failed.json.detail, /not known whether it was applied/);
    assert.equal(failed.json.outcome, 'unknown');
    assert.doesNotMatch(failed.text, /EIO|secret/);
    const again = await server.admin.post(`${table.at}/update`, update);
    assert.equal(again.status, 503);
    assert.match(again.json.detail, /not known yet whether the same request was applied/);
    assert.equal(again.json.outcome, 'unknown');
    const next = await server.admin.post(`${table.at}/update`, { updates: [['id', 'id + 1']] });
    assert.equal(next.status, 503);
    assert.match(next.json.detail, /read-only until the server restarts/);
    assert.equal(next.json.outcome, undefined, 'it was clearly refused');
    assert.equal((await server.admin.post(`${table.at}/count_rows`, {})).text, '3');
    assert.equal((await server.admin.post(`${table.at}/drop`, {})).status, 200);
  });

  test('a create is not published', async () => {
    disk.fails = true;
    const made = await server.admin.arrow('/v1/table/unsynced/create', sampleStream(3));
    disk.fails = false;
    assert.equal(made.status, 503, made.text);
    assert.equal((await server.admin.post('/v1/table/unsynced/exists', {})).status, 404);
    assert.equal((await server.admin.arrow('/v1/table/unsynced/create', sampleStream(3))).status, 200);
  });
});
