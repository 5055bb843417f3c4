import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { basename } from 'node:path';
import { connect } from '@lancedb/lancedb';
import type { Connection, Table } from '@lancedb/lancedb';
import { openConfiguredCatalog } from '../../src/app/configured-catalog.ts';
import { generateApiKey } from '../../src/auth/keys/secrets.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Config } from '../../src/config/config.ts';
import type { Grant, Role } from '../../src/model/access.ts';
import { sampleStream } from '../support/arrow-tables.ts';
import { Client, ok } from '../support/client.ts';
import type { Answer, ClientOptions } from '../support/client.ts';
import type { TestServerOptions } from '../support/server.ts';
import { startService } from '../support/service.ts';

/** A table that a test has made. */
export interface MadeTable {
  readonly id: string;
  /** Its address without the operation, such as `/v1/table/items1`. */
  readonly at: string;
  readonly location: string;
  readonly version: number;
}

export interface TableOptions {
  readonly stream?: Uint8Array;
  readonly id?: string;
  /** Query parameters of the create. */
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A key that the service has created. */
export interface CreatedKey {
  readonly id: string;
  readonly principal: string;
  readonly key: string;
  readonly client: Client;
}

/** A database, and a key that owns it. */
export interface Tenant extends Pick<CreatedKey, 'principal' | 'client'> {
  readonly database: string;
}

let names = 0;

/** The service, its administrator, and the ways in which a test prepares what the service must then see. */
export class ContractServer {
  readonly url: string;
  readonly folder: string;
  readonly config: Config;
  readonly admin: Client;
  /** A second connection to the catalog of the running service. */
  readonly catalog: Catalog;
  readonly #close: () => Promise<void>;
  readonly #connections: Connection[] = [];

  private constructor(parts: {
    url: string;
    folder: string;
    config: Config;
    catalog: Catalog;
    close: () => Promise<void>;
  }) {
    this.url = parts.url;
    this.folder = parts.folder;
    this.config = parts.config;
    this.catalog = parts.catalog;
    this.admin = new Client(parts.url);
    this.#close = parts.close;
  }

  static async start(options: TestServerOptions = {}): Promise<ContractServer> {
    const server = await startService(options);
    const catalog = await openConfiguredCatalog(server.config);
    return new ContractServer({ ...server, catalog, close: async () => server.close() });
  }

  async close(): Promise<void> {
    for (const connection of this.#connections) connection.close();
    await this.catalog.close();
    await this.#close();
  }

  /** A name that no other test of this process has: its files may share nodes. */
  name(prefix = 'table'): string {
    names += 1;
    return `${prefix}${names}`;
  }

  client(options: ClientOptions): Client {
    return new Client(this.url, options);
  }

  /** A caller without any credential. */
  stranger(): Client {
    return new Client(this.url, { key: undefined });
  }

  async key(grants: readonly Grant[], expiresAt?: number): Promise<string> {
    const { key, digest } = generateApiKey();
    const expiry = expiresAt === undefined ? {} : { expiresAt };
    await this.catalog.keys.create({ name: this.name('key'), digest, grants, ...expiry });
    return key;
  }

  /** A caller with one role on a path of the default database. */
  async caller(role: Role, path: readonly string[] = [], database: string | undefined = 'default'): Promise<Client> {
    return this.client({ key: await this.key([{ role, database, path }]) });
  }

  async createKey(grants: readonly object[], headers: Readonly<Record<string, string>> = {}): Promise<CreatedKey> {
    const created = ok(await this.admin.post('/v1/access/key/create', { name: 'x', grants }));
    return { ...created, client: this.client({ key: created.key, headers }) };
  }

  async tenant(): Promise<Tenant> {
    const database = await this.database();
    const headers = { 'x-service-database': database };
    const { principal, client } = await this.createKey([{ role: 'owner', database }], headers);
    return { database, principal, client };
  }

  async setQuota(quota: object): Promise<void> {
    ok(await this.admin.post('/v1/access/quota/set', quota));
  }

  async namespace(path: readonly string[], database = 'default'): Promise<void> {
    const found = await this.catalog.databases.find(database);
    assert.ok(found);
    const entry = { operation: 'create_namespace', caller: 'key:test', version: 0, requestId: 'test' };
    await this.catalog.namespaces.create({ databaseId: found.id, path, properties: {} }, entry);
  }

  async database(name = this.name('tenant')): Promise<string> {
    const isRemote = this.config.storage.root.includes('://');
    const base = isRemote ? this.config.storage.root : this.folder;
    const { root } = await this.catalog.databases.create({ name, root: `${base}/${name}` });
    if (!isRemote) await mkdir(root);
    return name;
  }

  async table(options: TableOptions = {}): Promise<MadeTable> {
    const id = options.id ?? this.name();
    const at = `/v1/table/${encodeURIComponent(id)}`;
    const query = options.query === undefined ? '' : `?${new URLSearchParams(options.query).toString()}`;
    const answer = await this.admin.arrow(`${at}/create${query}`, options.stream ?? sampleStream(), options.headers);
    const { location, version } = ok(answer);
    return { id, at, location, version };
  }

  /** The same data through the embedded engine, behind the back of the service. */
  async embedded(table: Pick<MadeTable, 'location'>): Promise<Table> {
    const connection = await connect(table.location.slice(0, -basename(table.location).length - 1), {
      readConsistencyInterval: 0,
      storageOptions: { ...this.config.storage.options },
    });
    this.#connections.push(connection);
    return connection.openTable(basename(table.location, '.lance'));
  }

  /** All rows, in the order of `id`, as plain objects. */
  async rows(table: Pick<MadeTable, 'location'>): Promise<readonly PlainRow[]> {
    return plainRows(await this.embedded(table));
  }

  /** The rows of a table that only its name is known of. */
  async embeddedByName(id: string): Promise<readonly PlainRow[]> {
    return this.rows(ok(await this.admin.post(`/v1/table/${encodeURIComponent(id)}/describe`, {})));
  }

  async listed(client: Client = this.admin): Promise<readonly string[]> {
    return ok(await client.get('/v1/tables')).tables;
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- A row has whatever the test put into it.
export type PlainRow = Readonly<Record<string, any>>;

export async function plainRows(table: Table): Promise<readonly PlainRow[]> {
  const rows: readonly object[] = await table.query().toArray();
  return rows.map(toPlainRow).toSorted((one, other) => Number(one['id'] ?? 0) - Number(other['id'] ?? 0));
}

export async function updated(client: Client, table: MadeTable, body: object): Promise<Answer> {
  const answer = await client.post(`${table.at}/update`, body);
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

function toPlainRow(row: object): PlainRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, toPlain(value)]));
}

/** Vectors and lists of the Arrow library as arrays, its structs as plain objects, its long integers as numbers. */
function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  return isIterable(value) && !isStruct(value) ? Array.from(value, toPlain) : toPlainRow(value);
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value;
}

/** Rows of a struct can be iterated too, over their names and values. */
function isStruct(value: object): boolean {
  return (
    'toJSON' in value &&
    typeof value.toJSON === 'function' &&
    !Array.isArray(value.toJSON()) &&
    !ArrayBuffer.isView(value.toJSON())
  );
}
