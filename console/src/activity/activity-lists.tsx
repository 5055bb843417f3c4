import type { JSX } from 'preact';
import { cancelJob } from '../../../src/client/calls.ts';
import { DEFAULT_DELIMITER } from '../../../src/model/identifier.ts';
import type { ListJobsReply } from '../../../src/wire/jobs.ts';
import type { ListTransactionsReply } from '../../../src/wire/history/transactions.ts';
import { useClient } from '../api.ts';
import { CommitLine } from '../events/commit-line.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatAgo, formatMoment } from '../parts/format.ts';

import { Badge, Empty } from '../parts/states.tsx';
import { toast, toastError } from '../parts/toasts.tsx';
import { useLoad } from '../parts/use-load.ts';
import { toHash } from '../router.ts';
import { usePolling } from './use-activity.ts';

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
      toast('Cancelling the job.');
    } catch (error) {
      toastError(error);
    }
    jobs.reload();
  };
  return (
    <section class="card feed" aria-label="Jobs">
      <h2>Jobs</h2>
      <ErrorBox error={jobs.error} />
      {jobs.value?.jobs.length === 0 ? (
        <Empty icon="play" title="No jobs yet">
          <p>Index builds, maintenance and other long work appear here.</p>
        </Empty>
      ) : null}
      <ul>
        {jobs.value?.jobs.map((job) => (
          <li key={job.job_id}>
            <Badge kind={STATES[job.state] ?? 'plain'}>{job.state.toLowerCase().replaceAll('_', ' ')}</Badge>
            <span>
              {job.job_type.replaceAll('_', ' ').toLowerCase()} <TableLink table={job.table} />
            </span>
            <span class="spring" />
            <time class="muted" title={formatMoment(job.created_at_millis)}>
              {formatAgo(job.created_at_millis)}
            </time>
            {job.state === 'IN_PROGRESS' ? (
              <Button
                kind="quiet"
                icon="close"
                label={`Cancel the job on ${job.table}`}
                onClick={() => void cancel(job.job_id)}
              />
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The reply joins the names with the default delimiter. */
function TableLink({ table }: { readonly table: string }): JSX.Element {
  const names = table.split(DEFAULT_DELIMITER);
  return <a href={toHash('table', names)}>{names.join(' / ')}</a>;
}

export function CommitsList({ isPaused }: { readonly isPaused: boolean }): JSX.Element {
  const client = useClient();
  const commits = useLoad(
    async () =>
      client.json<ListTransactionsReply>('/v1/transaction/list', { query: { limit: SHOWN_MAX, newest_first: true } }),
    [client],
  );
  usePolling(commits, isPaused);
  return (
    <section class="card feed" aria-label="Changes">
      <h2>Changes</h2>
      <ErrorBox error={commits.error} />
      {commits.value?.transactions.length === 0 ? (
        <Empty icon="edit" title="No changes yet">
          <p>Writes to tables that you may read appear here, with who made them.</p>
        </Empty>
      ) : null}
      <ul>
        {commits.value?.transactions.map((commit) => (
          <CommitLine key={commit.transaction_id} commit={commit} time={formatAgo(Date.parse(commit.committed_at))} />
        ))}
      </ul>
    </section>
  );
}
