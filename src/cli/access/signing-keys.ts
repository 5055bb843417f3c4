import { listSigningKeys, rotateSigningKey } from '../../client/access.ts';
import type { Command } from '../command.ts';
import { drawTable } from '../show/draw-table.ts';
import { defineAccessCommand } from './access-command.ts';

export const signingKeyCommands: readonly Command[] = [
  defineAccessCommand({
    words: ['signing-key', 'rotate'],
    names: '',
    summary: 'sign access tokens with a new key from now on',
    about:
      'Creates a key that signs new access tokens. Tokens that earlier keys signed stay valid until they expire; with --forget-earlier they are refused at once, and every client gets a new one.',
    options: [{ name: 'forget-earlier', help: 'refuse all tokens that earlier keys signed' }],
    examples: ['signing-key rotate', 'signing-key rotate --forget-earlier'],
    async run(client, { given }) {
      const reply = await rotateSigningKey(client, { forgetEarlier: given.has('forget-earlier') });
      return { reply, text: `New tokens are signed with the key ${reply.id}.\n` };
    },
  }),
  defineAccessCommand({
    words: ['signing-key', 'list'],
    names: '',
    summary: 'list the keys that sign access tokens',
    about: 'Lists each key with its id, state and creation time, never the key itself. The first one signs.',
    examples: ['signing-key list'],
    async run(client, { canvas }) {
      const reply = await listSigningKeys(client);
      const rows = reply.map(({ id, state, created_at: created }) => [id, state, created]);
      const text = rows.length === 0 ? '' : drawTable(['id', 'state', 'created'], rows, canvas);
      return { reply, text, none: 'There are no signing keys.' };
    },
  }),
];
