import { nearNameHint } from '../config/sources/names.ts';
import { ERROR_KINDS, ServiceError } from '../errors/service-error.ts';
import { readRelease } from '../release.ts';
import { clientCommands, keyCommands } from './access/credentials.ts';
import { databaseCommands } from './access/databases.ts';
import { grantCommands } from './access/grants.ts';
import { quotaCommands, usageCommand } from './access/quotas.ts';
import { signingKeyCommands } from './access/signing-keys.ts';
import { whoamiCommand } from './access/whoami.ts';
import { benchCommand } from './bench/bench.ts';
import { EXIT, UsageError, toJsonText } from './command.ts';
import type { Command, Terminal } from './command.ts';
import { deleteCommand, updateCommand } from './data/change-rows.ts';
import { planCommand } from './data/plan.ts';
import { queryCommand } from './data/query.ts';
import { demoCommand } from './demo/demo.ts';
import { backupCommand } from './files/backup.ts';
import { webhookCommands } from './events/webhooks.ts';
import { exportCommand } from './files/export.ts';
import { importCommand } from './files/import.ts';
import { restoreCommand } from './files/restore.ts';
import { upsertCommand } from './files/upsert.ts';
import { copyCatalogCommand } from './server/copy-catalog.ts';
import { completionCommand } from './server/completion.ts';
import { doctorCommand } from './server/doctor.ts';
import { nodesCommand } from './server/nodes.ts';
import { configCommand, serveCommand } from './server/serve.ts';
import { columnCommands, vectorCommand } from './tables/columns.ts';
import { describeCommand } from './tables/describe.ts';
import { embeddingCommand } from './tables/embedding.ts';
import { namespaceCommands } from './tables/namespaces.ts';
import { viewCommands } from './tables/views.ts';
import { dropCommand, managedCommand, optimizeCommand, renameCommand, tablesCommand } from './tables/tables.ts';
import { diffCommand } from './versions/diff.ts';
import { branchCommands, tagCommands, versionCommands } from './versions/history.ts';
import { indexCommands } from './versions/indexes.ts';

/** All commands; help, completion and `docs/commands.md` are generated from this list. */
export const COMMAND_GROUPS: readonly { readonly title: string; readonly commands: readonly Command[] }[] = [
  {
    title: 'Server',
    commands: [
      serveCommand,
      demoCommand,
      configCommand,
      doctorCommand,
      nodesCommand,
      copyCatalogCommand,
      benchCommand,
      completionCommand(() => ({ all: COMMANDS, find: findCommand })),
    ],
  },
  {
    title: 'Tables',
    commands: [
      tablesCommand,
      describeCommand,
      queryCommand,
      planCommand,
      updateCommand,
      deleteCommand,
      dropCommand,
      renameCommand,
      optimizeCommand,
      managedCommand,
      ...columnCommands,
      vectorCommand,
      embeddingCommand,
      ...viewCommands,
      ...indexCommands,
      ...versionCommands,
      diffCommand,
      ...tagCommands,
      ...branchCommands,
      ...namespaceCommands,
      ...webhookCommands,
      usageCommand,
    ],
  },
  { title: 'Files', commands: [importCommand, upsertCommand, exportCommand, backupCommand, restoreCommand] },
  {
    title: 'Access',
    commands: [
      whoamiCommand,
      ...keyCommands,
      ...clientCommands,
      ...grantCommands,
      ...quotaCommands,
      ...databaseCommands,
      ...signingKeyCommands,
    ],
  },
];

const COMMANDS: readonly Command[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);

/** Selects a command by its words, runs it, and returns the exit code. */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv[0] === 'help') return showHelp(argv.slice(1), terminal);
  // After `--`, all words are names.
  const options = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  if (options.some((word) => word === '--help' || word === '-h')) return showHelp(argv, terminal);
  if (argv[0] === '--version' || argv[0] === 'version') {
    terminal.out(`${readRelease()}\n${await describeEngine()}\n`);
    return EXIT.done;
  }
  const command = findCommand(argv);
  if (command === undefined) {
    terminal.err(argv.length === 0 ? overview() : unknownCommand(argv));
    return EXIT.usage;
  }
  try {
    return await command.run(argv.slice(command.words.length), terminal);
  } catch (error) {
    return report(error, terminal, argv.includes('--json'));
  }
}

async function describeEngine(): Promise<string> {
  const { findEngine } = await import('../app/installed-engine.ts');
  try {
    const { version, isFallback } = findEngine();
    return `engine ${version}${isFallback ? ' (fallback)' : ''}`;
  } catch {
    return 'engine not installed';
  }
}

function showHelp(argv: readonly string[], terminal: Terminal): number {
  const words = argv.filter((word) => !word.startsWith('-'));
  const command = findCommand(words);
  const family = familyOf(words[0]);
  if (command !== undefined) terminal.out(`tiltyard ${command.words.join(' ')} ${command.usage}\n\n${command.help}\n`);
  else if (words.length === 0) terminal.out(overview());
  else if (family.length > 0) terminal.out(commandLines(family));
  else {
    terminal.err(unknownCommand(words));
    return EXIT.usage;
  }
  return EXIT.done;
}

/** Of `versions` and `versions restore`, the one with more words. */
function findCommand(argv: readonly string[]): Command | undefined {
  const fitting = COMMANDS.filter(({ words }) => words.every((word, index) => argv[index] === word));
  return fitting.toSorted((one, other) => other.words.length - one.words.length)[0];
}

/** `tag` alone is the first word of several commands; anything else may be a typo. */
function unknownCommand([word = '', second]: readonly string[]): string {
  const family = familyOf(word);
  if (family.length > 0) {
    const isTyped = second !== undefined && !second.startsWith('-');
    const fault = isTyped ? `There is no command "${word} ${second}":` : `"${word}" needs one more word:`;
    return `tiltyard: ${fault}\n\n${commandLines(family)}`;
  }
  const known = [...new Set(COMMANDS.map(({ words }) => words[0] ?? ''))];
  return `tiltyard: The command "${word}" does not exist.${nearNameHint(word, known)} Run "tiltyard help" to list all commands.\n`;
}

/** The commands of several words that begin with this one. */
function familyOf(word: string | undefined): readonly Command[] {
  return COMMANDS.filter(({ words }) => words.length > 1 && words[0] === word);
}

function report(error: unknown, terminal: Terminal, isJson: boolean): number {
  const { messages, code } = explain(error);
  if (isJson) terminal.err(toJsonText({ error: { message: messages.join(' ') } }));
  else terminal.err(messages.map((message) => `tiltyard: ${message}\n`).join(''));
  return code;
}

/** Rethrows anything else: it is a bug, and its stack trace is needed. */
function explain(error: unknown): { readonly messages: readonly string[]; readonly code: number } {
  if (error instanceof UsageError) return { messages: error.messages, code: EXIT.usage };
  if (error instanceof ServiceError) {
    const isMissing = ERROR_KINDS[error.kind].status === 404;
    return { messages: [error.detail], code: isMissing ? EXIT.missing : EXIT.failed };
  }
  if (!isSystemError(error)) throw error;
  const { code = '', path, message } = error;
  const reason = SYSTEM_ERRORS[code];
  const text = reason === undefined || path === undefined ? message : `${path} ${reason}.`;
  return { messages: [text], code: code === 'ENOENT' ? EXIT.missing : EXIT.failed };
}

/** Errors for the operator to fix, such as a full disk, which need no stack trace. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EACCES: 'cannot be read or written: permission denied',
  EPERM: 'cannot be read or written: permission denied',
  EISDIR: 'is a folder, not a file',
  ENOTDIR: 'is inside a file, not a folder',
  ENOSPC: 'cannot be written: the disk is full',
  EROFS: 'cannot be written: the disk is read-only',
};

function overview(): string {
  const groups = COMMAND_GROUPS.map(({ title, commands }) => `${title}:\n${commandLines(commands)}`);
  return [
    `Tiltyard ${readRelease()}, the open server for Lance tables`,
    '',
    ...groups,
    'Run "tiltyard COMMAND --help" for its options and examples. "tiltyard config" lists the settings of the server.',
    '',
  ].join('\n');
}

function commandLines(commands: readonly Command[]): string {
  const width = Math.max(...COMMANDS.map((command) => command.words.join(' ').length));
  return commands.map(({ words, summary }) => `  tiltyard ${words.join(' ').padEnd(width)}  ${summary}\n`).join('');
}
