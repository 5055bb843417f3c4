import type { EngineLimits } from '../model/limits.ts';
import type { Storages } from '../storage/storages.ts';
import { OrphanedQueries } from './native/query-deadline.ts';
import { Connections } from './native/connections.ts';
import type { TornManifest } from './native/connections.ts';
import type { NativeEngine } from './native/native.ts';
import { OpenReaders } from './tables/open-readers.ts';
import { OpenTables } from './tables/open-tables.ts';
import { lowerEngineThreads } from './native/thread-priority.ts';
import type { ThreadPriority } from './native/thread-priority.ts';
import { Turns } from './turns.ts';

export interface EngineSettings {
  readonly limits: EngineLimits;
  /** For every table: how the storage is reached. */
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly querySeconds: number;
  readonly storages: Storages;
  /** Told of what is loud: a table went back by a version. */
  readonly onQuarantine?: (found: TornManifest) => void;
}

/** What all families of the engine's calls share: one session and one cache of open tables. */
export interface EngineParts {
  readonly native: NativeEngine;
  readonly limits: EngineLimits;
  readonly querySeconds: number;
  readonly connections: Connections;
  readonly tables: OpenTables;
  readonly storages: Storages;
  readonly readers: OpenReaders;
  readonly abandoned: OrphanedQueries;
  readonly threads: ThreadPriority;
  /** For writes of many rows: each takes much memory inside the engine. */
  readonly bulk: Turns;
}

export function openParts(native: NativeEngine, settings: EngineSettings): EngineParts {
  const { limits, storageOptions, querySeconds, storages, onQuarantine = () => {} } = settings;
  const session = new native.Session(BigInt(limits.indexCacheBytes), BigInt(limits.metadataCacheBytes));
  const connections = new Connections({ native, session, storages, storageOptions, onQuarantine });
  const tables = new OpenTables(connections, limits.openTablesMax);
  return {
    native,
    limits,
    querySeconds,
    connections,
    tables,
    storages,
    readers: new OpenReaders(() => performance.now()),
    abandoned: new OrphanedQueries(limits.orphanedQueriesMax),
    threads: lowerEngineThreads(limits.threadNice),
    bulk: new Turns(limits.bulkWritesMax),
  };
}
