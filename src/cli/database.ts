import { resolve } from 'node:path';
import { openConfiguredCatalog } from '../configured-catalog.ts';
import type { Command } from './command.ts';
import { CommandFault, requireConfig, splitArguments } from './command.ts';

const createDatabase: Command = {
  words: ['database', 'create'],
  usage: 'NAME [--root FOLDER_OR_URI] [--data DIR]',
  summary: 'create a database: a tenant with tables of its own',
  help: 'Without --root its tables live below the storage root, in a folder of their own.',
  async run(argv, terminal) {
    const { names, options, settings } = splitArguments(argv, ['root']);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new CommandFault(['Give the database one name.']);
    const catalog = await openConfiguredCatalog(requireConfig(settings, terminal));
    try {
      const { root } = await catalog.databases.create({ name, root: toRoot(options['root']) });
      terminal.out(`${name}  ${root}\n`);
      return 0;
    } finally {
      await catalog.close();
    }
  },
};

const listDatabases: Command = {
  words: ['database', 'list'],
  usage: '[--data DIR]',
  summary: 'list the databases and where their tables live',
  help: 'One line per database: name, storage root.',
  async run(argv, terminal) {
    const catalog = await openConfiguredCatalog(requireConfig(argv, terminal));
    try {
      const databases = await catalog.databases.list();
      terminal.out(databases.map(({ name, root }) => `${name}  ${root}\n`).join(''));
      return 0;
    } finally {
      await catalog.close();
    }
  },
};

/** A folder is kept as an absolute path, whatever folder the server is started in. */
function toRoot(root: string | undefined): string | undefined {
  return root === undefined || root.includes('://') ? root : resolve(root);
}

export const databaseCommands: readonly Command[] = [createDatabase, listDatabases];
