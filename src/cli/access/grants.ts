import type { Catalog } from '../../catalog/catalog.ts';
import { GRANT_HELP, GRANT_OPTIONS, grantToJson, readGrant, showGrant, toJsonText } from './grant-options.ts';
import type { Command } from '../command.ts';
import { CommandFault, splitArguments } from '../command.ts';
import { withCatalog } from './catalog-command.ts';

const PRINCIPAL_HELP = 'PRINCIPAL is "key:ID", "client:ID" or "token:ISSUER#SUBJECT".';

const addGrant: Command = {
  words: ['grant', 'add'],
  usage: 'PRINCIPAL --role ROLE [--database NAME] [--path PATH] [--data DIR]',
  summary: 'give a role to a key, a client or the holder of a token',
  help: `${PRINCIPAL_HELP} ${GRANT_HELP}

Example:
  tiltyard grant add 'token:https://login.example.com/#ada' --role reader --database sales`,
  async run(argv, terminal) {
    const { names, options, settings } = splitArguments(argv, GRANT_OPTIONS);
    const principal = requirePrincipal(names);
    const grant = readGrant(options);
    return withCatalog(settings, terminal, async (catalog) => {
      await requireKnown(principal, catalog);
      await catalog.grants.add(principal, grant, { knownDatabasesOnly: true });
      terminal.err(`${principal} is ${showGrant(grant)}.\n`);
      return 0;
    });
  },
};

const removeGrant: Command = {
  words: ['grant', 'remove'],
  usage: 'PRINCIPAL --role ROLE [--database NAME] [--path PATH] [--data DIR]',
  summary: 'take a role away, at once',
  help: `${PRINCIPAL_HELP} Give role, database and path as "tiltyard grant list" shows them.`,
  async run(argv, terminal) {
    const { names, options, settings } = splitArguments(argv, GRANT_OPTIONS);
    const principal = requirePrincipal(names);
    const grant = readGrant(options);
    return withCatalog(settings, terminal, async (catalog) => {
      const isGone = await catalog.grants.remove(principal, grant, { keepAdministrator: true });
      terminal.err(isGone ? `${principal} is no longer ${showGrant(grant)}.\n` : 'There is no such grant.\n');
      return isGone ? 0 : 1;
    });
  },
};

const PAGE = 1000;

const listGrants: Command = {
  words: ['grant', 'list'],
  usage: '[PRINCIPAL] [--database NAME] [--json] [--data DIR]',
  summary: 'list who has which role on what',
  help: 'One line per grant: principal, role, place.',
  async run(argv, terminal) {
    const { names, options, switches, settings } = splitArguments(argv, ['database'], ['json']);
    const principal = names.length === 0 ? undefined : requirePrincipal(names);
    const { database } = options;
    return withCatalog(settings, terminal, async (catalog) => {
      const wanted = {
        limit: PAGE,
        ...(principal === undefined ? {} : { principal }),
        ...(database === undefined ? {} : { databases: [database] }),
      };
      const grants = [...(await catalog.grants.list(wanted))];
      for (let last = grants.at(-1); last !== undefined && grants.length % PAGE === 0; last = grants.at(-1)) {
        const page = await catalog.grants.list({ ...wanted, after: last });
        if (page.length === 0) break;
        grants.push(...page);
      }
      if (switches.has('json')) {
        terminal.out(toJsonText(grants.map((grant) => ({ principal: grant.principal, ...grantToJson(grant) }))));
      } else terminal.out(grants.map((grant) => `${grant.principal}  ${showGrant(grant)}\n`).join(''));
      return 0;
    });
  },
};

export const grantCommands: readonly Command[] = [addGrant, removeGrant, listGrants];

function requirePrincipal(names: readonly string[]): string {
  const [principal] = names;
  const isPrincipal = principal !== undefined && /^(key:|client:|token:[^#]+#).+$/.test(principal);
  if (names.length === 1 && isPrincipal) return principal;
  throw new CommandFault(['Give one principal: "key:ID", "client:ID" or "token:ISSUER#SUBJECT".']);
}

async function requireKnown(principal: string, catalog: Catalog): Promise<void> {
  const [kind, id = ''] = principal.split(/:(.*)/s, 2);
  if (kind === 'token') return;
  const record = await (kind === 'key' ? catalog.keys : catalog.clients).find(id);
  if (record === undefined) throw new CommandFault([`There is no ${kind} ${id}.`]);
}
