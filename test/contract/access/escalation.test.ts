import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ROLES } from '../../../src/model/access.ts';
import type { Grant, Role } from '../../../src/model/access.ts';
import type { Answer, Client } from '../../support/client.ts';
import { ContractServer } from '../contract-server.ts';

/** Where a role can be held or given: everywhere, on a database, a namespace, a table, and beside each of them. */
const PLACES: Readonly<Record<string, Pick<Grant, 'database' | 'path'>>> = {
  everywhere: { database: undefined, path: [] },
  here: { database: 'default', path: [] },
  namespace: { database: 'default', path: ['n'] },
  table: { database: 'default', path: ['n', 't'] },
  beside: { database: 'default', path: ['m'] },
  alike: { database: 'default', path: ['nn'] },
  elsewhere: { database: 'other', path: [] },
  'elsewhere by the same path': { database: 'other', path: ['n'] },
};

/** Which places lie within a place. */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  everywhere: Object.keys(PLACES),
  here: ['here', 'namespace', 'table', 'beside', 'alike'],
  namespace: ['namespace', 'table'],
  table: ['table'],
  beside: ['beside'],
  alike: ['alike'],
  elsewhere: ['elsewhere', 'elsewhere by the same path'],
  'elsewhere by the same path': ['elsewhere by the same path'],
};

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
  await server.database('other');
});
after(async () => server.close());

async function holder(role: Role, place: string): Promise<Client> {
  const at = PLACES[place] ?? assert.fail(place);
  return server.client({ key: await server.key([{ role, ...at }]) });
}

function toWire(role: Role, place: string): object {
  const { database, path } = PLACES[place] ?? assert.fail(place);
  return {
    role,
    ...(database === undefined ? { all_databases: true } : { database }),
    ...(path.length > 0 ? { path } : {}),
  };
}

const WAYS: Readonly<Record<string, (client: Client, grant: object) => Promise<Answer>>> = {
  key: async (client, grant) => client.post('/v1/access/key/create', { name: 'x', grants: [grant] }),
  client: async (client, grant) => client.post('/v1/access/client/create', { name: 'x', grants: [grant] }),
  grant: async (client, grant) =>
    client.post('/v1/access/grant/create', { principal: 'token:https://i.example#s', ...grant }),
  ungrant: async (client, grant) =>
    client.post('/v1/access/grant/delete', { principal: 'token:https://i.example#nobody', ...grant }),
};

test('an administrator grants any role within its scope, and none outside of it, by any request', async () => {
  for (const [held, within] of Object.entries(WITHIN)) {
    const admin = await holder('admin', held);
    for (const place of Object.keys(PLACES)) {
      for (const [way, send] of Object.entries(WAYS)) {
        const { status } = await send(admin, toWire(ROLES[place.length % ROLES.length] ?? 'reader', place));
        const allowed = way === 'ungrant' ? 404 : 200;
        const isHidden = held !== 'everywhere' && PLACES[place]?.database !== PLACES[held]?.database;
        const refused = isHidden && place !== 'everywhere' ? 404 : 403;
        const expected = within.includes(place) ? allowed : refused;
        assert.equal(status, expected, `admin on ${held} gives on ${place} by ${way}`);
      }
    }
  }
});

test('a caller who is no administrator grants nothing, not even a role it has', async () => {
  for (const role of ROLES.filter((each) => each !== 'admin')) {
    for (const held of ['everywhere', 'here', 'namespace', 'table']) {
      const caller = await holder(role, held);
      for (const place of [held, 'table']) {
        for (const [way, send] of Object.entries(WAYS)) {
          const { status } = await send(caller, toWire(role, place));
          assert.equal(status, 403, `${role} on ${held} gives on ${place} by ${way}`);
        }
      }
    }
  }
});

test('a key made by an administrator of a part cannot make itself more', async () => {
  const admin = await holder('admin', 'namespace');
  const made = await WAYS['key']?.(admin, toWire('admin', 'namespace'));
  assert.equal(made?.status, 200);
  const { principal, key } = made.json;
  const child = server.client({ key });
  for (const place of ['everywhere', 'here', 'beside', 'elsewhere']) {
    for (const role of ROLES) {
      const answer = await child.post('/v1/access/grant/create', { principal, ...toWire(role, place) });
      assert.ok(answer.status === 403 || answer.status === 404);
    }
  }
  const record = (await server.catalog.keys.list()).find(({ id }) => principal === `key:${id}`);
  assert.deepEqual(record?.grants, [{ role: 'admin', database: 'default', path: ['n'] }]);
});
