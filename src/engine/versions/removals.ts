import { ServiceError } from '../../errors/service-error.ts';
import { MAIN_BRANCH } from '../../model/table.ts';
import type { OpenTables } from '../tables/open-tables.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { readVersions } from './version-list.ts';

/** Call it in the write queue before using an earlier version. Refuses a version that may be about to be removed. */
export async function requireKept(
  tables: OpenTables,
  { location, branch }: WriteTarget,
  version: number,
): Promise<void> {
  const cutoff = tables.removals.cutoffOf(location);
  if (cutoff === undefined || (branch !== undefined && branch !== MAIN_BRANCH)) return;
  const versions = await tables.usePrivate({ location }, async ({ native }) => readVersions(native));
  const latest = Math.max(...versions.map((each) => each.version));
  const found = versions.find((each) => each.version === version);
  if (version === latest || found === undefined || found.timestamp / 1000 >= cutoff) return;
  const message = `Old versions of the table are being removed, and version ${version} may be one of them.`;
  throw new ServiceError('ServiceUnavailable', message, {
    hint: 'Try again in a moment.',
    retryAfterSeconds: 5,
    changedNothing: true,
  });
}
