import { endsWithin } from '../model/time/ends-within.ts';
import type { AppParts } from './parts.ts';

/** Load balancers wait a few seconds for a probe; without a reply they would not learn the reason. */
const CATALOG_SECONDS = 2;
const NO_CATALOG = 'the catalog is unavailable';

type ReadinessParts = Pick<AppParts, 'catalog' | 'membership' | 'state'>;

/** Why requests should go to another node; `undefined` when this one can serve them. For `/readyz`. */
export function createReadiness({ catalog, membership, state }: ReadinessParts): () => Promise<string | undefined> {
  let pinging: Promise<void> | undefined;
  // Shared: probes that arrive while the catalog is silent must not add up.
  const ping = async (): Promise<void> => {
    pinging ??= catalog.ping().finally(() => {
      pinging = undefined;
    });
    return pinging;
  };
  return async () => {
    if (state.isDraining) return 'shutting down';
    if (membership?.isLapsed === true) return 'this node sent no heartbeats for longer than its lease';
    return endsWithin(CATALOG_SECONDS, ping()).then(
      (isReached) => (isReached ? undefined : NO_CATALOG),
      () => NO_CATALOG,
    );
  };
}
