import { startProgram } from '../client.ts';
import type { ClientSuite } from '../client.ts';
import { classPathFile, prepareClassPath, sourcePath } from '../java/maven.ts';
import { preparePython, pythonOf } from '../python/venv.ts';

const LANCEDB = '0.40.0';

/** Several clients, one table: the example of the docs. Its releases are those of Spark's connector. */
export const WALKTHROUGH: ClientSuite = {
  name: 'walkthrough',
  language: 'Python, Spark, JavaScript and the console',
  packageName: 'examples/walkthrough',
  releases: ['0.4.0'],
  async prepare(release, folder) {
    const python = await preparePython({ release, folder, packages: [`lancedb==${LANCEDB}`] });
    if ('skipped' in python) return python;
    const pom = sourcePath('clients/spark/pom.xml');
    return prepareClassPath({ release, folder, pom, properties: { 'connector.release': release } });
  },
  run({ folder }, service) {
    const args = ['--outcomes', '--url', service.url, '--key', service.key];
    const env = { PYTHON: pythonOf(folder), SPARK_CLASSPATH: classPathFile(folder) };
    const file = sourcePath('examples/walkthrough/walkthrough.mjs');
    return startProgram({ file: process.execPath, args: [file, ...args], env }, service);
  },
};
