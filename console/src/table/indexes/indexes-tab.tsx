import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { dropIndex, listIndexes } from '../../../../src/client/tables.ts';
import { formatSearchSettings, formatShare } from '../../../../src/plans/format-figure.ts';
import type { IndexContent, IndexSearch } from '../../../../src/wire/indexes.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatAgo, formatBytes, formatCount, formatCountOf } from '../../parts/format.ts';
import { Badge, Empty, Meter, Skeleton } from '../../parts/states.tsx';
import { toast } from '../../parts/toasts.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { BuildIndexDialog } from './build-index-dialog.tsx';
import { branchOf } from '../described-table.ts';
import type { TabProps } from '../described-table.ts';
import { usePermissions } from '../../who.tsx';
import { IndexJobs } from './index-jobs.tsx';
import type { IndexJob } from './index-jobs.tsx';

export function IndexesTab({ table, onChanged }: TabProps): JSX.Element {
  const client = useClient();
  const [isBuilding, setIsBuilding] = useState(false);
  const [jobs, setJobs] = useState<readonly IndexJob[]>([]);
  const [dropped, setDropped] = useState<string>();
  const isLatest = table.at.version === undefined;
  const { write: refusal } = usePermissions(table.path);
  const { value, error, reload } = useLoad(async () => listIndexes(client, table.path, table.at), [client, table]);
  const drop = async (): Promise<void> => {
    if (dropped === undefined) return;
    await dropIndex(client, table.path, dropped, branchOf(table));
    toast(`The index ${dropped} was dropped.`);
    onChanged();
  };
  const build = (
    <Button kind="primary" icon="add" refusal={refusal} onClick={() => setIsBuilding(true)}>
      Build an index
    </Button>
  );
  return (
    <div class="indexes">
      {value === undefined || value.length === 0 ? null : (
        <div class="bar">
          <p class="muted">{formatCountOf(value.length, 'index', 'indexes')}</p>
          <span class="spring" />
          {isLatest ? build : null}
        </div>
      )}
      <IndexJobs
        jobs={jobs}
        onDone={onChanged}
        onGone={(id) => setJobs((before) => before.filter((job) => job.id !== id))}
      />
      <ErrorBox error={error} onRetry={reload} />
      {value === undefined && error === undefined ? <Skeleton /> : null}
      {value?.length === 0 ? (
        <Empty icon="search" title="No indexes yet">
          <p>Searches read every row. An index on a vector, a text or a column that you filter by makes them fast.</p>
          {isLatest ? build : null}
        </Empty>
      ) : null}
      <div class="cards">
        {(value ?? []).map((index) => (
          <IndexCard
            key={index.index_uuid}
            index={index}
            refusal={refusal}
            onDrop={isLatest ? () => setDropped(index.index_name) : undefined}
          />
        ))}
      </div>
      {isBuilding ? (
        <BuildIndexDialog
          table={table}
          onStarted={(job) => setJobs((before) => [...before, job])}
          onClose={() => setIsBuilding(false)}
        />
      ) : null}
      {dropped === undefined ? null : (
        <ConfirmDialog
          title={`Drop the index ${dropped}?`}
          action="Drop"
          onConfirm={drop}
          onClose={() => setDropped(undefined)}
        >
          <p>Queries that used it will read every row. You can build it again.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

interface IndexCardProps {
  readonly index: IndexContent;
  readonly refusal: string | undefined;
  readonly onDrop: (() => void) | undefined;
}

function IndexCard({ index, refusal, onDrop }: IndexCardProps): JSX.Element {
  const indexed = index.num_indexed_rows ?? 0;
  const missing = index.num_unindexed_rows ?? 0;
  const share = indexed + missing === 0 ? 1 : indexed / (indexed + missing);
  return (
    <article class="card index-card" aria-label={index.index_name}>
      <header>
        <h2>{index.index_name}</h2>
        <Badge kind="accent">{index.index_type}</Badge>
        <span class="spring" />
        {onDrop === undefined ? null : (
          <Button kind="quiet" icon="trash" label={`Drop ${index.index_name}`} refusal={refusal} onClick={onDrop} />
        )}
      </header>
      <p>
        on <code>{index.columns.join(', ')}</code>
      </p>
      <div>
        <Meter label={`Coverage of ${index.index_name}`} share={share} kind={missing === 0 ? 'good' : 'warn'} />
        <p class="hint">
          {formatCountOf(indexed, 'row')} indexed
          {missing === 0 ? '' : `, ${formatCount(missing)} not yet`}
        </p>
      </div>
      {index.search === undefined ? null : <MeasuredSearch name={index.index_name} search={index.search} />}
      <p class="hint">
        {index.size_bytes === undefined ? '' : `${formatBytes(index.size_bytes)} · `}
        {index.created_at === undefined ? '' : `built ${formatAgo(Date.parse(index.created_at))}`}
        {index.num_segments === undefined || index.num_segments < 2
          ? ''
          : ` · ${formatCountOf(index.num_segments, 'part')}`}
      </p>
    </article>
  );
}

interface MeasuredSearchProps {
  readonly name: string;
  readonly search: IndexSearch;
}

/** The recall of searches without parameters. */
function MeasuredSearch({ name, search }: MeasuredSearchProps): JSX.Element {
  const { recall, recall_target: target, advice, filtered } = search;
  const narrowest = filtered.at(-1);
  return (
    <div>
      <Meter label={`Recall of ${name}`} share={recall} kind={recall >= target ? 'good' : 'warn'} />
      <p class="hint">
        {formatShare(recall)} recall with {formatSearchSettings(search)}
        {narrowest === undefined
          ? ''
          : `; ${formatShare(narrowest.recall)} when ${formatShare(narrowest.share)} of the rows pass a filter`}
      </p>
      {advice === undefined ? null : <p class="hint">{advice}</p>}
    </div>
  );
}
