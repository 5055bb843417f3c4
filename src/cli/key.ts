import { openConfiguredCatalog } from '../configured-catalog.ts';
import { makeApiKey } from '../auth/api-key.ts';
import type { CredentialRecord } from '../catalog/catalog.ts';
import { ROLES } from '../model/caller.ts';
import type { Grant, Role } from '../model/caller.ts';
import { DEFAULT_DELIMITER, formatPath, parseNamespacePath } from '../model/identifier.ts';
import type { Command } from './command.ts';
import { CommandFault, requireConfig, splitArguments } from './command.ts';

const DAY_MILLISECONDS = 24 * 60 * 60 * 1000;

const createKey: Command = {
  words: ['key', 'create'],
  usage: 'NAME [--role ROLE] [--database NAME] [--path PATH] [--days N] [--data DIR]',
  summary: 'make an API key; it is shown once',
  help: `ROLE is one of ${ROLES.join(', ')} (default reader). Without --database the role holds on every database; --path limits it to a namespace or a table of it.

Example:
  tiltyard key create dashboard --role reader --database sales --path 'eu$orders' --days 90`,
  async run(argv, terminal) {
    const { names, options, settings } = splitArguments(argv, ['role', 'database', 'path', 'days']);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new CommandFault(['Give the key one name.']);
    const grant = readGrant(options);
    const expiresAt = readExpiry(options['days'], Date.now());
    const catalog = await openConfiguredCatalog(requireConfig(settings, terminal));
    try {
      const { key, digest } = makeApiKey();
      const record = await catalog.keys.create({
        name,
        digest,
        grants: [grant],
        ...(expiresAt === undefined ? {} : { expiresAt }),
      });
      terminal.out(`${key}\n`);
      terminal.err(`Key ${record.id} for ${name}: keep it now, it is not shown again.\n`);
      return 0;
    } finally {
      await catalog.close();
    }
  },
};

const listKeys: Command = {
  words: ['key', 'list'],
  usage: '[--data DIR]',
  summary: 'list the API keys, without the keys themselves',
  help: 'One line per key: id, name, state, grants.',
  async run(argv, terminal) {
    const catalog = await openConfiguredCatalog(requireConfig(argv, terminal));
    try {
      const keys = await catalog.keys.list();
      terminal.out(
        keys.map((key) => `${key.id}  ${stateOf(key, Date.now())}  ${key.name}  ${showGrants(key.grants)}\n`).join(''),
      );
      return 0;
    } finally {
      await catalog.close();
    }
  },
};

const revokeKey: Command = {
  words: ['key', 'revoke'],
  usage: 'ID [--data DIR]',
  summary: 'revoke an API key, at once',
  help: 'ID is the first word of a line of "tiltyard key list". A running server refuses the key from its next request on.',
  async run(argv, terminal) {
    const { names, settings } = splitArguments(argv, []);
    const [id] = names;
    if (id === undefined || names.length > 1) throw new CommandFault(['Give the id of one key.']);
    const catalog = await openConfiguredCatalog(requireConfig(settings, terminal));
    try {
      const revoked = await catalog.keys.revoke(id);
      terminal.err(revoked ? `Key ${id} is revoked.\n` : `There is no key ${id} that could be revoked.\n`);
      return revoked ? 0 : 1;
    } finally {
      await catalog.close();
    }
  },
};

export const keyCommands: readonly Command[] = [createKey, listKeys, revokeKey];

function readGrant(options: Readonly<Record<string, string>>): Grant {
  const role = ROLES.find((candidate) => candidate === (options['role'] ?? 'reader'));
  if (role === undefined) throw new CommandFault([`--role must be one of ${ROLES.join(', ')}.`]);
  const { database, path } = options;
  if (path !== undefined && database === undefined) throw new CommandFault(['--path needs --database.']);
  return {
    role: role satisfies Role,
    database,
    path: path === undefined ? [] : parseNamespacePath(path, DEFAULT_DELIMITER),
  };
}

function readExpiry(days: string | undefined, now: number): number | undefined {
  if (days === undefined) return undefined;
  if (!/^[1-9]\d{0,4}$/.test(days)) throw new CommandFault(['--days must be a whole number from 1 to 99999.']);
  return now + Number(days) * DAY_MILLISECONDS;
}

function stateOf(key: CredentialRecord, now: number): string {
  if (key.revokedAt !== undefined) return 'revoked';
  return key.expiresAt !== undefined && key.expiresAt <= now ? 'expired' : 'valid  ';
}

function showGrants(grants: readonly Grant[]): string {
  return grants
    .map(
      ({ role, database, path }) =>
        `${role} on ${database ?? 'everything'}${path.length === 0 ? '' : `/${formatPath(path)}`}`,
    )
    .join(', ');
}
