import { readFileSchema } from '../arrow/schema/schema-reader.ts';
import { isRead } from '../arrow/results/result-framing.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { EnterPhase, Job, Jobs, NewJob, StartedJob } from '../jobs/jobs.ts';
import { VIEW_STATE_PROPERTY, readViewDefinition, readViewState } from '../model/derived/view.ts';
import type { ViewDefinition, ViewState } from '../model/derived/view.ts';
import type { Limits } from '../model/limits.ts';
import { computedText } from '../model/schema.ts';
import { branchKey, toTableState } from '../model/table.ts';
import type { TableRecord } from '../model/table.ts';
import type { SizeQuotas } from '../quotas/size-quotas.ts';
import type { Writes } from '../writes/writes.ts';
import { beginOwnSized, requireOwnSuccess, toOwnRequest } from './own-write.ts';
import { openTableJobs } from './table-jobs.ts';
import { toStream, toViewQuery } from './view-query.ts';

export interface ViewsParts {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, 'tables' | 'quotas'>;
  readonly writes: Writes;
  readonly jobs: Jobs;
  readonly sizeQuotas: Pick<SizeQuotas, 'begin'>;
  /** Refuses data of a declared table that refers to files of other tables. */
  readonly checkDeclared: (table: TableRecord, parts: Pick<ViewsParts, 'engine' | 'catalog'>) => Promise<TableRecord>;
  readonly limits: Pick<Limits, 'sql' | 'arrow' | 'views'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface RefreshRequest {
  readonly view: TableRecord;
  /** The latest version if absent. */
  readonly sourceVersion?: number | undefined;
  /** Rebuilds the view even if adding the appended rows would be enough. */
  readonly isFull?: boolean;
  /** No caller asks for it. */
  readonly isAutomatic?: true;
  readonly caller: string;
  readonly requestId: string;
}

export interface Refreshed {
  readonly how: ViewState['how'];
  readonly rows: number;
  readonly version: number;
  readonly source_version: number;
  readonly [field: string]: unknown;
}

const KIND = 'refresh_materialized_view';
/** What the server repeats: a refresh that its process did not survive goes on, and another one may be due. */
const REFRESH = 'refresh';
const ATTEMPTS_MAX = 3;

/**
 * Materialized views: tables whose rows are computed from another table. A refresh atomically replaces all rows, or
 * adds those appended to the source. The transaction that makes it visible also records the version of the source, so
 * it is never applied twice.
 */
export class Views {
  readonly start: (request: RefreshRequest) => StartedJob<Refreshed>;
  readonly #parts: ViewsParts;

  constructor(parts: ViewsParts) {
    this.#parts = parts;
    const run = async (request: RefreshRequest, enter: EnterPhase) => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.#run(request, enter);
        } catch (error) {
          if (!(error instanceof Overtaken) || attempt === ATTEMPTS_MAX) throw error;
        }
      }
    };
    this.start = openTableJobs(parts, { kind: KIND, toSubject, readRequest, run });
  }

  /** A stream without rows that has the columns of the view. Refuses what cannot be computed. */
  async openEmpty(source: TableRecord, definition: Omit<ViewDefinition, 'sourceId' | 'source' | 'refresh'>) {
    const { engine, limits } = this.#parts;
    const timeout = { seconds: undefined, signal: () => new AbortController().signal };
    const readHead = async (columns: ViewDefinition['columns']): Promise<Buffer> => {
      const query = { ...toViewQuery({ ...definition, columns }, limits.sql), k: 0 };
      return (await engine.rows.query(toTableState(source, {}), query, timeout)).head;
    };
    const head = await readHead(await withoutDefinitions(definition.columns, readHead));
    // A filter is planned only when rows are read.
    await engine.rows.explain(toTableState(source, {}), toViewQuery(definition, limits.sql), false, timeout);
    return toStream({ head, files: [] }, limits.arrow.chunkBytes);
  }

  /** Another automatic refresh might end the process, as the last ones did. */
  async isGivenUp({ id }: Pick<TableRecord, 'id'>): Promise<boolean> {
    return this.#parts.jobs.isGivenUp(id, REFRESH);
  }

  /** `undefined` if it was dropped. */
  async findSource(definition: Pick<ViewDefinition, 'sourceId'>): Promise<TableRecord | undefined> {
    const { checkDeclared, catalog } = this.#parts;
    const found = await catalog.tables.findById(definition.sourceId);
    // A lookup by name returns it with the version that readers get.
    const source = found && (await catalog.tables.find(found.databaseId, found.path));
    return source && checkDeclared(source, this.#parts);
  }

  async #run(request: RefreshRequest, enter: EnterPhase): Promise<Refreshed> {
    const { engine, catalog, limits } = this.#parts;
    await enter('reading the source');
    const view = await catalog.tables.findById(request.view.id);
    const definition = view && readViewDefinition(view);
    if (view === undefined || definition === undefined) throw gone('The view was dropped.');
    const source = await this.findSource(definition);
    if (source === undefined) throw gone('The source table of the view was dropped.');
    const version = request.sourceVersion ?? (await engine.describeTable(toTableState(source, {}))).version;
    const state = readViewState(view);
    const isFull = request.isFull === true;
    if (state?.sourceVersion === version && !isFull) {
      const current = await engine.describeTable(toTableState(view, {}));
      return toResult('unchanged', { rows: 0, version: current.version, sourceVersion: version });
    }
    const isIncremental = state !== undefined && definition.limit === undefined && !isFull;
    const firstAddress = isIncremental
      ? await engine.views.findAppended(source.location, { from: state.sourceVersion, to: version })
      : undefined;
    const query = toViewQuery(definition, limits.sql, firstAddress);
    const timeout = { seconds: undefined, signal: () => new AbortController().signal, caller: request.caller };
    const result = await engine.rows.query(toTableState(source, { version }), query, timeout);
    try {
      const stream = toStream(result, limits.arrow.chunkBytes, async (rows) => enter(`read ${rows} rows`));
      await enter('writing the rows');
      return await this.#write({ ...request, view }, stream, { version, isAppend: firstAddress !== undefined });
    } finally {
      // Reading them may not have begun or ended.
      if (!isRead(result.files)) await result.files[Symbol.asyncIterator]().return?.();
    }
  }

  async #write(
    { view, caller, requestId }: RefreshRequest,
    stream: ReturnType<typeof toStream>,
    { version, isAppend }: { readonly version: number; readonly isAppend: boolean },
  ): Promise<Refreshed> {
    const { writes, now } = this.#parts;
    const how = isAppend ? 'appended' : 'rebuilt';
    const state: ViewState = { sourceVersion: version, refreshedAt: now(), how };
    const sized = await beginOwnSized(view, caller, this.#parts);
    try {
      const result = await writes.insertWhole(
        {
          request: { ...toOwnRequest({ operation: KIND, caller, requestId }), admit: sized?.admit },
          table: view,
          branch: undefined,
          recordedAs: KIND,
          mode: isAppend ? 'append' : 'replace',
          properties: { [VIEW_STATE_PROPERTY]: JSON.stringify(state) },
          toFields: ({ rows }) => ({ rows }),
          confirm: async () => this.#requireState(view),
        },
        stream,
      );
      const success = await requireOwnSuccess(writes, result);
      const rows = Number(success.fields['rows']);
      return toResult(how, { rows, version: success.version, sourceVersion: version });
    } finally {
      await sized?.end();
    }
  }

  /** Another node may have owned and refreshed the view in the meantime. */
  async #requireState({ id, properties }: TableRecord): Promise<void> {
    const latest = await this.#parts.catalog.tables.findById(id);
    if (latest?.properties[VIEW_STATE_PROPERTY] !== properties[VIEW_STATE_PROPERTY]) throw new Overtaken();
  }
}

class Overtaken extends ServiceError {
  constructor() {
    super('ConcurrentModification', 'The view was refreshed meanwhile.', { hint: 'Refresh it again.' });
  }
}

/** LanceDB clients read the last four fields. */
function toResult(
  how: ViewState['how'],
  { rows, version, sourceVersion }: { readonly rows: number; readonly version: number; readonly sourceVersion: number },
): Refreshed {
  return { how, rows, mode: MODES[how], rows_written: rows, source_version: sourceVersion, version };
}

const MODES = { rebuilt: 'rebuild', appended: 'incremental', unchanged: 'no_op' } as const;

/** The view has the values of a computed column without its definition, which a function call removes. */
async function withoutDefinitions(
  columns: ViewDefinition['columns'],
  readHead: (columns: ViewDefinition['columns']) => Promise<Buffer>,
): Promise<ViewDefinition['columns']> {
  const { fields } = readFileSchema(await readHead(columns));
  const computed = new Set(fields.filter((field) => computedText(field) !== undefined).map(({ name }) => name));
  return columns.map(([name, sql]) => [name, computed.has(name) ? `coalesce(${sql}, ${sql})` : sql] as const);
}

function readRequest(view: TableRecord, { subject, id }: Job): RefreshRequest {
  const { source_version: version, full } = subject.spec;
  const sourceVersion = typeof version === 'number' ? version : undefined;
  return { view, sourceVersion, isFull: full === true, caller: subject.caller, requestId: id };
}

function toSubject({ view, sourceVersion, isFull, isAutomatic, caller, requestId }: RefreshRequest): NewJob {
  return {
    kind: KIND,
    isResumable: true,
    repeatedAs: REFRESH,
    ...(isAutomatic === true ? { isAutomatic } : {}),
    databaseId: view.databaseId,
    table: view.path,
    tableId: view.id,
    caller,
    exclusiveKey: branchKey(view.location),
    sameAs: JSON.stringify([requestId, view.id, sourceVersion ?? null]),
    spec: { source_version: sourceVersion, full: isFull },
  };
}

function gone(message: string): ServiceError {
  return new ServiceError('TableNotFound', message);
}
