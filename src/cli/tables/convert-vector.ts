import { describeTable } from '../../client/tables.ts';
import { convertToVectors, findListLength, holdsNumberLists } from '../../client/columns.ts';
import { defineTableCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import { readNumber } from '../options.ts';
import { BRANCH_OPTION, readBranch, showPath } from '../session.ts';

export const vectorCommand = defineTableCommand({
  words: ['column', 'vector'],
  names: 'COLUMN',
  summary: 'turn a column of lists of numbers into vectors, which can be searched',
  about:
    'Turns a column of lists of numbers into vectors, which can be searched. All lists must have the same length: that of the first list, or --length. Otherwise nothing changes, and the command says how many rows differ. The column becomes the last one of the table, and its indexes are dropped. "tiltyard versions restore" undoes the change.',
  options: [{ name: 'length', value: 'N', help: 'number of values of a vector' }, BRANCH_OPTION],
  examples: ['column vector products embedding', 'column vector products embedding --length 384'],
  async run({ client, table, given }, name = '') {
    const on = readBranch(given);
    const { schema } = await describeTable(client, table, on);
    const field = schema?.fields.find((each) => each.name === name);
    if (field === undefined) {
      const names = schema?.fields.map((each) => each.name).join(', ') ?? '';
      throw new UsageError(`${showPath(table)} has no column ${name}. Its columns are ${names}.`);
    }
    if (!holdsNumberLists(field)) {
      throw new UsageError(`${name} has the type ${field.type.type}. Only lists of numbers can become vectors.`);
    }
    const length = readNumber(given, 'length', 1) ?? (await findListLength(client, table, field, on));
    if (length === undefined) {
      throw new UsageError(`${name} has no lists yet. Give the number of values of a vector with --length.`);
    }
    const { version } = await convertToVectors(client, table, field, { length, ...on });
    const text = `Converted ${name} of ${showPath(table)} to vectors of ${length} values, version ${version}.\nCreate an index for fast searches: tiltyard index create ${showPath(table)} ${name}\n`;
    return { reply: { column: name, length, version }, text };
  },
});
