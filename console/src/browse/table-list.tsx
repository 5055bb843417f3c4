import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { NamespacePath, TablePath } from '../../../src/model/identifier.ts';
import { useClient } from '../api.ts';
import { namespaceHash, tableHash, tablePathOf } from '../links.ts';
import { formatBytes, formatCount } from '../parts/format.ts';
import { Heads, right, Pager } from '../parts/grid/pager.tsx';
import { Icon } from '../parts/icon.tsx';
import { Badge } from '../parts/states.tsx';
import { useTableFacts } from './table-facts.ts';
import type { TableFacts } from './table-facts.ts';
import type { Inside } from './tree-store.ts';

const PAGE_ROWS = 50;

interface TableListProps {
  readonly namespace: NamespacePath;
  readonly inside: Inside;
  readonly part: string;
  readonly onEnd: () => void;
}

export function TableList({ namespace, inside, part, onEnd }: TableListProps): JSX.Element {
  const client = useClient();
  const [offset, setOffset] = useState(0);
  const has = (name: string): boolean => name.toLowerCase().includes(part.toLowerCase());
  const entries = useMemo(
    () => [
      ...inside.namespaces.filter(has).map((name) => ({ kind: 'namespace' as const, name })),
      ...inside.tables.filter(has).map((name) => ({ kind: 'table' as const, name })),
    ],
    [inside, part],
  );
  const start = offset < entries.length ? offset : 0;
  const page = entries.slice(start, start + PAGE_ROWS);
  const tables = page.filter(({ kind }) => kind === 'table').map(({ name }) => tablePathOf(namespace, name));
  const facts = useTableFacts(client, tables);
  const isWhole = inside.nextTable === undefined && inside.nextNamespace === undefined;
  const turn = (next: number): void => {
    setOffset(next);
    if (!isWhole && next + PAGE_ROWS >= entries.length) onEnd();
  };
  return (
    <>
      <div class="scrolled">
        <table class="list" aria-label="Tables and namespaces">
          <Heads heads={['Name', ...COLUMNS.map(right)]} />
          <tbody>
            {page.map(({ kind, name }) =>
              kind === 'namespace' ? (
                <NamespaceRow key={`n:${name}`} namespace={[...namespace, name]} name={name} />
              ) : (
                <TableRow
                  key={`t:${name}`}
                  table={tablePathOf(namespace, name)}
                  facts={facts.get([...namespace, name].join('/'))}
                />
              ),
            )}
          </tbody>
        </table>
      </div>
      {entries.length > PAGE_ROWS || !isWhole ? (
        <Pager
          label="Pages of tables"
          offset={start}
          pageSize={PAGE_ROWS}
          count={page.length}
          total={isWhole ? entries.length : undefined}
          onOffset={turn}
        />
      ) : null}
    </>
  );
}

const COLUMNS = ['Rows', 'Size', 'Fragments', 'Indexes', 'Version'];

function NamespaceRow({ namespace, name }: { readonly namespace: NamespacePath; readonly name: string }): JSX.Element {
  return (
    <tr>
      <td>
        <a class="entry" href={namespaceHash(namespace)}>
          <Icon name="folder" />
          {name}
        </a>
      </td>
      <td colSpan={COLUMNS.length} />
    </tr>
  );
}

function TableRow({
  table,
  facts,
}: {
  readonly table: TablePath;
  readonly facts: TableFacts | undefined;
}): JSX.Element {
  return (
    <tr>
      <td>
        <a class="entry" href={tableHash(table)}>
          <Icon name="table" />
          {table.at(-1)}
          {facts?.isView === true ? <Badge kind="accent">view</Badge> : null}
        </a>
      </td>
      <Numbers facts={facts} />
    </tr>
  );
}

function Numbers({ facts }: { readonly facts: TableFacts | undefined }): JSX.Element {
  if (facts?.fault !== undefined || facts?.isDeclared === true) {
    return (
      <td colSpan={COLUMNS.length} class="right">
        {facts.fault === undefined ? (
          <Badge title="Its name is reserved; it has no rows yet.">declared</Badge>
        ) : (
          <Badge kind="bad" title={facts.fault}>
            cannot be read
          </Badge>
        )}
      </td>
    );
  }
  const { rows, bytes, fragments, indexes, version } = facts ?? {};
  const texts = [
    rows === undefined ? undefined : formatCount(rows),
    bytes === undefined ? undefined : formatBytes(bytes),
    fragments === undefined ? undefined : formatCount(fragments),
    indexes === undefined ? undefined : formatCount(indexes),
    version === undefined ? undefined : formatCount(version),
  ];
  return (
    <>
      {texts.map((text, index) => (
        <td key={COLUMNS[index]} class="right">
          {text ?? <span class="waiting" role="img" aria-label="loading" />}
        </td>
      ))}
    </>
  );
}
