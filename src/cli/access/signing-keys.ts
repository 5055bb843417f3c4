import { generateSigningKey } from '../../auth/keys/signing-keys.ts';
import type { Command } from '../command.ts';
import { defineCatalogCommand, defineListCommand } from './catalog-command.ts';

export const signingKeyCommands: readonly Command[] = [
  defineCatalogCommand({
    words: ['signing-key', 'rotate'],
    usage: '[--forget-earlier] [--data DIR]',
    summary: 'sign access tokens with a new key from now on',
    help: 'Tokens that earlier keys signed stay valid until they expire. With --forget-earlier they end at once, and every client asks for a new one.',
    own: { switches: ['forget-earlier'] },
    takesNames: false,
    prepare:
      ({ switches }, terminal) =>
      async (catalog) => {
        const key = await generateSigningKey();
        await catalog.signingKeys.rotate(key, { forgetEarlier: switches.has('forget-earlier') });
        terminal.err(`Tokens are signed with the key ${key.id} from now on.\n`);
      },
  }),
  defineListCommand({
    words: ['signing-key', 'list'],
    summary: 'list the keys that sign access tokens, without the keys themselves',
    help: 'One line per key: id, state, time of its making. The first one signs.',
    async list(catalog) {
      const json = (await catalog.signingKeys.list()).map(({ id, createdAt, retiredAt }) => ({
        id,
        state: retiredAt === undefined ? 'signs' : 'retired',
        created_at: new Date(createdAt).toISOString(),
      }));
      return { json, lines: json.map((key) => `${key.id}  ${key.state.padEnd(7)}  ${key.created_at}\n`).join('') };
    },
  }),
];
