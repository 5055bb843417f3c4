import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { cancelJob, waitForJob } from '../../../../src/client/calls.ts';
import type { JobReply } from '../../../../src/wire/jobs.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatMilliseconds } from '../../parts/format.ts';
import { Meter } from '../../parts/states.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';

export interface IndexJob {
  readonly id: string;
  readonly name: string;
}

interface IndexJobsProps {
  readonly jobs: readonly IndexJob[];
  readonly onDone: () => void;
  readonly onGone: (id: string) => void;
}

/** Running index builds. */
export function IndexJobs({ jobs, onDone, onGone }: IndexJobsProps): JSX.Element {
  return (
    <>
      {jobs.map((job) => (
        <JobLine key={job.id} job={job} onDone={onDone} onGone={() => onGone(job.id)} />
      ))}
    </>
  );
}

interface JobLineProps {
  readonly job: IndexJob;
  readonly onDone: () => void;
  readonly onGone: () => void;
}

function JobLine({ job, onDone, onGone }: JobLineProps): JSX.Element {
  const client = useClient();
  const [state, setState] = useState<JobReply>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const unmounted = new AbortController();
    const follow = async (): Promise<void> => {
      const ended = await waitForJob(client, job.id, { onProgress: setState, signal: unmounted.signal });
      if (ended.failure !== undefined) throw new Error(ended.failure.message);
      if (ended.job_state === 'DONE') toast(`The index ${job.name} was built.`);
      onDone();
      onGone();
    };
    follow().catch((failure: unknown) => unmounted.signal.aborted || setError(failure));
    return () => unmounted.abort();
  }, [job.id]);
  const seconds = state === undefined ? 0 : Date.now() - state.creation_ms;
  if (error !== undefined) return <ErrorBox error={error} />;
  return (
    <div class="card job" role="status">
      <p>
        <strong>{job.name}</strong>{' '}
        <span class="muted">
          {state?.phase ?? 'waiting'} · {formatMilliseconds(seconds)}
        </span>
      </p>
      <Meter label={`Building ${job.name}`} />
      <Button kind="quiet" onClick={() => void cancelJob(client, job.id).catch(toastError)}>
        Cancel
      </Button>
    </div>
  );
}
