import { ServiceError } from '../errors/service-error.ts';
import { readRelease } from '../release.ts';
import { branchCommands } from './branch.ts';
import { clientCommands } from './client.ts';
import { CommandFault } from './command.ts';
import type { Command, Terminal } from './command.ts';
import { completionCommand } from './completion.ts';
import { configCommand } from './config.ts';
import { databaseCommands } from './database.ts';
import { deleteCommand } from './delete.ts';
import { describeCommand } from './describe.ts';
import { grantCommands } from './grant.ts';
import { indexCommands } from './index-commands.ts';
import { keyCommands } from './key.ts';
import { namespaceCommands } from './namespace.ts';
import { optimizeCommand } from './optimize.ts';
import { planCommand } from './plan.ts';
import { queryCommand } from './query.ts';
import { doctorCommand } from './doctor.ts';
import { EXIT } from './exit-codes.ts';
import { benchCommand } from './bench/bench.ts';
import { backupCommand } from './files/backup.ts';
import { exportCommand } from './files/export.ts';
import { importCommand } from './files/import.ts';
import { restoreCommand } from './files/restore.ts';
import { serveCommand } from './serve.ts';
import { signingKeyCommands } from './signing-key.ts';
import { lifecycleCommands } from './table-lifecycle.ts';
import { tablesCommand } from './tables.ts';
import { tagCommands } from './tag.ts';
import { updateCommand } from './update.ts';
import { versionCommands } from './versions.ts';

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
  if (argv[0] === 'help') {
    terminal.out(helpText(argv.slice(1)));
    return 0;
  }
  if (argv.some((word) => word === '--help' || word === '-h')) {
    terminal.out(helpText(argv));
    return 0;
  }
  if (argv[0] === '--version' || argv[0] === 'version') {
    terminal.out(`${readRelease()}\n`);
    return 0;
  }
  const command = findCommand(argv);
  if (command === undefined) {
    const fault = argv.length === 0 ? '' : `There is no command "${argv.slice(0, 2).join(' ')}".\n\n`;
    terminal.err(`${fault}${helpText([])}`);
    return EXIT.usage;
  }
  try {
    return await command.run(argv.slice(command.words.length), terminal);
  } catch (error) {
    return report(error, terminal);
  }
}

/** Of `versions` and `versions restore`, the one that says more. */
function findCommand(argv: readonly string[]): Command | undefined {
  const fitting = COMMANDS.filter(({ words }) => words.every((word, index) => argv[index] === word));
  return fitting.toSorted((one, other) => other.words.length - one.words.length)[0];
}

function report(error: unknown, terminal: Terminal): number {
  if (error instanceof CommandFault) {
    terminal.err(error.faults.map((fault) => `tiltyard: ${fault}\n`).join(''));
    return EXIT.usage;
  }
  if (error instanceof ServiceError) {
    terminal.err(`tiltyard: ${error.detail}\n`);
    return EXIT.failed;
  }
  if (isSystemError(error)) {
    terminal.err(`tiltyard: ${error.message}\n`);
    return EXIT.failed;
  }
  throw error;
}

/** A folder that is a file, a disk that is full: the operator's to mend, so that a stack trace would tell nothing more. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error;
}

function helpText(argv: readonly string[]): string {
  const chosen = argv.length === 0 ? undefined : findCommand(argv);
  if (chosen !== undefined) return `tiltyard ${chosen.words.join(' ')} ${chosen.usage}\n\n${chosen.help}\n`;
  const width = Math.max(...COMMANDS.map((command) => command.words.join(' ').length));
  const lines = COMMAND_GROUPS.flatMap(({ title, commands }) => [
    `${title}:`,
    ...commands.map((command) => `  tiltyard ${command.words.join(' ').padEnd(width)}  ${command.summary}`),
    '',
  ]);
  return [
    `Tiltyard ${readRelease()}, the open server for Lance tables`,
    '',
    ...lines,
    'Add --help to a command to see what it takes. Every setting is a flag, a variable and a key of the --config file:',
    'see "tiltyard config" and docs/settings.md.',
    '',
  ].join('\n');
}
