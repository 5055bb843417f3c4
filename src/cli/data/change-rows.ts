import { updateRows, deleteRows } from '../../client/rows.ts';
import { PREVIEW_OPTIONS, WHERE_OPTIONS, previewChange, requirePredicate } from './preview-change.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import type { Session } from '../client-command.ts';
import { CommandFault, EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { BRANCH_OPTION, readBranch } from '../session.ts';
import { countOf } from '../show/text.ts';

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
