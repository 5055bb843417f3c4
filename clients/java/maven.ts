import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command, Prepared, Skipped } from '../client.ts';
import { runTool } from '../commands.ts';

export interface JavaProject {
  readonly release: string;
  readonly folder: string;
  /** With the packages that the programs need. */
  readonly pom: string;
  readonly properties: Readonly<Record<string, string>>;
  /** Folders of Java files. */
  readonly sources: readonly string[];
}

const BUILD_CLASSPATH = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath';
/** Arrow and Spark look into the JDK. */
const OPENED = ['lang', 'lang.invoke', 'io', 'net', 'nio', 'util', 'util.concurrent', 'util.concurrent.atomic'].map(
  (name) => `java.base/java.${name}`,
);
const OPENED_OF_SUN = ['sun.nio.ch', 'sun.nio.cs', 'sun.security.action', 'sun.util.calendar', 'jdk.internal.ref'].map(
  (name) => `java.base/${name}`,
);

/** A path in the sources, which are not copied into `build`. */
export function sourcePath(path: string): string {
  return fileURLToPath(new URL(`../../../${path}`, import.meta.url));
}

/** Downloads the packages unless that was done before, and compiles the programs. */
export async function prepareJava(project: JavaProject): Promise<Prepared | Skipped> {
  const { release, folder } = project;
  const failed = (await downloadPackages(project)) ?? (await compile(project));
  return failed === undefined ? { release, folder } : { skipped: failed };
}

/** Downloads packages for programs that are not compiled here. */
export async function prepareClassPath(project: Omit<JavaProject, 'sources'>): Promise<Prepared | Skipped> {
  const { release, folder } = project;
  const failed = await downloadPackages(project);
  return failed === undefined ? { release, folder } : { skipped: failed };
}

/** Runs a class that `prepareJava` compiled. */
export function javaCommand(folder: string, megabytes: number, args: readonly string[]): Command {
  const opened = [...OPENED, ...OPENED_OF_SUN].map((name) => `--add-opens=${name}=ALL-UNNAMED`);
  return { file: 'java', args: [`-Xmx${megabytes}m`, ...opened, '-cp', classPath(folder), ...args] };
}

/** Why the packages are not there. */
async function downloadPackages({
  folder,
  pom,
  properties,
}: Omit<JavaProject, 'sources'>): Promise<string | undefined> {
  const hash = createHash('sha256')
    .update(await readFile(pom))
    .update(JSON.stringify(properties))
    .digest('hex');
  const complete = join(folder, 'java-packages.txt');
  if ((await readFile(complete, 'utf8').catch(() => '')) === hash) return undefined;
  const given = Object.entries(properties).map(([name, value]) => `-D${name}=${value}`);
  const output = `-Dmdep.outputFile=${classPathFile(folder)}`;
  const built = await runTool('mvn', ['-q', '-B', '-f', pom, BUILD_CLASSPATH, output, ...given]);
  if ('failed' in built) return built.failed;
  await writeFile(complete, hash);
  return undefined;
}

async function compile({ folder, sources }: JavaProject): Promise<string | undefined> {
  const classes = join(folder, 'classes');
  await rm(classes, { recursive: true, force: true });
  await mkdir(classes);
  const files = await Promise.all(sources.map(async (source) => javaFiles(source)));
  const compiled = await runTool('javac', [
    '-encoding',
    'UTF-8',
    '-d',
    classes,
    '-cp',
    classPath(folder),
    ...files.flat(),
  ]);
  return 'failed' in compiled ? compiled.failed : undefined;
}

async function javaFiles(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.endsWith('.java')).map((name) => join(folder, name));
}

export function classPathFile(folder: string): string {
  return join(folder, 'classpath.txt');
}

function classPath(folder: string): string {
  return [join(folder, 'classes'), readFileSync(classPathFile(folder), 'utf8').trim()].join(delimiter);
}
