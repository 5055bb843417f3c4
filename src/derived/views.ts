import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { EnterPhase, Job, Jobs, NewJob, StartedJob } from '../jobs/jobs.ts';
import { VIEW_STATE_PROPERTY, readViewDefinition, readViewState } from '../model/derived/view.ts';
import type { ViewDefinition, ViewState } from '../model/derived/view.ts';
import type { Limits } from '../model/limits.ts';
import { locationKey, toTableState } from '../model/table.ts';
import type { TableRecord } from '../model/table.ts';
import type { SizeQuotas } from '../quotas/size-quotas.ts';
import type { Writes } from '../writes/writes.ts';
import { requireOwnSuccess, toOwnRequest } from './own-write.ts';
import { toStream, toViewQuery } from './view-query.ts';

export interface ViewsParts {
  readonly engine: Engine;
  readonly catalog: Pick<Catalog, 'tables' | 'databases'>;
  readonly writes: Writes;
  readonly jobs: Jobs;
  readonly sizeQuotas: SizeQuotas;
  readonly limits: Pick<Limits, 'sql' | 'arrow' | 'views'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface RefreshRequest {
  readonly view: TableRecord;
  /** The latest when absent. */
  readonly sourceVersion: number | undefined;
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

/**
 * Materialized views: tables whose rows follow from those of another one. A refresh replaces all rows or adds what was
 * appended to the source, all at once, and the transaction that makes it visible also records the version of the source: it
 * is never applied twice.
 */
export class Views {
  readonly #parts: ViewsParts;

  constructor(parts: ViewsParts) {
    this.#parts = parts;
    parts.jobs.registerKind(KIND, async (job) => this.#resume(job));
  }

  /** A stream without rows that has the columns of the view. Refuses what cannot be computed. */
  async openEmpty(source: TableRecord, definition: Omit<ViewDefinition, 'sourceId' | 'source' | 'refresh'>) {
    const { engine, limits } = this.#parts;
    const query = { ...toViewQuery(definition, limits.sql), k: 0 };
    const timeout = { seconds: undefined, signal: new AbortController().signal };
    const { head } = await engine.rows.query(toTableState(source, {}), query, timeout);
    // A filter is planned only when rows are read.
    await engine.rows.explain(toTableState(source, {}), toViewQuery(definition, limits.sql), false, timeout);
    return toStream({ head, files: [] }, limits.arrow.chunkBytes);
  }

  start(request: RefreshRequest): StartedJob<Refreshed> {
    return this.#parts.jobs.start(toSubject(request), async (enter) => this.#run(request, enter));
  }

  /** `undefined` when it was dropped. */
  async findSource(definition: Pick<ViewDefinition, 'sourceId'>): Promise<TableRecord | undefined> {
    const { tables } = this.#parts.catalog;
    const found = await tables.findById(definition.sourceId);
    // By its name it is found with the version that readers get.
    return found && tables.find(found.databaseId, found.path);
  }

  async #resume({ subject, id }: Job) {
    const view = await this.#parts.catalog.tables.findById(subject.tableId);
    if (view === undefined) return undefined;
    const { source_version: version } = subject.spec;
    const sourceVersion = typeof version === 'number' ? version : undefined;
    const request: RefreshRequest = { view, sourceVersion, caller: subject.caller, requestId: id };
    return { subject: toSubject(request), work: async (enter: EnterPhase) => this.#run(request, enter) };
  }

  async #run(request: RefreshRequest, enter: EnterPhase): Promise<Refreshed> {
    const { engine, catalog, limits } = this.#parts;
    await enter('reading the source');
    const view = await catalog.tables.findById(request.view.id);
    const definition = view && readViewDefinition(view);
    if (view === undefined || definition === undefined) throw gone('The view was dropped.');
    const source = await this.findSource(definition);
    if (source === undefined) throw gone('The table that the view is made from was dropped.');
    const version = request.sourceVersion ?? (await engine.describeTable(toTableState(source, {}))).version;
    const state = readViewState(view);
    if (state?.sourceVersion === version) {
      const current = await engine.describeTable(toTableState(view, {}));
      return { how: 'unchanged', rows: 0, version: current.version, source_version: version };
    }
    const isIncremental = state !== undefined && definition.limit === undefined;
    const firstAddress = isIncremental
      ? await engine.views.findAppended(source.location, { from: state.sourceVersion, to: version })
      : undefined;
    const query = toViewQuery(definition, limits.sql, firstAddress);
    const timeout = { seconds: undefined, signal: new AbortController().signal, caller: request.caller };
    const result = await engine.rows.query(toTableState(source, { version }), query, timeout);
    const stream = toStream(result, limits.arrow.chunkBytes, async (rows) => enter(`read ${rows} rows`));
    await enter('writing the rows');
    return this.#write({ ...request, view }, stream, { version, isAppend: firstAddress !== undefined });
  }

  async #write(
    { view, caller, requestId }: RefreshRequest,
    stream: ReturnType<typeof toStream>,
    { version, isAppend }: { readonly version: number; readonly isAppend: boolean },
  ): Promise<Refreshed> {
    const { writes, sizeQuotas, now } = this.#parts;
    const how = isAppend ? 'appended' : 'rebuilt';
    const state: ViewState = { sourceVersion: version, refreshedAt: now(), how };
    const database = (await this.#parts.catalog.databases.list()).find(({ id }) => id === view.databaseId);
    const sized = await sizeQuotas.begin(
      { caller: { id: caller }, database, table: view, arrivedAt: performance.now() },
      undefined,
    );
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
        },
        stream,
      );
      const success = await requireOwnSuccess(writes, result);
      return { how, rows: Number(success.fields['rows']), version: success.version, source_version: version };
    } finally {
      await sized?.end();
    }
  }
}

function toSubject({ view, sourceVersion, caller, requestId }: RefreshRequest): NewJob {
  return {
    kind: KIND,
    isResumable: true,
    databaseId: view.databaseId,
    table: view.path,
    tableId: view.id,
    caller,
    exclusiveKey: `${locationKey(view.location)}\u0000`,
    sameAs: JSON.stringify([requestId, view.id, sourceVersion ?? null]),
    spec: { source_version: sourceVersion },
  };
}

function gone(message: string): ServiceError {
  return new ServiceError('TableNotFound', message);
}
