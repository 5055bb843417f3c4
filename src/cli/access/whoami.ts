import { whoami } from '../../client/access.ts';
import { defined } from '../../client/api-client.ts';
import type { WhoamiReply } from '../../wire/access.ts';
import { defineClientCommand } from '../client-command.ts';
import { requireTable } from '../session.ts';
import { drawPairs } from '../show/draw-table.ts';
import type { Pair } from '../show/draw-table.ts';
import { visibleText } from '../show/text.ts';

export const whoamiCommand = defineClientCommand({
  words: ['whoami'],
  names: '[TABLE]',
  summary: 'show which key or token you use, and what it may do',
  about:
    'Shows the name and the roles of the key, client or token that the server sees, and its permissions on the database, or on TABLE.',
  examples: ['whoami', 'whoami eu/orders', 'whoami --key @reader.key --json'],
  async run({ client, given, canvas }) {
    const table = given.names.length === 0 ? undefined : requireTable(given);
    const reply = await whoami(client, defined({ table }));
    const on = given.names[0] ?? reply.database;
    return { reply, text: drawPairs([...callerPairs(reply), permissionPair(reply, on)], canvas) };
  },
});

function callerPairs({ name, kind, id, roles }: WhoamiReply): readonly Pair[] {
  const shown = roles.map(({ role, on }) => {
    if (on.all_databases === true) return `${role} on all databases`;
    const place = on.database === undefined ? on.name : `${on.name} in ${on.database}`;
    return `${role} on the ${on.kind} ${place}`;
  });
  return [
    ['name', visibleText(name)],
    ['kind', kind],
    ['id', visibleText(id)],
    ['roles', visibleText(shown.join(', ')) || 'none'],
  ];
}

function permissionPair({ permissions }: WhoamiReply, on: string): Pair {
  return [`on ${visibleText(on)}`, permissions.join(', ') || 'nothing'];
}
