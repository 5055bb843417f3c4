import { loadNative } from '../native/native.ts';
import type { NativeConnection, NativeEngine, NativeTable } from '../native/native.ts';

/** A folder with one table, whose only file is the manifest to try. */
export interface TrialRequest {
  readonly folder: string;
}

/** `version` is absent if the engine refused the manifest. */
export interface TrialReply {
  readonly version?: number;
  readonly failure?: string;
}

export const TRIAL_TABLE = 'table';

const MISSING_INDEX_FILE = /Not found: \S*\/_indices\//;

/** Runs in a disposable process: opens manifests of external writers, one after the other, until it is ended. */
export function runTrials(): void {
  const native = loadNative();
  process.on('message', (request) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only ManifestTrials writes to this channel.
    const { folder } = request as TrialRequest;
    tryOpening(native, folder).then(
      (version) => reply({ version }),
      (error: unknown) => reply({ failure: String(error) }),
    );
  });
  process.on('disconnect', () => process.exit());
}

function reply(message: TrialReply): void {
  process.send?.(message);
}

async function tryOpening(native: NativeEngine, folder: string): Promise<number> {
  const properties = { manifestEnabled: false, namespaceClientProperties: { manifest_enabled: 'false' } };
  const connection = await native.Connection.new(folder, properties);
  try {
    return await readTable(connection);
  } finally {
    connection.close();
  }
}

/** Asks what every reader of a table asks first. There are no data files here: they were checked before. */
async function readTable(connection: NativeConnection): Promise<number> {
  const table = await connection.openTable(TRIAL_TABLE, [], {});
  try {
    await table.schema();
    await table.countRows();
    await listIndexes(table);
    return await table.version();
  } finally {
    table.close();
  }
}

/**
 * To list some indexes, the engine opens their files, which are missing here: if it misses one, it has read the
 * manifest.
 */
async function listIndexes(table: NativeTable): Promise<void> {
  try {
    await table.listIndices();
  } catch (error) {
    if (!MISSING_INDEX_FILE.test(String(error))) throw error;
  }
}
