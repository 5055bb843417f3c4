import { fileURLToPath } from 'node:url';
import { startProgram } from '../client.ts';
import type { ClientSuite } from '../client.ts';
import { preparePython, pythonOf } from './venv.ts';

const PROGRAMS = fileURLToPath(new URL('../../../clients/python/namespace/', import.meta.url));

/** The client that is generated from the Lance REST description. */
export const GENERATED_PYTHON: ClientSuite = {
  name: 'generated-python',
  language: 'Python',
  packageName: 'lance-namespace-urllib3-client',
  releases: ['0.13.0', '0.11.1', '0.9.0'],
  prepare: async (release, folder) =>
    preparePython({ release, folder, packages: [`lance-namespace-urllib3-client==${release}`, 'pyarrow'] }),
  run: ({ folder }, service) =>
    startProgram({ file: pythonOf(folder), args: ['-B', `${PROGRAMS}generated_client.py`] }, service),
};

/** Lance for Python: the REST namespace, and datasets whose location comes from it. */
export const PYLANCE: ClientSuite = {
  name: 'pylance',
  language: 'Python',
  packageName: 'pylance',
  releases: ['14.0.2', '11.0.0', '8.0.1'],
  prepare: async (release, folder) =>
    preparePython({ release, folder, packages: [`pylance==${release}`, 'lance-namespace'] }),
  run: ({ folder }, service) =>
    startProgram({ file: pythonOf(folder), args: ['-B', `${PROGRAMS}pylance_client.py`] }, service),
};
