import { fileURLToPath } from 'node:url';
import { startProgram } from '../client.ts';
import type { ClientSuite } from '../client.ts';
import { preparePython, pythonOf } from './venv.ts';

const PROGRAMS = fileURLToPath(new URL('../../../clients/python/dataframes/', import.meta.url));
/** How outcomes are printed, and sample rows. */
const SHARED = fileURLToPath(new URL('../../../clients/python/namespace/', import.meta.url));

/** Daft reads and writes Lance tables of a REST namespace with its package `daft-lance`, from 0.5.0 on. */
export const DAFT = toSuite({ name: 'daft', packages: ['daft-lance', 'daft', 'pandas'], releases: ['0.6.0', '0.5.0'] });

/** Ray reads and writes Lance tables of a REST namespace with the package `lance-ray`. */
export const RAY = toSuite({ name: 'ray', packages: ['lance-ray', 'ray'], releases: ['0.5.0'] });

/** DuckDB reads what pylance opens and what the service sends; its own extension for Lance is downloaded by itself. */
export const DUCKDB = toSuite({ name: 'duckdb', packages: ['duckdb'], releases: ['2.0.0', '1.5.6'] });

interface Connector extends Pick<ClientSuite, 'name' | 'releases'> {
  /** The releases are those of the first. */
  readonly packages: readonly [string, ...string[]];
}

function toSuite({ name, packages: [packageName, ...others], releases }: Connector): ClientSuite {
  return {
    name,
    language: 'Python',
    packageName,
    releases,
    prepare: async (release, folder) => {
      const packages = [`${packageName}==${release}`, ...others, 'pylance', 'lance-namespace', 'pyarrow'];
      return preparePython({ release, folder, packages });
    },
    run: ({ folder }, service) =>
      startProgram(
        { file: pythonOf(folder), args: ['-B', `${PROGRAMS}${name}_client.py`], env: { PYTHONPATH: SHARED } },
        service,
      ),
  };
}
