import { defined } from '../../client/api-client.ts';
import type { ClientError } from '../../client/client-error.ts';
import {
  alterColumns,
  convertToVectors,
  dropColumns,
  findListLength,
  holdsNumberLists,
  updateFieldMetadata,
} from '../../client/columns.ts';
import { describeTable } from '../../client/tables.ts';
import { addColumns, startBackfill } from '../../client/views.ts';
import type { AddColumnsBody, AlterColumnsBody } from '../../wire/columns.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber } from '../options.ts';
import type { Given } from '../options.ts';
import { BRANCH_OPTION, YES_OPTION, confirm, followJob, readBranch, showPath } from '../session.ts';
import type { Result, TableSession } from '../session.ts';
import { countOf } from '../show/text.ts';

const TYPE_HELP = 'such as int64, string, float32[128], string[] or timestamp:us:UTC';

export const columnCommands: readonly Command[] = [
  defineTableCommand({
    words: ['column', 'add'],
    names: 'COLUMN',
    summary: 'add a column: computed by SQL, calculated once, or empty',
    about:
      'Adds a column in one of three ways. --computed stores an SQL expression with the table: rows written later get its value, and --fill computes the existing rows too. --expression calculates the existing rows once. --type adds a column of nulls.',
    options: [
      { name: 'computed', value: 'SQL', help: 'expression that the table stores and applies to new rows' },
      { name: 'expression', value: 'SQL', help: 'expression that is calculated once, for the existing rows' },
      { name: 'type', value: 'TYPE', help: `type of a column of nulls, ${TYPE_HELP}` },
      { name: 'fill', help: 'with --computed, compute the existing rows too, and wait' },
      BRANCH_OPTION,
    ],
    examples: [
      "column add orders total --computed 'price * quantity' --fill",
      'column add orders state --expression "\'new\'"',
      'column add orders note --type string',
    ],
    advice: adviseOnType,
    async run(session, name = '') {
      const { client, table, given } = session;
      const column = readNewColumn(given, name);
      const reply = await addColumns(client, table, { new_columns: [column], ...readBranch(given) });
      if (given.has('fill')) return fill(session, name, notFilled(showPath(table), name));
      return { reply, text: `Added the column ${name} to ${showPath(table)}, version ${reply.version}.\n` };
    },
  }),
  defineTableCommand({
    words: ['column', 'fill'],
    names: 'COLUMN',
    summary: 'fill a computed column in the existing rows',
    options: [{ name: 'where', value: 'SQL', help: 'fill only rows that match this condition' }, BRANCH_OPTION],
    examples: ['column fill orders total', "column fill orders total --where 'id < 1000'"],
    run: async (session, name = '') => fill(session, name),
  }),
  defineTableCommand({
    words: ['column', 'rename'],
    names: 'COLUMN NEW_NAME',
    summary: 'rename a column',
    about: 'Renames a column or a field of a struct. NEW_NAME is the name alone, without the path.',
    options: [BRANCH_OPTION],
    examples: ['column rename orders made created_at', 'column rename orders address.zip postcode'],
    run: async (session, path = '', rename = '') =>
      alter(session, { path, rename }, `Renamed ${path} to ${rename} in ${showPath(session.table)}`),
  }),
  defineTableCommand({
    words: ['column', 'type'],
    names: 'COLUMN TYPE',
    summary: 'change the type of a column',
    about: `Rewrites the column with another type, ${TYPE_HELP}. A value that does not fit the new type is refused, and nothing changes.`,
    options: [BRANCH_OPTION],
    examples: ['column type orders id int64', 'column type pictures vector float16[768]'],
    advice: adviseOnType,
    run: async (session, path = '', type = '') =>
      alter(session, { path, data_type: toDataType(type) }, `Changed ${path} of ${showPath(session.table)} to ${type}`),
  }),
  defineTableCommand({
    words: ['column', 'nullable'],
    names: 'COLUMN yes|no',
    summary: 'allow or forbid nulls in a column',
    options: [BRANCH_OPTION],
    examples: ['column nullable orders note yes', 'column nullable orders id no'],
    async run(session, path = '', word = '') {
      if (word !== 'yes' && word !== 'no') throw new UsageError(`Give "yes" or "no", not "${word}".`);
      const nullable = word === 'yes';
      const text = `${path} of ${showPath(session.table)} ${nullable ? 'can' : 'must not'} be null`;
      return alter(session, { path, nullable }, text);
    },
  }),
  defineTableCommand({
    words: ['column', 'drop'],
    names: 'COLUMN...',
    summary: 'drop columns and their indexes',
    about:
      'Drops columns and their indexes. Earlier versions still have them: "tiltyard versions restore" brings them back.',
    options: [YES_OPTION, BRANCH_OPTION],
    examples: ['column drop orders note', 'column drop orders note state --yes'],
    async run(session, ...columns) {
      const { client, table, given } = session;
      const named = `${columns.length === 1 ? 'the column' : 'the columns'} ${columns.join(', ')}`;
      if (!(await confirm(session, `Drop ${named} of ${showPath(table)}?`))) return EXIT.failed;
      const reply = await dropColumns(client, table, { columns: [...columns], ...readBranch(given) });
      return { reply, text: `Dropped ${named} of ${showPath(table)}, version ${reply.version}.\n` };
    },
  }),
  defineTableCommand({
    words: ['column', 'metadata'],
    names: 'COLUMN',
    summary: 'set or remove metadata of a column',
    options: [
      { name: 'set', value: 'NAME=VALUE', repeats: true, help: 'set an entry; may be repeated' },
      { name: 'remove', value: 'NAME', repeats: true, help: 'remove an entry; may be repeated' },
      BRANCH_OPTION,
    ],
    examples: ['column metadata orders price --set unit=EUR', 'column metadata orders price --remove unit'],
    async run({ client, table, given }, path = '') {
      const metadata = readMetadata(given);
      const reply = await updateFieldMetadata(client, table, { updates: [{ path, metadata }], ...readBranch(given) });
      const [entries = {}] = Object.values(reply.fields);
      const shown = Object.entries(entries).map(([name, value]) => `${name}=${value}`);
      return { reply, text: `${path}: ${shown.join(', ') || 'no metadata'} (version ${reply.version})\n` };
    },
  }),
];

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

function readNewColumn(given: Given, name: string): AddColumnsBody['new_columns'][number] {
  const [computed, expression, type] = ['computed', 'expression', 'type'].map((option) => given.value(option));
  if ([computed, expression, type].filter((each) => each !== undefined).length !== 1) {
    throw new UsageError('Give one of --computed SQL, --expression SQL and --type TYPE.');
  }
  if (given.has('fill') && computed === undefined) throw new UsageError('--fill needs --computed.');
  return { name, ...defined({ computed, expression, data_type: type === undefined ? undefined : toDataType(type) }) };
}

function adviseOnType({ message }: ClientError): string | undefined {
  return message.includes('.data_type ') ? `Give a type ${TYPE_HELP}.` : undefined;
}

/**
 * Converts `T[N]` and `T[]` to the form that the server reads, and the forms of an import: `vector[N]`, `list<T>` and
 * `timestamp[us, UTC]`. Names of other types, and JSON, stay unchanged.
 */
export function toDataType(text: string): unknown {
  const [, unit, zone] = /^timestamp\[(s|ms|us|ns)(?:, ?([^\]]+))?\]$/.exec(text) ?? [];
  if (unit !== undefined) return `timestamp:${unit}${zone === undefined ? '' : `:${zone}`}`;
  const [, element] = /^list<(.+)>$/s.exec(text) ?? [];
  if (element !== undefined) return toDataType(`${element}[]`);
  if (/^vector\[\d+\]$/.test(text)) return toDataType(text.replace('vector', 'float32'));
  const [, item, length] = /^(.+)\[(\d*)\]$/s.exec(text) ?? [];
  if (item === undefined || length === undefined) return text;
  const fields = [{ name: 'item', type: toDataType(item) }];
  return length === '' ? { type: 'list', fields } : { type: 'fixed_size_list', fields, length: Number(length) };
}

type Alteration = AlterColumnsBody['alterations'][number];

async function alter({ client, table, given }: TableSession, alteration: Alteration, done: string): Promise<Result> {
  const reply = await alterColumns(client, table, { alterations: [alteration], ...readBranch(given) });
  return { reply, text: `${done}, version ${reply.version}.\n` };
}

function readMetadata(given: Given): Record<string, string | null> {
  const set = given.values('set').map((text): readonly [string, string] => {
    const [name = '', value] = text.split(/=(.*)/s, 2);
    if (name === '' || value === undefined) throw new UsageError(`--set must be NAME=VALUE, not "${text}".`);
    return [name, value];
  });
  const removed = given.values('remove').map((name) => [name, null] as const);
  if (set.length + removed.length === 0) throw new UsageError('Give --set NAME=VALUE or --remove NAME.');
  return Object.fromEntries([...set, ...removed]);
}

function notFilled(table: string, column: string): string {
  return `Added the column ${column} to ${table}, but not all of its rows are filled. Try again with: tiltyard column fill ${table} ${column}, or remove it with: tiltyard column drop ${table} ${column}`;
}

async function fill(session: TableSession, column: string, hint?: string): Promise<Result | number> {
  const { client, table, given } = session;
  const body = { column, ...defined({ where: given.value('where') }), ...readBranch(given) };
  const { job_id: id } = await startBackfill(client, table, body);
  const job = await followJob(session, id, `filling ${column}`, hint);
  if (job === undefined) return EXIT.failed;
  const fields = new Map<string, unknown>(Object.entries(job.result ?? {}));
  const rows = countOf(Number(fields.get('rows_filled') ?? 0), 'row');
  return { reply: { job_id: id, result: job.result }, text: `Filled ${column} in ${rows} of ${showPath(table)}.\n` };
}
