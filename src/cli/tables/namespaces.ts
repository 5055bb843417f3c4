import { collect } from '../../client/calls.ts';
import { createNamespace, dropNamespace, listNamespaces } from '../../client/tables.ts';
import { formatPath } from '../../model/identifier.ts';
import { defineClientCommand } from '../client-command.ts';
import { EXIT, UsageError } from '../command.ts';
import type { Command } from '../command.ts';
import { YES_OPTION, confirm, readNamespace, showPath } from '../session.ts';

export const namespaceCommands: readonly Command[] = [
  defineClientCommand({
    words: ['namespace', 'create'],
    names: 'NAMESPACE',
    summary: 'create a namespace',
    options: [{ name: 'property', value: 'NAME=VALUE', repeats: true, help: 'set a property; may be repeated' }],
    examples: ['namespace create eu', 'namespace create eu/north --property owner=ada'],
    async run({ client, given }) {
      const namespace = readNamespace(given);
      const properties = Object.fromEntries(given.values('property').map(toPair));
      const reply = await createNamespace(client, namespace, { properties });
      return { reply, text: `Created the namespace ${showPath(namespace)}.\n` };
    },
  }),
  defineClientCommand({
    words: ['namespace', 'list'],
    names: '[NAMESPACE]',
    summary: 'list the namespaces directly in a namespace or the root',
    examples: ['namespace list', 'namespace list eu'],
    async run({ client, given }) {
      const found = await collect(listNamespaces(client, readNamespace(given)));
      const reply = { namespaces: found.map((namespace) => formatPath(namespace)) };
      const text = found.map((namespace) => `${showPath(namespace)}\n`).join('');
      return { reply, text, none: 'There are no namespaces.' };
    },
  }),
  defineClientCommand({
    words: ['namespace', 'drop'],
    names: 'NAMESPACE',
    summary: 'drop a namespace',
    options: [{ name: 'cascade', help: 'also drop all tables and namespaces in it' }, YES_OPTION],
    examples: ['namespace drop eu', 'namespace drop eu --cascade --yes'],
    async run(session) {
      const namespace = readNamespace(session.given);
      const name = showPath(namespace);
      const isCascade = session.given.has('cascade');
      if (isCascade && !(await confirm(session, `Drop ${name} and all tables and namespaces in it?`)))
        return EXIT.failed;
      const reply = await dropNamespace(session.client, namespace, isCascade ? { behavior: 'cascade' } : {});
      return { reply, text: `Dropped the namespace ${name}.\n` };
    },
  }),
];

function toPair(text: string): readonly [string, string] {
  const [name = '', value] = text.split(/=(.*)/s, 2);
  if (name === '' || value === undefined) throw new UsageError(`--property must be NAME=VALUE, not "${text}".`);
  return [name, value];
}
