import { quoteShell, toJsonText } from './literals.ts';
import { addressOf, headersOf, variableOf } from './table-request.ts';
import type { TableRequest } from './table-request.ts';

export function toCurl(request: TableRequest): string {
  const variable = variableOf(request.server);
  const secret = request.server.credential === 'key' ? `x-api-key: $${variable}` : `authorization: Bearer $${variable}`;
  const headers = Object.entries(headersOf(request)).map(([name, value]) => `-H ${quoteShell(`${name}: ${value}`)}`);
  return [
    `curl -sS --fail-with-body ${quoteShell(addressOf(request))}`,
    `-H "${secret}"`,
    ...headers,
    `--data-raw ${quoteShell(toJsonText(request.operation.body))}`,
  ].join(' \\\n  ');
}
