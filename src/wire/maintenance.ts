import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const Reasons = Type.Array(Type.String(), {
  description: 'Reasons for a run: `fragments`, `deletions`, `index`.',
});

const Run = Type.Object({
  version: Type.Integer({ description: 'Version of the table after the run.' }),
  reasons: Reasons,
  fragments_removed: Type.Integer(),
  fragments_added: Type.Integer(),
  versions_removed: Type.Integer(),
  bytes_removed: Type.Integer(),
  files_swept: Type.Integer({ description: 'Incomplete files that were deleted.' }),
  lost_to_writer: Type.Boolean({ description: 'True if a concurrent write won and nothing was changed.' }),
  milliseconds: Type.Integer(),
  writers_waited_milliseconds: Type.Integer(),
  ended_ms: Type.Integer(),
});

export const DescribeMaintenanceReply = Shape.replyBody({
  state: Type.String({ description: '`automatic`, `paused`, or `off` if maintenance is turned off for the server.' }),
  commits: Type.Integer({ description: 'Commits that this process has seen since the last run.' }),
  version: Type.Integer(),
  num_rows: Type.Integer(),
  num_fragments: Type.Integer(),
  num_small_fragments: Type.Integer(),
  num_deleted_rows: Type.Integer({ description: 'Approximate number of deleted rows that still take space.' }),
  total_bytes: Type.Integer({ description: 'Size of the latest version in bytes.' }),
  would_do: Type.Object({
    reasons: Reasons,
    removes_versions: Type.Boolean({ description: 'Whether a run would remove old versions.' }),
  }),
  last_run: Type.Optional(Run),
});
export type DescribeMaintenanceReply = Type.Static<typeof DescribeMaintenanceReply>;

export const RunMaintenanceReply = Shape.replyBody({
  job_id: Type.String(),
  job_state: Type.String({ description: '`DONE`, or `IN_PROGRESS` with status 202.' }),
  result: Type.Optional(Run),
});
export type RunMaintenanceReply = Type.Static<typeof RunMaintenanceReply>;

export const MaintenanceStateReply = Shape.replyBody({
  state: Type.String({ description: '`automatic` or `paused`.' }),
  properties: Shape.StringMap,
  transaction_id: Type.String(),
});
