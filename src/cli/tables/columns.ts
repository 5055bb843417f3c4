import { addColumns, startBackfill } from '../../client/views.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { BRANCH_OPTION, followJob, readBranch, showPath } from '../session.ts';
import type { Result, TableSession } from '../session.ts';
import { countOf } from '../show/text.ts';

export const columnCommands: readonly Command[] = [
  defineTableCommand({
    words: ['column', 'add'],
    names: 'COLUMN',
    summary: 'add a column that SQL computes from the others, or that it calculates once',
    about:
      'With --computed, rows written later are computed, and --fill computes those that are there. With --expression, the rows that are there are calculated once.',
    options: [
      { name: 'computed', value: 'SQL', help: 'expression that is stored with the table' },
      { name: 'expression', value: 'SQL', help: 'expression that is calculated once' },
      { name: 'fill', help: 'compute the rows that are there, too, and wait for it' },
      BRANCH_OPTION,
    ],
    examples: [
      "column add orders total --computed 'price * quantity' --fill",
      'column add orders state --expression "\'new\'"',
    ],
    async run(session, name = '') {
      const { client, table, given } = session;
      const [computed, expression] = [given.value('computed'), given.value('expression')];
      if ((computed === undefined) === (expression === undefined)) {
        throw new UsageError('A column is added with either --computed or --expression.');
      }
      const column = computed === undefined ? { name, expression: expression ?? '' } : { name, computed };
      const reply = await addColumns(client, table, { new_columns: [column], ...readBranch(given) });
      if (computed !== undefined && given.has('fill')) return fill(session, name);
      return { reply, text: `${showPath(table)} has the column ${name} since version ${reply.version}.\n` };
    },
  }),
  defineTableCommand({
    words: ['column', 'fill'],
    names: 'COLUMN',
    summary: 'compute a computed column in the rows that were there before it',
    options: [{ name: 'where', value: 'SQL', help: 'only rows that it is true for' }, BRANCH_OPTION],
    examples: ['column fill orders total', "column fill orders total --where 'id < 1000'"],
    run: async (session, name = '') => fill(session, name),
  }),
];

async function fill(session: TableSession, column: string): Promise<Result | number> {
  const { client, table, given } = session;
  const where = given.value('where');
  const body = { column, ...(where === undefined ? {} : { where }), ...readBranch(given) };
  const { job_id: id } = await startBackfill(client, table, body);
  const job = await followJob(session, id, `filling ${column}`);
  if (job === undefined) return EXIT.failed;
  const fields = new Map<string, unknown>(Object.entries(job.result ?? {}));
  const rows = countOf(Number(fields.get('rows_filled') ?? 0), 'row');
  return { reply: { job_id: id, result: job.result }, text: `${column} is filled in ${rows}.\n` };
}
