import { ServiceError } from '../../errors/service-error.ts';
import { MAINTENANCE_AUTOMATIC, MAINTENANCE_PAUSED, MAINTENANCE_PROPERTY } from '../../model/maintenance.ts';
import { MaintenanceBody, MaintenanceStateReply } from '../../wire/maintenance.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Operation } from '../operation.ts';

export const pauseMaintenance = defineChange({
  id: 'pause_table_maintenance',
  path: '/v1/table/:id/maintenance/pause',
  summary: 'Leave a table alone until maintenance is resumed, also after a restart',
  state: MAINTENANCE_PAUSED,
});

export const resumeMaintenance = defineChange({
  id: 'resume_table_maintenance',
  path: '/v1/table/:id/maintenance/resume',
  summary: 'Put a table in order again whenever it needs it',
  state: MAINTENANCE_AUTOMATIC,
});

interface ChangeDefinition {
  readonly id: string;
  readonly path: string;
  readonly summary: string;
  readonly state: string;
}

/** The state is a property of the table, so that the catalog keeps it and every description of the table shows it. */
function defineChange({ id, path, summary, state }: ChangeDefinition): Operation {
  return defineTableOperation({
    id,
    methods: ['POST'],
    path,
    summary,
    permission: 'manage',
    body: { kind: 'json', shape: MaintenanceBody },
    query: DelimiterQuery,
    replies: [{ mediaType: 'application/json', shape: MaintenanceStateReply, description: 'The state.' }],
    statuses: [],
    run: async ({ table, caller, requestId }, { catalog }) => {
      const commit = { operation: id, caller: caller.id, requestId, version: 0 };
      const change = { table, commit, properties: { [MAINTENANCE_PROPERTY]: state } };
      const [recorded] = await catalog.journal.record([change], true);
      if (recorded === undefined) throw new ServiceError('TableNotFound', 'The table does not exist any more.');
      const { transactionId, properties } = recorded;
      const reply: MaintenanceStateReply = { state, properties: { ...properties }, transaction_id: transactionId };
      return { kind: 'object', body: reply };
    },
  });
}
