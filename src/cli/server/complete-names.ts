import type { ApiClient } from '../../client/api-client.ts';
import { listDatabases } from '../../client/access.ts';
import { describeTable, listIndexes, listNamespaces, listTables } from '../../client/tables.ts';
import { listColumns } from '../../plans/table-facts.ts';
import { OPTIONS_SLOT } from '../client-command.ts';
import type { Command, Terminal } from '../command.ts';
import { findServer } from '../find-server.ts';
import { readArguments } from '../options.ts';
import { requireTable, showPath } from '../session.ts';

/** A shell waits this long when the tab key is pressed. */
const ANSWER_SECONDS_MAX = 2;
const NAMES_MAX = 500;
/** Other names would need quotes. */
const PLAIN_NAME = /^[\p{L}\p{N}_./:@+-]+$/u;

/** The names that may follow the words of a command line. Empty if the server does not respond, or on any error. */
export async function completeNames(words: readonly string[], command: Command, terminal: Terminal): Promise<string[]> {
  try {
    const found: string[] = [];
    for await (const name of namesFor(words, command, terminal)) {
      if (PLAIN_NAME.test(name)) found.push(name);
      if (found.length >= NAMES_MAX) break;
    }
    return found;
  } catch {
    return [];
  }
}

async function* namesFor(words: readonly string[], command: Command, terminal: Terminal): AsyncGenerator<string> {
  const { options = [] } = command;
  const argv = words.slice(command.words.length);
  const last = argv.at(-1) ?? '';
  const option = options.find(({ name, value }) => value !== undefined && last === `--${name}`);
  const given = readArguments(option === undefined ? argv : argv.slice(0, -1), options);
  const slot = option?.value ?? slotsOf(command)[given.names.length] ?? '';
  const { client } = findServer(given, terminal, { answerSecondsMax: ANSWER_SECONDS_MAX });
  const word = slot.replaceAll(/[[\].]/g, '');
  if (word === 'TABLE') for await (const table of listTables(client)) yield showPath(table);
  else if (word === 'NAMESPACE') yield* namespacesOf(client);
  else if (option?.name === 'database' || word === 'DATABASE') {
    for (const { name } of await listDatabases(client)) yield name;
  } else if (/^COLUMNS?(=SQL)?$/.test(word)) {
    const { schema } = await describeTable(client, requireTable(given));
    for (const { path } of listColumns(schema)) yield path;
  } else if (word === 'INDEX') {
    for (const { index_name: name } of await listIndexes(client, requireTable(given))) yield name;
  }
}

async function* namespacesOf(client: ApiClient): AsyncGenerator<string> {
  for await (const namespace of listNamespaces(client)) yield showPath(namespace);
}

/** `TABLE COLUMN [options]` has two slots. A last slot with dots may be repeated. */
function slotsOf({ usage }: Command): Readonly<Record<number, string>> & { readonly length: number } {
  const words = usage.split(' ');
  const end = words.indexOf(OPTIONS_SLOT);
  const slots = end < 0 ? words : words.slice(0, end);
  const repeated = slots.at(-1)?.endsWith('...') === true ? Array<string>(NAMES_MAX).fill(slots.at(-1) ?? '') : [];
  return [...slots, ...repeated];
}
