import { makeApiKey } from '../auth/api-key.ts';
import { GRANT_HELP, GRANT_OPTIONS, credentialToJson, readExpiry, readGrant, toJsonText } from './access-words.ts';
import type { Command } from './command.ts';
import { CommandFault, splitArguments } from './command.ts';
import { listCommand, revokeCommand } from './credential-commands.ts';
import type { CredentialKind } from './credential-commands.ts';
import { withCatalog } from './with-catalog.ts';

const createKey: Command = {
  words: ['key', 'create'],
  usage: 'NAME [--role ROLE] [--database NAME] [--path PATH] [--days N] [--json] [--data DIR]',
  summary: 'make an API key; it is shown once',
  help: `${GRANT_HELP}

Example:
  tiltyard key create dashboard --role reader --database sales --path 'eu$orders' --days 90`,
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, [...GRANT_OPTIONS, 'days'], ['json']);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new CommandFault(['Give the key one name.']);
    const grants = [readGrant(options)];
    const expiry = readExpiry(options['days'], Date.now());
    return withCatalog(settings, terminal, async (catalog) => {
      const { key, digest } = makeApiKey();
      const record = await catalog.keys.create({ name, digest, grants, ...expiry });
      if (switches.has('json')) terminal.out(toJsonText({ ...credentialToJson(record, Date.now()), key }));
      else terminal.out(`${key}\n`);
      terminal.err(`Key ${record.id} for ${name}: keep it now, it is not shown again.\n`);
      return 0;
    });
  },
};

const API_KEY: CredentialKind = {
  word: 'key',
  listSummary: 'list the API keys, without the keys themselves',
  revokeSummary: 'revoke an API key, at once',
  revokeHelp:
    'A running server refuses the key from its next request on. The last key that administers everything is not revoked: make another one first.',
  list: async (catalog) => catalog.keys.list(),
  revoke: async (catalog, id) => catalog.keys.revoke(id, { keepAdministrator: true }),
};

export const keyCommands: readonly Command[] = [createKey, listCommand(API_KEY), revokeCommand(API_KEY)];
