import type { IncomingHttpHeaders } from 'node:http';
import { ERROR_KINDS } from '../errors/service-error.ts';
import type { ErrorName, ErrorStatus } from '../errors/service-error.ts';
import type { Dialect } from '../operations/operation.ts';
import { withoutUnset } from '../wire/query-forms.ts';

/**
 * The protocol release that the LanceDB client adapts to: 0.3.0 added several vectors per query and structured
 * full-text queries, 0.4.0 multipart writes.
 */
export const LANCEDB_PROTOCOL = '0.4.0';

/**
 * The only place that decides the client family. The LanceDB client ends the addresses of tables with a slash and sends
 * its name; the name can be configured away, the slash cannot.
 */
export function chooseDialect(path: string, userAgent: string | undefined): Dialect {
  if (path.endsWith('/') && path.length > 1) return 'lancedb';
  return userAgent?.startsWith('LanceDB-') === true ? 'lancedb' : 'lance';
}

/** Followed by a version and a language: the User-Agent of clients generated from the Lance REST description. */
const GENERATED_CLIENT = 'OpenAPI-Generator/';

/**
 * The media types that a client prefers. Generated clients request JSON wherever an error could be JSON, but then read
 * what the description says, so they get the first type that an operation offers.
 */
export function acceptOf(headers: Pick<IncomingHttpHeaders, 'accept' | 'user-agent'>): string | undefined {
  const { accept, 'user-agent': userAgent } = headers;
  return accept === 'application/json' && userAgent?.startsWith(GENERATED_CLIENT) === true ? undefined : accept;
}

/** What distinguishes one client from another. */
interface ClientTraits {
  readonly userAgent: string | undefined;
  /** As sent by the caller. */
  readonly delimiter: string | undefined;
}

/**
 * The models of generated clients, and of Lance's own, require a vector in every query; a scan has one without members,
 * and in Java with empty members. For other callers the contract requires a vector with a member.
 */
export function toContractBody(body: Record<string, unknown>, client: ClientTraits): Record<string, unknown> {
  return isLanceClient(client) ? withoutUnset(body) : body;
}

/** Lance's own client sends no User-Agent, and a delimiter with every request. */
function isLanceClient({ userAgent, delimiter }: ClientTraits): boolean {
  return userAgent === undefined ? delimiter !== undefined : userAgent.startsWith(GENERATED_CLIENT);
}

/** The status of an error. LanceDB clients get 400 for the kinds below. */
export function statusFor(kind: ErrorName, dialect: Dialect): ErrorStatus {
  return dialect === 'lancedb' && KINDS_WITH_400_FOR_LANCEDB.has(kind) ? 400 : ERROR_KINDS[kind].status;
}

/**
 * The LanceDB client treats every 404 as a missing table, and retries after a 409. `TableBranchAlreadyExists` keeps its
 * 409, by which the client recognizes it.
 */
const KINDS_WITH_400_FOR_LANCEDB: ReadonlySet<ErrorName> = new Set([
  'TableColumnNotFound',
  'TableAlreadyExists',
  'TableTagAlreadyExists',
  'TableIndexAlreadyExists',
  'InvalidTableState',
]);
