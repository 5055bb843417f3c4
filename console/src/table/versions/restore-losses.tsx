import type { JSX } from 'preact';
import type { ApiClient } from '../../../../src/client/api-client.ts';
import type { State } from '../../../../src/client/history.ts';
import { countRows } from '../../../../src/client/rows.ts';
import { describeTable, listIndexes } from '../../../../src/client/tables.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import { useClient } from '../../api.ts';
import { ErrorBox } from '../../parts/error-box.tsx';
import { formatCount } from '../../parts/format.ts';
import { Skeleton } from '../../parts/states.tsx';
import { useLoad } from '../../parts/use-load.ts';
import { branchOf, schemaOf } from '../described-table.ts';
import type { DescribedTable } from '../described-table.ts';

interface RestoreLossesProps {
  readonly table: DescribedTable;
  readonly version: number;
}

/** What the latest version has and the one to restore lacks. */
export function RestoreLosses({ table, version }: RestoreLossesProps): JSX.Element {
  const client = useClient();
  const { path, at } = table;
  const { value, error } = useLoad(async () => {
    const on = branchOf(table);
    const [latest, restored] = await Promise.all([
      readContents(client, path, on),
      readContents(client, path, { ...on, version }),
    ]);
    return { latest, restored };
  }, [client, path.join('/'), at.branch, version]);
  if (error !== undefined) return <ErrorBox error={error} />;
  if (value === undefined) return <Skeleton lines={2} />;
  const { latest, restored } = value;
  const columns = latest.columns.filter((name) => !restored.columns.includes(name));
  const indexes = latest.indexes.filter((name) => !restored.indexes.includes(name));
  return (
    <ul class="losses">
      <li>
        The table has {formatCount(latest.rows)} rows; it will have the {formatCount(restored.rows)} of version{' '}
        {version}. Rows that were added or changed later are reverted.
      </li>
      {columns.length === 0 ? null : <li>Columns that were added later are removed: {columns.join(', ')}.</li>}
      {indexes.length === 0 ? null : (
        <li>Indexes that were built later are removed, and have to be built again: {indexes.join(', ')}.</li>
      )}
    </ul>
  );
}

interface Contents {
  readonly rows: number;
  readonly columns: readonly string[];
  readonly indexes: readonly string[];
}

async function readContents(client: ApiClient, path: TablePath, state: State): Promise<Contents> {
  const [rows, described, indexes] = await Promise.all([
    countRows(client, path, state),
    describeTable(client, path, state),
    listIndexes(client, path, state),
  ]);
  return {
    rows,
    columns: schemaOf(described.schema).fields.map(({ name }) => name),
    indexes: indexes.map(({ index_name: name }) => name),
  };
}
