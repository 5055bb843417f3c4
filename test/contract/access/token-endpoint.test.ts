import { SignJWT, createRemoteJWKSet, decodeJwt, decodeProtectedHeader, importJWK, jwtVerify } from 'jose';
import type { JWK, JWTPayload } from 'jose';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { generateClientSecret } from '../../../src/auth/keys/secrets.ts';
import { generateSigningKey } from '../../../src/auth/keys/signing-keys.ts';
import type { Client } from '../../support/client.ts';
import { EVERYTHING, askToken, makeClient, requireToken } from '../../support/own-clients.ts';
import type { OwnClient } from '../../support/own-clients.ts';
import { startServer } from '../../support/server.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { ContractServer } from '../contract-server.ts';
import { sendRaw } from '../raw-request.ts';
import { assertRefused, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
let client: OwnClient;
before(async () => {
  server = await ContractServer.start();
  client = await makeClient(server.catalog);
});
after(async () => server.close());

function withToken(token: string, at: ContractServer = server): Client {
  return at.client({ key: undefined, headers: { authorization: `Bearer ${token}` } });
}

async function assertLetIn(token: string): Promise<void> {
  const answer = await withToken(token).get('/v1/tables');
  assert.equal(answer.status, 200, answer.text);
}

async function assertKeptOut(token: string, at: ContractServer = server): Promise<void> {
  assertRefused(await withToken(token, at).get('/v1/tables'), unauthenticated);
}

suite('discovery', () => {
  test('has the issuer, the token endpoint and the keys, and nothing that is not there', async () => {
    const answer = await server.stranger().get('/oauth/.well-known/openid-configuration');
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
    const issuer = `${server.url}/oauth`;
    assert.deepEqual(answer.json, {
      issuer,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
      scopes_supported: ['tables'],
      response_types_supported: [],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
    });
  });

  test('does not repeat the host that a request names', async () => {
    const answer = await sendRaw(server.url, {
      method: 'GET',
      path: '/oauth/.well-known/openid-configuration',
      headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
    });
    assert.equal(answer.status, 200);
    assert.ok(!answer.text.includes('evil'), answer.text);
  });

  test('gives public keys only, with which a token of ours verifies', async () => {
    const { json } = await server.stranger().get('/oauth/jwks');
    assert.deepEqual(Object.keys(json.keys[0]).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    const token = await requireToken(server.url, client);
    const issuer = `${server.url}/oauth`;
    const { payload, protectedHeader } = await jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/jwks`)), {
      issuer,
      audience: issuer,
      algorithms: ['ES256'],
      typ: 'at+jwt',
    });
    assert.equal(payload.sub, client.id);
    assert.equal(protectedHeader.kid, json.keys[0].kid);
    assert.equal((payload.exp ?? 0) - (payload.iat ?? 0), 900);
  });

  test('leads to no other route of the library', async () => {
    const paths = ['auth', 'me', 'session/end', 'reg', 'token/introspection', 'token/revocation', 'device', 'request'];
    for (const path of [...paths, '.well-known/oauth-authorization-server', 'interaction/x', '../token', '']) {
      for (const method of ['GET', 'POST']) {
        const answer = await server.stranger().send(method, `/oauth/${path}`, {});
        assert.ok(answer.status === 404 || answer.status === 405, `${method} ${path}: ${answer.status}`);
      }
    }
  });
});

suite('the token endpoint', () => {
  test('gives a token to a client that proves itself in the body, or by Basic', async () => {
    const inBody = await askToken(server.url, { client_id: client.id, client_secret: client.secret });
    const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
    const inHeader = await askToken(server.url, {}, { authorization: `Basic ${basic}` });
    for (const { status, json, headers } of [inBody, inHeader]) {
      assert.equal(status, 200, JSON.stringify(json));
      assert.equal(json['token_type'], 'Bearer');
      assert.equal(json['expires_in'], 900);
      assert.equal(headers.get('cache-control'), 'no-store');
      assert.ok(headers.get('x-request-id'));
      await assertLetIn(String(json['access_token']));
    }
  });

  test('takes any scope, since what a client may do is in its grants', async () => {
    for (const scope of ['tables', 'api://somewhere/.default', 'a b c', '']) {
      const answer = await askToken(server.url, { client_id: client.id, client_secret: client.secret, scope });
      assert.equal(answer.status, 200, JSON.stringify(answer.json));
    }
  });

  test('refuses a wrong secret, an unknown, a revoked and an expired client with the same words', async () => {
    const revoked = await makeClient(server.catalog);
    await server.catalog.clients.revoke(revoked.id);
    const expired = await makeClient(server.catalog, [EVERYTHING], Date.now() - 1);
    const other = await makeClient(server.catalog);
    const cases: readonly OwnClient[] = [
      { ...client, secret: `${client.secret}x` },
      { ...client, secret: client.secret.toUpperCase() },
      { ...client, secret: other.secret },
      { ...client, secret: 'kept as a digest' },
      { id: 'nobody', secret: client.secret },
      { id: 'x'.repeat(5000), secret: 'x' },
      { id: 'a\u0000', secret: 'x' },
      { id: '\u{1f600}', secret: 'x' },
      revoked,
      expired,
    ];
    for (const { id, secret } of cases) {
      const { status, json } = await askToken(server.url, { client_id: id, client_secret: secret });
      assert.equal(status, 401);
      assert.deepEqual(json, { error: 'invalid_client', error_description: 'client authentication failed' });
    }
  });

  test('refuses an API key as a secret, and a secret as an API key', async () => {
    const key = await server.key([EVERYTHING]);
    const record = (await server.catalog.keys.list()).at(-1);
    const asClient = await askToken(server.url, { client_id: record?.id ?? '', client_secret: key });
    assert.equal(asClient.status, 401);
    assertRefused(await server.client({ key: client.secret }).get('/v1/tables'), unauthenticated);
  });

  test('refuses other grants, other resources, two proofs, no proof and bodies of another kind, in the form of OAuth', async () => {
    const proof = { client_id: client.id, client_secret: client.secret };
    const basic = `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`;
    const refusals: readonly (readonly [Promise<{ status: number; json: any }>, string])[] = [
      [askToken(server.url, { ...proof, grant_type: 'authorization_code' }), 'unsupported_grant_type'],
      [askToken(server.url, { ...proof, grant_type: 'password' }), 'unsupported_grant_type'],
      [askToken(server.url, { ...proof, resource: 'https://other.example' }), 'invalid_target'],
      [askToken(server.url, proof, { authorization: basic }), 'invalid_request'],
      [askToken(server.url, { client_id: client.id }), 'invalid_client'],
      [askToken(server.url, {}), 'invalid_request'],
      [askToken(server.url, proof, { 'content-type': 'text/plain' }), 'invalid_request'],
      [askToken(server.url, { ...proof, scope: 'x'.repeat(60_000) }), 'invalid_request'],
    ];
    for (const [asked, error] of refusals) {
      const { status, json } = await asked;
      assert.ok(status === 400 || status === 401);
      assert.equal(json.error, error);
    }
    const page = await askToken(server.url, { client_id: client.id }, { accept: 'text/html' });
    assert.equal(page.json['error'], 'invalid_client');
  });

  test('never gives back a secret', async () => {
    const { secret } = generateClientSecret();
    const wrong = await askToken(server.url, { client_id: client.id, client_secret: secret });
    assert.ok(!JSON.stringify([wrong.json, [...wrong.headers]]).includes(secret));
  });

  test('is given up on when a body does not arrive, and answers others meanwhile', async (t) => {
    const slow = await ContractServer.start({ flags: ['--http-body-idle-seconds=1'] });
    t.after(async () => slow.close());
    const { hostname, port } = new URL(slow.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: 50\r\n\r\ngrant',
    );
    const closed = once(socket, 'close');
    await requireToken(slow.url, await makeClient(slow.catalog));
    socket.resume();
    await closed;
  });
});

suite('failed attempts', () => {
  test('behind a trusted proxy count for the address that the proxy names, not for all behind it', async (t) => {
    const flags = ['--auth-failures-per-minute-max=3', '--http-trusted-proxies=127.0.0.1,10.0.0.0/8'];
    const proxied = await ContractServer.start({ flags });
    t.after(async () => proxied.close());
    const { id, secret } = await makeClient(proxied.catalog);
    const ask = async (given: string, headers: Readonly<Record<string, string>>) =>
      (await askToken(proxied.url, { client_id: id, client_secret: given }, headers)).status;
    const attacker = { 'x-forwarded-for': '203.0.113.9, 10.1.2.3' };
    for (let attempt = 0; attempt < 3; attempt += 1) assert.equal(await ask('wrong', attacker), 401);
    assert.equal(await ask(secret, attacker), 429);
    assert.equal(await ask(secret, { 'x-forwarded-for': '203.0.113.10' }), 200);
    assert.equal(await ask(secret, { forwarded: 'for="[2001:db8::1]:4711";proto=https' }), 200);
    // What the client itself wrote stands further left.
    assert.equal(await ask(secret, { 'x-forwarded-for': '203.0.113.10, 203.0.113.9' }), 429);
  });

  test('of a peer that is no trusted proxy count for its own address, whatever it claims', async (t) => {
    const strict = await ContractServer.start({ flags: ['--auth-failures-per-minute-max=3'] });
    t.after(async () => strict.close());
    const { id, secret } = await makeClient(strict.catalog);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const headers = { 'x-forwarded-for': `203.0.113.${attempt}` };
      assert.equal((await askToken(strict.url, { client_id: id, client_secret: 'wrong' }, headers)).status, 401);
    }
    assert.equal((await askToken(strict.url, { client_id: id, client_secret: secret })).status, 429);
  });

  test('of one client from one address are bounded; other clients do not notice', async (t) => {
    const strict = await ContractServer.start({ flags: ['--auth-failures-per-minute-max=3'] });
    t.after(async () => strict.close());
    const [one, other] = [await makeClient(strict.catalog), await makeClient(strict.catalog)];
    const wrong = async (id: string) => askToken(strict.url, { client_id: id, client_secret: 'wrong' });
    for (let attempt = 0; attempt < 3; attempt += 1) assert.equal((await wrong(one.id)).status, 401);
    for (const secret of ['wrong', one.secret]) {
      const held = await askToken(strict.url, { client_id: one.id, client_secret: secret });
      assert.equal(held.status, 429);
      assert.equal(held.json['error'], 'too_many_requests');
      assert.ok(Number(held.headers.get('retry-after')) > 0);
    }
    await requireToken(strict.url, other);
    for (const unknown of ['no-such-client', 'a\u0000']) {
      for (let attempt = 0; attempt < 3; attempt += 1) assert.equal((await wrong(unknown)).status, 401);
      assert.equal((await wrong(unknown)).status, 429);
    }
  });
});

suite('a token of ours', () => {
  const ownKeys = async (): Promise<{ readonly id: string; readonly jwk: string }> => {
    const [first] = await server.catalog.signingKeys.list();
    assert.ok(first);
    return first;
  };
  /** Signs what the endpoint never would, with its very own key unless another is given. */
  const forge = async (
    claims: JWTPayload,
    header: Readonly<Record<string, unknown>> = {},
    pair?: { readonly id: string; readonly jwk: string },
  ): Promise<string> => {
    const { id, jwk } = pair ?? (await ownKeys());
    const seconds = Math.floor(Date.now() / 1000);
    const issuer = `${server.url}/oauth`;
    const good = { iss: issuer, aud: issuer, sub: client.id, client_id: client.id, iat: seconds, exp: seconds + 300 };
    return new SignJWT({ ...good, ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: id, ...header })
      .sign(await importJWK(JSON.parse(jwk) as JWK, 'ES256'));
  };

  test('has the grants of its client, and shows as the client', async () => {
    const table = await server.table();
    const reader = await makeClient(server.catalog, [{ role: 'reader', database: 'default', path: [table.id] }]);
    const caller = withToken(await requireToken(server.url, reader));
    assert.equal((await caller.post(`${table.at}/analyze_plan`, {})).status, 200);
    assertRefused(await caller.post(`${table.at}/update`, { updates: [['price', '1']] }), forbidden);
    const hidden = await server.table();
    assertRefused(await caller.post(`${hidden.at}/analyze_plan`, {}), tableNotFound);
    assert.deepEqual(await server.listed(caller), [table.id]);
    await server.catalog.grants.add(`client:${reader.id}`, { role: 'writer', database: 'default', path: [table.id] });
    const updated = await caller.post(`${table.at}/update`, { updates: [['price', '1']] });
    assert.equal(updated.status, 200, updated.text);
    const found = await server.catalog.databases.find('default');
    const feed = await server.catalog.transactions.list({ databaseId: found?.id ?? '', limit: 1000 });
    assert.equal(feed.at(-1)?.caller, `client:${reader.id}`);
  });

  test('ends at once when its client is revoked, also for a server that has just seen it', async () => {
    const short = await makeClient(server.catalog);
    const token = await requireToken(server.url, short);
    await assertLetIn(token);
    assert.ok(await server.catalog.clients.revoke(short.id));
    await assertKeptOut(token);
  });

  test('counts for nothing once its client has expired', async () => {
    const expired = await makeClient(server.catalog, [EVERYTHING], Date.now() - 1);
    await assertKeptOut(await forge({ sub: expired.id }));
  });

  test('that is forged in any way is a 401', async () => {
    await assertLetIn(await forge({}));
    const seconds = Math.floor(Date.now() / 1000);
    const stranger = await generateSigningKey();
    const { id } = await ownKeys();
    const forged: Readonly<Record<string, Promise<string>>> = {
      expired: forge({ exp: seconds - 3600, iat: seconds - 7200 }),
      'without an end': forge({ exp: undefined as never }),
      'not valid yet': forge({ nbf: seconds + 3600 }),
      'from the future': forge({ iat: seconds + 3600, exp: seconds + 7200 }),
      'for another audience': forge({ aud: 'https://other.example' }),
      'for the server without /oauth': forge({ aud: server.url }),
      'of another issuer': forge({ iss: 'https://other.example' }),
      'of an unknown client': forge({ sub: 'nobody' }),
      'without a subject': forge({ sub: undefined as never }),
      'of another type': forge({}, { typ: 'JWT' }),
      'signed by a stranger': forge({}, {}, stranger),
      'signed by a stranger under our name': forge({}, { kid: id }, stranger),
      'that brings its own key': forge({}, { kid: stranger.id, jwk: JSON.parse(stranger.jwk) as JWK }, stranger),
    };
    for (const [name, made] of Object.entries(forged)) {
      const answer = await withToken(await made).get('/v1/tables');
      assert.equal(answer.status, 401, name);
    }
  });

  test('does not verify by a confusion of algorithms', async () => {
    const token = await requireToken(server.url, client);
    const [, body = '', signature = ''] = token.split('.');
    const keys = (await server.stranger().get('/oauth/jwks')).json.keys as readonly JWK[];
    const claims = decodeJwt(token);
    const secrets = [JSON.stringify(keys[0]), String(keys[0]?.x), String(keys[0]?.kid)];
    for (const secret of secrets) {
      const symmetric = await new SignJWT(claims)
        .setProtectedHeader({ ...decodeProtectedHeader(token), alg: 'HS256' })
        .sign(new TextEncoder().encode(secret));
      await assertKeptOut(symmetric);
    }
    for (const alg of ['none', 'None', 'ES384', 'RS256', 'HS256']) {
      const header = Buffer.from(JSON.stringify({ ...decodeProtectedHeader(token), alg })).toString('base64url');
      for (const end of ['', signature]) await assertKeptOut(`${header}.${body}.${end}`);
    }
  });

  test('of another server, with another catalog, is a 401 here', async (t) => {
    const other = await ContractServer.start();
    t.after(async () => other.close());
    await assertKeptOut(await requireToken(other.url, await makeClient(other.catalog)));
    await assertKeptOut(await requireToken(server.url, client), other);
  });

  test('beside an API key is a 401, and so is one beside another', async () => {
    const token = await requireToken(server.url, client);
    const key = await server.key([EVERYTHING]);
    const both = server.client({ key, headers: { authorization: `Bearer ${token}` } });
    assertRefused(await both.get('/v1/tables'), unauthenticated);
    const table = await server.table();
    const identity = { api_key: key, auth_token: token };
    assertRefused(await server.stranger().post(`${table.at}/analyze_plan`, { identity }), unauthenticated);
  });

  test('may come in the identity of a body', async () => {
    const table = await server.table();
    const identity = { auth_token: await requireToken(server.url, client) };
    assert.equal((await server.stranger().post(`${table.at}/analyze_plan`, { identity })).status, 200);
  });
});

suite('signing keys', () => {
  test('are kept where only the owner may read', async () => {
    const { mode } = await stat(server.config.catalogFile);
    assert.equal(mode & 0o077, 0);
  });

  test('may be changed: earlier tokens live on, new ones are signed by the new key, also after a restart', async (t) => {
    const folder = await makeFolder(t);
    const one = await ContractServer.start({ folder });
    const caller = await makeClient(one.catalog);
    const early = await requireToken(one.url, caller);
    const next = await generateSigningKey();
    await one.catalog.signingKeys.rotate(next);
    const late = await requireToken(one.url, caller);
    assert.equal(decodeProtectedHeader(late).kid, next.id);
    const assertBothCount = async (url: string): Promise<void> => {
      for (const token of [early, late]) {
        const response = await fetch(`${url}/v1/tables`, { headers: { authorization: `Bearer ${token}` } });
        assert.equal(response.status, 200);
      }
      const { keys } = (await (await fetch(`${url}/oauth/jwks`)).json()) as { keys: readonly JWK[] };
      assert.deepEqual(new Set(keys.map((key) => key.kid)), new Set([next.id, decodeProtectedHeader(early).kid]));
    };
    await assertBothCount(one.url);
    await one.close();
    const second = await startServer({ folder, flags: [`--auth-issuer-url=${one.url}/oauth`] });
    t.after(async () => second.close());
    await assertBothCount(second.url);
    assert.equal(decodeProtectedHeader(await requireToken(second.url, caller)).kid, next.id);
  });

  test('may be forgotten: every earlier token ends at once', async (t) => {
    const one = await ContractServer.start();
    t.after(async () => one.close());
    const caller = await makeClient(one.catalog);
    const early = await requireToken(one.url, caller);
    assert.equal((await withToken(early, one).get('/v1/tables')).status, 200);
    await one.catalog.signingKeys.rotate(await generateSigningKey(), { forgetEarlier: true });
    await assertKeptOut(early, one);
    assert.equal((await withToken(await requireToken(one.url, caller), one).get('/v1/tables')).status, 200);
  });
});

suite('the settings of the token endpoint', () => {
  test('can turn it off: no route, and no token of ours counts', async (t) => {
    const folder = await makeFolder(t);
    const on = await ContractServer.start({ folder });
    const token = await requireToken(on.url, await makeClient(on.catalog));
    await on.close();
    const off = await ContractServer.start({ folder, flags: ['--auth-token-endpoint=false'] });
    t.after(async () => off.close());
    assert.equal((await off.stranger().get('/oauth/.well-known/openid-configuration')).status, 404);
    assert.equal((await off.stranger().get('/oauth/jwks')).status, 404);
    assert.equal((await off.stranger().send('POST', '/oauth/token', { body: 'x' })).status, 404);
    await assertKeptOut(token, off);
  });

  test('omit it beyond this machine until its address is configured', async (t) => {
    const open = await ContractServer.start({ flags: ['--host=0.0.0.0'] });
    t.after(async () => open.close());
    assert.equal((await open.stranger().get('/oauth/.well-known/openid-configuration')).status, 404);
    const flags = ['--host=0.0.0.0', '--base-path=/lance', '--auth-issuer-url=https://tables.example.com/lance/oauth/'];
    const told = await ContractServer.start({ flags });
    t.after(async () => told.close());
    const { json } = await told.stranger().get('/lance/oauth/.well-known/openid-configuration');
    assert.equal(json.issuer, 'https://tables.example.com/lance/oauth');
    assert.equal(json.token_endpoint, 'https://tables.example.com/lance/oauth/token');
    const { id, secret } = await makeClient(told.catalog);
    const { json: reply } = await askToken(`${told.url}/lance`, { client_id: id, client_secret: secret });
    const caller = withToken(String(reply['access_token']), told);
    assert.equal((await caller.get('/lance/v1/tables')).status, 200);
  });

  test('say how long a token lives', async (t) => {
    const brief = await ContractServer.start({ flags: ['--auth-token-seconds=60'] });
    t.after(async () => brief.close());
    const token = await requireToken(brief.url, await makeClient(brief.catalog));
    const { iat = 0, exp = 0 } = decodeJwt(token);
    assert.equal(exp - iat, 60);
  });
});
