import { LRUCache } from 'lru-cache';
import type { CredentialStore } from './credentials.ts';

interface NamedStores {
  readonly keys: Pick<CredentialStore, 'names'>;
  readonly clients: Pick<CredentialStore, 'names'>;
}

const KNOWN_MAX = 1000;

/**
 * Names of keys and clients, revoked ones too, by caller id (`key:<id>`, `client:<id>`). Others have no name. A name
 * never changes, so it is read once.
 */
export function createCallerNames({ keys, clients }: NamedStores) {
  const known = new LRUCache<string, string>({ max: KNOWN_MAX });
  return async (callers: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const named = new Map<string, string>();
    const missing: string[] = [];
    for (const caller of new Set(callers)) {
      const name = known.get(caller);
      if (name === undefined) missing.push(caller);
      else named.set(caller, name);
    }
    for (const [prefix, store] of [
      ['key:', keys],
      ['client:', clients],
    ] as const) {
      const ids = missing.filter((caller) => caller.startsWith(prefix)).map((caller) => caller.slice(prefix.length));
      if (ids.length === 0) continue;
      for (const [id, name] of await store.names(ids)) {
        known.set(prefix + id, name);
        named.set(prefix + id, name);
      }
    }
    return named;
  };
}
