import type { Catalog } from '../catalog/catalog.ts';
import type { EnterPhase, Job, JobResult, Jobs, NewJob, StartedJob } from '../jobs/jobs.ts';
import type { TableRecord } from '../model/table.ts';

interface TableJobsParts {
  readonly jobs: Jobs;
  readonly catalog: { readonly tables: Pick<Catalog['tables'], 'findById'> };
}

/** A kind of work on one table that outlives its process. */
interface TableWork<Request, Result> {
  readonly kind: string;
  readonly toSubject: (request: Request) => NewJob;
  /** Rebuilds the request from the job in the catalog. */
  readonly readRequest: (table: TableRecord, job: Job) => Request;
  readonly run: (request: Request, enter: EnterPhase) => Promise<Result>;
}

/** Starts such jobs, and resumes those that an earlier process left unfinished. */
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
