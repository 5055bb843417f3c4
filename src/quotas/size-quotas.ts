import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalog, StoredSize, Usage } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import { ServiceError } from '../errors/service-error.ts';
import { SIZE_LIMITS, limitsSize } from '../model/access.ts';
import type { Caller, Quota, SizeLimit } from '../model/access.ts';
import type { TablePath } from '../model/identifier.ts';
import type { Database, TableRecord, TableSummary } from '../model/table.ts';
import { SerialRuns } from '../model/time/serial-runs.ts';
import { formatCount } from '../model/value-text.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Growth } from '../writes/writes.ts';

interface SizeQuotasParts {
  readonly catalog: Pick<Catalog, 'quotas' | 'sizes' | 'tables'>;
  readonly engine: Pick<Engine, 'versions'>;
  readonly telemetry: Telemetry;
  /** The longest wait for table sizes that are not known yet. */
  readonly measureSeconds: number;
}

/** A request that may change tables. */
export interface SizedRequest {
  readonly caller: Pick<Caller, 'id' | 'quota'>;
  readonly database?: Pick<Database, 'id' | 'quota'> | undefined;
  /** The table that it changes. */
  readonly table?: TableRecord | undefined;
  /** The path of the table that it creates or replaces. */
  readonly path?: TablePath | undefined;
  /** On the clock of `performance.now`. */
  readonly arrivedAt: number;
}

type DatabaseRequest = SizedRequest & { readonly database: NonNullable<SizedRequest['database']> };

/** What it may replace at its path: the data of the table, which keeps its creator, or the table itself. */
export type Replacement = 'data' | 'table' | undefined;

/** The subject of a quota: the database, or the key or client that created the table. */
interface Subject {
  readonly id: string;
  readonly kind: 'database' | 'caller' | 'creator';
  readonly quota: Quota;
}

type Sizes = Readonly<Record<SizeLimit, number>>;

const NONE: Sizes = { bytes: 0, rows: 0, tables: 0 };

/** A running request whose table counts towards a size quota. */
export interface SizedWrite {
  /** Refuses what a quota does not allow, before anything is committed; otherwise reserves it until `end`. */
  readonly admit: (growth: Growth) => Promise<void>;
  /** Measures the table, even after a failure. Never fails, because the commit may have been made. */
  end(): Promise<void>;
}

/**
 * Quotas of bytes, rows and tables. The catalog stores the size of each table that counts towards one, measured after
 * each write, and a check is one sum over these. Running writes of this node are reserved in memory, so that together
 * they cannot exceed a quota; nodes do not know about each other's running writes.
 */
export class SizeQuotas {
  readonly #parts: SizeQuotasParts;
  readonly #reserved = new Map<string, Sizes>();
  readonly #measuring = new Map<string, Promise<void>>();
  /** By table. */
  readonly #measurements = new SerialRuns();
  #checks: Promise<unknown> = Promise.resolve();

  constructor(parts: SizeQuotasParts) {
    this.#parts = parts;
  }

  /** `undefined` if no size quota applies, without a promise if that is known at once. Refuses one table too many. */
  begin(request: SizedRequest, replaces: Replacement): Promise<SizedWrite | undefined> | undefined {
    const { caller, database, table, path } = request;
    if (database === undefined) return undefined;
    if (!limitsSize(database.quota) && !limitsSize(caller.quota)) {
      // The rest is the quota of another creator, who may also have declared the table that is created now.
      const isCallers = path === undefined ? !hasOtherCreator(table, caller.id) : replaces === 'table';
      if (isCallers) return undefined;
    }
    return this.#begin({ ...request, database }, replaces);
  }

  async #begin(request: DatabaseRequest, replaces: Replacement): Promise<SizedWrite | undefined> {
    const { caller, database, path } = request;
    const { tables } = this.#parts.catalog;
    const table = path === undefined ? request.table : await tables.find(database.id, path);
    if (table === undefined && path === undefined) return undefined;
    // The request will be refused because the table exists, or leave it unchanged.
    const isKept = path !== undefined && table !== undefined && table.isDeclared === undefined;
    if (isKept && replaces === undefined) return undefined;
    const former = table && (table.createdBy ?? caller.id);
    const creator = replaces === 'table' ? caller.id : (former ?? caller.id);
    const subjects = await this.#listSubjects(request, creator);
    if (subjects.length === 0) return undefined;
    // A registration takes the table over from its creator.
    const counts = ({ kind }: Subject): boolean => table !== undefined && (kind === 'database' || former === creator);
    const counting = subjects.filter(counts);
    const gaining = subjects.filter((subject) => !counts(subject));
    const reservations: Reservation[] = [];
    const reserve = async (of: readonly Subject[], added: Sizes, replacedId?: string): Promise<void> => {
      reservations.push(...(await this.#admit(of, added, replacedId)));
    };
    const admit = async ({ rows, bytes, replacesAll = false }: Growth): Promise<void> => {
      await reserve(counting, { rows, bytes, tables: 0 }, replacesAll ? table?.id : undefined);
      await reserve(gaining, { rows, bytes, tables: 0 });
    };
    await reserve(gaining, { ...NONE, tables: 1 });
    const written = table?.path ?? path;
    return { admit, end: async () => this.#end(database.id, written, reservations) };
  }

  /**
   * The usage of a database, or of the tables that a caller created. Sizes are current if a size quota keeps them so;
   * otherwise they are measured now.
   */
  async usage(subject: string, { isKept }: { readonly isKept: boolean }): Promise<Usage> {
    const { sizes } = this.#parts.catalog;
    const usage = await sizes.usage(subject);
    if (isKept ? usage.unmeasured === 0 : usage.tables === 0) return usage;
    const controller = new AbortController();
    const wait = sleep(this.#parts.measureSeconds * 1000, undefined, { signal: controller.signal }).catch(() => {});
    await Promise.race([this.#measureAll(subject, isKept), wait]);
    controller.abort();
    return sizes.usage(subject);
  }

  /** Call it after a commit that no request made, such as a compaction. */
  async refresh({ id, databaseId, path }: Pick<TableRecord, 'id' | 'databaseId' | 'path'>): Promise<void> {
    const { sizes, tables } = this.#parts.catalog;
    if ((await sizes.find(id)) === undefined) return;
    const table = await tables.find(databaseId, path);
    if (table !== undefined) await this.#measure(table);
  }

  async #listSubjects({ caller, database, arrivedAt }: DatabaseRequest, creator: string): Promise<readonly Subject[]> {
    const subjects: Subject[] = [];
    const add = (id: string, kind: Subject['kind'], quota: Quota | undefined): void => {
      if (limitsSize(quota)) subjects.push({ id, kind, quota });
    };
    add(`database:${database.id}`, 'database', database.quota);
    if (creator === caller.id) add(creator, 'caller', caller.quota);
    else if (CAN_HAVE_QUOTA.test(creator)) {
      add(creator, 'creator', await this.#parts.catalog.quotas.of(creator, arrivedAt));
    }
    return subjects;
  }

  async #admit(
    subjects: readonly Subject[],
    growth: Sizes,
    replacedId: string | undefined,
  ): Promise<readonly Reservation[]> {
    if (subjects.length === 0) return [];
    const { sizes } = this.#parts.catalog;
    for (const { id } of subjects) await this.usage(id, { isKept: true });
    return this.#exclusive(async () => {
      const replaced = replacedId === undefined ? undefined : await sizes.find(replacedId);
      const net = subtract(growth, { ...NONE, ...replaced });
      for (const subject of subjects) {
        const usage = await sizes.usage(subject.id);
        const reserved = this.#reserved.get(subject.id) ?? NONE;
        this.#requireSpace(subject, { usage, reserved, net });
      }
      return subjects.map(({ id }) => this.#reserve(id, net));
    });
  }

  #requireSpace(
    { quota, kind }: Subject,
    { usage, reserved, net }: { readonly usage: Usage; readonly reserved: Sizes; readonly net: Sizes },
  ): void {
    for (const limit of SIZE_LIMITS) {
      const most = quota[limit];
      const used = usage[limit] + reserved[limit];
      // Writes that shrink a table are always allowed.
      if (most === undefined || net[limit] === 0 || used + net[limit] <= most) continue;
      this.#parts.telemetry.emit({ kind: 'quota-exceeded', quota: limit, subject: kind });
      throw exceeded(kind, limit, { most, used, added: net[limit] });
    }
  }

  #reserve(subject: string, added: Sizes): Reservation {
    const change = (sign: 1 | -1): void => {
      const { bytes, rows, tables } = this.#reserved.get(subject) ?? NONE;
      const left = {
        bytes: bytes + sign * added.bytes,
        rows: rows + sign * added.rows,
        tables: tables + sign * added.tables,
      };
      if (SIZE_LIMITS.every((limit) => left[limit] === 0)) this.#reserved.delete(subject);
      else this.#reserved.set(subject, left);
    };
    change(1);
    return { release: () => change(-1) };
  }

  async #end(databaseId: string, path: TablePath | undefined, reservations: Reservation[]): Promise<void> {
    const release = (): void => {
      for (const reservation of reservations.splice(0)) reservation.release();
    };
    try {
      const table = path && (await this.#parts.catalog.tables.find(databaseId, path));
      if (table !== undefined && table.isDeclared === undefined) await this.#measure(table, release);
    } catch (cause) {
      this.#parts.telemetry.emit({ kind: 'background-failed', task: 'size of a table', cause });
    } finally {
      release();
    }
  }

  /** The latest version in the storage: the version that the request found may be older than the one that it wrote. */
  async #measure({ id, location }: TableSummary, onStored?: () => void): Promise<void> {
    const { catalog, engine } = this.#parts;
    await this.#measurements.run(id, async () => {
      const { version, ...size } = await engine.versions.size({ location, branch: undefined, version: undefined });
      await this.#exclusive(async () => {
        await catalog.sizes.set(id, size, version);
        onStored?.();
      });
    });
  }

  /** One pass at a time for each subject; a pass continues even when its wait has ended. */
  async #measureAll(subject: string, unmeasuredOnly: boolean): Promise<void> {
    const running = this.#measuring.get(subject);
    if (running !== undefined) return running;
    const pass = this.#runPass(subject, unmeasuredOnly).finally(() => this.#measuring.delete(subject));
    this.#measuring.set(subject, pass);
    return pass;
  }

  async #runPass(subject: string, unmeasuredOnly: boolean): Promise<void> {
    const { catalog, telemetry } = this.#parts;
    let after: string | undefined;
    try {
      for (;;) {
        const tables = await catalog.sizes.list(subject, { after, unmeasuredOnly, limit: TABLES_AT_ONCE });
        // A table whose data cannot be read stays unmeasured.
        await Promise.allSettled(tables.map(async (table) => this.#measure(table)));
        after = tables.at(-1)?.id;
        if (tables.length < TABLES_AT_ONCE) return;
      }
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'sizes of tables', cause });
    }
  }

  /** Runs checks one at a time, so that sums and reservations are consistent. */
  async #exclusive<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#checks.then(work);
    this.#checks = result.catch(() => {});
    return result;
  }
}

interface Reservation {
  release(): void;
}

const TABLES_AT_ONCE = 8;

const CAN_HAVE_QUOTA = /^(?:key|client):/;

function hasOtherCreator(table: TableRecord | undefined, callerId: string): boolean {
  const creator = table?.createdBy ?? callerId;
  return creator !== callerId && CAN_HAVE_QUOTA.test(creator);
}

function subtract(growth: Sizes, replaced: StoredSize & Sizes): Sizes {
  return {
    bytes: Math.max(0, growth.bytes - replaced.bytes),
    rows: Math.max(0, growth.rows - replaced.rows),
    tables: growth.tables,
  };
}

const WHOSE = {
  database: 'The quota of this database',
  caller: 'The quota of this caller',
  creator: 'The quota of the key or client that created this table',
} as const;

function exceeded(
  kind: Subject['kind'],
  limit: SizeLimit,
  { most, used, added }: { readonly most: number; readonly used: number; readonly added: number },
): ServiceError {
  const [allowed, inUse, more] = [most, used, added].map(formatCount);
  const fact = `${WHOSE[kind]} allows ${allowed} ${limit}: ${inUse} are used, and this request adds ${more}.`;
  return new ServiceError('QuotaExceeded', fact, {
    hint:
      limit === 'tables'
        ? 'Drop tables, or ask an administrator to raise the quota.'
        : 'Delete rows, drop tables or columns, or ask an administrator to raise the quota.',
  });
}
