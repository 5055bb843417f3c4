import { resolve } from 'node:path';
import { createDatabase, dropDatabase, listDatabases } from '../../client/access.ts';
import { UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { defineAccessCommand } from './access-command.ts';

export const databaseCommands: readonly Command[] = [
  defineAccessCommand({
    words: ['database', 'create'],
    names: 'NAME',
    summary: 'create a database: a tenant with separate tables',
    about:
      'Creates an empty database. Its tables are stored in a folder below the storage root of the server; with --data, --root chooses another folder or the address of an object store, which several nodes need.',
    options: [{ name: 'root', value: 'FOLDER_OR_URI', help: 'where its tables are stored; needs --data' }],
    examples: ['database create sales', 'database create sales --root s3://bucket/sales --data /srv/tables'],
    async run(client, { given }) {
      const [name = ''] = given.names;
      const root = toRoot(given.value('root'));
      if (client.offline !== undefined) {
        const created = await client.offline.createDatabase(name, root);
        return { reply: created, text: `Created the database ${name} in ${created.root}.\n` };
      }
      if (root !== undefined) throw new UsageError(ROOT_RULE);
      return { reply: await createDatabase(client, name), text: `Created the database ${name}.\n` };
    },
  }),
  defineAccessCommand({
    words: ['database', 'list'],
    names: '',
    summary: 'list the databases',
    about: 'Lists the databases that you may see, one per line. With --data, also where their tables are stored.',
    examples: ['database list', 'database list --data /srv/tables'],
    async run(client) {
      if (client.offline === undefined) {
        const reply = await listDatabases(client);
        return { reply, text: reply.map(({ name }) => `${name}\n`).join(''), none: 'There are no databases.' };
      }
      const reply = await client.offline.listDatabases();
      return { reply, text: reply.map(({ name, root }) => `${name}  ${root}\n`).join('') };
    },
  }),
  defineAccessCommand({
    words: ['database', 'drop'],
    names: 'NAME',
    summary: 'drop an empty database and all grants on it',
    about:
      'Drops a database that has no tables and no namespaces, and all grants on it. The default database cannot be dropped. Its folder stays.',
    examples: ['database drop sales'],
    async run(client, { given: { names } }) {
      const reply = await dropDatabase(client, names[0] ?? '');
      return { reply, text: `Dropped the database ${reply.name}.\n` };
    },
  }),
];

const ROOT_RULE =
  '--root needs --data DIR and a stopped server: a connection does not choose where the server stores tables.';

/** A folder is stored as an absolute path, because the server may be started in another folder. */
function toRoot(root: string | undefined): string | undefined {
  return root === undefined || root.includes('://') ? root : resolve(root);
}
