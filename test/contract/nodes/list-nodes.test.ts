import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { readRelease } from '../../../src/release.ts';
import { runCli, runCliOn } from '../../support/run-cli.ts';
import { ContractServer } from '../contract-server.ts';
import { assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const NODES = '/v1/nodes/list';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

suite('list_nodes', () => {
  test('lists the one process that serves, alive, without an address or leases, by GET and by POST', async () => {
    await server.table();
    const answers = [await server.admin.get(NODES), await server.admin.post(NODES, {})];
    for (const { status, text, json } of answers) {
      assert.equal(status, 200, text);
      const [node, ...others] = json.nodes;
      const { id, name, started_at: started, ...rest } = node;
      assert.deepEqual(others, []);
      assert.deepEqual(json.takeovers, []);
      assert.deepEqual(rest, { release: readRelease(), alive: true, leases: 0, forwards: 0 });
      assert.equal(json.node_id, id);
      assert.match(name, /127\.0\.0\.1:\d+$/);
      assert.ok(Date.parse(started) <= Date.now());
    }
    assert.equal(answers[0]?.json.node_id, answers[1]?.json.node_id);
  });

  test('refuses what it does not know', async () => {
    assertRefused(await server.admin.post(NODES, { id: ['x'] }), badRequest(/id/));
    assertRefused(await server.admin.post(NODES, { limit: 3 }), badRequest(/limit/));
    assertRefused(await server.admin.post(NODES, []), badRequest());
  });

  test('needs a credential', async () => {
    assertRefused(await server.stranger().get(NODES), unauthenticated);
    assertRefused(await server.stranger().post(NODES, {}), unauthenticated);
  });

  test('is for administrators of the server alone', async () => {
    assertRefused(await (await server.caller('owner')).get(NODES), forbidden);
    assertRefused(await (await server.caller('admin')).post(NODES, {}), forbidden);
    const ofServer = server.client({ key: await server.key([{ role: 'admin', database: undefined, path: [] }]) });
    assert.equal((await ofServer.get(NODES)).status, 200);
  });
});

suite('tiltyard nodes', () => {
  test('draws the nodes as a table, with a star at the one that answered', async () => {
    const { code, out, err } = await runCliOn(server.url, ['nodes']);
    assert.deepEqual([code, err], [0, '']);
    const [heads, , node, ...rest] = out.trimEnd().split('\n');
    assert.match(heads ?? '', /^ +node +address +state +started +leases +forwards +release$/);
    assert.match(node ?? '', /^\* +\S+ 127\.0\.0\.1:\d+ +none +alive +\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ +0 +0 +\d+\.\d+/);
    assert.deepEqual(rest, []);
  });

  test('gives programs the reply as JSON', async () => {
    const { out } = await runCliOn(server.url, ['nodes', '--json']);
    const { json } = await server.admin.get(NODES);
    const { context: _unused, ...reply } = json;
    assert.deepEqual(JSON.parse(out), reply);
  });

  test('says who may ask, and exits as for any missing permission', async () => {
    const key = await server.key([{ role: 'admin', database: 'default', path: [] }]);
    const refused = await runCli(['nodes', '--server', server.url, '--key', key]);
    assert.deepEqual([refused.code, refused.out], [4, '']);
    assert.equal((await runCliOn(server.url, ['nodes', 'extra'])).code, 2);
  });
});
