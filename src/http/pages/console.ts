import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** No content from elsewhere, nothing inline, no frame around the page. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface ConsoleSettings {
  readonly basePath: string;
  readonly consoleFolder: string;
}

/** The web console: static files, read once: no name from a request becomes a path. */
export function mountConsole(server: FastifyInstance, { basePath, consoleFolder }: ConsoleSettings): void {
  const files = new Map(listFiles(consoleFolder).map((name) => [name, readConsoleFile(consoleFolder, name)]));
  const page = files.get('index.html');
  if (page === undefined) return;
  // The page's links are relative, so its address must end with a slash.
  server.get(`${basePath}/ui`, async (request, reply) =>
    request.raw.url?.split('?', 1)[0]?.endsWith('/') === true
      ? sendFile(page, request, reply)
      : reply.redirect(`${basePath}/ui/`, 308),
  );
  for (const [name, file] of files) {
    server.get(`${basePath}/ui/${name}`, async (request, reply) => sendFile(file, request, reply));
  }
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => extname(name) in MEDIA_TYPES);
  } catch {
    // A build without the console serves the rest.
    return [];
  }
}

function readConsoleFile(folder: string, name: string) {
  const isRevalidated = extname(name) === '.html' || name === 'icon.svg';
  return {
    headers: {
      'content-type': MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // Other names contain a hash of the content.
      'cache-control': isRevalidated ? 'no-cache' : 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    },
    plain: readFileSync(join(folder, name)),
    compressed: readFileSync(join(folder, `${name}.br`)),
  };
}

function sendFile(
  { headers, plain, compressed }: ReturnType<typeof readConsoleFile>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  void reply.headers(headers);
  const isCompressed = /(?:^|[\s,])br(?:$|[\s,;])/.test(request.headers['accept-encoding'] ?? '');
  return isCompressed ? reply.header('content-encoding', 'br').send(compressed) : reply.send(plain);
}
