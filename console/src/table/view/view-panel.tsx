import type { JSX } from 'preact';
import { describeView, startRefresh } from '../../../../src/client/views.ts';
import type { DescribeViewReply } from '../../../../src/wire/views.ts';
import { useClient } from '../../api.ts';
import { tableHash } from '../../links.ts';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatAgo, formatCount } from '../../parts/format.ts';
import { Badge, Skeleton } from '../../parts/states.tsx';
import { useLoad } from '../../parts/use-load.ts';
import type { DescribedTable } from '../described-table.ts';
import { JobButton } from '../schema/job-button.tsx';
import { refreshWords, sourceOf, toSelect } from './view-text.ts';

interface ViewPanelProps {
  readonly table: DescribedTable;
  readonly canRefresh: boolean;
  readonly refusal: string | undefined;
  readonly onChanged: () => void;
}

/** The definition of a materialized view, and how far it is behind its source. */
export function ViewPanel({ table, canRefresh, refusal, onChanged }: ViewPanelProps): JSX.Element {
  const client = useClient();
  const { value, error, reload } = useLoad(
    async () => describeView(client, table.path),
    [client, table.path.join('/'), table.version],
  );
  const done = (): void => {
    reload();
    onChanged();
  };
  return (
    <section class="view-panel" aria-label="Materialized view">
      <h2>Materialized view</h2>
      <ErrorBox error={error} onRetry={reload} />
      {value === undefined ? error === undefined ? <Skeleton lines={3} /> : null : <Definition view={value} />}
      {canRefresh ? (
        <p>
          <JobButton
            label="Refresh"
            refusal={refusal}
            done="The view is up to date."
            start={async () => startRefresh(client, table.path)}
            onDone={done}
          />
        </p>
      ) : null}
    </section>
  );
}

function Definition({ view }: { readonly view: DescribeViewReply }): JSX.Element {
  const { refreshed_at_millis: refreshed } = view;
  const source = sourceOf(view);
  return (
    <>
      <pre class="value">{toSelect(view)}</pre>
      <dl class="properties">
        <div>
          <dt>Source</dt>
          <dd>
            {view.source_dropped === true ? source.join(' / ') : <a href={tableHash(source)}>{source.join(' / ')}</a>}
          </dd>
        </div>
        <div>
          <dt>Refresh</dt>
          <dd>{refreshWords(view)}</dd>
        </div>
        <div>
          <dt>Last refresh</dt>
          <dd>{refreshed === undefined ? 'never' : formatAgo(refreshed)}</dd>
        </div>
      </dl>
      <p>
        <State view={view} />
      </p>
    </>
  );
}

function State({ view }: { readonly view: DescribeViewReply }): JSX.Element {
  const { source_version: has, source_latest_version: latest, source_dropped: isDropped } = view;
  if (isDropped === true) return <Badge kind="bad">the source was dropped: create the view again to refresh it</Badge>;
  if (latest === undefined) return <Badge kind="bad">you may not read the source</Badge>;
  if (has === undefined) return <Badge kind="warn">never refreshed: it has no rows yet</Badge>;
  return has === latest ? (
    <Badge kind="good">up to date with version {formatCount(latest)}</Badge>
  ) : (
    <Badge kind="warn">
      has version {formatCount(has)} of the source, which is at {formatCount(latest)}
    </Badge>
  );
}
