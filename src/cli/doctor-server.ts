import type { ApiClient } from '../client/api-client.ts';
import { ClientError, ConnectionError } from '../client/client-error.ts';
import type { Check } from './doctor-check.ts';
import { bad, good, warning } from './doctor-check.ts';
import type { FoundServer } from './find-server.ts';

const SKEW_SECONDS_MAX = 30;

/** What a running server answers. */
export async function checkServer({ client, credential }: FoundServer): Promise<readonly Check[]> {
  try {
    const answer = await client.open('/healthz');
    await answer.body?.cancel();
    return [
      good('server', `${client.url} answers`),
      await checkReady(client),
      checkClock(answer),
      await checkKey(client, credential),
    ];
  } catch (error) {
    return [toCheck('server', error, 'Start it with "tiltyard serve", or name another with --server URL.')];
  }
}

async function checkReady(client: ApiClient): Promise<Check> {
  try {
    await client.text('/readyz');
    return good('ready', 'requests are served');
  } catch (error) {
    return toCheck('ready', error, 'Look into its log for the reason.');
  }
}

/** Tokens are only as good as the clocks. */
function checkClock(answer: Response): Check {
  const theirs = Date.parse(answer.headers.get('date') ?? '');
  if (Number.isNaN(theirs)) return good('clock', 'the server tells no time');
  const seconds = Math.round(Math.abs(Date.now() - theirs) / 1000);
  if (seconds <= SKEW_SECONDS_MAX) return good('clock', 'agrees with the server');
  return warning(
    'clock',
    `differs from the server by ${seconds} s`,
    'Set both clocks by the network: tokens expire too early or too late.',
  );
}

async function checkKey(client: ApiClient, credential: string | undefined): Promise<Check> {
  try {
    await client.text('/v1/tables', { query: { limit: 1 } });
    return good('key', credential === undefined ? 'none is needed' : `${credential} is accepted`);
  } catch (error) {
    return toCheck('key', error, 'Give a key with --key @FILE or TILTYARD_KEY; "tiltyard key create" makes one.');
  }
}

function toCheck(name: string, error: unknown, advice: string): Check {
  if (error instanceof ClientError || error instanceof ConnectionError) return bad(name, error.message, advice);
  throw error;
}
