import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { connect } from '@lancedb/lancedb';
import type { Connection } from '@lancedb/lancedb';
import { ContractServer } from '../contract/contract-server.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import { makeClient } from '../support/own-clients.ts';

const ROWS = [
  { id: 1, text: 'one', vector: [1, 2] },
  { id: 2, text: 'two', vector: [3, 4] },
];

interface OAuth {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string[];
}

async function open(server: ContractServer, oauthConfig: OAuth): Promise<Connection> {
  return connect('db://default', { hostOverride: server.url, oauthConfig });
}

/** What every client of the service does first. */
async function createOpenUpdate(server: ContractServer, oauthConfig: OAuth): Promise<void> {
  const name = server.name();
  const connection = await open(server, oauthConfig);
  await connection.createTable(name, ROWS);
  const table = await connection.openTable(name);
  assert.equal((await table.update({ values: { text: 'new' }, where: 'id = 1' })).rowsUpdated, 1);
  connection.close();
}

let server: ContractServer;
before(async () => {
  server = await ContractServer.start();
});
after(async () => server.close());

test('the LanceDB client creates, opens and updates with a token of our own endpoint', async () => {
  const { id, secret } = await makeClient(server.catalog, [{ role: 'writer', database: 'default', path: [] }]);
  const issuerUrl = `${server.url}/oauth`;
  for (const scopes of [['tables'], ['api://anything/.default', 'more']]) {
    await createOpenUpdate(server, { issuerUrl, clientId: id, clientSecret: secret, scopes });
  }
  await createOpenUpdate(server, {
    issuerUrl: `${issuerUrl}/`,
    clientId: id,
    clientSecret: secret,
    scopes: ['tables'],
  });
});

test('the LanceDB client creates, opens and updates with a token of an identity provider beside our own', async (t) => {
  const provider = await startIdentityProvider();
  t.after(async () => provider.close());
  const grants = [{ claim: 'scope', value: 'tables.write', role: 'writer', database: 'default' }];
  const issuers = JSON.stringify([{ issuer: provider.issuer, audience: provider.audience, grants }]);
  const guarded = await ContractServer.start({ env: { TILTYARD_AUTH_ISSUERS: issuers } });
  t.after(async () => guarded.close());
  const { issuer, clientId, clientSecret } = provider;
  await createOpenUpdate(guarded, { issuerUrl: issuer, clientId, clientSecret, scopes: ['tables.write'] });
  const own = await makeClient(guarded.catalog);
  const ours = { issuerUrl: `${guarded.url}/oauth`, clientId: own.id, clientSecret: own.secret, scopes: ['tables'] };
  await createOpenUpdate(guarded, ours);
});

test('the LanceDB client is told when its secret is wrong, and when its client was revoked', async () => {
  const { id, secret } = await makeClient(server.catalog);
  const issuerUrl = `${server.url}/oauth`;
  const wrong = await open(server, { issuerUrl, clientId: id, clientSecret: 'wrong', scopes: ['tables'] });
  const { id: table } = await server.table();
  await assert.rejects(wrong.openTable(table), /401|invalid_client/);
  const right = await open(server, { issuerUrl, clientId: id, clientSecret: secret, scopes: ['tables'] });
  const opened = await right.openTable(table);
  await server.catalog.clients.revoke(id);
  await assert.rejects(opened.update({ values: { name: 'x' } }), /401|token/i);
});

test('the LanceDB client may hold tokens so short that it asks for one before every call', async (t) => {
  const brief = await ContractServer.start({ flags: ['--auth-token-seconds=60'] });
  t.after(async () => brief.close());
  const { id, secret } = await makeClient(brief.catalog);
  const oauth = { issuerUrl: `${brief.url}/oauth`, clientId: id, clientSecret: secret, scopes: ['tables'] };
  await createOpenUpdate(brief, oauth);
});
