import { parseFieldPath, sqlFieldReference } from '../../../src/model/field-path.ts';
import type { ColumnFact } from '../../../src/plans/table-facts.ts';

export interface Assignment {
  readonly path: string;
  readonly expression: string;
}

export interface ChangeForm {
  readonly kind: 'update' | 'delete';
  readonly assignments: readonly Assignment[];
  /** Empty: all rows, which a delete refuses. */
  readonly where: string;
  /** Empty: the main branch. */
  readonly branch: string;
}

/** In the URL: `set=price:price * 2`, with the path before the first colon. */
export function readChange(query: URLSearchParams): ChangeForm {
  const assignments = query.getAll('set').map((text) => {
    const colon = text.indexOf(':');
    return { path: text.slice(0, Math.max(0, colon)), expression: text.slice(colon + 1) };
  });
  return {
    kind: query.get('kind') === 'delete' ? 'delete' : 'update',
    assignments: assignments.length === 0 ? [{ path: '', expression: '' }] : assignments,
    where: query.get('where') ?? '',
    branch: query.get('branch') ?? '',
  };
}

export function toChangeQuery({ kind, assignments, where, branch }: ChangeForm): string {
  const query = new URLSearchParams();
  if (kind === 'delete') query.set('kind', kind);
  else for (const { path, expression } of assignments) query.append('set', `${path}:${expression}`);
  if (where !== '') query.set('where', where);
  if (branch !== '') query.set('branch', branch);
  return query.toString();
}

export function branchOf({ branch }: ChangeForm): { readonly branch?: string } {
  return branch === '' ? {} : { branch };
}

/** What is missing; `undefined` if the form is complete. */
export function findGap({ kind, assignments, where }: ChangeForm): string | undefined {
  if (kind === 'delete') return where.trim() === '' ? 'Enter a condition that selects the rows to delete.' : undefined;
  const isWhole = assignments.every(({ path, expression }) => path !== '' && expression.trim() !== '');
  return isWhole ? undefined : 'Choose a column and enter its new value.';
}

export function beforeOf(path: string): string {
  return sqlFieldReference(parseFieldPath(path));
}

const SQL_TYPES: Readonly<Record<string, string>> = {
  int8: 'TINYINT',
  int16: 'SMALLINT',
  int32: 'INT',
  int64: 'BIGINT',
  float32: 'FLOAT',
  float64: 'DOUBLE',
  utf8: 'VARCHAR',
  bool: 'BOOLEAN',
};

/** The value that an update would store, cast to the type of the column where SQL has the type. */
export function afterOf({ path, expression }: Assignment, columns: readonly ColumnFact[]): string {
  const type = SQL_TYPES[columns.find((column) => column.path === path)?.type.type ?? ''];
  return type === undefined ? expression : `CAST((${expression}) AS ${type})`;
}
