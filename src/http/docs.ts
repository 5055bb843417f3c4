import type { FastifyInstance } from 'fastify';
import { OPERATIONS } from '../operations/registry.ts';
import { renderDocsPage } from './docs-page.ts';
import { toOpenApi } from './openapi.ts';
import type { OpenApiSettings } from './openapi.ts';

/** The page has styles of its own and nothing else: no script, no outside request. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export function mountDocs(server: FastifyInstance, settings: OpenApiSettings): void {
  const description = madeOnce(() => JSON.stringify(toOpenApi(OPERATIONS, settings), undefined, 2));
  const page = madeOnce(() => renderDocsPage(OPERATIONS, settings));
  server.get(`${settings.basePath}/openapi.json`, async (_request, reply) =>
    reply.header('content-type', 'application/json; charset=utf-8').send(description()),
  );
  server.get(`${settings.basePath}/docs`, async (_request, reply) => reply.headers(PAGE_HEADERS).send(page()));
}

/** When it is first asked for: most servers are never asked, and all of them start. */
function madeOnce(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
