import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';

export interface BuiltSite {
  readonly folder: string;
  /** Addresses of the pages, such as `guides/loading.html`, with their HTML. */
  readonly pages: ReadonlyMap<string, string>;
  readonly files: ReadonlySet<string>;
  remove(): Promise<void>;
}

/** The site as `npm run docs` makes it, in a folder of its own. */
export async function buildSite(): Promise<BuiltSite> {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-site-'));
  await promisify(execFile)(process.execPath, ['scripts/site.mjs', '--out', folder]);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const pages = files.filter((file) => file.endsWith('.html'));
  return {
    folder,
    files: new Set(files),
    pages: new Map(pages.map((file) => [file, readFileSync(join(folder, file), 'utf8')])),
    remove: async () => rm(folder, { recursive: true, force: true }),
  };
}

export interface Link {
  readonly from: string;
  /** As it stands in the page. */
  readonly written: string;
  readonly file: string;
  readonly anchor: string | undefined;
}

/** All links of a page within the site, styles and scripts too. */
export function linksOf(from: string, html: string): readonly Link[] {
  return [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)]
    .map((found) => found[1] ?? '')
    .filter((written) => !/^(https?|data|mailto):/.test(written))
    .map((written) => {
      const [path = '', anchor] = written.split('#');
      const file = path === '' ? from : posix.join(posix.dirname(from), path);
      return { from, written, file, anchor };
    });
}

export function anchorsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/\sid="([^"]+)"/g)].map((found) => found[1] ?? ''));
}
