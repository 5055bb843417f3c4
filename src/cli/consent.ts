import type { Session } from './client-command.ts';
import { CommandFault } from './command.ts';
import type { Option } from './options.ts';
import { paintForErrors } from './show/paint.ts';

export const YES_OPTION: Option = { name: 'yes', short: 'y', help: 'do it without being asked' };

/** Whether the person at the terminal agrees; where there is nobody to ask, --yes must be given. */
export async function hasConsent({ given, terminal }: Session, question: string): Promise<boolean> {
  if (given.has('yes')) return true;
  if (terminal.ask === undefined)
    throw new CommandFault([`${question} Nobody is here to be asked: add --yes to do it.`]);
  const reply = await terminal.ask(`${paintForErrors(terminal).yellow(question)} [y/N] `);
  if (/^y(es)?$/i.test(reply.trim())) return true;
  terminal.err('Nothing was changed.\n');
  return false;
}
