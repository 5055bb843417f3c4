import type { NamespacePath, TablePath } from '../model/identifier.ts';
import { DEFAULT_DELIMITER } from '../model/identifier.ts';
import type { ApiClient, Call } from './api-client.ts';
import type { JobReply } from '../wire/jobs.ts';

/** Path of an operation, and the delimiter when it is not the default one. */
export interface Address {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** No name contains a slash, so it can join names that contain the default delimiter. */
const SAFE_DELIMITER = '/';

export function tableAddress(table: TablePath, action: string): Address {
  return toAddress('table', table, action);
}

export function namespaceAddress(namespace: NamespacePath, action: string): Address {
  return toAddress('namespace', namespace, action);
}

function toAddress(kind: 'table' | 'namespace', names: readonly string[], action: string): Address {
  const isPlain = names.every((name) => !name.includes(DEFAULT_DELIMITER));
  const delimiter = isPlain ? DEFAULT_DELIMITER : SAFE_DELIMITER;
  const identifier = names.length === 0 ? delimiter : names.join(delimiter);
  return {
    path: `/v1/${kind}/${encodeURIComponent(identifier)}/${action}`,
    query: isPlain ? {} : { delimiter },
  };
}

/** Optional when all fields of the body are. */
type BodyArgument<Body> = Partial<Body> extends Body ? [body?: Body] : [body: Body];

/** An operation on a table, with JSON in both directions, as a function of client, table and body. */
export function tableOperation<Reply, Body extends object = object>(
  action: string,
  call: Pick<Call, 'accept' | 'headers'> = {},
) {
  return async (client: ApiClient, table: TablePath, ...[body]: BodyArgument<Body>): Promise<Reply> => {
    const { path, query } = tableAddress(table, action);
    return client.json(path, { query, json: body ?? {}, ...call });
  };
}

export function namespaceOperation<Reply, Body extends object = object>(action: string) {
  return async (client: ApiClient, namespace: NamespacePath, ...[body]: BodyArgument<Body>): Promise<Reply> => {
    const { path, query } = namespaceAddress(namespace, action);
    return client.json(path, { query, json: body ?? {} });
  };
}

/** For actions whose path is not fixed. */
export async function callTable<Reply>(client: ApiClient, table: TablePath, action: string, body: object) {
  return tableOperation<Reply>(action)(client, table, body);
}

interface Page {
  readonly page_token?: string;
}

/** Far more than any listing has: a server whose page tokens never end must not keep a client busy forever. */
const PAGES_MAX = 100_000;

/** The pages of a listing, in order. With a body it is read with POST, else with GET. */
export async function* readPages<Reply extends Page>(
  client: ApiClient,
  { path, query }: Address,
  body?: object,
): AsyncGenerator<Reply> {
  let next: Page = {};
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const call = body === undefined ? { query: { ...query, ...next } } : { query, json: { ...body, ...next } };
    const page: Reply = await client.json(path, call);
    yield page;
    if (page.page_token === undefined) return;
    next = { page_token: page.page_token };
  }
}

/** Lets an operation return its job at once instead of waiting for the result. */
export const RESPOND_ASYNC = { headers: { prefer: 'respond-async' } };

export async function cancelJob(client: ApiClient, id: string): Promise<void> {
  await client.json('/v1/jobs/cancel', { json: { job_id: id } });
}

export interface WaitOptions {
  /** Called with every reply, the last one too. */
  readonly onProgress?: (job: JobReply) => void;
  readonly signal?: AbortSignal;
}

const FIRST_WAIT_MILLISECONDS = 50;
const WAIT_MILLISECONDS_MAX = 1000;

/** Polls until the job has ended, ever less often; the server limits how long a job may run. */
export async function waitForJob(client: ApiClient, id: string, options: WaitOptions = {}): Promise<JobReply> {
  const { onProgress, signal } = options;
  for (let wait = FIRST_WAIT_MILLISECONDS; ; wait = Math.min(wait * 1.5, WAIT_MILLISECONDS_MAX)) {
    const job = await client.json<JobReply>('/v1/jobs/describe', { json: { job_id: id }, signal });
    onProgress?.(job);
    if (job.job_state !== 'IN_PROGRESS') return job;
    await new Promise((resolve) => setTimeout(resolve, wait));
    signal?.throwIfAborted();
  }
}
