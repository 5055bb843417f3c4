import { nearNameHint } from '../config/sources/names.ts';
import { ERROR_KINDS, ServiceError } from '../errors/service-error.ts';
import { readRelease } from '../release.ts';
import { toJsonText, grantCommands } from './access/grants.ts';
import { branchCommands } from './versions/branches.ts';
import { clientCommands, keyCommands } from './access/credentials.ts';
import { CommandFault, EXIT } from './command.ts';
import type { Command, Terminal } from './command.ts';
import { completionCommand } from './server/completion.ts';
import { configCommand, serveCommand } from './server/serve.ts';
import { databaseCommands } from './access/databases.ts';
import { deleteCommand, updateCommand } from './data/change-rows.ts';
import { describeCommand } from './tables/describe.ts';
import { indexCommands } from './versions/indexes.ts';
import { namespaceCommands } from './tables/namespaces.ts';
import { optimizeCommand, lifecycleCommands, tablesCommand } from './tables/tables.ts';
import { planCommand } from './data/plan.ts';
import { queryCommand } from './data/query.ts';
import { doctorCommand } from './server/doctor.ts';
import { benchCommand } from './bench/bench.ts';
import { backupCommand } from './files/backup.ts';
import { exportCommand } from './files/export.ts';
import { importCommand } from './files/import.ts';
import { restoreCommand } from './files/restore.ts';
import { signingKeyCommands } from './access/signing-keys.ts';
import { tagCommands } from './versions/tags.ts';
import { versionCommands } from './versions/versions.ts';

/** Commands that belong together, as help shows them. */
interface CommandGroup {
  readonly title: string;
  readonly commands: readonly Command[];
}

/** Every command there is; help, completion and `docs/commands.md` come from this list. */
export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    title: 'The server',
    commands: [serveCommand, configCommand, doctorCommand, benchCommand, completionCommand(() => COMMANDS)],
  },
  {
    title: 'Tables, on a running server',
    commands: [
      tablesCommand,
      describeCommand,
      queryCommand,
      planCommand,
      updateCommand,
      deleteCommand,
      ...lifecycleCommands,
      optimizeCommand,
      ...indexCommands,
      ...versionCommands,
      ...tagCommands,
      ...branchCommands,
      ...namespaceCommands,
    ],
  },
  { title: 'Files in and out', commands: [importCommand, exportCommand, backupCommand, restoreCommand] },
  {
    title: 'Access, in the data folder',
    commands: [...keyCommands, ...clientCommands, ...grantCommands, ...databaseCommands, ...signingKeyCommands],
  },
];

const COMMANDS: readonly Command[] = COMMAND_GROUPS.flatMap(({ commands }) => commands);

/** Picks a command by the words in front, runs it, and gives the exit code. */
export async function runCommand(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv[0] === 'help') return showHelp(argv.slice(1), terminal);
  if (argv.some((word) => word === '--help' || word === '-h')) return showHelp(argv, terminal);
  if (argv[0] === '--version' || argv[0] === 'version') {
    terminal.out(`${readRelease()}\n`);
    return 0;
  }
  const command = findCommand(argv);
  if (command === undefined) {
    terminal.err(argv.length === 0 ? overview() : noCommand(argv));
    return EXIT.usage;
  }
  try {
    return await command.run(argv.slice(command.words.length), terminal);
  } catch (error) {
    return report(error, terminal, argv.includes('--json'));
  }
}

function showHelp(argv: readonly string[], terminal: Terminal): number {
  const words = argv.filter((word) => !word.startsWith('-'));
  const command = findCommand(words);
  const family = familyOf(words[0]);
  if (command === undefined && words.length > 0 && family.length === 0) {
    terminal.err(noCommand(words));
    return EXIT.usage;
  }
  if (command !== undefined) terminal.out(`tiltyard ${command.words.join(' ')} ${command.usage}\n\n${command.help}\n`);
  else terminal.out(words.length === 0 ? overview() : commandLines(family));
  return EXIT.done;
}

/** Of `versions` and `versions restore`, the one that says more. */
function findCommand(argv: readonly string[]): Command | undefined {
  const fitting = COMMANDS.filter(({ words }) => words.every((word, index) => argv[index] === word));
  return fitting.toSorted((one, other) => other.words.length - one.words.length)[0];
}

/** `tag` alone means one of a family; anything else may be a slip. */
function noCommand(argv: readonly string[]): string {
  const family = familyOf(argv[0]);
  if (family.length > 0) return `tiltyard: Say what to do with a ${argv[0]}:\n\n${commandLines(family)}`;
  const words = [...new Set(COMMANDS.map((command) => command.words[0] ?? ''))];
  const near = nearNameHint(argv[0] ?? '', words);
  return `tiltyard: There is no command "${argv[0]}".${near} "tiltyard help" lists them all.\n`;
}

/** The commands that begin with this word, where there are more of them. */
function familyOf(word: string | undefined): readonly Command[] {
  return COMMANDS.filter(({ words }) => words.length > 1 && words[0] === word);
}

function report(error: unknown, terminal: Terminal, isJson: boolean): number {
  const known = explain(error);
  if (known === undefined) throw error;
  const { faults, code } = known;
  if (isJson) terminal.err(toJsonText({ error: { message: faults.join(' ') } }));
  else terminal.err(faults.map((fault) => `tiltyard: ${fault}\n`).join(''));
  return code;
}

/** `undefined`: a fault of ours, whose trace is wanted. */
function explain(error: unknown): { readonly faults: readonly string[]; readonly code: number } | undefined {
  if (error instanceof CommandFault) return { faults: error.faults, code: EXIT.usage };
  if (error instanceof ServiceError) {
    const isMissing = ERROR_KINDS[error.kind].status === 404;
    return { faults: [error.detail], code: isMissing ? EXIT.missing : EXIT.failed };
  }
  if (!isSystemError(error)) return undefined;
  const isMissing = error.code === 'ENOENT';
  return { faults: [systemFault(error)], code: isMissing ? EXIT.missing : EXIT.failed };
}

/** A folder that is a file, a disk that is full: the operator's to mend, so that a stack trace would tell nothing more. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error;
}

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'may not be read or written by this user',
  EPERM: 'may not be read or written by this user',
  EISDIR: 'is a folder, and a file is wanted',
  ENOTDIR: 'is below a file, where a folder is wanted',
  ENOSPC: 'cannot be written: the disk is full',
  EROFS: 'cannot be written: the disk is read-only',
};

function systemFault({ code, path, message }: NodeJS.ErrnoException): string {
  const fault = SYSTEM_FAULTS[code ?? ''];
  return fault === undefined || path === undefined ? message : `${path} ${fault}.`;
}

function overview(): string {
  const groups = COMMAND_GROUPS.map(({ title, commands }) => `${title}:\n${commandLines(commands)}`);
  return [
    `Tiltyard ${readRelease()}, the open server for Lance tables`,
    '',
    ...groups,
    'Add --help to a command to see what it takes. Every setting is a flag, a variable and a key of the --config file:',
    'see "tiltyard config" and docs/settings.md.',
    '',
  ].join('\n');
}

function commandLines(commands: readonly Command[]): string {
  const width = Math.max(...COMMANDS.map((command) => command.words.join(' ').length));
  return commands.map(({ words, summary }) => `  tiltyard ${words.join(' ').padEnd(width)}  ${summary}\n`).join('');
}
