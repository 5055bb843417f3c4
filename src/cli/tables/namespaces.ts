import { createNamespace, dropNamespace, listNamespaces } from '../../client/tables.ts';
import { formatPath } from '../../model/identifier.ts';
import { answer, defineClientCommand, readNamespace, showPath } from '../client-command.ts';
import { CommandFault, EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { YES_OPTION, hasConsent } from '../session.ts';

const createCommand = defineClientCommand({
  words: ['namespace', 'create'],
  names: 'NAMESPACE',
  summary: 'create a namespace',
  options: [
    { name: 'property', value: 'NAME=VALUE', repeats: true, help: 'a property that the catalog keeps with it' },
  ],
  examples: ['namespace create eu', 'namespace create eu/north --property owner=ada'],
  async run(session) {
    const { client, given } = session;
    const namespace = readNamespace(given);
    const properties = Object.fromEntries(given.values('property').map(toPair));
    const reply = await createNamespace(client, namespace, { properties });
    return answer(session, reply, `The namespace ${showPath(namespace)} is there.\n`);
  },
});

function toPair(text: string): readonly [string, string] {
  const [name = '', value] = text.split(/=(.*)/s, 2);
  if (name === '' || value === undefined) throw new CommandFault([`--property must be NAME=VALUE, not "${text}".`]);
  return [name, value];
}

const listCommand = defineClientCommand({
  words: ['namespace', 'list'],
  names: '[NAMESPACE]',
  summary: 'list the namespaces directly below one, or below the root',
  examples: ['namespace list', 'namespace list eu'],
  async run(session) {
    const { client, given, terminal, isJson } = session;
    const found: (readonly string[])[] = [];
    for await (const namespace of listNamespaces(client, readNamespace(given))) found.push(namespace);
    if (found.length === 0 && !isJson) terminal.err('There are no namespaces here.\n');
    const reply = { namespaces: found.map((namespace) => formatPath(namespace)) };
    return answer(session, reply, found.map((namespace) => `${showPath(namespace)}\n`).join(''));
  },
});

const dropCommand = defineClientCommand({
  words: ['namespace', 'drop'],
  names: 'NAMESPACE',
  summary: 'drop a namespace, and with --cascade all that is inside',
  options: [{ name: 'cascade', help: 'drop the tables and namespaces inside, too' }, YES_OPTION],
  examples: ['namespace drop eu', 'namespace drop eu --cascade --yes'],
  async run(session) {
    const { client, given } = session;
    const namespace = readNamespace(given);
    const isCascade = given.has('cascade');
    if (isCascade && !(await hasConsent(session, `Drop ${showPath(namespace)} with all its tables?`)))
      return EXIT.failed;
    const reply = await dropNamespace(client, namespace, isCascade ? { behavior: 'cascade' } : {});
    return answer(session, reply, `The namespace ${showPath(namespace)} is dropped.\n`);
  },
});

export const namespaceCommands: readonly Command[] = [createCommand, listCommand, dropCommand];
