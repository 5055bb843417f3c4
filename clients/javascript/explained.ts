import type { Outcome } from '../outcome.ts';

/** What readers of the list should know of a method. */
const REMARKS: Readonly<Record<string, string>> = {
  'Connection.cloneTable': 'Shallow; the source is given by its location',
  'Connection.dropTableAsync': 'The table is gone when the call returns',
  'Connection.dropAllTables': 'Drop the tables one by one',
  'Table.mergeInsert': 'On one column; the client refuses several',
  'Table.addColumns': 'From SQL; the client refuses columns given as fields or as a schema',
  'Table.restore': 'After `checkout` of a version',
  'Table.currentBranch': 'No request is sent',
  'Table.closeLsmWriters': 'There is nothing to close; no request is sent',
  'Table.optimize': 'The service compacts by itself',
  'Table.initialStorageOptions': '`null`: the service tells no storage options; no request is sent',
  'Table.latestStorageOptions': '`null`: the service tells no storage options; no request is sent',
  'Index.hnswPq': 'Use `hnswSq`',
};

/** The reason of a refusal, as the service or the client gives it. */
const REASON = /(?:This operation is not offered by this server\.|not supported:) ([^"]+)/;

export function explain(outcome: Outcome): Outcome {
  if (outcome.outcome === 'fails' || outcome.outcome === 'differs') return outcome;
  const [, reason] = REASON.exec(outcome.detail ?? '') ?? [];
  const explained = REMARKS[outcome.method] ?? reason;
  return explained === undefined ? outcome : { ...outcome, explained };
}
