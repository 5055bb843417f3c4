import { Type } from 'typebox';
import type { CheckedStream } from '../arrow/stream/checked-stream.ts';
import type { ErrorStatus } from '../errors/service-error.ts';
import type { Caller, Permission } from '../model/access.ts';
import { isWithin } from '../model/identifier.ts';
import type { NamespacePath, TablePath } from '../model/identifier.ts';
import type { ArrowLimits } from '../model/limits.ts';
import type { Schema } from '../model/schema.ts';
import type { Database, TableRecord } from '../model/table.ts';
import { DelimiterQuery } from '../wire/shapes.ts';
import type { Dialect, Sent } from '../wire/shapes.ts';
import type { ResponseRef, WriteRequest } from '../writes/writes.ts';
import type { Services } from './services.ts';

export type { Dialect };

/** What the address names, and so what the caller needs a permission on. A `new-` one need not exist yet. */
export type Target = 'table' | 'new-table' | 'namespace' | 'new-namespace' | 'database' | 'server';

export type Method = 'GET' | 'POST';

export interface RequestFacts {
  readonly requestId: string;
  readonly dialect: Dialect;
  readonly caller: Caller;
  readonly database: Database;
  readonly delimiter: string;
  /** The namespace that the caller's identifiers start from; most often the root. */
  readonly prefix: NamespacePath;
  /** The parts of the address that the path writes as `:name`, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Parameters that may be given once. */
  readonly query: QueryValues;
  /** Parameters whose shape is an array: each may be given several times. */
  readonly queryLists: QueryLists;
  /** The header of that name, or the entry `header.<name>` of the body's context when it was not sent. */
  header(name: string): string | undefined;
  /** Who the caller is by now: refuses a credential that was revoked since, or has expired. Absent where there is none. */
  readonly reauthenticate?: () => Promise<Caller>;
  /** Fires when the client closes the connection before the reply is sent. */
  readonly signal: () => AbortSignal;
  /** The identity of the request, if it writes. */
  readonly write: WriteRequest;
  /** Identifies the branch that a write names, if it names one: another branch of the same name has another. */
  readonly branchId?: string | undefined;
}

export type QueryValues = Readonly<Record<string, string | undefined>>;
export type QueryLists = Readonly<Record<string, readonly string[] | undefined>>;

export interface DatabaseRequest<Body = unknown> extends RequestFacts {
  readonly body: Body;
  /** Of an operation that reports access: what a query parameter names. */
  readonly table?: TableRecord;
  readonly namespace?: NamespacePath;
}

export interface TableRequest<Body = unknown> extends DatabaseRequest<Body> {
  readonly table: TableRecord;
}

/** About a table that need not exist; its namespace does. */
export interface NewTableRequest<Body = unknown> extends DatabaseRequest<Body> {
  readonly path: TablePath;
}

/** About a namespace: one that exists, or, for a `new-namespace`, one whose parent does. */
export interface NamespaceRequest<Body = unknown> extends DatabaseRequest<Body> {
  readonly namespace: NamespacePath;
}

/** About the server itself: its databases and their access. */
export type ServerRequest<Body = unknown> = Omit<DatabaseRequest<Body>, 'database'>;

interface RequestOf<Body> {
  readonly table: TableRequest<Body>;
  readonly 'new-table': NewTableRequest<Body>;
  readonly namespace: NamespaceRequest<Body>;
  readonly 'new-namespace': NamespaceRequest<Body>;
  readonly database: DatabaseRequest<Body>;
  readonly server: ServerRequest<Body>;
}

interface WithStream {
  /** Starts to read the body; an operation that needs no data never calls it. The first call sets the limits. */
  openStream(limits?: Partial<ArrowLimits>): Promise<CheckedStream>;
}

/** An Arrow stream for a table that may not exist yet. */
export type IngestRequest = NewTableRequest & WithStream;
export type TableIngestRequest = TableRequest & WithStream;

export type ReplyShape = ReplyContent | { readonly description: string };

interface ReplyContent {
  readonly mediaType: string;
  readonly shape: Type.TSchema;
  readonly description: string;
}

interface JsonBody {
  readonly kind: 'json';
  readonly shape: Type.TObject;
  /** Brings other clients' forms to the one that the shape describes. */
  readonly normalize?: (body: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** Lets the body be an Arrow stream too, of which only the schema counts: what it says as JSON. */
  readonly ofSchema?: (schema: Schema) => Record<string, unknown>;
}

type ArrowBody = { readonly kind: 'arrow' };
type NoBody = { readonly kind: 'none' };

/** What an operation is. The `define` functions below create one; they know the request that its `run` gets. */
export interface Operation {
  readonly target: Target;
  readonly id: string;
  /** OpenAPI describes the first. A `GET` reads no body. */
  readonly methods: readonly [Method, ...Method[]];
  /** Below the base path, with the identifier as `:id`. */
  readonly path: string;
  /** Of namespaces: the path for the root from clients whose delimiter is a dot, which disappears from the path. */
  readonly pathOfRoot?: string;
  readonly summary: string;
  /** Of a success; 200 when absent. */
  readonly status?: 201 | 202;
  /** Of namespaces: `run` itself refuses one that does not exist. */
  readonly mayBeAbsent?: true;
  /**
   * Of tables: whether the previous name of a renamed table still leads to it for a while, for clients that keep it.
   * Always by default; `never` where the name itself is meant; `with-body` where only the body tells the two apart.
   */
  readonly followsRename?: 'never' | 'with-body';
  readonly permission: Permission;
  /** Of databases: `run` checks the permissions on the tables that the body names. */
  readonly authorizesTables?: true;
  /**
   * Of databases: reports the access of any caller to the database, or to what the query parameter `table` or `namespace`
   * names. The default database needs no role: it is no secret that it exists.
   */
  readonly reportsAccess?: true;
  /** Of tables: changes names alone, and so also works on data that must not be read. */
  readonly ignoresData?: true;
  /** Also works on a branch that is not listed: LanceDB clients commit the first version of a branch before they list it. */
  readonly startsBranches?: true;
  /** Runs through the write pipeline, and so honours If-Match (412) and Idempotency-Key. */
  readonly usesPipeline?: true;
  /** Honours Idempotency-Key alone. */
  readonly isKeyed?: true;
  /** Its reply goes on until the client leaves. */
  readonly isEndless?: true;
  readonly body: JsonBody | ArrowBody | NoBody;
  readonly query: Type.TObject;
  readonly replies: readonly ReplyShape[];
  /** Statuses of errors beside those that all operations share; by default 412 where If-Match is honoured. */
  readonly statuses: readonly ErrorStatus[];
  /** Of tables: a path of names, or one name in the root namespace. */
  readonly identifier: 'path' | 'name';
  readonly run: (request: OperationRequest, services: Services) => Promise<Reply>;
}

/** Everything that a request may have; the operation's target and body decide which of it is present. */
export interface OperationRequest extends Omit<RequestFacts, 'database'> {
  readonly database?: Database | undefined;
  readonly table?: TableRecord;
  readonly path?: TablePath;
  readonly namespace?: NamespacePath;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly openStream?: WithStream['openStream'];
}

type Defaulted = 'methods' | 'query' | 'statuses' | 'identifier';

/** By default an operation is a POST without a body, and with no query parameter but the delimiter. */
interface Definition<Body, Request>
  extends Omit<Operation, Defaulted | 'target' | 'body' | 'run'>, Partial<Pick<Operation, Defaulted>> {
  readonly body?: Body;
  readonly run: (request: Request, services: Services) => Promise<Reply>;
}

/** A body has the type of its shape; without one it is an empty object. */
type BodyOf<Body> = Body extends { readonly shape: infer Shape extends Type.TObject }
  ? Type.Static<Shape>
  : Readonly<Record<string, never>>;

type RequestFor<For extends Target, Body> = RequestOf<BodyOf<Body>>[For] &
  (Body extends ArrowBody ? WithStream : unknown);

export const defineTableOperation = defineFor('table');
export const defineNewTableOperation = defineFor('new-table');
export const defineNamespaceOperation = defineFor('namespace');
export const defineNewNamespaceOperation = defineFor('new-namespace');
export const defineDatabaseOperation = defineFor('database');
/** The caller needs the permission on anything at all; the operation checks on what exactly, once it has read the body. */
export const defineServerOperation = defineFor('server');

export function defineFor<const For extends Target>(target: For) {
  return <const Body extends Operation['body'] = NoBody>(
    operation: Definition<Body, RequestFor<For, Body>>,
  ): Operation => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The pipeline has found the target and checked the body against its shape.
    const run = operation.run as unknown as Operation['run'];
    const query = target === 'server' ? Type.Object({}) : DelimiterQuery;
    const statuses = operation.statuses ?? (operation.usesPipeline === true ? [412] : []);
    return {
      methods: ['POST'],
      body: { kind: 'none' },
      identifier: 'path',
      query,
      ...operation,
      statuses,
      target,
      run,
    };
  };
}

export function json(shape: Type.TSchema, description: string): ReplyShape {
  return { mediaType: 'application/json', shape, description };
}

interface ReplyFrame {
  /** 200 when absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
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
    | { readonly kind: 'bytes'; readonly mediaType: string; readonly bytes: Uint8Array }
    /** Returning this decides the status (invariant 6): the first piece should be known to exist. */
    | {
        readonly kind: 'stream';
        readonly mediaType: string;
        readonly pieces: AsyncIterable<Uint8Array>;
        /** Has no end: sent piece by piece, and counted by the operation itself. */
        readonly isLive?: true;
      }
  );

export function objectReply<Shape extends Type.TObject>(body: Sent<Type.Static<Shape>> & object): Reply {
  return { kind: 'object', body };
}

/** Others are hidden from the request. */
export function isBelowPrefix({ prefix }: Pick<RequestFacts, 'prefix'>, path: NamespacePath): boolean {
  return path.length > prefix.length && isWithin(path, prefix);
}

/** A path as the caller writes it: below the prefix of its request. */
export function toShownPath({ prefix }: Pick<RequestFacts, 'prefix'>, path: NamespacePath): string[] {
  return path.slice(prefix.length);
}
