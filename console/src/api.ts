import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { ApiClient } from '../../src/client/api-client.ts';
import { namespaceAddress } from '../../src/client/calls.ts';
import type { NamespacePath } from '../../src/model/identifier.ts';
import type { ListDatabasesReply } from '../../src/wire/access.ts';
import type { ListNamespacesReply } from '../../src/wire/namespaces.ts';
import type { ListTablesReply } from '../../src/wire/tables.ts';
import { apiAddress } from './session.ts';
import type { Session } from './session.ts';

/** The calls are in `src/client/`. */
export function clientOf({ credential, database }: Session, send?: typeof fetch): ApiClient {
  const { kind, text } = credential;
  const secret = kind === 'key' ? { key: text } : { token: text };
  return new ApiClient({ url: apiAddress(), database, fetch: send, ...secret });
}

/** For the Idempotency-Key header. `crypto.randomUUID` is missing on pages without TLS. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export const ClientContext = createContext<ApiClient | undefined>(undefined);

/** For components inside the signed-in frame. */
export function useClient(): ApiClient {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error('Only components below the frame call the server.');
  return client;
}

export interface Page {
  readonly names: readonly string[];
  /** Absent on the last page. */
  readonly next: string | undefined;
}

interface PageWanted {
  readonly limit: number;
  readonly after?: string | undefined;
}

export async function pageOfNamespaces(
  client: ApiClient,
  inside: NamespacePath,
  { limit, after }: PageWanted,
): Promise<Page> {
  const address = namespaceAddress(inside, 'list');
  const reply = await client.json<ListNamespacesReply>(address, { query: { limit, page_token: after } });
  return { names: reply.namespaces, next: reply.page_token };
}

export async function pageOfTables(
  client: ApiClient,
  inside: NamespacePath,
  { limit, after }: PageWanted,
): Promise<Page> {
  const address = namespaceAddress(inside, 'table/list');
  const reply = await client.json<ListTablesReply>(address, { query: { limit, page_token: after } });
  return { names: reply.tables, next: reply.page_token };
}

const DATABASES_MAX = 1000;

export async function listDatabases(client: ApiClient): Promise<readonly string[]> {
  const reply = await client.json<ListDatabasesReply>('/v1/database/list', { json: { limit: DATABASES_MAX } });
  return reply.databases.map(({ name }) => name);
}
