import type { CommitKind, TableLocation } from '../model/table.ts';
import { toFirstAddress } from './computed/recomputing-update.ts';
import type { EngineParts } from './parts.ts';

/** Commits that neither change nor move rows that are there. */
const KEEPS_ROWS: ReadonlySet<CommitKind> = new Set(['append', 'index', 'drop-index', 'config', 'reserve']);

/** For rows that are derived from those of another table. */
export function createViewsEngine({ storages }: EngineParts) {
  return {
    /**
     * The lowest address of the rows that were added between two versions of the main branch, when nothing but appends
     * happened; `undefined` when that is not certain, as when old versions were removed.
     */
    async findAppended(
      location: TableLocation,
      { from, to }: { readonly from: number; readonly to: number },
    ): Promise<bigint | undefined> {
      if (from >= to) return undefined;
      const storage = storages.of(location.root);
      const last = await storage.readLastFragment(location, undefined, from);
      const later = (await storage.readCommits(location, undefined, from)) ?? [];
      const between = later.filter(({ version }) => version <= to);
      if (last === undefined || between.length !== to - from) return undefined;
      return between.every(({ kind }) => KEEPS_ROWS.has(kind)) ? toFirstAddress(last) : undefined;
    },
  };
}
