import { ARROW_STREAM } from '../../client/api-client.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
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

export interface Work {
  readonly kind: Kind;
  /** `turn` counts over all clients. */
  readonly request: (turn: number) => BenchRequest;
  /** Whether what was made is to be dropped again, outside the time that is measured. */
  readonly makesTables: boolean;
}

const SCAN_ROWS = 10_000;

/** `undefined` when the subject has nothing for it. */
export function findWork(kind: Kind, subject: Subject): Work | undefined {
  const request = requestsOf(kind, subject);
  return request === undefined ? undefined : { kind, request, makesTables: kind === 'create' };
}

function requestsOf(kind: Kind, subject: Subject): Work['request'] | undefined {
  const { searches, filters, change, rowsToInsert, rowsToCreate } = subject;
  const ask = (body: object, action = 'query'): BenchRequest => jsonRequest(subject, action, body);
  switch (kind) {
    case 'search':
      return searches && ((turn) => ask(searches(turn)));
    case 'filter':
      return filters && ((turn) => ask(filters(turn)));
    case 'scan':
      return () => ask({ k: SCAN_ROWS } satisfies QueryTableBody);
    case 'analyze': {
      const queries = searches ?? filters;
      return (turn) => ask(queries?.(turn) ?? { k: SCAN_ROWS }, 'analyze_plan');
    }
    case 'update':
      return change && ((turn) => ask(change(turn), 'update'));
    case 'insert':
      return rowsToInsert && (() => arrowRequest(subject.table, 'insert', rowsToInsert(), subject.branch));
    case 'create':
      return (turn) => arrowRequest(subject.tableToCreate(turn), 'create', rowsToCreate());
  }
}

function jsonRequest({ table, branch }: Subject, action: string, body: object): BenchRequest {
  const isWrite = action === 'update';
  const onBranch = isWrite && branch !== undefined ? { branch } : {};
  return {
    table,
    action,
    bytes: new TextEncoder().encode(JSON.stringify({ ...body, ...onBranch })),
    contentType: 'application/json',
    accept: action === 'query' ? ARROW_STREAM : 'application/json',
  };
}

function arrowRequest(table: TablePath, action: string, bytes: Uint8Array, branch?: string): BenchRequest {
  const query = branch === undefined ? {} : { branch };
  return { table, action, query, bytes, contentType: ARROW_STREAM, accept: 'application/json' };
}
