import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { Limits } from '../model/limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** What an operation may use. */
export interface Services {
  readonly engine: Engine;
  readonly catalog: Catalog;
  readonly jobs: Jobs;
  readonly telemetry: Telemetry;
  readonly limits: Limits;
  /** Storage options that callers may set beside the harmless ones. */
  readonly allowedStorageOptions: readonly string[];
}
