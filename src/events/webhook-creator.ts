import type { Catalog, WebhookRecord } from '../catalog/catalog.ts';
import { isPermitted } from '../model/access.ts';
import type { Caller } from '../model/access.ts';

export interface CreatorLookup {
  readonly catalog: Pick<Catalog, 'keys' | 'clients'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

type Created = Pick<WebhookRecord, 'createdBy' | 'scope'>;

/** `undefined` if the creator of a webhook is no longer valid, or may no longer manage its target. */
export async function findCreator(
  { createdBy: id, scope }: Created,
  database: string,
  { catalog, now }: CreatorLookup,
): Promise<Caller | undefined> {
  const path = scope.table ?? scope.namespace ?? [];
  const [kind = '', name = ''] = id.split(':');
  const store = { key: catalog.keys, client: catalog.clients }[kind];
  // The roles of other callers are in their tokens, which the server does not store.
  if (store === undefined) return { id, kind: 'token', grants: [{ role: 'owner', database, path }] };
  const credential = await store.find(name);
  if (credential === undefined || (credential.expiresAt ?? Infinity) <= now()) return undefined;
  const creator: Caller = { id, kind: 'key', grants: credential.grants };
  return isPermitted(creator, 'manage', database, path) ? creator : undefined;
}
