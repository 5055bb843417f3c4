import { createRequire } from 'node:module';
import { ServiceError } from '../../errors/service-error.ts';

/** LanceDB publishes one package per platform, which contains the native library. */
export interface EngineBinary {
  readonly name: string;
  readonly version: string;
}

const require = createRequire(import.meta.url);

/** Cheap: does not load the library itself. */
export function findBinary(): EngineBinary {
  for (const name of packageNames()) {
    try {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Every package has a version.
      const { version } = require(`${name}/package.json`) as { readonly version: string };
      return { name, version };
    } catch {
      // Not installed: npm installs only what fits the platform and its C library.
    }
  }
  throw engineMissing(undefined);
}

export function loadBinary(): unknown {
  const { name } = findBinary();
  try {
    return require(name);
  } catch (cause) {
    throw engineMissing(cause);
  }
}

export function engineMissing(cause: unknown): ServiceError {
  return new ServiceError(
    'ServiceUnavailable',
    `The storage engine (LanceDB) could not be loaded on ${process.platform}-${process.arch}.`,
    {
      hint: 'Install Tiltyard again, with optional packages included; in a clone of its repository, run "npm ci".',
      cause,
    },
  );
}

/** `fallback-engine-…` are aliases in package.json, for platforms without a binary of the main release. */
function packageNames(): readonly string[] {
  const { platform, arch } = process;
  const toolchains = { linux: ['-gnu', '-musl'], win32: ['-msvc'] }[platform as string] ?? [''];
  const platforms = toolchains.map((toolchain) => `${platform}-${arch}${toolchain}`);
  return ['@lancedb/lancedb-', 'fallback-engine-'].flatMap((prefix) => platforms.map((name) => `${prefix}${name}`));
}
