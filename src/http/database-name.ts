import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../errors/service-error.ts';
import { DEFAULT_DATABASE } from '../model/table.ts';

/** The database that a request is about: by header, by host name below the configured suffix, or the default one. */
export function readDatabaseName(message: IncomingMessage, hostSuffix: string | undefined): string {
  const byService = readHeader(message, 'x-service-database');
  const byAlias = readHeader(message, 'x-lancedb-database');
  const byHost = readHostDatabase(message.headers.host, hostSuffix);
  const names = [byService, byAlias, byHost].filter((name) => name !== undefined);
  if (new Set(names).size > 1) {
    throw new ServiceError('InvalidInput', 'The headers and the host name do not name the same database.', {
      hint: 'Name it once, in x-service-database or in the host name.',
    });
  }
  return names[0] ?? DEFAULT_DATABASE;
}

function readHeader(message: IncomingMessage, name: string): string | undefined {
  const header = message.headers[name];
  return typeof header === 'string' && header !== '' ? header : undefined;
}

function readHostDatabase(host: string | undefined, suffix: string | undefined): string | undefined {
  if (host === undefined || suffix === undefined) return undefined;
  const name = host.replace(/:\d+$/, '').toLowerCase();
  const ending = `.${suffix.toLowerCase()}`;
  if (!name.endsWith(ending)) return undefined;
  // A name of several labels is one that no database may have, never the default database.
  return name.slice(0, -ending.length);
}
