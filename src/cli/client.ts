import { makeClientSecret } from '../auth/client-secret.ts';
import { ownIssuerOf } from '../config/own-issuer.ts';
import { GRANT_HELP, GRANT_OPTIONS, credentialToJson, readExpiry, readGrant, toJsonText } from './access-words.ts';
import type { Command } from './command.ts';
import { CommandFault, requireConfig, splitArguments } from './command.ts';
import { listCommand, revokeCommand } from './credential-commands.ts';
import type { CredentialKind } from './credential-commands.ts';
import { withCatalog } from './with-catalog.ts';

const createClient: Command = {
  words: ['client', 'create'],
  usage: 'NAME [--role ROLE] [--database NAME] [--path PATH] [--days N] [--json] [--data DIR]',
  summary: 'make an OAuth client; its secret is shown once',
  help: `${GRANT_HELP}

A client gets its access tokens from the server's own token endpoint. Give the settings that the server is started with, so that its address can be shown.

Example:
  tiltyard client create nightly-load --role writer --database sales`,
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, [...GRANT_OPTIONS, 'days'], ['json']);
    const [name] = names;
    if (name === undefined || names.length > 1) throw new CommandFault(['Give the client one name.']);
    const grants = [readGrant(options)];
    const expiry = readExpiry(options['days'], Date.now());
    const issuer = ownIssuerOf(requireConfig(settings, terminal));
    return withCatalog(settings, terminal, async (catalog) => {
      const { secret, digest } = makeClientSecret();
      const record = await catalog.clients.create({ name, digest, grants, ...expiry });
      const shown = { issuer_url: issuer, client_id: record.id, client_secret: secret };
      if (switches.has('json')) terminal.out(toJsonText({ ...credentialToJson(record, Date.now()), ...shown }));
      else terminal.out(`client_id      ${record.id}\nclient_secret  ${secret}\n`);
      terminal.err(`Client ${record.id} for ${name}: keep its secret now, it is not shown again.\n`);
      terminal.err(
        issuer === undefined
          ? 'These settings have no token endpoint: set auth.issuerUrl to its https address.\n'
          : `Its tokens come from the issuer ${issuer}\n`,
      );
      return 0;
    });
  },
};

const OAUTH_CLIENT: CredentialKind = {
  word: 'client',
  listSummary: 'list the OAuth clients, without their secrets',
  revokeSummary: 'revoke an OAuth client and all its tokens, at once',
  revokeHelp: 'A running server refuses its tokens from the next request on.',
  list: async (catalog) => catalog.clients.list(),
  revoke: async (catalog, id) => catalog.clients.revoke(id),
};

export const clientCommands: readonly Command[] = [
  createClient,
  listCommand(OAUTH_CLIENT),
  revokeCommand(OAUTH_CLIENT),
];
