import { formatConfig } from '../config/format-config.ts';
import type { Command } from './command.ts';
import { requireConfig } from './command.ts';

export const configCommand: Command = {
  words: ['config'],
  usage: '[DATA] [flags]',
  summary: 'show every setting, its value and where it came from',
  help: 'Reads the settings as "tiltyard serve" would and prints them, without secrets. Wrong settings: all faults, exit code 2.',
  async run(argv, terminal) {
    terminal.out(formatConfig(requireConfig(argv, terminal)));
    return 0;
  },
};
