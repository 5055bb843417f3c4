import { startProgram } from '../client.ts';
import type { ClientSuite } from '../client.ts';
import { JAVA_SOURCES } from '../java/java.ts';
import { javaCommand, prepareJava, sourcePath } from '../java/maven.ts';

const MEGABYTES_MAX = 1024;

/** The connector of Lance for Spark 3.5, in local mode. */
export const SPARK: ClientSuite = {
  name: 'spark',
  language: 'Spark',
  packageName: 'org.lance:lance-spark-3.5_2.12',
  releases: ['0.4.0'],
  prepare: async (release, folder) =>
    prepareJava({
      release,
      folder,
      pom: sourcePath('clients/spark/pom.xml'),
      properties: { 'connector.release': release },
      sources: [...JAVA_SOURCES, sourcePath('clients/spark/program')],
    }),
  run: ({ folder }, service) => {
    const command = javaCommand(folder, MEGABYTES_MAX, ['SparkMain']);
    // Of the JavaScript client, which makes and searches tables beside Spark.
    const env = { TILTYARD_NODE: process.execPath, TILTYARD_JAVASCRIPT: sourcePath('clients/spark/javascript.mjs') };
    return startProgram({ ...command, env }, service);
  },
};
