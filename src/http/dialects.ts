import { ERROR_KINDS } from '../errors/service-error.ts';
import type { ErrorName } from '../errors/service-error.ts';
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

/**
 * The LanceDB client reads every 404 as a missing table and repeats a request after 409: it gets 400 where neither
 * is meant.
 */
export function statusFor(kind: ErrorName, dialect: Dialect): number {
  return dialect === 'lancedb' && PLAIN_REFUSALS.has(kind) ? 400 : ERROR_KINDS[kind].status;
}

/** That a branch exists is not among them: the client knows it by its 409. */
const PLAIN_REFUSALS: ReadonlySet<ErrorName> = new Set([
  'TableColumnNotFound',
  'TableAlreadyExists',
  'TableTagAlreadyExists',
  'TableIndexAlreadyExists',
  'InvalidTableState',
]);
