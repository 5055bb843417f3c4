import type { ApiClient } from '../../../src/client/api-client.ts';
import type { Credential, GivenGrant, GrantShape, ListedGrant } from '../../../src/wire/access.ts';

/** Keys and clients have the same calls. */
export type CredentialKind = 'key' | 'client';

interface CredentialPage {
  readonly keys?: readonly Credential[];
  readonly clients?: readonly Credential[];
  readonly page_token?: string;
}

interface GrantPage {
  readonly grants: readonly ListedGrant[];
  readonly page_token?: string;
}

const PAGES_MAX = 50;

export async function listCredentials(client: ApiClient, kind: CredentialKind): Promise<readonly Credential[]> {
  const found: Credential[] = [];
  let token: string | undefined;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: CredentialPage = await client.json(`/v1/access/${kind}/list`, { json: pageBody(token) });
    found.push(...((kind === 'key' ? page.keys : page.clients) ?? []));
    token = page.page_token;
    if (token === undefined) break;
  }
  return found;
}

export async function listGrants(client: ApiClient): Promise<readonly ListedGrant[]> {
  const found: ListedGrant[] = [];
  let token: string | undefined;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: GrantPage = await client.json('/v1/access/grant/list', { json: pageBody(token) });
    found.push(...page.grants);
    token = page.page_token;
    if (token === undefined) break;
  }
  return found;
}

function pageBody(token: string | undefined): object {
  return token === undefined ? {} : { page_token: token };
}

export interface NewCredential {
  readonly name: string;
  readonly grant: GrantShape;
  readonly days: number | undefined;
}

/** Shown once. */
export interface Secret {
  readonly name: string;
  readonly lines: readonly { readonly label: string; readonly text: string }[];
}

interface CreatedCredential {
  readonly key?: string;
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly issuer_url?: string;
}

const DAY_SECONDS = 86_400;

export async function createCredential(
  client: ApiClient,
  kind: CredentialKind,
  { name, grant, days }: NewCredential,
): Promise<Secret> {
  const expiry = days === undefined ? {} : { expires_in_seconds: Math.round(days * DAY_SECONDS) };
  const created: CreatedCredential = await client.json(`/v1/access/${kind}/create`, {
    json: { name, grants: [grant], ...expiry },
  });
  const lines: readonly (readonly [string, string | undefined])[] = [
    ['API key', created.key],
    ['Client id', created.client_id],
    ['Client secret', created.client_secret],
    ['Issuer', created.issuer_url],
  ];
  return { name, lines: lines.flatMap(([label, text]) => (text === undefined ? [] : [{ label, text }])) };
}

export async function revokeCredential(client: ApiClient, kind: CredentialKind, id: string): Promise<void> {
  await client.json(`/v1/access/${kind}/revoke`, { json: { [`${kind}_id`]: id } });
}

export async function giveGrant(client: ApiClient, grant: GivenGrant): Promise<void> {
  await client.json('/v1/access/grant/create', { json: grant });
}

export async function withdrawGrant(client: ApiClient, grant: GivenGrant): Promise<void> {
  await client.json('/v1/access/grant/delete', { json: grant });
}

/** `writer on default / eu / orders`. */
export function describeGrant({ role, database, path }: GrantShape): string {
  return `${role} on ${[database ?? 'every database', ...(path ?? [])].join(' / ')}`;
}
