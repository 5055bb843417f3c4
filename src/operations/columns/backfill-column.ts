import { invalidInput } from '../../errors/service-error.ts';
import { parseFieldPath, quotePath } from '../../model/field-path.ts';
import { BackfillColumnBody, JobStartedReply } from '../../wire/columns.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';

export const backfillColumn = defineTableOperation({
  id: 'alter_table_backfill_columns',
  path: '/v1/table/:id/backfill_column',
  summary: 'Fill a computed column in the rows that were there before it',
  permission: 'write',
  status: 202,
  body: { kind: 'json', shape: BackfillColumnBody },
  replies: [json(JobStartedReply, 'The job that fills the rows.')],
  async run({ table, body, caller, requestId }, { backfills }) {
    const path = parseFieldPath(body.column);
    const [column] = path;
    if (path.length > 1) {
      throw invalidInput(`The field ${quotePath(path)} is not a column.`, 'Only top-level columns are computed.');
    }
    if (body.read_version !== undefined && body.read_version !== null) {
      throw invalidInput('read_version is not offered.', 'Leave it out: the rows of the latest version are filled.');
    }
    const { branch, where } = body;
    const job = await backfills.start({
      table,
      column,
      where: where ?? undefined,
      branch,
      caller: caller.id,
      requestId,
    });
    await job.recorded;
    return { ...objectReply<typeof JobStartedReply>({ job_id: job.id }), status: 202 };
  },
});
