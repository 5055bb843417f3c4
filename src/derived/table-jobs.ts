import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { EnterPhase, Job, JobResult, Jobs, NewJob, StartedJob } from '../jobs/jobs.ts';
import type { TableRecord } from '../model/table.ts';
import type { SucceededWrite, WriteRequest, WriteResult, Writes } from '../writes/writes.ts';

interface TableJobsParts {
  readonly jobs: Jobs;
  readonly catalog: { readonly tables: Pick<Catalog['tables'], 'findById'> };
}

/** A kind of work on one table that outlives its process. */
interface TableWork<Request, Result> {
  readonly kind: string;
  readonly toSubject: (request: Request) => NewJob;
  /** The request, from what the catalog keeps of its job. */
  readonly readRequest: (table: TableRecord, job: Job) => Request;
  readonly run: (request: Request, enter: EnterPhase) => Promise<Result>;
}

/** Starts such jobs, also those that an earlier process left unfinished. */
export function openTableJobs<Request, Result extends JobResult>(
  { jobs, catalog }: TableJobsParts,
  { kind, toSubject, readRequest, run }: TableWork<Request, Result>,
): (request: Request) => StartedJob<Result> {
  const toWork = (request: Request) => async (enter: EnterPhase) => run(request, enter);
  jobs.registerKind(kind, async (job) => {
    const table = await catalog.tables.findById(job.subject.tableId);
    if (table === undefined) return undefined;
    const request = readRequest(table, job);
    return { subject: toSubject(request), work: toWork(request) };
  });
  return (request) => jobs.start(toSubject(request), toWork(request));
}

interface OwnWrite {
  readonly operation: string;
  readonly caller: string;
  readonly requestId: string;
}

/** The identity of a write that a job makes: no client repeats it, and none waits for it. */
export function toOwnRequest({ operation, caller, requestId }: OwnWrite): WriteRequest {
  const digest = randomUUID();
  const { signal } = new AbortController();
  return {
    operation,
    caller,
    requestId,
    key: undefined,
    expectedVersion: undefined,
    digest: () => digest,
    signal: () => signal,
  };
}

/** The result of such a write counts as answered. Throws what failed. */
export async function requireOwnSuccess({ responses }: Pick<Writes, 'responses'>, result: WriteResult) {
  if ('error' in result) throw result.error;
  // A mark that fails only keeps the entry longer.
  if (result.response !== undefined) await responses.mark(result.response)?.catch(() => {});
  return result satisfies SucceededWrite;
}
