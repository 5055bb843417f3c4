import { generateSigningKey } from '../../auth/keys/signing-keys.ts';
import { toJsonText } from './grants.ts';
import type { Command } from '../command.ts';
import { splitArguments } from '../command.ts';
import { withCatalog } from './catalog-command.ts';

const rotateKey: Command = {
  words: ['signing-key', 'rotate'],
  usage: '[--forget-earlier] [--data DIR]',
  summary: 'sign access tokens with a new key from now on',
  help: 'Tokens that earlier keys signed stay valid until they expire. With --forget-earlier they end at once, and every client asks for a new one.',
  async run(argv, terminal) {
    const { names, switches, settings } = splitArguments(argv, [], ['forget-earlier']);
    return withCatalog([...names, ...settings], terminal, async (catalog) => {
      const key = await generateSigningKey();
      await catalog.signingKeys.rotate(key, { forgetEarlier: switches.has('forget-earlier') });
      terminal.err(`Tokens are signed with the key ${key.id} from now on.\n`);
      return 0;
    });
  },
};

const listKeys: Command = {
  words: ['signing-key', 'list'],
  usage: '[--json] [--data DIR]',
  summary: 'list the keys that sign access tokens, without the keys themselves',
  help: 'One line per key: id, state, time of its making. The first one signs.',
  async run(argv, terminal) {
    const { names, switches, settings } = splitArguments(argv, [], ['json']);
    return withCatalog([...names, ...settings], terminal, async (catalog) => {
      const keys = (await catalog.signingKeys.list()).map(({ id, createdAt, retiredAt }) => ({
        id,
        state: retiredAt === undefined ? 'signs' : 'retired',
        created_at: new Date(createdAt).toISOString(),
      }));
      if (switches.has('json')) terminal.out(toJsonText(keys));
      else terminal.out(keys.map((key) => `${key.id}  ${key.state.padEnd(7)}  ${key.created_at}\n`).join(''));
      return 0;
    });
  },
};

export const signingKeyCommands: readonly Command[] = [rotateKey, listKeys];
