import { invalidInput } from '../../errors/service-error.ts';
import { parseFieldPath, quotePath } from '../../model/field-path.ts';
import { BackfillColumnBody, JobStartedReply } from '../../wire/columns.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';

export const backfillColumn = defineTableOperation({
  id: 'alter_table_backfill_columns',
  path: '/v1/table/:id/backfill_column',
  summary: 'Backfill a computed column',
  permission: 'write',
  status: 202,
  body: { kind: 'json', shape: BackfillColumnBody },
  replies: [json(JobStartedReply, 'The job that backfills the column.')],
  async run({ table, body, caller, requestId }, { backfills }) {
    const path = parseFieldPath(body.column);
    const [column] = path;
    if (path.length > 1) {
      throw invalidInput(`The field ${quotePath(path)} is not a column.`, 'Only top-level columns can be computed.');
    }
    if (body.read_version !== undefined && body.read_version !== null) {
      throw invalidInput('read_version is not offered.', 'Omit it: a backfill fills the rows of the latest version.');
    }
    const { branch, where } = body;
    const wanted = { table, column, where: where ?? undefined, branch, caller: caller.id, requestId };
    const job = await backfills.start(wanted);
    await job.recorded;
    return { ...objectReply<typeof JobStartedReply>({ job_id: job.id }), status: 202 };
  },
});
