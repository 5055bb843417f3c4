import { Type } from 'typebox';
import { anyObject, optionalText, replyBody, requestBodyWithoutId } from './shapes.ts';

export const ListJobsBody = requestBodyWithoutId({
  page_token: optionalText(),
  limit: Type.Optional(Type.Integer({ minimum: 1, description: 'Most jobs on the page.' })),
});

export const JobBody = requestBodyWithoutId({ job_id: Type.String({ minLength: 1 }) });
export type JobBody = Type.Static<typeof JobBody>;

const State = Type.String({ description: '`IN_PROGRESS`, `DONE`, `FAILED`, `CANCELLED` or `TIMED_OUT`.' });

export const ListJobsReply = replyBody({
  jobs: Type.Array(
    Type.Object({
      job_id: Type.String(),
      table: Type.String({ description: 'Identifier of the table, joined by the delimiter.' }),
      job_type: Type.String(),
      state: State,
      created_at_millis: Type.Integer(),
    }),
    { description: 'Newest first.' },
  ),
  page_token: optionalText(),
});
export type ListJobsReply = Type.Static<typeof ListJobsReply>;

export const JobReply = replyBody({
  job_id: Type.String(),
  job_type: Type.String(),
  job_state: State,
  table: Type.String(),
  phase: Type.String({ description: 'What the job does, or did last.' }),
  cancel_requested: Type.Boolean(),
  creation_ms: Type.Integer(),
  end_ms: Type.Optional(Type.Integer()),
  spec: anyObject('What was asked for.'),
  result: Type.Optional(anyObject()),
  failure: Type.Optional(Type.Object({ phase: Type.String(), message: Type.String(), retryable: Type.Boolean() })),
});
export type JobReply = Type.Static<typeof JobReply>;
