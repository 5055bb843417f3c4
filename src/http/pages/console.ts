import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Nothing from elsewhere, nothing inline, no frame around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface Asset {
  readonly headers: Readonly<Record<string, string>>;
  readonly plain: Buffer;
  readonly compressed: Buffer;
}

export interface ConsoleSettings {
  readonly basePath: string;
  /** Where the build puts the page and its parts. */
  readonly consoleFolder: string;
}

/** The web console: a page and its parts, the same for everybody. What it shows, it asks the API for, as its user. */
export function mountConsole(server: FastifyInstance, { basePath, consoleFolder }: ConsoleSettings): void {
  const assets = readAssets(consoleFolder);
  const page = assets.get('index.html');
  if (page === undefined) return;
  // The page's own addresses are relative, so that it must stand in a folder of its own.
  server.get(`${basePath}/ui`, async (request, reply) =>
    request.raw.url?.split('?', 1)[0]?.endsWith('/') === true
      ? sendAsset(page, request, reply)
      : reply.redirect(`${basePath}/ui/`, 308),
  );
  for (const [name, asset] of assets) {
    server.get(`${basePath}/ui/${name}`, async (request, reply) => sendAsset(asset, request, reply));
  }
}

function sendAsset({ headers, plain, compressed }: Asset, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  void reply.headers(headers);
  const isCompressed = /(?:^|[\s,])br(?:$|[\s,;])/.test(request.headers['accept-encoding'] ?? '');
  return isCompressed ? reply.header('content-encoding', 'br').send(compressed) : reply.send(plain);
}

/** All of it, once: it is small, and no name that a caller sends ever becomes a path. */
function readAssets(folder: string): ReadonlyMap<string, Asset> {
  return new Map(listFiles(folder).map((name) => [name, readAsset(folder, name)]));
}

function listFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => extname(name) in MEDIA_TYPES);
  } catch {
    // A build without the console serves the rest.
    return [];
  }
}

function readAsset(folder: string, name: string): Asset {
  const isPage = extname(name) === '.html';
  return {
    headers: {
      'content-type': MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      // The names of the parts change with what is in them.
      'cache-control': isPage || name === 'icon.svg' ? 'no-cache' : 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
    },
    plain: readFileSync(join(folder, name)),
    compressed: readFileSync(join(folder, `${name}.br`)),
  };
}
