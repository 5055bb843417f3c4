import { ERROR_KINDS } from '../errors/service-error.ts';
import type { ErrorName, ErrorStatus } from '../errors/service-error.ts';
import type { Dialect } from '../operations/operation.ts';

/**
 * The protocol release that the LanceDB client adapts to: 0.3.0 has several vectors in one query and structured
 * full-text queries, 0.4.0 multipart writes.
 */
export const LANCEDB_PROTOCOL = '0.4.0';

/**
 * Decides the client family; nothing else does. The LanceDB client ends the addresses of tables with a slash and
 * names itself; its name can be configured away, the slash cannot.
 */
export function chooseDialect(path: string, userAgent: string | undefined): Dialect {
  if (path.endsWith('/') && path.length > 1) return 'lancedb';
  return userAgent?.startsWith('LanceDB-') === true ? 'lancedb' : 'lance';
}

/** The status of an error. LanceDB clients get 400 for the kinds below. */
export function statusFor(kind: ErrorName, dialect: Dialect): ErrorStatus {
  return dialect === 'lancedb' && KINDS_WITH_400_FOR_LANCEDB.has(kind) ? 400 : ERROR_KINDS[kind].status;
}

/**
 * The LanceDB client reads every 404 as a missing table, and sends a request again after 409. `TableBranchAlreadyExists`
 * keeps its 409, by which the client recognises it.
 */
const KINDS_WITH_400_FOR_LANCEDB: ReadonlySet<ErrorName> = new Set([
  'TableColumnNotFound',
  'TableAlreadyExists',
  'TableTagAlreadyExists',
  'TableIndexAlreadyExists',
  'InvalidTableState',
]);
