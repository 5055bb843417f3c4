import { quoteShell, toJsonText, toPythonLiteral, toTypeScriptLiteral } from './literals.ts';

/** A request to any operation, for a program without a client library. */
interface PlainRequest {
  readonly method: string;
  readonly url: string;
  /** `arrow` stands for the bytes of the file `rows.arrow`. */
  readonly body: object | 'arrow' | undefined;
}

const ARROW = 'application/vnd.apache.arrow.stream';
const FILE = 'rows.arrow';

export const PLAIN_SNIPPETS: Readonly<Record<string, (request: PlainRequest) => string>> = {
  curl: ({ method, url, body }) =>
    [
      `curl -sS --fail-with-body -X ${method} ${quoteShell(url)}`,
      '-H "x-api-key: $TILTYARD_KEY"',
      ...(body === undefined ? [] : [`-H ${quoteShell(`content-type: ${mediaType(body)}`)}`]),
      ...(body === undefined ? [] : [body === 'arrow' ? `--data-binary @${FILE}` : jsonArgument(body)]),
    ].join(' \\\n  '),

  Python: ({ method, url, body }) =>
    [
      'import os',
      '',
      'import requests',
      '',
      `response = requests.request(`,
      `    ${toPythonLiteral(method)},`,
      `    ${toPythonLiteral(url)},`,
      `    headers={"x-api-key": os.environ["TILTYARD_KEY"]${typeEntry(body)}},`,
      ...(body === undefined ? [] : [body === 'arrow' ? `    data=open("${FILE}", "rb"),` : pythonArgument(body)]),
      ')',
      'response.raise_for_status()',
      'print(response.text)',
    ].join('\n'),

  TypeScript: ({ method, url, body }) =>
    [
      ...(body === 'arrow' ? ["import { readFile } from 'node:fs/promises';", ''] : []),
      `const response = await fetch(${toTypeScriptLiteral(url)}, {`,
      `  method: ${toTypeScriptLiteral(method)},`,
      '  headers: {',
      "    'x-api-key': process.env.TILTYARD_KEY ?? '',",
      ...(body === undefined ? [] : [`    'content-type': ${toTypeScriptLiteral(mediaType(body))},`]),
      '  },',
      ...(body === undefined ? [] : [`  body: ${typeScriptBody(body)},`]),
      '});',
      'if (!response.ok) throw new Error(await response.text());',
      'console.log(await response.text());',
    ].join('\n'),
};

/** The part of an operation in `openapi.json` that contains its examples. */
export interface DescribedOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
}

/** The example request of an operation. */
export function toRequest(base: string, path: string, method: string, operation: DescribedOperation): PlainRequest {
  const examples = (location: string): readonly (readonly [string, string])[] =>
    (operation.parameters ?? []).flatMap(({ name, in: at, example }) =>
      at === location && example !== undefined ? [[name, example] as const] : [],
    );
  const values = new Map(examples('path'));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(values.get(name) ?? name));
  const query = new URLSearchParams(Object.fromEntries(examples('query'))).toString();
  const content = operation.requestBody?.content;
  return {
    method: method.toUpperCase(),
    url: `${base}${filled}${query === '' ? '' : `?${query}`}`,
    body:
      content === undefined || method.toUpperCase() === 'GET'
        ? undefined
        : (content['application/json']?.example ?? 'arrow'),
  };
}

function mediaType(body: object | 'arrow'): string {
  return body === 'arrow' ? ARROW : 'application/json';
}

function jsonArgument(body: object): string {
  return `--data-raw ${quoteShell(toJsonText(body))}`;
}

function pythonArgument(body: object): string {
  return `    json=${toPythonLiteral(body, '    ')},`;
}

function typeEntry(body: PlainRequest['body']): string {
  return body === 'arrow' ? `, "content-type": "${ARROW}"` : '';
}

function typeScriptBody(body: object | 'arrow'): string {
  return body === 'arrow' ? `await readFile('${FILE}')` : `JSON.stringify(${toTypeScriptLiteral(body, '  ')})`;
}
