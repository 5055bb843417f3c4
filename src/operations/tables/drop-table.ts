import pLimit from 'p-limit';
import type { Removal } from '../../catalog/catalog.ts';
import { locationUri } from '../../model/table.ts';
import { EmptyBody } from '../../wire/shapes.ts';
import { GoneTableReply } from '../../wire/tables.ts';
import { defineTableOperation, json, objectReply, toShownPath } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { orReport, toCommitEntry } from '../shared/record-commit.ts';

export const dropTable = defineTableOperation({
  id: 'drop_table',
  path: '/v1/table/:id/drop',
  summary: 'Drop a table and delete its data',
  permission: 'manage',
  ignoresData: true,
  followsRename: 'never',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(GoneTableReply, 'The table that was dropped.')],
  async run(request, services) {
    // The name first, so that no table is ever seen half removed; then the data, in the table's write queue.
    const { transactionId, removal } = await services.catalog.tables.drop(request.table, toCommitEntry(request));
    await removeData(services, [removal]);
    return replyWithGoneTable(request, transactionId);
  },
});

export const deregisterTable = defineTableOperation({
  id: 'deregister_table',
  path: '/v1/table/:id/deregister',
  summary: 'Remove a table from the catalog and keep its data',
  permission: 'manage',
  ignoresData: true,
  followsRename: 'never',
  body: { kind: 'json', shape: EmptyBody },
  replies: [json(GoneTableReply, 'The table that was deregistered, with the location of its data.')],
  async run(request, services) {
    const { catalog, writes } = services;
    const { transactionId } = await writes.release(request.table, async () =>
      catalog.tables.deregister(request.table, toCommitEntry(request)),
    );
    services.engine.lifecycle.close(request.table.location);
    return replyWithGoneTable(request, transactionId);
  },
});

const REMOVALS_MAX = 4;

/** The drop is committed: the next start retries failures, and no caller waits for a running index build. */
export async function removeData(services: Services, removals: readonly Removal[]): Promise<void> {
  await pLimit(REMOVALS_MAX).map(removals, async (removal) => {
    const isLong = services.writes.background.whenIdle(removal.location) !== undefined;
    const removed = orReport('removal of a dropped table', services, async () => {
      await services.writes.removeTable(removal.location);
      await services.catalog.tables.finishRemoval(removal);
    });
    if (!isLong) await removed;
  });
}

function replyWithGoneTable(request: TableRequest, transactionId: string): Reply {
  const { table } = request;
  return objectReply<typeof GoneTableReply>({
    id: toShownPath(request, table.path),
    location: locationUri(table.location),
    properties: table.properties,
    transaction_id: transactionId,
  });
}
