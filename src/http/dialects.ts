import type { IncomingHttpHeaders } from 'node:http';
import { ERROR_KINDS } from '../errors/service-error.ts';
import type { ErrorName, ErrorStatus } from '../errors/service-error.ts';
import type { Dialect } from '../operations/operation.ts';
import { withoutUnset } from '../wire/query-forms.ts';

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

/** With a version and a language behind it: the name of the clients that are generated from the Lance REST description. */
const GENERATED_CLIENT = 'OpenAPI-Generator/';

/**
 * The media types that a client prefers. Generated clients ask for JSON wherever an error could be JSON, and then read
 * what the description says: in place of a preference they get the first type that an operation offers.
 */
export function acceptOf(headers: Pick<IncomingHttpHeaders, 'accept' | 'user-agent'>): string | undefined {
  const { accept, 'user-agent': userAgent } = headers;
  return accept === 'application/json' && userAgent?.startsWith(GENERATED_CLIENT) === true ? undefined : accept;
}

/** What tells one client from another. */
interface ClientTraits {
  readonly userAgent: string | undefined;
  /** As the caller gave it. */
  readonly delimiter: string | undefined;
}

/**
 * The models of generated clients, and of Lance's own, require a vector in every query; a scan has one without members, and
 * those of Java have empty members. From other callers the contract demands a vector that has one.
 */
export function toContractBody(body: Record<string, unknown>, client: ClientTraits): Record<string, unknown> {
  return isLanceClient(client) ? withoutUnset(body) : body;
}

/** Lance's own client does not name itself, and sends the delimiter with every request. */
function isLanceClient({ userAgent, delimiter }: ClientTraits): boolean {
  return userAgent === undefined ? delimiter !== undefined : userAgent.startsWith(GENERATED_CLIENT);
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
