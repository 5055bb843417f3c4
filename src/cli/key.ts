import { makeApiKey } from '../auth/api-key.ts';
import {
  GRANT_HELP,
  GRANT_OPTIONS,
  credentialToJson,
  readExpiry,
  readGrant,
  showCredential,
  toJsonText,
} from './access-words.ts';
import type { Command } from './command.ts';
import { CommandFault, splitArguments } from './command.ts';
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

const listKeys: Command = {
  words: ['key', 'list'],
  usage: '[--json] [--data DIR]',
  summary: 'list the API keys, without the keys themselves',
  help: 'One line per key: id, state, name, grants.',
  async run(argv, terminal) {
    const { names, switches, settings } = splitArguments(argv, [], ['json']);
    return withCatalog([...names, ...settings], terminal, async (catalog) => {
      const keys = await catalog.keys.list();
      const now = Date.now();
      if (switches.has('json')) terminal.out(toJsonText(keys.map((key) => credentialToJson(key, now))));
      else terminal.out(keys.map((key) => showCredential(key, now)).join(''));
      return 0;
    });
  },
};

const revokeKey: Command = {
  words: ['key', 'revoke'],
  usage: 'ID [--data DIR]',
  summary: 'revoke an API key, at once',
  help: 'ID is the first word of a line of "tiltyard key list". A running server refuses the key from its next request on. The last key that administers everything is not revoked: make another one first.',
  async run(argv, terminal) {
    const { names, settings } = splitArguments(argv, []);
    const [id] = names;
    if (id === undefined || names.length > 1) throw new CommandFault(['Give the id of one key.']);
    return withCatalog(settings, terminal, async (catalog) => {
      const revoked = await catalog.keys.revoke(id, { keepAdministrator: true });
      terminal.err(revoked ? `Key ${id} is revoked.\n` : `There is no key ${id} that could be revoked.\n`);
      return revoked ? 0 : 1;
    });
  },
};

export const keyCommands: readonly Command[] = [createKey, listKeys, revokeKey];
