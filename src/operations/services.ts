import type { generateApiKey, generateClientSecret } from '../auth/keys/secrets.ts';
import type { generateSigningKey } from '../auth/keys/signing-keys.ts';
import type { Catalog, NodeRecord, Takeover } from '../catalog/catalog.ts';
import type { Backfills } from '../derived/backfills.ts';
import type { Views } from '../derived/views.ts';
import type { Embeddings } from '../embeddings/embeddings.ts';
import type { Engine } from '../engine/engine.ts';
import type { CommitFeed } from '../events/commit-feed.ts';
import type { WebhookSender } from '../events/send-webhook.ts';
import type { Webhooks } from '../events/webhooks.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Maintenance } from '../maintenance/maintenance.ts';
import type { Limits } from '../model/limits.ts';
import type { SizeQuotas } from '../quotas/size-quotas.ts';
import type { ResultCache } from '../result-cache/result-cache.ts';
import type { SlowQueries } from '../slow-queries/slow-queries.ts';
import type { CredentialVending } from '../storage/storages.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { FilterShares } from '../tuning/filter-shares.ts';
import type { Tuner } from '../tuning/tuner.ts';
import type { Writes } from '../writes/writes.ts';

/** The nodes that share the catalog; a single one without a cluster. */
export interface NodeList {
  /** The id of this process. */
  readonly ownId: string;
  list(): Promise<readonly NodeRecord[]>;
  /** Newest first. */
  listTakeovers(limit: number): Promise<readonly Takeover[]>;
}

export interface Services {
  readonly engine: Engine;
  readonly resultCache: ResultCache;
  readonly catalog: Catalog;
  readonly nodes: NodeList;
  readonly jobs: Jobs;
  readonly backfills: Backfills;
  readonly views: Views;
  readonly commitFeed: CommitFeed;
  readonly webhooks: Webhooks;
  readonly webhookSender: WebhookSender;
  readonly maintenance: Maintenance;
  readonly sizeQuotas: SizeQuotas;
  readonly slowQueries: SlowQueries;
  readonly tuner: Tuner;
  readonly filterShares: FilterShares;
  readonly telemetry: Telemetry;
  readonly writes: Writes;
  /** `undefined` if disabled. */
  readonly vending: CredentialVending | undefined;
  /** `undefined` if disabled. */
  readonly embeddings: Embeddings | undefined;
  readonly limits: Limits;
  readonly generateApiKey: typeof generateApiKey;
  readonly generateClientSecret: typeof generateClientSecret;
  readonly generateSigningKey: typeof generateSigningKey;
  /** The address of the built-in token endpoint; `undefined` without one. */
  readonly issuerUrl: string | undefined;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Storage options that callers may set in addition to the harmless ones. */
  readonly allowedStorageOptions: readonly string[];
}
