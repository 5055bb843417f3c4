import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../client.ts';
import type { ClientSuite, Prepared, Skipped } from '../client.ts';
import { runTool } from '../commands.ts';

const SOURCES = fileURLToPath(new URL('../../../clients/rust/', import.meta.url));
const GUIDE = fileURLToPath(new URL('../../../docs/guides/rust.md', import.meta.url));
/** On two busy cores; a build that goes on where an earlier one ended takes less. */
const BUILD_MILLISECONDS_MAX = 2 * 60 * 60_000;

/** LanceDB's own client for Rust, and the program of the guide. */
export const RUST: ClientSuite = {
  name: 'rust',
  language: 'Rust',
  packageName: 'lancedb',
  releases: ['0.41.0'],
  onRequest: 'it is compiled with all of Lance, which takes about an hour; name it to run it',
  prepare: build,
  run: ({ folder }, service) => startProgram({ file: join(folder, 'target', 'debug', 'client'), args: [] }, service),
};

async function build(release: string, folder: string): Promise<Prepared | Skipped> {
  const version = await runTool('cargo', ['--version']);
  if ('failed' in version) return { skipped: version.failed };
  await mkdir(join(folder, 'src'), { recursive: true });
  await cp(join(SOURCES, 'src'), join(folder, 'src'), { recursive: true });
  await writeFile(join(folder, 'src', 'guide.rs'), await readGuide());
  const manifest = await readFile(join(SOURCES, 'Cargo.toml'), 'utf8');
  await writeFile(join(folder, 'Cargo.toml'), manifest.replace(/"=[\d.]+"/, `"=${release}"`));
  const built = await runTool('cargo', ['build', '--quiet'], {
    cwd: folder,
    env: { CARGO_TARGET_DIR: join(folder, 'target') },
    milliseconds: BUILD_MILLISECONDS_MAX,
  });
  return 'failed' in built ? { skipped: built.failed } : { release, folder };
}

/** The program of the page, as it stands there. */
async function readGuide(): Promise<string> {
  const [, program] = /^```rust\n(.*?)^```$/ms.exec(await readFile(GUIDE, 'utf8')) ?? [];
  if (program === undefined) throw new Error(`${GUIDE} has no program`);
  return program;
}
