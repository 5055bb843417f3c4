import { SignJWT, exportSPKI, generateKeyPair } from 'jose';
import { FINITE_OPERATIONS } from '../model/finite-operations.ts';
import { startIdentityProvider } from '../../test/support/identity-provider.ts';
import type { IdentityProvider } from '../../test/support/identity-provider.ts';
import { sampleStream } from '../../test/support/arrow-tables.ts';
import type { Figure, Trust } from '../campaign.ts';
import { none, info } from '../campaign.ts';
import type { HttpClient, Reply } from '../http.ts';

/** Tokens that must be refused everywhere, and one that must be accepted everywhere. */
export async function tryTokens(trust: Trust): Promise<readonly Figure[]> {
  const provider = await startIdentityProvider();
  try {
    const issuers = [
      {
        issuer: provider.issuer,
        audience: provider.audience,
        grants: [{ claim: 'scope', value: 'tables.write', role: 'admin', database: 'default' }],
      },
    ];
    const server = await trust.startServer(['--http-uploads-max=64'], {
      TILTYARD_AUTH_ISSUERS: JSON.stringify(issuers),
    });
    const good = await provider.token({ scope: 'tables.write' });
    const bad = await makeBadHeaders(provider, good);
    trust.scanner.plant(good, ...secretsOf(bad));
    let wrong = 0;
    let asked = 0;
    for (const operation of FINITE_OPERATIONS) {
      const path = operation.path.replace(':id', 'some').replaceAll(/:\w+/g, 'some_idx');
      for (const [name, headers] of Object.entries({ good: { authorization: `Bearer ${good}` }, ...bad })) {
        const client = server.admin.as(headers);
        const reply = await knock(client, operation.methods[0], operation.body.kind === 'arrow', path);
        client.close();
        asked += 1;
        const isKeptOut = reply.status === 401 || (name === 'both credentials' && reply.status === 400);
        if (isKeptOut === (name !== 'good')) continue;
        wrong += 1;
        trust.blame('token', `${name} at ${operation.id}: ${reply.status} ${reply.text.slice(0, 200)}`);
      }
    }
    const fetches = provider.requestsOf('/jwks');
    return [
      info('token cases', Object.keys(bad).length + 1),
      info('token questions', asked),
      none('wrong answers to tokens', wrong),
      info('fetches of the key set', fetches),
    ];
  } finally {
    await provider.close();
  }
}

async function knock(client: HttpClient, method: string, isArrow: boolean, path: string): Promise<Reply> {
  if (method === 'GET') return client.get(path);
  return isArrow ? client.arrow(path, sampleStream(1)) : client.post(path, {});
}

/** Whatever was sent as a credential is a secret, even if it is invalid. */
function secretsOf(headers: Readonly<Record<string, Headers>>): readonly string[] {
  const sent = Object.values(headers).flatMap((each) => Object.values(each));
  return sent.map((value) => value.replace(/^\w+ /, '')).filter(({ length }) => length > 30 && length < 5000);
}

type Headers = Readonly<Record<string, string>>;

async function makeBadHeaders(provider: IdentityProvider, good: string): Promise<Readonly<Record<string, Headers>>> {
  const { kid, privateKey, publicKey } = provider.signingKeys();
  const other = await generateKeyPair('RS256');
  const claims = { scope: 'tables.write', sub: 'loader', iss: provider.issuer, aud: provider.audience };
  const now = Math.floor(Date.now() / 1000);
  const sign = async (
    changes: object,
    header: object = {},
    key: Parameters<SignJWT['sign']>[0] = privateKey,
  ): Promise<string> =>
    new SignJWT({ iat: now, exp: now + 600, ...claims, ...changes })
      .setProtectedHeader({ alg: 'RS256', kid, typ: 'at+jwt', ...header })
      .sign(key, { crit: { 'x-more': true } });
  const [head = '', body = '', signature = ''] = good.split('.');
  const text = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const confused = new TextEncoder().encode(await exportSPKI(publicKey));
  const tokens: Readonly<Record<string, string>> = {
    'no algorithm': `${text({ alg: 'none', typ: 'at+jwt' })}.${body}.`,
    'no signature': `${head}.${body}.`,
    'another body': `${head}.${text({ ...claims, exp: now + 600, scope: 'tables.write', sub: 'root' })}.${signature}`,
    'the public key as a secret': await sign({}, { alg: 'HS256' }, confused),
    'another key of the same name': await sign({}, {}, other.privateKey),
    'an unknown key': await sign({}, { kid: 'nobody' }, other.privateKey),
    'an address for its key': await sign({}, { kid: 'nobody', jku: `${provider.issuer}/jwks` }, other.privateKey),
    'another issuer': await sign({ iss: 'https://elsewhere.example' }),
    'another audience': await sign({ aud: 'https://elsewhere.example' }),
    ended: await sign({ exp: now - 3600 }),
    'not begun': await sign({ nbf: now + 3600 }),
    'without an end': await sign({ exp: undefined }),
    'a critical extension': await sign({}, { crit: ['x-more'], 'x-more': 1 }),
    'not a token': 'x.y.z',
    'a long one': 'a'.repeat(20_000),
    nothing: '',
  };
  const bearer = Object.entries(tokens).map(([name, token]) => [name, { authorization: `Bearer ${token}` }] as const);
  return {
    ...Object.fromEntries(bearer),
    'another scheme': { authorization: `Basic ${Buffer.from('a:b').toString('base64')}` },
    'a wrong key': { 'x-api-key': 'tiltyard-wrong-key-that-nobody-ever-made' },
    'no credential': {},
  };
}
