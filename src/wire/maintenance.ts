import { Type } from 'typebox';
import * as Shape from './shapes.ts';

const Reasons = Type.Array(Type.String(), {
  description: '`fragments`, `deletions`, `index`; what there is to improve.',
});

const Run = Type.Object({
  version: Type.Integer({ description: 'The version of the table afterwards.' }),
  reasons: Reasons,
  fragments_removed: Type.Integer(),
  fragments_added: Type.Integer(),
  versions_removed: Type.Integer(),
  bytes_removed: Type.Integer(),
  files_swept: Type.Integer({ description: 'Files that writers left half written.' }),
  lost_to_writer: Type.Boolean({ description: 'A writer was faster; nothing was done.' }),
  milliseconds: Type.Integer(),
  writers_waited_milliseconds: Type.Integer(),
  ended_ms: Type.Integer(),
});

export const DescribeMaintenanceReply = Shape.replyBody({
  state: Type.String({ description: '`automatic`, `paused`, or `off` when the service does none by itself.' }),
  commits: Type.Integer({ description: 'Commits since the last run, as far as this process has seen them.' }),
  version: Type.Integer(),
  num_rows: Type.Integer(),
  num_fragments: Type.Integer(),
  num_small_fragments: Type.Integer(),
  num_deleted_rows: Type.Integer({ description: 'About: deleted rows that still take space.' }),
  total_bytes: Type.Integer({ description: 'Of the latest version.' }),
  would_do: Type.Object({
    reasons: Reasons,
    removes_versions: Type.Boolean({ description: 'Whether there are old versions that would go.' }),
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
