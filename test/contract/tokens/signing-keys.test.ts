import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { makeClient, requireToken } from '../../support/own-clients.ts';
import { ContractServer } from '../contract-server.ts';
import { assertRefused, badRequest, forbidden, unauthenticated } from '../refusal.ts';

const ROTATE = '/v1/access/signing_key/rotate';
const LIST = '/v1/access/signing_key/list';

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

const statesOf = async (): Promise<readonly string[]> => {
  const { status, text, json } = await server.admin.post(LIST, {});
  assert.equal(status, 200, text);
  assert.ok(!text.includes('jwk') && !text.includes('"d"'), text);
  return json.keys.map(({ state }: { state: string }) => state);
};

suite('rotate_signing_key', () => {
  test('signs with a new key, and tokens of the earlier one stay valid unless it is forgotten', async () => {
    const token = await requireToken(server.url, await makeClient(server.catalog));
    const bearer = server.client({ key: undefined, headers: { authorization: `Bearer ${token}` } });
    assert.deepEqual(await statesOf(), ['signs']);
    const rotated = await server.admin.post(ROTATE, {});
    assert.equal(rotated.status, 200, rotated.text);
    assert.equal(rotated.json.state, 'signs');
    assert.deepEqual(await statesOf(), ['signs', 'retired']);
    assert.equal((await bearer.get('/v1/tables')).status, 200);
    assert.equal((await server.admin.post(ROTATE, { forget_earlier: true })).status, 200);
    assert.deepEqual(await statesOf(), ['signs']);
    assertRefused(await bearer.get('/v1/tables'), unauthenticated);
  });

  test('refuses what it does not know', async () => {
    assertRefused(await server.admin.post(ROTATE, { forget_earlier: 'yes' }), badRequest(/forget_earlier/));
    assertRefused(await server.admin.post(ROTATE, { key: 'mine' }), badRequest(/key/));
    assertRefused(await server.admin.post(LIST, { limit: 1 }), badRequest(/limit/));
  });

  test('is for administrators of the server alone, as the list is', async () => {
    for (const path of [ROTATE, LIST]) {
      assertRefused(await server.stranger().post(path, {}), unauthenticated);
      assertRefused(await (await server.caller('owner')).post(path, {}), forbidden);
      assertRefused(await (await server.caller('admin')).post(path, {}), forbidden);
    }
  });
});
