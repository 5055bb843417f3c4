import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER, formatPath, pathSegment } from '../model/identifier.ts';
import type { ApiClient, Call, JsonClient } from './api-client.ts';
import type { JobReply } from '../wire/jobs.ts';

export function tableAddress(table: TablePath, action: string): string {
  return toAddress('table', table, action);
}

export function viewAddress(view: TablePath, action: string): string {
  return toAddress('materialized_view', view, action);
}

export function namespaceAddress(namespace: NamespacePath, action: string): string {
  return toAddress('namespace', namespace, action);
}

/** No name contains a slash, so it can join names that contain the default delimiter. */
function toAddress(kind: 'table' | 'namespace' | 'materialized_view', names: NamespacePath, action: string): string {
  const isPlain = names.every((name) => !name.includes(DEFAULT_DELIMITER));
  const identifier = pathSegment(formatPath(names, isPlain ? DEFAULT_DELIMITER : '/'));
  return `/v1/${kind}/${identifier}/${action}${isPlain ? '' : '?delimiter=%2F'}`;
}

/** Optional if all fields of the body are. */
type BodyArgument<Body> = Partial<Body> extends Body ? [body?: Body] : [body: Body];

/** A function of client, table and body that calls a JSON operation on a table. */
export function tableOperation<Reply, Body extends object = object>(
  action: string,
  call: Pick<Call, 'accept' | 'headers'> = {},
) {
  return async (client: ApiClient, table: TablePath, ...[body]: BodyArgument<Body>): Promise<Reply> => {
    return client.json(tableAddress(table, action), { json: body ?? {}, ...call });
  };
}

export function namespaceOperation<Reply, Body extends object = object>(action: string) {
  return async (client: ApiClient, namespace: NamespacePath, ...[body]: BodyArgument<Body>): Promise<Reply> => {
    return client.json(namespaceAddress(namespace, action), { json: body ?? {} });
  };
}

/** For actions whose path varies. */
export async function callTable<Reply>(client: ApiClient, table: TablePath, action: string, body: object) {
  return tableOperation<Reply>(action)(client, table, body);
}

type Page = { readonly page_token?: string };

/** Far more than any listing has: page tokens that never end must not keep a client busy forever. */
const PAGES_MAX = 100_000;

/** The items of a listing, page by page. With a body it is read with POST, else with GET. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- Callers name the shape of a page.
export async function* readItems<Reply extends Page, Item>(
  client: JsonClient,
  address: string,
  itemsOf: (page: Reply) => Iterable<Item>,
  body?: object,
): AsyncGenerator<Item> {
  let next: Page = {};
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Reply = await client.json(
      address,
      body === undefined ? { query: next } : { json: { ...body, ...next } },
    );
    yield* itemsOf(page);
    if (page.page_token === undefined) return;
    next = { page_token: page.page_token };
  }
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Lets an operation return its job at once instead of waiting for the result. */
export const RESPOND_ASYNC = { headers: { prefer: 'respond-async' } };

export async function cancelJob(client: ApiClient, id: string): Promise<void> {
  await client.json('/v1/jobs/cancel', { json: { job_id: id } });
}

interface WaitOptions {
  /** Called with every reply, including the last one. */
  readonly onProgress?: (job: JobReply) => void;
  readonly signal?: AbortSignal;
}

const FIRST_WAIT_MILLISECONDS = 50;
const WAIT_MILLISECONDS_MAX = 1000;

/** Polls until the job has ended, with growing pauses; the server limits how long a job may run. */
export async function waitForJob(client: ApiClient, id: string, { onProgress, signal }: WaitOptions = {}) {
  for (let wait = FIRST_WAIT_MILLISECONDS; ; wait = Math.min(wait * 1.5, WAIT_MILLISECONDS_MAX)) {
    const job = await client.json<JobReply>('/v1/jobs/describe', { json: { job_id: id }, signal });
    onProgress?.(job);
    if (job.job_state !== 'IN_PROGRESS') return job;
    await new Promise((resolve) => setTimeout(resolve, wait));
    signal?.throwIfAborted();
  }
}
