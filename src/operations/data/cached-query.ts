import { hash } from 'node:crypto';
import { readSmall } from '../../arrow/results/result-framing.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { mayBeVolatile } from '../../guard/sql/functions.ts';
import type { Query } from '../../model/query.ts';
import { branchKey } from '../../model/table.ts';
import type { ContentIdentity, TableRecord, TableState } from '../../model/table.ts';
import type { CachedResult } from '../../result-cache/result-cache.ts';
import type { Dialect, Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

/** A query as it is executed, with everything that its reply depends on, apart from the contents of the table. */
interface CacheableQuery {
  readonly state: TableState;
  readonly query: Query;
  readonly mediaType: string;
}

interface QueryWork {
  readonly execute: () => Promise<ResultFiles & { readonly version: number }>;
  /** Files that were already read become bytes, others a stream. */
  readonly frame: (rows: ResultFiles) => Extract<Reply, { readonly kind: 'bytes' | 'stream' }>;
}

/** Tells the LanceDB client which version it has seen; from then on it requests no older one. */
export const VERSION_HEADER = 'x-lancedb-version';

/** Results up to this size that bypass the cache are framed at once. */
const SMALL_BYTES = 64 * 1024;

/**
 * The reply to a query of a caller who may read the table. Returns a cached result if the contents of the table are
 * provably the same. A result is cached unless the table changed while it was read.
 */
export async function replyToQuery(
  request: TableRequest,
  wanted: CacheableQuery,
  { resultCache: cache, engine }: Services,
  { execute, frame }: QueryWork,
): Promise<Reply> {
  const control = readCacheControl(request);
  if (!cache.isOn || control === 'no-store') {
    const rows = await execute();
    return { ...frame(await readSmall(rows, SMALL_BYTES)), headers: versionHeader(rows.version) };
  }
  const queryKey = toQueryKey(request, wanted);
  const identity = queryKey === undefined ? undefined : await engine.rows.identify(wanted.state);
  const key = identity === undefined ? undefined : `${queryKey}:${identity.text}`;
  if (key === undefined) cache.countBypass();
  const found = key === undefined || control === 'no-cache' ? undefined : cache.find(key);
  if (found !== undefined) return toResultReply(request, wanted.mediaType, found, 'hit');

  const rows = await execute();
  const reply = frame(await readSmall(rows, cache.entryBytesMax));
  const status = toForwardStatus(queryKey, key, control);
  if (reply.kind === 'stream' || queryKey === undefined) {
    return { ...reply, headers: { ...versionHeader(rows.version), 'cache-status': `tiltyard; ${status}` } };
  }
  const result = { bytes: reply.bytes, version: rows.version, etag: toEntityTag(queryKey, reply.bytes) };
  const isStored =
    key !== undefined &&
    isOf(rows.version, identity, await engine.rows.identify(wanted.state)) &&
    cache.add(key, result);
  return toResultReply(request, wanted.mediaType, result, isStored ? `${status}; stored` : status);
}

/** A key is a digest of the query; for this many bytes, it blocks the event loop for a millisecond. */
const QUERY_BYTES_MAX = 256 * 1024;

/** `undefined` for a query whose result may differ next time, or that is too large for a key. */
export function toQueryKey(
  { table, dialect }: { readonly table: Pick<TableRecord, 'id'>; readonly dialect: Dialect },
  { state, query, mediaType }: CacheableQuery,
): string | undefined {
  const { vectors, ...rest } = query;
  const dimensions = vectors.map((vector) => vector.length);
  const text = JSON.stringify([
    table.id,
    branchKey(state.location, state.branch),
    dialect,
    mediaType,
    rest,
    dimensions,
  ]);
  const numbers = dimensions.reduce((sum, length) => sum + length, 0);
  if (text.length + numbers * Float32Array.BYTES_PER_ELEMENT > QUERY_BYTES_MAX || isVolatile(query)) return undefined;
  // The engine searches with 32-bit floats.
  const vectorBytes = vectors.map((vector) => Buffer.from(new Float32Array(vector).buffer));
  return digest(Buffer.concat([Buffer.from(text), ...vectorBytes]));
}

/** In one call: creating a hash object each time would cost more than the digest. */
function digest(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64url');
}

function isVolatile({ filter, projection }: Query): boolean {
  if (filter !== undefined && mayBeVolatile(filter)) return true;
  return projection?.kind === 'aliases' && projection.columns.some(([, expression]) => mayBeVolatile(expression));
}

/** Whether rows of this version have that identity, given the identity after they were read. */
function isOf(version: number, before: ContentIdentity | undefined, after: ContentIdentity | undefined): boolean {
  return before !== undefined && before.text === after?.text && (before.version ?? version) === version;
}

/** 96 bits. */
const TAG_CHARACTERS = 16;

/** A strong tag (RFC 9110, 8.8.1): covers the bytes and the query. */
function toEntityTag(queryKey: string, bytes: Uint8Array): string {
  return `"${queryKey.slice(0, TAG_CHARACTERS)}${digest(bytes).slice(0, TAG_CHARACTERS)}"`;
}

function toResultReply(request: TableRequest, mediaType: string, result: CachedResult, status: string): Reply {
  const { bytes, version, etag } = result;
  const headers = {
    ...versionHeader(version),
    etag,
    'cache-status': `tiltyard; ${status}`,
    // Only the caller may store it, and must revalidate it each time.
    'cache-control': 'private, no-cache',
  };
  if (isUnchanged(request, etag)) return { kind: 'empty', status: 304, headers };
  return { kind: 'bytes', mediaType, bytes, headers };
}

function versionHeader(version: number): Record<string, string> {
  return { [VERSION_HEADER]: String(version) };
}

/** Why a query was executed, in terms of RFC 9211. */
function toForwardStatus(
  queryKey: string | undefined,
  key: string | undefined,
  control: 'no-cache' | undefined,
): string {
  if (queryKey === undefined) return 'fwd=bypass';
  if (key === undefined) return 'fwd=bypass; detail=version-unsettled';
  return control === 'no-cache' ? 'fwd=request' : 'fwd=miss';
}

/** The Cache-Control directive of a request (RFC 9111, 5.2.1). */
function readCacheControl({ header }: Pick<TableRequest, 'header'>): 'no-cache' | 'no-store' | undefined {
  const text = header('cache-control')?.toLowerCase();
  if (text === undefined) return undefined;
  if (text.includes('no-store')) return 'no-store';
  return text.includes('no-cache') ? 'no-cache' : undefined;
}

/**
 * Whether the caller already has this result and wants a 304. `If-None-Match` alone does not ask for that: on a POST it
 * would mean 412 (RFC 9110, 13.1.2).
 */
function isUnchanged({ header }: Pick<TableRequest, 'header'>, etag: string): boolean {
  const known = header('if-none-match');
  if (known === undefined || !/(?:^|,)\s*not-modified\s*(?:$|[,;])/i.test(header('prefer') ?? '')) return false;
  return known.split(',').some((tag) => [etag, `W/${etag}`].includes(tag.trim()));
}
