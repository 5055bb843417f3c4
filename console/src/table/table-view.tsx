import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { TablePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { TABS, loadHash, readAt, readRowsPage, readTab, tableHash } from '../links.ts';
import type { Tab } from '../links.ts';
import { LinkButton } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { Empty, Skeleton } from '../parts/states.tsx';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';
import { usePermissions } from '../who.tsx';
import { readTable } from './described-table.ts';
import type { DescribedTable, TabProps } from './described-table.ts';
import { IndexesTab } from './indexes/indexes-tab.tsx';
import { MaintenanceTab } from './maintenance-tab.tsx';
import { RowsTab } from './rows/rows-tab.tsx';
import { SchemaTab } from './schema/schema-tab.tsx';
import { TableHead } from './table-head.tsx';
import { VersionsTab } from './versions/versions-tab.tsx';

const LABELS: Readonly<Record<Tab, string>> = {
  rows: 'Rows',
  schema: 'Schema',
  versions: 'Versions',
  indexes: 'Indexes',
  maintenance: 'Maintenance',
};

interface TableViewProps {
  readonly table: TablePath;
  readonly database: string;
  readonly query: URLSearchParams;
}

export function TableView({ table, database, query }: TableViewProps): JSX.Element {
  const client = useClient();
  const at = readAt(query);
  const tab = readTab(query);
  const { value, error, reload } = useLoad(
    async () => readTable(client, table, at),
    [client, table.join('/'), at.version, at.branch, at.tag],
  );
  useDocumentTitle(table.at(-1) ?? '');
  const tabs = useRef<HTMLElement>(null);
  // On a phone the tabs are wider than the screen.
  useEffect(() => {
    const current = tabs.current?.querySelector('[aria-current]');
    current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [tab]);
  return (
    <div class="page table-page">
      <TableHead path={table} database={database} query={query} table={value} />
      <nav ref={tabs} class="tabs" aria-label="Parts of the table">
        {TABS.map((each) => (
          <a
            key={each}
            href={tableHash(table, each, at, readRowsPage(query))}
            aria-current={each === tab ? 'page' : undefined}
          >
            {LABELS[each]}
          </a>
        ))}
      </nav>
      <ErrorBox error={error} onRetry={reload} />
      {value === undefined && error === undefined ? <Skeleton lines={8} /> : null}
      {value === undefined ? null : value.isDeclared ? (
        <Declared table={table} />
      ) : (
        <TabBody key={stateOf(value)} tab={tab} table={value} query={query} onChanged={reload} />
      )}
    </div>
  );
}

/** State that a tab keeps, such as edits, belongs to one table, and to one branch or version of it. */
function stateOf({ location, at }: DescribedTable): string {
  return JSON.stringify([location, at.branch, at.version]);
}

function TabBody({ tab, ...props }: TabProps & { readonly tab: Tab }): JSX.Element {
  switch (tab) {
    case 'rows':
      return <RowsTab {...props} />;
    case 'schema':
      return <SchemaTab {...props} />;
    case 'versions':
      return <VersionsTab {...props} />;
    case 'indexes':
      return <IndexesTab {...props} />;
    case 'maintenance':
      return <MaintenanceTab {...props} />;
  }
}

function Declared({ table }: { readonly table: TablePath }): JSX.Element {
  const refusals = usePermissions(table);
  return (
    <Empty icon="table" title="The table has no data yet">
      <p>The table is declared: its name is reserved, and the first rows determine its columns.</p>
      <LinkButton
        kind="primary"
        icon="upload"
        href={loadHash(table.slice(0, -1), table.at(-1))}
        refusal={refusals.write}
      >
        Load data
      </LinkButton>
    </Empty>
  );
}
