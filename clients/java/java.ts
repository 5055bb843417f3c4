import { startProgram } from '../client.ts';
import type { ClientSuite } from '../client.ts';
import { javaCommand, prepareJava, sourcePath } from './maven.ts';

const MEGABYTES_MAX = 512;
export const JAVA_SOURCES = [sourcePath('clients/java/program'), sourcePath('examples/java')];

interface JavaClient {
  readonly name: string;
  readonly artifact: string;
  readonly releases: readonly string[];
  /** The argument of the program. */
  readonly client: 'generated' | 'namespace';
}

/** `TableApi` and its like, generated from the description of the Lance REST catalog. */
export const JAVA_REST = toSuite({
  name: 'java-rest',
  artifact: 'lance-namespace-core',
  releases: ['0.7.7', '0.5.2', '0.4.5'],
  client: 'generated',
});

/** `LanceNamespace.connect("rest", …)` of Lance itself, which Spark uses too. */
export const JAVA_LANCE = toSuite({
  name: 'java-lance',
  artifact: 'lance-core',
  releases: ['7.0.0', '4.0.0', '2.0.0'],
  client: 'namespace',
});

function toSuite({ name, artifact, releases, client }: JavaClient): ClientSuite {
  return {
    name,
    language: 'Java',
    packageName: `org.lance:${artifact}`,
    releases,
    prepare: async (release, folder) =>
      prepareJava({
        release,
        folder,
        pom: sourcePath('clients/java/pom.xml'),
        properties: { 'lance.artifact': artifact, 'lance.release': release },
        sources: JAVA_SOURCES,
      }),
    run: ({ folder }, service) => startProgram(javaCommand(folder, MEGABYTES_MAX, ['Main', client]), service),
  };
}
