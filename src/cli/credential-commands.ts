import type { Catalog, CredentialRecord } from '../catalog/catalog.ts';
import { credentialToJson, showCredentials, toJsonText } from './access-words.ts';
import type { Command } from './command.ts';
import { CommandFault, splitArguments } from './command.ts';
import { EXIT } from './exit-codes.ts';
import { withCatalog } from './with-catalog.ts';

/** What commands about one kind of credential say, and where it is kept. */
export interface CredentialKind {
  readonly word: 'key' | 'client';
  readonly listSummary: string;
  readonly revokeSummary: string;
  /** What a revoked one means to a running server. */
  readonly revokeHelp: string;
  readonly list: (catalog: Catalog) => Promise<readonly CredentialRecord[]>;
  /** False when there is none of that id. */
  readonly revoke: (catalog: Catalog, id: string) => Promise<boolean>;
}

export function listCommand({ word, listSummary, list }: CredentialKind): Command {
  return {
    words: [word, 'list'],
    usage: '[--json] [--data DIR]',
    summary: listSummary,
    help: `One line per ${word}: id, state, name, grants.`,
    async run(argv, terminal) {
      const { names, switches, settings } = splitArguments(argv, [], ['json']);
      return withCatalog([...names, ...settings], terminal, async (catalog) => {
        const records = await list(catalog);
        const now = Date.now();
        if (switches.has('json')) terminal.out(toJsonText(records.map((record) => credentialToJson(record, now))));
        else terminal.out(showCredentials(records, now));
        return 0;
      });
    },
  };
}

export function revokeCommand({ word, revokeSummary, revokeHelp, revoke }: CredentialKind): Command {
  return {
    words: [word, 'revoke'],
    usage: 'ID [--data DIR]',
    summary: revokeSummary,
    help: `ID is the first word of a line of "tiltyard ${word} list". ${revokeHelp}`,
    async run(argv, terminal) {
      const { names, settings } = splitArguments(argv, []);
      const [id] = names;
      if (id === undefined || names.length > 1) throw new CommandFault([`Give the id of one ${word}.`]);
      return withCatalog(settings, terminal, async (catalog) => {
        const isRevoked = await revoke(catalog, id);
        const noun = word === 'key' ? 'Key' : 'Client';
        const missing = `tiltyard: There is no ${word} ${id} that could be revoked. "tiltyard ${word} list" shows them.\n`;
        terminal.err(isRevoked ? `${noun} ${id} is revoked.\n` : missing);
        return isRevoked ? EXIT.done : EXIT.missing;
      });
    },
  };
}
