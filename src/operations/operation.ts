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

/** What the address names, and so what the caller needs a permission on. A `new-` target need not exist yet. */
export type Target = 'table' | 'new-table' | 'namespace' | 'new-namespace' | 'database' | 'server';

export type Method = 'GET' | 'POST';

export interface RequestFacts {
  readonly requestId: string;
  readonly dialect: Dialect;
  readonly caller: Caller;
  readonly database: Database;
  readonly delimiter: string;
  /** The namespace that the caller's identifiers are relative to; usually the root. */
  readonly prefix: NamespacePath;
  /** The decoded parameters `:name` of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Parameters that may occur once. */
  readonly query: QueryValues;
  /** Parameters whose shape is an array, and which may occur several times. */
  readonly queryLists: QueryLists;
  /** The header, or the entry `header.<name>` of the body's context if the header was not sent. */
  header(name: string): string | undefined;
  /** The current caller. Refuses a credential that was revoked or has expired since. Absent without a credential. */
  readonly reauthenticate?: () => Promise<Caller>;
  /** Fires if the client closes the connection before the reply is sent. */
  readonly signal: () => AbortSignal;
  /** Identifies the request, if it writes. */
  readonly write: WriteRequest;
  /** Identifies the branch that a write names, if any: another branch of the same name has another id. */
  readonly branchId?: string | undefined;
}

export type QueryValues = Readonly<Record<string, string | undefined>>;
export type QueryLists = Readonly<Record<string, readonly string[] | undefined>>;

export interface DatabaseRequest<Body = unknown> extends RequestFacts {
  readonly body: Body;
  /** For an operation that reports access: the target that a query parameter names. */
  readonly table?: TableRecord;
  readonly namespace?: NamespacePath;
}

export interface TableRequest<Body = unknown> extends DatabaseRequest<Body> {
  readonly table: TableRecord;
}

/** For a table that need not exist; its namespace must. */
export interface NewTableRequest<Body = unknown> extends DatabaseRequest<Body> {
  readonly path: TablePath;
}

/** For a namespace that exists, or, for a `new-namespace`, whose parent exists. */
export interface NamespaceRequest<Body = unknown> extends DatabaseRequest<Body> {
  readonly namespace: NamespacePath;
}

/** For the server itself: its databases and their access. */
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
  /** Starts reading the body; an operation that needs no data never calls it. The first call sets the limits. */
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
  /** Converts bodies of other clients to the form that the shape describes. */
  readonly normalize?: (body: Readonly<Record<string, unknown>>) => Record<string, unknown>;
  /** Accepts an Arrow stream as the body too, of which only the schema is used: converts it to JSON. */
  readonly ofSchema?: (schema: Schema) => Record<string, unknown>;
}

type ArrowBody = { readonly kind: 'arrow' };
type NoBody = { readonly kind: 'none' };

/**
 * Describes an operation. Created by one of the `define` functions below, which know the type of the request for its
 * `run`.
 */
export interface Operation {
  readonly target: Target;
  readonly id: string;
  /** OpenAPI documents the first one. A `GET` has no body. */
  readonly methods: readonly [Method, ...Method[]];
  /** Relative to the base path, with the identifier as `:id`. */
  readonly path: string;
  /** For namespaces: the path of the root for clients whose delimiter is a dot, which disappears from the path. */
  readonly pathOfRoot?: string;
  readonly summary: string;
  /** The status on success; 200 if absent. */
  readonly status?: 201 | 202;
  /** For namespaces: `run` itself refuses a missing one. */
  readonly mayBeAbsent?: true;
  /**
   * For tables: whether the previous name of a renamed table still resolves for a while, for clients that keep it.
   * Always by default; `never` where the name itself matters; `with-body` where only the body distinguishes the two.
   */
  readonly followsRename?: 'never' | 'with-body';
  readonly permission: Permission;
  /** For databases: `run` checks the permissions on the tables that the body names. */
  readonly authorizesTables?: true;
  /**
   * For databases: reports the access of any caller to the database, or to what the query parameter `table` or
   * `namespace` names. The default database needs no role, because its existence is no secret.
   */
  readonly reportsAccess?: true;
  /** For tables: only changes names, so it also works on data that must not be read. */
  readonly ignoresData?: true;
  /** Also works on an unlisted branch: LanceDB clients commit the first version of a branch before they list it. */
  readonly startsBranches?: true;
  /** Uses the write pipeline, and so supports If-Match (412) and Idempotency-Key. */
  readonly usesPipeline?: true;
  /** Supports only Idempotency-Key. */
  readonly isKeyed?: true;
  /** Its reply continues until the client disconnects. */
  readonly isEndless?: true;
  readonly body: JsonBody | ArrowBody | NoBody;
  readonly query: Type.TObject;
  readonly replies: readonly ReplyShape[];
  /** Error statuses in addition to those of all operations; by default 412 if If-Match is supported. */
  readonly statuses: readonly ErrorStatus[];
  /** For tables: a path of names, or one name in the root namespace. */
  readonly identifier: 'path' | 'name';
  readonly run: (request: OperationRequest, services: Services) => Promise<Reply>;
}

/** All fields that a request may have; the operation's target and body decide which are present. */
export interface OperationRequest extends Omit<RequestFacts, 'database'> {
  readonly database?: Database | undefined;
  readonly table?: TableRecord;
  readonly path?: TablePath;
  readonly namespace?: NamespacePath;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly openStream?: WithStream['openStream'];
}

type Defaulted = 'methods' | 'query' | 'statuses' | 'identifier';

/** By default an operation is a POST without a body, and without query parameters except the delimiter. */
interface Definition<Body, Request>
  extends Omit<Operation, Defaulted | 'target' | 'body' | 'run'>, Partial<Pick<Operation, Defaulted>> {
  readonly body?: Body;
  readonly run: (request: Request, services: Services) => Promise<Reply>;
}

/** The type of the body's shape; without a body, an empty object. */
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
/** Requires the permission on any object; the operation checks on which, once it has read the body. */
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
  /** 200 if absent. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** For a write: to be marked right before the reply is sent. */
  readonly response?: ResponseRef;
}

export type Reply = ReplyFrame &
  /** An object, to which the reply's `context` is added. */
  (
    | { readonly kind: 'object'; readonly body: object; readonly mediaType?: string }
    /** A JSON value, sent as it is. */
    | { readonly kind: 'value'; readonly value: unknown }
    | { readonly kind: 'text'; readonly text: string }
    | { readonly kind: 'empty' }
    | { readonly kind: 'bytes'; readonly mediaType: string; readonly bytes: Uint8Array }
    /** Returning this fixes the status (invariant 6), so the first piece should already be known to exist. */
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

/** Paths outside the prefix are hidden from the request. */
export function isBelowPrefix({ prefix }: Pick<RequestFacts, 'prefix'>, path: NamespacePath): boolean {
  return path.length > prefix.length && isWithin(path, prefix);
}

/** A path as the caller sees it: relative to the prefix of its request. */
export function toShownPath({ prefix }: Pick<RequestFacts, 'prefix'>, path: NamespacePath): string[] {
  return path.slice(prefix.length);
}
