import fc from 'fast-check';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import type { CryptoKey, JWTPayload } from 'jose';
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createListener } from 'node:net';
import type { Server } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { inspect } from 'node:util';
import type { KeySetFetch } from '../../../src/auth/tokens/key-set.ts';
import { TokenVerifier } from '../../../src/auth/tokens/token-verifier.ts';
import { startIdentityProvider } from '../../support/identity-provider.ts';
import type { IdentityProvider } from '../../support/identity-provider.ts';
import {
  assertRefused,
  forge,
  goodClaims,
  issuerOf,
  makeClock,
  refusalOf,
  settingsFor,
  SKEW_SECONDS,
  TOKEN_BYTES_MAX,
} from '../trial.ts';

const EXPIRED = 'The access token is not valid: it has expired.';
const NO_EXPIRY = 'The access token is not valid: it has no expiry.';
const OTHER_AUDIENCE = 'The access token is not valid: it is for a different audience.';
const UNTRUSTED = 'The access token is not valid: its issuer is not trusted here.';
const NOT_YET = 'The access token is not valid: it is not valid yet.';
const BAD_SIGNATURE = 'The access token is not valid: its signature cannot be verified.';
const UNREADABLE = 'The access token is not valid: it cannot be read.';
const NO_SUBJECT = 'The access token is not valid: it has no usable subject.';
const TOO_LONG = 'The access token is not valid: it is too long.';

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

suite('an access token', () => {
  let provider: IdentityProvider;
  let attacker: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
  const clock = makeClock();
  const seconds = Math.floor(clock.now() / 1000);
  const makeVerifier = () => new TokenVerifier(settingsFor([issuerOf(provider)]), clock.now);
  const claimsWith = (changes: JWTPayload): JWTPayload => ({ ...goodClaims(provider, clock.now()), ...changes });

  before(async () => {
    provider = await startIdentityProvider();
    attacker = await generateKeyPair('RS256', { extractable: true });
  });
  after(() => provider.close());

  test('of the provider is accepted, with its subject and expiry', async () => {
    // The provider has the real time.
    const verifier = new TokenVerifier(settingsFor([issuerOf(provider)]), Date.now);
    const exp = Math.floor(Date.now() / 1000) + 1000;
    const verified = await verifier.verify(await provider.token({ claims: { exp } }));
    assert.deepEqual(verified, { callerId: `token:${provider.issuer}#loader`, grants: [], expiresAt: exp * 1000 });
  });

  test('makes the keys of its issuer known, and every fetch of them is reported', async () => {
    const fetches: string[] = [];
    const report = (fetch: KeySetFetch): number => fetches.push(`${fetch.kind} ${fetch.issuer}`);
    const verifier = new TokenVerifier(settingsFor([issuerOf(provider)]), Date.now, async () => [], report);
    for (let time = 0; time < 3; time += 1) await verifier.verify(await provider.token());
    assert.deepEqual(fetches, [`key-set-fetched ${provider.issuer}`]);
    const away = issuerOf(provider, { keySetUrl: 'http://127.0.0.1:1/keys' });
    const other = new TokenVerifier(settingsFor([away]), Date.now, async () => [], report);
    await assert.rejects(other.verify(await provider.token()));
    assert.equal(fetches.at(-1), `key-set-failed ${provider.issuer}`);
  });

  test('that names several audiences, ours among them, is accepted', async () => {
    const token = await forge(provider, claimsWith({ aud: ['other', provider.audience] }));
    assert.equal((await makeVerifier().verify(token)).callerId, `token:${provider.issuer}#ada`);
  });

  test('of any type is accepted: providers differ in it', async () => {
    for (const typ of ['at+jwt', 'JWT', 'application/at+jwt']) {
      await makeVerifier().verify(await forge(provider, claimsWith({}), { typ }));
    }
  });

  for (const alg of ['none', 'None', 'NONE', '']) {
    test(`with the algorithm ${JSON.stringify(alg)} is refused, with and without a signature`, async () => {
      const unsigned = `${encode({ alg, kid: provider.signingKeys().kid })}.${encode(claimsWith({}))}`;
      const expected = alg === '' ? UNREADABLE : BAD_SIGNATURE;
      await assertRefused(makeVerifier().verify(`${unsigned}.`), expected);
      await assertRefused(makeVerifier().verify(`${unsigned}.c2lnbmF0dXJl`), expected);
    });
  }

  test('that is signed by HMAC with the public key as its secret is refused', async () => {
    const { kid, publicKey } = provider.signingKeys();
    const jwk = await exportJWK(publicKey);
    const pem = await exportSPKI(publicKey);
    for (const secret of [pem, pem.trim(), JSON.stringify(jwk), jwk.n ?? '']) {
      const token = await new SignJWT(claimsWith({}))
        .setProtectedHeader({ alg: 'HS256', kid })
        .sign(Buffer.from(secret));
      await assertRefused(makeVerifier().verify(token), BAD_SIGNATURE);
    }
  });

  test('with an algorithm that the key would do but the settings do not allow is refused', async (context) => {
    const { privateKey, publicKey } = provider.signingKeys();
    const keySet = JSON.stringify({ keys: [await exportJWK(publicKey)] });
    const server = createServer((_request, response) => response.end(keySet));
    context.after(() => {
      server.close();
      server.closeAllConnections();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const keySetUrl = `http://127.0.0.1:${portOf(server)}/keys`;
    const verify = (token: string, algorithms: readonly string[]) =>
      new TokenVerifier(settingsFor([issuerOf(provider, { keySetUrl, algorithms })]), clock.now).verify(token);

    const sha512 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-512' };
    const pkcs8 = await crypto.subtle.exportKey('pkcs8', privateKey);
    const key = await crypto.subtle.importKey('pkcs8', pkcs8, sha512, false, ['sign']);
    const token = await new SignJWT(claimsWith({})).setProtectedHeader({ alg: 'RS512' }).sign(key);
    assert.equal((await verify(token, ['RS256', 'RS512'])).callerId, `token:${provider.issuer}#ada`);
    await assertRefused(verify(token, ['RS256']), BAD_SIGNATURE);
  });

  test("that another key signed under the provider's key name is refused", async () => {
    const { kid } = provider.signingKeys();
    const token = await new SignJWT(claimsWith({})).setProtectedHeader({ alg: 'RS256', kid }).sign(attacker.privateKey);
    await assertRefused(makeVerifier().verify(token), BAD_SIGNATURE);
  });

  test('that brings its own key, or says where to fetch it, is refused without a connection to there', async (context) => {
    let connections = 0;
    const listener = createListener((socket) => {
      connections += 1;
      socket.destroy();
    });
    context.after(() => listener.close());
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const url = `http://127.0.0.1:${portOf(listener)}/keys`;
    const jwk = await exportJWK(attacker.publicKey);
    const verifier = makeVerifier();
    for (const header of [{ jku: url }, { x5u: url }, { jwk }, { jku: url, x5u: url, jwk, kid: 'mine' }]) {
      const token = await new SignJWT(claimsWith({}))
        .setProtectedHeader({ alg: 'RS256', ...header })
        .sign(attacker.privateKey);
      await assertRefused(verifier.verify(token), BAD_SIGNATURE);
    }
    assert.equal(connections, 0);
  });

  test('of an unknown issuer is refused without a connection to there', async (context) => {
    const stranger = await startIdentityProvider();
    context.after(() => stranger.close());
    const token = await stranger.token();
    await assertRefused(makeVerifier().verify(token), UNTRUSTED);
    assert.equal(stranger.requestsOf('/.well-known/openid-configuration') + stranger.requestsOf('/jwks'), 0);
  });

  test('whose issuer is spelt a little differently is refused', async () => {
    for (const iss of [`${provider.issuer}/`, provider.issuer.toUpperCase(), `${provider.issuer}#`, '', undefined]) {
      const { iss: _good, ...others } = claimsWith({});
      const token = await forge(provider, iss === undefined ? others : { ...others, iss });
      await assertRefused(makeVerifier().verify(token), UNTRUSTED);
    }
  });

  test('of one trusted issuer that claims to be of another is refused', async (context) => {
    const other = await startIdentityProvider();
    context.after(() => other.close());
    const verifier = new TokenVerifier(settingsFor([issuerOf(provider), issuerOf(other)]), clock.now);
    const { kid } = other.signingKeys();
    const token = await forge(provider, claimsWith({ iss: other.issuer }), { kid });
    await assertRefused(verifier.verify(token), BAD_SIGNATURE);
  });

  test('for another audience, or for none, is refused', async () => {
    const other = await provider.token({ claims: { aud: 'https://elsewhere.example.test' } });
    await assertRefused(makeVerifier().verify(other), OTHER_AUDIENCE);
    const { aud: _aud, ...others } = claimsWith({});
    await assertRefused(makeVerifier().verify(await forge(provider, others)), OTHER_AUDIENCE);
    const prefix = await forge(provider, claimsWith({ aud: `${provider.audience}/more` }));
    await assertRefused(makeVerifier().verify(prefix), OTHER_AUDIENCE);
  });

  test('is accepted until its expiry and the allowed skew, and refused from then on', async () => {
    const good = await forge(provider, claimsWith({ exp: seconds - SKEW_SECONDS + 1 }));
    assert.equal((await makeVerifier().verify(good)).callerId, `token:${provider.issuer}#ada`);
    const late = await forge(provider, claimsWith({ exp: seconds - SKEW_SECONDS }));
    await assertRefused(makeVerifier().verify(late), EXPIRED);
  });

  test('without an expiry, or with one that is no number, is refused', async () => {
    const { exp: _exp, ...others } = claimsWith({});
    await assertRefused(makeVerifier().verify(await forge(provider, others)), NO_EXPIRY);
    const { kid, privateKey } = provider.signingKeys();
    const header = encode({ alg: 'RS256', kid });
    const payload = encode({ ...others, exp: '9999999999' });
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(`${header}.${payload}`));
    const token = `${header}.${payload}.${Buffer.from(signature).toString('base64url')}`;
    await assertRefused(makeVerifier().verify(token), NO_EXPIRY);
  });

  for (const claim of ['nbf', 'iat'] as const) {
    test(`whose ${claim} lies ahead by more than the allowed skew is refused`, async () => {
      const near = await forge(provider, claimsWith({ [claim]: seconds + SKEW_SECONDS }));
      assert.equal((await makeVerifier().verify(near)).callerId, `token:${provider.issuer}#ada`);
      const ahead = await forge(provider, claimsWith({ [claim]: seconds + SKEW_SECONDS + 1 }));
      await assertRefused(makeVerifier().verify(ahead), NOT_YET);
    });
  }

  test('without a usable subject is refused', async () => {
    for (const sub of ['', 'two\nlines', 'x'.repeat(256)]) {
      await assertRefused(makeVerifier().verify(await forge(provider, claimsWith({ sub }))), NO_SUBJECT);
    }
  });

  test('with a critical header that we do not know is refused', async () => {
    const { kid, privateKey } = provider.signingKeys();
    const token = await new SignJWT(claimsWith({}))
      .setProtectedHeader({ alg: 'RS256', kid, crit: ['unheard-of'], 'unheard-of': true })
      .sign(privateKey, { crit: { 'unheard-of': true } });
    assert.equal((await refusalOf(makeVerifier().verify(token))).kind, 'Unauthenticated');
  });

  test('that is longer than the bound is refused, even when it is good', async () => {
    const long = await forge(provider, claimsWith({ filler: 'x'.repeat(TOKEN_BYTES_MAX) }));
    await assertRefused(makeVerifier().verify(long), TOO_LONG);
    await assertRefused(makeVerifier().verify('x'.repeat(50_000_000)), TOO_LONG);
  });

  for (const garbage of [
    '',
    '.',
    '..',
    '...',
    'a.b.c',
    'Bearer',
    'e30.e30.',
    'a.b.c.d.e',
    '{}',
    '\u0000',
    '🔑.🔑.🔑',
  ]) {
    test(`is not ${JSON.stringify(garbage)}`, async () => {
      assert.equal((await refusalOf(makeVerifier().verify(garbage))).kind, 'Unauthenticated');
    });
  }

  test('is never an unsigned text', async () => {
    const verifier = makeVerifier();
    const part = fc.oneof(
      fc.string(),
      fc.json().map((json) => Buffer.from(json).toString('base64url')),
    );
    const tokens = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.tuple(part, part, part).map((parts) => parts.join('.')),
    );
    await fc.assert(
      fc.asyncProperty(tokens, async (token) => {
        assert.equal((await refusalOf(verifier.verify(token))).kind, 'Unauthenticated');
      }),
      { numRuns: 300 },
    );
  });

  test('is refused when any character of its header or claims is changed', async () => {
    const verifier = makeVerifier();
    const good = await forge(provider, claimsWith({}));
    await verifier.verify(good);
    const end = good.lastIndexOf('.');
    await fc.assert(
      fc.asyncProperty(fc.nat(end - 1), fc.constantFrom('A', 'z', '0', '-', '_', '=', '.', ' '), async (at, letter) => {
        fc.pre(good[at] !== letter);
        const token = good.slice(0, at) + letter + good.slice(at + 1);
        assert.equal((await refusalOf(verifier.verify(token))).kind, 'Unauthenticated');
      }),
      { numRuns: 300 },
    );
  });

  test('leaves nothing of itself in a refusal, not even in its private cause', async () => {
    const marked = { marker: 'private-claim-value' };
    const tokens = [
      await forge(provider, claimsWith({ ...marked, exp: seconds - 1000 })),
      await forge(provider, claimsWith({ ...marked, aud: 'https://elsewhere.example.test' })),
      await forge(provider, claimsWith({ ...marked, iss: 'https://private-claim-value.example.test' })),
      await new SignJWT(claimsWith(marked)).setProtectedHeader({ alg: 'RS256' }).sign(attacker.privateKey),
      `e30.${Buffer.from('private-claim-value').toString('base64url')}.e30`,
    ];
    for (const token of tokens) {
      const shown = inspect(await refusalOf(makeVerifier().verify(token)), { depth: 20, showHidden: true });
      assert.ok(!shown.includes('private-claim-value'), shown);
      for (const part of token.split('.')) assert.ok(part.length < 8 || !shown.includes(part), shown);
    }
  });

  test('that was checked within the last minute costs no second check', async () => {
    const movable = makeClock();
    const verifier = new TokenVerifier(settingsFor([issuerOf(provider)]), movable.now);
    const token = await forge(provider, claimsWith({ exp: Math.floor(movable.now() / 1000) + 90 }));
    const first = await verifier.verify(token);
    movable.advance(59);
    assert.equal(await verifier.verify(token), first);
    movable.advance(1);
    assert.notEqual(await verifier.verify(token), first);
  });

  test('that was checked before is refused once it has expired', async () => {
    const movable = makeClock();
    const verifier = new TokenVerifier(settingsFor([issuerOf(provider)]), movable.now);
    const token = await forge(provider, claimsWith({ exp: Math.floor(movable.now() / 1000) + 10 }));
    await verifier.verify(token);
    movable.advance(10 + SKEW_SECONDS + 1);
    await assertRefused(verifier.verify(token), EXPIRED);
  });
});

function portOf(server: Server): number {
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return address.port;
}
