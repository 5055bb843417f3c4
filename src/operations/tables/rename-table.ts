import { ServiceError } from '../../errors/service-error.ts';
import { isPermitted, isVisible } from '../../model/access.ts';
import { namespaceOf, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import { namespaceNotFound, notPermitted } from '../../model/refusals.ts';
import { RenameTableBody, RenameTableReply } from '../../wire/tables.ts';
import { toNameEntry } from '../shared/record-commit.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toShownPath } from '../shared/shown-path.ts';

export const renameTable = defineTableOperation({
  id: 'rename_table',
  path: '/v1/table/:id/rename',
  summary: 'Rename a table, or move it to another namespace; its data stay where they are',
  permission: 'manage',
  followsRename: 'never',
  body: { kind: 'json', shape: RenameTableBody },
  replies: [json(RenameTableReply, 'It has the new name.')],
  statuses: [409],
  run: rename,
});

async function rename(request: TableRequest<RenameTableBody>, services: Services): Promise<Reply> {
  const path = readNewPath(request);
  requireWritable(request, path);
  const entry = toNameEntry(request, 'rename_table');
  const { transactionId } = await services.catalog.tables.rename(request.table, path, entry);
  const reply: RenameTableReply = { transaction_id: transactionId };
  return { kind: 'object', body: reply };
}

function readNewPath({ table, body, prefix, delimiter }: TableRequest<RenameTableBody>): TablePath {
  const { new_namespace_id: byId, new_namespace: byName } = body;
  if (byId !== undefined && byName !== undefined && byId.join('/') !== byName.join('/')) {
    throw new ServiceError('InvalidInput', 'new_namespace_id and new_namespace are not the same.');
  }
  const given = byId ?? byName;
  const namespace = given === undefined ? namespaceOf(table.path) : [...prefix, ...given];
  // The names that the table has already were made with some delimiter, not always with this one.
  const [first, ...rest] = toTablePath([...(given ?? []), body.new_table_name], delimiter);
  const name = rest.at(-1) ?? first;
  const [top, ...below] = [...namespace, name];
  return [top ?? name, ...below];
}

/** A namespace that the caller may not see answers like one that is not there. */
function requireWritable(request: TableRequest<RenameTableBody>, path: TablePath): void {
  const { caller, database, delimiter } = request;
  if (isPermitted(caller, 'write', database.name, path)) return;
  const namespace = namespaceOf(path);
  if (isVisible(caller, database.name, namespace)) throw notPermitted('write');
  throw namespaceNotFound(toShownPath(request, namespace), delimiter);
}
