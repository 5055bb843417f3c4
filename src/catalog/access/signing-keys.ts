import type { CatalogContext } from '../context.ts';
import type { Sql } from '../store.ts';

/** Secret: whoever has `jwk` can make tokens. Times are in milliseconds since 1970. */
export interface SigningKey {
  readonly id: string;
  /** Both halves of the pair, as the text of a JSON Web Key. */
  readonly jwk: string;
  readonly createdAt: number;
  /** Since then it signs nothing; what it signed before may still be valid. */
  readonly retiredAt?: number;
}

export type NewSigningKey = Pick<SigningKey, 'id' | 'jwk'>;

export interface RotateRules {
  /** Forgets all earlier keys at once, and with them every token that they signed. */
  readonly forgetEarlier?: boolean;
}

export interface SigningKeyStore {
  /** Newest first: the first signs, the others only verify. */
  list(): Promise<readonly SigningKey[]>;
  /** Keeps the key if there is none yet. Of several servers that start at once, one succeeds. */
  ensure(key: NewSigningKey): Promise<void>;
  /** Signs with this one from now on. */
  rotate(key: NewSigningKey, rules?: RotateRules): Promise<void>;
}

/** No token lives longer: the setting of its life allows a day at most. */
const KEPT_MILLISECONDS = 2 * 24 * 60 * 60 * 1000;
const ALL = 'all';

export function createSigningKeyStore({ read, write, caches, now }: CatalogContext): SigningKeyStore {
  const cache = caches.create<readonly SigningKey[]>();
  return {
    async list() {
      const keys = await cache.find(ALL, async () => {
        const listed = await read(listKeys);
        return listed.length === 0 ? undefined : listed;
      });
      return keys ?? [];
    },

    async ensure(key) {
      // Looked at before, since every write makes all processes look everything up again.
      if ((await read(listKeys)).length > 0) return;
      await write(async (sql) => {
        if ((await listKeys(sql)).length === 0) await insertKey(sql, key, now());
      });
    },

    async rotate(key, rules) {
      await write(async (sql) => {
        const moment = now();
        const forgottenBefore = rules?.forgetEarlier === true ? moment + 1 : moment - KEPT_MILLISECONDS;
        await sql.updateTable('signing_keys').set({ retired_at: moment }).where('retired_at', 'is', null).execute();
        await sql.deleteFrom('signing_keys').where('retired_at', '<', forgottenBefore).execute();
        await insertKey(sql, key, moment);
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
