import type { EngineLimits } from '../model/limits.ts';
import { Connections } from './connections.ts';
import { IndexBuilds } from './index-builds.ts';
import type { NativeEngine } from './native.ts';
import { OpenTables } from './open-tables.ts';
import { WriteLanes } from './write-lanes.ts';

export interface EngineSettings {
  readonly limits: EngineLimits;
  /** For every table: how the storage is reached. */
  readonly storageOptions: Readonly<Record<string, string>>;
  readonly querySeconds: number;
  /** For data that has not arrived whole yet. */
  readonly spoolFolder: string;
}

/** What all families of the engine's calls share: one session, one cache of open tables, one lane for each table. */
export interface EngineParts {
  readonly native: NativeEngine;
  readonly limits: EngineLimits;
  readonly querySeconds: number;
  readonly connections: Connections;
  readonly tables: OpenTables;
  readonly lanes: WriteLanes;
  readonly builds: IndexBuilds;
}

export function openParts(native: NativeEngine, settings: EngineSettings): EngineParts {
  const { limits, storageOptions, querySeconds } = settings;
  const session = new native.Session(BigInt(limits.indexCacheBytes), BigInt(limits.metadataCacheBytes));
  const connections = new Connections({ native, session, storageOptions });
  const tables = new OpenTables(connections, limits.openTablesMax);
  return {
    native,
    limits,
    querySeconds,
    connections,
    tables,
    lanes: new WriteLanes(limits),
    builds: new IndexBuilds(),
  };
}
