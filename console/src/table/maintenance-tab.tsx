import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { callTable, waitForJob } from '../../../src/client/calls.ts';
import { describeMaintenance, startMaintenance } from '../../../src/client/tables.ts';
import type { DescribeMaintenanceReply } from '../../../src/wire/maintenance.ts';
import { useClient } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatAgo, formatBytes, formatCount, formatCountOf, formatMilliseconds } from '../parts/format.ts';
import { Badge, Meter, Skeleton } from '../parts/states.tsx';
import { toast } from '../parts/toasts.tsx';
import { useLoad, useTask } from '../parts/use-load.ts';
import type { TabProps } from './described-table.ts';
import { usePermissions } from '../who.tsx';

export function MaintenanceTab({ table, onChanged }: TabProps): JSX.Element {
  const client = useClient();
  const { manage: refusal } = usePermissions(table.path);
  const [phase, setPhase] = useState('');
  const { value, error, reload } = useLoad(
    async () => describeMaintenance(client, table.path),
    [client, table.path.join('/')],
  );
  const run = useTask(async () => {
    const { job_id: id } = await startMaintenance(client, table.path);
    const job = await waitForJob(client, id, { onProgress: (each) => setPhase(each.phase) });
    if (job.failure !== undefined) throw new Error(job.failure.message);
    toast('Maintenance is done.');
    reload();
    onChanged();
  });
  const toggle = useTask(async () => {
    await callTable(client, table.path, value?.state === 'paused' ? 'maintenance/resume' : 'maintenance/pause', {});
    reload();
  });
  if (value === undefined) return error === undefined ? <Skeleton /> : <ErrorBox error={error} onRetry={reload} />;
  const isPaused = value.state === 'paused';
  return (
    <div class="maintenance">
      <div class="bar">
        <Badge kind={value.state === 'automatic' ? 'good' : 'warn'}>{value.state}</Badge>
        <p class="muted">{STATES[value.state] ?? ''}</p>
        <span class="spring" />
        {value.state === 'off' ? null : (
          <Button icon={isPaused ? 'play' : 'pause'} isBusy={toggle.isRunning} refusal={refusal} onClick={toggle.run}>
            {isPaused ? 'Resume' : 'Pause'}
          </Button>
        )}
        <Button kind="primary" icon="refresh" isBusy={run.isRunning} refusal={refusal} onClick={run.run}>
          Run now
        </Button>
      </div>
      <ErrorBox error={run.error ?? toggle.error} />
      {run.isRunning ? <Meter label={`Maintenance: ${phase}`} /> : null}
      <Facts state={value} />
      <LastRun run={value.last_run} />
    </div>
  );
}

const STATES: Readonly<Record<string, string>> = {
  automatic: 'The server merges fragments, refreshes indexes and removes old versions automatically.',
  paused: 'Maintenance of this table is paused until you resume it.',
  off: 'Automatic maintenance is off; you can run it here.',
};

const REASONS: Readonly<Record<string, string>> = {
  fragments: 'merge small fragments',
  deletions: 'drop deleted rows',
  index: 'update indexes',
};

const LIST = new Intl.ListFormat('en');

function Facts({ state }: { readonly state: DescribeMaintenanceReply }): JSX.Element {
  const todo = [
    ...state.would_do.reasons.map((reason) => REASONS[reason] ?? reason),
    ...(state.would_do.removes_versions ? ['remove old versions'] : []),
  ];
  const facts: readonly (readonly [string, string])[] = [
    ['Rows', formatCount(state.num_rows)],
    ['Size', formatBytes(state.total_bytes)],
    ['Fragments', formatCount(state.num_fragments)],
    ['Small fragments', formatCount(state.num_small_fragments)],
    ['Deleted rows', state.num_deleted_rows === 0 ? '0' : `about ${formatCount(state.num_deleted_rows)}`],
    ['Commits since the last run', formatCount(state.commits)],
  ];
  return (
    <>
      <dl class="facts">
        {facts.map(([label, text]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p>
        <strong>A run now would</strong> {todo.length === 0 ? 'change nothing.' : `${LIST.format(todo)}.`}
      </p>
    </>
  );
}

function LastRun({ run }: { readonly run: DescribeMaintenanceReply['last_run'] }): JSX.Element {
  if (run === undefined) return <p class="muted">Not run since the server started.</p>;
  return (
    <section>
      <h2>Last run</h2>
      <p class="muted">
        Ran {formatAgo(run.ended_ms)}, in {formatMilliseconds(run.milliseconds)}. {outcomeOf(run)}
      </p>
    </section>
  );
}

function outcomeOf(run: NonNullable<DescribeMaintenanceReply['last_run']>): string {
  if (run.lost_to_writer) return 'Another writer committed first, so nothing was done.';
  const { fragments_removed: removed, fragments_added: added } = run;
  const merged = removed === added ? 'rewritten' : `merged into ${formatCount(added)}`;
  const versions = formatCountOf(run.versions_removed, 'old version');
  const done = [
    ...(removed > 0 ? [`${formatCountOf(removed, 'fragment')} ${merged}`] : []),
    ...(run.versions_removed > 0 ? [`${versions} removed (${formatBytes(run.bytes_removed)})`] : []),
  ];
  return done.length === 0 ? 'No fragments to merge and no old versions to remove.' : `${LIST.format(done)}.`;
}
