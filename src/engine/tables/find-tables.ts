import { ServiceError } from '../../errors/service-error.ts';
import { checkNames, DEFAULT_DELIMITER, toTablePath } from '../../model/identifier.ts';
import type { TablePath } from '../../model/identifier.ts';
import type { TableLocation } from '../../model/table.ts';
import type { Storage } from '../../storage/storages.ts';
import type { Connections } from '../native/connections.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeConnection } from '../native/native.ts';

export interface FoundTable {
  readonly path: TablePath;
  readonly location: TableLocation;
}

const PAGE_NAMES = 1000;

/**
 * The tables below a root, whichever program created them: directories named `*.lance`, and tables in the engine's
 * namespaces. Skips those that do not open or whose name no request could contain; known ones are not opened.
 */
export async function findTables(
  connections: Connections,
  root: string,
  isKnown: (directory: string) => boolean,
): Promise<readonly FoundTable[]> {
  const listed = await findListed(connections, root, isKnown);
  // Asking the engine would create its catalog of namespaces if there is none.
  const hasNamespaces = await connections.storages.of(root).hasDirectory('__manifest');
  const namespaced = hasNamespaces ? await findNamespaced(connections, root) : [];
  return [...listed, ...namespaced];
}

async function findListed(
  connections: Connections,
  root: string,
  isKnown: (directory: string) => boolean,
): Promise<readonly FoundTable[]> {
  const connection = await connections.find(root, 'listed');
  const found: FoundTable[] = [];
  for await (const name of tableNames(connection, [])) {
    if (isKnown(name)) continue;
    const path = await findPath([name]);
    const location: TableLocation = { kind: 'listed', root, directory: name };
    const table = path === undefined ? undefined : await attempt(async () => connections.openTable(location));
    table?.close();
    if (path !== undefined && table !== undefined) found.push({ path, location });
  }
  return found;
}

async function findNamespaced(connections: Connections, root: string): Promise<readonly FoundTable[]> {
  const connection = await connections.find(root, 'namespaced');
  const storage = connections.storages.of(root);
  const found: FoundTable[] = [];
  for await (const namespace of namespaces(connection, [])) {
    for await (const name of tableNames(connection, namespace)) {
      const enginePath = [...namespace, name];
      const path = await findPath(enginePath);
      const directory = path === undefined ? undefined : await findDirectory(connection, storage, enginePath);
      if (path === undefined || directory === undefined) continue;
      found.push({ path, location: { kind: 'namespaced', root, enginePath, directory } });
    }
  }
  return found;
}

async function* tableNames(connection: NativeConnection, namespace: string[]): AsyncGenerator<string> {
  let after: string | null = null;
  for (;;) {
    const page: string[] = await engineCall(async () => connection.tableNames(namespace, after, PAGE_NAMES));
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_NAMES) return;
    after = last;
  }
}

/** All descendants of a namespace. */
async function* namespaces(connection: NativeConnection, parent: string[]): AsyncGenerator<string[]> {
  let token: string | null = null;
  do {
    const { namespaces: names, pageToken }: Awaited<ReturnType<NativeConnection['listNamespaces']>> = await engineCall(
      async () => connection.listNamespaces(parent, token, PAGE_NAMES),
    );
    for (const name of names) {
      const namespace = [...parent, name];
      yield namespace;
      yield* namespaces(connection, namespace);
    }
    token = pageToken ?? null;
  } while (token !== null);
}

/** `undefined` if the engine or a check refuses. */
async function attempt<Value>(work: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError) return undefined;
    throw error;
  }
}

async function findPath(names: readonly string[]): Promise<TablePath | undefined> {
  return attempt(() => toTablePath(checkNames(names, DEFAULT_DELIMITER), DEFAULT_DELIMITER));
}

/** The engine chooses the directory, and exposes it only in the table's display text. */
async function findDirectory(
  connection: NativeConnection,
  storage: Storage,
  enginePath: readonly string[],
): Promise<string | undefined> {
  const name = enginePath.at(-1) ?? '';
  const table = await attempt(async () =>
    engineCall(async () => connection.openTable(name, enginePath.slice(0, -1), {})),
  );
  if (table === undefined) return undefined;
  const [, uri = ''] = /uri=(.*), read_consistency_interval=/s.exec(table.display()) ?? [];
  table.close();
  const segment = uri.slice(uri.lastIndexOf('/') + 1);
  for (const directory of [segment, decodeSegment(segment)]) {
    if (directory !== '' && (await storage.hasDirectory(directory))) return directory;
  }
  return undefined;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}
