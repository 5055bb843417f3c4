import { Type } from 'typebox';
import * as Shape from './shapes.ts';

export const ListJobsBody = Shape.requestBodyWithoutId({
  page_token: Shape.optionalText(),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Maximum number of jobs on the page.' })),
});

export const JobBody = Shape.requestBodyWithoutId({ job_id: Type.String({ minLength: 1 }) });
export type JobBody = Type.Static<typeof JobBody>;

const State = Type.String({ description: '`IN_PROGRESS`, `DONE`, `FAILED`, `CANCELLED` or `TIMED_OUT`.' });

export const ListJobsReply = Shape.replyBody({
  jobs: Type.Array(
    Type.Object({
      job_id: Type.String(),
      table: Type.String({ description: 'Identifier of the table: its names joined by the delimiter.' }),
      job_type: Type.String(),
      state: State,
      created_at_millis: Type.Integer(),
    }),
    { description: 'Newest first.' },
  ),
  page_token: Shape.optionalText(),
});
export type ListJobsReply = Type.Static<typeof ListJobsReply>;

export const JobReply = Shape.replyBody({
  job_id: Type.String(),
  job_type: Type.String(),
  job_state: State,
  table: Type.String(),
  phase: Type.String({ description: 'Current or last phase of the job.' }),
  cancel_requested: Type.Boolean(),
  creation_ms: Type.Integer(),
  end_ms: Type.Optional(Type.Integer()),
  spec: Shape.anyObject('Parameters of the job.'),
  result: Type.Optional(Shape.anyObject()),
  failure: Type.Optional(Type.Object({ phase: Type.String(), message: Type.String(), retryable: Type.Boolean() })),
});
export type JobReply = Type.Static<typeof JobReply>;
