import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { describeNamespace } from '../../../src/client/tables.ts';
import type { NamespacePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { loadHash, tablePathOf } from '../links.ts';
import { Breadcrumbs, Empty, Skeleton } from '../parts/states.tsx';
import { Button, LinkButton } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatCount, formatCountOf } from '../parts/format.ts';
import { useDocumentTitle, useLoad } from '../parts/use-load.ts';
import { CreateNamespaceDialog, DropNamespaceDialog } from './namespace-dialogs.tsx';
import { CreateViewDialog } from '../table/view/create-view-dialog.tsx';
import { TableList } from './table-list.tsx';
import { useTree } from './tree-store.ts';
import { usePermissions } from '../who.tsx';
import { CopyLine } from '../parts/forms/copy-line.tsx';
import type { Inside } from './tree-store.ts';
import { ViewList } from './view-list.tsx';

interface NamespaceViewProps {
  readonly namespace: NamespacePath;
  readonly database: string;
}

type OpenDialog = 'create' | 'drop' | 'view' | undefined;

export function NamespaceView({ namespace, database }: NamespaceViewProps): JSX.Element {
  const tree = useTree();
  const inside = tree.inside(namespace);
  const [part, setPart] = useState('');
  const [dialog, setDialog] = useState<OpenDialog>();
  const name = namespace.at(-1) ?? database;
  const refusals = usePermissions(namespace);
  useDocumentTitle(name);
  const isEmpty = !inside.isLoading && inside.namespaces.length + inside.tables.length === 0;
  return (
    <div class="page">
      <header class="page-head">
        <div class="title">
          {namespace.length === 0 ? null : <Breadcrumbs database={database} namespace={namespace.slice(0, -1)} />}
          <h1>{name}</h1>
          <p class="muted">{summaryOf(inside)}</p>
        </div>
        <div class="actions">
          {namespace.length === 0 ? null : (
            <Button kind="quiet" icon="trash" refusal={refusals.manage} onClick={() => setDialog('drop')}>
              Drop
            </Button>
          )}
          <Button icon="folder" refusal={refusals.write} onClick={() => setDialog('create')}>
            New namespace
          </Button>
          {inside.tables.length === 0 ? null : (
            <Button icon="add" refusal={refusals.write} onClick={() => setDialog('view')}>
              New view
            </Button>
          )}
          <LinkButton kind="primary" icon="upload" href={loadHash(namespace)} refusal={refusals.write}>
            Load data
          </LinkButton>
        </div>
      </header>
      {namespace.length === 0 ? null : <Properties namespace={namespace} />}
      <ErrorBox error={inside.error} onRetry={() => void tree.refresh(namespace)} />
      {isEmpty && inside.error === undefined ? <FirstTable namespace={namespace} refusal={refusals.write} /> : null}
      {inside.isLoading && inside.tables.length === 0 ? <Skeleton lines={6} /> : null}
      {inside.tables.length + inside.namespaces.length > 8 ? (
        <input
          class="narrow"
          type="search"
          aria-label="Filter by name"
          placeholder="Filter by name"
          value={part}
          onInput={(event) => setPart(event.currentTarget.value)}
        />
      ) : null}
      {inside.tables.length + inside.namespaces.length === 0 ? null : (
        <TableList
          key={part}
          namespace={namespace}
          inside={inside}
          part={part}
          onEnd={() => tree.loadMore(namespace)}
        />
      )}
      <ViewList key={inside.tables.length} namespace={namespace} />
      {dialog === 'view' ? (
        <CreateViewDialog
          namespace={namespace}
          source={tablePathOf(namespace, inside.tables[0] ?? '')}
          onClose={() => setDialog(undefined)}
        />
      ) : null}
      {dialog === 'create' ? <CreateNamespaceDialog inside={namespace} onClose={() => setDialog(undefined)} /> : null}
      {dialog === 'drop' ? <DropNamespaceDialog namespace={namespace} onClose={() => setDialog(undefined)} /> : null}
    </div>
  );
}

function summaryOf({ tables, namespaces, nextTable, isLoading }: Inside): string {
  if (isLoading && tables.length + namespaces.length === 0) return ' ';
  const count =
    nextTable === undefined ? formatCountOf(tables.length, 'table') : `more than ${formatCount(tables.length)} tables`;
  return namespaces.length === 0 ? count : `${formatCountOf(namespaces.length, 'namespace')}, ${count}`;
}

function Properties({ namespace }: { readonly namespace: NamespacePath }): JSX.Element | null {
  const client = useClient();
  const { value } = useLoad(async () => describeNamespace(client, namespace), [client]);
  const entries = Object.entries(value?.properties ?? {});
  if (entries.length === 0) return null;
  return (
    <dl class="properties" aria-label="Properties">
      {entries.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

interface FirstTableProps {
  readonly namespace: NamespacePath;
  readonly refusal: string | undefined;
}

function FirstTable({ namespace, refusal }: FirstTableProps): JSX.Element {
  if (refusal !== undefined) {
    return (
      <Empty icon="table" title="No tables yet">
        <p>You may not read anything here. {refusal} Then you can create tables.</p>
      </Empty>
    );
  }
  return (
    <Empty icon="table" title="Create the first table">
      <p>Load an Arrow, Parquet, CSV or JSON file. Column names and types are detected, and you can change them.</p>
      <LinkButton kind="primary" icon="upload" href={loadHash(namespace)}>
        Choose a file
      </LinkButton>
      <div class="or">
        <CopyLine label="Or on the command line" text={importCommand(namespace)} />
      </div>
    </Empty>
  );
}

/** Quotes names with shell characters. */
function importCommand(namespace: NamespacePath): string {
  const table = [...namespace, 'people'].join(DELIMITER);
  return `tiltyard import people.csv ${/^\w+$/.test(table) ? table : `'${table}'`}`;
}

const DELIMITER = '$';
