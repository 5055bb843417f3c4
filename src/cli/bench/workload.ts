import { ARROW_STREAM } from '../../client/api-client.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { Subject } from './subjects.ts';

/** In the order in which they run: those that change the table come last. */
export const KINDS = ['search', 'filter', 'scan', 'analyze', 'update', 'insert', 'create'] as const;
export type Kind = (typeof KINDS)[number];

/** One request, ready to be sent. */
export interface BenchRequest {
  readonly table: TablePath;
  readonly action: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly accept: string;
}

export interface Workload {
  readonly kind: Kind;
  /** Requests are numbered over all clients. */
  readonly request: (number: number) => BenchRequest;
}

const SCAN = { k: 10_000 };

/** `undefined` when the subject does not support it. */
export function findWorkload(kind: Kind, subject: Subject): Workload | undefined {
  const request = findRequest(kind, subject);
  return request && { kind, request };
}

function findRequest(kind: Kind, subject: Subject): Workload['request'] | undefined {
  const { table, branch, search, filter, update, rowsToInsert, rowsToCreate } = subject;
  const onBranch = branch === undefined ? {} : { branch };
  switch (kind) {
    case 'search':
      return search && ((number) => jsonRequest(table, 'query', search(number)));
    case 'filter':
      return filter && ((number) => jsonRequest(table, 'query', filter(number)));
    case 'scan':
      return () => jsonRequest(table, 'query', SCAN);
    case 'analyze': {
      const query = search ?? filter;
      return (number) => jsonRequest(table, 'analyze_plan', query?.(number) ?? SCAN);
    }
    case 'update':
      return update && ((number) => jsonRequest(table, 'update', { ...update(number), ...onBranch }));
    case 'insert':
      return rowsToInsert && (() => ({ ...arrowRequest(table, 'insert', rowsToInsert), query: onBranch }));
    case 'create':
      return (number) => arrowRequest(subject.tableToCreate(number), 'create', rowsToCreate);
  }
}

function jsonRequest(table: TablePath, action: string, body: object): BenchRequest {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const accept = action === 'query' ? ARROW_STREAM : 'application/json';
  return { table, action, bytes, contentType: 'application/json', accept };
}

function arrowRequest(table: TablePath, action: string, bytes: Uint8Array): BenchRequest {
  return { table, action, bytes, contentType: ARROW_STREAM, accept: 'application/json' };
}
