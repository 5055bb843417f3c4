import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey } from 'jose';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import type { KeySetFetch } from '../../../src/auth/tokens/key-set.ts';
import { TokenVerifier } from '../../../src/auth/tokens/token-verifier.ts';
import { eventually } from '../../support/eventually.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import type { IdentityProvider } from '../../support/identity-provider.ts';
import {
  assertRefused,
  COOLDOWN_SECONDS,
  forge,
  goodClaims,
  issuerOf,
  KEY_SET_SECONDS,
  makeClock,
  refusalOf,
  settingsFor,
} from '../trial.ts';

const BAD_SIGNATURE = 'The access token is not valid: its signature cannot be verified.';
const DISCOVERY = '/.well-known/openid-configuration';

suite('the keys of an issuer', () => {
  let provider: IdentityProvider;
  let clock: ReturnType<typeof makeClock>;
  let verifier: TokenVerifier;
  let earlierFetches = 0;
  let tokensMade = 0;

  before(async () => {
    provider = await startIdentityProvider();
  });
  beforeEach(() => {
    provider.setAway(false);
    earlierFetches = provider.requestsOf('/jwks');
    clock = makeClock();
    verifier = new TokenVerifier(settingsFor([issuerOf(provider)]), clock.now);
  });
  afterEach(() => verifier.close());
  after(() => provider.close());

  /** Each token is another, so that none is answered from the tokens that were checked before. */
  const makeToken = (header: object = {}) => {
    tokensMade += 1;
    const claims = { ...goodClaims(provider, clock.now()), sub: `caller-${tokensMade}` };
    return forge(provider, claims, header);
  };
  const verifyNew = async (header: object = {}) => verifier.verify(await makeToken(header));
  const fetchesOfThisTest = () => provider.requestsOf('/jwks') - earlierFetches;
  const floodWithUnknownNames = async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, index) => makeToken({ kid: `flood-${index}` })));
    await Promise.all(tokens.map((token) => assertRefused(verifier.verify(token), BAD_SIGNATURE)));
    for (const token of tokens) await assertRefused(verifier.verify(token), BAD_SIGNATURE);
  };

  test('are fetched once for many tokens at the same time', async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, () => makeToken()));
    await Promise.all(tokens.map((token) => verifier.verify(token)));
    assert.equal(fetchesOfThisTest(), 1);
  });

  test('are fetched at most once per cool-down, however many unknown names a flood brings', async () => {
    await verifyNew();
    await floodWithUnknownNames();
    assert.equal(fetchesOfThisTest(), 1);
    clock.advance(COOLDOWN_SECONDS);
    await floodWithUnknownNames();
    assert.equal(fetchesOfThisTest(), 2);
    await floodWithUnknownNames();
    assert.equal(fetchesOfThisTest(), 2);
    await verifyNew();
  });

  test('are fetched at most once per cool-down when the first tokens of all are a flood', async () => {
    await floodWithUnknownNames();
    assert.equal(fetchesOfThisTest(), 1);
    await verifyNew();
  });

  test('are asked for again when a token names a new one, so that rotation needs no restart', async () => {
    await verifyNew();
    const old = await makeToken();
    await provider.rotate();
    clock.advance(COOLDOWN_SECONDS);
    await verifyNew();
    assert.equal(fetchesOfThisTest(), 2);
    await assertRefused(verifier.verify(old), BAD_SIGNATURE);
  });

  test('are found without a name when there is only one', async () => {
    await verifyNew({ kid: undefined });
  });

  test('go on working while the provider is away, until they are too old', async () => {
    await verifyNew();
    provider.setAway(true);
    clock.advance(KEY_SET_SECONDS - 1);
    await verifyNew();
    clock.advance(1);
    const refusal = await refusalOf(verifyNew());
    assert.equal(refusal.kind, 'ServiceUnavailable');
    assert.equal(refusal.message, 'The access token cannot be verified: the keys of its issuer are not available.');
  });

  test('are missing with 503, not 401, when the provider was never there, and work when it comes', async () => {
    provider.setAway(true);
    const refusal = await refusalOf(verifyNew());
    assert.deepEqual([refusal.kind, refusal.retryAfterSeconds], ['ServiceUnavailable', COOLDOWN_SECONDS]);
    clock.advance(COOLDOWN_SECONDS - 10);
    provider.setAway(false);
    const early = await refusalOf(verifyNew());
    assert.deepEqual([early.kind, early.retryAfterSeconds], ['ServiceUnavailable', 10]);
    clock.advance(10);
    await verifyNew();
  });

  test("that a token names and that could not be fetched are not the token's fault: 503", async () => {
    await verifyNew();
    await provider.rotate();
    provider.setAway(true);
    clock.advance(COOLDOWN_SECONDS);
    assert.equal((await refusalOf(verifyNew())).kind, 'ServiceUnavailable');
    assert.equal((await refusalOf(verifyNew())).kind, 'ServiceUnavailable');
    provider.setAway(false);
    clock.advance(COOLDOWN_SECONDS);
    await verifyNew();
  });

  test('that are known serve their tokens while others wait for a fetch that fails', async () => {
    await verifyNew();
    provider.setAway(true);
    clock.advance(COOLDOWN_SECONDS);
    const unknown = refusalOf(verifyNew({ kid: 'unknown' }));
    await verifyNew();
    assert.equal((await unknown).kind, 'ServiceUnavailable');
    await verifyNew();
  });

  test('are renewed ahead of time, so that an outage later finds them young', async () => {
    await verifyNew();
    clock.advance(KEY_SET_SECONDS / 2);
    await verifyNew();
    await eventually(async () => fetchesOfThisTest() === 2);
    // The renewal runs beside the answers; a token with an unknown name waits for its end.
    await assertRefused(verifyNew({ kid: 'unknown' }), BAD_SIGNATURE);
    assert.equal(fetchesOfThisTest(), 2);
    provider.setAway(true);
    clock.advance(KEY_SET_SECONDS - 1);
    await verifyNew();
  });

  test('are fetched again after the clock was set back', async () => {
    await verifyNew();
    clock.advance(-3600);
    await verifyNew();
    assert.equal(fetchesOfThisTest(), 2);
  });

  test('come from the configured address without discovery', async () => {
    const issuer = issuerOf(provider, { keySetUrl: `${provider.issuer}/jwks` });
    const discoveries = provider.requestsOf(DISCOVERY);
    await new TokenVerifier(settingsFor([issuer]), clock.now).verify(await makeToken());
    assert.deepEqual([provider.requestsOf(DISCOVERY) - discoveries, fetchesOfThisTest()], [0, 1]);
  });
});

suite('a provider that misbehaves', () => {
  let publicKey: CryptoKey;
  let privateKey: CryptoKey;
  const servers: Server[] = [];
  before(async () => {
    ({ publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true }));
  });
  after(() => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  });

  const listen = async (): Promise<{ readonly server: Server; readonly issuer: string; readonly token: string }> => {
    const server = createServer();
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const issuer = `http://127.0.0.1:${address.port}`;
    return { server, issuer, token: await sign(issuer) };
  };
  /** Each token is another. */
  const sign = async (issuer: string, kid = 'one'): Promise<string> =>
    new SignJWT({ iss: issuer, aud: 'tables', sub: 'ada', jti: randomUUID() })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setExpirationTime('1h')
      .sign(privateKey);
  /** Why a token of that issuer could not be checked. The listener learns its own address. */
  const causeOf = async (makeListener: (issuer: string) => RequestListener, fetchSeconds = 5): Promise<string> => {
    const { server, issuer, token } = await listen();
    server.on('request', makeListener(issuer));
    const { kind, cause } = await refusalOf(verifierFor(issuer, fetchSeconds).verify(token));
    assert.equal(kind, 'ServiceUnavailable');
    assert.ok(cause instanceof Error);
    return cause.message;
  };

  test('by a discovery document about another issuer is not believed', async () => {
    const cause = await causeOf((issuer) => json({ issuer: `${issuer}/other`, jwks_uri: `${issuer}/jwks` }));
    assert.equal(cause, 'The discovery document describes a different issuer.');
  });

  for (const uri of [
    undefined,
    7,
    'http://keys.example.test/',
    'file:///etc/passwd',
    'https://u:p@keys.example.test',
  ]) {
    test(`by a key set address of ${String(uri)} is not followed`, async () => {
      const cause = await causeOf((issuer) => json({ issuer, jwks_uri: uri }));
      assert.equal(cause, 'The discovery document has no usable key set address.');
    });
  }

  test('by a redirect is not followed', async () => {
    let followed = 0;
    const cause = await causeOf((issuer) => (request, response) => {
      if (request.url === '/elsewhere') followed += 1;
      response.writeHead(302, { location: `${issuer}/elsewhere` }).end();
    });
    assert.equal(cause, 'fetch failed');
    assert.equal(followed, 0);
  });

  test('by an answer without end is cut off at the bound', async () => {
    const cause = await causeOf(() => (_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, ' ');
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    assert.equal(cause, 'The document is larger than 256 KiB.');
  });

  test('by silence, before or after the head of its answer, is waited for no longer than the bound', async () => {
    assert.equal(await causeOf(() => () => undefined, 0.1), 'No response within 0.1 s.');
    assert.equal(await causeOf(() => (_request, response) => response.write('{'), 0.1), 'No response within 0.1 s.');
  });

  test('by an error status, or an answer that is no JSON object, has no keys', async () => {
    const status = await causeOf(() => (_request, response) => response.writeHead(500).end('{}'));
    assert.equal(status, 'The identity provider responded with status 500.');
    assert.equal(await causeOf(() => json(null)), 'The document is not a JSON object.');
    assert.match(await causeOf(() => (_request, response) => response.end('<html>')), /JSON/);
  });

  test('by a key set that is none has no keys', async () => {
    assert.equal(await causeOf(withKeySet({})), 'The key set has no list of keys.');
    const many = Array.from({ length: 80_000 }, () => ({}));
    assert.equal(await causeOf(withKeySet({ keys: many })), 'The key set has more than 500 keys.');
  });

  test('by a key set in which no key can be used has no keys, and the cause says why', async () => {
    const entries = [7, { kty: 'oct', k: 'AAAA' }, { kty: 'RSA', e: 'AQAB' }, null, null];
    assert.match(
      await causeOf(withKeySet({ keys: entries })),
      /^None of the 5 keys of the set can be used: key 1 is not a JSON object; key 2 is for none of the algorithms RS256; key 3 cannot be read \(.+\); 2 more\.$/,
    );
  });

  test('by some keys that cannot be used has the others, and a report says so', async () => {
    const { server, issuer, token } = await listen();
    const good = { ...(await exportJWK(publicKey)), kid: 'one' };
    // Normal: keys for other uses and algorithms need no report.
    const other = [
      { ...good, use: 'enc', alg: 'RSA-OAEP' },
      { kty: 'XYZ', kid: 'one' },
    ];
    const broken = [
      null,
      'key',
      { kty: 'RSA', kid: 'one' },
      { kty: 'RSA', e: 'AQAB', kid: 'two' },
      { ...good, d: 'AAAA' },
    ];
    server.on('request', withKeySet({ keys: [...broken, ...other, good] })(issuer));
    const reports: KeySetFetch[] = [];
    const verifier = verifierFor(issuer, 5, (fetch) => reports.push(fetch));
    await verifier.verify(token);
    const [skipped, fetched] = reports;
    assert.ok(skipped?.kind === 'key-set-keys-skipped' && fetched?.kind === 'key-set-fetched');
    assert.deepEqual([skipped.issuer, skipped.keys, fetched.keys, reports.length], [issuer, 5, 1, 2]);
    assert.match(
      skipped.reason,
      /^key 1 is not a JSON object; key 2 is not a JSON object; key 3 cannot be read \(.+\); 2 more$/,
    );
  });

  test('by a key set without keys withdraws the earlier ones', async () => {
    const { server, issuer, token } = await listen();
    const good = { ...(await exportJWK(publicKey)), kid: 'one' };
    let keys: readonly unknown[] = [good];
    server.on('request', (request, response) => withKeySet({ keys })(issuer)(request, response));
    const clock = makeClock();
    const verifier = new TokenVerifier(settingsFor([issuerOf({ issuer, audience: 'tables' })]), clock.now);
    await verifier.verify(token);
    for (const [replacement, kind] of [
      [[null], 'ServiceUnavailable'],
      [[], 'Unauthenticated'],
    ] as const) {
      keys = replacement;
      clock.advance(KEY_SET_SECONDS / 2);
      await refusalOf(verifier.verify(await sign(issuer, 'unknown')));
      assert.equal((await refusalOf(verifier.verify(await sign(issuer)))).kind, kind);
    }
  });

  test('when the verifier is closed is waited for no longer', async () => {
    const { server, issuer, token } = await listen();
    const verifier = verifierFor(issuer, 600);
    server.on('request', () => verifier.close());
    assert.equal((await refusalOf(verifier.verify(token))).kind, 'ServiceUnavailable');
  });
});

function verifierFor(issuer: string, fetchSeconds: number, report?: (fetch: KeySetFetch) => void): TokenVerifier {
  const settings = settingsFor([issuerOf({ issuer, audience: 'tables' })], { fetchSeconds });
  return new TokenVerifier(settings, Date.now, async () => [], report);
}

function json(value: unknown): RequestListener {
  return (_request, response) => response.end(JSON.stringify(value));
}

/** Discovery in good order, and then this key set. */
function withKeySet(keySet: unknown): (issuer: string) => RequestListener {
  return (issuer) => (request, response) => {
    const document = request.url === '/jwks' ? keySet : { issuer, jwks_uri: `${issuer}/jwks` };
    response.end(JSON.stringify(document));
  };
}
