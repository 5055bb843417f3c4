import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

export interface Package {
  readonly name: string;
  readonly version: string;
  readonly [field: string]: unknown;
}

interface Packed {
  readonly manifest: Package;
  readonly tarball: Buffer;
  readonly integrity: string;
}

export type Registry = Awaited<ReturnType<typeof startRegistry>>;

/** A package registry on a free port, for the real npm: packages that were published, 404 for all others. */
export async function startRegistry() {
  const published = new Map<string, readonly Packed[]>();
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    asked.push(path);
    const [name = '', file] = path.split('/-/');
    const releases = published.get(name) ?? [];
    const found = releases.find(({ manifest }) => file === `${manifest.version}.tgz`);
    if (found !== undefined) response.end(found.tarball);
    else if (file === undefined && releases.length > 0) response.end(JSON.stringify(describe(name, releases)));
    else response.writeHead(404).end('{"error":"not found"}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const describe = (name: string, releases: readonly Packed[]) => {
    const versions = releases.map(({ manifest, integrity }) => {
      const dist = { tarball: `${url}${name}/-/${manifest.version}.tgz`, integrity };
      return [manifest.version, { ...manifest, dist }] as const;
    });
    return { name, 'dist-tags': { latest: versions[0]?.[0] }, versions: Object.fromEntries(versions) };
  };
  return {
    url,
    asked,
    /** Returns the integrity, as lock files have it. */
    publish(manifest: Package, files: Readonly<Record<string, string>>): string {
      const tarball = gzipSync(toTar({ 'package.json': JSON.stringify(manifest), ...files }));
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
      published.set(manifest.name, [...(published.get(manifest.name) ?? []), { manifest, tarball, integrity }]);
      return integrity;
    },
    withdraw: (name: string) => void published.delete(name),
    close: () => server.close(),
  };
}

const BLOCK_BYTES = 512;

/** The plainest form: a header of 512 bytes for each file, contents in blocks, two empty blocks at the end. */
function toTar(files: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(files).flatMap(([name, text]) => {
    const bytes = Buffer.from(text);
    const padding = (BLOCK_BYTES - (bytes.length % BLOCK_BYTES)) % BLOCK_BYTES;
    return [toTarHeader(`package/${name}`, bytes.length), bytes, Buffer.alloc(padding)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK_BYTES)]);
}

function toTarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        0', 148);
  header.write('ustar', 257);
  header.write('00', 263);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
