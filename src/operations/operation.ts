import { Type } from 'typebox';
import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import type { Caller, Permission } from '../model/access.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { ArrowLimits } from '../model/limits.ts';
import type { Database, TableRecord } from '../model/table.ts';
import { DelimiterQuery } from '../wire/shapes.ts';
import type { Sent } from '../wire/shapes.ts';
import type { ResponseRef, WriteRequest } from '../writes/writes.ts';
import type { Services } from './services.ts';

/** Which client family asks: the contract's own, or the LanceDB client, which reads some replies differently. */
export type Dialect = 'lance' | 'lancedb';

/** What the address names, and so what the caller needs a permission on. A `new-` one need not be there yet. */
export type Target = 'table' | 'new-table' | 'namespace' | 'new-namespace' | 'database' | 'server';

export type Method = 'GET' | 'POST';

/** What every operation knows of the request that it answers. */
export interface RequestFacts {
  readonly requestId: string;
  readonly dialect: Dialect;
  readonly caller: Caller;
  readonly database: Database;
  readonly delimiter: string;
  /** The namespace below which the caller's identifiers are meant; most often the root. */
  readonly prefix: NamespacePath;
  /** The parts of the address that the path writes as `:name`, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Parameters that may be given once. */
  readonly query: QueryValues;
  /** Parameters whose shape is an array: each may be given several times. */
  readonly queryLists: QueryLists;
  /** The header of that name, or the entry `header.<name>` of the body's context when it was not sent. */
  header(name: string): string | undefined;
  /** Fires when the client has gone before its reply was out. */
  readonly signal: () => AbortSignal;
  /** What tells the request from others, if it writes. */
  readonly write: WriteRequest;
}

export type QueryValues = Readonly<Record<string, string | undefined>>;
export type QueryLists = Readonly<Record<string, readonly string[] | undefined>>;

/** About a table that exists. */
export interface TableRequest<Body = unknown> extends RequestFacts {
  readonly table: TableRecord;
  readonly body: Body;
}

/** About a table that need not be there; its namespace is. */
export interface NewTableRequest<Body = unknown> extends RequestFacts {
  readonly path: TablePath;
  readonly body: Body;
}

/** About a namespace: one that exists, or, for a `new-namespace`, one whose parent does. */
export interface NamespaceRequest<Body = unknown> extends RequestFacts {
  readonly namespace: NamespacePath;
  readonly body: Body;
}

export interface DatabaseRequest<Body = unknown> extends RequestFacts {
  readonly body: Body;
}

/** About the server itself: its databases, and who may do what. No database is looked for. */
export type ServerRequest<Body = unknown> = Omit<RequestFacts, 'database'> & { readonly body: Body };

interface WithStream {
  /**
   * Starts to read the body; an operation that needs no data never calls it. The first call decides about limits that
   * are not the usual ones.
   */
  openStream(limits?: Partial<ArrowLimits>): Promise<CheckedStream>;
}

/** An Arrow stream for a table that may not exist yet. */
export type IngestRequest = Omit<NewTableRequest, 'body'> & WithStream;

/** An Arrow stream for a table that exists. */
export type TableIngestRequest = Omit<TableRequest, 'body'> & WithStream;

export interface ReplyShape {
  readonly mediaType: string;
  readonly shape: Type.TSchema;
  readonly description: string;
}

export interface JsonBody {
  readonly kind: 'json';
  readonly shape: Type.TObject;
  /** Brings other clients' forms to the one that the shape describes. */
  readonly normalize?: (body: Readonly<Record<string, unknown>>) => Record<string, unknown>;
}

export interface ArrowBody {
  readonly kind: 'arrow';
}

export interface NoBody {
  readonly kind: 'none';
}

interface Description<Body> {
  readonly id: string;
  /** The first is the one that is described. A `GET` reads no body. */
  readonly methods: readonly [Method, ...Method[]];
  /** Below the base path, with the identifier as `:id`. */
  readonly path: string;
  /** Of namespaces: where the root is asked for by clients whose delimiter is a dot, which falls out of the path. */
  readonly pathOfRoot?: string;
  readonly summary: string;
  /** Of namespaces: one that is not there is for `run` to answer. */
  readonly mayBeAbsent?: true;
  /**
   * Of tables: whether the name that a table had a moment ago still leads to it, for clients that keep it. Always, unless
   * the name itself is meant; `with-body` where only the body tells the two apart.
   */
  readonly followsRename?: 'never' | 'with-body';
  readonly permission: Permission;
  /** Runs through the write pipeline, and so looks at If-Match and Idempotency-Key. */
  readonly usesPipeline?: true;
  /** Looks at Idempotency-Key alone. */
  readonly isKeyed?: true;
  readonly body: Body;
  readonly query: Type.TObject;
  readonly replies: readonly ReplyShape[];
  /** Statuses that this operation may answer with beside those that all share. */
  readonly statuses: readonly number[];
}

/** What an operation is. Made by one of the functions below, which know what its `run` is handed. */
export interface Operation extends Description<JsonBody | ArrowBody | NoBody> {
  readonly target: Target;
  /** Of tables: a path of names, or one name in the root namespace. */
  readonly identifier: 'path' | 'name';
  readonly run: (request: OperationRequest, services: Services) => Promise<Reply>;
}

/** All that a request may be handed; which of it is there follows from the operation's target and body. */
export interface OperationRequest extends Omit<RequestFacts, 'database'> {
  readonly database?: Database;
  readonly table?: TableRecord;
  readonly path?: TablePath;
  readonly namespace?: NamespacePath;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly openStream?: WithStream['openStream'];
}

type Defaulted = 'methods' | 'query' | 'statuses';

/** By default an operation is a POST that reads only the delimiter from the query, and has no statuses of its own. */
interface Definition<Body, Request>
  extends Omit<Description<Body>, Defaulted>, Partial<Pick<Description<Body>, Defaulted>> {
  readonly run: (request: Request, services: Services) => Promise<Reply>;
}

/** A body has the type of its shape; where there is none, it is an empty object. */
type BodyOf<Body> = Body extends { readonly shape: infer Shape extends Type.TObject }
  ? Type.Static<Shape>
  : Readonly<Record<string, never>>;

export function defineTableOperation<const Body extends JsonBody | NoBody>(
  operation: Definition<Body, TableRequest<BodyOf<Body>>>,
): Operation {
  return define('table', operation);
}

export function defineTableIngest(operation: Definition<ArrowBody, TableIngestRequest>): Operation {
  return define('table', operation);
}

export function defineNewTableOperation<const Body extends JsonBody | NoBody>(
  operation: Definition<Body, NewTableRequest<BodyOf<Body>>>,
): Operation {
  return define('new-table', operation);
}

export function defineNewTableIngest(
  operation: Definition<ArrowBody, IngestRequest> & { readonly identifier?: 'path' | 'name' },
): Operation {
  return define('new-table', operation);
}

export function defineNamespaceOperation<const Body extends JsonBody | NoBody>(
  operation: Definition<Body, NamespaceRequest<BodyOf<Body>>>,
): Operation {
  return define('namespace', operation);
}

export function defineNewNamespaceOperation<const Body extends JsonBody | NoBody>(
  operation: Definition<Body, NamespaceRequest<BodyOf<Body>>>,
): Operation {
  return define('new-namespace', operation);
}

export function defineDatabaseOperation<const Body extends JsonBody | NoBody>(
  operation: Definition<Body, DatabaseRequest<BodyOf<Body>>>,
): Operation {
  return define('database', operation);
}

/** Its permission is needed on anything at all; on what exactly is for the operation to check, which has read the body. */
export function defineServerOperation<const Body extends JsonBody>(
  operation: Definition<Body, ServerRequest<BodyOf<Body>>>,
): Operation {
  return define('server', operation);
}

const NO_QUERY = Type.Object({});

function define<Body extends Operation['body'], Request extends Omit<RequestFacts, 'database'>>(
  target: Target,
  operation: Definition<Body, Request> & { readonly identifier?: 'path' | 'name' },
): Operation {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The pipeline has found the target and checked the body against its shape.
  const run = operation.run as unknown as Operation['run'];
  const query = target === 'server' ? NO_QUERY : DelimiterQuery;
  return { methods: ['POST'], identifier: 'path', query, statuses: [], ...operation, target, run };
}

/** Describes a JSON reply. */
export function json(shape: Type.TSchema, description: string): ReplyShape {
  return { mediaType: 'application/json', shape, description };
}

interface ReplyFrame {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: ReplyHeaders;
  /** Of a write: to be marked right before the reply is sent. */
  readonly response?: ResponseRef;
}

export type Reply = ReplyFrame &
  /** An object: gets the reply's `context` added. */
  (
    | { readonly kind: 'object'; readonly body: object; readonly mediaType?: string }
    /** A JSON value as it is. */
    | { readonly kind: 'value'; readonly value: unknown }
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'empty' }
    /**
     * Bytes as they come. The status is decided when this is returned, so that the first piece should be known to exist;
     * a failure after that breaks the connection. When the client goes, the pieces are no longer pulled.
     */
    | { readonly kind: 'stream'; readonly mediaType: string; readonly pieces: AsyncIterable<Uint8Array> }
  );

/** Replies with a JSON object that has the given shape. */
export function objectReply<Shape extends object>(body: Sent<Shape> & object): Reply {
  return { kind: 'object', body };
}

export type ReplyHeaders = Readonly<Record<string, string>>;
