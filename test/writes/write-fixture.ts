import { join } from 'node:path';
import type { Table } from 'apache-arrow';
import type { CheckedStream } from '../../src/arrow/stream/checked-stream.ts';
import { openCatalog } from '../../src/catalog/catalog.ts';
import { sqlLimits } from '../guard/limits.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { createSingleProcess } from '../../src/coordination/coordination.ts';
import { openEngine } from '../../src/engine/engine.ts';
import type { Engine, EngineSettings, FieldMetadataEntry, MergeRequest } from '../../src/engine/engine.ts';
import type { NativeEngine } from '../../src/engine/native/native.ts';
import type { EngineLimits, JournalLimits } from '../../src/model/limits.ts';
import type { TableLocation, TableRecord, TableState } from '../../src/model/table.ts';
import { TRIAL_FILE } from '../../src/release.ts';
import { requireSuccess } from '../../src/operations/shared/write-reply.ts';
import { openStorages } from '../../src/storage/storages.ts';
import type { StorageSettings, Storages } from '../../src/storage/storages.ts';
import type { TelemetryEvent } from '../../src/telemetry/events.ts';
import { Writes } from '../../src/writes/writes.ts';
import type { InsertMode, SucceededWrite, WriteRequest, WriteResult, WritesSettings } from '../../src/writes/writes.ts';
import { ENGINE_LIMITS, latest, readRows, sql, toChunk, toStream } from '../engine/test-engine.ts';
import { testLimits } from '../support/limits.ts';
import { toVersionMetadata } from '../support/staged-version.ts';
import type { StagedVersion } from '../support/staged-version.ts';
import { makeFolder } from '../support/temporary-folder.ts';
import type { Owner } from '../support/temporary-folder.ts';

/** What comes with a write beside its data. */
export interface WriteOptions {
  /** The table; `table` when absent. */
  readonly directory?: string;
  readonly branch?: string;
  readonly key?: string;
  /** If-Match. */
  readonly expectedVersion?: number;
  /** Fires when the client leaves. */
  readonly signal?: AbortSignal;
  /** Writes with the same digest have the same words; by default no two have. */
  readonly digest?: string;
  readonly caller?: string;
  /** Of the version of an external writer. */
  readonly metadata?: Readonly<Record<string, string>>;
}

export type Pair = readonly [column: string, expression: string];

export interface WriteFixtureSettings extends Partial<StorageSettings> {
  /** The folder of a fixture before this one, as after a restart of the service. */
  readonly folder?: string;
  /** A folder, or an address that `objects` fit; a temporary folder by default. */
  readonly root?: string;
  readonly limits?: Partial<EngineLimits>;
  readonly journal?: Partial<JournalLimits>;
  readonly native?: NativeEngine;
  readonly onStep?: WritesSettings['onStep'];
  readonly now?: () => number;
  /** Lets calls of the catalog fail. */
  readonly watchCatalog?: (catalog: Catalog) => Catalog;
  readonly recover?: boolean;
}

/** Opens catalog, storages, engine and writes in a folder of their own, all gone after the test. */
export async function openWriteFixture(test: Owner, settings: WriteFixtureSettings = {}): Promise<WriteFixture> {
  const { folder = await makeFolder(test), sync = 'full', watchedTablesMax = 16, now = Date.now } = settings;
  const all = testLimits();
  const engineLimits = { ...ENGINE_LIMITS, ...settings.limits };
  const limits = { ...all, engine: engineLimits, journal: { ...all.journal, ...settings.journal } };
  const storages = openStorages({ ...settings, sync, watchedTablesMax });
  const storageOptions = settings.objects?.options ?? {};
  const trials = { file: TRIAL_FILE, folder: join(folder, 'trials'), seconds: engineLimits.trialSeconds };
  const schemasFolder = join(folder, 'schemas');
  const engineParts = { limits: engineLimits, storages, storageOptions, trials, schemasFolder };
  const engine = await openNative(settings.native, engineParts);
  const opened = await openCatalog({
    address: join(folder, 'catalog.db'),
    storageRoot: folder,
    waitMilliseconds: 30_000,
    connectionsMax: 2,
    cacheBytes: 1_000_000,
    journal: limits.journal,
    now,
  });
  const catalog = settings.watchCatalog?.(opened) ?? opened;
  const events: TelemetryEvent[] = [];
  const batches: number[] = [];
  const writes = await Writes.open({
    engine,
    storages,
    catalog,
    coordination: createSingleProcess(),
    telemetry: { emit: (event) => void events.push(event) },
    limits,
    sync,
    marksFile: join(folder, 'marks'),
    spoolFolder: join(folder, 'uploads'),
    onBatch: ({ members }) => void batches.push(members),
    onStep: settings.onStep,
    now,
  });
  const close = async (): Promise<void> => {
    await writes.close();
    await engine.close();
    storages.close();
    await opened.close();
  };
  test.after(close);
  const { root = join(folder, 'data') } = settings;
  await storages.of(root).ensureRoot();
  const [database = await catalog.databases.create({ name: 'default', root })] = await catalog.databases.list();
  if (settings.recover !== false) {
    await writes.inDoubtWrites.resolvePending();
    await writes.responses.recover();
  }
  return new WriteFixture({
    folder,
    root,
    databaseId: database.id,
    engine,
    storages,
    catalog,
    writes,
    events,
    batches,
  });
}

async function openNative(
  native: NativeEngine | undefined,
  parts: Pick<EngineSettings, 'limits' | 'storages' | 'storageOptions' | 'trials' | 'schemasFolder'>,
): Promise<Engine> {
  const settings = { ...parts, sqlLimits, querySeconds: 30 };
  return native === undefined ? openEngine(settings) : openEngine(settings, native);
}

interface FixtureParts {
  readonly folder: string;
  readonly root: string;
  readonly databaseId: string;
  readonly engine: Engine;
  readonly storages: Storages;
  readonly catalog: Catalog;
  readonly writes: Writes;
  readonly events: readonly TelemetryEvent[];
  readonly batches: number[];
}

/** The write path with everything below it. Each write gives its success, or throws what it was refused for. */
export class WriteFixture {
  readonly folder: string;
  readonly root: string;
  readonly engine: Engine;
  readonly storages: Storages;
  readonly catalog: Catalog;
  readonly writes: Writes;
  readonly events: readonly TelemetryEvent[];
  /** How many writes shared each commit. */
  readonly batches: number[];
  readonly #databaseId: string;
  #requests = 0;

  constructor(parts: FixtureParts) {
    this.folder = parts.folder;
    this.root = parts.root;
    this.engine = parts.engine;
    this.storages = parts.storages;
    this.catalog = parts.catalog;
    this.writes = parts.writes;
    this.events = parts.events;
    this.batches = parts.batches;
    this.#databaseId = parts.databaseId;
  }

  location(directory = 'table'): TableLocation {
    return { kind: 'listed', root: this.root, directory };
  }

  state(directory?: string, branch?: string): TableState {
    return { ...latest(this.location(directory)), branch };
  }

  async create(data: Table | CheckedStream, directory = 'table'): Promise<TableState> {
    const location = this.location(directory);
    await this.writes.createTable(location, 'chunks' in data ? data : await toStream(data), {});
    await this.catalog.tables.adopt(this.#databaseId, [{ path: [directory], location }]);
    return this.state(directory);
  }

  async table(directory = 'table'): Promise<TableRecord> {
    const table = await this.catalog.tables.find(this.#databaseId, [directory]);
    if (table === undefined) throw new Error(`The catalog has no table ${directory}.`);
    return table;
  }

  async version(directory?: string, branch?: string): Promise<number> {
    return (await this.engine.describeTable(this.state(directory, branch))).version;
  }

  /** `committed` and `replayed` tell how a write came to its success; here a failure is a value too. */
  async tryInsert(data: Table | CheckedStream, options: WriteOptions & { readonly mode?: InsertMode } = {}) {
    const { mode = 'append' } = options;
    const stream = 'chunks' in data ? data : await toStream(data);
    const write = { ...(await this.#describe('insert_into_table', options)), mode };
    const toFields = ({ rows }: { readonly rows: number }) => ({ num_inserted_rows: rows });
    return this.writes.insert({ ...write, toFields }, stream);
  }

  async insert(
    data: Table | CheckedStream,
    options: WriteOptions & { readonly mode?: InsertMode } = {},
  ): Promise<SucceededWrite> {
    return requireSuccess(await this.tryInsert(data, options));
  }

  async tryUpdate(pairs: readonly Pair[], predicate?: string, options: WriteOptions = {}): Promise<WriteResult> {
    const assignments = pairs.map(([column, expression]) => ({ path: [column] as const, expression: sql(expression) }));
    const request = { assignments, predicate: predicate === undefined ? undefined : sql(predicate) };
    return this.writes.run({
      ...(await this.#describe('update_table', options)),
      plan: this.engine.commits.update(this.#target(options), request),
      rule: { from: 'added-rows', names: ['updated_rows'] },
      toFields: ({ rowsUpdated }) => ({ updated_rows: rowsUpdated }),
    });
  }

  async update(pairs: readonly Pair[], predicate?: string, options: WriteOptions = {}): Promise<SucceededWrite> {
    return requireSuccess(await this.tryUpdate(pairs, predicate, options));
  }

  async delete(predicate: string, options: WriteOptions = {}): Promise<SucceededWrite> {
    const result = await this.writes.run({
      ...(await this.#describe('delete_from_table', options)),
      plan: this.engine.commits.delete(sql(predicate)),
      rule: { from: 'removed-rows', names: ['num_deleted_rows'] },
      toFields: ({ rowsDeleted }) => ({ num_deleted_rows: rowsDeleted }),
    });
    return requireSuccess(result);
  }

  async merge(data: Table, request: Partial<MergeRequest> = {}, options: WriteOptions = {}): Promise<SucceededWrite> {
    const stream = await toStream(data);
    const source = { schema: stream.schema, chunk: await toChunk(stream) };
    const result = await this.writes.run({
      ...(await this.#describe('merge_insert_into_table', options)),
      plan: this.engine.commits.merge(source, { ...UPSERT, ...request }),
      rule: { from: 'upsert' },
      toFields: ({ rowsInserted, rowsUpdated, rowsDeleted }) => ({
        num_inserted_rows: rowsInserted,
        num_updated_rows: rowsUpdated,
        num_deleted_rows: rowsDeleted,
      }),
    });
    return requireSuccess(result);
  }

  async restore(version: number, options: WriteOptions = {}): Promise<SucceededWrite> {
    const plan = this.engine.commits.restore(this.#target(options), version);
    return this.#runPlain('restore_table', plan, options);
  }

  /** Commits what an external writer has staged. */
  async trySubmit(staged: StagedVersion, options: WriteOptions = {}): Promise<WriteResult> {
    const { version, manifest_path: manifestPath, manifest_size: manifestSize, naming_scheme: namingScheme } = staged;
    const submission = { version, manifestPath, manifestSize, namingScheme };
    const plan = this.engine.commits.submitted(this.#target(options), submission);
    return this.writes.run({
      ...(await this.#describe('create_table_version', options)),
      plan,
      versionMetadata: toVersionMetadata(plan, options.metadata),
      check: async () => plan.check(),
      rule: { from: 'nothing' },
      toFields: ({ bytes }) => ({ bytes }),
    });
  }

  async submit(staged: StagedVersion, options: WriteOptions = {}): Promise<SucceededWrite> {
    return requireSuccess(await this.trySubmit(staged, options));
  }

  /** Commits a version of each table, all or none. */
  async tryBatch(
    directories: readonly string[],
    staged: readonly StagedVersion[],
    options: WriteOptions = {},
  ): Promise<WriteResult> {
    const request = this.request('batch_create_table_versions', options);
    return this.writes.runBatch(request, async () => {
      const versions = await Promise.all(
        directories.map(async (directory, index) => {
          const table = await this.table(directory);
          const { version, manifest_path: manifestPath, manifest_size: manifestSize } = staged[index] ?? NOTHING_STAGED;
          const submission = { version, manifestPath, manifestSize, namingScheme: 'V2' } as const;
          const plan = this.engine.commits.submitted({ location: table.location, branch: undefined }, submission);
          await plan.check();
          return { table, branch: undefined, plan, versionMetadata: toVersionMetadata(plan, options.metadata) };
        }),
      );
      const changes = { databaseId: this.#databaseId, declarations: [], deregistrations: [], deletions: [] };
      return { request, versions, ...changes, toFields: (published) => ({ versions: published.length }) };
    });
  }

  /** A table whose data an external writer will write. */
  async declare(directory: string): Promise<TableRecord> {
    const declaration = { databaseId: this.#databaseId, path: [directory] as const, root: this.root, properties: {} };
    const entry = { operation: 'declare_table', caller: 'ann', version: 0, requestId: 'request' };
    return (await this.catalog.tables.declare(declaration, entry)).table;
  }

  async addColumn(name: string, expression: string, options: WriteOptions = {}): Promise<SucceededWrite> {
    const columns = [{ kind: 'calculated', name, expression: sql(expression) }] as const;
    return this.#runPlain('add_columns', this.engine.commits.addColumns(columns, 100), options);
  }

  async fieldMetadata(entries: readonly FieldMetadataEntry[], options: WriteOptions = {}): Promise<SucceededWrite> {
    return this.#runPlain('update_field_metadata', this.engine.commits.fieldMetadata(entries), options);
  }

  async schemaMetadata(metadata: Readonly<Record<string, string>>): Promise<SucceededWrite> {
    return this.#runPlain('update_schema_metadata', this.engine.commits.schemaMetadata(this.#target({}), metadata), {});
  }

  async dropIndex(name: string): Promise<SucceededWrite> {
    return this.#runPlain('drop_index', this.engine.commits.dropIndex(name), {});
  }

  /** Starts work while another write has the table, so that it waits in the queue in this order; gives the results. */
  async behindWrite<Value>(
    work: readonly (() => Promise<Value>)[],
    directory?: string,
  ): Promise<PromiseSettledResult<Value>[]> {
    const results: Promise<Value>[] = [];
    let ended = 0;
    const end = (): void => void (ended += 1);
    await this.writes.exclusive(this.location(directory), async () => {
      for (const each of work) {
        const result = each();
        results.push(result);
        result.then(end, end);
        while (this.writes.queues.waiting + ended < results.length) await new Promise(setImmediate);
      }
    });
    return Promise.allSettled(results);
  }

  request(operation: string, options: WriteOptions = {}): WriteRequest {
    this.#requests += 1;
    const requestId = `request-${this.#requests}`;
    const signal = options.signal ?? new AbortController().signal;
    return {
      operation,
      caller: options.caller ?? 'ann',
      requestId,
      key: options.key,
      expectedVersion: options.expectedVersion,
      digest: () => options.digest ?? requestId,
      signal: () => signal,
    };
  }

  async #runPlain(
    operation: string,
    plan: Parameters<Writes['run']>[0]['plan'],
    options: WriteOptions,
  ): Promise<SucceededWrite> {
    const write = { ...(await this.#describe(operation, options)), plan, rule: { from: 'nothing' } as const };
    return requireSuccess(await this.writes.run({ ...write, toFields: () => ({}) }));
  }

  async #describe(operation: string, options: WriteOptions) {
    const request = this.request(operation, options);
    return { request, table: await this.table(options.directory), branch: options.branch, recordedAs: operation };
  }

  #target({ directory, branch }: WriteOptions) {
    return { location: this.location(directory), branch };
  }
}

export async function countRows(test: Owner, fixture: WriteFixture, branch?: string): Promise<number> {
  return (await readRows(test, fixture.state('table', branch))).length;
}

const NOTHING_STAGED: StagedVersion = { version: 0, manifest_path: '', manifest_size: 0, naming_scheme: 'V2' };

const UPSERT: MergeRequest = {
  on: [['id']],
  updateMatched: true,
  updateFilter: undefined,
  insertNew: true,
  deleteOthers: false,
  deleteFilter: undefined,
  useIndex: true,
  deadline: undefined,
};
