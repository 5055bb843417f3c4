import type { Commit, CommitKind } from '../../model/table.ts';
import { NEW_INDEXES_FIELD, WRITTEN_DATA, countPhysicalRows } from './fragments.ts';
import { readMessage } from './protobuf.ts';
import type { Message } from './protobuf.ts';

/** By their field numbers in Lance's transaction.proto, which are stable: https://lance.org/format/table/transaction */
const OPERATIONS: Readonly<Record<number, CommitKind>> = {
  100: 'append',
  101: 'delete',
  102: 'overwrite',
  103: 'index',
  104: 'rewrite',
  105: 'merge',
  106: 'restore',
  107: 'reserve',
  108: 'update',
  109: 'project',
  110: 'config',
};

const READ_VERSION_FIELD = 1;
const UUID_FIELD = 2;
const OPERATION_FIELDS_FROM = 100;
const RESTORED_VERSION_FIELD = 1;

interface Transaction {
  readonly summary: Omit<Commit, 'version' | 'rows'>;
  readonly operation: Message | undefined;
}

const UNKNOWN: Transaction = {
  summary: {
    kind: 'unknown',
    readVersion: 0,
    restoredVersion: undefined,
    transactionId: undefined,
    addedRows: undefined,
  },
  operation: undefined,
};

export function readTransaction(bytes: Buffer | undefined): Transaction {
  const transaction = readMessage(bytes ?? new Uint8Array());
  const field = transaction.fields.find((each) => each >= OPERATION_FIELDS_FROM);
  if (field === undefined) return UNKNOWN;
  const [operation] = transaction.messages(field);
  const known = OPERATIONS[field] ?? 'other';
  // A build adds an index; a drop adds none.
  const kind = known === 'index' && operation?.has(NEW_INDEXES_FIELD) !== true ? 'drop-index' : known;
  // A merge writes columns of existing rows.
  const added = kind === 'merge' ? undefined : WRITTEN_DATA[kind];
  const summary = {
    kind,
    readVersion: transaction.number(READ_VERSION_FIELD),
    restoredVersion: kind === 'restore' ? operation?.number(RESTORED_VERSION_FIELD) : undefined,
    transactionId: transaction.has(UUID_FIELD) ? transaction.text(UUID_FIELD) : undefined,
    addedRows: added === undefined ? 0 : countPhysicalRows(operation?.messages(added) ?? []),
  };
  return { summary, operation };
}
