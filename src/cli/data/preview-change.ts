import type { JsonRow } from '../../client/exact-json.ts';
import { countRows, queryRows } from '../../client/rows.ts';
import type { TablePath } from '../../model/identifier.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { toJsonText } from '../access/grant-options.ts';
import type { Session } from '../client-command.ts';
import { CommandFault } from '../command.ts';
import { hasConsent } from '../session.ts';
import type { Option } from '../options.ts';
import { countOf } from '../show/text.ts';
import { drawRows } from '../show/draw-rows.ts';

const ROWS_SHOWN = 10;

export const PREVIEW_OPTIONS: readonly Option[] = [
  { name: 'preview', help: 'show the rows that would change, then ask' },
  { name: 'yes', short: 'y', help: 'after the preview, do it without being asked' },
];

export const WHERE_OPTIONS: readonly Option[] = [
  { name: 'where', value: 'SQL', help: 'the rows for which this is true' },
  { name: 'all', help: 'all rows, in place of --where' },
];

/** Which rows a change is about; all of them only when that is said. */
export function requirePredicate({ given, sqlTexts }: Session): string | undefined {
  const where = given.value('where');
  if ((where === undefined) === !given.has('all')) {
    throw new CommandFault(['Say which rows: --where SQL, or --all for every row.']);
  }
  if (where === undefined) return undefined;
  sqlTexts.set('predicate', where);
  sqlTexts.set('filter', where);
  return where;
}

export interface Change {
  readonly predicate: string | undefined;
  readonly branch: { readonly branch?: string };
  /** What is shown of each row; the whole row when absent. */
  readonly assignments?: readonly (readonly [path: string, sql: string])[];
  readonly verb: 'Update' | 'Delete';
}

/** Shows what would change. Whether to go on: yes, no, or there is nobody to ask and nothing else to do. */
export async function previewChange(session: Session, table: TablePath, change: Change): Promise<boolean> {
  const { client, terminal, isJson, canvas } = session;
  const where = change.predicate === undefined ? {} : { predicate: change.predicate };
  const count = await countRows(client, table, { ...where, ...change.branch });
  const rows = await queryRows(client, table, toQuery(session, change));
  const isAsked = session.given.has('yes') || terminal.ask !== undefined;
  if (isJson && !session.given.has('yes')) {
    terminal.out(toJsonText({ preview: { num_rows: count, rows: rows.map(exactRow) } }));
    return false;
  }
  terminal.err(drawRows(rows, canvas));
  if (count > rows.length) terminal.err(`… and ${countOf(count - rows.length, 'row')} more\n`);
  if (count === 0) terminal.err('No row is like that.\n');
  if (!isAsked) terminal.err(`${countOf(count, 'row')} would change. Nothing was changed: add --yes to do it.\n`);
  if (count === 0 || !isAsked) return false;
  return hasConsent(session, `${change.verb} ${countOf(count, 'row')}?`);
}

function toQuery({ sqlTexts }: Session, { predicate, branch, assignments }: Change): QueryTableBody {
  const filter = predicate === undefined ? {} : { filter: predicate };
  const columns = assignments === undefined ? {} : { columns: { column_aliases: toAliases(assignments, sqlTexts) } };
  return { ...branch, ...filter, ...columns, k: ROWS_SHOWN, with_row_id: assignments !== undefined };
}

/** Each column as it is and as it would be: an update's expression sees the row before, as a projection does. */
function toAliases(
  assignments: NonNullable<Change['assignments']>,
  sqlTexts: Map<string, string>,
): Record<string, string> {
  const aliases: Record<string, string> = {};
  for (const [path, sql] of assignments) {
    aliases[path] = path;
    aliases[`${path} (new)`] = sql;
    sqlTexts.set(`columns.column_aliases[${quoteForMessage(`${path} (new)`)}]`, sql);
  }
  return aliases;
}

function exactRow(row: JsonRow): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? String(value) : value]),
  );
}
