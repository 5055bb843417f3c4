import assert from 'node:assert/strict';
import { generateClientSecret } from '../../src/auth/keys/secrets.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Grant } from '../../src/model/access.ts';

export interface OwnClient {
  readonly id: string;
  readonly secret: string;
}

export const EVERYTHING: Grant = { role: 'admin', database: undefined, path: [] };

/** A client of the service's own token endpoint. */
export async function makeClient(
  catalog: Catalog,
  grants: readonly Grant[] = [EVERYTHING],
  expiresAt?: number,
): Promise<OwnClient> {
  const { secret, digest } = generateClientSecret();
  const expiry = expiresAt === undefined ? {} : { expiresAt };
  const { id } = await catalog.clients.create({ name: 'loader', digest, grants, ...expiry });
  return { id, secret };
}

export interface TokenAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
}

export async function askToken(
  url: string,
  form: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...form });
  const response = await fetch(`${url}/oauth/token`, { method: 'POST', body, headers });
  return {
    status: response.status,
    headers: response.headers,
    json: (await response.json()) as Record<string, unknown>,
  };
}

export async function requireToken(url: string, { id, secret }: OwnClient): Promise<string> {
  const { status, json } = await askToken(url, { client_id: id, client_secret: secret, scope: 'tables' });
  assert.equal(status, 200, JSON.stringify(json));
  assert.ok(typeof json['access_token'] === 'string');
  return json['access_token'];
}
