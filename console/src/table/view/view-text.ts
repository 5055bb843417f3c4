import type { TablePath } from '../../../../src/model/identifier.ts';
import { formatCount } from '../../parts/format.ts';
import type { DescribeViewReply } from '../../../../src/wire/views.ts';

/** The definition as it could have been entered. */
export function toSelect({ columns, filter, limit, ...view }: DescribeViewReply): string {
  const items = Object.entries(columns).map(([name, sql]) =>
    sql === name || sql === `\`${name}\`` ? quoted(name) : `${sql} AS ${quoted(name)}`,
  );
  return [
    `SELECT ${items.join(', ')}`,
    `FROM ${toFrom(sourceOf(view))}`,
    ...(filter === undefined ? [] : [`WHERE ${filter}`]),
    ...(limit === undefined ? [] : [`LIMIT ${limit}`]),
  ].join('\n');
}

export function toFrom(table: TablePath): string {
  return table.map(quoted).join('.');
}

function quoted(name: string): string {
  return /^[a-z_]\w*$/i.test(name) ? name : `\`${name.replaceAll('`', '``')}\``;
}

/** From its separate names: a joined text could not be distinguished from a name that contains the delimiter. */
export function sourceOf({
  source_namespace: namespace,
  source_table: name,
}: Pick<DescribeViewReply, 'source_namespace' | 'source_table'>): TablePath {
  const [first, ...rest] = namespace;
  return first === undefined ? [name] : [first, ...rest, name];
}

type Refresh = Pick<DescribeViewReply, 'refresh' | 'refresh_seconds'>;

export function refreshWords({ refresh, refresh_seconds: seconds = 0 }: Refresh): string {
  if (refresh === 'on_change') return 'on change';
  return refresh === 'schedule' ? `every ${formatCount(seconds)} s` : 'manual';
}
