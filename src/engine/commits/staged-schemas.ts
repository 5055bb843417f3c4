import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toSchemaFile } from '../../arrow/format/footer.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { NativeEngine } from '../native/native.ts';

const TABLE = 'schema';
const CACHE_BYTES = 1024 * 1024;

/** Lets the engine translate the schema of an Arrow file, by writing a table without rows to a local folder. */
export class StagedSchemas {
  readonly #native: NativeEngine;
  readonly #folder: string;
  #cleared: Promise<unknown> | undefined;

  constructor(native: NativeEngine, folder: string) {
    this.#native = native;
    this.#folder = folder;
  }

  /** Returns the manifest of that table. */
  async write(file: Buffer, storageOptions: Readonly<Record<string, string>>): Promise<Buffer> {
    // Removes what a killed process left.
    this.#cleared ??= rm(this.#folder, { recursive: true, force: true });
    await this.#cleared.catch((error: unknown) => {
      this.#cleared = undefined;
      throw error;
    });
    await mkdir(this.#folder, { recursive: true });
    const folder = await mkdtemp(join(this.#folder, 'schema-'));
    try {
      await engineCall(async () => this.#createTable(folder, toSchemaFile(file), storageOptions));
      const versions = join(folder, `${TABLE}.lance`, '_versions');
      const [name] = await readdir(versions);
      if (name === undefined) throw new Error('The engine has written no manifest.');
      return await readFile(join(versions, name));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #createTable(
    folder: string,
    schemaFile: Buffer,
    storageOptions: Readonly<Record<string, string>>,
  ): Promise<void> {
    const connection = await this.#native.Connection.new(folder, {
      manifestEnabled: false,
      namespaceClientProperties: { manifest_enabled: 'false' },
      storageOptions: {},
      session: new this.#native.Session(BigInt(CACHE_BYTES), BigInt(CACHE_BYTES)),
    });
    try {
      (await connection.createEmptyTable(TABLE, schemaFile, 'create', [], storageOptions)).close();
    } finally {
      connection.close();
    }
  }
}
