import type { Address } from './address.ts';
import type { ApiClient } from './api-client.ts';

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
