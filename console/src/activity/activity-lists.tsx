import type { JSX } from 'preact';
import { cancelJob } from '../../../src/client/calls.ts';
import type { ListJobsReply } from '../../../src/wire/jobs.ts';
import type { ListTransactionsReply, Transaction } from '../../../src/wire/history/transactions.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatAgo, formatMoment } from '../parts/format.ts';
import { Badge, Empty } from '../parts/states.tsx';
import { toast, toastError } from '../parts/toasts.tsx';
import { useLoad } from '../parts/use-load.ts';
import { toHash } from '../router.ts';
import { useCallerNames, usePolling } from './use-activity.ts';

const SHOWN_MAX = 50;

const STATES: Readonly<Record<string, 'good' | 'bad' | 'accent' | 'plain'>> = {
  DONE: 'good',
  FAILED: 'bad',
  IN_PROGRESS: 'accent',
};

export function JobsList({ isPaused }: { readonly isPaused: boolean }): JSX.Element {
  const client = useClient();
  const jobs = useLoad(
    async () => client.json<ListJobsReply>('/v1/jobs/list', { json: { limit: SHOWN_MAX } }),
    [client],
  );
  usePolling(jobs, isPaused);
  const cancel = async (id: string): Promise<void> => {
    try {
      await cancelJob(client, id);
      toast('The job is asked to stop.');
    } catch (error) {
      toastError(error);
    }
    jobs.reload();
  };
  return (
    <section class="card feed" aria-label="Jobs">
      <h2>Jobs</h2>
      <ErrorBox error={jobs.error} />
      {jobs.value?.jobs.length === 0 ? <Empty icon="play" title="No jobs yet" /> : null}
      <ul>
        {jobs.value?.jobs.map((job) => (
          <li key={job.job_id}>
            <Badge kind={STATES[job.state] ?? 'plain'}>{job.state.toLowerCase().replaceAll('_', ' ')}</Badge>
            <span>
              {job.job_type.replaceAll('_', ' ').toLowerCase()} <strong>{job.table}</strong>
            </span>
            <span class="spring" />
            <time class="muted" title={formatMoment(job.created_at_millis)}>
              {formatAgo(job.created_at_millis)}
            </time>
            {job.state === 'IN_PROGRESS' ? (
              <Button
                kind="quiet"
                icon="close"
                label={`Cancel the job of ${job.table}`}
                onClick={() => void cancel(job.job_id)}
              />
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function CommitsList({ isPaused }: { readonly isPaused: boolean }): JSX.Element {
  const client = useClient();
  const commits = useLoad(
    async () =>
      client.json<ListTransactionsReply>('/v1/transaction/list', { query: { limit: SHOWN_MAX, newest_first: true } }),
    [client],
  );
  usePolling(commits, isPaused);
  const names = useCallerNames();
  return (
    <section class="card feed" aria-label="Who did what">
      <h2>Who did what</h2>
      <ErrorBox error={commits.error} />
      {commits.value?.transactions.length === 0 ? <Empty icon="edit" title="Nothing was written yet" /> : null}
      <ul>
        {commits.value?.transactions.map((commit) => (
          <li key={commit.transaction_id}>
            <code class="muted" title={`${commit.caller}, request ${commit.request_id}`}>
              {names.get(commit.caller) ?? commit.caller}
            </code>
            <Deed commit={commit} />
            <span class="spring" />
            <time class="muted" title={formatMoment(Date.parse(commit.committed_at))}>
              {formatAgo(Date.parse(commit.committed_at))}
            </time>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Deed({ commit }: { readonly commit: Transaction }): JSX.Element {
  const { operation, id, version, branch } = commit;
  return (
    <span>
      {operation.replaceAll('_', ' ')}{' '}
      {version === undefined ? <strong>{id.join(' / ')}</strong> : <a href={toHash('table', id)}>{id.join(' / ')}</a>}
      {version === undefined ? null : <span class="muted"> version {version}</span>}
      {branch === undefined ? null : <span class="muted"> on {branch}</span>}
    </span>
  );
}
