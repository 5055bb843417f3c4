import type { Commit, CommitKind } from '../../model/table.ts';
import { countPhysicalRows } from './fragments.ts';
import type { Message } from './protobuf.ts';

export type TransactionSummary = Pick<
  Commit,
  'kind' | 'readVersion' | 'restoredVersion' | 'transactionId' | 'addedRows'
>;

export const NO_TRANSACTION: TransactionSummary = {
  kind: 'unknown',
  readVersion: 0,
  restoredVersion: undefined,
  transactionId: undefined,
  addedRows: undefined,
};

interface Operation {
  readonly kind: CommitKind;
  /** Where the operation lists the fragments that it adds. */
  readonly fragmentsField?: number;
}

/** By their fields in Lance's transaction.proto, which do not change: https://lance.org/format/table/transaction */
const OPERATIONS: Readonly<Record<number, Operation>> = {
  100: { kind: 'append', fragmentsField: 1 },
  101: { kind: 'delete' },
  102: { kind: 'overwrite', fragmentsField: 1 },
  103: { kind: 'index' },
  104: { kind: 'rewrite' },
  105: { kind: 'merge' },
  106: { kind: 'restore' },
  107: { kind: 'reserve' },
  108: { kind: 'update', fragmentsField: 3 },
  109: { kind: 'project' },
  110: { kind: 'config' },
};
const OTHER: Operation = { kind: 'other' };

const READ_VERSION_FIELD = 1;
const UUID_FIELD = 2;
const OPERATION_FIELDS_FROM = 100;
const RESTORED_VERSION_FIELD = 1;
const NEW_INDEXES_FIELD = 1;

export function findOperation(transaction: Message): Message | undefined {
  const field = transaction.fields.find((each) => each >= OPERATION_FIELDS_FROM);
  return field === undefined ? undefined : transaction.messages(field)[0];
}

export function readTransaction(transaction: Message): TransactionSummary {
  const field = transaction.fields.find((each) => each >= OPERATION_FIELDS_FROM);
  if (field === undefined) return NO_TRANSACTION;
  const operation = findOperation(transaction);
  const known = OPERATIONS[field] ?? OTHER;
  const { fragmentsField } = known;
  // A build adds an index; only a drop adds none.
  const kind = known.kind === 'index' && operation?.has(NEW_INDEXES_FIELD) !== true ? 'drop-index' : known.kind;
  return {
    kind,
    readVersion: transaction.number(READ_VERSION_FIELD),
    restoredVersion: kind === 'restore' ? operation?.number(RESTORED_VERSION_FIELD) : undefined,
    transactionId: transaction.has(UUID_FIELD) ? transaction.text(UUID_FIELD) : undefined,
    addedRows: fragmentsField === undefined ? 0 : countPhysicalRows(operation?.messages(fragmentsField) ?? []),
  };
}
