import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import type { EngineLimits, SqlLimits } from '../model/limits.ts';
import type { Storages } from '../storage/storages.ts';
import { StagedSchemas } from './commits/staged-schemas.ts';
import { Scratch } from './computed/scratch.ts';
import { Connections } from './native/connections.ts';
import type { TornManifest } from './native/connections.ts';
import { readEngineRelease } from './native/engine-release.ts';
import type { NativeEngine } from './native/native.ts';
import { OrphanedQueries } from './native/query-deadline.ts';
import { lowerEngineThreads } from './native/thread-priority.ts';
import { ReadMemory } from './queries/read-memory.ts';
import type { ReadMemoryLimits } from './queries/read-memory.ts';
import { SharedQueries } from './shared-queries/shared-queries.ts';
import { OpenReaders } from './tables/open-readers.ts';
import { ManifestTrials } from './trial/manifest-trials.ts';
import type { TrialSettings } from './trial/manifest-trials.ts';
import type { RecordedSettings } from './tables/recorded-tables.ts';
import { OpenTables } from './tables/open-tables.ts';

export interface EngineSettings {
  readonly limits: EngineLimits;
  /** For the definitions of computed columns. */
  readonly sqlLimits: SqlLimits;
  /** Options for the storage of every table. */
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly querySeconds: number;
  /** Absent if the engine serves one caller that may use the whole machine. */
  readonly readMemory?: ReadMemoryLimits;
  /**
   * How many similar searches run at once before others wait to be merged; half as many lookups. Normally the number of
   * CPUs.
   */
  readonly parallelQueriesMax?: number;
  readonly storages: Storages;
  /** Used only by this process, for schemas that the engine translates. */
  readonly schemasFolder: string;
  /** Absent if no manifests of external writers are committed. */
  readonly trials?: TrialSettings;
  /** For tables on object stores. */
  readonly pollSeconds?: number;
  readonly onLaterVersion?: RecordedSettings['onLaterVersion'];
  /** Called when a table went back to its previous version. */
  readonly onQuarantine?: (found: TornManifest) => void;
}

const UNBOUNDED: ReadMemoryLimits = {
  memoryBytesMax: Infinity,
  memoryPerCallerBytesMax: Infinity,
  memoryPerRequestBytesMax: Infinity,
  memoryWaitSeconds: 0,
  residentBytesMax: Infinity,
};

export type EngineParts = ReturnType<typeof openParts>;

/** What all parts of the engine share: one session and one cache of open tables. */
export function openParts(native: NativeEngine, settings: EngineSettings) {
  const { limits, sqlLimits, storageOptions, querySeconds, storages, onQuarantine = () => {} } = settings;
  const { parallelQueriesMax = availableParallelism() } = settings;
  const session = new native.Session(BigInt(limits.indexCacheBytes), BigInt(limits.metadataCacheBytes));
  const release = readEngineRelease();
  const connections = new Connections({ native, release, session, storages, storageOptions, onQuarantine });
  const { pollSeconds = Infinity, onLaterVersion = async () => {} } = settings;
  const tables = new OpenTables(connections, { openTablesMax: limits.openTablesMax, pollSeconds, onLaterVersion });
  return {
    native,
    release,
    limits,
    sqlLimits,
    querySeconds,
    connections,
    tables,
    storages,
    trials: settings.trials === undefined ? undefined : new ManifestTrials(settings.trials),
    scratch: new Scratch(native),
    stagedSchemas: new StagedSchemas(native, settings.schemasFolder),
    readers: new OpenReaders(),
    orphans: new OrphanedQueries({
      queriesMax: limits.orphanedQueriesMax,
      perCallerMax: limits.orphanedQueriesPerCallerMax,
    }),
    memory: new ReadMemory(settings.readMemory ?? UNBOUNDED),
    sharedQueries: new SharedQueries({ membersMax: limits.sharedQueriesMax, parallelMax: parallelQueriesMax }),
    threads: lowerEngineThreads(limits.threadNice),
    /** For large writes: each uses much memory inside the engine. */
    bulkLimit: pLimit(limits.bulkWritesMax),
  };
}
