import { join } from 'node:path';
import type * as lancedb from '@lancedb/lancedb';
import type { Connection, HeaderProvider, Query, Table, VectorQuery } from '@lancedb/lancedb';

/** The package of the release that is tried. Its types are those of the newest release. */
export type LanceDb = typeof lancedb;

export interface Service {
  readonly url: string;
  readonly key: string;
  readonly database: string;
}

interface Place {
  readonly lancedb: LanceDb;
  readonly apiKey: string;
  connect(headers?: HeaderProvider): Promise<Connection>;
  /** Where the files of a table are. */
  locate(name: string): Promise<string>;
}

export const ROWS = 300;
const DIMENSIONS = 8;
export const QUERY_VECTOR: number[] = Array.from({ length: DIMENSIONS }, (_unused, at) => at + 0.25);

/** The client over the service, or the same client over a folder: the same calls must come to the same. */
export class Side {
  readonly lancedb: LanceDb;
  readonly db: Connection;
  /** Has `id`, `text` with a full-text index, and `vector`. Only read. */
  readonly items: Table;
  readonly #place: Place;
  #method = '';
  #names = 0;

  private constructor(place: Place, db: Connection, items: Table) {
    this.lancedb = place.lancedb;
    this.db = db;
    this.items = items;
    this.#place = place;
  }

  static async overService(lancedb: LanceDb, { url, key, database }: Service): Promise<Side> {
    const options = { apiKey: key, hostOverride: url };
    return Side.#open({
      lancedb,
      apiKey: key,
      connect: async (headers) =>
        lancedb.connect(`db://${database}`, headers ? { ...options, apiKey: '' } : options, undefined, headers),
      locate: async (name) => {
        const reply = await fetch(`${url}/v1/table/${name}/describe`, {
          method: 'POST',
          headers: { 'x-api-key': key },
        });
        return ((await reply.json()) as { location: string }).location;
      },
    });
  }

  static async overFolder(lancedb: LanceDb, folder: string): Promise<Side> {
    return Side.#open({
      lancedb,
      apiKey: 'none',
      connect: async (headers) => lancedb.connect(folder, {}, undefined, headers),
      locate: async (name) => join(folder, `${name}.lance`),
    });
  }

  static async #open(place: Place): Promise<Side> {
    const db = await place.connect();
    const items = await db.createTable('items', toRows(ROWS));
    await items.createIndex('text', { config: place.lancedb.Index.fts({ withPosition: true }) });
    return new Side(place, db, items);
  }

  close(): void {
    this.db.close();
  }

  /** Names that follow are those of the method, and the same at both sides. */
  begin(method: string): void {
    this.#method = method.replaceAll(/\W/g, '_');
    this.#names = 0;
  }

  name(): string {
    this.#names += 1;
    return `${this.#method}_${this.#names}`;
  }

  /** Whether the method that is tried has made it. */
  owns(name: string): boolean {
    return name.startsWith(`${this.#method}_`);
  }

  get apiKey(): string {
    return this.#place.apiKey;
  }

  async connect(headers?: HeaderProvider): Promise<Connection> {
    return this.#place.connect(headers);
  }

  async locate(table: Table): Promise<string> {
    return this.#place.locate(table.name);
  }

  async table(rows = ROWS): Promise<Table> {
    return this.db.createTable(this.name(), toRows(rows));
  }

  query(): Query {
    return this.items.query();
  }

  nearest(): VectorQuery {
    return this.query().nearestTo(QUERY_VECTOR).limit(5);
  }
}

/** What a method gives back, or what it left behind. */
export type Probe = (side: Side) => Promise<unknown>;
export type Probes = Readonly<Record<string, Probe>>;

export function toRows(rows: number, from = 0): Record<string, unknown>[] {
  return Array.from({ length: rows }, (_unused, index) => {
    const id = from + index;
    // Of the rows with one word no two are equally good.
    const text = `word${id % 7} item${id} ${'zebra '.repeat(1 + id / 7)}`;
    return { id, text, vector: Array.from({ length: DIMENSIONS }, (_none, at) => id + at) };
  });
}

/** The rows that a query with the option finds. */
export function asked(build: (side: Side) => Pick<Query, 'toArray'>): Probe {
  return async (side) => build(side).toArray();
}

/** What the work on a new table gives back, and the rows of the table afterwards. */
export function onNew(work: (table: Table, side: Side) => Promise<unknown>): Probe {
  return async (side) => {
    const table = await side.table();
    const reply = await work(table, side);
    return { reply, rows: await sortedRows(table) };
  };
}

export async function sortedRows(table: Table): Promise<readonly unknown[]> {
  const rows = (await table.query().limit(10_000).toArray()) as { id: number }[];
  return rows.toSorted((one, other) => one.id - other.id);
}
