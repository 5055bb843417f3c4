import { deleteRows } from '../client/rows.ts';
import { PREVIEW_OPTIONS, WHERE_OPTIONS, previewChange, requirePredicate } from './change-preview.ts';
import { answer, defineClientCommand, requireTable, showPath } from './client-command.ts';
import type { Command } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { BRANCH_OPTION, readBranch } from './read-state.ts';
import { countOf } from './show/amounts.ts';

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
