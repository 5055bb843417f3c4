import type { EngineLimits } from '../model/limits.ts';
import { AbandonedWork } from './abandoned-work.ts';
import { Connections } from './connections.ts';
import type { TornManifest } from './connections.ts';
import { DurableLanes } from './durable-lanes.ts';
import { DISK } from './file-sync.ts';
import type { FileSync } from './file-sync.ts';
import { IndexBuilds } from './index-builds.ts';
import type { NativeEngine } from './native.ts';
import { OpenReaders } from './open-readers.ts';
import { OpenTables } from './open-tables.ts';
import { lowerEngineThreads } from './thread-priority.ts';
import type { ThreadPriority } from './thread-priority.ts';
import { TableSync } from './table-sync.ts';
import type { SyncMode } from './table-sync.ts';
import { Turns } from './turns.ts';
import { WriteLanes } from './write-lanes.ts';

export interface EngineSettings {
  readonly limits: EngineLimits;
  /** For every table: how the storage is reached. */
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly querySeconds: number;
  /** For data that has not arrived whole yet. */
  readonly spoolFolder: string;
  readonly sync: SyncMode;
  /** Told of what is loud: a table went back by a version. */
  readonly onQuarantine?: (found: TornManifest) => void;
  /** Told how many updates shared a commit. */
  readonly onUpdateGroup?: (members: number) => void;
  /** The disk that commits are synced to, unless a test brings its own. */
  readonly disk?: FileSync;
}

/** What all families of the engine's calls share: one session, one cache of open tables, one lane for each table. */
export interface EngineParts {
  readonly native: NativeEngine;
  readonly limits: EngineLimits;
  readonly querySeconds: number;
  readonly connections: Connections;
  readonly tables: OpenTables;
  readonly lanes: DurableLanes;
  readonly sync: TableSync;
  readonly builds: IndexBuilds;
  readonly readers: OpenReaders;
  readonly abandoned: AbandonedWork;
  readonly threads: ThreadPriority;
  /** For writes of many rows: each takes much memory inside the engine. */
  readonly bulk: Turns;
  readonly onUpdateGroup: (members: number) => void;
}

export function openParts(native: NativeEngine, settings: EngineSettings): EngineParts {
  const { limits, storageOptions, querySeconds, sync: mode, disk = DISK, onQuarantine = () => {} } = settings;
  const session = new native.Session(BigInt(limits.indexCacheBytes), BigInt(limits.metadataCacheBytes));
  const connections = new Connections({ native, session, storageOptions, onQuarantine });
  const tables = new OpenTables(connections, limits.openTablesMax);
  const sync = new TableSync({ mode, disk, tablesMax: limits.openTablesMax });
  return {
    native,
    limits,
    querySeconds,
    connections,
    tables,
    lanes: new DurableLanes(new WriteLanes(limits), sync),
    sync,
    builds: new IndexBuilds(),
    readers: new OpenReaders(() => performance.now()),
    abandoned: new AbandonedWork(limits.abandonedMax),
    threads: lowerEngineThreads(limits.threadNice),
    bulk: new Turns(limits.bulkWritesMax),
    onUpdateGroup: settings.onUpdateGroup ?? (() => {}),
  };
}
