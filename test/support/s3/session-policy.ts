import type { IncomingHttpHeaders } from 'node:http';

/** What a request wants to do, as policies name it. */
export interface WantedAction {
  readonly action: string;
  readonly resource: string;
  /** Condition keys of the request that are present. */
  readonly context: Readonly<Record<string, string>>;
}

type OneOrMore = string | readonly string[];

interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: OneOrMore;
  readonly Resource: OneOrMore;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, OneOrMore>>>>;
}

interface StoreRequest {
  readonly method: string;
  /** `bucket/key`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Whether a policy allows all that a request does: every part needs an Allow, and no Deny. */
export function isAllowed(policy: string, request: StoreRequest): boolean {
  const { Statement: statements } = JSON.parse(policy) as { readonly Statement: readonly Statement[] };
  return listActions(request).every((wanted) => {
    const effects = statements.filter((statement) => applies(statement, wanted)).map(({ Effect }) => Effect);
    return effects.includes('Allow') && !effects.includes('Deny');
  });
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/using-with-s3-policy-actions.html */
function listActions({ method, path, query, headers, body }: StoreRequest): readonly WantedAction[] {
  const bucket = path.split('/')[0] ?? '';
  const on = (action: string, at: string, context: WantedAction['context'] = {}): WantedAction => ({
    action: `s3:${action}`,
    resource: `arn:aws:s3:::${at}`,
    context,
  });
  if (query.has('list-type')) {
    const prefix = query.get('prefix');
    return [on('ListBucket', bucket, prefix === null ? {} : { 's3:prefix': prefix })];
  }
  if (query.has('delete')) {
    const keys = Array.from(body.toString().matchAll(/<Key>([^<]*)<\/Key>/g), ([, key = '']) => key);
    return keys.map((key) => on('DeleteObject', `${bucket}/${key}`));
  }
  if (query.has('uploads') && method === 'GET') return [on('ListBucketMultipartUploads', bucket)];
  if (method === 'DELETE') return [on(query.has('uploadId') ? 'AbortMultipartUpload' : 'DeleteObject', path)];
  if (method === 'GET' || method === 'HEAD') return [on('GetObject', path)];
  const condition = headers['if-none-match'];
  const put = on('PutObject', path, condition === undefined ? {} : { 's3:if-none-match': condition });
  const source = headers['x-amz-copy-source'];
  if (typeof source !== 'string') return [put];
  return [put, on('GetObject', decodeURIComponent(source.replace(/^\//, '')))];
}

function applies(
  { Action, Resource, Condition = {} }: Statement,
  { action, resource, context }: WantedAction,
): boolean {
  const holds = Object.entries(Condition).every(([operator, keys]) =>
    Object.entries(keys).every(([key, values]) => isMet(operator, toList(values), context[key])),
  );
  return holds && matchesAny(toList(Action), action) && matchesAny(toList(Resource), resource);
}

function isMet(operator: string, values: readonly string[], value: string | undefined): boolean {
  switch (operator) {
    case 'StringLike':
      return value !== undefined && matchesAny(values, value);
    case 'Null':
      return values.includes(String(value === undefined));
    default:
      throw new Error(`The emulator does not know the condition ${operator}.`);
  }
}

function toList(values: OneOrMore): readonly string[] {
  return typeof values === 'string' ? [values] : values;
}

/** `*` is any text, `?` any character. */
function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => {
    const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
    return new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's').test(text);
  });
}
