import { updateRows, deleteRows, countRows, queryRows } from '../../client/rows.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault, EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { BRANCH_OPTION, readBranch, hasConsent } from '../session.ts';
import { countOf } from '../show/text.ts';
import type { JsonRow } from '../../client/rows.ts';
import type { TablePath } from '../../model/identifier.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { toJsonText } from '../access/grants.ts';
import type { Option } from '../options.ts';
import { drawRows } from '../show/draw-rows.ts';

export const PREVIEW_OPTIONS: readonly Option[] = [
  { name: 'preview', help: 'show the rows that would change, then ask' },
  { name: 'yes', short: 'y', help: 'after the preview, do it without being asked' },
];

export const WHERE_OPTIONS: readonly Option[] = [
  { name: 'where', value: 'SQL', help: 'the rows for which this is true' },
  { name: 'all', help: 'all rows, in place of --where' },
];

export const updateCommand: Command = defineClientCommand({
  words: ['update'],
  names: 'TABLE',
  summary: 'update rows with SQL expressions; --preview shows them before and after',
  about: 'Sets columns of the chosen rows. The expressions see the values of the row before the update.',
  options: [
    { name: 'set', value: 'COLUMN=SQL', repeats: true, help: 'the new value of a column; may be repeated' },
    ...WHERE_OPTIONS,
    ...PREVIEW_OPTIONS,
    BRANCH_OPTION,
  ],
  examples: [
    `update orders --set "price=price * 1.1" --where "city = 'Oslo'" --preview`,
    `update orders --set "state='done'" --set closed=true --where "id in (1, 2)"`,
  ],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const assignments = requireAssignments(session);
    const predicate = requirePredicate(session);
    const branch = readBranch(given);
    if (
      given.has('preview') &&
      !(await previewChange(session, table, { predicate, branch, assignments, verb: 'Update' }))
    ) {
      return EXIT.done;
    }
    const reply = await updateRows(client, table, {
      updates: assignments.map(([path, sql]) => [path, sql]),
      ...(predicate === undefined ? {} : { predicate }),
      ...branch,
    });
    const shown = `${countOf(reply.updated_rows, 'row')} of ${showPath(table)} updated, version ${reply.version}.\n`;
    return answer(session, reply, shown);
  },
});

/** What --set asks for. */
export function requireAssignments({ given, sqlTexts }: Session): readonly (readonly [path: string, sql: string])[] {
  const assignments = given.values('set').map((text) => {
    const [path = '', sql] = text.split(/=(.*)/s, 2);
    if (path.trim() === '' || sql === undefined) {
      throw new CommandFault([`--set must be COLUMN=SQL, such as "price=price * 2", not "${text}".`]);
    }
    return [path.trim(), sql.trim()] as const;
  });
  if (assignments.length === 0) throw new CommandFault(['Say what to change with --set COLUMN=SQL.']);
  for (const [index, [, sql]] of assignments.entries()) sqlTexts.set(`updates[${index}] expression`, sql);
  return assignments;
}

export const deleteCommand: Command = defineClientCommand({
  words: ['delete'],
  names: 'TABLE',
  summary: 'delete rows; --preview shows them first',
  options: [...WHERE_OPTIONS, ...PREVIEW_OPTIONS, BRANCH_OPTION],
  examples: [`delete orders --where "made < timestamp '2020-01-01'" --preview`, 'delete orders --where "id = 7"'],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const predicate = requirePredicate(session);
    const branch = readBranch(given);
    if (given.has('preview') && !(await previewChange(session, table, { predicate, branch, verb: 'Delete' }))) {
      return EXIT.done;
    }
    const reply = await deleteRows(client, table, { predicate: predicate ?? 'true', ...branch });
    const shown = `${countOf(reply.num_deleted_rows, 'row')} of ${showPath(table)} deleted, version ${reply.version}.\n`;
    return answer(session, reply, shown);
  },
});

const ROWS_SHOWN = 10;

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
