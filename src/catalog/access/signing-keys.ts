import type { CatalogContext } from '../context.ts';
import type { Sql } from '../store.ts';

/** Secret: `jwk` can sign tokens. Times are in milliseconds since 1970. */
interface SigningKey {
  readonly id: string;
  /** Both halves of the pair, as the text of a JSON Web Key. */
  readonly jwk: string;
  readonly createdAt: number;
  /** Since then it no longer signs; earlier tokens may still be valid. */
  readonly retiredAt?: number;
}

type NewSigningKey = Pick<SigningKey, 'id' | 'jwk'>;

/** No token is valid for longer: the setting allows a day at most. */
const KEPT_MILLISECONDS = 2 * 24 * 60 * 60 * 1000;
const ALL = 'all';

export function createSigningKeyStore({ read, write, caches, now }: CatalogContext) {
  const cache = caches.create<readonly SigningKey[]>();
  return {
    /** Newest first: the first one signs, the others only verify. */
    async list(): Promise<readonly SigningKey[]> {
      const keys = await cache.find(ALL, async () => {
        const listed = await read(listKeys);
        return listed.length === 0 ? undefined : listed;
      });
      return keys ?? [];
    },

    /** Stores the key if there is none yet. Of several servers starting at once, one succeeds. */
    async ensure(key: NewSigningKey): Promise<void> {
      // Read first, because every write makes all processes repeat their lookups.
      if ((await read(listKeys)).length > 0) return;
      await write(async (sql) => {
        if ((await listKeys(sql)).length === 0) await insertKey(sql, key, now());
      });
    },

    /** Signs with this key from now on. `forgetEarlier` invalidates every token that earlier keys have signed. */
    async rotate(key: NewSigningKey, { forgetEarlier = false } = {}): Promise<void> {
      await write(async (sql) => {
        const rotatedAt = now();
        const keptSince = forgetEarlier ? rotatedAt + 1 : rotatedAt - KEPT_MILLISECONDS;
        await sql.updateTable('signingKeys').set({ retiredAt: rotatedAt }).where('retiredAt', 'is', null).execute();
        await sql.deleteFrom('signingKeys').where('retiredAt', '<', keptSince).execute();
        await insertKey(sql, key, rotatedAt);
      });
    },
  };
}

async function listKeys(sql: Sql): Promise<readonly SigningKey[]> {
  const rows = await sql
    .selectFrom('signingKeys')
    .selectAll()
    .orderBy('retiredAt', (order) => order.desc().nullsFirst())
    .orderBy('createdAt', 'desc')
    .execute();
  return rows.map(({ retiredAt, ...key }) => ({ ...key, ...(retiredAt === null ? {} : { retiredAt }) }));
}

async function insertKey(sql: Sql, { id, jwk }: NewSigningKey, createdAt: number): Promise<void> {
  await sql.insertInto('signingKeys').values({ id, jwk, createdAt, retiredAt: null }).execute();
}
