import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import type { ApiClient } from './api-client.ts';

/** Where an operation is found: a path, and the delimiter when it is not the usual one. */
export interface Address {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** No name holds it, so that it joins names that hold the usual one. */
const SAFE_DELIMITER = '/';

export function tableAddress(table: TablePath, action: string): Address {
  return address('table', table, action);
}

export function namespaceAddress(namespace: NamespacePath, action: string): Address {
  return address('namespace', namespace, action);
}

function address(kind: 'table' | 'namespace', names: readonly string[], action: string): Address {
  const isPlain = names.every((name) => !name.includes(DEFAULT_DELIMITER));
  const delimiter = isPlain ? DEFAULT_DELIMITER : SAFE_DELIMITER;
  const identifier = names.length === 0 ? delimiter : names.join(delimiter);
  return {
    path: `/v1/${kind}/${encodeURIComponent(identifier)}/${action}`,
    query: isPlain ? {} : { delimiter },
  };
}

interface Page {
  readonly page_token?: string;
}

/** Far more than any listing has; a server whose tokens never end must not hold a client for ever. */
const PAGES_MAX = 100_000;

/** The pages of a listing that is read with GET, one after the other. */
export async function* listPages<Reply extends Page>(client: ApiClient, address: Address): AsyncGenerator<Reply> {
  yield* follow(async (token) => {
    const query = token === undefined ? address.query : { ...address.query, page_token: token };
    return client.json<Reply>(address.path, { query });
  });
}

/** The same for a listing that is read with POST. */
export async function* postPages<Reply extends Page>(
  client: ApiClient,
  address: Address,
  body: object,
): AsyncGenerator<Reply> {
  yield* follow(async (token) => {
    const json = token === undefined ? body : { ...body, page_token: token };
    return client.json<Reply>(address.path, { query: address.query, json });
  });
}

async function* follow<Reply extends Page>(next: (token: string | undefined) => Promise<Reply>): AsyncGenerator<Reply> {
  let token: string | undefined;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Reply = await next(token);
    yield page;
    token = page.page_token;
    if (token === undefined) return;
  }
}
