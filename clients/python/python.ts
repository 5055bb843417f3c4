import { fileURLToPath } from 'node:url';
import { startProgram } from '../client.ts';
import type { ClientSuite } from '../client.ts';
import { preparePython, pythonOf } from './venv.ts';

const PACKAGES = ['pandas', 'polars', 'pydantic', 'pyarrow'];
const PROGRAM = fileURLToPath(new URL('../../../clients/python/remote/lancedb_client.py', import.meta.url));

/** LanceDB's own client for Python: `lancedb.connect` and `lancedb.connect_async`. */
export const PYTHON: ClientSuite = {
  name: 'python',
  language: 'Python',
  packageName: 'lancedb',
  releases: ['0.40.0', '0.39.0', '0.36.0', '0.34.0'],
  prepare: async (release, folder) =>
    preparePython({ release, folder, packages: [`lancedb==${release}`, ...PACKAGES] }),
  run: ({ folder }, service) => startProgram({ file: pythonOf(folder), args: ['-B', PROGRAM] }, service),
};
