import { invalidInput } from '../../errors/service-error.ts';
import { isPermitted, isVisible } from '../../model/access.ts';
import { belowPrefix, namespaceOf, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { namespaceNotFound, notPermitted } from '../../model/refusals.ts';
import { RenameTableBody, RenameTableReply } from '../../wire/tables.ts';
import { defineTableOperation, json, objectReply, toShownPath } from '../operation.ts';
import type { TableRequest } from '../operation.ts';
import { toCommitEntry } from '../shared/record-commit.ts';

export const renameTable = defineTableOperation({
  id: 'rename_table',
  path: '/v1/table/:id/rename',
  summary: 'Rename a table or move it to another namespace, without copying its data',
  permission: 'manage',
  ignoresData: true,
  followsRename: 'never',
  body: { kind: 'json', shape: RenameTableBody },
  replies: [json(RenameTableReply, 'The table has its new name.')],
  statuses: [409],
  async run(request, services) {
    const path = readNewPath(request);
    requireWritable(request, path);
    const { transactionId } = await services.catalog.tables.rename(request.table, path, toCommitEntry(request));
    return objectReply<typeof RenameTableReply>({ transaction_id: transactionId });
  },
});

function readNewPath({ table, body, prefix, delimiter }: TableRequest<RenameTableBody>): TablePath {
  const { new_namespace_id: byId, new_namespace: byName } = body;
  if (byId !== undefined && byName !== undefined && byId.join('/') !== byName.join('/')) {
    throw invalidInput('new_namespace_id and new_namespace differ.');
  }
  const given = byId ?? byName;
  const namespace = given === undefined ? namespaceOf(table.path) : [...prefix, ...given];
  // Only the given names are checked: the others may contain this delimiter, if they were created with another one.
  const [first, ...rest] = toTablePath([...(given ?? []), body.new_table_name], delimiter);
  const name = rest.at(-1) ?? first;
  return belowPrefix(namespace, [name]);
}

/** A namespace that is hidden from the caller is refused as if it did not exist. */
function requireWritable(request: TableRequest<RenameTableBody>, path: TablePath): void {
  const { caller, database, delimiter } = request;
  if (isPermitted(caller, 'write', database.name, path)) return;
  const namespace = namespaceOf(path);
  if (isVisible(caller, database.name, namespace)) throw notPermitted('write');
  throw namespaceNotFound(toShownPath(request, namespace), delimiter);
}
