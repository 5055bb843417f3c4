import { resolve } from 'node:path';
import { ensureRoot } from '../../app/offline.ts';
import { toJsonText } from './grants.ts';
import type { Command } from '../command.ts';
import { CommandFault, splitArguments } from '../command.ts';
import { withCatalog } from './catalog-command.ts';

const createDatabase: Command = {
  words: ['database', 'create'],
  usage: 'NAME [--root FOLDER_OR_URI] [--json] [--data DIR]',
  summary: 'create a database: a tenant with tables of its own',
  help: 'Without --root its tables live below the storage root, in a folder of their own.',
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, ['root'], ['json']);
    const name = requireName(names);
    return withCatalog(settings, terminal, async (catalog) => {
      const { root } = await catalog.databases.create({ name, root: toRoot(options['root']) });
      await ensureRoot(root);
      terminal.out(switches.has('json') ? toJsonText({ name, root }) : `${name}  ${root}\n`);
      return 0;
    });
  },
};

const listDatabases: Command = {
  words: ['database', 'list'],
  usage: '[--json] [--data DIR]',
  summary: 'list the databases and where their tables live',
  help: 'One line per database: name, storage root.',
  async run(argv, terminal) {
    const { names, switches, settings } = splitArguments(argv, [], ['json']);
    return withCatalog([...names, ...settings], terminal, async (catalog) => {
      const databases = (await catalog.databases.list()).map(({ name, root }) => ({ name, root }));
      if (switches.has('json')) terminal.out(toJsonText(databases));
      else terminal.out(databases.map(({ name, root }) => `${name}  ${root}\n`).join(''));
      return 0;
    });
  },
};

const dropDatabase: Command = {
  words: ['database', 'drop'],
  usage: 'NAME [--data DIR]',
  summary: 'drop an empty database and all grants on it',
  help: 'A database that holds tables or namespaces is not dropped, nor is the default one. Its folder is left alone.',
  async run(argv, terminal) {
    const { names, settings } = splitArguments(argv, []);
    const name = requireName(names);
    return withCatalog(settings, terminal, async (catalog) => {
      await catalog.databases.drop(name);
      terminal.err(`The database ${name} is dropped.\n`);
      return 0;
    });
  },
};

function requireName(names: readonly string[]): string {
  const [name] = names;
  if (name === undefined || names.length > 1) throw new CommandFault(['Give the database one name.']);
  return name;
}

/** A folder is kept as an absolute path, whatever folder the server is started in. */
function toRoot(root: string | undefined): string | undefined {
  return root === undefined || root.includes('://') ? root : resolve(root);
}

export const databaseCommands: readonly Command[] = [createDatabase, listDatabases, dropDatabase];
