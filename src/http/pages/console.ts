import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

/**
 * Forbids foreign content, inline code and frames. `wasm-unsafe-eval` allows WebAssembly, which reads Parquet files,
 * but not `eval`; its code comes from the same origin too.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

interface ConsoleSettings {
  readonly basePath: string;
  /** The output of `scripts/console.mjs`: each file by name, compressed, as base64. */
  readonly consoleFile: string;
}

/**
 * The web console and the API reference: static files that are read once, so that no name from a request becomes a
 * path.
 */
export function mountConsole(server: FastifyInstance, { basePath, consoleFile }: ConsoleSettings): void {
  const files = readFiles(consoleFile);
  const page = files.get('index.html');
  if (page === undefined) return;
  // The page's links are relative, so its address must end with a slash.
  server.get(`${basePath}/ui`, async (request, reply) =>
    request.raw.url?.split('?', 1)[0]?.endsWith('/') === true
      ? sendFile(page, request, reply)
      : reply.redirect(`${basePath}/ui/`, 308),
  );
  const reference = files.get('reference.html');
  if (reference !== undefined) {
    server.get(`${basePath}/docs`, async (request, reply) => sendFile(reference, request, reply));
  }
  let wasm: ConsoleFile | undefined;
  // One route for all files: at startup, each route takes as long as an operation.
  server.get<{ Params: { name: string } }>(`${basePath}/ui/:name`, async (request, reply) => {
    const { name } = request.params;
    const file = name === WASM ? (wasm ??= readWasm()) : files.get(name);
    return file === undefined ? reply.callNotFound() : sendFile(file, request, reply);
  });
}

type ConsoleFile = ReturnType<typeof toFile>;

function readFiles(path: string): ReadonlyMap<string, ConsoleFile> {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The file is our own.
    const files = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, string>>;
    return new Map(Object.entries(files).map(([name, text]) => [name, toFile(name, Buffer.from(text, 'base64'))]));
  } catch {
    // A build without the console serves everything else.
    return new Map();
  }
}

const WASM = 'parquet.wasm';
/** The best quality would take ten seconds. */
const WASM_QUALITY = 5;

/** From the package, which the server already needs for Parquet files. */
function readWasm(): ConsoleFile {
  const path = createRequire(import.meta.url).resolve('parquet-wasm/esm/parquet_wasm_bg.wasm');
  const params = { [constants.BROTLI_PARAM_QUALITY]: WASM_QUALITY };
  return toFile(WASM, brotliCompressSync(readFileSync(path), { params }));
}

/** These names are stable; all others contain a hash of the content. */
const REVALIDATED: readonly string[] = ['index.html', 'reference.html', 'icon.svg'];

function toFile(name: string, compressed: Buffer) {
  const lasting = name === WASM ? 'public, max-age=86400' : 'public, max-age=31536000, immutable';
  return {
    headers: {
      'content-type': MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': REVALIDATED.includes(name) ? 'no-cache' : lasting,
      vary: 'accept-encoding',
    },
    compressed,
  };
}

function sendFile({ headers, compressed }: ConsoleFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  void reply.headers(headers);
  const isCompressed = /(?:^|[\s,])br(?:$|[\s,;])/.test(request.headers['accept-encoding'] ?? '');
  return isCompressed
    ? reply.header('content-encoding', 'br').send(compressed)
    : reply.send(brotliDecompressSync(compressed));
}
