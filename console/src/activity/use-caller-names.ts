import type { ApiClient } from '../../../src/client/api-client.ts';
import { listCredentials } from '../access/access-api.ts';
import { useClient } from '../api.ts';
import { useLoad } from '../parts/use-load.ts';

const NONE: ReadonlyMap<string, string> = new Map();

/** Keys and clients by name, as far as who is signed in may see them. */
export function useCallerNames(): ReadonlyMap<string, string> {
  const client = useClient();
  return useLoad(async () => namesOfCallers(client), [client]).value ?? NONE;
}

async function namesOfCallers(client: ApiClient): Promise<ReadonlyMap<string, string>> {
  try {
    const [keys, clients] = await Promise.all([listCredentials(client, 'key'), listCredentials(client, 'client')]);
    return new Map([...keys, ...clients].map(({ principal, name }) => [principal, name]));
  } catch {
    return NONE;
  }
}
