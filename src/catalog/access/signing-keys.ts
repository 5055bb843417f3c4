import type { CatalogContext } from '../context.ts';
import type { Sql } from '../store.ts';

/** Secret: `jwk` can sign tokens. Times are in milliseconds since 1970. */
interface SigningKey {
  readonly id: string;
  /** Both halves of the pair, as the text of a JSON Web Key. */
  readonly jwk: string;
  readonly createdAt: number;
  /** Since then it signs nothing; tokens from before may still be valid. */
  readonly retiredAt?: number;
}

type NewSigningKey = Pick<SigningKey, 'id' | 'jwk'>;

interface RotateRules {
  /** Deletes all earlier keys at once, and with them the validity of every token that they signed. */
  readonly forgetEarlier?: boolean;
}

/** No token is valid for longer: its setting allows a day at most. */
const KEPT_MILLISECONDS = 2 * 24 * 60 * 60 * 1000;
const ALL = 'all';

export function createSigningKeyStore({ read, write, caches, now }: CatalogContext) {
  const cache = caches.create<readonly SigningKey[]>();
  return {
    /** Newest first: the first signs, the others only verify. */
    async list(): Promise<readonly SigningKey[]> {
      const keys = await cache.find(ALL, async () => {
        const listed = await read(listKeys);
        return listed.length === 0 ? undefined : listed;
      });
      return keys ?? [];
    },

    /** Keeps the key if there is none yet. Of several servers that start at once, one succeeds. */
    async ensure(key: NewSigningKey): Promise<void> {
      // Read before, since every write makes all processes repeat their lookups.
      if ((await read(listKeys)).length > 0) return;
      await write(async (sql) => {
        if ((await listKeys(sql)).length === 0) await insertKey(sql, key, now());
      });
    },

    /** Signs with this one from now on. */
    async rotate(key: NewSigningKey, rules?: RotateRules): Promise<void> {
      await write(async (sql) => {
        const rotatedAt = now();
        const keptSince = rules?.forgetEarlier === true ? rotatedAt + 1 : rotatedAt - KEPT_MILLISECONDS;
        await sql.updateTable('signing_keys').set({ retired_at: rotatedAt }).where('retired_at', 'is', null).execute();
        await sql.deleteFrom('signing_keys').where('retired_at', '<', keptSince).execute();
        await insertKey(sql, key, rotatedAt);
      });
    },
  };
}

async function listKeys(sql: Sql): Promise<readonly SigningKey[]> {
  const rows = await sql
    .selectFrom('signing_keys')
    .selectAll()
    .orderBy('retired_at', (order) => order.desc().nullsFirst())
    .orderBy('created_at', 'desc')
    .execute();
  return rows.map(({ id, jwk, created_at: createdAt, retired_at: retiredAt }) => ({
    id,
    jwk,
    createdAt,
    ...(retiredAt === null ? {} : { retiredAt }),
  }));
}

async function insertKey(sql: Sql, { id, jwk }: NewSigningKey, createdAt: number): Promise<void> {
  await sql.insertInto('signing_keys').values({ id, jwk, created_at: createdAt, retired_at: null }).execute();
}
