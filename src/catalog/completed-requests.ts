import type { NamespacePath } from '../model/identifier.ts';
import { toPathText } from './path-text.ts';
import type { Sql } from './store.ts';

/** A request that is one catalog transaction: its entry is written by that transaction, so that it is never pending. */
export interface CompletedRequest {
  readonly id: string;
  readonly key: string | undefined;
  readonly digest: string;
  /** Of the response marks, for a request without a key. */
  readonly generation: string | undefined;
  /** The fields of the reply, as JSON. */
  readonly outcome: string;
}

export interface Completion extends CompletedRequest {
  readonly caller: string;
  readonly operation: string;
  readonly requestId: string;
  readonly databaseId: string;
  readonly tableId: string;
  readonly path: NamespacePath;
  readonly version: number;
  readonly transactionId: string;
  readonly committedAt: number;
}

export async function insertCompleted(sql: Sql, completion: Completion): Promise<void> {
  await sql
    .insertInto('journal')
    .values({
      id: completion.id,
      caller: completion.caller,
      digest: completion.digest,
      idempotency_key: completion.key ?? null,
      operation: completion.operation,
      database_id: completion.databaseId,
      table_id: completion.tableId,
      table_path: toPathText(completion.path),
      branch: null,
      base_version: 0,
      bound_version: null,
      epoch: 0,
      generation: completion.generation ?? null,
      expected: null,
      request_id: completion.requestId,
      state: 'committed',
      since: completion.committedAt,
      version: completion.version,
      transaction_id: completion.transactionId,
      outcome: completion.outcome,
    })
    .execute();
}
