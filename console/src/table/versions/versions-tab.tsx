import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { listVersions, readCommits } from '../../../../src/client/history.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatCount } from '../../parts/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Popover } from '../../parts/popover.tsx';
import { Skeleton } from '../../parts/states.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { go } from '../../router.ts';
import { comparisonHash, readComparison } from './diff/diff-state.ts';
import type { Side } from './diff/diff-state.ts';
import { DiffView } from './diff/diff-view.tsx';
import { branchOf } from '../described-table.ts';
import type { DescribedTable, TabProps } from '../described-table.ts';
import {
  CreateBranchDialog,
  DeleteBranchDialog,
  DeleteTagDialog,
  RestoreDialog,
  TagDialog,
} from './version-dialogs.tsx';
import { toEntries } from './version-entry.ts';
import type { VersionEntry } from './version-entry.ts';
import { VersionRow } from './version-row.tsx';
import type { VersionAction } from './version-row.tsx';

const PAGE_VERSIONS = 100;

export function VersionsTab({ query, ...props }: TabProps): JSX.Element {
  const comparison = readComparison(query);
  return comparison === undefined ? <Timeline {...props} /> : <DiffView table={props.table} comparison={comparison} />;
}

function Timeline({ table, onChanged }: Omit<TabProps, 'query'>): JSX.Element {
  const [limit, setLimit] = useState(PAGE_VERSIONS);
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const [action, setAction] = useState<VersionAction>();
  const { value, error, reload, isLoading } = useEntries(table, limit);
  const choose = (version: number): void =>
    setChosen((before) =>
      before.includes(version) ? before.filter((each) => each !== version) : [...before, version].slice(-2),
    );
  const changed = (): void => {
    onChanged();
    reload();
  };
  const [newer, older] = (value ?? []).filter(({ version }) => chosen.includes(version));
  const compare = (from: Side, to: Side): void => go(comparisonHash(table.path, table.at, { from, to }));
  const sideOf = (version: number): Side => ({ ...branchOf(table), version });
  return (
    <div class="versions">
      <div class="bar">
        <p class="muted">
          {older !== undefined && newer !== undefined
            ? `Versions ${older.version} and ${newer.version} are selected.`
            : 'Select two versions to compare their rows.'}
        </p>
        <span class="spring" />
        <CompareMenu table={table} onCompare={(from) => compare(from, branchOf(table))} />
        <Button
          isDisabled={older === undefined || newer === undefined}
          onClick={() => compare(sideOf(older?.version ?? 0), sideOf(newer?.version ?? 0))}
        >
          Compare
        </Button>
      </div>
      <ErrorBox error={error} onRetry={reload} />
      {value === undefined && isLoading ? <Skeleton lines={8} /> : null}
      <ol class="timeline" aria-label="Versions, the latest first">
        {(value ?? []).map((entry, index) => (
          <VersionRow
            key={entry.version}
            entry={entry}
            table={table}
            isLatest={index === 0 && table.at.version === undefined}
            isChosen={chosen.includes(entry.version)}
            onChoose={() => choose(entry.version)}
            onAction={setAction}
          />
        ))}
      </ol>
      {value !== undefined && value.length >= limit ? (
        <Button onClick={() => setLimit(limit + PAGE_VERSIONS)} isBusy={isLoading}>
          Older than version {formatCount(value.at(-1)?.version ?? 0)}
        </Button>
      ) : null}
      <ActionDialog action={action} table={table} onChanged={changed} onClose={() => setAction(undefined)} />
    </div>
  );
}

interface CompareMenuProps {
  readonly table: DescribedTable;
  readonly onCompare: (from: Side) => void;
}

/** Tags and other branches that the latest version can be compared with. */
function CompareMenu({ table, onCompare }: CompareMenuProps): JSX.Element | null {
  const { tags, branches, at } = table;
  const names = ['main', ...Object.keys(branches)].filter((name) => name !== (at.branch ?? 'main'));
  if (names.length + Object.keys(tags).length === 0) return null;
  return (
    <Popover label="Compare the latest version with" text="Compare with …" side="right">
      {(close) => (
        <div class="menu">
          {names.map((branch) => (
            <button key={branch} type="button" class="item" onClick={() => (close(), onCompare({ branch }))}>
              <Icon name="branch" /> {branch} <span class="muted">latest</span>
            </button>
          ))}
          {Object.entries(tags).map(([tag, { version }]) => (
            <button key={tag} type="button" class="item" onClick={() => (close(), onCompare({ tag }))}>
              <Icon name="tag" /> {tag} <span class="muted">version {version}</span>
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}

function useEntries(table: DescribedTable, limit: number) {
  const client = useClient();
  const { path, at } = table;
  return useLoad(async (): Promise<readonly VersionEntry[]> => {
    const { branch } = at;
    const versions = await listVersions(client, path, { limit, ...(branch === undefined ? {} : { branch }) });
    return toEntries(versions, await readCommits(client, path, { versions, branch }), table);
  }, [client, path.join('/'), at.branch, table, limit]);
}

interface ActionDialogProps {
  readonly action: VersionAction | undefined;
  readonly table: DescribedTable;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

function ActionDialog({ action, table, onChanged, onClose }: ActionDialogProps): JSX.Element | null {
  if (action === undefined) return null;
  const props = { table, onChanged, onClose };
  switch (action.kind) {
    case 'tag':
      return <TagDialog {...props} version={action.version} />;
    case 'branch':
      return <CreateBranchDialog {...props} version={action.version} />;
    case 'restore':
      return <RestoreDialog {...props} version={action.version} />;
    case 'delete-tag':
      return <DeleteTagDialog {...props} name={action.name} />;
    case 'delete-branch':
      return <DeleteBranchDialog {...props} name={action.name} />;
  }
}
