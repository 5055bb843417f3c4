import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { digestSecret, generateApiKey } from '../../src/auth/keys/secrets.ts';
import { createAuthenticator } from '../../src/auth/authenticator.ts';
import type { CredentialCatalog } from '../../src/auth/authenticator.ts';
import type { AuthSettings } from '../../src/auth/settings.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { Grant } from '../../src/model/access.ts';
import { startIdentityProvider } from '../support/identity-provider.ts';
import type { IdentityProvider } from '../support/identity-provider.ts';
import { assertRefused, issuerOf, lookupOf, makeClock, refusalOf, settingsFor, TOKEN_BYTES_MAX } from './trial.ts';

const READER: Grant = { role: 'reader', database: 'main', path: [] };
const WRITER: Grant = { role: 'writer', database: 'main', path: ['sales'] };
const OWNER: Grant = { role: 'owner', database: 'main', path: ['sales', 'orders'] };

const NONE = { apiKey: undefined, bearer: undefined };
const BAD_KEY = 'The API key is not valid.';

suite('a request with an API key', () => {
  const clock = makeClock();
  const good = generateApiKey();
  const expired = generateApiKey();
  const lasting = generateApiKey();
  const lookup = lookupOf({
    [good.digest]: { id: 'k1', name: 'loader', grants: [READER, WRITER] },
    [expired.digest]: { id: 'k2', name: 'old', expiresAt: clock.now(), grants: [READER] },
    [lasting.digest]: { id: 'k3', name: 'new', expiresAt: clock.now() + 1, grants: [] },
  });
  const authenticator = createAuthenticator(settingsFor([]), lookup, clock.now);
  const withKey = (apiKey: string) => authenticator.authenticate({ ...NONE, apiKey });

  test('comes from the caller of that key, with its grants', async () => {
    assert.deepEqual(await withKey(good.key), { id: 'key:k1', kind: 'key', grants: [READER, WRITER] });
  });

  test('may carry a key that an operator chose as bearer', async () => {
    const chosen = 'a-key-that-an-operator-chose';
    const known = lookupOf({ [digestSecret(chosen)]: { id: 'k9', name: 'own', grants: [READER] } });
    const own = createAuthenticator(settingsFor([]), known, clock.now);
    assert.equal((await own.authenticate({ ...NONE, bearer: chosen })).id, 'key:k9');
  });

  test('may carry it as bearer, for clients that can set no other header', async () => {
    assert.equal((await authenticator.authenticate({ ...NONE, bearer: good.key })).id, 'key:k1');
    await assertRefused(authenticator.authenticate({ ...NONE, bearer: generateApiKey().key }), BAD_KEY);
  });

  test('is refused from the moment at which the key expires', async () => {
    assert.equal((await withKey(lasting.key)).id, 'key:k3');
    await assertRefused(withKey(expired.key), 'The API key is not valid: it has expired.');
  });

  test('is refused when the key is unknown, revoked, changed, empty, or its own digest', async () => {
    for (const key of [generateApiKey().key, `${good.key}x`, good.key.slice(0, -1), '', good.digest, ` ${good.key}`]) {
      await assertRefused(withKey(key), BAD_KEY);
    }
  });

  test('is refused without a look-up when the key is longer than any credential may be', async () => {
    const refusing: CredentialCatalog = {
      ...lookupOf(),
      keys: { findByDigest: () => Promise.reject(new Error('The lookup was asked.')) },
      grants: { of: () => Promise.reject(new Error('The lookup was asked.')) },
    };
    const strict = createAuthenticator(settingsFor([]), refusing, clock.now);
    await assertRefused(strict.authenticate({ ...NONE, apiKey: 'x'.repeat(TOKEN_BYTES_MAX + 1) }), BAD_KEY);
  });

  test('fails as the look-up fails, so that a catalog that is away is not taken for a bad key', async () => {
    const refusal = new ServiceError('ServiceUnavailable', 'The catalog does not answer.');
    const away = { ...lookupOf(), keys: { findByDigest: () => Promise.reject(refusal) } };
    const outcome = createAuthenticator(settingsFor([]), away, clock.now).authenticate({ ...NONE, apiKey: good.key });
    assert.equal((await refusalOf(outcome)).kind, 'ServiceUnavailable');
  });
});

suite('a request without a credential', () => {
  test('is refused where one is required', async () => {
    const authenticator = createAuthenticator(settingsFor([]), lookupOf(), Date.now);
    await assertRefused(authenticator.authenticate(NONE), 'The request has no credential.');
  });

  test('comes from an anonymous administrator of everything where none is required', async () => {
    const authenticator = createAuthenticator(settingsFor([], { required: false }), lookupOf(), Date.now);
    const { id, grants } = await authenticator.authenticate(NONE);
    assert.deepEqual({ id, grants }, { id: 'anonymous', grants: [{ role: 'admin', database: undefined, path: [] }] });
  });

  test('is not one with a bad credential, which is refused where none is required too', async () => {
    const authenticator = createAuthenticator(settingsFor([], { required: false }), lookupOf(), Date.now);
    await assertRefused(authenticator.authenticate({ ...NONE, apiKey: '' }), BAD_KEY);
    await assertRefused(authenticator.authenticate({ ...NONE, apiKey: 'wrong' }), BAD_KEY);
    const unreadable = 'The access token is not valid: it cannot be read.';
    await assertRefused(authenticator.authenticate({ ...NONE, bearer: '' }), unreadable);
    await assertRefused(authenticator.authenticate({ ...NONE, bearer: 'wrong' }), unreadable);
  });
});

suite('a request with an access token', () => {
  let provider: IdentityProvider;
  let settings: AuthSettings;
  before(async () => {
    provider = await startIdentityProvider();
    const grants = [
      { claim: 'groups', value: 'analysts', grant: READER },
      { claim: 'scope', value: 'tables.write', grant: WRITER },
    ];
    settings = settingsFor([issuerOf(provider, { grants })]);
  });
  after(() => provider.close());

  test('comes from the subject at its issuer, with the grants of its claims and of the catalog', async () => {
    const id = `token:${provider.issuer}#ada`;
    const authenticator = createAuthenticator(settings, lookupOf({}, { [id]: [OWNER] }), Date.now);
    const bearer = await provider.token({
      scope: 'tables.read tables.write',
      claims: { sub: 'ada', groups: ['staff', 'analysts'] },
    });
    assert.deepEqual(await authenticator.authenticate({ ...NONE, bearer }), {
      id,
      kind: 'token',
      grants: [READER, WRITER, OWNER],
    });
  });

  test('has no grants when neither its claims nor the catalog give any', async () => {
    const authenticator = createAuthenticator(settings, lookupOf(), Date.now);
    const bearer = await provider.token({ scope: 'tables.read' });
    assert.deepEqual((await authenticator.authenticate({ ...NONE, bearer })).grants, []);
  });

  test('loses a grant of the catalog at once, though the token has been checked before', async () => {
    const given: Record<string, readonly Grant[]> = { [`token:${provider.issuer}#loader`]: [OWNER] };
    const authenticator = createAuthenticator(settings, lookupOf({}, given), Date.now);
    const bearer = await provider.token();
    assert.deepEqual((await authenticator.authenticate({ ...NONE, bearer })).grants, [OWNER]);
    given[`token:${provider.issuer}#loader`] = [];
    assert.deepEqual((await authenticator.authenticate({ ...NONE, bearer })).grants, []);
  });

  test('takes the subject from the claim that the settings name', async () => {
    const issuer = issuerOf(provider, { subjectClaim: 'client_id' });
    const authenticator = createAuthenticator(settingsFor([issuer]), lookupOf(), Date.now);
    const bearer = await provider.token({ claims: { sub: 'ada' } });
    assert.equal((await authenticator.authenticate({ ...NONE, bearer })).id, `token:${provider.issuer}#loader`);
  });

  test('is refused beside a key of another caller, even when both are good', async () => {
    const { key, digest } = generateApiKey();
    const lookup = lookupOf({ [digest]: { id: 'k1', name: 'loader', grants: [READER] } });
    const authenticator = createAuthenticator(settings, lookup, Date.now);
    const bearer = await provider.token();
    const message = 'The API key and the bearer token of the request belong to different callers.';
    await assertRefused(authenticator.authenticate({ apiKey: key, bearer }), message);
  });

  test('is refused beside a key that is not valid, and a key beside a token that is not', async () => {
    const { key, digest } = generateApiKey();
    const lookup = lookupOf({ [digest]: { id: 'k1', name: 'loader', grants: [READER] } });
    const authenticator = createAuthenticator(settings, lookup, Date.now);
    const bearer = await provider.token();
    await assertRefused(authenticator.authenticate({ apiKey: '', bearer }), BAD_KEY);
    await assertRefused(authenticator.authenticate({ apiKey: generateApiKey().key, bearer }), BAD_KEY);
    await assertRefused(authenticator.authenticate({ apiKey: key, bearer: generateApiKey().key }), BAD_KEY);
    await assert.rejects(authenticator.authenticate({ apiKey: key, bearer: 'a.b.c' }), { kind: 'Unauthenticated' });
  });

  test('is not accepted as an API key', async () => {
    const authenticator = createAuthenticator(settings, lookupOf(), Date.now);
    await assertRefused(authenticator.authenticate({ ...NONE, apiKey: await provider.token() }), BAD_KEY);
  });
});
