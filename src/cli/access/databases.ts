import { resolve } from 'node:path';
import { ensureRoot, requireSharedRoot } from '../../app/configured-catalog.ts';
import { requireServedRoot } from '../../app/installed-engine.ts';
import type { Command } from '../command.ts';
import { defineCatalogCommand, defineListCommand, requireOneName } from './catalog-command.ts';

const NAME_RULE = 'Give the database one name.';

export const databaseCommands: readonly Command[] = [
  defineCatalogCommand({
    words: ['database', 'create'],
    usage: 'NAME [--root FOLDER_OR_URI] [--json] [--data DIR]',
    summary: 'create a database: a tenant with separate tables',
    help: 'Without --root its tables live below the storage root, in a folder of their own. Several nodes need an object store.',
    prepare(given) {
      const name = requireOneName(given, NAME_RULE);
      const wanted = toRoot(given.value('root'));
      if (wanted !== undefined) requireServedRoot(wanted);
      return async (catalog, config) => {
        if (wanted !== undefined) requireSharedRoot(name, wanted, config);
        const { root } = await catalog.databases.create({ name, root: wanted });
        await ensureRoot(root, config).catch(async (error: unknown) => {
          await catalog.databases.drop(name);
          throw error;
        });
        return { json: { name, root }, text: `${name}  ${root}\n` };
      };
    },
  }),
  defineListCommand({
    words: ['database', 'list'],
    summary: 'list the databases and where their tables live',
    help: 'One line per database: name, storage root.',
    async list(catalog) {
      const json = (await catalog.databases.list()).map(({ name, root }) => ({ name, root }));
      return { json, text: json.map(({ name, root }) => `${name}  ${root}\n`).join('') };
    },
  }),
  defineCatalogCommand({
    words: ['database', 'drop'],
    usage: 'NAME [--data DIR]',
    summary: 'drop an empty database and all grants on it',
    help: 'A database that holds tables or namespaces is not dropped, nor is the default one. Its folder is left alone.',
    prepare(given) {
      const name = requireOneName(given, NAME_RULE);
      return async (catalog) => {
        await catalog.databases.drop(name);
        return { notice: `The database ${name} is dropped.\n` };
      };
    },
  }),
];

/** A folder is stored as an absolute path: the server may be started in another folder. */
function toRoot(root: string | undefined): string | undefined {
  return root === undefined || root.includes('://') ? root : resolve(root);
}
