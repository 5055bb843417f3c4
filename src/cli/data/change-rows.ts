import { defined } from '../../client/api-client.ts';
import { countRows, deleteRows, queryRows, updateRows } from '../../client/rows.ts';
import { describeTable } from '../../client/tables.ts';
import { parseFieldPath, sqlFieldReference } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { QueryTableBody } from '../../wire/data.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError, toJsonText } from '../command.ts';
import type { Option } from '../options.ts';
import { BRANCH_OPTION, confirm, readBranch, showPath } from '../session.ts';
import type { Session, TableSession } from '../session.ts';
import { drawRows } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';

function changeOptions(verb: 'delete' | 'update'): readonly Option[] {
  return [
    { name: 'where', value: 'SQL', help: `${verb} only rows that match this condition` },
    { name: 'all', help: `${verb} all rows; needed without --where` },
    { name: 'preview', help: `show the rows to ${verb}, then ask for confirmation` },
    { name: 'yes', short: 'y', help: 'with --preview, do not ask for confirmation' },
    BRANCH_OPTION,
  ];
}

export const updateCommand = defineTableCommand({
  words: ['update'],
  summary: 'update rows with SQL expressions',
  about:
    'Sets columns of all rows that match --where. Expressions read the values from before the update. --preview shows the rows before and after.',
  options: [
    { name: 'set', value: 'COLUMN=SQL', repeats: true, help: 'new value of a column; may be repeated' },
    ...changeOptions('update'),
  ],
  examples: [
    `update orders --set "price=price * 1.1" --where "city = 'Oslo'" --preview`,
    `update orders --set "state='done'" --set closed=true --where "id in (1, 2)"`,
  ],
  async run(session) {
    const { client, table, given } = session;
    const updates = requireAssignments(session);
    const predicate = requirePredicate(session);
    if (!(await isApproved(session, { predicate, updates, verb: 'Update' }))) return EXIT.done;
    const reply = await updateRows(client, table, { updates, ...defined({ predicate }), ...readBranch(given) });
    const rows = countOf(reply.updated_rows, 'row');
    return { reply, text: `Updated ${rows} of ${showPath(table)}, version ${reply.version}.\n` };
  },
});

export const deleteCommand = defineTableCommand({
  words: ['delete'],
  summary: 'delete rows',
  about: 'Deletes all rows that match --where. --preview shows them first.',
  options: changeOptions('delete'),
  examples: [`delete orders --where "created < timestamp '2020-01-01'" --preview`, 'delete orders --where "id = 7"'],
  async run(session) {
    const { client, table, given } = session;
    const predicate = requirePredicate(session);
    if (!(await isApproved(session, { predicate, verb: 'Delete' }))) return EXIT.done;
    const reply = await deleteRows(client, table, { predicate: predicate ?? 'true', ...readBranch(given) });
    const rows = countOf(reply.num_deleted_rows, 'row');
    return { reply, text: `Deleted ${rows} of ${showPath(table)}, version ${reply.version}.\n` };
  },
});

type Assignment = [path: string, sql: string];

export function requireAssignments({ given, sqlTexts }: Session): Assignment[] {
  const assignments = given.values('set').map((text): Assignment => {
    const [path = '', sql] = text.split(/=(.*)/s, 2);
    if (path.trim() === '' || sql === undefined) {
      throw new UsageError(`--set must be COLUMN=SQL, such as "price=price * 2", not "${text}".`);
    }
    return [path.trim(), sql.trim()];
  });
  if (assignments.length === 0) throw new UsageError('Give the new values with --set COLUMN=SQL.');
  for (const [index, [, sql]] of assignments.entries()) sqlTexts.set(`updates[${index}] expression`, sql);
  return assignments;
}

/** Selects the rows to change. Changing all of them requires --all. */
function requirePredicate({ given, sqlTexts }: Session): string | undefined {
  const where = given.value('where');
  if ((where === undefined) === !given.has('all')) {
    throw new UsageError('Choose the rows with --where SQL, or all rows with --all.');
  }
  if (where !== undefined) for (const name of ['predicate', 'filter']) sqlTexts.set(name, where);
  return where;
}

const ROWS_SHOWN = 10;

interface Change {
  readonly predicate: string | undefined;
  /** The columns that the preview shows; the whole row if absent. */
  readonly updates?: readonly Assignment[];
  readonly verb: 'Update' | 'Delete';
}

/** With --preview, shows the changes and asks. Without a terminal and --yes, only shows the preview. */
async function isApproved(session: TableSession, change: Change): Promise<boolean> {
  const { client, table, given, terminal, isJson, canvas } = session;
  if (!given.has('preview')) return true;
  const branch = readBranch(given);
  const count = await countRows(client, table, { ...defined({ predicate: change.predicate }), ...branch });
  const key = change.updates === undefined ? undefined : await findKeyColumn(session);
  const rows = await queryRows(client, table, { ...branch, ...toQuery(session, change, key) });
  if (isJson && !given.has('yes')) {
    terminal.out(toJsonText({ preview: { num_rows: count, rows } }));
    return false;
  }
  const canAsk = given.has('yes') || terminal.ask !== undefined;
  terminal.err(drawRows(rows, canvas));
  if (count > rows.length) terminal.err(`… and ${countOf(count - rows.length, 'row')} more\n`);
  if (count === 0) terminal.err('No rows match.\n');
  const [would, was, what] =
    change.verb === 'Delete' ? ['be deleted', 'deleted', 'delete'] : ['change', 'changed', 'change'];
  const next = `Nothing was ${was}: add --yes to ${what} ${count === 1 ? 'it' : 'them'}.`;
  if (!canAsk && count > 0) terminal.err(`${countOf(count, 'row')} would ${would}. ${next}\n`);
  if (count === 0 || !canAsk) return false;
  return confirm(session, `${change.verb} ${countOf(count, 'row')}?`);
}

/** The column by which people know a row; without one, the preview has row ids. */
async function findKeyColumn({ client, table, given }: TableSession): Promise<string | undefined> {
  const { schema } = await describeTable(client, table, readBranch(given));
  return schema?.fields.find(({ name }) => name === 'id')?.name;
}

/** Each column before and after: like a projection, an update's expression sees the row before the update. */
function toQuery({ sqlTexts }: Session, { predicate, updates }: Change, key: string | undefined): QueryTableBody {
  const aliases: Record<string, string> = key === undefined ? {} : { [key]: key };
  for (const [path, sql] of updates ?? []) {
    aliases[path] = sqlFieldReference(parseFieldPath(path));
    aliases[`${path} (new)`] = sql;
    sqlTexts.set(`columns.column_aliases[${quoteForMessage(`${path} (new)`)}]`, sql);
  }
  const columns = updates === undefined ? undefined : { column_aliases: aliases };
  return {
    ...defined({ filter: predicate, columns }),
    k: ROWS_SHOWN,
    with_row_id: updates !== undefined && key === undefined,
  };
}
