import type { Type } from 'typebox';
import type { CheckedStream } from '../arrow/checked-stream.ts';
import type { Caller, Permission } from '../model/caller.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { Database, TableRecord } from '../model/table.ts';
import type { Services } from './services.ts';

/** Which client family asks: the contract's own, or the LanceDB client, which reads some replies differently. */
export type Dialect = 'lance' | 'lancedb';

/** What the identifier in the address names, and so what the caller needs a permission on. */
export type Target = 'table' | 'new-table' | 'database';

/** What every operation knows of the request that it answers. */
export interface RequestFacts {
  readonly requestId: string;
  readonly dialect: Dialect;
  readonly caller: Caller;
  readonly database: Database;
  readonly delimiter: string;
  /** The header of that name, or the entry `header.<name>` of the body's context when it was not sent. */
  header(name: string): string | undefined;
}

interface Described {
  readonly id: string;
  readonly method: 'GET' | 'POST';
  /** Below the base path, with the identifier as `:id`. */
  readonly path: string;
  readonly summary: string;
  readonly permission: Permission;
  readonly query: Type.TObject;
  readonly replies: readonly ReplyShape[];
  /** Statuses that this operation may answer with beside those that all share. */
  readonly statuses: readonly number[];
}

export interface ReplyShape {
  readonly mediaType: string;
  readonly shape: Type.TSchema;
  readonly description: string;
}

/** An operation that reads a JSON body about a table that exists. */
export interface TableOperation extends Described {
  readonly target: 'table';
  readonly body: JsonBody;
  readonly run: (request: TableRequest, services: Services) => Promise<Reply>;
}

/** The same with its body's type: what `defineTableOperation` takes. */
export interface TypedTableOperation<Shape extends Type.TObject> extends Described {
  readonly body: Omit<JsonBody, 'shape'> & { readonly shape: Shape };
  readonly run: (request: TableRequest<Type.Static<Shape>>, services: Services) => Promise<Reply>;
}

/** The life of a request checks every body against the operation's shape, so that here, once, the type may be trusted. */
export function defineTableOperation<Shape extends Type.TObject>(
  operation: TypedTableOperation<Shape>,
): TableOperation {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The body has passed the check of its shape.
  return { ...operation, target: 'table', run: operation.run as TableOperation['run'] };
}

/** An operation that reads an Arrow stream into a table that may not exist yet. */
export interface IngestOperation extends Described {
  readonly target: 'new-table';
  /** A path of names, or one name in the root namespace. */
  readonly identifier: 'path' | 'name';
  readonly body: { readonly kind: 'arrow' };
  readonly run: (request: IngestRequest, services: Services) => Promise<Reply>;
}

/** An operation about a whole database, without a body. */
export interface DatabaseOperation extends Described {
  readonly target: 'database';
  readonly body: { readonly kind: 'none' };
  readonly run: (request: DatabaseRequest, services: Services) => Promise<Reply>;
}

export type Operation = TableOperation | IngestOperation | DatabaseOperation;

export interface JsonBody {
  readonly kind: 'json';
  readonly shape: Type.TObject;
  /** Brings other clients' forms to the one that the shape describes. */
  readonly normalize?: (body: Readonly<Record<string, unknown>>) => Record<string, unknown>;
}

export type QueryValues = Readonly<Record<string, string | undefined>>;

export interface TableRequest<Body = unknown> extends RequestFacts {
  readonly table: TableRecord;
  readonly query: QueryValues;
  readonly body: Body;
}

export interface IngestRequest extends RequestFacts {
  readonly path: TablePath;
  readonly query: QueryValues;
  /** Starts to read the body; an operation that needs no data never calls it. */
  openStream(): Promise<CheckedStream>;
}

export interface DatabaseRequest extends RequestFacts {
  readonly path: NamespacePath;
  readonly query: QueryValues;
}

export type Reply =
  /** An object: gets the reply's `context` added. */
  | { readonly kind: 'object'; readonly body: object; readonly mediaType?: string; readonly headers?: ReplyHeaders }
  /** A JSON value that is no object. */
  | { readonly kind: 'value'; readonly value: string | number; readonly headers?: ReplyHeaders }
  | { readonly kind: 'text'; readonly text: string; readonly headers?: ReplyHeaders };

export type ReplyHeaders = Readonly<Record<string, string>>;
