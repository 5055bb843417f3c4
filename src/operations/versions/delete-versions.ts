import { ServiceError } from '../../errors/service-error.ts';
import type { VersionRange } from '../../engine/engine.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { DeleteVersionsBody, DeleteVersionsReply } from '../../wire/versions.ts';
import { toBranchEntry } from '../branch-entry.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';

export const deleteVersions = defineTableOperation({
  id: 'batch_delete_table_versions',
  methods: ['POST'],
  path: '/v1/table/:id/version/delete',
  summary: 'Delete the records of versions, not the data',
  permission: 'manage',
  body: { kind: 'json', shape: DeleteVersionsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: DeleteVersionsReply, description: 'How many there were.' }],
  statuses: [406, 409],
  run: remove,
});

async function remove(request: TableRequest<DeleteVersionsBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, body } = request;
  const ranges = readRanges(body, services.limits.http.pageSizeMax);
  if (table.heldVersion !== undefined) throw heldTable();
  const target = { location: table.location, branch: body.branch };
  const { count, latest } = await services.writes.exclusive(table.location, async () =>
    services.engine.versions.remove(target, ranges),
  );
  const { transaction_id } = await recordCommit(services, table, {
    operation: 'batch_delete_table_versions',
    caller: caller.id,
    requestId,
    version: latest,
    ...toBranchEntry(body.branch),
  });
  const reply: DeleteVersionsReply = {
    deleted_count: count,
    ...(transaction_id === undefined ? {} : { transaction_id }),
  };
  return { kind: 'object', body: reply };
}

function readRanges({ ranges }: DeleteVersionsBody, rangesMax: number): readonly VersionRange[] {
  if (ranges.length === 0 || ranges.length > rangesMax) {
    throw new ServiceError('InvalidInput', `ranges has ${ranges.length} entries.`, {
      hint: `Give from 1 to ${rangesMax}, such as {"start_version": 1, "end_version": 5}.`,
    });
  }
  return ranges.map(({ start_version, end_version }, index) => {
    const end = end_version === -1 ? Infinity : end_version;
    if (end > start_version) return { start: start_version, end };
    throw new ServiceError('InvalidInput', `ranges[${index}] ends before it starts.`, {
      hint: 'The start belongs to the range, the end does not.',
    });
  });
}

function heldTable(): ServiceError {
  return new ServiceError('ServiceUnavailable', 'The table is being overwritten.', { retryAfterSeconds: 5 });
}
