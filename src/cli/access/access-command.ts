import type { OfflineAccess } from '../../app/offline-access.ts';
import type { JsonClient } from '../../client/api-client.ts';
import { START_ADVICE, defineConnectedCommand } from '../client-command.ts';
import { UsageError, requireConfig } from '../command.ts';
import type { Command, Terminal } from '../command.ts';
import { findServer } from '../find-server.ts';
import type { Given, Option } from '../options.ts';
import type { Result, Session } from '../session.ts';

/** A server, or the data folder of a stopped server. */
export type AccessClient = JsonClient & { readonly offline?: OfflineAccess };

type Definition = Parameters<typeof defineConnectedCommand<AccessClient>>[0];

interface AccessCommand extends Omit<Definition, 'run'> {
  readonly run: (client: AccessClient, session: Session<AccessClient>) => Promise<Result>;
}

const OFFLINE_OPTIONS: readonly Option[] = [
  { name: 'data', value: 'DIR', help: 'work on the data folder of a stopped server, without a connection' },
  { name: 'config', value: 'FILE', help: 'like --data, with the settings file of the server' },
];

/** Calls the server; with --data or --config, works on the data folder directly. */
export function defineAccessCommand({ run, options = [], ...definition }: AccessCommand): Command {
  const runOn = async (session: Session<AccessClient>): Promise<Result> => run(session.client, session);
  const allOptions = [...options, ...OFFLINE_OPTIONS];
  return defineConnectedCommand({ startAdvice, ...definition, options: allOptions, run: runOn }, connect);
}

const startAdvice = `${START_ADVICE} For the folder of a stopped server, give --data DIR.`;

async function connect(given: Given, terminal: Terminal) {
  const isOffline = OFFLINE_OPTIONS.some(({ name }) => given.has(name));
  if (!isOffline) return findServer(given, terminal);
  if (given.has('server')) throw new UsageError('Give --server or --data, not both.');
  const flags = OFFLINE_OPTIONS.filter(({ name }) => given.has(name)).map(
    ({ name }) => `--${name}=${given.value(name)}`,
  );
  const config = requireConfig(flags, terminal);
  const { openOfflineAccess } = await import('../../app/offline-access.ts');
  const offline = await openOfflineAccess(config);
  const client: AccessClient = { json: offline.json, offline };
  return { client, credential: undefined, close: offline.close };
}
