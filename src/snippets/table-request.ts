import { tableAddress } from '../client/calls.ts';
import type { TablePath } from '../model/identifier.ts';
import type { DeleteBody, QueryTableBody, UpdateTableBody } from '../wire/data.ts';
import type { CreateIndexBody } from '../wire/indexes.ts';

/** Where a snippet sends its request; never contains the credential itself. */
export interface SnippetServer {
  /** Includes the base path, such as `http://127.0.0.1:2333`. */
  readonly url: string;
  readonly database: string;
  readonly credential: 'key' | 'token';
}

export type TableOperation =
  | { readonly name: 'query'; readonly body: QueryTableBody }
  | { readonly name: 'update'; readonly body: UpdateTableBody }
  | { readonly name: 'delete'; readonly body: DeleteBody }
  | { readonly name: 'create_index'; readonly body: CreateIndexBody };

export interface TableRequest {
  readonly server: SnippetServer;
  readonly table: TablePath;
  readonly operation: TableOperation;
}

/** The environment variable that a snippet reads the credential from. */
export function variableOf({ credential }: SnippetServer): string {
  return credential === 'key' ? 'TILTYARD_KEY' : 'TILTYARD_TOKEN';
}

export function addressOf({ server, table, operation }: TableRequest): string {
  return `${server.url}${tableAddress(table, operation.name)}`;
}

/** Headers without the credential. */
export function headersOf({ server }: TableRequest): Readonly<Record<string, string>> {
  return { 'x-service-database': server.database, 'content-type': 'application/json', accept: 'application/json' };
}
